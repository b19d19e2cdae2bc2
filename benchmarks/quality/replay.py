"""Driving the shipped loop over recorded replies: `Booster.open` over a table of samples, `Booster.solve` for every question.

The loop sees the task, the replies that it pays for and the outcomes of checks that it runs on them. Whether an answer is right
is looked up here, after the solve.
"""

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from random import Random

from benchmarks.quality.arms import Arm, arms_of, prices
from benchmarks.quality.outcomes import Outcome
from benchmarks.quality.recorded import SETS, Question, RecordedSet
from booster.app import Booster
from booster.parts import RunTests
from booster.settings import MEMORY_JOURNAL, Settings
from providers.replay import SampledReplay

Found = Mapping[str, list[list[Outcome]]]
"""Arm -> one list a seed, in the order of the questions."""


def replayed(name: str, data: Path, seeds: int, most: int | None, *, processes: int = 2) -> tuple[RecordedSet, Found]:
    """Return a set and what every arm came to in every seed.

    Args:
        name: Of `SETS`.
        data: Directory of the recorded sets.
        seeds: Orders of samples and questions; every arm meets the same.
        most: Questions, drawn once; None = all.
        processes: Side by side, a seed each.

    Raises:
        MissingDataError: the record is not there.
    """
    recorded = _read(name, data, most)
    if processes < 2:
        runs = [one_seed(name, data, most, seed) for seed in range(seeds)]
    else:
        with ProcessPoolExecutor(processes) as pool:
            runs = list(pool.map(one_seed, *zip(*((name, data, most, seed) for seed in range(seeds)), strict=True)))
    return recorded, {arm.name: [run[arm.name] for run in runs] for arm in arms_of(recorded)}


def one_seed(name: str, data: Path, most: int | None, seed: int) -> dict[str, list[Outcome]]:
    """Return what every arm came to in one seed."""
    recorded = _read(name, data, most)
    return {arm.name: asyncio.run(asked(recorded, arm, seed)) for arm in arms_of(recorded)}


async def asked(recorded: RecordedSet, arm: Arm, seed: int) -> list[Outcome]:
    """Ask every question of a set in one way, one after the other: what a solve teaches is known to the next.

    Args:
        recorded: The set.
        arm: How to ask.
        seed: Order of samples and questions.
    """
    order = list(range(len(recorded.questions)))
    Random(f"order {seed}").shuffle(order)
    samples = SampledReplay(_table(recorded.questions, seed), default_model=recorded.cheap[0])
    outcomes: dict[int, Outcome] = {}
    run_tests = _runner(recorded.questions)
    async with Booster.open(_settings(recorded), providers=[samples], run_tests=run_tests) as booster:
        for number, place in enumerate(order, 1):
            question = recorded.questions[place]
            # A counter decides which questions come with a check, so their share is exact.
            checks = question.checks() if int(number * arm.checked) > int((number - 1) * arm.checked) else ()
            before = samples.given(question.id, recorded.strong)
            result = await booster.solve(question.task, request={"user": question.id}, checks=checks, **arm.options)
            usage, verdict = result.usage, question.right(result.answer)
            outcomes[place] = Outcome(
                task=place, right=bool(verdict), unscored=verdict is None, confidence=result.confidence,
                calls=usage["calls"], tokens=usage["promptTokens"] + usage["completionTokens"],
                checked=bool(checks), calibrated=result.confidence_basis == "votes",
                strong=samples.given(question.id, recorded.strong) - before,
                settled=result.answer_status in ("verified", "agreed"),
            )  # fmt: skip
    return [outcomes[place] for place in range(len(order))]


def _runner(questions: Iterable[Question]) -> RunTests:
    """Return what says of programs and tests what running them said when it was recorded."""
    passed = {program: tests for question in questions for program, tests in question.passed.items()}

    async def run(programs: Sequence[str], tests: Sequence[str]) -> list[frozenset[int]]:
        return [
            frozenset(at for at, test in enumerate(tests) if test in passed.get(program, ())) for program in programs
        ]

    return run


@lru_cache(maxsize=2)
def _read(name: str, data: Path, most: int | None) -> RecordedSet:
    return SETS[name](data).sampled(most)


def _table(questions: Iterable[Question], seed: int) -> Mapping[tuple[str, ...], Sequence[str]]:
    return {key: replies for question in questions for key, replies in question.shuffled(seed).items()}


def _settings(recorded: RecordedSet) -> Settings:
    """Return the defaults of the product, with the prices of a set's models, and a journal in memory."""
    plain = Settings.load(environ={"HOME": os.environ.get("HOME", "/")}, cwd=Path("/"))
    return replace(
        plain, journal_url=MEMORY_JOURNAL, endpoints={}, allow_code=True, prices=prices(recorded), warnings=[]
    )
