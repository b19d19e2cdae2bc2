"""Whatever is sent, the server answers as documented, tells nothing of itself, and stays alive.

A run tries some hundreds of requests; `BOOSTER_FUZZ_EXAMPLES=10000 pytest tests/security/test_fuzz.py` tries so many for each
test. The examples are the same in every run unless `BOOSTER_FUZZ_EXAMPLES` is set.
"""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.booster.server.http_door import TOKEN
from tests.processes import ROOT
from tests.security.exposed import Exposed, exposed, heads, missing, request, statuses
from tests.security.hostile import SESSION, Ask, asks

ASKED = os.environ.get("BOOSTER_FUZZ_EXAMPLES")

SECRET = "canary-7f3a9c51d2e84b60"

DOCUMENTED: Mapping[int, set[str]] = {501: set(), 503: {"no_model", "journal", "busy"}, 504: {"deadline"}}
"""Status -> codes; of 5xx no other is an answer, but to a session that no model had a part in."""

INSIDE = re.compile(rb'Traceback|File "|site-packages|failed unexpectedly|Internal Server Error')

BATCH = 50
"""Examples after which the server must still be in health."""


def examples(usually: int) -> Callable[[Any], Any]:
    """Return the settings of a test with so many examples in a usual run."""
    return settings(
        max_examples=int(ASKED or usually),
        derandomize=ASKED is None,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exposed]:
    """One server for all of it,  over one home."""
    home = tmp_path_factory.mktemp("home")
    root = home / "results"
    root.mkdir()
    config = {"secrets": frozenset({SECRET})}
    with exposed(home, settings=config, output_root=root, profile="all") as server:
        yield server
        assert server.is_alive()
        assert "failed unexpectedly" not in server.logged
        assert "Exception in ASGI" not in server.logged


def a_session(server: Exposed) -> str:
    """Return the id of a session that there is: requests delete them, too."""
    listed = server.client.get("/api/sessions?limit=1").json()["sessions"]
    if not listed:
        listed = [server.client.post("/api/sessions", json={"task": "6 * 7?", "iterations": 1}).json()]
    return str(listed[0]["sessionId"])


def assess(server: Exposed, status: int, headers: Any, body: bytes, path: str) -> None:
    """Assert what holds of every answer."""
    assert not missing(headers), (status, headers)
    assert not INSIDE.search(body), body[:2000]
    everything = body + repr(dict(headers)).encode()
    for hidden in (TOKEN, SECRET, str(server.door.booster.settings.home), str(ROOT)):
        assert hidden.encode() not in everything, hidden
    program = path.startswith(("/api", "/v1", "/events", "/healthz"))
    if status >= 400 and program and body:
        assert headers["content-type"].startswith("application/json")
        document = json.loads(body)
        error = document["error"]
        assert {"message", "type", "param", "code"} <= set(error)
        if status >= 500 and document.get("status") != "degraded":
            assert error["code"] in DOCUMENTED[status], error
    else:
        assert status < 500 or status in DOCUMENTED, body[:2000]


def send(server: Exposed, ask: Ask) -> tuple[int, Any, bytes]:
    """Send a request and return status, headers and the beginning of the body: streams may have no end."""
    path = ask.path.replace(SESSION, a_session(server)) if SESSION in ask.path else ask.path
    headers = {name.encode(): value.encode("latin-1", errors="replace") for name, value in ask.headers.items() if value}
    built = httpx2.Request(ask.method, server.door.url, headers=headers, content=ask.body)
    built.url = httpx2.URL(server.door.url).copy_with(raw_path=path.encode())
    reply = server.stranger.send(built, stream=True)
    try:
        if reply.headers.get("content-type", "").startswith("text/event-stream"):
            return reply.status_code, reply.headers, next(reply.iter_raw(), b"")
        return reply.status_code, reply.headers, reply.read()
    finally:
        reply.close()


_done = 0


@examples(300)
@given(data=st.data())
def test_no_request_to_any_route_breaks_the_server(server: Exposed, data: st.DataObject) -> None:
    """Every route of the application, also one that is added tomorrow."""
    global _done
    ask = data.draw(asks(server.routes))

    status, headers, body = send(server, ask)

    assess(server, status, headers, body, ask.path)
    _done += 1
    assert _done % BATCH or server.is_alive()


LONG = b"VERY-LONG"
"""Stands for more bytes than a head may have."""

LINES = (
    b"Transfer-Encoding: chunked", b"Content-Length: 5", b"Content-Length: 6", b"Content-Length: -1", b"Content-Length: 1e1",
    b"Content-Length: 99999999999999999999", b"Transfer-Encoding: identity, chunked", b"Transfer-Encoding : chunked",
    b"Transfer-Encoding: xchunked", b" folded: line", b"No colon", b": empty", b"X: \x00", b"X: \xff\xfe", b"Host: localhost",
    b"Host: evil.example", b"Expect: 100-continue", b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13",
    b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c", b"X: " + LONG, b"Content-Type: application/json",
    b"Trailer: Authorization", b"Authorization: Bearer x", b"\tX: y", b"X: y\rZ: w", b"Connection: keep-alive",
)  # fmt: skip
STARTS = (
    b"GET /healthz HTTP/1.1", b"GET /healthz HTTP/1.0", b"GET  /healthz HTTP/1.1", b"GET /healthz", b"GET /healthz HTTP/9.9",
    b"POST /api/sessions HTTP/1.1", b"PRI * HTTP/2.0", b"OPTIONS * HTTP/1.1", b"CONNECT evil.example:443 HTTP/1.1",
    b"GET http://evil.example/healthz HTTP/1.1", b"GET //evil.example/ HTTP/1.1", b"GET /\x80 HTTP/1.1", b"\x16\x03\x01\x02",
    b"GET /events HTTP/1.1", b"POST /mcp HTTP/1.1", b"get /healthz http/1.1", b"\r\n\r\nGET /healthz HTTP/1.1", b"",
    b"GET /" + LONG + b" HTTP/1.1", b"POST /sign-in HTTP/1.1", b"GET /api/sessions HTTP/1.1",
)  # fmt: skip
CHUNKS = (
    b"", b"0\r\n\r\n", b"5\r\nhello\r\n0\r\n\r\n", b"FFFFFFFFFFFFFFFF\r\nx", b"-1\r\n\r\n", b"5;x=y\r\nhello\r\n0\r\nX: y\r\n\r\n",
    b"zz\r\n", b"5\r\nhello", b'{"task": "x"}', b"0\r\n\r\nGET /api/sessions HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", b"\x00" * 100, b"5\nhello\n0\n\n",
)  # fmt: skip

_wire = st.builds(
    lambda start, host, token, lines, end, rest: b"\r\n".join([start, *host, *token, *lines, b"", b""]) + end + rest,
    st.sampled_from(STARTS),
    st.sampled_from([[b"Host: localhost"]] * 4 + [[], [b"Host:"], [b"Host: localhost"] * 2]),
    st.sampled_from([[b"Authorization: Bearer " + TOKEN.encode()], []]),
    st.lists(st.sampled_from(LINES), max_size=4),
    st.sampled_from(CHUNKS),
    st.sampled_from(CHUNKS) | st.binary(max_size=30),
)


@examples(250)
@given(data=st.data())
def test_no_bytes_on_a_connection_break_the_server(server: Exposed, data: st.DataObject) -> None:
    """Half requests, two at once, lengths that contradict each other, other protocols."""
    global _done
    received = server.wire(data.draw(_wire).replace(LONG, b"y" * 70_000), patience=0.05)

    for status, headers in heads(received):
        assert status < 500
        if status >= 200:
            assert not missing(headers), headers
    assert not INSIDE.search(received)
    assert TOKEN.encode() not in received
    _done += 1
    assert _done % BATCH or server.is_alive()


@pytest.mark.parametrize("size", [4 * 1024 * 1024, 4 * 1024 * 1024 + 1])
def test_the_largest_body_is_read_and_a_larger_one_is_not(server: Exposed, size: int) -> None:
    """To the byte."""
    frame = b'{"task": "x", "iterations": "no", "x": ""}'
    body = frame[:-2] + b"y" * (size - len(frame)) + frame[-2:]

    reply = server.client.post("/api/sessions", content=body, headers={"content-type": "application/json"})

    assert (len(body), reply.status_code) == (size, 400 if size == 4 * 1024 * 1024 else 413)
    assert reply.json()["error"]["message"]


@pytest.mark.parametrize(
    ("lines", "body"),
    [
        (["Content-Length: 6", "Transfer-Encoding: chunked"], "0\r\n\r\nX"),
        (["Content-Length: 4", "Content-Length: 40"], "{}"),
        (["Transfer-Encoding: chunked", "Transfer-Encoding: identity"], "0\r\n\r\n"),
        (["Content-Length: +5"], "hello"),
    ],
)
def test_a_second_request_cannot_be_hidden_in_a_first(server: Exposed, lines: list[str], body: str) -> None:
    """Where two lengths disagree, no proxy and this server may read two different things: it is one request, or none."""
    hidden = request("GET", "/api/sessions").decode()
    head = ["POST /sign-in HTTP/1.1", "Host: localhost", "Content-Type: application/x-www-form-urlencoded", *lines]

    received = server.wire(("\r\n".join([*head, "", ""]) + body + hidden).encode(), patience=1.0)

    assert b'"sessions"' not in received
    assert statuses(received)[0] in (400, 403, 415, 429)
