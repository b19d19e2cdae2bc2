"""Answers that are JSON objects: two are one answer where their values are equal, however they are written.

Above: `verifier.answers`. Below: nothing.
"""

import json
from typing import Any


def canonical(text: str) -> str | None:
    """Return a JSON object, or a list that begins with one, in one spelling: keys sorted, no blanks, whole numbers as such.

    Texts inside are compared exactly, upper and lower case apart. None for every other text.
    """
    if not text.lstrip().startswith(("{", "[")) or text.lstrip()[1:].lstrip()[:1] not in ("{", '"', "}"):
        return None
    try:
        value = json.loads(text, parse_float=_number, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return None
    is_structure = isinstance(value, dict) or (isinstance(value, list) and isinstance(value[0], dict))
    return spelt(value) if is_structure else None


def spelt(value: Any) -> str:
    """Return a JSON value as compact text with sorted keys."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _number(written: str) -> float | int:
    number = float(written)
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
