"""A solve's result in OpenAI's wire format: one completion, or the chunks of a stream. Pure.

The message is the winner's own, as its model wrote it: content, tool calls with their ids, reasoning where the server gave any.
What is ours stands in an object `booster` beside `choices`, where clients that do not know it pass over it.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from booster.journal import Event
from booster.result import SolveResult
from booster.server.openai_request import Asked
from booster.server.results import bounded
from verifier.consensus import vote
from verifier.errors import NoCandidatesError

PIECE_CHARS: Final = 1000
"""Characters of content that one chunk carries."""

MAX_EVIDENCE_CHARS: Final = 8000
"""Characters of evidence and warnings as JSON."""

DONE: Final = "data: [DONE]\n\n"


def completion(asked: Asked, result: SolveResult, created: int) -> dict[str, Any]:
    """Return the `chat.completion` of a solve that has an answer; `created` is in seconds since 1970."""
    message = _message(asked, result)
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish_reason(asked, result)}
    return {
        **_head(asked, result.session_id, created, "chat.completion"),
        "choices": [choice], "usage": usage(result), "booster": about(asked, result),
    }  # fmt: skip


def first_chunk(asked: Asked, session_id: str, created: int) -> dict[str, Any]:
    """Return the chunk that opens a stream: whose message it is."""
    return _chunk(asked, session_id, created, {"role": "assistant", "content": ""})


def progress_chunk(asked: Asked, session_id: str, created: int, line: str) -> dict[str, Any]:
    """Return one line of progress as reasoning, which clients show apart from the answer."""
    return _chunk(asked, session_id, created, {"reasoning_content": f"{line}\n"})


def answer_chunks(asked: Asked, result: SolveResult, created: int) -> Iterator[dict[str, Any]]:
    """Yield the answer: reasoning, content in pieces, tool calls, the reason of the end, and usage where it is wanted."""
    session_id = result.session_id
    for delta in _deltas(_message(asked, result)):
        yield _chunk(asked, session_id, created, delta)
    end = _chunk(asked, session_id, created, {}, _finish_reason(asked, result))
    yield {**end, "booster": about(asked, result)}
    if asked.include_usage:
        yield {**_head(asked, session_id, created, _CHUNK), "choices": [], "usage": usage(result)}


def usage(result: SolveResult) -> dict[str, Any]:
    """Return what all calls of the solve consumed together, those of candidates that did not win included."""
    spent = result.usage
    return {
        "prompt_tokens": spent["promptTokens"],
        "completion_tokens": spent["completionTokens"],
        "total_tokens": spent["promptTokens"] + spent["completionTokens"],
        "completion_tokens_details": {"reasoning_tokens": spent["reasoningTokens"]},
    }


def about(asked: Asked, result: SolveResult) -> dict[str, Any]:
    """Return what a plain completion has no place for: what the answer may claim, why, and what it cost."""
    document = result.to_dict()
    warnings = [*asked.notes, *result.warnings]
    cut = bounded({"evidence": document["evidence"], "warnings": warnings}, MAX_EVIDENCE_CHARS)
    return {
        "sessionId": result.session_id,
        "answer": result.answer if len(result.answer or "") <= PIECE_CHARS else None,
        "answerStatus": result.answer_status,
        "confidence": document["confidence"],
        "confidenceBasis": result.confidence_basis,
        "evidence": cut["evidence"],
        "calls": result.usage["calls"],
        "costUsd": result.usage["costUsd"],
        "degraded": result.degraded,
        "stopReason": result.stop_reason,
        **({"simulated": True} if result.simulated else {}),
        **({"warnings": cut["warnings"]} if warnings else {}),
    }


def progress_line(event: Event) -> str | None:
    """Return what an event tells who waits, in one short line; None where it tells nothing."""
    data = event.data
    match event.type:
        case "iteration_opened":
            return f"iteration {data['iteration']}: {data['decision']['mode']}"
        case "escalated":
            return f"iteration {data['iteration']}: the cheap attempt failed, going on with system2"
        case "iteration_closed":
            closed = data["iteration"]
            answers = [(item["key"], item["answer"]) for item in data["answers"]]
            drawn = len(answers) or len(closed["candidates"])
            return f"iteration {closed['iteration']}: {drawn} candidate{'s' * (drawn != 1)}, {_agreeing(answers)} agree"
        case _:
            return None


def data_frame(document: Mapping[str, Any]) -> str:
    """Return one server-sent event."""
    return f"data: {json.dumps(document, ensure_ascii=True, separators=(',', ':'))}\n\n"


def comment_frame(text: str) -> str:
    """Return a comment, which keeps a connection busy and which no client reads."""
    return f": {' '.join(text.split())}\n\n"


_CHUNK: Final = "chat.completion.chunk"


def _head(asked: Asked, session_id: str, created: int, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{session_id}", "object": kind, "created": created, "model": asked.model}


def _chunk(
    asked: Asked, session_id: str, created: int, delta: Mapping[str, Any], finish_reason: str | None = None
) -> dict[str, Any]:
    choice = {"index": 0, "delta": dict(delta), "logprobs": None, "finish_reason": finish_reason}
    return {**_head(asked, session_id, created, _CHUNK), "choices": [choice]}


def _message(asked: Asked, result: SolveResult) -> dict[str, Any]:
    """Return the winner's message; where steps were asked for, the answer that they led to."""
    message: dict[str, Any] = {"role": "assistant", "content": result.answer, "refusal": None}
    reply = result.reply
    if not asked.verbatim or reply is None:
        return message
    message["content"] = reply.text or None
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    if reply.tool_calls:
        message["tool_calls"] = [dict(call) for call in reply.tool_calls]
    return message


def _finish_reason(asked: Asked, result: SolveResult) -> str:
    reply = result.reply
    if not asked.verbatim or reply is None:
        return "stop"
    return "tool_calls" if reply.tool_calls else reply.finish_reason or "stop"


def _deltas(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if reasoning := message.get("reasoning_content"):
        yield {"reasoning_content": reasoning}
    content = message["content"] or ""
    for start in range(0, len(content), PIECE_CHARS):
        yield {"content": content[start : start + PIECE_CHARS]}
    if calls := message.get("tool_calls"):
        yield {"tool_calls": [{**call, "index": place} for place, call in enumerate(calls)]}


def _agreeing(answers: list[tuple[str, str | None]]) -> int:
    try:
        return vote(answers).votes
    except NoCandidatesError:
        return 0
