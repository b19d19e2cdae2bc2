"""`booster-bench loop`: what the learned scheduler saves in the real loop, on a stream of tasks whose rule changes midway.

Two kinds of task alternate at random: short questions, and long ones with much to read. In the first half of the stream the
long ones are hard for the fast model, in the second half the short ones are. Nobody tells the scheduler; it sees the four
signals of the loop, and what the checks of the tasks said. The arms solve the same stream, one task after the other, over
real HTTP: `auto`, System 1 always (which escalates where its answer fails a check), and System 2 always, each with
`numCandidates` whole answers of the strong model wherever System 2 is at work. A last row shows `auto` without that number:
an escalation is then one call of the strong model, System 2 can save nothing, and the scheduler leaves it alone.

Everything is asked of the simulated model; the figures show the machinery, not a model's quality.
"""

import argparse
import asyncio
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from benchmarks.demo import is_right, simulated_settings
from benchmarks.statistics import bootstrap_interval, mean
from benchmarks.table import Bar, Figure, Section, machine, rendered
from booster.app import Booster
from booster.scheduler_store import JournalStore
from providers.simulated import LARGE, SMALL, SimulatedModel, SimulatedServer, SimulatedTask, demo_tasks
from scheduler.library import Library
from scheduler.registry import make_policy
from verifier.types import Check

AUTO, ALWAYS_1, ALWAYS_2 = "auto", "always System 1, escalating", "always System 2"
ONE_STRONG = "auto, one strong call an escalation"

SKILL = 0.55
"""Of the simulated medium model; the fast model has .25 less, the strong one .25 more."""

EASY, HARD = 0.0, 0.75
"""Difficulties of the tasks: the fast model masters the easy ones, only the strong one the hard ones."""

CONTEXT = (
    "The report that follows was filed with the question and may or may not bear on it. ",
    "Earlier readers have marked nothing in it. ",
    "Its figures were taken from the archive and were not revised. ",
    "The office keeps a copy for its own purposes. ",
)
"""What the long tasks are made long with."""

FEWER = Bar(relation="<", value=0)
NO_LESS = Bar(relation=">=", value=-2)
"""Percentage points of accuracy that count as equal: the lower end of the interval of the difference."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sizes:
    """How much is asked."""

    tasks: int = 120
    """Of a stream; the rule changes after half of them."""
    seeds: int = 12
    """Streams, each with a model of its own seed; every arm meets the same."""
    candidates: int = 5
    """Whole answers that System 2 draws."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Solved:
    """What one solve came to."""

    right: bool
    calls: int
    deliberated: bool
    """Its first decision was System 2."""
    hard: bool


def stream(seed: int, count: int) -> list[SimulatedTask]:
    """Return tasks of which the long ones are hard in the first half and the short ones in the second."""
    draw = Random(f"stream {seed}")
    tasks = []
    for number, task in enumerate(demo_tasks(count + 5, seed)[5:]):
        long = draw.random() < 0.5
        hard = long == (number < count / 2)
        sentences = draw.randint(20, 80) if long else 0
        context = "".join(draw.choice(CONTEXT) for _ in range(sentences))
        text = f"{context}\n{task.task}" if context else task.task
        tasks.append(replace(task, task=text, difficulty=HARD if hard else EASY))
    return tasks


async def measured(sizes: Sizes) -> dict[str, list[list[Solved]]]:
    """Return arm -> stream -> what its solves came to."""
    found: dict[str, list[list[Solved]]] = {name: [] for name in (AUTO, ALWAYS_1, ALWAYS_2, ONE_STRONG)}
    for seed in range(sizes.seeds):
        tasks = stream(seed, sizes.tasks)
        for name, streams in found.items():
            model = SimulatedModel(seed=seed, skill=SKILL, tasks=tuple(tasks))
            async with SimulatedServer(model) as server, Booster.open(simulated_settings(server.base_url)) as booster:
                options = await _options(booster, name, sizes)
                streams.append([await _solved(booster, task, options) for task in tasks])
    return found


async def _options(booster: Booster, arm: str, sizes: Sizes) -> Mapping[str, Any]:
    if arm == ONE_STRONG:
        return {"fast_model": SMALL, "strong_model": LARGE}
    common = {"fast_model": SMALL, "strong_model": LARGE, "num_candidates": sizes.candidates}
    if arm == ALWAYS_2:
        return {**common, "scheduler": "system2"}
    if arm == ALWAYS_1:
        founded = Library("always", make_policy("always-s1")).snapshot().document
        await JournalStore(booster.journal).write("always", founded, rev=0)
        return {**common, "namespace": "always"}
    return common


async def _solved(booster: Booster, task: SimulatedTask, options: Mapping[str, Any]) -> Solved:
    result = await booster.solve(task.task, checks=[Check(kind="equals", value=task.answer)], **options)
    session = await booster.session(result.session_id)
    first = session.history[0]
    return Solved(
        right=is_right(result, task), calls=result.usage["calls"],
        deliberated=first.decision is not None and first.decision.mode == "system2" and not first.escalated,
        hard=task.difficulty == HARD,
    )  # fmt: skip


def section(found: Mapping[str, Sequence[Sequence[Solved]]], sizes: Sizes) -> Section:
    """Return the table of the arms and the paired differences with their bars; a stream is one observation.

    The bound takes for each task what the arm that is right for it spent: nobody can know which that is beforehand.
    """
    calls = {name: [mean([one.calls for one in solved]) for solved in streams] for name, streams in found.items()}
    right = {
        name: [100 * mean([float(one.right) for one in solved]) for solved in streams]
        for name, streams in found.items()
    }
    deep = {
        name: [100 * mean([float(one.deliberated) for one in solved]) for solved in streams]
        for name, streams in found.items()
    }
    bound = [
        mean([(two if one.hard else one).calls for one, two in zip(first, second, strict=True)])
        for first, second in zip(found[ALWAYS_1], found[ALWAYS_2], strict=True)
    ]
    rows = [
        (name, _with_interval(right[name], 1), _with_interval(calls[name], 2), f"{mean(deep[name]):.0f}")
        for name in found
    ]
    rows.append(("knows the rule", "", _with_interval(bound, 2), ""))
    rivals = (ALWAYS_1, ALWAYS_2)
    return Section(
        title=f"{sizes.seeds} streams of {sizes.tasks} tasks, the rule changes midway, paired, 95 % intervals (simulated)",
        header=("", "right %", "calls a task", "System 2 %"),
        rows=rows,
        figures=(
            *(_difference(f"calls a task, {AUTO} less {rival}", calls[AUTO], calls[rival], "", upper=True) for rival in rivals),
            *(_difference(f"right, {AUTO} less {rival}", right[AUTO], right[rival], "points", upper=False) for rival in rivals),
        ),
    )  # fmt: skip


def _with_interval(values: Sequence[float], digits: int) -> str:
    low, high = bootstrap_interval(values)
    return f"{mean(values):.{digits}f} ({low:.{digits}f}..{high:.{digits}f})"


def _difference(name: str, mine: Sequence[float], theirs: Sequence[float], unit: str, *, upper: bool) -> Figure:
    gain = [a - b for a, b in zip(mine, theirs, strict=True)]
    low, high = bootstrap_interval(gain)
    end, value, bar = ("upper", high, FEWER) if upper else ("lower", low, NO_LESS)
    return Figure(
        name=f"{name}, {end} end", note=f"mean {mean(gain):.2f}, {low:.2f}..{high:.2f}", value=value, unit=unit, bar=bar
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the report and return the exit code: 0, or 1 where a bar is missed."""
    sizes = Sizes()
    parser = argparse.ArgumentParser(prog="booster-bench loop", description=(__doc__ or "").partition(": ")[2])
    parser.add_argument("--tasks", type=int, default=sizes.tasks, help="of a stream, from 2 (default: %(default)s)")
    parser.add_argument("--seeds", type=int, default=sizes.seeds, help="streams, from 1 (default: %(default)s)")
    parser.add_argument(
        "--candidates", type=int, default=sizes.candidates, help="that System 2 draws, 1..16 (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    if not (options.tasks >= 2 and options.seeds >= 1 and 1 <= options.candidates <= 16):
        parser.error("--tasks from 2, --seeds from 1, --candidates in 1..16")
    sizes = Sizes(tasks=options.tasks, seeds=options.seeds, candidates=options.candidates)
    report = section(asyncio.run(measured(sizes)), sizes)
    sys.stdout.write("model: simulated; the figures show the machinery, not a model's quality\n")
    sys.stdout.write(f"{machine()}\n\n{rendered(report)}\n")
    return int(report.missed)


if __name__ == "__main__":
    sys.exit(main())
