"""The nine tools over MCP, on both protocol eras."""

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
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolResult, TextContent

from scheduler import Costs, Scheduler, Signals
from scheduler.persistence import PersistentService
from scheduler.server import build
from scheduler.store import FileStore

TOOLS = {
    "open_session",
    "new_task",
    "decide_step",
    "report_outcome",
    "task_feedback",
    "get_stats",
    "get_calibration",
    "dump_prototypes",
    "close_session",
}
ERAS = ["legacy", "auto"]

pytestmark = pytest.mark.parametrize("era", ERAS)


@asynccontextmanager
async def connected(directory: Path, era: Any) -> AsyncIterator[Client]:
    store = FileStore(directory)
    async with Client(build(PersistentService(store, store)), mode=era) as client:
        yield client


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool that must succeed; its text and its structured content must agree."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text(result)
    assert result.structured_content is not None
    assert json.loads(text(result)) == result.structured_content
    return dict(result.structured_content)


def text(result: CallToolResult) -> str:
    assert isinstance(result.content[0], TextContent)
    return result.content[0].text


async def test_the_nine_tools_are_listed_with_input_and_output_schemas(tmp_path: Path, era: str) -> None:
    async with connected(tmp_path, era) as client:
        tools = (await client.list_tools()).tools

    assert {tool.name for tool in tools} == TOOLS
    assert all(tool.description and tool.output_schema for tool in tools)


async def test_a_whole_task_runs_through_all_tools(tmp_path: Path, era: str) -> None:
    async with connected(tmp_path, era) as client:
        opened = await call(client, "open_session", sessionId="a", namespace="n")
        assert opened == {"sessionId": "a", "namespace": "n", "loadedPrototypes": 0, "mu": 1.0}
        assert await call(client, "new_task", sessionId="a") == {"ok": True, "mu": 1.0, "nPrototypes": 1}

        decision = await call(
            client, "decide_step", sessionId="a", criticality_hint=0.9, difficulty_hint="0.5", progress=0
        )
        assert decision["decision_id"] == "a.1"
        assert decision["mode"] in ("system1", "system2")

        report = await call(client, "report_outcome", sessionId="a", decision_id="a.1", outcome="s1_fail")
        assert (report["label"], report["weight"], report["label_source"]) == (1.0, 1.0, "s1_fail")
        assert (await call(client, "task_feedback", sessionId="a", success=True))["ok"]

        stats = await call(client, "get_stats", sessionId="a")
        assert (stats["namespace"], stats["steps"], stats["pending"], stats["nLabels"]) == ("n", 1, 0, 1)
        assert (await call(client, "get_calibration", sessionId="a"))["scored"] == 1
        assert len((await call(client, "dump_prototypes", sessionId="a"))["prototypes"]) == 1
        assert await call(client, "close_session", sessionId="a") == {"ok": True, "persistedPrototypes": 1}


async def test_a_closed_session_is_an_error_that_names_open_session(tmp_path: Path, era: str) -> None:
    async with connected(tmp_path, era) as client:
        await call(client, "open_session", sessionId="a")
        await call(client, "close_session", sessionId="a")

        result = await client.call_tool("decide_step", {"sessionId": "a"})

    assert result.is_error
    assert "open_session" in text(result)


@pytest.mark.parametrize("value", ["abc", "nan", "inf", 1.5, -0.1, "2"])
@pytest.mark.parametrize("field", ["criticality_hint", "difficulty_hint", "progress", "context_pollution"])
async def test_a_bad_signal_is_an_error_that_names_the_field(tmp_path: Path, era: str, field: str, value: Any) -> None:
    async with connected(tmp_path, era) as client:
        await call(client, "open_session", sessionId="a")

        result = await client.call_tool("decide_step", {"sessionId": "a", field: value})

    assert result.is_error
    assert field in text(result)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"decision_id": "a.9", "outcome": "s1_pass"}, "a.9"),
        ({"outcome": "s1_pass"}, "pending"),
        ({"outcome": "perhaps"}, "outcome"),
        ({"observed_criticality": "much"}, "observed_criticality"),
        ({"observed_criticality": 2}, "observed_criticality"),
        ({"verifier_recall": -1}, "verifier_recall"),
    ],
)
async def test_a_bad_report_is_a_readable_error(tmp_path: Path, era: str, arguments: dict[str, Any], word: str) -> None:
    async with connected(tmp_path, era) as client:
        await call(client, "open_session", sessionId="a")

        result = await client.call_tool("report_outcome", {"sessionId": "a", **arguments})

    assert result.is_error
    assert word in text(result)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"sessionId": ""}, "sessionId"),
        ({"sessionId": "a", "namespace": ".."}, "namespace"),
        ({"sessionId": "a", "policy": "magic"}, "policy"),
        ({"sessionId": "a", "costs": {"cheap": "dear"}}, "cheap"),
        ({"sessionId": "a", "costs": {"price": 1}}, "price"),
        ({"sessionId": "a", "opts": {"colour": 1}}, "colour"),
        ({"sessionId": "a", "opts": {"probeRate": 2}}, "probe_rate"),
        ({"sessionId": "a", "opts": {"maxRegimes": 99}}, "max_regimes"),
    ],
)
async def test_a_session_that_cannot_be_opened_says_why(
    tmp_path: Path, era: str, arguments: dict[str, Any], word: str
) -> None:
    async with connected(tmp_path, era) as client:
        result = await client.call_tool("open_session", arguments)

    assert result.is_error
    assert word in text(result)


async def test_an_unknown_tool_is_an_error(tmp_path: Path, era: str) -> None:
    async with connected(tmp_path, era) as client:
        result = await client.call_tool("ponder", {})

    assert result.is_error


@pytest.mark.parametrize("policy", ["regime", "auction", "router", "static", "always-s1", "always-s2"])
async def test_decisions_through_the_protocol_equal_those_of_the_python_object(
    tmp_path: Path, era: str, policy: str
) -> None:
    scheduler = Scheduler(policy=policy, costs=Costs(cheap=1, deep=4, damage=1), session_id="a")
    here, there = [], []
    async with connected(tmp_path, era) as client:
        costs = {"cheap": 1, "deep": 4, "damage": "1"}
        await call(client, "open_session", sessionId="a", policy=policy, costs=costs)
        for task in range(3):
            scheduler.new_task()
            await call(client, "new_task", sessionId="a")
            for i in range(6):
                hints = {"criticality_hint": (i * 7 % 6) / 6, "difficulty_hint": (i * 5 % 6) / 6, "progress": i / 6}
                decision = scheduler.decide(Signals(**hints))
                here.append(json.loads(json.dumps(decision.as_dict())))
                there.append(await call(client, "decide_step", sessionId="a", **hints))
                outcome: Any = "s1_fail" if i in (0, 3) else "s1_pass"
                scheduler.report(decision.decision_id, outcome)
                await call(
                    client, "report_outcome", sessionId="a", decision_id=f"a.{task * 6 + i + 1}", outcome=outcome
                )
            scheduler.feedback(success=True)
            await call(client, "task_feedback", sessionId="a", success="true")

    assert there == here


async def test_the_form_without_decision_ids_still_works(tmp_path: Path, era: str) -> None:
    async with connected(tmp_path, era) as client:
        await call(client, "open_session", sessionId="a", policy="auction")
        hints = {"criticality_hint": 0.8, "difficulty_hint": 0.2, "progress": 0.5}
        await call(client, "decide_step", sessionId="a", **hints)

        report = await call(
            client, "report_outcome", sessionId="a", observed_criticality="0.7", used_system2=True, **hints
        )

    assert (report["decision_id"], report["label"], report["label_source"]) == ("a.1", 0.7, "observed")


async def test_it_starts_on_stdio_and_keeps_what_was_learnt(tmp_path: Path, era: Any) -> None:
    """Open, learn, close; another process loads the prototypes."""
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "scheduler.server", "--store", str(tmp_path)],
        cwd=str(Path(__file__).parents[2]),
    )
    async with Client(parameters, mode=era) as client:
        await call(client, "open_session", sessionId="a")
        await call(client, "decide_step", sessionId="a")
        await call(client, "report_outcome", sessionId="a", decision_id="a.1", outcome="s1_pass")
        await call(client, "close_session", sessionId="a")

    async with Client(parameters, mode=era) as client:
        opened = await call(client, "open_session", sessionId="b")

    assert opened["loadedPrototypes"] == 1


async def test_a_signal_saves_what_was_learnt_and_ends_the_server(tmp_path: Path, era: Any) -> None:
    """SIGTERM to a server in mid-task; the library is on disk although no task ended."""
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-c", PID_SERVER, str(tmp_path / "pid"), str(tmp_path / "store")],
        cwd=str(Path(__file__).parents[2]),
    )
    async with Client(parameters, mode=era) as client:
        await call(client, "open_session", sessionId="a")
        await call(client, "decide_step", sessionId="a")
        await call(client, "report_outcome", sessionId="a", decision_id="a.1", outcome="s1_pass")

        os.kill(int((tmp_path / "pid").read_text()), signal.SIGTERM)
        with pytest.raises(MCPError):
            await client.call_tool("get_stats", {"sessionId": "a"})

    stored = await FileStore(tmp_path / "store").read("default")
    assert stored is not None
    assert stored.document["library"]["nLabels"] == 1


PID_SERVER = """
import os, pathlib, sys
from scheduler.server import main
pathlib.Path(sys.argv[1]).write_text(str(os.getpid()))
main(["--store", sys.argv[2]])
"""
