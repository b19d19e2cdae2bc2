"""Requests that nobody should send, as strategies: what stands almost in the form that a route reads, and what does not."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from hypothesis import strategies as st
from starlette.routing import BaseRoute, Route

from booster.config import Config
from booster.server.arguments import Arguments, SolveArguments, StepArguments
from booster.server.mcp import CORE
from tests.booster.server.http_door import TOKEN

SESSION: Final = "ses_THAT_THERE_IS"
"""Stands in a path for a session that there is."""

METHODS: Final = ("GET", "POST", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "BREW", "get")

TRAVERSALS: Final = (
    "../../etc/passwd", "..%2f..%2fetc%2fpasswd", "%2e%2e%2fetc", "..\\..\\x", "..%5c..%5cx", "%00", "/etc/passwd", "~root",
    "....//", "%252e%252e%252f", "C:%5Cx", "a" * 3000, "%ED%A0%80", "%C0%AE%C0%AE/", "ses_%0d%0aX-Injected:1", "*", "{}", "%",
)  # fmt: skip
"""Values of a path parameter, as they stand in a URL."""

KINDS: Final = (
    "application/json", "application/json; charset=utf-16", "text/plain", "multipart/form-data; boundary=x", "", "application/JSON",
    "application/x-www-form-urlencoded", "application/json, text/plain", "application/octet-stream",
)  # fmt: skip
"""Values of Content-Type."""

_texts = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        ["", " ", "\x00", "\ud800", "\udfff\ud800", "NaN", "1e999", "null", "true", "[" * 5000, '{"a":' * 300, "@/etc/passwd",
         "http://127.0.0.1:9/", "../x", "x" * 20_000, "{{7*7}}", "<script>", "%s%n", "\u202e", "9" * 5000, "(a+)+$", "\r\nX: 1"]
    ),
)  # fmt: skip
_numbers = st.one_of(
    st.integers(), st.floats(), st.sampled_from([10**400, -(10**30), 2**63, 2**53 + 1, 0, -1, 1e308, float("nan")])
)
_scalars = st.none() | st.booleans() | _numbers | _texts


def _deep(depth: int) -> Any:
    value: Any = 1
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return value


_values = st.one_of(
    st.recursive(
        _scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3), max_leaves=6
    ),
    st.sampled_from([5, 60, 100, 125, 200, 500, 900]).map(_deep),
)
"""JSON values of every kind, and some that are not quite JSON."""


def _matching(schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Return values that one field's schema is likely to take."""
    options = [_matching(option) for option in schema.get("anyOf", ())]
    if options:
        return st.one_of(options)
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    low, high = schema.get("minimum", 0), min(schema.get("maximum", 3), schema.get("minimum", 0) + 3)
    match schema.get("type"):
        case "integer":
            return st.integers(int(low), int(high))
        case "number":
            return st.floats(low, high)
        case "boolean":
            return st.booleans()
        case "string":
            return st.sampled_from(["6 * 7?", "out.json", "a/b.json", "simulated/x"]) | _texts
        case "array":
            return st.lists(st.dictionaries(st.sampled_from(["text", "kind", "value", "answer"]), _values), max_size=2)
        case _:
            return _values


def of_model(model: type[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return objects with the names of an options model and values that fit, more or less."""
    fields = model.model_json_schema(by_alias=True)["properties"]
    return st.fixed_dictionaries(
        {}, optional={name: st.one_of(_matching(field), _matching(field), _values) for name, field in fields.items()}
    )


_checks = st.lists(
    st.fixed_dictionaries(
        {"kind": st.sampled_from(["numeric", "equals", "contains", "regex", "json_schema", "python", "command"])},
        optional={"value": _values, "target": _scalars, "options": _values},
    ),
    max_size=3,
)
_budget = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("calls", "seconds", "tokens", "costUsd", "other"), _scalars)
)
_few = st.sampled_from([1, 1, 2, "2"])


def arguments(model: type[Arguments]) -> st.SearchStrategy[dict[str, Any]]:
    """Return arguments of a tool: every name it has, and for those that hold more inside, that too."""
    inside: dict[str, Any] = {}
    if model is SolveArguments:
        config = of_model(Config) | _values
        inside = {
            "task": st.just("6 * 7?") | _texts,
            "iterations": _few,
            "config": config,
            "checks": _checks,
            "budget": _budget,
            "waitSeconds": st.just(2),
        }
    elif model is StepArguments:
        inside = {"proposals": st.lists(st.fixed_dictionaries({"text": _texts}, optional={"checks": _checks}))}
    keep = st.fixed_dictionaries({}, optional=inside)
    return st.builds(lambda first, then: {**first, **then}, of_model(model), keep)


_messages = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "system", "assistant", "tool", "god"])},
        optional={
            "content": _texts
            | st.lists(st.fixed_dictionaries({"type": st.just("image_url")}, optional={"image_url": _values}))
        },
    )
    | _values,
    max_size=3,
)


def completions() -> st.SearchStrategy[dict[str, Any]]:
    """Return bodies of chat completions."""
    booster = st.builds(
        lambda config, more: {**config, **more},
        of_model(Config),
        st.fixed_dictionaries({}, optional={"checks": _checks, "budget": _budget, "progress": _scalars}),
    )
    return st.fixed_dictionaries(
        {"model": st.just("booster") | _texts, "messages": _messages},
        optional={
            "booster": booster | _values,
            "stream": st.booleans() | _scalars,
            "stream_options": _values,
            "n": _scalars,
            "tools": _values,
            "response_format": _values,
            "temperature": _scalars,
            "max_tokens": _scalars,
        },
    )


def calls() -> st.SearchStrategy[dict[str, Any]]:
    """Return messages of MCP: tools with their arguments, and everything else."""
    tools = [
        st.fixed_dictionaries({"name": st.just(spec.name), "arguments": arguments(spec.arguments)}) for spec in CORE
    ]
    methods = st.sampled_from(["tools/list", "resources/read", "initialize", "server/discover", "ping", "x", ""])
    version = {"_meta": st.just({"io.modelcontextprotocol/protocolVersion": "2026-07-28"}) | _values}
    call = st.builds(
        lambda given, more: {**given, **more}, st.one_of(tools), st.fixed_dictionaries({}, optional=version)
    )
    return st.fixed_dictionaries(
        {"jsonrpc": st.just("2.0") | _scalars, "id": st.just(1) | _scalars},
        optional={"method": st.just("tools/call") | methods | _texts, "params": call | _values},
    )


ENCODINGS: Final = ("utf-8", "utf-8", "utf-8", "utf-8", "utf-16", "utf-32", "utf-7", "utf-8-sig", "latin-1")


@st.composite
def bodies(draw: st.DrawFn, documents: st.SearchStrategy[Any]) -> bytes:
    """Return a document as bytes: nearly always as it should be written."""
    text = json.dumps(draw(documents), ensure_ascii=draw(st.booleans()))
    match draw(st.integers(0, 11)):
        case 0:
            text = text[: draw(st.integers(0, len(text)))]
        case 1:
            text = '{"task": "one", ' + text[1:] if text.startswith("{") else text * 2
        case 2:
            text += draw(_texts)
        case 3:
            return draw(st.binary(max_size=200))
    return text.encode(draw(st.sampled_from(ENCODINGS)), errors="replace")


@dataclass(frozen=True, kw_only=True)
class Ask:
    """One request."""

    method: str
    path: str
    """With its query, as it is sent."""
    headers: Mapping[str, str]
    body: bytes


_header_texts = st.text(
    st.characters(codec="latin-1", exclude_characters="\r\n\x00", exclude_categories=["Cc"]), max_size=40
)
_cursors = (
    st.sampled_from(["0", "-1", "1e3", "999999999999999999999", "٣", "2026-01-01T00:00:00Z", "x", "1\t2"])
    | _header_texts
)


def _headers(path: str) -> st.SearchStrategy[dict[str, str]]:
    answered = "application/json, text/event-stream" if path == "/mcp" else "*/*"
    return st.fixed_dictionaries(
        {
            "authorization": st.sampled_from([f"Bearer {TOKEN}"] * 9 + ["Bearer x"]),
            "content-type": st.sampled_from(["application/json"] * 5 + list(KINDS)),
            "accept": st.sampled_from([answered] * 4 + ["", "text/html", "application/openmetrics-text"]),
        },
        optional={
            "last-event-id": _cursors,
            "x-forwarded-for": _header_texts,
            "x-forwarded-host": st.just("evil.example"),
            "mcp-session-id": _header_texts,
            "mcp-protocol-version": st.sampled_from(["2025-11-25", "2026-07-28", "1999-01-01"]) | _header_texts,
            "mcp-method": st.just("tools/call") | _header_texts,
            "cookie": _header_texts,
            "range": st.just("bytes=0-1,3-"),
            "upgrade": st.just("websocket"),
        },
    ).map(lambda found: {name: value.strip() for name, value in found.items()})


def _documents(path: str) -> st.SearchStrategy[Any]:
    """Return what is sent to a route: by what it reads, or anything for those that read nothing."""
    if path == "/mcp":
        return calls()
    if path == "/v1/chat/completions":
        return completions()
    models = sorted({spec.arguments for spec in CORE}, key=lambda model: model.__name__)
    return st.one_of([arguments(SolveArguments), *map(arguments, models), _values])


@st.composite
def asks(draw: st.DrawFn, routes: Sequence[BaseRoute]) -> Ask:
    """Return a request to one of the routes.

    Args:
        draw: Given by hypothesis.
        routes: Of the application; whatever is added there is asked, too.
    """
    route = draw(st.sampled_from([route for route in routes if isinstance(route, Route)]))
    path = route.path
    for name in route.param_convertors:
        value = draw(st.sampled_from([*[SESSION] * len(TRAVERSALS), *TRAVERSALS]) | st.text(max_size=20).map(quote_all))
        path = path.replace(f"{{{name}}}", value).replace(f"{{{name}:path}}", value)
    path += draw(st.sampled_from(["", "", "", "", "/", "//", ";x", "%2f..", "/../../x"]))
    if draw(st.booleans()):
        query = draw(
            st.dictionaries(st.sampled_from(["limit", "status", "sessionId", "after", "code", "x"]), _texts, max_size=3)
        )
        path += "?" + "&".join(f"{name}={quote_all(value)[:2000]}" for name, value in query.items())
    own = [method for method in sorted(route.methods or {"GET", "POST", "DELETE"}) if method != "HEAD"]
    method = draw(st.sampled_from([*own * 12, *METHODS]))
    body = b"" if method in ("GET", "HEAD") and draw(st.booleans()) else draw(bodies(_documents(route.path)))
    return Ask(method=method, path=path, headers=draw(_headers(route.path)), body=body)


def quote_all(text: str) -> str:
    """Return text as it stands in a URL, halves of characters too."""
    return quote(text.encode("utf-8", errors="surrogatepass"), safe="")
