"""The OpenAI wire format of the simulated server: completions, chunks of a stream, error bodies.

Pure. Above: `providers.simulated_server`, `providers.simulated_faults`, `providers.simulated_reply`. Below: nothing.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

PIECE_CHARS = 24
"""Characters of content that one chunk of a stream carries."""

FINGERPRINT = "simulated"

MAX_CHOICES = 128
"""Largest `n` that a request may ask for."""


class BadBody(ValueError):
    """The body of a request cannot be served; the text says why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """Text of one choice."""

    content: str
    """The whole message content, thinking included."""
    thinking: str = ""
    """The part of `content` that is a thinking block, tags included; empty in the other shapes."""


def request_body(raw: bytes) -> dict[str, Any]:
    """Return the body of a request for a completion.

    Raises:
        BadBody: it is not such a body; the text says why.
    """
    try:
        body = json.loads(raw)
    except ValueError as problem:
        raise BadBody(f"the body is not JSON: {problem}") from problem
    if not isinstance(body, dict) or not isinstance(body.get("model"), str):
        raise BadBody("the body must be an object that names a model")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages or not all(isinstance(message, dict) for message in messages):
        raise BadBody("messages must be a list of at least one object")
    n = body.get("n", 1)
    if n is not None and (isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= MAX_CHOICES):
        raise BadBody(f"n must be a whole number in 1..{MAX_CHOICES}")
    token_limit(body)
    return body


def choices_wanted(body: Mapping[str, Any]) -> int:
    """Return `n`; 1 where the request does not say."""
    return int(body.get("n") or 1)


def tokens(characters: int) -> int:
    """Return characters / 4, rounded up."""
    return -(-characters // 4)


def prompt_chars(body: Mapping[str, Any]) -> int:
    """Return the characters of all text in the messages."""
    total = 0
    for message in body["messages"]:
        content = message.get("content")
        if isinstance(content, list):
            total += sum(len(str(part.get("text", ""))) for part in content if isinstance(part, dict))
        elif isinstance(content, str):
            total += len(content)
    return total


def token_limit(body: Mapping[str, Any]) -> int | None:
    """Return the cap on the reply in tokens that the request sets, by its new or its old name; None = no cap.

    Raises:
        BadBody: it is not a whole number of at least 1.
    """
    limit = body.get("max_completion_tokens", body.get("max_tokens"))
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise BadBody("the token limit must be a whole number of at least 1")
    return limit


def cut(written: Written, limit: int | None) -> tuple[Written, str]:
    """Return the text within the limit of tokens, and the finish reason: `length` where something is missing."""
    if limit is None or len(written.content) <= 4 * limit:
        return written, "stop"
    content = written.content[: 4 * limit]
    return Written(content=content, thinking=written.thinking[: len(content)]), "length"


def choice(index: int, content: str | None, finish_reason: str | None, **message: Any) -> dict[str, Any]:
    """Return one element of `choices`; further fields go into its message."""
    return {
        "index": index,
        "message": {"role": "assistant", "content": content, **message},
        "finish_reason": finish_reason,
        "logprobs": None,
    }


def usage(prompt: int, completion: int, reasoning: int) -> dict[str, Any]:
    """Return the usage object; all three are counts of tokens, reasoning is part of completion."""
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "completion_tokens_details": {"reasoning_tokens": reasoning},
        "prompt_tokens_details": {"cached_tokens": 0},
    }


def completion(
    number: int, created: int, model_id: str, choices: Sequence[Mapping[str, Any]], used: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return a `chat.completion`; `number` is the server's count, `created` seconds since 1970."""
    body = {
        "id": f"chatcmpl-simulated-{number}",
        "object": "chat.completion",
        "created": created,
        "model": model_id,
        "system_fingerprint": FINGERPRINT,
        "choices": list(choices),
    }
    return body if used is None else {**body, "usage": dict(used)}


def stream(body: Mapping[str, Any], *, include_usage: bool) -> Iterator[bytes]:
    """Yield a completion as server-sent events: role, pieces of content, finish reason, usage if wanted, `[DONE]`."""
    used = body.get("usage")
    head = {name: value for name, value in body.items() if name not in ("choices", "usage")}
    head["object"] = "chat.completion.chunk"
    for chosen in body["choices"]:
        for delta, finish_reason in _deltas(chosen):
            part = {"index": chosen["index"], "delta": delta, "finish_reason": finish_reason, "logprobs": None}
            yield _event({**head, "choices": [part]})
    if include_usage and used is not None:
        yield _event({**head, "choices": [], "usage": used})
    yield b"data: [DONE]\n\n"


def _deltas(chosen: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], str | None]]:
    message = dict(chosen["message"])
    content = message.pop("content") or ""
    yield {**message, "content": ""}, None
    for start in range(0, len(content), PIECE_CHARS):
        yield {"content": content[start : start + PIECE_CHARS]}, None
    yield {}, chosen["finish_reason"]


def _event(data: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(data).encode() + b"\n\n"


def error(message: str, *, type: str, code: str | None = None, param: str | None = None) -> dict[str, Any]:
    """Return an error body."""
    return {"error": {"message": f"simulated: {message}", "type": type, "param": param, "code": code}}
