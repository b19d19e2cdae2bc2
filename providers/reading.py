"""From the body of a response to a `Reply`. Pure.

Servers that speak the protocol differ in what they leave out, and some failures come with status 200: an HTML page, an
`error` body, no choices, null content, a refusal, content as a list of parts. Each of them is either read or named here.
Reasoning is kept for diagnostics and never becomes the answer.
"""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from providers.errors import BadReplyError
from providers.types import SIMULATED_PREFIX, Call, Reply, Source, Usage

Problem = Literal["empty", "refusal", "thinking_truncated"]

CHARACTERS_PER_TOKEN = 4
"""Rule of thumb where a server reports no usage."""

QUOTED = 5_000
"""Characters of a server's words that an error takes over; who shows it masks secrets first and then cuts further."""

_THINKING_OPENERS = ("<think>", "<thinking>", "<reasoning>")


def read_reply(data: object, call: Call, *, model: str, provider: str) -> Reply:
    """Return the reply that a decoded body holds.

    Args:
        data: The decoded JSON; or the text of the body, where the server did not call it JSON.
        call: What was asked, for the estimate of its tokens.
        model: The id that was asked for.
        provider: Name for the reply.

    Raises:
        BadReplyError: kind `html`, `not_json`, `not_an_object`, `error_in_200` or `no_choices`.
    """
    body = _as_object(data)
    choice = _first_choice(body)
    message = _mapping(choice.get("message"))
    text, thinking = _content(message.get("content"))
    finish_reason = choice.get("finish_reason")
    tool_calls = tuple(item for item in _sequence(message.get("tool_calls")) if isinstance(item, dict))
    reasoning = _reasoning(message) or thinking
    if finish_reason == "length" and _is_open_thought(text):
        text, reasoning = "", reasoning or text
    problem = None if text.strip() or tool_calls else _problem(message, choice)
    if problem:
        text = ""
    if problem == "refusal":
        reasoning = reasoning or _refusal(message)
    reported = body.get("model")
    reported = reported if isinstance(reported, str) and reported else model
    return Reply(
        text=text,
        model=reported,
        provider=provider,
        source=source_of(model, reported),
        finish_reason=finish_reason if isinstance(finish_reason, str) else None,
        reasoning=reasoning,
        tool_calls=tool_calls,
        usage=read_usage(body.get("usage")) or estimated_usage(call, text + reasoning),
        problem=problem,
    )


def decoded(content: bytes, content_type: str, charset: str | None) -> object:
    """Return the JSON of a body; or its text, where the server did not call it JSON.

    Args:
        content_type: In lower case, without parameters.
        charset: Of the text; None = UTF-8.

    Raises:
        BadReplyError: kind `broken_json`.
    """
    if not content_type.endswith("json"):
        return _text(content, charset)
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise BadReplyError(f"the reply is broken JSON: {error}", kind="broken_json") from None


def text_or_json(content: bytes, charset: str | None) -> object:
    """Return the JSON of a body, whatever the server called it, else its text."""
    text = _text(content, charset)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def error_in(data: object) -> Mapping[str, Any] | None:
    """Return the error object of a body, also where it is wrapped in a list; None = there is none."""
    if isinstance(data, list) and data:
        data = data[0]
    error = data.get("error") if isinstance(data, dict) else None
    if isinstance(error, dict):
        return error
    return {"message": str(error)} if error else None


def source_of(*models: str) -> Source:
    """Return `simulated` where one of the model ids, asked or reported, is the simulated model's, else `model`."""
    return "simulated" if any(model.startswith(SIMULATED_PREFIX) for model in models) else "model"


def read_usage(usage: object) -> Usage | None:
    """Return what the server says the call consumed; None = it does not say."""
    if not isinstance(usage, dict):
        return None
    prompt, completion = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    if prompt is None and completion is None:
        return None
    return Usage(
        prompt_tokens=prompt or 0,
        completion_tokens=completion or 0,
        reasoning_tokens=_count(_mapping(usage.get("completion_tokens_details")).get("reasoning_tokens")) or 0,
        cached_tokens=_count(_mapping(usage.get("prompt_tokens_details")).get("cached_tokens")) or 0,
        cost_usd=_amount(usage.get("cost")),
    )


def estimated_usage(call: Call, written: str) -> Usage:
    """Return the usage counted as characters / 4, rounded up, of the prompt and of what was written."""
    prompt = sum(len(_plain(message.get("content"))) for message in call.messages)
    return Usage(
        prompt_tokens=math.ceil(prompt / CHARACTERS_PER_TOKEN),
        completion_tokens=math.ceil(len(written) / CHARACTERS_PER_TOKEN),
        estimated=True,
    )


def _text(content: bytes, charset: str | None) -> str:
    """Return the text of a body; what cannot be read, also under a character set that nobody knows, becomes U+FFFD."""
    try:
        return content.decode(charset or "utf-8", errors="replace")
    except (LookupError, ValueError):
        return content.decode(errors="replace")


def _as_object(data: object) -> Mapping[str, Any]:
    if isinstance(data, str):
        # A few servers send JSON under another content type.
        try:
            data = json.loads(data)
        except (ValueError, RecursionError):
            kind = "html" if str(data).lstrip()[:1] == "<" else "not_json"
            raise BadReplyError(f"the reply is no JSON but begins: {str(data)[:QUOTED]!r}", kind=kind) from None
    if (error := error_in(data)) and not (isinstance(data, dict) and data.get("choices")):
        said = str(error.get("message") or dict(error))[:QUOTED]
        raise BadReplyError(f"status 200 with an error inside: {said}", kind="error_in_200")
    if not isinstance(data, dict):
        raise BadReplyError(f"the reply is JSON but no object: {str(data)[:QUOTED]}", kind="not_an_object")
    return data


def _first_choice(body: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = _sequence(body.get("choices"))
    choice = _mapping(choices[0]) if choices else {}
    if error := error_in(choice):
        raise BadReplyError(f"the model broke off: {str(error.get('message'))[:QUOTED]}", kind="error_in_200")
    if not isinstance(choice.get("message"), dict):
        raise BadReplyError("the reply holds no choices", kind="no_choices")
    return choice


def _content(content: object) -> tuple[str, str]:
    """Return (text, thinking) of a message content: a string, null, or a list of typed parts."""
    if isinstance(content, str):
        return content, ""
    text, thinking = [], []
    for part in _sequence(content):
        if isinstance(part, str):
            text.append(part)
        elif isinstance(part, dict):
            if part.get("type") in ("thinking", "reasoning"):
                thinking.append(_plain(part.get("thinking") or part.get("text") or part.get("reasoning")))
            elif part.get("type") in ("text", "output_text", None):
                text.append(_plain(part.get("text")))
    return "".join(text), "".join(thinking)


def _reasoning(message: Mapping[str, Any]) -> str:
    """Return the first reasoning field that holds anything; servers that send several repeat themselves."""
    for name in ("reasoning", "reasoning_content"):
        if isinstance(value := message.get(name), str) and value:
            return value
    details = [_mapping(item) for item in _sequence(message.get("reasoning_details"))]
    return "".join(_plain(item.get("text") or item.get("summary")) for item in details)


def _problem(message: Mapping[str, Any], choice: Mapping[str, Any]) -> Problem:
    if _refusal(message) or choice.get("finish_reason") == "content_filter":
        return "refusal"
    return "thinking_truncated" if choice.get("finish_reason") == "length" else "empty"


def _refusal(message: Mapping[str, Any]) -> str:
    if isinstance(refusal := message.get("refusal"), str):
        return refusal
    parts = [_mapping(part) for part in _sequence(message.get("content"))]
    return "".join(_plain(part.get("refusal")) for part in parts if part.get("type") == "refusal")


def _is_open_thought(text: str) -> bool:
    """Return whether the text is nothing but a thought whose end was cut off."""
    start = text.lstrip()
    return any(start.startswith(tag) and f"</{tag[1:]}" not in start for tag in _THINKING_OPENERS)


def _plain(content: object) -> str:
    """Return the text of a string or of nested parts."""
    if isinstance(content, str):
        return content
    return "".join(_plain(part.get("text")) if isinstance(part, dict) else "" for part in _sequence(content))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _sequence(value: object) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()


def _count(value: object) -> int | None:
    amount = _amount(value)
    return None if amount is None else int(amount)


def _amount(value: object) -> float | None:
    """Return a number that can be a quantity, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        return None
    return value
