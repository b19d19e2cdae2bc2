"""From the raw reply to the part that was meant for the reader.

Removes what terminals, tokenizers and chat templates leave around a text: byte order marks, escape sequences, role
headers, channel markers, end tokens. Thinking tags are the matter of `providers.thinking`.
"""

import re

from providers.latex_escapes import mend_surrogates
from providers.thinking import Visible, is_data, without_thinking

_TAIL = 500
"""Characters at the end in which control tokens are looked for."""

_INVISIBLE = dict.fromkeys(map(ord, "\ufeff\u200b\u2060\u200e\u200f"))
_ANSI = re.compile(r"\x1b(?:\[[0-?]{0,32}[ -/]{0,8}[@-~]|\][^\x07\x1b]{0,500}(?:\x07|\x1b\\)|[@-Z\\^_-])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_LINE_END = re.compile(r"\r\n?|[\u2028\u2029\x85]")

_TOKEN = (
    r"(?:<\|(?![^|<>]*(?:think|thought|reason|channel|THINK|inner_prefix))[/\w -]{1,40}\|>|<｜[^｜<>]{1,40}｜>|</?s>"
    r"|<(?:end|start)_of_turn>|<eos>|<bos>|<pad>|\[/?INST\])"
)
_LEADING_TOKENS = re.compile(rf"\s*{_TOKEN}\s*(?:(?:assistant|model)\b\s*)?")
_TRAILING_TOKENS = re.compile(rf"(?:\s*{_TOKEN})+\s*\Z")
_END_OF_TURN = re.compile(
    r"<\|(?:im_end|eot_id|end|return|endoftext|end_of_text|im_start|start_header_id|user|end_of_turn)\|>"
    r"|<(?:end|start)_of_turn>|</s>|<｜end[^｜<>]{1,30}｜>|<eos>"
)

_HARMONY = re.compile(r"<\|channel\|>\s*(\w*)[^<]{0,200}(?:<\|constrain\|>[^<]{0,50})?<\|message\|>")
_HARMONY_END = re.compile(r"<\|(?:end|start|return|call|channel)\|>")
_HARMONY_BARE = re.compile(r"(?:assistant)?analysis(?=[A-Z])")
_HARMONY_BARE_FINAL = re.compile(r"assistantfinal(?:<\|message\|>|(?=[\s\W\d]|[A-Z]))")

_FRONT_BLOCKS = (
    re.compile(
        r"\s*(?:```|~~~)(?:think(?:ing)?|thoughts?|reasoning)[ \t]*\n(?:.*?\n)??[ \t]*(?:```|~~~)[ \t]*(?:\n|\Z)",
        re.DOTALL,
    ),
    re.compile(r"\s*<details\s+type=\"reasoning\"[^<>]{0,200}>.*?</details>", re.DOTALL),
    re.compile(r"\s*Thinking\.\.\.\n.*?\n\.\.\.done thinking\.[ \t]*(?:\n|\Z)", re.DOTALL),
)
_ANSWER_TAG = re.compile(
    r"<(?P<close>/)?(?P<name>answer|final_?answer|final|output|response|result|solution)>"
    r"|<\|(?P<edge>begin|end)_of_(?:solution|box)\|>|<\|(?P<side>START|END)_RESPONSE\|>",
    re.IGNORECASE,
)


def normalise(text: str) -> str:
    """Drop byte order marks, zero-width spaces, direction marks, ANSI sequences and control characters; unify line ends."""
    text = _LINE_END.sub("\n", mend_surrogates(text))
    return _CONTROL.sub("", _ANSI.sub("", text)).translate(_INVISIBLE)


def visible_part(text: str, *, cut: bool) -> Visible:
    """Return the reply without thinking blocks, channel markers and control tokens.

    Args:
        text: Normalised reply.
        cut: The server reported that the reply was cut.
    """
    chosen = _final_channel(text)
    if chosen is None:
        return Visible(text="", truncated=True)
    text = _strip_leading_tokens(chosen)
    for block in _FRONT_BLOCKS:
        if match := block.match(text):
            text = text[match.end() :]
    seen = without_thinking(text, cut=cut)
    text = _first_turn(_strip_leading_tokens(seen.text))
    text = text.strip()
    text = text[:-_TAIL] + _TRAILING_TOKENS.sub("", text[-_TAIL:])
    return Visible(text=text.strip(), truncated=seen.truncated)


def answer_block(text: str) -> str | None:
    """Return what the last `<answer>`-like wrapper holds, to its end or to the end of the text; None without one."""
    end, opened = len(text), None
    for tag in _ANSWER_TAG.finditer(text):
        closes = bool(tag["close"]) or (tag["edge"] or tag["side"] or "").lower() == "end"
        if is_data(text, tag.start(), tag.end()):
            continue
        if not closes:
            opened, end = tag.end(), len(text)
        elif opened is not None and end == len(text):
            end = tag.start()
    return text[opened:end] if opened is not None else None


def _final_channel(text: str) -> str | None:
    """Return the final message of a reply in harmony channels, `text` itself without channels, None without a final."""
    marks = [mark for mark in _HARMONY.finditer(text) if not is_data(text, mark.start(), mark.end())]
    if marks:
        for wanted in ("final", "commentary"):
            bodies = [_until_channel_end(text, mark.end()) for mark in marks if mark[1].lower() == wanted]
            if bodies:
                return bodies[-1]
        return None
    finals = [mark for mark in _HARMONY_BARE_FINAL.finditer(text) if not is_data(text, mark.start(), mark.end())]
    if finals:
        return text[finals[-1].end() :]
    return None if _HARMONY_BARE.match(text.lstrip()) else text


def _until_channel_end(text: str, start: int) -> str:
    for mark in _HARMONY_END.finditer(text, start):
        if not is_data(text, mark.start(), mark.end()):
            return text[start : mark.start()]
    return text[start:]


def _strip_leading_tokens(text: str) -> str:
    at = 0
    while match := _LEADING_TOKENS.match(text, at):
        at = match.end()
    return text[at:]


def _first_turn(text: str) -> str:
    """Cut where the model went on to write the next turn of the conversation."""
    for mark in _END_OF_TURN.finditer(text):
        if text[: mark.start()].strip() and not is_data(text, mark.start(), mark.end()):
            return text[: mark.start()]
    return text
