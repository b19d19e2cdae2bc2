"""What must not leave the process, and what must not reach a terminal.

`Redactor` hides the secrets it was given, in the forms in which they travel, and anything shaped like a well-known key.
`printable` takes out of foreign text what a terminal would obey instead of show. Every pattern here starts at a literal
and has no two neighbouring repetitions over the same characters, so hostile text costs linear time.
"""

import json
import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import quote, quote_plus

REDACTED: Final = "[redacted]"
"""What stands in the place of a secret."""

MIN_SECRET_CHARS: Final = 6
"""Shorter values are not hidden: they occur in ordinary text, and hiding them would give them away."""

_BEARER: Final = r"(?<=\b[Bb]earer |\bBEARER )(?=[A-Za-z._~+/=-]{0,200}[0-9])[A-Za-z0-9._~+/=-]{12,}"

_SHAPES: Final = (
    ("-", ("sk-",), r"(?<![A-Za-z0-9_-])c?sk-(?=[A-Za-z_-]{0,200}[0-9])[A-Za-z0-9_-]{16,}"),
    ("-", ("xai-",), r"(?<![A-Za-z0-9_-])xai-(?=[A-Za-z]{0,200}[0-9])[A-Za-z0-9]{20,}"),
    ("_", ("gsk_", "hf_"), r"(?<![A-Za-z0-9_-])(?:gsk|hf)_(?=[A-Za-z]{0,200}[0-9])[A-Za-z0-9]{20,}"),
    (
        "_",
        ("gho_", "ghp_", "ghs_", "ghu_", "ghr_", "github_pat_"),
        r"(?<![A-Za-z0-9_])(?:gh[opsur]|github_pat)_[A-Za-z0-9_]{20,}",
    ),
    ("z", ("AIza",), r"(?<![A-Za-z0-9_-])AIza[A-Za-z0-9_-]{30,}"),
    ("K", ("AKIA",), r"(?<![A-Za-z0-9])AKIA[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("J", ("eyJ",), r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+"),
    ("/", ("://",), r"(?<=://)[^\s:/@\"']{0,200}:[^\s/@\"']{1,200}(?=@)"),
    ("", ("earer ",), _BEARER),
    ("R", ("EARER ",), _BEARER),
)
"""Keys of model vendors and well-known services, JSON Web Tokens, user:password in a URL, bearer tokens. Where a key could be
taken for words (`sk-learn-contrib-packages`, `Bearer authentication`) it must hold a digit.

Each pattern stands behind literals of which every match has one, and a rare character in them: most text has none, and to look
for one character costs next to nothing."""

_BY_CHARACTER: Final = {
    rare: tuple((hint, re.compile(pattern)) for other, hints, pattern in _SHAPES if other == rare for hint in hints)
    for rare, _, _ in _SHAPES
}

_ESCAPE_SEQUENCE: Final = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # control sequence: colours, cursor, erase
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"  # string: window title, links
    r"|\x1b[ -/]*[0-~]?"  # the short ones
)
_UNSAFE: Final = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls but tab and line feed
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks that reorder text
    r"\ufeff\U000e0000-\U000e007f"  # invisible: byte order mark, tag characters
    r"\ud800-\udfff]"  # lone surrogates: not encodable
)


class Redactor:
    """Replaces secrets in text by `[redacted]`; a plain callable from str to str.

    Args:
        secrets: Secret values as they were loaded. Each is also hidden where it is URL-encoded or JSON-escaped; values
            shorter than `MIN_SECRET_CHARS` are left out.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        long_enough = {secret for secret in secrets if len(secret) >= MIN_SECRET_CHARS and secret not in REDACTED}
        forms = {form for secret in long_enough for form in _forms(secret)}
        # Longest first: where one secret begins with another, the rest of the longer one must not stay.
        self._forms = tuple(sorted(forms, key=lambda form: (-len(form), form)))
        self._known = re.compile("|".join(map(re.escape, self._forms))) if self._forms else None

    def __repr__(self) -> str:
        return f"Redactor({len(self._forms)} forms)"

    def __call__(self, text: str) -> str:
        """Return the text without secrets; the same object where there are none."""
        text = self.own(text)
        for rare, shapes in _BY_CHARACTER.items():
            if rare in text:
                for hint, pattern in shapes:
                    if hint in text:
                        text = pattern.sub(REDACTED, text)
        return text

    def own(self, text: str) -> str:
        """Return the text without the secrets that were given; what is merely shaped like a key stays."""
        if self._known is not None:
            for form in self._forms:
                if form in text:
                    return self._known.sub(REDACTED, text)
        return text

    def redact_value(self, value: object) -> object:
        """Return a copy of a JSON value in which every text, keys of objects included, is redacted."""
        if isinstance(value, str):
            return self(value)
        if isinstance(value, dict):
            return {self(key) if isinstance(key, str) else key: self.redact_value(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.redact_value(item) for item in value]
        return value


def _forms(secret: str) -> set[str]:
    """Return the spellings under which one secret may turn up in URLs, JSON and JSON inside JSON."""
    encoded = {
        quote(secret, errors="replace"),
        quote(secret, safe="", errors="replace"),
        quote_plus(secret, errors="replace"),
    }
    lower_hex = {re.sub(r"%[0-9A-F]{2}", lambda match: match.group().lower(), form) for form in encoded}
    escaped = {json.dumps(secret, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)}
    nested = {json.dumps(form)[1:-1] for form in escaped}
    return {secret} | encoded | lower_hex | escaped | nested


def printable(text: str) -> str:
    """Return foreign text safe to show on a terminal: no escape sequences, controls, reordering or invisible marks.

    Line feeds and tabs stay; carriage returns become line feeds, so that nothing can write over an earlier line.
    """
    if _UNSAFE.search(text) is None:
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _UNSAFE.sub("", _ESCAPE_SEQUENCE.sub("", text))
