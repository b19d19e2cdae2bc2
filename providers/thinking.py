"""Remove the thinking of a model from its reply.

Templates and models mark it in many ways: tags, tokens, brackets; closed, nested, doubled, or closed without ever having
been opened because the opening tag was part of the prompt. A tag that is quoted, that stands inside a JSON string or in
the middle of a sentence is data and stays.
"""

import re
from collections import Counter
from dataclasses import dataclass, field

_LOOK_AROUND = 4000
"""Characters searched on each side of a tag for the quotes around it."""

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
_INK = re.compile(r"\S")
_OPENS_STRING = re.compile(r"[\[{(:,=]\s*\Z")
_CLOSES_STRING = re.compile(r"\s*[,}\]):]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Visible:
    """What remains of a reply without its thinking."""

    text: str
    """Meant for the reader; stripped."""
    truncated: bool
    """The thinking was never closed."""


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
        if _OPENS_STRING.search(text[max(0, left - 20) : left]) is None or _OPENS_STRING.search(
            text[max(end, right - 20) : right]
        ):
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


def _closes(tag: re.Match[str]) -> bool:
    token = (tag["token"] or tag["bracket"] or tag["moon"] or "").lower()
    return (
        bool(tag["close"])
        or token.startswith(("/", "end"))
        or token.endswith("_end")
        or (tag["unused"] == "95" or (tag["inner"] or "").lower() == "inner_suffix")
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


def without_thinking(text: str, *, cut: bool) -> Visible:
    """Return the text without its thinking blocks.

    Args:
        text: Reply without tokens in front.
        cut: The reply is known to have been cut: a block with too few closing tags is then taken as open.
    """
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
    return Visible(text="\n".join(state.kept), truncated=truncated)
