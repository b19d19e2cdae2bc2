"""`booster-bench overhead`: what the product costs beside the model, measured against bare calls in the same run.

The model is simulated and runs in a process of its own. Every table names its arms; every figure stands beside its bar.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.arms import BARE, BEST_OF_FOUR, CANDIDATES, FLOOR, IN_MEMORY, ON_DISK, against_the_floor, opened_arms
from benchmarks.demo import simulated_settings
from benchmarks.journal_cost import journal_section
from benchmarks.model_process import model_process
from benchmarks.serving import serving_section
from benchmarks.statistics import median
from benchmarks.table import Bar, Figure, Section, machine, rendered
from benchmarks.timing import Arm, Samples, in_turn, peak_memory, under_load
from booster.app import Booster
from providers.simulated import demo_tasks

LATENCY = 0.05
"""Seconds that the model takes where it takes any."""

CLIENTS = 32
CONCURRENT = 100
STEPS = 8
"""Iterations of the solve that goes step by step."""

_STEP_BY_STEP = {"num_candidates": CANDIDATES, "scheduler": "seed", "granularity": "step", "iterations": STEPS}
_NAMES = (ON_DISK, IN_MEMORY, FLOOR, BARE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Sizes:
    """How much is measured."""

    rounds: int
    """Of one solve at a time."""
    blocks: int
    """Of solves under load."""
    each: int
    """Solves that a client makes in a block."""
    starts: int
    """Of the server."""
    rows: int
    """Journalled by each writer."""


FULL = Sizes(rounds=120, blocks=5, each=6, starts=7, rows=60)
QUICK = Sizes(rounds=10, blocks=1, each=2, starts=2, rows=10)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit code: 0, or 1 with `--strict` where a bar is missed."""
    parser = argparse.ArgumentParser(prog="booster-bench overhead", description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument("--quick", action="store_true", help="few rounds: shows that it works, measures nothing well")
    parser.add_argument("--strict", action="store_true", help="exit 1 where a bar is missed")
    options = parser.parse_args(arguments)
    missed = asyncio.run(_report(QUICK if options.quick else FULL))
    return 1 if missed and options.strict else 0


async def _report(sizes: Sizes) -> int:
    """Print every section as it is done; return how many miss a bar."""
    out = sys.stdout.write
    out(f"machine: {machine()}\nmodel: simulated, over HTTP, in its own process\n")
    parts: Sequence[Callable[[Sizes], Awaitable[Section]]] = (
        at_once, step_by_step, with_latency, with_clients, concurrent, _journal, _serving
    )  # fmt: skip
    missed = 0
    for part in parts:
        section = await part(sizes)
        out(f"\n{rendered(section)}\n")
        sys.stdout.flush()
        missed += section.missed
    return missed


async def at_once(sizes: Sizes) -> Section:
    """Measure one solve at a time with a model that answers at once."""
    async with _arms(latency=0.0) as (arms, tasks):
        samples = await in_turn(arms, tasks, sizes.rounds)
    floor, on_disk, in_memory = samples[FLOOR], samples[ON_DISK], samples[IN_MEMORY]
    return Section(
        title=f"product time, best-of-{CANDIDATES}, a model that answers at once",
        header=("", "p50 ms", "p95 ms", "x floor", "CPU ms/call"),
        rows=[_row(name, samples) for name in _NAMES],
        figures=(
            _ms("product time an iteration, journal on SQLite", on_disk.extra_ms(floor), Bar(relation="<", value=20)),
            _ms("product time an iteration, journal in memory", in_memory.extra_ms(floor)),
            _ms("product time a model call, journal on SQLite", on_disk.extra_ms(floor) / CANDIDATES),
            _ms("journal a call", on_disk.extra_ms(in_memory) / CANDIDATES, Bar(relation="<", value=1)),
            _ms("CPU a model call, everything included", on_disk.cpu_ms() / CANDIDATES, Bar(relation="<=", value=1.5)),
        ),
    )


async def step_by_step(sizes: Sizes) -> Section:
    """Measure long solves, one call an iteration, with a model that answers at once."""
    counts: list[int] = []
    async with (
        model_process() as base_url,
        _home() as home,
        Booster.open(simulated_settings(base_url, home=home)) as booster,
    ):

        async def long(task: str) -> None:
            result = await booster.solve(task, **_STEP_BY_STEP)
            counts.append((await booster.session(result.session_id)).iteration)

        samples = await in_turn([Arm(name="long", run=long)], _tasks(), max(4, sizes.rounds // 4), warm_up=0)
    walls = [sample.wall / count for sample, count in zip(samples["long"].of, counts, strict=True)]
    return Section(
        title=f"product time, step by step, up to {STEPS} iterations, a model that answers at once",
        figures=(
            _ms(
                "an iteration, its model call included, journal on SQLite",
                1000 * median(walls),
                Bar(relation="<", value=20),
            ),
        ),
    )


async def with_latency(sizes: Sizes) -> Section:
    """Measure one solve at a time with a model that takes its time."""
    async with _arms(latency=LATENCY) as (arms, tasks):
        samples = await in_turn(arms, tasks, sizes.rounds)
    return Section(
        title=f"best-of-{CANDIDATES}, a model that takes {1000 * LATENCY:.0f} ms",
        header=("", "p50 ms", "p95 ms", "x floor", "CPU ms/call"),
        rows=[_row(name, samples) for name in _NAMES],
        figures=against_the_floor(samples),
    )  # fmt: skip


async def with_clients(sizes: Sizes) -> Section:
    """Measure how many solves a second go through, for one client and for many, as a share of the floor's rate."""
    rows, figures = [], []
    async with _arms(latency=LATENCY) as (arms, tasks):
        for clients in (1, CLIENTS):
            each = sizes.each * (1 if clients > 1 else 4)
            samples = await under_load(arms, tasks, sizes.blocks, clients=clients, each=each)
            for name in _NAMES:
                share = samples[name].ratio_of_rates(samples[FLOOR])
                cpu = samples[name].cpu_ms() / CANDIDATES
                rows.append(
                    (f"{clients:>3} {name}", f"{samples[name].rate():.0f}", f"{100 * share:.0f} %", f"{cpu:.2f}")
                )
            share = samples[ON_DISK].ratio_of_rates(samples[FLOOR])
            bar = Bar(relation=">=", value=70) if clients == CLIENTS else None
            name = f"share of the floor's rate, {clients} client{'s' * (clients > 1)}, journal on SQLite"
            figures.append(Figure(name=name, value=100 * share, unit="%", bar=bar))
    title = f"solves a second, best-of-{CANDIDATES}, a model that takes {1000 * LATENCY:.0f} ms"
    header = ("clients", "solves/s", "of floor", "CPU ms/call")
    return Section(title=title, header=header, rows=rows, figures=figures)


async def concurrent(sizes: Sizes) -> Section:
    """Measure many solves in one process at the same time."""
    async with _arms(latency=LATENCY) as (arms, tasks):
        samples = await under_load(arms, tasks, sizes.blocks, clients=CONCURRENT, each=1)
    rows = [
        (name, f"{samples[name].wall_ms() * CONCURRENT:.0f}", f"{samples[name].cpu_ms() / CANDIDATES:.2f}")
        for name in _NAMES
    ]
    return Section(
        title=f"{CONCURRENT} concurrent solves, best-of-{CANDIDATES}, a model that takes {1000 * LATENCY:.0f} ms",
        header=("", "wall ms", "CPU ms/call"),
        rows=rows,
        figures=(
            _ms(
                "CPU a model call, journal on SQLite",
                samples[ON_DISK].cpu_ms() / CANDIDATES,
                Bar(relation="<=", value=1.5),
            ),
            Figure(name="peak memory of this process, all arms", value=peak_memory() / 1e6, unit="MB"),
        ),
    )


async def _journal(sizes: Sizes) -> Section:
    async with _home() as home:
        return await journal_section(home, rows=sizes.rows)


async def _serving(sizes: Sizes) -> Section:
    async with _home() as home:
        return await serving_section(home, starts=sizes.starts)


@asynccontextmanager
async def _arms(*, latency: float) -> AsyncIterator[tuple[list[Arm], Sequence[str]]]:
    async with (
        model_process("--latency", str(latency)) as base_url,
        _home() as home,
        opened_arms(base_url, home, BEST_OF_FOUR) as arms,
    ):
        yield arms, _tasks()


@asynccontextmanager
async def _home() -> AsyncIterator[Path]:
    with tempfile.TemporaryDirectory(prefix="booster-bench-") as directory:
        yield Path(directory)


def _tasks() -> Sequence[str]:
    return [task.task for task in demo_tasks(16)]


def _row(name: str, samples: Mapping[str, Samples]) -> Sequence[str]:
    mine, floor = samples[name], samples[FLOOR]
    p50, p95 = mine.wall_ms(), mine.wall_ms(0.95)
    return (name, f"{p50:.1f}", f"{p95:.1f}", f"{p50 / floor.wall_ms():.2f}", f"{mine.cpu_ms() / CANDIDATES:.2f}")


def _ms(name: str, value: float, bar: Bar | None = None) -> Figure:
    return Figure(name=name, value=value, unit="ms", bar=bar)


if __name__ == "__main__":
    sys.exit(main())
