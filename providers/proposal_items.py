"""From read JSON (or anything brought into that form) to proposals: aliases, wrappers, answers, and what is dropped."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from providers.lenient_json import Number, OpenObject
from providers.types import Proposal

MAX_TEXT = 2000
"""Characters; a longer text is not a step and is dropped."""

STRONG_TEXT_KEYS = ("text", "step", "action", "instruction", "proposal", "candidate")
WEAK_TEXT_KEYS = ("title", "description", "content", "name", "task")
"""Keys that other data uses as well: alone, outside a list, they prove nothing."""
RATIONALE_KEYS = ("rationale", "reason", "why", "explanation", "justification", "reasoning", "because", "thought", "purpose")
ANSWER_KEYS = ("answer", "finalanswer")

_TEXT_KEYS = STRONG_TEXT_KEYS + WEAK_TEXT_KEYS
_LIST_KEYS = ("steps", "items", "proposals", "candidates", "actions", "instructions", "plan", "list")
_ENVELOPE_KEYS = (
    "response", "output", "outputs", "result", "results", "data", "json", "message", "messages", "choices",
    "arguments", "parameters", "input", "function", "toolcalls", "content", "value",
)  # fmt: skip
_CLOSED_KEYS = frozenset(
    {"error", "errors", "refusal", "thinking", "thoughts", "analysis", "scratchpad", "reflection", "schema", "properties"}
    | set(RATIONALE_KEYS)
)
"""Keys whose lists are never steps: failures, thinking, reasons, schemas."""
_SCHEMA_TYPES = frozenset({"object", "array", "string", "number", "integer", "boolean"})
_MAX_DEPTH = 12

_ENUMERATED = re.compile(r"(\D{0,40}?)(\d{1,3})(\D{0,10})")
_NUMBERED_TEXT = re.compile(r"\s*\(?(\d{1,3})[.):]\s+(?=\D)")
_ORDINAL_ONLY = re.compile(r"\W*(?:[^\W\d]{1,20}\W{0,3})?\d{1,3}\W*")
_PLACEHOLDER = re.compile(r"<(?!.*</).*>|\[[^\[\]]*\]|\{+[^{}]*\}+|[\"']?(?:string|text|str)[\"']?", re.DOTALL | re.IGNORECASE)
_NOT_SPACED_SCRIPT = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{3}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """What was read out of one part of a reply."""

    items: tuple[Proposal, ...] = ()
    """In the order written; not yet cleaned."""
    answer: str | None = None
    """A final answer that stands beside the items rather than in one of them."""

    def __add__(self, other: "Reading") -> "Reading":
        return Reading(items=self.items + other.items, answer=other.answer or self.answer)


NOTHING = Reading()

Nested = Callable[[str], Reading]
"""Reads a string that may hold a whole reply of its own."""


def tidy(reading: Reading, limit: int | None = None) -> list[Proposal]:
    """Return the proposals worth keeping.

    Blank texts, placeholders, texts over `MAX_TEXT` characters and repeats (white space folded) are dropped; a final
    answer beside the items goes to the last one kept that has none of its own.

    Args:
        reading: Items as read.
        limit: Most proposals to return; None = all.
    """
    kept: dict[str, Proposal] = {}
    for item in reading.items:
        text = item.text.strip()
        folded = " ".join(text.split())
        if folded and len(text) <= MAX_TEXT and not is_placeholder(folded) and folded not in kept:
            rationale = item.rationale.strip()
            kept[folded] = replace(item, text=text, rationale="" if is_placeholder(rationale) else rationale)
    proposals = list(kept.values())[: None if limit is None else max(limit, 0)]
    if proposals and reading.answer and proposals[-1].answer is None:
        proposals[-1] = replace(proposals[-1], answer=reading.answer)
    return proposals


def is_placeholder(text: str) -> bool:
    """Tell whether `text` is an echo of a template ("...", "<text>") or holds no letter and no digit."""
    return not any(char.isalnum() for char in text) or _PLACEHOLDER.fullmatch(text) is not None


def item_from_pairs(pairs: Iterable[tuple[str, Any]]) -> Proposal | None:
    """Return the proposal that labelled fields (`Text: ...`, `<text>...</text>`) make, if one of them is its text."""
    return _item(dict(pairs), cut=False)


def role_of(label: str) -> str | None:
    """Return `text`, `rationale` or `answer` for a label known as a key of a proposal, else None."""
    key = _fold(label)
    for role, keys in (("text", _TEXT_KEYS), ("rationale", RATIONALE_KEYS), ("answer", ANSWER_KEYS)):
        if key in keys:
            return role
    return None


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


def _fold(key: str) -> str:
    return "".join(char for char in key.lower() if char.isalnum())


def _words(value: Any) -> str | None:
    """Return a text; None for anything that is not one."""
    return value if isinstance(value, str) and not isinstance(value, Number) and value.strip() else None


def _is_sentence(value: Any) -> bool:
    text = _words(value)
    return text is not None and (len(text.split()) > 1 or _NOT_SPACED_SCRIPT.search(text) is not None)


def _answer(fields: dict[str, Any]) -> str | None:
    for key in ANSWER_KEYS:
        value = fields.get(key)
        if isinstance(value, str) and value.strip() and any(char.isalnum() for char in value):
            return value.strip()
    return None


def _rationale(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(part.strip() for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _item(value: dict[str, Any], *, cut: bool) -> Proposal | None:
    """Return the object as a proposal, or None where it has no text or was not whole."""
    if isinstance(value, OpenObject) and (value.torn or cut):
        return None
    fields = {_fold(key): part for key, part in reversed(value.items())}
    if fields.get("type") in _SCHEMA_TYPES or fields.get("error") or not fields.keys().isdisjoint({"role", "arguments"}):
        return None
    texts = {key: text for key in _TEXT_KEYS if (text := _words(fields.get(key)))}
    for key in list(texts):
        if len(texts) > 1 and _ORDINAL_ONLY.fullmatch(texts[key]):
            del texts[key]
    reasons = [text for key in RATIONALE_KEYS if (text := _rationale(fields.get(key)).strip())]
    if reasons and next(iter(texts), "") == "title" and len(texts) > 1:
        del texts["title"]
    if not texts:
        return None
    rest = [text for key, text in texts.items() if key in ("description", "content")]
    text = next(iter(texts.values()))
    rationale = (reasons or [part for part in rest if part is not text] or [""])[0]
    return Proposal(text=text, rationale=rationale, answer=_answer(fields))


def _row(values: list[Any]) -> Proposal | None:
    """Read a tuple such as `(1, "what", "why")`."""
    words = [text for value in values if (text := _words(value))]
    if not 1 <= len(words) <= 2 or len(values) > 3:
        return None
    return Proposal(text=words[0], rationale=words[1] if len(words) == 2 else "")


def _read_list(values: list[Any], *, cut: bool, nested: Nested, depth: int) -> Reading:
    strings = [text for value in values if (text := _words(value))]
    numbered = [match for text in strings if (match := _NUMBERED_TEXT.match(text))]
    unnumber = len(strings) > 1 and [int(match[1]) for match in numbered] == list(range(1, len(strings) + 1))
    rows = len(values) > 1 and all(isinstance(value, list) for value in values)
    found = NOTHING
    for value in values:
        item = _item(value, cut=cut) if isinstance(value, dict) else None
        if rows and item is None:
            item = _row(value)
        if item is not None:
            found += Reading(items=(item,))
        elif (text := _words(value)) and text.lstrip()[:1] not in ("[", "{"):
            found += Reading(items=(Proposal(text=_NUMBERED_TEXT.sub("", text, count=1) if unnumber else text),))
        else:
            found += read_items(value, cut=cut, nested=nested, depth=depth + 1)
    return found


def _read_object(value: dict[str, Any], *, cut: bool, nested: Nested, depth: int) -> Reading:
    fields = {_fold(key): part for key, part in reversed(value.items())}
    beside = Reading(answer=_answer(fields))
    for read in (_in_parallel, _in_list_keys, _enumerated, _alone, _in_envelope, _keyed_by_text):
        found = read(value, fields, cut, nested, depth)
        if found.items:
            return found if read is _alone else beside + found
    return NOTHING


def _in_parallel(value: dict[str, Any], fields: dict[str, Any], cut: bool, nested: Nested, depth: int) -> Reading:
    """`{"text": [..], "rationale": [..]}`: one list a field."""
    texts = [(key, part) for key, part in fields.items() if key.removesuffix("s") in STRONG_TEXT_KEYS]
    for _, part in texts:
        if isinstance(part, list) and part and all(_words(text) for text in part):
            reasons = next((fields[key] for key in fields if key.removesuffix("s") in RATIONALE_KEYS), None)
            if not isinstance(reasons, list) or len(reasons) != len(part):
                reasons = [""] * len(part)
            pairs = zip(part, reasons, strict=True)
            return Reading(items=tuple(Proposal(text=text, rationale=_rationale(why)) for text, why in pairs))
    return NOTHING


def _in_list_keys(value: dict[str, Any], fields: dict[str, Any], cut: bool, nested: Nested, depth: int) -> Reading:
    """`{"steps": ...}` and its like, whatever stands beside it."""
    for key, part in fields.items():
        if key.endswith(_LIST_KEYS) and key not in _CLOSED_KEYS:
            whole = isinstance(part, str) and not isinstance(part, Number)
            found = nested(part) if whole else read_items(part, cut=cut, nested=nested, depth=depth + 1)
            if found.items:
                return found
    return NOTHING


def _enumerated(value: dict[str, Any], fields: dict[str, Any], cut: bool, nested: Nested, depth: int) -> Reading:
    """`{"1": ..., "2": ...}`, `{"step_1": ..., "rationale_1": ...}`."""
    parts = [(match, part) for key, part in value.items() if (match := _ENUMERATED.fullmatch(key.strip()))]
    if not parts or 2 * len(parts) < len(value):
        return NOTHING
    reasons = {match[2]: part for match, part in parts if _fold(match[1]) in RATIONALE_KEYS}
    found = NOTHING
    for match, part in parts:
        if _fold(match[1]) in _CLOSED_KEYS:
            continue
        if isinstance(part, dict):
            item = _item(part, cut=cut)
            found += Reading(items=(item,)) if item else read_items(part, cut=cut, nested=nested, depth=depth + 1)
        elif _is_sentence(part) or (len(parts) > 1 and _words(part)):
            found += Reading(items=(Proposal(text=part, rationale=_rationale(reasons.get(match[2], ""))),))
    return found


def _alone(value: dict[str, Any], fields: dict[str, Any], cut: bool, nested: Nested, depth: int) -> Reading:
    """One bare proposal without a list."""
    item = _item(value, cut=cut)
    return Reading(items=(item,)) if item and _is_proven(value) else NOTHING


def _in_envelope(value: dict[str, Any], fields: dict[str, Any], cut: bool, nested: Nested, depth: int) -> Reading:
    """Any other wrapper; lists of bare words count only as sentences."""
    together = NOTHING
    for key, part in fields.items():
        if key in _CLOSED_KEYS or key in ANSWER_KEYS:
            continue
        if isinstance(part, list) and not any(isinstance(element, (dict, list)) for element in part):
            if not part or not all(_is_sentence(element) or _is_json(element) for element in part):
                continue
        if key in _ENVELOPE_KEYS and isinstance(part, str) and not isinstance(part, Number):
            found = nested(part)
        elif isinstance(part, dict) and (item := _item(part, cut=cut)) and _is_proven(part):
            found = Reading(items=(item,))
        else:
            found = read_items(part, cut=cut, nested=nested, depth=depth + 1)
        if found.items and not isinstance(part, dict):
            return found
        together += found
    return together


def _keyed_by_text(value: dict[str, Any], fields: dict[str, Any], cut: bool, nested: Nested, depth: int) -> Reading:
    """`{"Fill the jug.": "It is the start."}`: the step itself is the key."""
    whole = len(value) > 1 and all(len(key.split()) > 2 and _words(part) for key, part in value.items())
    if not whole or isinstance(value, OpenObject):
        return NOTHING
    return Reading(items=tuple(Proposal(text=key, rationale=part) for key, part in value.items()))


def _is_proven(value: dict[str, Any]) -> bool:
    """Tell whether an object outside a list is a proposal: it has a key that little else has."""
    return any(key in STRONG_TEXT_KEYS or key in RATIONALE_KEYS for key in map(_fold, value))


def _is_json(value: Any) -> bool:
    return isinstance(value, str) and value.strip()[:1] in ("[", "{")
