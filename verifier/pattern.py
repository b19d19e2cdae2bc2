"""Regular expressions of users, through RE2: matching time grows linearly with the text, whatever the pattern.

Source: Cox 2010, "Regular Expression Matching in the Wild" (RE2). RE2 has no look-around and no back-references. Linear is
not yet cheap: the factor is the size of the compiled pattern, so size times length is bounded too.
"""

from functools import lru_cache
from typing import Protocol

MAX_PATTERN_CHARS = 4_000
MAX_WORK = 50_000_000
"""Program size times UTF-8 bytes of text; at the bound a match takes some tenths of a second."""


class PatternError(ValueError):
    """RE2 refuses the pattern; the text says why."""


class TooMuchWork(ValueError):
    """Pattern and text together are too large to match in a bounded time."""


class _Match(Protocol):
    def group(self, group: int = 0) -> str: ...


class _Compiled(Protocol):
    programsize: int

    def search(self, text: str) -> _Match | None: ...


@lru_cache(maxsize=256)
def _compile(pattern: str) -> _Compiled:
    import re2  # a shared library of several megabytes: only who matches pays for it

    options = re2.Options()
    options.log_errors = False
    try:
        compiled: _Compiled = re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else "not a pattern"
        raise PatternError(reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)) from error
    return compiled


def compile_pattern(pattern: str) -> _Compiled:
    """Compile a pattern, or recall it.

    Raises:
        PatternError: RE2 refuses it, it is longer than `MAX_PATTERN_CHARS`, or it holds half a surrogate pair.
    """
    if len(pattern) > MAX_PATTERN_CHARS:
        raise PatternError(f"longer than {MAX_PATTERN_CHARS} characters")
    if any("\ud800" <= char <= "\udfff" for char in pattern):
        raise PatternError("holds half a surrogate pair")
    return _compile(pattern)


def work(pattern: str, text: str) -> int:
    """Return the bound on the steps of a match: program size times length."""
    return compile_pattern(pattern).programsize * max(1, len(text.encode("utf-8", "replace")))


def search(pattern: str, text: str) -> str | None:
    """Return the leftmost match of the pattern in the text, which may be empty; None where there is none.

    Raises:
        PatternError: RE2 refuses the pattern.
        TooMuchWork: pattern and text are too large together.
    """
    if work(pattern, text) > MAX_WORK:
        raise TooMuchWork(f"the pattern is too large for a text of {len(text)} characters; shorten one of them")
    found = compile_pattern(pattern).search(text.encode("utf-8", "replace").decode())  # RE2 takes no half surrogates
    return None if found is None else found.group(0)
