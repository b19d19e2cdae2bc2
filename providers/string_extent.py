"""Where does a string in damaged JSON end? At the quote that JSON goes on after, not at the first one.

Models forget to escape quotes inside a text. A quote closes its string only where what follows can follow a value: a comma
and a key, a closing bracket without a partner inside the string, the end of the text.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

OPENING_QUOTES = "\"'“”„«‘`"
_CLOSERS = {'"': '"', "'": "'", "`": "`", "«": "»", "‘": "’'", "“": '”“"', "”": '”"', "„": '“”"'}

KEY_AHEAD = r"(?:\"[^\"\n]{0,80}\"|'[^'\n]{0,80}'|[“‘„][^”“’\n]{0,80}[”“’])\s*[:：=]"
_COMMENT_AHEAD = r"//|/\*|#"
_AFTER_VALUE = (
    rf"\s*(?:\Z|`{{3}}|[,，;]?\s*{KEY_AHEAD}|[,，;]\s*(?:\Z|[}}\]{{]|{_COMMENT_AHEAD})|%s|(?P<brace>\}})(?![\"'\w])|(?P<bracket>\])"
    rf"|(?P<paren>\))|\s(?:{_COMMENT_AHEAD})|\+\s*[\"'])"
)
_AFTER_VALUE_QUOTED_KEYS = re.compile(_AFTER_VALUE % r"(?!)")
_AFTER_VALUE_BARE_KEYS = re.compile(_AFTER_VALUE % r"(?:[,，;]\s*|(?<=\s))[A-Za-z_]\w{0,40}\s*[:=]")
_AFTER_ELEMENT = re.compile(
    rf"\s*(?:\Z|`{{3}}|[,，;]\s*(?:\Z|[\"'“‘„{{\[(\]}})…\d.-]|null\b|true\b|false\b|None\b|True\b|False\b|{_COMMENT_AHEAD})"
    rf"|(?P<brace>\}})|(?P<bracket>\])|(?P<paren>\))|\s[\"'“{{]|\{{|\s(?:{_COMMENT_AHEAD})|\+\s*[\"'])"
)
_PERHAPS_AFTER = re.compile(r"\s*[,}\])]")
_UNCLOSED_BEFORE_KEY = re.compile(r"[\"']\w[\w -]{0,30}[\"']\s*[:：]")
_CLOSING_TAIL = re.compile(r"\s*\}[\s\]}]*(?:`{3,}\s*)?\Z")
_DRIVE = re.compile(r"(?<![A-Za-z])[A-Za-z]:\\[^\\\s]")
_BEFORE_FORGOTTEN = re.compile(r"(?:,|\}\s*,?\s*\{)\s*\Z")
_STRING_TOKENS = {
    opener: re.compile(rf"\\.|[{re.escape(closers)}]|[{{}}\[\]]", re.DOTALL) for opener, closers in _CLOSERS.items()
}


class Follower(Enum):
    """What may follow the string, by where it stands."""

    ELEMENT = "element"
    """Another element of an array."""
    QUOTED_KEY = "quoted_key"
    """Another field of an object with quoted keys."""
    BARE_KEY = "bare_key"
    """Another field of an object with unquoted keys."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Extent:
    """A string in a text, as indices."""

    begin: int
    """First character of the content."""
    end: int
    """After the last character of the content."""
    after: int
    """Where to read on."""


_AFTER = {
    Follower.ELEMENT: _AFTER_ELEMENT,
    Follower.QUOTED_KEY: _AFTER_VALUE_QUOTED_KEYS,
    Follower.BARE_KEY: _AFTER_VALUE_BARE_KEYS,
}


def string_extent(text: str, at: int, follower: Follower, *, cut: bool, pay: Callable[[int], None]) -> Extent | None:
    """Return the extent of the string whose opening quote stands at `at`; None where the text ends inside it.

    Args:
        text: The text.
        at: Index of the opening quote.
        follower: What may follow the string.
        cut: The text is known to end in the middle: a last string is then not thought to lack only its quote.
        pay: Called with the cost of each token looked at; may raise to stop the search.
    """
    opener = text[at]
    if opener in "\"'" and text.startswith(opener * 3, at):
        end = text.find(opener * 3, at + 3)
        if end > 0:
            return Extent(begin=at + 3, end=end, after=end + 3)
    after, begin, perhaps = _AFTER[follower], at + 1, -1
    opened = {"{": 0, "[": 0}
    for token in _STRING_TOKENS[opener].finditer(text, begin):
        char = token.group()
        pay(1 if char in "{}[]" else 3)
        if char in "{[":
            opened[char] += 1
        elif char in "}]":
            partner = "{" if char == "}" else "["
            opened[partner] = max(0, opened[partner] - 1)
        elif char[0] != "\\" or _ends_path(text, begin, token, after):
            if _closes(after.match(text, token.end()), opened):
                return Extent(begin=begin, end=token.end() - 1, after=token.end())
            if follower is not Follower.ELEMENT and (end := _forgotten_quote(text, begin, token.start())):
                return Extent(begin=begin, end=end, after=end)
            if perhaps < 0 and _PERHAPS_AFTER.match(text, token.end()):
                perhaps = token.start()
    if perhaps >= 0:
        return Extent(begin=begin, end=perhaps, after=perhaps + 1)
    return None if cut else _before_last_brackets(text, begin)


def _before_last_brackets(text: str, begin: int) -> Extent | None:
    """Take brackets at the very end as closing ones, if the string has no partners for them: only its quote is missing."""
    tail = _CLOSING_TAIL.search(text, max(begin, len(text) - 40))
    if tail is None or text.count("}", begin) <= text.count("{", begin):
        return None
    return Extent(begin=begin, end=tail.start(), after=tail.start())


def _ends_path(text: str, begin: int, token: re.Match[str], after: re.Pattern[str]) -> bool:
    """Tell whether a backslash and a quote end a Windows path and its string, as in a folder name."""
    if token.group()[1:] not in ('"', "'") or not after.match(text, token.end()):
        return False
    return _DRIVE.search(text, max(begin, token.start() - 200), token.start()) is not None


def _forgotten_quote(text: str, begin: int, quote: int) -> int:
    """Return where a string ended without its quote, if the quote at `quote` opens the next key; else 0."""
    if not _UNCLOSED_BEFORE_KEY.match(text, quote):
        return 0
    start = max(begin, quote - 40)
    before = _BEFORE_FORGOTTEN.search(text[start:quote])
    return start + before.start() if before else 0


def _closes(match: re.Match[str] | None, opened: dict[str, int]) -> bool:
    """Tell whether a quote closes its string: a bracket after it must not be the partner of one inside the string."""
    if match is None:
        return False
    if match["brace"]:
        return opened["{"] == 0
    return not (match["bracket"] and opened["["] > 0)
