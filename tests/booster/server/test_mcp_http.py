"""MCP over HTTP: both protocol eras on one address, under the same guard as everything else."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CreateMessageResult, TextContent

from booster.app import Booster
from booster.settings import Endpoint
from providers.simulated import SimulatedModel, SimulatedServer
from tests.booster.server.http_door import TOKEN, HttpDoor, http_door
from tests.booster.server.mcp_harness import MODES, answering, call, opened, refusal, settings

ACCEPTS = {"accept": "application/json, text/event-stream"}
SOLVE = {"name": "solve", "arguments": {"task": "6 * 7?", "iterations": 1}}


@asynccontextmanager
async def connected(door: HttpDoor, mode: str, **options: Any) -> AsyncIterator[Client]:
    """Connect one client over HTTP."""
    async with (
        httpx2.AsyncClient(headers={"authorization": f"Bearer {TOKEN}"}, timeout=60) as http,
        Client(streamable_http_client(f"{door.url}/mcp", http_client=http), mode=mode, **options) as client,
    ):
        yield client


@pytest.mark.parametrize("mode", MODES)
async def test_a_solve_over_http_is_answered_by_the_simulated_model(tmp_path: Path, mode: str) -> None:
    """From client to model and back over real connections."""
    async with SimulatedServer(SimulatedModel()) as model:
        local = Endpoint(base_url=model.base_url, model="simulated/large")
        configured = settings(tmp_path, endpoints={"local": local})
        async with Booster.open(configured) as booster, http_door(booster) as door, connected(door, mode) as client:
            tools = await client.list_tools()
            document = await call(client, "solve", task="What is 6 * 7?", iterations=1)

            assert {"solve", "get-state"} <= {tool.name for tool in tools.tools}
            assert document["status"] == "done"
            assert (await door.client.get(f"/api/sessions/{document['sessionId']}")).status_code == 200


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_that_gives_a_call_up_stops_its_solve(tmp_path: Path, mode: str) -> None:
    """Its state is kept."""
    model = opened(tmp_path, answering(42), delay=30)
    async with model as booster, http_door(booster) as door, connected(door, mode) as client:
        waiting = asyncio.create_task(client.call_tool("solve", {"task": "6 * 7?", "iterations": 1}))
        session_id = await first_session(door)
        waiting.cancel()
        await asyncio.wait({waiting})

        assert await comes_to(door, session_id, "cancelled")


async def test_a_modern_request_ends_with_its_connection(tmp_path: Path) -> None:
    """Its solve is stopped: nobody could ever be told of it."""
    async with opened(tmp_path, answering(42), delay=30) as booster, http_door(booster) as door:
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
        }
        headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "solve"}

        session_id = await asked_and_left(door, {**SOLVE, "_meta": meta}, {**ACCEPTS, **headers})

        assert await comes_to(door, session_id, "cancelled")


async def test_a_session_of_the_handshake_outlives_its_connections(tmp_path: Path) -> None:
    """Its solve goes on to its end."""
    async with opened(tmp_path, answering(42), delay=0.5) as booster, http_door(booster) as door:
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
        opening = await door.client.post("/mcp", json=message, headers=ACCEPTS)
        headers = {
            **ACCEPTS, "mcp-session-id": opening.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"
        }  # fmt: skip
        begun = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        await door.client.post("/mcp", json=begun, headers=headers)

        session_id = await asked_and_left(door, SOLVE, headers)

        assert await comes_to(door, session_id, "done")


async def test_what_needs_a_token_elsewhere_needs_it_here(tmp_path: Path) -> None:
    """Also before a session is opened, and from no foreign page."""
    async with opened(tmp_path, answering(42)) as booster, http_door(booster) as door:
        message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}

        stranger = await door.stranger.post("/mcp", json=message, headers=ACCEPTS)
        page = await door.client.post("/mcp", json=message, headers={**ACCEPTS, "origin": "http://localhost:3000"})
        form = await door.client.post("/mcp", content=b"{}", headers={**ACCEPTS, "content-type": "text/plain"})

        assert [stranger.status_code, page.status_code, form.status_code] == [401, 403, 415]


@pytest.mark.parametrize("mode", MODES)
async def test_the_clients_own_model_is_asked_over_http(tmp_path: Path, mode: str) -> None:
    """By a request of ours, or by a round of questions."""

    async def sample(context: object, params: object) -> CreateMessageResult:
        return CreateMessageResult(
            role="assistant", content=TextContent(type="text", text="Final answer: 42"), model="client/model"
        )

    async with (
        opened(tmp_path) as booster,
        http_door(booster) as door,
        connected(door, mode, sampling_callback=sample) as client,
    ):
        document = await call(client, "solve", task="6 * 7?", iterations=1)

        assert document["answer"] == "42"


@pytest.mark.parametrize("mode", MODES)
async def test_no_file_is_written_over_http_unless_a_root_is_configured(tmp_path: Path, mode: str) -> None:
    """The working directory is the server's, not the client's."""
    model = opened(tmp_path, answering(42))
    async with model as booster, http_door(booster) as door, connected(door, mode) as client:
        said = await refusal(client, "solve", task="6 * 7?", outputPath="x.json")

        assert "outputRoot" in said
        assert await door.booster.sessions() == []


async def test_a_profile_reaches_http(tmp_path: Path) -> None:
    """`--tools all` offers the scheduler's tools here too."""
    model = opened(tmp_path, answering(42))
    async with model as booster, http_door(booster, profile="all") as door, connected(door, "auto") as client:
        names = {tool.name for tool in (await client.list_tools()).tools}

        assert "decide_step" in names


async def asked_and_left(door: HttpDoor, params: dict[str, Any], headers: dict[str, str]) -> str:
    """Call a tool, break the connection off once the solve has begun, and return its session's id."""
    message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    posting = asyncio.create_task(door.client.post("/mcp", json=message, headers=headers))
    session_id = await first_session(door)
    posting.cancel()
    await asyncio.wait({posting})
    return session_id


async def first_session(door: HttpDoor) -> str:
    """Return the id of the first session once there is one that asks its model."""
    while not (listed := (await door.client.get("/api/sessions")).json()["sessions"]):
        await asyncio.sleep(0.02)
    session_id: str = listed[0]["sessionId"]
    return session_id


async def comes_to(door: HttpDoor, session_id: str, status: str) -> bool:
    """Wait until a session is no longer worked on; say whether its status is this one."""
    while door.booster.is_running(session_id):
        await asyncio.sleep(0.02)
    return (await door.booster.result(session_id)).status == status
