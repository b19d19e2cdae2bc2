"""Read the JSON that models write: close to the standard, seldom inside it.

Accepted beyond the standard: single, typographic and triple quotes; unquoted keys and values; comments; trailing, doubled
and missing commas; Python and JavaScript literals, tuples and sets; raw line breaks and unescaped quotes inside strings;
missing or mismatched closing brackets. What was cut off is marked, never guessed.

The work is bounded: every step is paid from an allowance that grows with the length of the text, so that thirty
thousand opening brackets cost no more than an ordinary reply of that size.
"""

import re
from dataclasses import dataclass
from typing import Any

from providers.latex_escapes import decode_escapes

_MAX_DEPTH = 32
_QUOTES = "\"'“”„«‘`"
_CLOSERS = {'"': '"', "'": "'", "`": "`", "«": "»", "‘": "’'", "“": '”“"', "”": '”"', "„": '“”"'}

_KEY_AHEAD = r"(?:\"[^\"\n]{0,80}\"|'[^'\n]{0,80}'|[“‘„][^”“’\n]{0,80}[”“’])\s*[:：=]"
_COMMENT_AHEAD = r"//|/\*|#"
_AFTER_VALUE = (
    rf"\s*(?:\Z|`{{3}}|[,，;]?\s*{_KEY_AHEAD}|[,，;]\s*(?:\Z|[}}\]{{]|{_COMMENT_AHEAD})|%s|(?P<brace>\}})(?![\"'\w])|(?P<bracket>\])"
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

_KEY = re.compile(
    r"(?:\"{1,2}((?:[^\"\\\n]|\\.){0,120})\"{1,2}|'((?:[^'\\\n]|\\.){0,120})'|[“„‘«]([^”“’»\"\n]{0,120})[”“’»\"]"
    r"|([^\W\d][\w.-]{0,40}|\d{1,4})[\"']?|[\"']([\w ]{1,40}))\s*(?:=>|[:：=]{1,2})"
    r"|\"(\w{1,40})\"\s*(?=[\"{\[])"
)
_QUOTED_KEY = re.compile(r"[\"'“](?:[^\"'”\\\n]){1,60}[\"'”]\s*[:：]")
_NUMBER = re.compile(r"[-+]?(?:\d[\d_]*+(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?(?!\w)|[-+]?Infinity\b")
_LITERAL = re.compile(r"(?:null|true|false|None|True|False|undefined|NaN|nil)\b")
_BARE = re.compile(
    rf"[^\n{{}}\[\]\"',:](?:[^\n{{}}\[\]]){{0,600}}?"
    rf"(?=\"?\s*(?:[,，]\s*(?:{_KEY_AHEAD}|[A-Za-z_]\w{{0,40}}\s*[:：=]|\}})|\}}|\n\s*(?:{_KEY_AHEAD}|\}})))"
)
_CALL = re.compile(r"[A-Za-z_][\w.]{0,60}(?=\()")
_KEYWORD_ARGUMENT = re.compile(r"\(\s*[A-Za-z_]\w{0,40}\s*=[^=]")
_STRING_PREFIX = re.compile(r"[rRfFbBuU]{1,2}(?=[\"'])")
_COMMENT = r"//[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)|#[^\n]*+"
_SPACE = re.compile(rf"(?:\s++|{_COMMENT})*+")
_SEPARATORS = re.compile(rf"(?:[\s,，;、]++|\.\.\.|…|{_COMMENT})*+")
_NOISE = re.compile(r"[^,{}\[\]]{1,300}")
_CUT_KEY = re.compile(r"[\"']?[\w ]{0,60}[\"']?\s*\Z")
_PLUS = re.compile(r"\s*\+\s*(?=[\"'])")
_DRIVE = re.compile(r"(?<![A-Za-z])[A-Za-z]:\\[^\\\s]")
_BEFORE_FORGOTTEN = re.compile(r"(?:,|\}\s*,?\s*\{)\s*\Z")
_STRAY_CLOSER = re.compile(r"\}\s*,?\s*\{")
_RESUME = re.compile(r"[{\]]")

_LITERALS: dict[str, Any] = {"true": True, "True": True, "false": False, "False": False}
_STRING_TOKENS = {
    opener: re.compile(rf"\\.|[{re.escape(closers)}]|[{{}}\[\]]", re.DOTALL) for opener, closers in _CLOSERS.items()
}


class Number(str):
    """A JSON number, kept as it was written."""

    __slots__ = ()


class OpenObject(dict[str, Any]):
    """An object whose closing brace never came."""

    torn: bool = False
    """True where it ended inside a key or a value, or right after a comma: it is not whole."""


class NotJson(Exception):
    """What stands at this place cannot be read as JSON."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """One JSON value inside a text."""

    start: int
    """Index of its first character."""
    end: int
    """Index after its last character."""
    value: Any
    """Objects as dict, arrays as list, numbers as `Number`."""
    closed: bool
    """False where the text ended first."""


_CUT = object()
"""Stands for a value that the text ended in."""


def join_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any] | list[dict[str, Any]]:
    """Return one object, or several where a key comes again: a model that forgot the braces between its items."""
    objects: list[dict[str, Any]] = [{}]
    for key, value in pairs:
        if key in objects[-1]:
            objects.append({})
        objects[-1][key] = value
    return objects[0] if len(objects) == 1 else objects


class LenientReader:
    """Reads JSON values out of one text; the allowance is shared by all reads.

    Args:
        text: The text.
        cut: The text is known to end in the middle: its last string is then not thought to lack only its quote.
    """

    def __init__(self, text: str, *, cut: bool = False) -> None:
        self._known_cut = cut
        self._text = text
        self._at = 0
        self._cut = False
        self._too_deep_at = 0
        self._allowance = len(text) + 20_000

    def read(self, start: int) -> Span | None:
        """Return the value that opens at `start`, or None where there is none or the allowance is used up."""
        self._at, self._cut = start, False
        try:
            value = self._value(0, in_object=False, bare_keys=False)
        except NotJson:
            return None
        if value is _CUT:
            return None
        return Span(start=start, end=self._at, value=value, closed=not self._cut)

    @property
    def exhausted(self) -> bool:
        """The allowance is used up: no further read will succeed."""
        return self._allowance < 0

    def next_start(self, start: int) -> int:
        """Return where to look on after a read at `start` failed; a nest too deep is not entered bracket by bracket."""
        return max(start + 1, self._too_deep_at)

    def _pay(self, amount: int) -> None:
        self._allowance -= amount
        if self._allowance < 0:
            raise NotJson

    def _skip(self, pattern: re.Pattern[str]) -> str:
        """Move over what `pattern` matches and return the character that follows; "" at the end of the text or fence."""
        match = pattern.match(self._text, self._at)
        if match:
            self._pay(1 + (match.end() - self._at) // 16)
            self._at = match.end()
        return "" if self._text.startswith("```", self._at) else self._text[self._at : self._at + 1]

    def _value(self, depth: int, *, in_object: bool, bare_keys: bool) -> Any:
        char = self._skip(_SPACE)
        if depth > _MAX_DEPTH:
            self._too_deep_at = self._at
            raise NotJson
        if prefix := _STRING_PREFIX.match(self._text, self._at):
            self._at = prefix.end()
            char = self._text[self._at]
        elif call := _CALL.match(self._text, self._at):
            self._at = call.end()
            char = "("
        if char == "{":
            return self._object("}", depth)
        if char == "[":
            return self._array("]", depth)
        if char == "(":
            named = _KEYWORD_ARGUMENT.match(self._text, self._at)
            return self._object(")", depth) if named else self._array(")", depth)
        if char and char in _QUOTES:
            return self._joined_strings(in_object=in_object, bare_keys=bare_keys)
        return self._scalar(char, in_object=in_object)

    def _scalar(self, char: str, *, in_object: bool) -> Any:
        if not char:
            self._cut = True
            return _CUT
        if literal := _LITERAL.match(self._text, self._at):
            self._at = literal.end()
            return _LITERALS.get(literal.group())
        if number := _NUMBER.match(self._text, self._at):
            self._at = number.end()
            return None if number.group().endswith("y") else Number(number.group())
        if in_object and char in ",，}])":
            return None
        bare = _BARE.match(self._text, self._at) if in_object else None
        if bare is None:
            raise NotJson
        self._pay(50)
        self._at = bare.end() + (1 if self._text.startswith('"', bare.end()) else 0)
        return decode_escapes(bare.group()).strip()

    def _object(self, closer: str, depth: int) -> Any:
        doubled = self._text.startswith("{{", self._at)  # braces escaped for a template
        self._at += 1 + doubled
        pairs: list[tuple[str, Any]] = []
        bare_keys = False
        while True:
            before = self._at
            char = self._skip(_SEPARATORS)
            if not char:
                return self._unfinished(pairs, torn=bool(pairs) and "," in self._text[before : self._at])
            if char in "}])":
                self._at += char == closer or depth == 0
                self._at += doubled and self._text.startswith("}", self._at)
                return join_pairs(pairs)
            if char == "{" and pairs:  # the next item began before this one was closed
                return join_pairs(pairs)
            match = _KEY.match(self._text, self._at)
            if match is None:
                if not pairs and char in _QUOTES and depth < _MAX_DEPTH:
                    self._at -= 1
                    return self._array(closer, depth)
                if not self._skip_noise(pairs):
                    return self._unfinished(pairs, torn=True)
                continue
            self._at = match.end()
            bare_keys = bare_keys or match.group(4) is not None
            value = self._value(depth + 1, in_object=True, bare_keys=bare_keys)
            if value is _CUT:
                return self._unfinished(pairs, torn=True)
            pairs.append((decode_escapes(next(part for part in match.groups() if part is not None)).strip(), value))

    def _skip_noise(self, pairs: list[tuple[str, Any]]) -> bool:
        """Move to the next comma or closing brace; False where the text ends before."""
        if not pairs:
            if _CUT_KEY.match(self._text, self._at):
                return False
            raise NotJson
        noise = _NOISE.match(self._text, self._at)
        if noise is None:
            raise NotJson
        self._pay(10)
        self._at = noise.end()
        return self._at < len(self._text)

    def _unfinished(self, pairs: list[tuple[str, Any]], *, torn: bool) -> Any:
        self._cut = True
        joined = join_pairs(pairs)
        objects = joined if isinstance(joined, list) else [joined]
        last = OpenObject(objects[-1])
        last.torn = torn
        return [*objects[:-1], last] if len(objects) > 1 else last

    def _array(self, closer: str, depth: int) -> Any:
        if closer == "]" and _QUOTED_KEY.match(self._text, self._after_space(self._at + 1)):
            return self._object("]", depth)
        self._at += 1
        items: list[Any] = []
        while True:
            char = self._skip(_SEPARATORS)
            if not char:
                self._cut = True
                return items
            if char in "}])":
                if char == closer or (depth > 0 and not _STRAY_CLOSER.match(self._text, self._at)):
                    self._at += char == closer
                    return items
                self._at += 1
                continue
            if char in _QUOTES and _QUOTED_KEY.match(self._text, self._at):  # the opening brace was forgotten
                self._at -= 1
                items.append(self._object("}", depth + 1))
                continue
            try:
                value = self._value(depth + 1, in_object=False, bare_keys=False)
            except NotJson:
                if not any(isinstance(item, dict) for item in items) or self._allowance < 0:
                    raise
                self._resume()
                continue
            if value is _CUT:
                return items
            items.append(value)

    def _after_space(self, at: int) -> int:
        match = _SPACE.match(self._text, at)
        return match.end() if match else at

    def _resume(self) -> None:
        """Move over words between two items to the next object or to the end of the array."""
        match = _RESUME.search(self._text, self._at + 1, self._at + 500)
        if match is None:
            raise NotJson
        self._at = match.start()

    def _joined_strings(self, *, in_object: bool, bare_keys: bool) -> Any:
        """Read a string, and those that a `+` adds to it."""
        value = self._string(in_object=in_object, bare_keys=bare_keys)
        while value is not _CUT and (plus := _PLUS.match(self._text, self._at)):
            self._at = plus.end()
            more = self._string(in_object=in_object, bare_keys=bare_keys)
            value = _CUT if more is _CUT else value + more
        return value

    def _string(self, *, in_object: bool, bare_keys: bool) -> Any:
        text, opener = self._text, self._text[self._at]
        if opener in "\"'" and text.startswith(opener * 3, self._at):
            end = text.find(opener * 3, self._at + 3)
            if end > 0:
                return self._finish(self._at + 3, end, end + 3)
        after = _AFTER_ELEMENT
        if in_object:
            after = _AFTER_VALUE_BARE_KEYS if bare_keys else _AFTER_VALUE_QUOTED_KEYS
        begin, perhaps = self._at + 1, -1
        opened = {"{": 0, "[": 0}
        for token in _STRING_TOKENS[opener].finditer(text, begin):
            char = token.group()
            self._pay(1 if char in "{}[]" else 3)
            if char in "{[":
                opened[char] += 1
            elif char in "}]":
                partner = "{" if char == "}" else "["
                opened[partner] = max(0, opened[partner] - 1)
            elif char[0] != "\\" or self._path_ends(begin, token, after):
                if _closes(after.match(text, token.end()), opened):
                    inside = 1 if char[0] == "\\" else 0
                    return self._finish(begin, token.start() + inside, token.end())
                if in_object and (end := self._forgotten_quote(begin, token.start())):
                    return self._finish(begin, end, end)
                if perhaps < 0 and _PERHAPS_AFTER.match(text, token.end()):
                    perhaps = token.start()
        if perhaps >= 0:
            return self._finish(begin, perhaps, perhaps + 1)
        tail = _CLOSING_TAIL.search(text, max(begin, len(text) - 40))
        if tail and not self._known_cut and text.count("}", begin) > text.count("{", begin):
            return self._finish(begin, tail.start(), tail.start())
        self._cut, self._at = True, len(text)
        return _CUT

    def _finish(self, begin: int, end: int, after: int) -> str:
        self._pay((end - begin) // 16)
        self._at = after
        return decode_escapes(self._text[begin:end])

    def _path_ends(self, begin: int, token: re.Match[str], after: re.Pattern[str]) -> bool:
        """Tell whether a backslash and a quote end a Windows path and its string, as in a folder name."""
        if token.group()[1:] not in "\"'" or not after.match(self._text, token.end()):
            return False
        return _DRIVE.search(self._text, max(begin, token.start() - 200), token.start()) is not None

    def _forgotten_quote(self, begin: int, quote: int) -> int:
        """Return where a string ended without its quote, if the quote at `quote` opens the next key; else 0."""
        if not _UNCLOSED_BEFORE_KEY.match(self._text, quote):
            return 0
        before = _BEFORE_FORGOTTEN.search(self._text[max(begin, quote - 40) : quote])
        return max(begin, quote - 40) + before.start() if before else 0


def _closes(match: re.Match[str] | None, opened: dict[str, int]) -> bool:
    """Tell whether a quote closes its string: a bracket after it must not be the partner of one inside the string."""
    if match is None:
        return False
    if match["brace"]:
        return opened["{"] == 0
    return not (match["bracket"] and opened["["] > 0)
