"""Candidates that the calling model proposes itself: no key, no sampling, works in every client."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from providers.types import Proposal

LONGEST_TEXT = 2000
"""Characters of a proposal's text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposed:
    """A proposal with the checks its caller wants run on it."""

    proposal: Proposal
    checks: tuple[Mapping[str, Any], ...] = ()
    """As given; what a check may hold is the verifier's business."""


def caller_proposals(items: object) -> list[Proposed]:
    """Return the caller's proposals, in order.

    Args:
        items: A list of objects `{text, rationale?, answer?, checks?}`; `check` for a single check. Further keys are
            ignored. An answer may be a number.

    Raises:
        ValueError: The text names the field, for example `proposals[2].text is empty`.
    """
    if not isinstance(items, list | tuple):
        raise _wrong_type("proposals", "a list of objects", items)
    if not items:
        raise ValueError("proposals is empty")
    return [_proposed(f"proposals[{index}]", item) for index, item in enumerate(items)]


def _proposed(where: str, item: object) -> Proposed:
    if not isinstance(item, Mapping):
        raise _wrong_type(where, "an object with a text", item)
    text = _text(f"{where}.text", item.get("text"))
    if not text:
        raise ValueError(f"{where}.text is {'empty' if 'text' in item else 'missing'}")
    if len(text) > LONGEST_TEXT:
        raise ValueError(f"{where}.text has {len(text)} characters; at most {LONGEST_TEXT} are allowed")
    return Proposed(
        proposal=Proposal(
            text=text,
            rationale=_text(f"{where}.rationale", item.get("rationale")),
            answer=_answer(f"{where}.answer", item.get("answer")),
        ),
        checks=_checks(where, item),
    )


def _text(where: str, value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _wrong_type(where, "a string", value)
    return value.strip()


def _answer(where: str, value: object) -> str | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return _text(where, value) or None


def _checks(where: str, item: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    single = item.get("check")
    several = item.get("checks")
    if several is not None and not isinstance(several, list | tuple):
        raise _wrong_type(f"{where}.checks", "a list of objects", several)
    named = [(f"{where}.checks[{index}]", check) for index, check in enumerate(several or ())]
    if single is not None:
        named.append((f"{where}.check", single))
    for name, check in named:
        if not isinstance(check, Mapping):
            raise _wrong_type(name, "an object", check)
    return tuple(check for _, check in named)


def _wrong_type(where: str, wanted: str, value: object) -> ValueError:
    """Return the error that names the field, what it must be, and what it is in the words of JSON."""
    names = {type(None): "null", bool: "a boolean", int: "a number", float: "a number", str: "a string"}
    found = names.get(type(value), "a list" if isinstance(value, list | tuple) else "an object")
    return ValueError(f"{where} must be {wanted}, not {found}")
