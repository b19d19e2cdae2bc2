"""From read JSON (or anything brought into that form) to proposals: aliases, wrappers, answers, and what is dropped."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from providers.latex_escapes import mend_surrogates
from providers.lenient_json import Number, OpenObject
from providers.types import Proposal

MAX_TEXT = 2000
"""Characters; a longer text is not a step and is dropped."""

STRONG_TEXT_KEYS = ("text", "step", "action", "instruction", "proposal", "candidate")
WEAK_TEXT_KEYS = ("title", "description", "content", "name", "task")
"""Keys that other data uses as well: alone, outside a list, they prove nothing."""
RATIONALE_KEYS = (
    "rationale",
    "reason",
    "why",
    "explanation",
    "justification",
    "reasoning",
    "because",
    "thought",
    "purpose",
)
ANSWER_KEYS = ("answer", "finalanswer")

_TEXT_KEYS = STRONG_TEXT_KEYS + WEAK_TEXT_KEYS
_SCHEMA_TYPES = ("object", "array", "string", "number", "integer", "boolean")
_ORDINAL_ONLY = re.compile(r"\W*(?:[^\W\d]{1,20}\W{0,3})?\d{1,3}\W*")
_PLACEHOLDER = re.compile(
    r"<(?!.*</).*>|\[[^\[\]]*\]|\{+[^{}]*\}+|[\"']?(?:string|text|str)[\"']?", re.DOTALL | re.IGNORECASE
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """What was read out of one part of a reply."""

    items: tuple[Proposal, ...] = ()
    """In the order written; not yet cleaned."""
    answer: str | None = None
    """A final answer that stands beside the items rather than in one of them."""

    def __bool__(self) -> bool:
        return bool(self.items)

    def __add__(self, other: "Reading") -> "Reading":
        return Reading(items=self.items + other.items, answer=other.answer or self.answer)


NOTHING = Reading()


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
        text = mend_surrogates(item.text.strip())
        folded = " ".join(text.split())
        if folded and len(text) <= MAX_TEXT and not is_placeholder(folded) and folded not in kept:
            rationale = mend_surrogates(item.rationale.strip())
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
    return item_from_object(dict(pairs), cut=False)


def role_of(label: str) -> str | None:
    """Return `text`, `rationale` or `answer` for a label known as a key of a proposal, else None."""
    key = fold(label)
    for role, keys in (("text", _TEXT_KEYS), ("rationale", RATIONALE_KEYS), ("answer", ANSWER_KEYS)):
        if key in keys:
            return role
    return None


def fold(key: str) -> str:
    return "".join(char for char in key.lower() if char.isalnum())


def folded(value: dict[str, Any]) -> dict[str, Any]:
    """Return the fields by folded key; of keys that fold alike the first counts."""
    fields: dict[str, Any] = {}
    for key, part in value.items():
        fields.setdefault(fold(key), part)
    return fields


def words_in(value: Any) -> str | None:
    """Return a text; None for anything that is not one."""
    return value if isinstance(value, str) and not isinstance(value, Number) and value.strip() else None


def answer_in(fields: dict[str, Any]) -> str | None:
    for key in ANSWER_KEYS:
        value = fields.get(key)
        if isinstance(value, str) and value.strip() and any(char.isalnum() for char in value):
            return mend_surrogates(value.strip())
    return None


def rationale_in(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(part.strip() for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


def item_from_object(value: dict[str, Any], *, cut: bool) -> Proposal | None:
    """Return the object as a proposal, or None where it has no text or was not whole."""
    if isinstance(value, OpenObject) and (value.torn or cut):
        return None
    fields = folded(value)
    if (
        fields.get("type") in _SCHEMA_TYPES
        or fields.get("error")
        or not fields.keys().isdisjoint({"role", "arguments"})
    ):
        return None
    texts = {key: text for key in _TEXT_KEYS if (text := words_in(fields.get(key)))}
    for key in list(texts):
        if len(texts) > 1 and _ORDINAL_ONLY.fullmatch(texts[key]):
            del texts[key]
    reasons = [text for key in RATIONALE_KEYS if (text := rationale_in(fields.get(key)).strip())]
    if reasons and next(iter(texts), "") == "title" and len(texts) > 1:
        del texts["title"]
    if not texts:
        return None
    rest = [text for key, text in texts.items() if key in ("description", "content")]
    text = next(iter(texts.values()))
    rationale = (reasons or [part for part in rest if part is not text] or [""])[0]
    return Proposal(text=text, rationale=rationale, answer=answer_in(fields))
