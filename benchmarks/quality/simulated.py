"""The simulated model's part: are the steps well formed and well chosen, are the answers right, is the confidence honest?

Everything is asked over real HTTP; the figures show the machinery, not a model's quality. Above: the two commands.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.demo import is_right, simulated_settings
from benchmarks.quality.outcomes import Outcome, by_task
from benchmarks.statistics import bootstrap_interval, brier_score, calibration_error, mean
from benchmarks.table import Bar, Figure, Section
from booster.app import Booster, StepResult
from booster.result import SolveResult
from booster.search import total
from booster.session import Session
from providers.simulated import SimulatedModel, SimulatedServer, SimulatedTask, demo_tasks
from verifier.heuristic import near_repeat

STEPS = 8
"""Steps of every session that is looked at step by step."""

LONGEST = 400
"""Characters of a step."""

PLAIN, VOTE, BOOSTER = "one plain call", "vote", "booster"

SORTED = Bar(relation=">=", value=100)
DUPLICATES = Bar(relation="<=", value=50)
GAIN = Bar(relation=">=", value=1)
"""Percentage points by which the booster beats the plain call at the least: the lower end of the 95 % interval."""
OVERCONFIDENCE = Bar(relation="<=", value=5)
"""Percentage points by which the booster's mean confidence may exceed its accuracy."""
COIN = Bar(relation="<=", value=0.25)
"""Brier score of the booster's confidence: no worse than saying 0.5 of every answer. The calibration error has no bar, for
confidence is capped by what was checked and so lies below the accuracy where nothing can be."""

MakeModel = Callable[[int], SimulatedModel]
"""Seed -> the model that is asked."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sizes:
    """How much is asked."""

    tasks: int = 40
    """Tasks of the accuracy set, and a quarter of them step by step."""
    seeds: int = 5
    """Of the model; every arm meets the same."""
    candidates: int = 8
    """Whole answers of the vote."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StepFacts:
    """What was found of one iteration."""

    candidates: int
    in_order: bool
    """Best first."""
    chosen_best: bool
    """The chosen one has the highest score of those that were allowed."""
    longest: int
    """Characters."""
    duplicates: int
    """Candidates that repeat an earlier one of the same iteration."""


async def measured_simulated(sizes: Sizes, make_model: MakeModel) -> list[Section]:
    """Return both sections of the report."""
    bank = demo_tasks(sizes.tasks)
    facts: list[StepFacts] = []
    outcomes: dict[str, list[Outcome]] = {name: [] for name in (PLAIN, VOTE, BOOSTER)}
    for seed in range(sizes.seeds):
        async with (
            SimulatedServer(make_model(seed)) as server,
            Booster.open(simulated_settings(server.base_url)) as booster,
        ):
            if seed == 0:
                facts = await _step_facts(booster, bank[:: max(1, len(bank) // 10)])
            for name, options in _arms(sizes).items():
                outcomes[name] += await _outcomes(booster, bank, options)
    return [steps_section(facts), answers_section(outcomes, sizes)]


def steps_section(facts: Sequence[StepFacts]) -> Section:
    """Return what was found of the steps, with its thresholds."""
    proposed = sum(fact.candidates for fact in facts)

    def share(hits: int) -> float:
        return 100 * hits / len(facts)

    return Section(
        title=f"steps: {len(facts)} iterations, {proposed} candidates",
        figures=(
            Figure(name="iterations whose candidates are sorted", unit="%", bar=SORTED, value=share(sum(f.in_order for f in facts))),
            Figure(name="iterations that chose the best allowed", unit="%", bar=SORTED, value=share(sum(f.chosen_best for f in facts))),
            Figure(name="longest step, characters", unit="", bar=Bar(relation="<=", value=LONGEST), value=max(f.longest for f in facts)),
            Figure(name="duplicates among candidates", unit="%", bar=DUPLICATES, value=100 * sum(f.duplicates for f in facts) / max(1, proposed)),
        ),
    )  # fmt: skip


def answers_section(outcomes: Mapping[str, Sequence[Outcome]], sizes: Sizes) -> Section:
    """Return accuracy, cost and calibration of every arm, and the gain over the plain call with its thresholds.

    Intervals are over tasks, each with the mean of its seeds: seeds of one task are no independent tasks.
    """
    accuracy = {name: by_task(found) for name, found in outcomes.items()}
    rows = []
    for name, found in outcomes.items():
        low, high = bootstrap_interval(accuracy[name])
        confidences, right = [one.confidence for one in found], [one.right for one in found]
        rows.append((
            f"{name}@{sizes.candidates}" if name == VOTE else name,
            f"{100 * mean(accuracy[name]):.1f}", f"{100 * low:.1f}..{100 * high:.1f}",
            f"{mean([one.calls for one in found]):.2f}", f"{mean([one.tokens for one in found]):.0f}",
            f"{calibration_error(confidences, right):.3f}", f"{brier_score(confidences, right):.3f}",
        ))  # fmt: skip
    boosted = outcomes[BOOSTER]
    confidences, right = [one.confidence for one in boosted], [one.right for one in boosted]
    return Section(
        title=f"answers: {sizes.tasks} tasks with known answers, {sizes.seeds} seeds, paired (simulated)",
        header=("", "right %", "95 %", "calls", "tokens", "ECE", "Brier"),
        rows=rows,
        figures=(
            _gain(f"booster over {PLAIN}", accuracy[BOOSTER], accuracy[PLAIN], GAIN),
            _gain(f"booster over {VOTE}@{sizes.candidates}", accuracy[BOOSTER], accuracy[VOTE]),
            Figure(name="booster's mean confidence over its accuracy", unit="points", bar=OVERCONFIDENCE,
                   value=100 * (mean(confidences) - mean(right))),
            Figure(name="Brier score of booster's confidence", unit="", bar=COIN, value=brier_score(confidences, right)),
        ),
    )  # fmt: skip


def _gain(name: str, mine: Sequence[float], theirs: Sequence[float], bar: Bar | None = None) -> Figure:
    """Return the lower end of the paired difference; its mean and upper end stand beside it."""
    gain = [100 * (a - b) for a, b in zip(mine, theirs, strict=True)]
    low, high = bootstrap_interval(gain)
    note = f"mean {mean(gain):.1f}, upper end {high:.1f}"
    return Figure(name=f"{name}, lower end", note=note, value=low, unit="points", bar=bar)


def step_facts(before: Session, result: StepResult) -> StepFacts:
    """Judge one iteration by the state before it.

    Allowed is a candidate that fails no check and repeats no applied step and nothing that a backtrack ruled out; where
    every one repeats something, all that hold their checks are.
    """
    scores = [total(one) for one in result.candidates]
    sound = [one for one in result.candidates if not one.failed_checks]
    known = [*before.step_texts, *before.banned]
    allowed = [one for one in sound if not near_repeat(one.proposal.text, known)] or sound
    best = max((total(one) for one in allowed), default=None)
    chosen = result.chosen
    texts = [" ".join(one.proposal.text.casefold().split()) for one in result.candidates]
    return StepFacts(
        candidates=len(scores),
        in_order=scores == sorted(scores, reverse=True),
        chosen_best=chosen is None if best is None else chosen is not None and total(chosen) == best,
        longest=max((len(one.proposal.text) for one in result.candidates), default=0),
        duplicates=len(texts) - len(set(texts)),
    )


async def _step_facts(booster: Booster, bank: Sequence[SimulatedTask]) -> list[StepFacts]:
    facts = []
    for task in bank:
        session = await booster.start(task.task, scheduler="seed")
        for _ in range(STEPS):
            result = await booster.step(session.id)
            facts.append(step_facts(session, result))
            session = result.session
    return facts


def _arms(sizes: Sizes) -> dict[str, dict[str, Any]]:
    once = {"iterations": 1, "granularity": "answer"}
    return {
        PLAIN: {**once, "scheduler": "system1"},
        VOTE: {**once, "scheduler": "system2", "select": "vote", "num_candidates": sizes.candidates},
        BOOSTER: {},
    }


async def _outcomes(booster: Booster, bank: Sequence[SimulatedTask], options: dict[str, Any]) -> list[Outcome]:
    results = await asyncio.gather(*(booster.solve(task.task, **options) for task in bank))
    return [_outcome(number, result, task) for number, (result, task) in enumerate(zip(results, bank, strict=True))]


def _outcome(number: int, result: SolveResult, task: SimulatedTask) -> Outcome:
    usage = result.usage
    return Outcome(
        task=number,
        right=is_right(result, task),
        confidence=result.confidence,
        calls=usage["calls"],
        tokens=usage["promptTokens"] + usage["completionTokens"],
    )
