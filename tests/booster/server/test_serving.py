"""The HTTP server as a process: where it listens, what it says, and how it ends."""

import asyncio
import contextlib
import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from booster.server.auth import Access, Token
from booster.server.serving import HEAD_SECONDS, ListenError, greeting, listening, names_of
from booster.settings import Settings
from tests.booster.server.http_door import a_file, http_door
from tests.booster.server.mcp_harness import answering, opened
from tests.processes import ROOT, booster, command, configured, document, environment, simulated_model

ACCEPTS = {"accept": "application/json, text/event-stream"}
HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
}  # fmt: skip


@dataclass
class Process:
    """A server started by its command."""

    process: asyncio.subprocess.Process
    url: str
    greeting: str
    token: str

    async def end(self, how: signal.Signals) -> tuple[int, str]:
        """Send a signal and return exit code and what was written to standard error since."""
        self.process.send_signal(how)
        assert self.process.stderr is not None
        rest = (await self.process.stderr.read()).decode()
        return await self.process.wait(), rest


@asynccontextmanager
async def served(home: Path, env: Mapping[str, str], *options: str) -> AsyncIterator[Process]:
    """Run `booster serve --http` on a free port until the block ends."""
    process = await asyncio.create_subprocess_exec(
        *command("serve", "--http", "--port", "0", *options),
        cwd=home, env=dict(env), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, limit=1 << 22,
    )  # fmt: skip
    try:
        assert process.stderr is not None
        line = (await process.stderr.readline()).decode()
        found = re.search(r"http://[^ ]+:\d+", line)
        assert found is not None, line
        token = home / "state" / "token"
        yield Process(process, found[0], line, token.read_text().strip() if token.exists() else "")
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def client(server: Process) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(base_url=server.url, headers={"authorization": f"Bearer {server.token}"}, timeout=60)


async def test_it_says_where_it_is_and_where_the_token_is_kept(tmp_path: Path) -> None:
    """One line, without the token and, as nobody watches, without a link."""
    async with served(tmp_path, environment(tmp_path)) as server, client(server) as http:
        assert (await http.get("/healthz")).status_code == 200
        assert (await http.get("/api/sessions")).json()["sessions"] == []
        code, rest = await server.end(signal.SIGTERM)

    assert server.url.startswith("http://127.0.0.1:")
    assert str(tmp_path / "state" / "token") in server.greeting
    assert server.token not in server.greeting + rest
    assert "sign-in" not in server.greeting
    assert (code, rest) == (0, "")


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_it_with_open_work_left_resumable(tmp_path: Path, how: signal.Signals) -> None:
    """A solve amid a call, a client that waits for it, an open event stream and an open MCP session hold nothing up."""
    with simulated_model("--latency", "30") as model:
        env = configured(tmp_path, model.base_url)
        async with served(tmp_path, env) as server, client(server) as http:
            waiting = asyncio.create_task(http.post("/api/sessions", json={"task": "6 * 7?", "iterations": 1}))
            while not (listed := (await http.get("/api/sessions")).json()["sessions"]):
                await asyncio.sleep(0.05)
            stream = http.stream("GET", "/events", params={"sessionId": listed[0]["sessionId"]})
            opened = await http.post("/mcp", json=HELLO, headers=ACCEPTS)
            session = {"mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
            channel = http.stream("GET", "/mcp", headers={**ACCEPTS, **session})
            async with stream as following, channel as listening_too:
                assert [following.status_code, listening_too.status_code] == [200, 200]
                code, rest = await server.end(how)
            with contextlib.suppress(httpx2.TransportError):
                await waiting

        shown = document(booster("sessions", "list", "--json", env=env, cwd=tmp_path))["sessions"]

    assert code == 0, rest
    assert "Traceback" not in rest
    assert "exceeded" not in rest  # nothing had to be broken off
    assert [(entry["status"], entry.get("orphaned")) for entry in shown] == [("running", True)]


async def test_a_restarted_server_goes_on_with_what_its_predecessor_left(tmp_path: Path) -> None:
    """A kill, not a goodbye: the session is orphaned and resumed under the same token."""
    with simulated_model("--latency", "1.2") as model:
        env = configured(tmp_path, model.base_url)
        async with served(tmp_path, env) as server, client(server) as http:
            begun = await http.post("/api/sessions", json={"task": "What is 6 * 7?", "iterations": 1, "waitSeconds": 1})
            session_id = begun.json()["sessionId"]
            await server.end(signal.SIGKILL)
        async with served(tmp_path, env) as server, client(server) as http:
            orphan = (await http.get(f"/api/sessions/{session_id}")).json()
            resumed = await http.post(f"/api/sessions/{session_id}/resume", json={"waitSeconds": 30})

    assert begun.status_code == 202
    assert orphan["orphaned"] is True
    assert resumed.status_code == 200, resumed.text


def test_a_taken_port_is_said_with_the_option_to_change(tmp_path: Path) -> None:
    """Exit code 1, one line, and no token was made for nothing."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = booster("serve", "--http", "--port", port, env=environment(tmp_path), cwd=tmp_path)

    assert done.returncode == 1
    assert "--port" in done.stderr
    assert port in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--port", "1"), "--port"),
        (("--host", "localhost"), "--host"),
        (("--no-auth",), "--no-auth"),
        (("--http", "--no-auth", "--host", "0.0.0.0"), "--no-auth"),
        (("--http", "--no-auth", "--host", "192.0.2.1"), "--no-auth"),
        (("--http", "--port", "70000"), "--port"),
    ],
)
def test_options_that_do_not_go_together_are_refused(tmp_path: Path, options: tuple[str, ...], named: str) -> None:
    """Before anything is opened."""
    done = booster("serve", *options, env=environment(tmp_path), cwd=tmp_path)

    assert done.returncode == 2
    assert named in done.stderr
    assert "Traceback" not in done.stderr


def test_a_weak_token_of_the_users_is_refused(tmp_path: Path) -> None:
    """It is named, not shown."""
    env = environment(tmp_path, BOOSTER_TOKEN="too-short-a-token")

    done = booster("serve", "--http", "--port", "0", env=env, cwd=tmp_path)

    assert done.returncode == 2
    assert "BOOSTER_TOKEN" in done.stderr
    assert "too-short" not in done.stderr


async def test_a_token_of_the_users_own_opens_the_door(tmp_path: Path) -> None:
    """And is never printed."""
    token = "a-token-of-the-users-own-with-enough-characters"
    async with served(tmp_path, environment(tmp_path, BOOSTER_TOKEN=token)) as server:
        server.token = token
        async with client(server) as http:
            assert (await http.get("/api/sessions")).status_code == 200

    assert "BOOSTER_TOKEN" in server.greeting
    assert token not in server.greeting


async def test_without_a_token_it_says_so(tmp_path: Path) -> None:
    """No file is made."""
    async with (
        served(tmp_path, environment(tmp_path), "--no-auth") as server,
        httpx2.AsyncClient(base_url=server.url) as http,
    ):
        assert (await http.get("/api/sessions")).status_code == 200

    assert "no token" in server.greeting
    assert server.token == ""


def test_a_person_at_a_terminal_gets_a_link_that_works_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only there: what is written to a log stays."""
    access = Access("x" * 32)
    leader, follower = pty.openpty()
    with open(leader, "rb"), open(follower, "w") as terminal, listening("127.0.0.1", 0) as listener:
        monkeypatch.setattr(sys, "stderr", terminal)
        said = greeting(listener, "127.0.0.1", Token(value="x" * 32, place="/home/token"), access)

    code = re.search(r"/sign-in\?code=(\S+)", said)
    assert code is not None
    assert [access.redeem(code[1]), access.redeem(code[1])] == [True, False]


def test_whoever_listens_to_a_network_is_told_that_nothing_is_encrypted() -> None:
    """The address shown is one that works."""
    with listening("0.0.0.0", 0) as listener:
        said = greeting(listener, "0.0.0.0", Token(value="x" * 32, place="/home/token"), Access("x" * 32))

    assert "http://127.0.0.1:" in said
    assert "not encrypted" in said


def test_the_names_follow_from_where_it_listens() -> None:
    """The bound host, the configured ones, and on all addresses every number."""
    assert names_of("127.0.0.1").hosts == {"127.0.0.1", "localhost", "::1"}
    assert names_of("booster.lan", ("Other.lan",)).hosts > {"booster.lan", "other.lan"}
    assert [names_of(host).addresses for host in ("0.0.0.0", "::", "127.0.0.1", "192.0.2.1")] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-name.invalid"])
def test_an_address_of_another_machine_cannot_be_listened_on(host: str) -> None:
    """The text names it."""
    with pytest.raises(ListenError, match=re.escape(host)), listening(host, 0):
        pass


async def test_a_connection_that_never_completes_a_request_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither one that says nothing nor one that drips its head holds a place; one that works is left alone."""
    assert HEAD_SECONDS >= 5
    monkeypatch.setattr("booster.server.serving.HEAD_SECONDS", 0.3)
    async with opened(tmp_path, answering(42), delay=0.8) as over, http_door(over) as door:
        silent, first = await asyncio.open_connection("127.0.0.1", door.port)
        dripping, second = await asyncio.open_connection("127.0.0.1", door.port)
        second.write(b"GET /healthz HTTP/1.1\r\nHost:")

        reply = await door.client.post("/api/sessions", json={"task": "6 * 7?", "iterations": 1})

        assert [await silent.read(), await dripping.read()] == [b"", b""]
        assert reply.status_code == 200
        first.close()
        second.close()


def test_a_start_on_standard_input_loads_no_http_server(tmp_path: Path) -> None:
    """Clients start it for every conversation."""
    heavy = ["jinja2", "booster.server.http", "booster.server.serving", "booster.server.viewer.pages"]
    program = f"import booster.server.stdio, sys; print([name for name in {heavy} if name in sys.modules])"

    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment(tmp_path), capture_output=True, text=True, check=True
    )

    assert json.loads(done.stdout.replace("'", '"')) == []


async def test_a_stream_is_resumed_from_another_process_on_the_same_database(tmp_path: Path) -> None:
    """The process that ran the session is gone; its events are not."""
    home = tmp_path / "state"
    home.mkdir()
    async with opened(home, answering(42), journal_url=a_file(home)) as over:
        result = await over.solve("6 * 7?", iterations=1)
    async with served(tmp_path, environment(tmp_path)) as server, client(server) as http:
        reply = await http.get("/events", params={"sessionId": result.session_id}, headers={"last-event-id": "1"})

    numbers = re.findall(r"^id: (\d+)$", reply.text, re.MULTILINE)
    assert numbers[0] == "2"
    assert reply.text.rstrip().split("event: ")[-1].startswith("end")
    assert os.stat(home / "token").st_mode & 0o077 == 0


def test_token_and_names_come_from_where_all_settings_come_from(tmp_path: Path) -> None:
    """The token counts as a secret and is in no representation."""
    token = "a-token-of-the-users-own-with-enough-characters"
    environ = {"BOOSTER_TOKEN": token, "BOOSTER_ALLOWED_HOSTS": '["booster.lan"]', "HOME": str(tmp_path)}

    settings = Settings.load(environ=environ, cwd=tmp_path)

    assert settings.allowed_hosts == ("booster.lan",)
    assert settings.token is not None
    assert settings.token.get_secret_value() == token
    assert token in settings.secrets
    assert token not in repr(settings)
    assert settings.warnings == []
