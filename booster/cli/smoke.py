"""`booster-smoke`: does an installed server start, and do its core tools work? Needs no key and asks no model."""

import asyncio
import os
import sys
import tempfile
from typing import Any

CORE_TOOLS = ("solve", "start", "step", "multi-step", "get-state", "summarize", "cancel", "sessions")
STEPS = 3


def main() -> None:
    """Run the check; exit code 0 if all of it holds."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            asyncio.run(_check(folder))
        except AssertionError as error:
            print(f"FAILED: {error}")
            sys.exit(1)
    print("smoke test passed")


async def _check(folder: str) -> None:
    from mcp import Client, StdioServerParameters

    environment = {
        "PATH": os.environ.get("PATH", ""),
        "HOME": folder,
        "BOOSTER_HOME": folder,
        "BOOSTER_PROVIDER": "heuristic",
    }
    server = StdioServerParameters(command=sys.executable, args=["-m", "booster", "serve"], env=environment, cwd=folder)
    async with Client(server) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        _hold(set(CORE_TOOLS) <= names, f"missing tools: {sorted(set(CORE_TOOLS) - names)}")
        print(f"tools: {', '.join(sorted(names))}")
        session = (await _call(client, "start", task="Measure 4 litres with a 3 litre and a 5 litre jug"))["sessionId"]
        for _ in range(STEPS):
            await _call(client, "step", sessionId=session)
        state = (await _call(client, "get-state", sessionId=session))["state"]
        _hold(len(state["steps"]) >= 1, "no step was applied")
        print(f"steps applied: {len(state['steps'])}")
        said = await client.call_tool("summarize", {"sessionId": session})
        text = said.content[0].text  # type: ignore[union-attr]  # the tool answers with text
        _hold(text.lower().startswith("summary:"), f"the summary begins with {text[:20]!r}")


async def _call(client: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    _hold(not result.is_error, f"{tool}: {result.content}")
    document: dict[str, Any] = result.structured_content
    return document


def _hold(condition: bool, otherwise: str) -> None:
    if not condition:
        raise AssertionError(otherwise)
