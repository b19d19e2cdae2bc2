"""The published long-horizon comparison over the real MCP transport: three arms, exact integers or an error."""

import sys
import tempfile
from dataclasses import dataclass
from typing import Any

from mcp import Client, StdioServerParameters

from benchmarks.scheduler.published import POLLUTION_CHEAP, POLLUTION_DEEP, Row, published_stream

EXPECTED = {
    "always-s2": (2400, 0, 270),
    "static": (1813, 117, 94),
    "auction": (1462, 58, 21),
}
"""Policy -> cost, mishandled, over-thinking."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One arm as it came out."""

    policy: str
    measured: tuple[int, int, int]

    @property
    def exact(self) -> bool:
        """Whether all three integers are the published ones."""
        return self.measured == EXPECTED[self.policy]


async def compare() -> list[Comparison]:
    """Start the server as a process of its own and run every arm over it."""
    with tempfile.TemporaryDirectory() as directory:
        parameters = StdioServerParameters(
            command=sys.executable, args=["-m", "scheduler.server", "--store", directory]
        )
        async with Client(parameters) as client:
            return [Comparison(policy, await _run(client, policy)) for policy in EXPECTED]


async def _run(client: Client, policy: str) -> tuple[int, int, int]:
    opts = {"decision": "threshold"} if policy == "auction" else {}
    await _call(client, "open_session", sessionId=policy, namespace=policy, policy=policy, opts=opts)
    row = Row()
    for task in published_stream():
        await _call(client, "new_task", sessionId=policy)
        pollution, missed = 0.0, False
        for step in task:
            decision = await _call(
                client,
                "decide_step",
                sessionId=policy,
                criticality_hint=step.hint,
                difficulty_hint=step.hint,
                progress=step.progress,
                context_pollution=pollution,
            )
            failed = row.add(deep=decision["mode"] == "system2", critical=step.critical)
            missed |= failed
            used = decision["mode"] == "system2" or failed
            pollution = min(1.0, pollution + (POLLUTION_DEEP if used else POLLUTION_CHEAP))
            await _call(
                client,
                "report_outcome",
                sessionId=policy,
                decision_id=decision["decision_id"],
                observed_criticality=step.criticality,
                used_system2=used,
                was_deep=used,
            )
        await _call(client, "task_feedback", sessionId=policy, success=not missed)
    await _call(client, "close_session", sessionId=policy)
    return row.cost, row.mishandled, row.over_thinking


async def _call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    if result.is_error or result.structured_content is None:
        raise RuntimeError(f"{tool} failed: {result.content}")
    return dict(result.structured_content)
