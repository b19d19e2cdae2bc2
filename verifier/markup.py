"""Take the dress off an answer: Markdown emphasis, LaTeX notation, the full stop at its end.

Pure text to text. What is not well formed (unbalanced braces, unknown commands) is left as it stands.
"""

import re

_WRAPPERS = (
    ("***", "***"),
    ("**", "**"),
    ("__", "__"),
    ("```", "```"),
    ("$$", "$$"),
    ("\\(", "\\)"),
    ("\\[", "\\]"),
    ("*", "*"),
    ("`", "`"),
    ("$", "$"),
)
_BOXED = re.compile(r"\\boxed\s*+\{")
_COMMAND = re.compile(r"\\(?:boxed|fbox|text)\s*+\{")
_BRACES = re.compile(r"\\.|[{}]", re.DOTALL)
_INLINE_MATH = re.compile(r"\$(?=\S)([^$]+)(?<=\S)\$(?![0-9])")
_GROUP = r"\s*\{([^{}]*)\}"
_TEXT = re.compile(
    r"\\(?:boxed|fbox|text|textbf|textit|textrm|textsf|texttt|mathrm|mathbf|mathsf|mathit|mbox|operatorname)" + _GROUP
)
_FRAC = re.compile(r"\\[dtc]?frac" + _GROUP + _GROUP)
_SHORT_FRAC = re.compile(r"\\[dtc]?frac\s*([0-9])\s*([0-9])(?![0-9])")
_NAMES = re.compile(
    r"\\(left|right|displaystyle|times|cdot|pi|infty|degree|pm|leq|geq|le|ge|neq|quad|qquad)(?![a-zA-Z])"
)
_MEANINGS = {
    "times": "×",
    "cdot": "·",
    "pi": "π",
    "infty": "∞",
    "degree": "°",
    "pm": "±",
    "leq": "≤",
    "le": "≤",
    "geq": "≥",
    "ge": "≥",
    "neq": "≠",
    "quad": " ",
    "qquad": " ",
}
_SPACES = re.compile(r"\\[,;: ]|~")
_ESCAPED = re.compile(r"\\([%$#&_{}])")
_DEGREE = re.compile(r"\^\s*(?:\{\s*\\circ\s*\}|\\circ(?![a-zA-Z]))")
_POWER = re.compile(r"\^\s*\{\s*([+-]?[0-9]+)\s*\}")
_PLAIN = re.compile(r"[+-]?\w+(?:\.\w+)?")
_QUOTES = {('"', '"'), ("'", "'"), ("“", "”"), ("„", "“"), ("«", "»"), ("「", "」")}
_MAX_NESTING = 12
"""Passes over nested commands; deeper nesting is left as it stands."""


def last_boxed(text: str) -> str | None:
    """Return the content of the last `\\boxed{...}` whose braces balance and that is not blank; None where there is none."""
    closing = _matching_braces(text)
    for box in reversed(list(_BOXED.finditer(text))):
        opening = box.end() - 1
        content = text[opening + 1 : closing.get(opening, opening)].strip()
        if content:
            return content
    return None


def unwrap(text: str) -> str:
    """Take away pairs that enclose the whole text: emphasis, code marks, math delimiters, `\\boxed{}` and `\\text{}`."""
    for _ in range(_MAX_NESTING):
        bare = _unwrap_once(text.strip())
        if bare == text:
            break
        text = bare
    return text.strip()


def plain(text: str) -> str:
    """Return the text without markup, with LaTeX notation written out, single spaces and no full stop at the end.

    A text in quotation marks keeps its spaces, and keeps the marks (as `'`) unless they enclose words only.
    """
    text = _INLINE_MATH.sub(r"\1", unwrap(text))
    if _is_quoted(text):
        return _without_quotes(text)
    if "\\" in text or "{" in text:
        text = _without_latex(text)
    text = unwrap(" ".join(text.split()))
    bare = text[:-1] if text.endswith((".", "。")) and not text.endswith("..") else text
    bare = unwrap(bare) or text
    return _without_quotes(bare) if _is_quoted(bare) else bare


def _unwrap_once(text: str) -> str:
    for start, end in _WRAPPERS:
        inner = text[len(start) : -len(end)]
        enclosed = len(text) > len(start) + len(end) and text.startswith(start) and text.endswith(end)
        if enclosed and start not in inner and end not in inner and not inner.startswith(start[0]):
            return inner
    if command := _COMMAND.match(text):
        opening = command.end() - 1
        if _matching_braces(text).get(opening) == len(text) - 1 and text[opening + 1 : -1].strip():
            return text[opening + 1 : -1]
    return text


def _matching_braces(text: str) -> dict[int, int]:
    """Return the position of the closing brace for each opening one that has one; `\\{` and `\\}` are no braces."""
    closing: dict[int, int] = {}
    opened: list[int] = []
    for brace in _BRACES.finditer(text):
        if brace[0] == "{":
            opened.append(brace.start())
        elif brace[0] == "}" and opened:
            closing[opened.pop()] = brace.start()
    return closing


def _without_latex(text: str) -> str:
    if text.count("{") != text.count("}"):
        return text
    written = _DEGREE.sub("°", text.replace("{,}", ",").replace("\\!", ""))
    written = _SPACES.sub(" ", written)
    written = _NAMES.sub(lambda name: _MEANINGS.get(name[1], ""), written)
    for _ in range(_MAX_NESTING):
        before = written
        written = _POWER.sub(r"^\1", written)
        written = _SHORT_FRAC.sub(_fraction, _FRAC.sub(_fraction, written))
        written = _TEXT.sub(r"\1", written)
        if written == before:
            break
    return _ESCAPED.sub(r"\1", written)


def _fraction(found: re.Match[str]) -> str:
    over, under = (part.strip() if _PLAIN.fullmatch(part.strip()) else f"({part.strip()})" for part in found.groups())
    after_digit = found.string[: found.start()][-1:].isdigit()
    return f"{' ' if after_digit else ''}{over}/{under}"  # 1\\frac{3}{4} is a mixed number


def _is_quoted(text: str) -> bool:
    return len(text) > 1 and (text[0], text[-1]) in _QUOTES and not set(text[1:-1]) & {text[0], text[-1]}


def _without_quotes(text: str) -> str:
    """Take off quotation marks around words; a quoted number or truth value is text, not that value, and keeps them."""
    inner = text[1:-1]
    is_words = inner[:1].isalpha() and inner.casefold() not in ("true", "false", "none", "null")
    return inner if is_words else f"'{inner}'"
