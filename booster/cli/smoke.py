"""`booster-smoke [core|scheduler]`: does an installed server start, and do its tools work? Needs no key and asks no model."""

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import asynccontextmanager
from typing import Any

CORE_TOOLS = ("solve", "start", "step", "multi-step", "get-state", "summarize", "cancel", "sessions")
STEPS = 3

SCHEDULER_TOOLS = (
    "open_session", "new_task", "decide_step", "report_outcome", "task_feedback", "get_stats", "get_calibration",
    "dump_prototypes", "close_session",
)  # fmt: skip
ROUNDS, TASK_STEPS, CRITICAL = 6, 6, (0, 3)
"""Rounds of one task, its steps, and those of them that System 1 fails."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the check; exit code 0 if all of it holds."""
    parser = argparse.ArgumentParser(prog="booster-smoke", description=(__doc__ or "").partition(": ")[2])
    parser.add_argument("what", nargs="?", choices=["core", "scheduler"], default="core", help="default: %(default)s")
    check = {"core": _check, "scheduler": _check_scheduler}[parser.parse_args(arguments).what]
    with tempfile.TemporaryDirectory() as folder:
        try:
            asyncio.run(check(folder))
        except AssertionError as error:
            print(f"FAILED: {error}")
            sys.exit(1)
    print("smoke test passed")


@asynccontextmanager
async def _served(folder: str, *command: str) -> Any:
    """Run `booster` with this command as an MCP server and yield a client of it."""
    from mcp import Client, StdioServerParameters

    environment = {
        "PATH": os.environ.get("PATH", ""),
        "HOME": folder,
        "BOOSTER_HOME": folder,
        "BOOSTER_PROVIDER": "heuristic",
    }
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "booster", *command], env=environment, cwd=folder
    )
    async with Client(server) as client:
        yield client


async def _check(folder: str) -> None:
    async with _served(folder, "serve") as client:
        await _hold_tools(client, CORE_TOOLS)
        session = (await _call(client, "start", task="Measure 4 litres with a 3 litre and a 5 litre jug"))["sessionId"]
        for _ in range(STEPS):
            await _call(client, "step", sessionId=session)
        state = (await _call(client, "get-state", sessionId=session))["state"]
        _hold(len(state["steps"]) >= 1, "no step was applied")
        print(f"steps applied: {len(state['steps'])}")
        said = await client.call_tool("summarize", {"sessionId": session})
        text = said.content[0].text
        _hold(text.lower().startswith("summary:"), f"the summary begins with {text[:20]!r}")


async def _check_scheduler(folder: str) -> None:
    async with _served(folder, "scheduler", "serve") as client:
        await _hold_tools(client, SCHEDULER_TOOLS)
        await _call(client, "open_session", sessionId="smoke")
        wrong = [await _round(client) for _ in range(ROUNDS)]
        print(f"wrong decisions a round of {TASK_STEPS} steps: {wrong}")
        _hold(wrong[-1] < wrong[0], "the decisions do not improve")
        stats = await _call(client, "get_stats", sessionId="smoke")
        _hold(stats["steps"] == ROUNDS * TASK_STEPS, f"{stats['steps']} steps were counted")
        dump = await _call(client, "dump_prototypes", sessionId="smoke")
        _hold(len(dump["prototypes"]) > 0, "no prototype was learnt")
        await _call(client, "close_session", sessionId="smoke")
    async with _served(folder, "scheduler", "serve") as client:
        loaded = (await _call(client, "open_session", sessionId="again"))["loadedPrototypes"]
        _hold(loaded > 0, "another process finds nothing of what was learnt")
        print(f"prototypes loaded by another process: {loaded}")


async def _round(client: Any) -> int:
    """Run one task and return how many of its steps got the wrong system."""
    wrong = 0
    await _call(client, "new_task", sessionId="smoke")
    for step in range(TASK_STEPS):
        critical = step in CRITICAL
        hints = {"criticality_hint": 0.9 if critical else 0.2, "difficulty_hint": 0.5, "progress": step / TASK_STEPS}
        decision = await _call(client, "decide_step", sessionId="smoke", **hints)
        wrong += (decision["mode"] == "system2") != critical
        tried = "s1" if decision["mode"] == "system1" else "s2_probe"
        outcome = f"{tried}_{'fail' if critical else 'pass'}"
        await _call(client, "report_outcome", sessionId="smoke", decision_id=decision["decision_id"], outcome=outcome)
    await _call(client, "task_feedback", sessionId="smoke", success=True)
    return wrong


async def _hold_tools(client: Any, expected: Sequence[str]) -> None:
    names = {tool.name for tool in (await client.list_tools()).tools}
    _hold(set(expected) <= names, f"missing tools: {sorted(set(expected) - names)}")
    print(f"tools: {', '.join(sorted(names))}")


async def _call(client: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    _hold(not result.is_error, f"{tool}: {result.content}")
    document: dict[str, Any] = result.structured_content
    return document


def _hold(condition: bool, otherwise: str) -> None:
    if not condition:
        raise AssertionError(otherwise)
