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
from providers.string_extent import KEY_AHEAD, OPENING_QUOTES, Follower, string_extent

_MAX_DEPTH = 32

_KEY = re.compile(
    r"(?:\"{1,2}((?:[^\"\\\n]|\\.){0,120})\"{1,2}|'((?:[^'\\\n]|\\.){0,120})'|[“„‘«]([^”“’»\"\n]{0,120})[”“’»\"]"
    r"|([^\W\d][\w.-]{0,40}|\d{1,4})[\"']?|[\"']([\w ]{1,40}))\s*(?:=>|[:：=]{1,2})"
    r"|\"(\w{1,40})\"\s*(?=[\"{\[])"
)
_QUOTED_KEY = re.compile(r"(?:\"[^\"\\\n]{1,60}\"|'[^'\\\n]{1,60}'|“[^”“\"\n]{1,60}”)\s*[:：]")
_NUMBER = re.compile(r"[-+]?(?:\d[\d_]*+(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?(?!\w)|[-+]?Infinity\b")
_LITERAL = re.compile(r"(?:null|true|false|None|True|False|undefined|NaN|nil)\b")
_BARE = re.compile(
    rf"[^\n{{}}\[\]\"',:](?:[^\n{{}}\[\]]){{0,600}}?"
    rf"(?=\"?\s*(?:[,，]\s*(?:{KEY_AHEAD}|[A-Za-z_]\w{{0,40}}\s*[:：=]|\}})|\}}|\n\s*(?:{KEY_AHEAD}|\}})))"
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
_STRAY_CLOSER = re.compile(r"\}\s*,?\s*\{")
_RESUME = re.compile(r"[{\]]")

_LITERALS: dict[str, Any] = {"true": True, "True": True, "false": False, "False": False}


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

    def _refuse_below(self, depth: int) -> None:
        if depth > _MAX_DEPTH:
            self._too_deep_at = self._at
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
        if char and char in OPENING_QUOTES:
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
        self._refuse_below(depth)
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
                if not pairs and char in OPENING_QUOTES:  # a set
                    self._at -= 1
                    return self._array(closer, depth + 1)
                if not self._skip_noise(pairs):
                    return self._unfinished(pairs, torn=True)
                continue
            self._at = match.end()
            bare_keys = bare_keys or match.group(4) is not None
            key = decode_escapes(next(part for part in match.groups() if part is not None)).strip()
            value = self._value(depth + 1, in_object=True, bare_keys=bare_keys)
            pairs.append((key, None if value is _CUT else value))
            if value is _CUT:
                return self._unfinished(pairs, torn=True)

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
        self._refuse_below(depth)
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
            if char in OPENING_QUOTES and _QUOTED_KEY.match(self._text, self._at):  # the opening brace was forgotten
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
        follower = Follower.ELEMENT
        if in_object:
            follower = Follower.BARE_KEY if bare_keys else Follower.QUOTED_KEY
        extent = string_extent(self._text, self._at, follower, cut=self._known_cut, pay=self._pay)
        if extent is None:
            self._cut, self._at = True, len(self._text)
            return _CUT
        self._pay((extent.end - extent.begin) // 16)
        self._at = extent.after
        return decode_escapes(self._text[extent.begin : extent.end])
