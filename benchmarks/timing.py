"""Side by side timing: every arm takes its turn in every round, so that what drifts in the machine drifts for all.

Wall time is `time.perf_counter`; processor time is `time.process_time`, all threads of this process.
"""

import asyncio
import os
import resource
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.statistics import median, percentile


@dataclass(frozen=True, kw_only=True, slots=True)
class Arm:
    """One way of doing the work."""

    name: str
    run: Callable[[str], Awaitable[None]]
    """Does one unit of it, for the given task."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """What a number of units took together."""

    wall: float
    """Seconds."""
    cpu: float
    """Seconds of processor time, all threads."""
    units: int = 1

    @property
    def rate(self) -> float:
        """Units a second."""
        return self.units / self.wall


@dataclass(frozen=True, slots=True)
class Samples:
    """What one arm took, one sample a round."""

    of: tuple[Sample, ...]

    def wall_ms(self, share: float = 0.5) -> float:
        """Return a percentile of the wall time of a unit in milliseconds."""
        return 1000 * percentile([sample.wall / sample.units for sample in self.of], share)

    def cpu_ms(self) -> float:
        """Return the median of the processor time of a unit in milliseconds."""
        return 1000 * median([sample.cpu / sample.units for sample in self.of])

    def rate(self) -> float:
        """Return the median number of units a second."""
        return median([sample.rate for sample in self.of])

    def ratio_of_rates(self, other: "Samples") -> float:
        """Return the median ratio of the rates, round by round."""
        return median([mine.rate / theirs.rate for mine, theirs in zip(self.of, other.of, strict=True)])

    def extra_ms(self, other: "Samples") -> float:
        """Return the median of what a unit took longer than the other arm's in the same round, in milliseconds."""
        pairs = zip(self.of, other.of, strict=True)
        return 1000 * median([mine.wall / mine.units - theirs.wall / theirs.units for mine, theirs in pairs])


def peak_memory() -> float:
    """Return the most resident bytes that this process has had; `ru_maxrss` is in bytes on macOS and in KiB elsewhere."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def resident_memory() -> float:
    """Return the resident bytes of this process; where the system has no /proc, those at its peak."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return peak_memory()
    return pages * os.sysconf("SC_PAGE_SIZE")


async def in_turn(arms: Sequence[Arm], tasks: Sequence[str], rounds: int, *, warm_up: int = 3) -> dict[str, Samples]:
    """Run one unit of each arm in every round, each round beginning with another arm, and return the samples by name.

    Args:
        arms: With different names.
        tasks: Round i gives all arms the task i modulo their number.
        rounds: Rounds that count.
        warm_up: Rounds before them that do not.
    """
    return await _rounds(arms, tasks, rounds, warm_up, lambda arm, task: arm.run(task), units=1)


async def under_load(
    arms: Sequence[Arm], tasks: Sequence[str], rounds: int, *, clients: int, each: int, warm_up: int = 1
) -> dict[str, Samples]:
    """Let clients work side by side, each on so many units one after the other; one sample a round and arm."""

    async def block(arm: Arm, task: str) -> None:
        async def client() -> None:
            for _ in range(each):
                await arm.run(task)

        await asyncio.gather(*(client() for _ in range(clients)))

    return await _rounds(arms, tasks, rounds, warm_up, block, units=clients * each)


async def _rounds(
    arms: Sequence[Arm],
    tasks: Sequence[str],
    rounds: int,
    warm_up: int,
    work: Callable[[Arm, str], Awaitable[None]],
    *,
    units: int,
) -> dict[str, Samples]:
    found: dict[str, list[Sample]] = {arm.name: [] for arm in arms}
    for number in range(warm_up + rounds):
        first = number % len(arms)
        for arm in (*arms[first:], *arms[:first]):
            sample = await _timed(work(arm, tasks[number % len(tasks)]), units)
            if number >= warm_up:
                found[arm.name].append(sample)
    return {name: Samples(tuple(samples)) for name, samples in found.items()}


async def _timed(work: Awaitable[None], units: int) -> Sample:
    wall, cpu = time.perf_counter(), time.process_time()
    await work
    return Sample(wall=time.perf_counter() - wall, cpu=time.process_time() - cpu, units=units)
