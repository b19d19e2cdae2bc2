"""Clients that are slow, idle or never read cost the server little, and cost other clients nothing."""

import gc
import json
import socket
import time
from contextlib import ExitStack
from pathlib import Path

from booster.server.events import MAX_EVENT_CHARS
from booster.server.guard import Limits
from booster.server.serving import MOST_CONNECTIONS, PatientProtocol
from providers.types import Call
from tests.security.exposed import Exposed, exposed, request, statuses

HIGH_WATER = 64 * 1024
"""Bytes after which a connection takes no more until its client has read some."""


def until_answered(connection: socket.socket) -> bytes:
    """Return the beginning of an answer."""
    received = b""
    while b"\r\n\r\n" not in received:
        chunk = connection.recv(65536)
        assert chunk, received
        received += chunk
    return received


def test_a_request_that_comes_byte_by_byte_is_answered_as_any_other(tmp_path: Path) -> None:
    """Head and body; another client is served in between."""
    body = json.dumps({"task": "6 * 7?", "iterations": "none"}).encode()
    sent = request("POST", "/api/sessions", body)
    with exposed(tmp_path) as server, server.connect() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for place in range(len(sent)):
            connection.sendall(sent[place : place + 1])
            assert place % 100 or server.is_alive()

        assert statuses(until_answered(connection)) == [400]


def test_idle_connections_keep_nobody_out(tmp_path: Path) -> None:
    """More than there may be: the longest idle make room, and what is under way goes on."""
    with exposed(tmp_path) as server, ExitStack() as opened:
        stream = opened.enter_context(server.connect())
        stream.sendall(request("GET", "/events", connection=""))
        until_answered(stream)
        idle = [opened.enter_context(server.connect()) for _ in range(MOST_CONNECTIONS + 100)]
        assert server.is_alive()

        fresh = server.wire(request("GET", "/api/sessions"))
        server.client.post("/api/sessions/start", json={"task": "6 * 7?"})

        assert statuses(fresh) == [200]
        assert b"event: session" in stream.recv(65536)
        closed = [connection for connection in idle if is_closed(connection)]
        assert 100 <= len(closed) <= 110
        assert closed == idle[: len(closed)]


def is_closed(connection: socket.socket) -> bool:
    """Say whether the server has closed a connection."""
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


def test_too_many_requests_at_once_are_told_so_and_health_is_not_one_of_them(tmp_path: Path) -> None:
    """503 with a time to come back; places are given back."""
    with exposed(tmp_path, limits=Limits(requests=2)) as server:
        with ExitStack() as opened:
            for _ in range(2):
                stream = opened.enter_context(server.connect())
                stream.sendall(request("GET", "/events"))
                until_answered(stream)

            refused = server.client.get("/api/sessions")

            assert (refused.status_code, refused.json()["error"]["code"]) == (503, "busy")
            assert refused.headers["retry-after"] == "1"
            assert server.is_alive()
        eventually_served(server)


def eventually_served(server: Exposed) -> None:
    """Wait until the server has noticed that clients are gone."""
    while server.client.get("/api/sessions").status_code != 200:
        time.sleep(0.02)


def test_strangers_who_drip_a_form_take_no_place_from_others(tmp_path: Path) -> None:
    """They may wait for one another."""
    head = "POST /sign-in HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 99\r\n\r\nt"
    with exposed(tmp_path, limits=Limits(requests=1, sign_ins=1)) as server, server.connect() as dripping:
        dripping.sendall(head.encode())
        while (second := server.stranger.post("/sign-in", data={"token": "x"})).status_code == 403:
            time.sleep(0.02)  # the first has not arrived yet

        assert second.status_code == 503
        assert server.client.get("/api/sessions").status_code == 200
        assert server.is_alive()


def test_a_stranger_can_make_the_server_keep_nothing(tmp_path: Path) -> None:
    """A body to a path that is open is neither waited for nor read."""
    with exposed(tmp_path) as server:
        for declared in ("Content-Length: 4000000", "Transfer-Encoding: chunked"):
            with server.connect() as connection:
                connection.sendall(f"GET /healthz HTTP/1.1\r\nHost: localhost\r\n{declared}\r\n\r\n".encode())

                assert statuses(until_answered(connection)) == [200]


def test_the_head_of_a_stream_holds_no_connection(tmp_path: Path) -> None:
    """After HEAD the next request on the connection is answered."""
    with exposed(tmp_path) as server, server.connect() as connection:
        connection.sendall(request("HEAD", "/events", connection=""))
        first = until_answered(connection)
        connection.sendall(request("GET", "/healthz"))

        assert statuses(first) == [200]
        assert statuses(until_answered(connection)) == [200]


def test_whoever_never_reads_a_stream_makes_the_server_hold_one_event_more_at_most(tmp_path: Path) -> None:
    """However much there is to be told."""

    def long_winded(call: Call) -> str:
        words = "word " * 3000
        return json.dumps([{"text": f"{call.step_key} {n} {words}", "rationale": words} for n in range(16)])

    with exposed(tmp_path, long_winded, send_buffer=4096) as server:
        config = {"granularity": "step", "numCandidates": 16, "maxSteps": 64, "maxBacktracks": 0}
        solve = {"task": "6 * 7?", "config": config, "iterations": 64, "budget": {"calls": None}}
        session = server.client.post("/api/sessions", json=solve).json()["sessionId"]
        told = server.client.get(f"/events?sessionId={session}").content
        lazy = [socket.socket() for _ in range(4)]
        for connection in lazy:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect(("127.0.0.1", server.port))
            connection.sendall(request("GET", f"/events?sessionId={session}"))
        while len(held_by(server)) < 4:
            time.sleep(0.02)
        assert all(server.is_alive() for _ in range(20))  # time in which more would come

        held = held_by(server)

        for connection in lazy:
            connection.close()
        assert len(held) == 4
        assert max(held) <= HIGH_WATER + MAX_EVENT_CHARS < len(told)


def held_by(server: Exposed) -> list[int]:
    """Return the bytes that connections with a response under way hold for clients that have not read them."""
    found = [
        one for one in gc.get_objects() if isinstance(one, PatientProtocol) and one.server == ("127.0.0.1", server.port)
    ]
    return [one.transport.get_write_buffer_size() for one in found if not getattr(one.cycle, "response_complete", True)]
