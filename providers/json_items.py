"""Find the proposals in a JSON value, however a model or a server has wrapped them."""

import re
from collections.abc import Callable
from typing import Any

from providers.lenient_json import Number, OpenObject
from providers.proposal_items import (
    ANSWER_KEYS,
    NOTHING,
    RATIONALE_KEYS,
    STRONG_TEXT_KEYS,
    Reading,
    answer_in,
    fold,
    folded,
    item_from_object,
    rationale_in,
    words_in,
)
from providers.types import Proposal

_LIST_KEYS = ("steps", "items", "proposals", "candidates", "actions", "instructions", "plan", "list")
_ENVELOPE_KEYS = (
    "response", "output", "outputs", "result", "results", "data", "json", "message", "messages", "choices",
    "arguments", "parameters", "input", "function", "toolcalls", "content", "value",
)  # fmt: skip
_CLOSED_KEYS = frozenset(RATIONALE_KEYS) | frozenset(
    "error errors refusal thinking thoughts analysis scratchpad reflection schema properties".split()
)
"""Keys whose lists are never steps: failures, thinking, reasons, schemas."""
_MESSAGE_PARTS = ("text", "output_text")
_MAX_DEPTH = 10

_ENUMERATED = re.compile(r"(\D{0,40}?)(\d{1,3})(\D{0,10})")
_NUMBERED_TEXT = re.compile(r"\s*\(?(\d{1,3})[.):]\s+(?=\D)")
_NOT_SPACED_SCRIPT = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{3}")

Nested = Callable[[str], Reading]
"""Reads a string that may hold a whole reply of its own."""


def read_items(value: Any, *, cut: bool, nested: Nested, depth: int = 0) -> Reading:
    """Return the proposals in a JSON value, however it is wrapped.

    Args:
        value: As `providers.lenient_json` gives it.
        cut: The reply is known to have been cut: an object left open is then not whole.
        nested: Reads strings that hold a reply themselves.
        depth: How many wrappers lie above.
    """
    if depth > _MAX_DEPTH:
        return NOTHING
    if isinstance(value, list):
        return _read_list(value, cut=cut, nested=nested, depth=depth)
    if isinstance(value, dict):
        return _read_object(value, cut=cut, nested=nested, depth=depth)
    if isinstance(value, str) and not isinstance(value, Number) and value.lstrip()[:1] in ("[", "{", "`"):
        return nested(value)
    return NOTHING


def _is_sentence(value: Any) -> bool:
    text = words_in(value)
    return text is not None and (len(text.split()) > 1 or _NOT_SPACED_SCRIPT.search(text) is not None)


def _row(values: list[Any]) -> Proposal | None:
    """Read a tuple such as `(1, "what", "why")`."""
    words = [text for value in values if (text := words_in(value))]
    if not 1 <= len(words) <= 2 or len(values) > 3:
        return None
    return Proposal(text=words[0], rationale=words[1] if len(words) == 2 else "")


def _read_list(values: list[Any], *, cut: bool, nested: Nested, depth: int) -> Reading:
    strings = [text for value in values if (text := words_in(value))]
    numbered = [match for text in strings if (match := _NUMBERED_TEXT.match(text))]
    unnumber = len(strings) > 1 and [int(match[1]) for match in numbered] == list(range(1, len(strings) + 1))
    rows = len(values) > 1 and all(isinstance(value, list) for value in values)
    items: list[Proposal] = []
    answer = None
    for value in values:
        item = item_from_object(value, cut=cut) if isinstance(value, dict) else None
        if rows and item is None:
            item = _row(value)
        if item is not None:
            items += _opened(item, value, nested).items or (item,)
        elif (text := words_in(value)) and not _is_json(text):
            items.append(Proposal(text=_NUMBERED_TEXT.sub("", text, count=1) if unnumber else text))
        else:
            found = read_items(value, cut=cut, nested=nested, depth=depth + 1)
            items += found.items
            answer = found.answer or answer
    return Reading(items=tuple(items), answer=answer)


def _opened(item: Proposal, value: Any, nested: Nested) -> Reading:
    """Return what the text of an item holds where it is itself a reply: a part of a message, or JSON."""
    part = isinstance(value, dict) and value.get("type") in _MESSAGE_PARTS
    return nested(item.text) if part or _is_json(item.text) else NOTHING


def _read_object(value: dict[str, Any], *, cut: bool, nested: Nested, depth: int) -> Reading:
    fields = folded(value)
    beside = Reading(answer=answer_in(fields))
    for read in (_in_parallel, _in_list_keys, _enumerated, _alone, _in_envelope, _keyed_by_text):
        found = read(value, fields, cut, nested, depth)
        if found.items:
            return found if read is _alone else beside + found
    return NOTHING


def _in_parallel(value: dict[str, Any], fields: dict[str, Any], cut: bool, nested: Nested, depth: int) -> Reading:
    """`{"text": [..], "rationale": [..]}`: one list a field."""
    texts = [(key, part) for key, part in fields.items() if key.removesuffix("s") in STRONG_TEXT_KEYS]
    for _, part in texts:
        if isinstance(part, list) and part and all(words_in(text) for text in part):
            reasons = next((fields[key] for key in fields if key.removesuffix("s") in RATIONALE_KEYS), None)
            if not isinstance(reasons, list) or len(reasons) != len(part):
                reasons = [""] * len(part)
            pairs = zip(part, reasons, strict=True)
            return Reading(items=tuple(Proposal(text=text, rationale=rationale_in(why)) for text, why in pairs))
    return NOTHING


def _in_list_keys(value: dict[str, Any], fields: dict[str, Any], cut: bool, nested: Nested, depth: int) -> Reading:
    """`{"steps": ...}` and its like, whatever stands beside it."""
    for name in _LIST_KEYS:
        for key, part in fields.items():
            if not key.endswith(name) or key in _CLOSED_KEYS:
                continue
            whole = isinstance(part, str) and not isinstance(part, Number)
            found = nested(part) if whole else read_items(part, cut=cut, nested=nested, depth=depth + 1)
            if found.items:
                return found
    return NOTHING


def _enumerated(value: dict[str, Any], fields: dict[str, Any], cut: bool, nested: Nested, depth: int) -> Reading:
    """`{"1": ..., "2": ...}`, `{"step_1": ..., "rationale_1": ...}`."""
    parts = _numbered_keys(value)
    reasons = {match[2]: value[match[0]] for match in parts if fold(match[1]) in RATIONALE_KEYS}
    found = NOTHING
    for match in parts:
        part = value[match[0]]
        if fold(match[1]) in _CLOSED_KEYS:
            continue
        if isinstance(part, (dict, list)):
            item = item_from_object(part, cut=cut) if isinstance(part, dict) else None
            found += Reading(items=(item,)) if item else read_items(part, cut=cut, nested=nested, depth=depth + 1)
        elif _is_sentence(part) or (len(parts) > 1 and words_in(part)):
            found += Reading(items=(Proposal(text=part, rationale=rationale_in(reasons.get(match[2], ""))),))
    return found


def _numbered_keys(value: dict[str, Any]) -> list[re.Match[str]]:
    """Return the keys that hold a number, if they are half of all keys at least."""
    matches = [match for key in value if (match := _ENUMERATED.fullmatch(key))]
    matches = [match for match in matches if not fold(match[0]).endswith(_LIST_KEYS)]
    return matches if 2 * len(matches) >= len(value) else []


def _alone(value: dict[str, Any], fields: dict[str, Any], cut: bool, nested: Nested, depth: int) -> Reading:
    """One bare proposal without a list."""
    item = item_from_object(value, cut=cut)
    return Reading(items=(item,)) if item and _is_proven(value) else NOTHING


def _in_envelope(value: dict[str, Any], fields: dict[str, Any], cut: bool, nested: Nested, depth: int) -> Reading:
    """Any other wrapper: its last list, else the items of its objects together."""
    together, last = NOTHING, NOTHING
    tried = {fold(match[0]) for match in _numbered_keys(value)}
    for key, part in fields.items():
        if key in _CLOSED_KEYS or key in ANSWER_KEYS or key in tried or key.endswith(_LIST_KEYS):
            continue
        if isinstance(part, dict):
            item = item_from_object(part, cut=cut) if _is_proven(part) else None
            one = Reading(items=(item,)) if item else NOTHING
            together += one if item else read_items(part, cut=cut, nested=nested, depth=depth + 1)
        elif key in _ENVELOPE_KEYS and words_in(part):
            last = nested(part) or last
        elif not isinstance(part, list) or _may_be_steps(part):
            last = read_items(part, cut=cut, nested=nested, depth=depth + 1) or last
    return last or together


def _may_be_steps(values: list[Any]) -> bool:
    """Tell whether a list under an unknown key can be one of steps: bare words are not, sentences are."""
    return any(isinstance(value, (dict, list)) for value in values) or all(
        _is_sentence(value) or _is_json(value) for value in values
    )


def _keyed_by_text(value: dict[str, Any], fields: dict[str, Any], cut: bool, nested: Nested, depth: int) -> Reading:
    """`{"Fill the jug.": "It is the start."}`: the step itself is the key."""
    whole = len(value) > 1 and all(len(key.split()) > 2 and words_in(part) for key, part in value.items())
    if not whole or isinstance(value, OpenObject):
        return NOTHING
    return Reading(items=tuple(Proposal(text=key, rationale=part) for key, part in value.items()))


def _is_proven(value: dict[str, Any]) -> bool:
    """Tell whether an object outside a list is a proposal: it has a key that little else has."""
    return any(key in STRONG_TEXT_KEYS or key in RATIONALE_KEYS for key in map(fold, value))


def _is_json(value: Any) -> bool:
    return isinstance(value, str) and value.strip()[:1] in ("[", "{")
