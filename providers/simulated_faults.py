"""Faults that the simulated server commits on request: which request is hit, and by what.

Above: `providers.simulated_server` performs them. Below: `providers.simulated_wire`,
`providers.simulated_reading`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal, get_args

from providers import simulated_wire as wire
from providers.simulated_reading import Wanted

FaultKind = Literal[
    "http_500",
    "http_429",
    "http_400",
    "http_401",
    "unsupported_parameter",
    "broken_json",
    "html",
    "error_in_200",
    "no_choices",
    "null_content",
    "refusal",
    "truncated_thinking",
    "hang",
    "drop",
    "slow_body",
]
"""What goes wrong: a status; status 400 for one parameter; status 200 with half a JSON text, an HTML page, an error body,
no choices, no content, a refusal, or thinking that ran into the length limit; no reply at all; a connection cut without
one; a body whose second half comes late (not of a stream)."""

WANTED: tuple[str, ...] = get_args(Wanted)
"""Roles of a request, as the simulated model reads them off the conversation."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """One way to fail and the requests that it hits.

    `roles` and `parameter` say which requests count; `every`, `first`, `indices` and `probability` say which of those
    are hit, counted from 0 in the order of arrival. Any of the four suffices; with none of them every request is hit.

    Raises:
        ValueError: an unknown kind or role, or a number out of its range.
    """

    kind: FaultKind
    every: int | None = None
    """The last of each `every` requests."""
    first: int | None = None
    """The first so many requests."""
    indices: tuple[int, ...] = ()
    """Exactly these requests."""
    probability: float = 0.0
    """In [0, 1]: each request with this chance."""
    roles: tuple[str, ...] = ()
    """Only requests that want `steps`, `answer`, `solution`, `judge` or `chat`; empty = all."""
    parameter: str = "max_tokens"
    """Of `unsupported_parameter`: only requests that carry it count."""
    seconds: float = 1.0
    """Of `http_429`: the Retry-After; of `slow_body`: the wait between the halves."""

    def __post_init__(self) -> None:
        if self.kind not in get_args(FaultKind):
            raise ValueError(f"no fault is called {self.kind!r}; known: {', '.join(get_args(FaultKind))}")
        if unknown := set(self.roles) - set(WANTED):
            raise ValueError(f"no request has the role {', '.join(sorted(unknown))}; known: {', '.join(WANTED)}")
        if not 0 <= self.probability <= 1:
            raise ValueError(f"probability must lie in [0, 1], not {self.probability}")
        if (self.every is not None and self.every < 1) or (self.first is not None and self.first < 0):
            raise ValueError("every must be at least 1 and first at least 0")
        if self.seconds < 0 or any(index < 0 for index in self.indices):
            raise ValueError("seconds and indices must not be negative")

    @classmethod
    def parse(cls, text: str) -> "Fault":
        """Read `kind` or `kind:name=value,...`; lists are joined by `+`, for example `http_500:first=2,roles=judge`.

        Raises:
            ValueError: the text names an unknown kind or field, or a value that does not fit.
        """
        kind, _, rest = text.partition(":")
        values: dict[str, Any] = {"kind": kind}
        for pair in filter(None, rest.split(",")):
            name, _, value = pair.partition("=")
            if name not in _READERS:
                raise ValueError(f"a fault has no field {name!r}; known: {', '.join(_READERS)}")
            values[name] = _READERS[name](value)
        return cls(**values)

    def counts(self, wanted: str, body: Mapping[str, Any]) -> bool:
        """Return whether a request with this role and body is one that the fault numbers."""
        if self.kind == "unsupported_parameter" and self.parameter not in body:
            return False
        return not self.roles or wanted in self.roles

    def hits(self, number: int, rng: Random) -> bool:
        """Return whether the request with this number (from 0, among those that count) is hit."""
        if self.every is None and self.first is None and not self.indices and not self.probability:
            return True
        return (
            (self.every is not None and number % self.every == self.every - 1)
            or (self.first is not None and number < self.first)
            or number in self.indices
            or rng.random() < self.probability
        )


_READERS: Mapping[str, Any] = {
    "every": int,
    "first": int,
    "indices": lambda text: tuple(map(int, text.split("+"))),
    "probability": float,
    "roles": lambda text: tuple(text.split("+")),
    "parameter": str,
    "seconds": float,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Canned:
    """A whole HTTP response, known beforehand."""

    status: int
    body: bytes
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


def canned(fault: Fault) -> Canned | None:
    """Return the response that stands in for the completion, None for a fault that needs more than a response."""
    match fault.kind:
        case "http_500":
            return _error(500, "the server failed", type="server_error", code="server_error")
        case "http_429":
            headers = {"Retry-After": f"{fault.seconds:g}"}
            return _error(429, "too many requests", type="requests", code="rate_limit_exceeded", headers=headers)
        case "http_400":
            return _error(400, "the request was refused", type="invalid_request_error")
        case "http_401":
            return _error(401, "the key is not valid", type="invalid_request_error", code="invalid_api_key")
        case "unsupported_parameter":
            message = f"unsupported parameter: '{fault.parameter}' is not supported with this model"
            code, param = "unsupported_parameter", fault.parameter
            return _error(400, message, type="invalid_request_error", code=code, param=param)
        case "error_in_200":
            return _error(200, "the model failed", type="server_error", code="server_error")
        case "broken_json":
            return Canned(status=200, body=b'{"id": "chatcmpl-simulated", "choices": [{"mess')
        case "html":
            return Canned(status=200, body=b"<html><body>simulated gateway</body></html>", content_type="text/html")
    return None


def marred(fault: Fault, number: int, created: int, body: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a completion without content, None for a fault of another kind.

    Args:
        fault: What is wrong with it.
        number: The server's count of requests.
        created: Seconds since 1970.
        body: The request.
    """
    thought, limit = "I start from the facts given and", wire.token_limit(body) or 64
    match fault.kind:
        case "no_choices":
            choices, reasoning = [], 0
        case "null_content":
            choices, reasoning = [wire.choice(0, None, "stop")], 0
        case "refusal":
            choices, reasoning = [wire.choice(0, None, "stop", refusal="simulated: I cannot help with that.")], 0
        case "truncated_thinking":
            choices, reasoning = [wire.choice(0, None, "length", reasoning=thought)], limit
        case _:
            return None
    used = wire.usage(wire.tokens(wire.prompt_chars(body)), reasoning, reasoning)
    return wire.completion(number, created, body["model"], choices, used)


def _error(
    status: int,
    message: str,
    *,
    type: str,
    code: str | None = None,
    param: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Canned:
    body = json.dumps(wire.error(message, type=type, code=code, param=param)).encode()
    return Canned(status=status, body=body, headers=headers or {})
