"""A decision through an MCP session in this process, and the memory of many sessions."""

import asyncio
import tempfile
import time
import tracemalloc
from dataclasses import dataclass

from mcp import Client

from scheduler import Signals
from scheduler.persistence import PersistentService
from scheduler.server import build
from scheduler.store import FileStore

CALLS, SESSIONS, STEPS = 600, 1000, 10
P99_LIMIT_MS, MEMORY_LIMIT_MB = 10.0, 100.0


@dataclass(frozen=True, slots=True)
class Load:
    """What was measured."""

    p50_ms: float
    p99_ms: float
    memory_mb: float
    """Python memory of 1,000 sessions, each of a namespace of its own, after ten labelled steps each."""


def measure() -> Load:
    """Run both loads on a store in a temporary directory."""
    with tempfile.TemporaryDirectory() as directory:
        times = asyncio.run(_decisions(FileStore(directory)))
        memory = asyncio.run(_sessions(FileStore(directory)))
    times.sort()
    return Load(times[len(times) // 2], times[len(times) * 99 // 100], memory)


async def _decisions(store: FileStore) -> list[float]:
    times = []
    async with Client(build(PersistentService(store, store))) as client:
        await client.call_tool("open_session", {"sessionId": "load"})
        for i in range(CALLS):
            start = time.perf_counter()
            await client.call_tool("decide_step", {"sessionId": "load", "criticality_hint": i % 10 / 10})
            times.append(1000 * (time.perf_counter() - start))
            outcome = "s1_fail" if i % 3 == 0 else "s1_pass"
            await client.call_tool("report_outcome", {"sessionId": "load", "outcome": outcome})
    return times


async def _sessions(store: FileStore) -> float:
    tools = PersistentService(store, store)
    tracemalloc.start()
    try:
        for k in range(SESSIONS):
            await tools.open_session(f"s{k}", f"n{k}")
            for i in range(STEPS):
                tools.service.decide_step(f"s{k}", Signals(criticality_hint=i / STEPS))
                tools.service.report_outcome(f"s{k}", outcome="s1_fail" if i > STEPS / 2 else "s1_pass")
        return tracemalloc.get_traced_memory()[0] / 1e6
    finally:
        tracemalloc.stop()
