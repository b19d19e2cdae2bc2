"""`booster-bench load`: best-of-4 with a judge's call behind each candidate, under load, against the bare calls in the same run.

The model is simulated, takes 50 ms a call and runs in a process of its own, so 100 ms is the least that a solve can take. Peers'
figures were measured earlier with the same shape of work on a machine of the same size; they are printed for orientation.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.arms import (
    BARE,
    BEST_OF_FOUR_JUDGED,
    CANDIDATES,
    FLOOR,
    IN_MEMORY,
    ON_DISK,
    against_the_floor,
    opened_arms,
)
from benchmarks.demo import simulated_settings
from benchmarks.endpoint import DIRECT, PASSED_ON, endpoint_arms
from benchmarks.model_process import model_process
from benchmarks.table import Bar, Figure, Section, machine, rendered
from benchmarks.timing import Arm, Samples, in_turn, resident_memory, under_load
from benchmarks.waiting import memory_of_a_waiting_solve
from booster.app import Booster
from booster.process import settle_memory
from providers.simulated import demo_tasks

LATENCY = 0.05
"""Seconds that the model takes for a call."""

CALLS = 2 * CANDIDATES
"""Of a solve: four answers, four scores."""

CLIENTS = 32

PEERS: Sequence[Sequence[str]] = (
    ("floor there: no framework", "105", "219", "187"),
    ("its_hub 1.2.0, library", "106.5-112", "60-72", "471-739"),
    ("its_hub 1.2.0, no limit on concurrency", "106.5-112", "175-185", "248"),
    ("optillm 0.4.0, bon, judges one by one", "311-330", "20-33", "1345-2660"),
)
"""Name, p50 in ms of one at a time, solves a second and p95 in ms with 32 clients; measured in November 2026, 2 cores."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sizes:
    """How much is measured."""

    rounds: int = 60
    """Of one solve at a time."""
    blocks: int = 5
    """Of solves under load."""
    each: int = 6
    """Solves that a client makes in a block."""
    concurrent: int = 2000
    """Solves in one process at the same time."""


QUICK = Sizes(rounds=5, blocks=1, each=2, concurrent=50)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit code: 0, or 1 with `--strict` where a bar is missed."""
    parser = argparse.ArgumentParser(prog="booster-bench load", description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument("--quick", action="store_true", help="few rounds: shows that it works, measures nothing well")
    parser.add_argument("--strict", action="store_true", help="exit 1 where a bar is missed")
    options = parser.parse_args(arguments)
    missed = asyncio.run(_report(QUICK if options.quick else Sizes()))
    return 1 if missed and options.strict else 0


async def _report(sizes: Sizes) -> int:
    """Print every section as it is done; return how many miss a bar."""
    out = sys.stdout.write
    out(f"machine: {machine()}\nmodel: simulated, {1000 * LATENCY:.0f} ms a call, over HTTP, in its own process\n")
    parts: Sequence[Callable[[Sizes], Awaitable[Section]]] = (one_at_a_time, with_clients, many_at_once, over_http)
    missed = 0
    for part in parts:
        section = await part(sizes)
        out(f"\n{rendered(section)}\n")
        sys.stdout.flush()
        missed += section.missed
    return missed


async def one_at_a_time(sizes: Sizes) -> Section:
    """Measure one solve at a time."""
    async with model_process("--latency", str(LATENCY)) as url, _arms(url) as (arms, tasks):
        samples = await in_turn(arms, tasks, sizes.rounds)
    floor = samples[FLOOR].wall_ms()
    return Section(
        title=f"best-of-{CANDIDATES} and {CANDIDATES} judge calls, one solve at a time",
        header=("", "p50 ms", "p95 ms", "x floor", "CPU ms/call"),
        rows=[_alone(name, samples, floor) for name in (ON_DISK, IN_MEMORY, FLOOR, BARE)],
        figures=against_the_floor(samples),
    )  # fmt: skip


async def with_clients(sizes: Sizes) -> Section:
    """Measure many clients side by side, with the figures of peers below."""
    async with model_process("--latency", str(LATENCY)) as url, _arms(url) as (arms, tasks):
        samples = await under_load(arms, tasks, sizes.blocks, clients=CLIENTS, each=sizes.each)
    floor = samples[FLOOR]
    rows = [
        (
            name, f"{samples[name].rate():.0f}", f"{100 * samples[name].ratio_of_rates(floor):.0f} %",
            f"{samples[name].cpu_ms() / CALLS:.2f}",
        )
        for name in (ON_DISK, IN_MEMORY, FLOOR, BARE)
    ]  # fmt: skip
    rows += [(f"{name} (elsewhere)", rate, "", "") for name, _, rate, _ in PEERS]
    return Section(
        title=f"best-of-{CANDIDATES} and {CANDIDATES} judge calls, {CLIENTS} clients",
        header=("", "solves/s", "of floor", "CPU ms/call"),
        rows=rows,
        figures=(
            Figure(
                name="share of the floor's rate, journal on SQLite", unit="%", bar=Bar(relation=">=", value=70),
                value=100 * samples[ON_DISK].ratio_of_rates(floor),
            ),
            Figure(
                name="CPU a model call, everything included", unit="ms", bar=Bar(relation="<=", value=1.5),
                value=samples[ON_DISK].cpu_ms() / CALLS,
            ),
        ),
    )  # fmt: skip


async def many_at_once(sizes: Sizes) -> Section:
    """Measure very many solves in one process at the same time: what each costs, and that none is lost."""
    tasks = [task.task for task in demo_tasks(60)]
    async with model_process("--latency", str(LATENCY)) as url, _opened(url) as booster:
        settle_memory()
        await booster.solve(tasks[0], **BEST_OF_FOUR_JUDGED)
        resident, cpu, wall = resident_memory(), time.process_time(), time.perf_counter()
        jobs = [booster.solve(tasks[n % len(tasks)], **BEST_OF_FOUR_JUDGED) for n in range(sizes.concurrent)]
        results = await asyncio.gather(*jobs)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    each_waits = await memory_of_a_waiting_solve(sizes.concurrent)
    calls = sum(result.usage["calls"] for result in results)
    lost = sum(result.answer is None or bool(result.diagnostics["failures"]) for result in results)
    return Section(
        title=f"{sizes.concurrent} solves in one process at the same time, journal on SQLite",
        figures=(
            Figure(name="solves without an answer or with a failed call", value=lost, unit="", bar=Bar(relation="<=", value=0)),
            Figure(name="calls a solve", value=calls / len(results), unit=""),
            Figure(name="solves a second", value=len(results) / wall, unit=""),
            Figure(name="CPU a solve", value=1000 * cpu / len(results), unit="ms"),
            Figure(name="CPU a model call", value=1000 * cpu / calls, unit="ms"),
            Figure(name="resident memory before", value=resident / 1e6, unit="MB"),
            Figure(name="memory a solve that waits for its model", value=each_waits / 1000, unit="kB"),
        ),
    )  # fmt: skip


async def over_http(sizes: Sizes) -> Section:
    """Measure the OpenAI-compatible endpoint in a process of its own, as its clients see it."""
    rows, figures = [], []
    async with model_process("--latency", str(LATENCY)) as url, endpoint_arms(url) as arms:
        tasks = [task.task for task in demo_tasks(16)]
        alone = await in_turn(arms, tasks, sizes.rounds)
        loaded = await under_load(arms, tasks, sizes.blocks, clients=CLIENTS, each=sizes.each)
    for arm in arms:
        mine, direct = alone[arm.name], alone[DIRECT]
        p50, p95, rate = mine.wall_ms(), mine.wall_ms(0.95), loaded[arm.name].rate()
        rows.append((arm.name, f"{p50:.1f}", f"{p95:.1f}", f"{p50 - direct.wall_ms():.1f}", f"{rate:.0f}"))
    extra = alone[PASSED_ON].wall_ms() - alone[DIRECT].wall_ms()
    figures.append(Figure(name="a request that is passed on, beyond the model's own time", value=extra, unit="ms"))
    header = ("", "p50 ms", "p95 ms", "beyond direct", f"a second, {CLIENTS} clients")
    return Section(title="/v1/chat/completions in a process of its own", header=header, rows=rows, figures=figures)


@asynccontextmanager
async def _arms(base_url: str) -> AsyncIterator[tuple[list[Arm], Sequence[str]]]:
    with tempfile.TemporaryDirectory(prefix="booster-bench-") as home:
        async with opened_arms(base_url, Path(home), BEST_OF_FOUR_JUDGED) as arms:
            yield arms, [task.task for task in demo_tasks(16)]


@asynccontextmanager
async def _opened(base_url: str) -> AsyncIterator[Booster]:
    with tempfile.TemporaryDirectory(prefix="booster-bench-") as home:
        async with Booster.open(simulated_settings(base_url, home=Path(home))) as booster:
            yield booster


def _alone(name: str, samples: Mapping[str, Samples], floor: float) -> Sequence[str]:
    mine = samples[name]
    p50, p95 = mine.wall_ms(), mine.wall_ms(0.95)
    return (name, f"{p50:.1f}", f"{p95:.1f}", f"{p50 / floor:.2f}", f"{mine.cpu_ms() / CALLS:.2f}")


if __name__ == "__main__":
    sys.exit(main())
