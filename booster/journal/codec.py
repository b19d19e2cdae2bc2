"""From plain values to the text that is stored, and back. Everything stored passes through the redaction here.

Strings are redacted before they become JSON: a pattern that eats a quote can then never break the document, and a secret
that JSON would escape (a key with line breaks) is still recognised. Since most documents hold no secret, all their strings
are first looked through at once.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from pydantic_core import to_json

from booster.journal.errors import JournalError
from providers.types import Call, Message, Reply, Usage

Redact = Callable[[str], str]
"""Replaces secrets in a text; must be idempotent, and find them also where the text is a line among others."""

PROMPT_CHARS = 4_000
"""Longest prompt or reply that is kept as a raw sample, in characters, its mark included."""


def identity(text: str) -> str:
    """Redact nothing."""
    return text


def now() -> str:
    """Return the time as ISO 8601 in UTC with milliseconds, for example `2025-01-31T12:00:00.000Z`."""
    seconds, millis = divmod(time.time_ns() // 1_000_000, 1000)
    return f"{_second(seconds)}.{millis:03d}Z"


@lru_cache(maxsize=2)
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().removesuffix("+00:00")


def cut(text: str, limit: int = PROMPT_CHARS) -> str:
    """Return the text, or its beginning and a mark that says how long it was; never more than `limit` characters."""
    if len(text) <= limit:
        return text
    mark = f"… [cut: {len(text)} characters]"
    return text[: limit - len(mark)] + mark


class Codec:
    """Redacts and encodes."""

    def __init__(self, redact: Redact = identity) -> None:
        self.redact = redact

    def plain(self, value: Any) -> Any:
        """Return a deep copy made of JSON's own types, every string redacted.

        Raises:
            JournalError: something in it has no JSON form (a NaN, a set, a dataclass, a key that is no string).
        """
        texts: list[str] = []
        copy = _copied(value, texts)
        together = "\n".join(texts)
        return copy if self.redact(together) == together else self._redacted(copy)

    def _redacted(self, value: Any) -> Any:
        """Return a copy of JSON's own types with every string redacted."""
        if isinstance(value, str):
            return self.redact(value)
        if isinstance(value, dict):
            return {self.redact(key): self._redacted(item) for key, item in value.items()}
        return [self._redacted(item) for item in value] if isinstance(value, list) else value

    def asked(self, call: Call, latest: "Asked | None" = None) -> "Asked":
        """Return what the ledger keeps of a call's request; samples of one prompt, drawn side by side, share it.

        The hash is taken over the redacted request: a session that is read back asks with its secrets already replaced.

        Args:
            call: The request.
            latest: What was returned for the session's call before it.
        """
        if latest is not None and latest.is_of(call):
            return latest
        shown: Iterable[str] = (f"[{message.get('role', '')}]\n{_content(message)}" for message in call.messages)
        messages: Sequence[Message] = call.messages
        if not all(map(self._is_harmless, messages)):
            messages = self.plain(messages)
            shown = map(self.redact, shown)  # a secret may stand in two parts of a message
        model = call.model and self.redact(call.model)
        request = [messages, model, self.plain(call.request) if call.request else {}, call.max_tokens]
        return Asked(
            call=call,
            request_hash=hashlib.sha256(_CANONICAL.encode(request).encode()).hexdigest(),
            prompt=cut("\n\n".join(shown)),
            prompt_chars=prompt_chars(call),
        )

    def _is_harmless(self, message: Message) -> bool:
        """Say whether a message is JSON already and holds no secret, as most do: a role and a text."""
        if type(message) is not dict or message.keys() != _ROLE_AND_TEXT:
            return False
        role, text = message["role"], message["content"]
        return role in _ROLES and type(text) is str and self.redact(text) == text


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What the journal keeps of a request."""

    call: Call
    request_hash: str
    """SHA-256 (hex) of what the model would be asked; a round through JSON does not change it."""
    prompt: str
    """The conversation as redacted text, cut to `PROMPT_CHARS`."""
    prompt_chars: int
    """Of all contents, in characters, before the cut."""

    def is_of(self, call: Call) -> bool:
        """Say whether the call asks the very same; equal contents in other objects are not compared."""
        mine = self.call
        return (
            mine.messages is call.messages
            and mine.request is call.request
            and mine.model == call.model
            and mine.max_tokens == call.max_tokens
        )


def _copied(value: Any, texts: list[str]) -> Any:
    """Return a deep copy made of JSON's own types, and add every string in it to `texts`.

    Leaves are taken where they stand: most values are leaves, and a call for each would cost more than all the rest.
    """
    kind = type(value)
    if isinstance(value, str):
        texts.append(value)
        return value
    if kind is list or kind is tuple:
        return [_copied(item, texts) for item in value]
    if kind is dict or isinstance(value, Mapping):
        copy = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise JournalError(f"only strings can be keys in the journal, not {key!r:.100}")
            texts.append(key)
            inner = type(item)
            if inner is str:
                texts.append(item)
                copy[key] = item
            elif inner in _LEAVES or (inner is float and item - item == 0):
                copy[key] = item
            else:
                copy[key] = _copied(item, texts)
        return copy
    if kind in _LEAVES or isinstance(value, int) or (isinstance(value, float) and value - value == 0):
        return value
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return [_copied(item, texts) for item in value]
    raise JournalError(f"only plain JSON can be journalled, not {value!r:.100}")


_ROLE_AND_TEXT = {"role", "content"}

_ROLES = ("system", "user", "assistant")
"""Those of most messages."""

_LEAVES = frozenset({int, bool, type(None)})
"""Types whose every value is JSON and holds no text."""

_ESCAPED = json.JSONEncoder(separators=(",", ":"))
_CANONICAL = json.JSONEncoder(separators=(",", ":"), sort_keys=True)


def dumps(value: Any) -> str:
    """Return compact JSON of plain values; text stays readable unless it cannot be encoded (a lone surrogate)."""
    try:
        return to_json(value).decode()
    except ValueError:  # or nested too deeply for the fast way
        return _ESCAPED.encode(value)


def prompt_chars(call: Call) -> int:
    """Return the length of all message contents in characters."""
    return sum(len(_content(message)) for message in call.messages)


def _content(message: Message) -> str:
    """Return the text of a message, whose content may be a string, a list of parts or absent."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return ""


def reply_to_dict(reply: Reply) -> dict[str, Any]:
    """Return every field of a reply as plain values, usage included; `reply_from_dict` reads it back."""
    usage = reply.usage
    return {
        "text": reply.text,
        "model": reply.model,
        "provider": reply.provider,
        "source": reply.source,
        "finish_reason": reply.finish_reason,
        "reasoning": reply.reasoning,
        "tool_calls": list(reply.tool_calls),
        "problem": reply.problem,
        "usage": {
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "reasoning_tokens": usage.reasoning_tokens,
            "cached_tokens": usage.cached_tokens,
            "cost_usd": usage.cost_usd,
            "estimated": usage.estimated,
        },
    }


def reply_from_dict(data: Mapping[str, Any]) -> Reply:
    """Rebuild a reply from `reply_to_dict`."""
    fields = dict(data)
    usage = Usage(**fields.pop("usage"))
    tool_calls = tuple(fields.pop("tool_calls"))
    return Reply(**fields, usage=usage, tool_calls=tool_calls)
