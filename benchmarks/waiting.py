"""What a solve holds in memory that has begun and waits for its model. A process of its own, so that nothing is used again.

Usage: `python -m benchmarks.waiting BASE_URL COUNT`; prints bytes a solve. The model must not answer before all have begun.
"""

import asyncio
import sys
import tempfile
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

from benchmarks.arms import BEST_OF_FOUR_JUDGED
from benchmarks.demo import simulated_settings
from benchmarks.model_process import model_process
from benchmarks.timing import resident_memory
from booster.app import Booster
from booster.process import settle_memory
from providers.simulated import demo_tasks

FIRST = 60
"""Solves before those that are measured: what they load and cache is no part of a solve."""

FOREVER = "3600"
"""Seconds that the model takes for a call."""


async def memory_of_a_waiting_solve(count: int) -> float:
    """Return the resident bytes of each of so many solves that all wait for their model, measured in a process of its own."""
    async with model_process("--latency", FOREVER) as url:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "benchmarks.waiting", url, str(count), stdout=asyncio.subprocess.PIPE
        )
        out, _ = await process.communicate()
    return float(out)


async def _measured(base_url: str, count: int) -> float:
    tasks: Iterator[str] = cycle([task.task for task in demo_tasks(FIRST)])
    with tempfile.TemporaryDirectory(prefix="booster-bench-") as home:
        async with Booster.open(simulated_settings(base_url, home=Path(home))) as booster:
            settle_memory()
            await asyncio.gather(*(booster.begin(task, **BEST_OF_FOUR_JUDGED) for task in islice(tasks, FIRST)))
            await asyncio.sleep(1)  # until their calls are under way
            before = resident_memory()
            await asyncio.gather(*(booster.begin(task, **BEST_OF_FOUR_JUDGED) for task in islice(tasks, count)))
            await asyncio.sleep(1)
            return (resident_memory() - before) / count


if __name__ == "__main__":
    sys.stdout.write(f"{asyncio.run(_measured(sys.argv[1], int(sys.argv[2])))}\n")
