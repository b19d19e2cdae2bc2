"""The server as a child process on standard input and output: what a client starts from its configuration."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from booster.app import Booster
from booster.settings import Settings
from providers.simulated import SimulatedModel, SimulatedServer
from tests.booster.server.mcp_harness import MODES, call, text_of

REPOSITORY = Path(__file__).resolve().parents[3]
COMMAND = [sys.executable, "-m", "booster.server"]
HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
}  # fmt: skip


def _environment(home: Path, **further: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "BOOSTER_HOME": str(home),
        "PYTHONPATH": str(REPOSITORY),
        **further,
    }


def _parameters(home: Path, **further: str) -> StdioServerParameters:
    return StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], env=_environment(home, **further), cwd=home)


class RawClient:
    """Speaks the handshake protocol byte by byte, to see all that the server writes."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.lines: list[bytes] = []
        self.answers: dict[int | None, dict[str, Any]] = {}

    async def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        await self.process.stdin.drain()

    async def answer_to(self, number: int) -> dict[str, Any]:
        assert self.process.stdout is not None
        while number not in self.answers:
            line = await self.process.stdout.readline()
            assert line, "the server went away"
            self.lines.append(line)
            message: dict[str, Any] = json.loads(line)
            self.answers[message.get("id")] = message
        return self.answers[number]

    async def call(self, number: int, tool: str, **arguments: Any) -> None:
        await self.send(
            {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        )


@asynccontextmanager
async def _raw(home: Path, **further: str) -> AsyncIterator[RawClient]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *COMMAND, stdin=pipe, stdout=pipe, stderr=pipe, env=_environment(home, **further), cwd=home, limit=1 << 22
    )
    client = RawClient(process)
    try:
        await client.send(HELLO)
        await client.answer_to(1)
        await client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        yield client
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def _session_of_open_request(client: RawClient) -> str:
    """Begin a solve that is waited for, and return its session."""
    await client.call(2, "solve", task="6 * 7?", waitSeconds=60)
    number = 100
    while True:
        await client.call(number, "sessions")
        if found := (await client.answer_to(number))["result"]["structuredContent"]["sessions"]:
            return str(found[0]["sessionId"])
        number += 1


async def _slow_solve(client: RawClient) -> str:
    """Begin a solve that no answer will come to, and return its session."""
    await client.call(2, "solve", task="6 * 7?", waitSeconds=1)
    document = (await client.answer_to(2))["result"]["structuredContent"]
    assert document["status"] == "running"
    return str(document["sessionId"])


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_starts_it_solves_and_leaves(tmp_path: Path, mode: str) -> None:
    async with SimulatedServer(SimulatedModel(accuracy=1.0)) as model:
        local = {"LOCAL_BASE_URL": model.base_url, "LOCAL_MODEL": "simulated/large"}
        async with Client(_parameters(tmp_path, **local), mode=mode) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            document = await call(
                client,
                "solve",
                task="What is 6 * 7?",
                iterations="2",
                outputPath="./summary.json",
                budget='{"calls": "8"}',
            )
            error = await client.call_tool("get-state", {"sessionId": "ses_0"})

    assert "solve" in names
    assert document["usage"]["calls"] >= 1
    assert document["usage"]["calls"] <= 8
    assert document["steps"] == [] or document["steps"][0]["source"] == "simulated"
    assert json.loads((tmp_path / "summary.json").read_text())["sessionId"] == document["sessionId"]
    assert error.is_error
    assert text_of(error).startswith("no session has the id")


@pytest.mark.parametrize("mode", MODES)
async def test_it_samples_from_its_client_across_the_pipe(tmp_path: Path, mode: str) -> None:
    from tests.booster.server.test_sampling import Model

    model = Model("Final answer: 42")
    async with Client(_parameters(tmp_path), mode=mode, sampling_callback=model) as client:
        document = await call(client, "solve", task="6 * 7?", checks=[{"kind": "numeric", "value": 42}])

    assert document["answer"] == "42"
    assert document["diagnostics"]["provider"] == "mcp"
    assert model.asked


async def test_nothing_but_protocol_messages_is_written_to_standard_output(tmp_path: Path) -> None:
    async with _raw(
        tmp_path, OPENAI_API_KEY="sk-canary0123456789abcdef", OPENAI_BASE_URL="http://127.0.0.1:9/v1"
    ) as client:
        for number in range(2, 12):
            await client.call(number, "solve", task=f"Task {number}", iterations=1, budget={"calls": 2, "seconds": 5})
        await client.call(12, "nonsense")
        await client.send({"jsonrpc": "2.0", "id": 13, "method": "no/such"})
        for number in range(2, 14):
            await client.answer_to(number)
        assert client.process.stdin is not None
        client.process.stdin.close()
        rest, logs = await client.process.communicate()

    for line in [*client.lines, *rest.splitlines()]:
        assert json.loads(line)["jsonrpc"] == "2.0"
    assert b"sk-canary" not in logs + rest + b"".join(client.lines)
    for line in logs.splitlines():
        json.loads(line)


@pytest.mark.parametrize("ending", ["end of file", "SIGINT", "SIGTERM"])
async def test_it_ends_at_once_and_leaves_its_work_resumable(tmp_path: Path, ending: str) -> None:
    async with SimulatedServer(SimulatedModel(latency=600)) as model:
        local = {"LOCAL_BASE_URL": model.base_url, "LOCAL_MODEL": "simulated/large"}
        async with _raw(tmp_path, **local) as client:
            session = await _slow_solve(client)
            await client.call(3, "get-state", sessionId=session, waitSeconds=60)
            if ending == "end of file":
                assert client.process.stdin is not None
                client.process.stdin.close()
            else:
                client.process.send_signal(getattr(signal, ending))
            async with asyncio.timeout(20):
                await client.process.communicate()

    assert client.process.returncode == 0
    async with Booster.open(Settings.load(environ=_environment(tmp_path), cwd=tmp_path), providers=[]) as booster:
        (kept,) = await booster.sessions()
        result = await booster.result(session)
    assert kept["status"] == "running"
    assert result.stop_reason is None, "left to be resumed, neither cancelled nor failed"


async def test_a_request_under_way_at_the_end_of_file_does_not_cancel_its_solve(tmp_path: Path) -> None:
    async with SimulatedServer(SimulatedModel(latency=600)) as model:
        local = {"LOCAL_BASE_URL": model.base_url, "LOCAL_MODEL": "simulated/large"}
        async with _raw(tmp_path, **local) as client:
            await _session_of_open_request(client)
            assert client.process.stdin is not None
            client.process.stdin.close()
            async with asyncio.timeout(20):
                await client.process.communicate()

    async with Booster.open(Settings.load(environ=_environment(tmp_path), cwd=tmp_path), providers=[]) as booster:
        (kept,) = await booster.sessions()
    assert kept["status"] == "running"


async def test_a_request_that_its_client_cancels_stops_the_solve(tmp_path: Path) -> None:
    async with SimulatedServer(SimulatedModel(latency=600)) as model:
        local = {"LOCAL_BASE_URL": model.base_url, "LOCAL_MODEL": "simulated/large"}
        async with _raw(tmp_path, **local) as client:
            session = await _session_of_open_request(client)
            await client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}})
            for number in range(4, 10):  # the cancellation and the look at it come in no order
                await client.call(number, "get-state", sessionId=session, waitSeconds=5)
                state = (await client.answer_to(number))["result"]["structuredContent"]
                if "result" in state:
                    break

    assert state["result"]["status"] == "cancelled"


async def test_a_killed_servers_session_is_taken_over_by_the_next(tmp_path: Path) -> None:
    async with SimulatedServer(SimulatedModel(latency=600)) as model:
        local = {"LOCAL_BASE_URL": model.base_url, "LOCAL_MODEL": "simulated/large"}
        async with _raw(tmp_path, **local) as client:
            session = await _slow_solve(client)
            client.process.kill()
            await client.process.communicate()

    async with Client(_parameters(tmp_path), mode="auto") as next_client:
        state = await call(next_client, "get-state", sessionId=session)
        taken = await call(next_client, "multi-step", sessionId=session, iterations=1)

    assert state["orphaned"] is True
    assert "multi-step" in state["next"]
    assert taken["sessionId"] == session
    assert taken["status"] == "degraded", "the next server has no model"


async def test_settings_that_cannot_be_read_end_it_with_a_reason_and_no_protocol(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{")

    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *COMMAND, stdin=pipe, stdout=pipe, stderr=pipe, env=_environment(tmp_path), cwd=tmp_path
    )
    out, err = await process.communicate()

    assert process.returncode == 1
    assert out == b""
    assert b"config.json" in err
    assert b"Traceback" not in err
