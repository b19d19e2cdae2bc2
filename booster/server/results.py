"""What the tools answer: documents with the seed's field names, published schemas for them, and a short text beside each. Pure.

Clients cut results beyond 50,000 characters, so document and text together stay below that; what was cut says so and can be
had from the session's resource.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mcp.types import CallToolResult, TextContent

from booster.codec import encode
from booster.redact import printable
from booster.result import SolveResult, score_document, step_document
from booster.session import Iteration, Session
from verifier.types import Candidate

MAX_DOCUMENT_CHARS: Final = 47_000
"""Characters of a document as JSON."""

MAX_TEXT_CHARS: Final = 2000
"""Characters of the text beside it."""

RESOURCE: Final = "booster://sessions/{session_id}"
"""Where everything that is kept of a session can be read."""

_LISTED_TASK_CHARS = 200

_CUTS: Final = (4000, 1000, 300, 80)
"""Characters that single texts are cut to, tried in this order until a document fits."""


def answered(document: Mapping[str, Any], text: str) -> CallToolResult:
    """Return a tool's answer: the document within its limit, and the text, made safe to show on a terminal."""
    text = printable(text)
    if len(text) > MAX_TEXT_CHARS:
        text = f"{text[:MAX_TEXT_CHARS]}… [cut; the structured result has more]"
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=bounded(document))


def bounded(document: Mapping[str, Any], limit: int = MAX_DOCUMENT_CHARS) -> dict[str, Any]:
    """Return the document with at most `limit` characters as JSON: texts cut first, then the oldest items of long lists.

    `leftOut` counts the dropped items of each list by its path.
    """
    if _size(document) <= limit:
        return dict(document)
    for cut in _CUTS:
        short: dict[str, Any] = _shortened(document, cut)
        if _size(short) <= limit:
            return short
    left_out: dict[str, int] = {}
    while _size(short) > limit - 1000 and (lists := list(_lists(short, ""))):
        path, longest = max(lists, key=lambda found: _size(found[1]))
        drop = max(1, len(longest) // 4)
        del longest[:drop]
        left_out[path] = left_out.get(path, 0) + drop
    return {**short, "leftOut": left_out} if left_out else short


def solved(result: SolveResult) -> tuple[dict[str, Any], str]:
    """Return document and text of a solve that has ended."""
    ending = f"{result.status}, {result.stop_reason}" if result.stop_reason else result.status
    return result.to_dict(), f"{result.to_text()}\n\nSession {result.session_id}: {ending}; {_cost(result)}."


def unfinished(result: SolveResult, iterations: int, status: str) -> tuple[dict[str, Any], str]:
    """Return document and text of a solve that goes on (`running`), or waits for the client's model (`continue`)."""
    following = (
        "call get-state with this sessionId to answer the next questions to your model"
        if status == "continue"
        else "call get-state with this sessionId and waitSeconds to wait for the result"
    )
    document = {
        "sessionId": result.session_id, "status": status, "next": following, "iterations": iterations,
        "steps": [{"index": step.index, "text": step.text} for step in result.steps[-3:]],
        "answer": result.answer, "answerStatus": result.answer_status, "usage": dict(result.usage),
    }  # fmt: skip
    text = f"Session {result.session_id} is not finished: {len(result.steps)} steps, {_cost(result)}. To go on, {following}."
    return document, text


def state_document(session: Session) -> dict[str, Any]:
    """Return the scratchpad: `task`, `steps`, `createdAt`."""
    return {
        "task": session.problem.task,
        "steps": [step_document(step) for step in session.steps],
        "createdAt": session.created_at,
    }


def candidate_document(candidate: Candidate) -> dict[str, Any]:
    """Return one scored candidate."""
    document: dict[str, Any] = {
        "id": candidate.key, "text": candidate.proposal.text, "rationale": candidate.proposal.rationale,
        "score": score_document(candidate.score), "source": candidate.source, "provider": candidate.provider,
        "model": candidate.model, "usage": encode(candidate.usage),
    }  # fmt: skip
    if candidate.proposal.answer is not None:
        document["answer"] = candidate.proposal.answer
    if candidate.checks:
        document["checks"] = encode(candidate.checks)
    return document


def candidate_documents(candidates: Sequence[Candidate], top: int | None) -> list[dict[str, Any]]:
    """Return the first `top` candidates, None = all of them."""
    return [candidate_document(candidate) for candidate in candidates[:top]]


def session_document(
    session: Session, result: SolveResult, *, is_active: bool, is_orphaned: bool, full: bool
) -> dict[str, Any]:
    """Return the whole session as `get-state` shows it; the result document stands under `result` once it has ended."""
    top = None if full else session.config.top_m
    document: dict[str, Any] = {
        "id": session.id,
        "sessionId": session.id,
        "status": result.status,
        "active": is_active,
        "state": state_document(session),
        "config": session.config.plain(),
        "history": [_iteration_document(closed, top) for closed in session.history],
        "diagnostics": dict(result.diagnostics),
        "usage": dict(result.usage),
        "budget": encode(session.budget),
        "stopReason": result.stop_reason,
    }
    if result.stop_reason is not None:
        document["result"] = result.to_dict()
    if is_orphaned:
        document["orphaned"] = True
    if following := _how_to_go_on(result, is_active=is_active, is_orphaned=is_orphaned):
        document["next"] = following
    if result.warnings:
        document["warnings"] = list(result.warnings)
    return document


def session_text(session: Session, result: SolveResult, *, is_active: bool, is_orphaned: bool) -> str:
    """Return what a model reads of `get-state`."""
    if result.stop_reason is not None:
        text = solved(result)[1]
    else:
        working = "is being worked on" if is_active else "is open"
        text = f"Session {session.id} {working}: {len(session.steps)} steps, {_cost(result)}."
        if session.steps:
            text += f" Last step: {session.steps[-1].text[:300]}"
    following = _how_to_go_on(result, is_active=is_active, is_orphaned=is_orphaned)
    return f"{text}\nNext: {following}." if following else text


def listed(sessions: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], str]:
    """Return document and text of a list of sessions."""
    short = [{**entry, "task": str(entry["task"])[:_LISTED_TASK_CHARS]} for entry in sessions]
    lines = [f"{entry['sessionId']} {entry['status']} {entry['createdAt']} {entry['task'][:60]!r}" for entry in short]
    return {"sessions": short}, "\n".join(lines) or "There are no sessions."


def _how_to_go_on(result: SolveResult, *, is_active: bool, is_orphaned: bool) -> str:
    if is_orphaned:
        return (
            "the process that worked on this session is gone; call multi-step with this sessionId to go on where it stopped, "
            "nothing that was paid for is lost"
        )
    if is_active:
        return "call get-state with this sessionId and waitSeconds to wait for it"
    if result.status in ("cancelled", "failed"):
        return "call multi-step with this sessionId to go on where it stopped"
    if result.stop_reason is None:
        return "call step or multi-step with this sessionId"
    return ""


def _iteration_document(closed: Iteration, top: int | None) -> dict[str, Any]:
    chosen = next((one for one in closed.candidates if one.key == closed.chosen), None)
    return {
        "iteration": closed.iteration,
        "chosen": candidate_document(chosen) if chosen else None,
        "candidates": candidate_documents(closed.candidates, top),
        "tie": closed.tie,
        "decision": encode(closed.decision),
        "escalated": closed.escalated,
    }


def _cost(result: SolveResult) -> str:
    cost = result.usage.get("costUsd")
    money = "cost unknown" if cost is None else f"{cost:.4f} USD"
    return f"{result.usage.get('calls', 0)} model calls, {money}"


def _shortened(value: Any, limit: int) -> Any:
    if isinstance(value, str) and len(value) > limit:
        return f"{value[:limit]}… [{len(value) - limit} more characters; ask for the session's resource or export]"
    if isinstance(value, Mapping):
        return {key: _shortened(item, limit) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_shortened(item, limit) for item in value]
    return value


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False))


def _lists(value: Any, path: str) -> Iterator[tuple[str, list[Any]]]:
    """Yield every list that is not empty with its path."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _lists(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        if value:
            yield path, value
        for item in value:
            yield from _lists(item, f"{path}[]")


def _schema(required: str, **properties: Any) -> dict[str, Any]:
    found = {name: {"type": kind} if isinstance(kind, str) else kind for name, kind in properties.items()}
    return {"type": "object", "properties": found, "required": required.split()}


def _or_null(kind: str) -> dict[str, Any]:
    return {"anyOf": [{"type": kind}, {"type": "null"}]}


def _list_of(**properties: Any) -> dict[str, Any]:
    return {"type": "array", "items": _schema("", **properties) | {"required": []}}


_STATE = _schema(
    "task steps createdAt", task="string", steps={"type": "array", "items": {"type": "object"}}, createdAt="string"
)
_CANDIDATES = _list_of(text="string", rationale="string", score=_or_null("object"), source="string")
_WARNINGS = {"type": "array", "items": {"type": "string"}}
_OUTPUT = _schema("path written", path="string", format="string", written="boolean", error="string")

SOLVE_SCHEMA: Final = _schema(
    "sessionId status",
    sessionId="string",
    status={"enum": ["done", "running", "continue", "degraded", "cancelled", "failed"]},
    next="string",
    degraded="boolean",
    degradedReasons=_WARNINGS,
    answer=_or_null("string"),
    answerStatus={"enum": ["verified", "agreed", "judged", "unverified", "none"]},
    confidence="number",
    confidenceBasis="string",
    evidence={"type": "array", "items": {"type": "object"}},
    summary="string",
    steps=_list_of(index="integer", text="string", rationale="string", score=_or_null("object"), source="string"),
    config="object",
    usage=_schema("calls", calls="integer", costUsd=_or_null("number"), seconds="number"),
    stopReason=_or_null("string"),
    diagnostics="object",
    warnings=_WARNINGS,
    output=_OUTPUT,
)
"""Of `solve`, whether it has ended or not."""

START_SCHEMA: Final = _schema(
    "sessionId state config", sessionId="string", state=_STATE, config="object", warnings=_WARNINGS
)
STEP_SCHEMA: Final = _schema(
    "sessionId status chosen candidates state",
    sessionId="string",
    status="string",
    chosen=_or_null("object"),
    candidates=_CANDIDATES,
    tie="boolean",
    decision=_or_null("object"),
    state=_STATE,
    usage="object",
    next="string",
    warnings=_WARNINGS,
)
MULTI_STEP_SCHEMA: Final = _schema(
    "sessionId status state stopReason",
    sessionId="string",
    status="string",
    state=_STATE,
    stopReason=_or_null("string"),
    answer=_or_null("string"),
    answerStatus="string",
    usage="object",
    next="string",
    warnings=_WARNINGS,
)
GET_STATE_SCHEMA: Final = _schema(
    "id status state config history diagnostics",
    id="string",
    status="string",
    active="boolean",
    state=_STATE,
    config="object",
    history={"type": "array", "items": {"type": "object"}},
    diagnostics="object",
    usage="object",
    stopReason=_or_null("string"),
    result="object",
    orphaned="boolean",
    next="string",
    output=_OUTPUT,
    warnings=_WARNINGS,
)
SUMMARY_SCHEMA: Final = _schema("sessionId summary", sessionId="string", summary="string", warnings=_WARNINGS)
CANCEL_SCHEMA: Final = _schema("sessionId status", sessionId="string", status="string", warnings=_WARNINGS)
SESSIONS_SCHEMA: Final = _schema(
    "sessions",
    sessions=_list_of(sessionId="string", status="string", task="string", createdAt="string", active="boolean"),
    warnings=_WARNINGS,
)
