"""From the raw reply to the part that was meant for the reader.

Removes what terminals, tokenizers and chat templates leave around a text, and the thinking of the model. A tag that is
quoted, or that stands inside a JSON string, is data and stays.
"""

import re
from collections import Counter
from dataclasses import dataclass, field

from providers.latex_escapes import mend_surrogates

_LOOK_AROUND = 4000
"""Characters searched on each side of a tag for the quotes around it."""

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
_HARMONY_BARE = re.compile(r"(?:assistant)?analysis(?=[A-Z\"'*\n]|\s+[A-Z])")
_HARMONY_BARE_FINAL = re.compile(r"assistant\s?final(?:<\|message\|>|(?=[\s\W\d]|[A-Z]))")

_SURE = r"think(?:ing)?|thoughts?"
_LIKELY = r"reason(?:ing)?|reflect(?:ion)?|scratch_?pad|analysis|(?:inner_|internal_)?monologue|deliberation|cot|thought_process"
_TAG = re.compile(
    rf"<(?P<close>/)?\s*(?P<name>(?:\w{{1,12}}[:_-])?(?:{_SURE}|{_LIKELY})(?:[_-]\w{{1,12}})?)(?:\s[^<>]{{0,200}})?>"
    r"|<\|(?P<token>/?(?:begin_of_|end_of_|start_|end_)?(?:think(?:ing)?|thought|reasoning)(?:_start|_end)?)\|>"
    r"|<\|(?P<inner>inner_(?:prefix|suffix))\|>"
    r"|\[(?P<bracket>/?THINK(?:ING)?)\]|◁(?P<moon>/?think)▷|<unused(?P<unused>94|95)>",
    re.IGNORECASE,
)
_SURE_NAME = re.compile(rf"(?:\w{{1,12}}[:_-])?(?:{_SURE})(?:[_-]\w{{1,12}})?", re.IGNORECASE)
_FRONT_BLOCKS = (
    re.compile(r"\s*(?:```|~~~)(?:think(?:ing)?|thoughts?|reasoning)[ \t]*\n(?:.*?\n)??[ \t]*(?:```|~~~)[ \t]*(?:\n|\Z)", re.DOTALL),
    re.compile(r"\s*<details\s+type=\"reasoning\"[^<>]{0,200}>.*?</details>", re.DOTALL),
    re.compile(r"\s*Thinking\.\.\.\n.*?\n\.\.\.done thinking\.[ \t]*(?:\n|\Z)", re.DOTALL),
)
_INK = re.compile(r"\S")
_OPENS_STRING = re.compile(r"[\[{(:,=]\s*\Z")
_CLOSES_STRING = re.compile(r"\s*[,}\]):]")
_ANSWER_TAG = re.compile(
    r"<(?P<close>/)?(?P<name>answer|final_?answer|final|output|response|result|solution)>"
    r"|<\|(?P<edge>begin|end)_of_(?:solution|box)\|>|<\|(?P<side>START|END)_RESPONSE\|>",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Visible:
    """What remains of a reply without its thinking."""

    text: str
    """Meant for the reader; stripped."""
    truncated: bool
    """The thinking was never closed."""
    had_thinking: bool
    """Some thinking was removed."""


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
        return Visible(text="", truncated=True, had_thinking=True)
    channelled = chosen is not text
    text = _strip_leading_tokens(chosen)
    for block in _FRONT_BLOCKS:
        if match := block.match(text):
            text, channelled = text[match.end() :], True
    seen = _without_thinking(text, cut=cut)
    text = _first_turn(_strip_leading_tokens(seen.text))
    text = text.strip()
    text = text[:-_TAIL] + _TRAILING_TOKENS.sub("", text[-_TAIL:])
    return Visible(text=text.strip(), truncated=seen.truncated, had_thinking=seen.had_thinking or channelled)


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


def is_data(text: str, start: int, end: int) -> bool:
    """Tell whether the marker at `start:end` is quoted or stands inside a JSON string, hence belongs to the text."""
    before, after = text[start - 1 : start], text[end : end + 1]
    if before and before in "\"'`“‘" and after and after in "\"'`”’":
        return True
    for opener, closer in (('"', '"'), ("'", "'"), ("“", "”")):
        left = _unescaped(text, opener, start, backwards=True)
        right = _unescaped(text, closer, end, backwards=False)
        if left < 0 or right < 0:
            continue
        if _OPENS_STRING.search(text[max(0, left - 20) : left]) is None or _OPENS_STRING.search(text[max(end, right - 20) : right]):
            continue
        if _CLOSES_STRING.match(text, right + 1):
            return True
    return False


def _unescaped(text: str, quote: str, at: int, *, backwards: bool) -> int:
    """Return the index of the nearest quote that no backslash escapes, -1 without one in reach."""
    low, high = max(0, at - _LOOK_AROUND), min(len(text), at + _LOOK_AROUND)
    for _ in range(40):
        found = text.rfind(quote, low, at) if backwards else text.find(quote, at, high)
        if found < 0 or text[found - 1 : found] != "\\":
            return found
        at = found if backwards else found + 1
    return -1


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


def _closes(tag: re.Match[str]) -> bool:
    token = (tag["token"] or tag["bracket"] or tag["moon"] or "").lower()
    return bool(tag["close"]) or token.startswith(("/", "end")) or token.endswith("_end") or (
        tag["unused"] == "95" or (tag["inner"] or "").lower() == "inner_suffix"
    )


def _is_sure(tag: re.Match[str]) -> bool:
    return tag["name"] is None or _SURE_NAME.fullmatch(tag["name"]) is not None


def _starts_block(text: str, at: int) -> bool:
    """Tell whether a tag at `at` opens a line or is glued to what stands before; in the middle of a sentence it is not."""
    before = text[at - 1 : at]
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return not line.strip() or not before.isspace()


def _within_item(text: str, tag: re.Match[str]) -> bool:
    """Tell whether a closing tag is a word in the middle of a list item."""
    line = text[text.rfind("\n", 0, tag.start()) + 1 : tag.start()]
    lower_follows = re.match(r" [^\W\d_A-Z]", text[tag.end() : tag.end() + 2])
    return bool(lower_follows and line.endswith(" ") and re.match(r"\s*(?:\d{1,3}[.)]|[-*•])\s", line))


@dataclass
class _Thinking:
    """State of one pass over the thinking tags of a reply."""

    text: str
    kept: list[str] = field(default_factory=list)
    """Visible parts so far."""
    position: int = 0
    """Where the text not yet judged starts."""
    depth: int = 0
    """Blocks open, one inside the other."""
    last_close: int = -1
    """End of the last closing tag inside the block that is open."""
    blocks: int = 0
    """Blocks removed."""
    mentions: Counter[str] = field(default_factory=Counter)
    """Opening tags left in the text, by name: their closing tags stay too."""

    def at_front(self, at: int) -> bool:
        """Tell whether only white space and thinking stands before `at`."""
        return not self.kept and _INK.search(self.text, self.position, at) is None

    def keep(self, end: int) -> None:
        """Take the text up to `end` as visible, unless it is blank."""
        if _INK.search(self.text, self.position, end):
            self.kept.append(self.text[self.position : end])

    def open(self, tag: re.Match[str]) -> None:
        if tag.group().endswith("/>"):
            return
        if self.depth == 0:
            block = self.at_front(tag.start()) or (_is_sure(tag) and _starts_block(self.text, tag.start()))
            if not block:
                self.mentions[(tag["name"] or "").lower()] += 1
                return
            self.keep(tag.start())
            self.last_close = -1
        elif not _starts_block(self.text, tag.start()):
            return
        self.depth += 1

    def close(self, tag: re.Match[str]) -> None:
        name = (tag["name"] or "").lower()
        if self.depth:
            self.depth -= 1
            self.last_close = tag.end()
            if self.depth == 0:
                self.position = tag.end()
                self.blocks += 1
        elif self.mentions[name]:
            self.mentions[name] -= 1
        else:
            self._orphan(tag)

    def _orphan(self, tag: re.Match[str]) -> None:
        """Everything before a closing tag without a partner was thinking; a stray one at the very end is just dropped."""
        first = _INK.search(self.text, self.position)
        at_end = _INK.search(self.text, tag.end()) is None
        if at_end and (self.blocks or (first and first.group() in "[{`")):
            self.keep(tag.start())
        elif _within_item(self.text, tag):
            return
        else:
            self.kept.clear()
        self.blocks += 1
        self.position = tag.end()


def _without_thinking(text: str, *, cut: bool) -> Visible:
    state = _Thinking(text=text)
    for tag in _TAG.finditer(text):
        closes = _closes(tag)
        front = state.depth == 0 and _INK.search(text, state.position, tag.start()) is None
        if not front and is_data(text, tag.start(), tag.end()):
            if closes and state.depth and state.last_close < 0:
                state.last_close = tag.end()
            continue
        (state.close if closes else state.open)(tag)
    if state.depth and state.last_close >= 0 and not cut:  # opened twice, closed once
        state.position, state.depth = state.last_close, 0
        state.blocks += 1
    truncated = state.depth > 0
    if not truncated:
        state.keep(len(text))
    return Visible(text="\n".join(state.kept), truncated=truncated, had_thinking=truncated or state.blocks > 0)
