"""`kill -9` of a solve: what was paid for is kept, what was in flight is repeated and said, the rest is as if nothing was."""

import asyncio
import json
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from booster.journal import open_journal
from booster.scheduler_store import JournalStore
from providers.simulated import demo_tasks
from scheduler.library import Library
from scheduler.registry import make_policy
from scheduler.session import Session
from scheduler.types import Signals
from tests.acceptance.journal_file import Kept, kept_session
from tests.acceptance.tapped_model import TappedModel
from tests.processes import Model, command, configured, simulated_model

TASK = demo_tasks(1)[0]

KILLS = 20

LATENCY = 0.03
"""Seconds of the model; kills strike up to twice as late after a request, so in flight and between requests."""

AT_ONCE = 3
"""Kills that are tried side by side."""

Knobs = dict[str, str]

STEPS: Knobs = {"BOOSTER_GRANULARITY": "step", "BOOSTER_BEAM_WIDTH": "2", "BOOSTER_ITERATIONS": "6"}
"""Several iterations of which some look ahead with two calls side by side."""

WHOLE_ANSWERS: Knobs = {"BOOSTER_GRANULARITY": "answer", "BOOSTER_ITERATIONS": "1"}


@dataclass(frozen=True, kw_only=True)
class Point:
    """When to kill."""

    request: int
    """Number of the request that triggers it, from 1."""
    delay: float
    """Seconds after its arrival."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """A solve to its end, through a kill or not."""

    point: Point | None
    result: dict[str, Any]
    conversations: tuple[str, ...]
    """What the server got, in order."""
    before: Kept
    """The journal when the first process had ended."""
    after: Kept
    """The journal at the end."""

    def beyond(self, whole: "Run") -> Counter[str]:
        """Return the conversations that the server got more often than in a run that nobody killed."""
        return Counter(self.conversations) - Counter(whole.conversations)


class Assassin:
    """Kills a process some time after a request has arrived."""

    def __init__(self, point: Point) -> None:
        self._point = point
        self.victim: Process | None = None

    def __call__(self, request: int) -> None:
        if request == self._point.request:
            asyncio.get_running_loop().call_later(self._point.delay, self._strike)

    def _strike(self) -> None:
        assert self.victim is not None
        if self.victim.returncode is None:
            self.victim.kill()


async def run(
    home: Path,
    model: Model,
    knobs: Knobs,
    point: Point | None,
    arguments: Sequence[str] = (),
    expected: int = 0,
    **tap: Any,
) -> Run:
    """Solve the task; kill the solve at the point and resume it, which ends with the expected exit code."""
    home.mkdir(exist_ok=True)  # noqa: ASYNC240 - nothing else runs in this loop that could be kept waiting
    assassin = Assassin(point) if point else None
    async with TappedModel(model.base_url, strike=assassin, **tap) as tapped:
        env = configured(home, tapped.base_url, **knobs)
        started = await asyncio.create_subprocess_exec(
            *command("solve", TASK.task, "--json", "-q", *arguments), env=env, cwd=home, stdout=PIPE, stderr=DEVNULL
        )
        if assassin is not None:
            assassin.victim = started
        out, _ = await started.communicate()
        await tapped.idle()
        before = kept_session(home)
        if point is not None:
            assert started.returncode == -9, f"{point} came too late"
            out = await resumed(home, env, before.session_id, expected)
        return Run(
            point=point, result=json.loads(out), conversations=tuple(tapped.conversations), before=before,
            after=kept_session(home),
        )  # fmt: skip


async def resumed(home: Path, env: Knobs, session_id: str, expected: int = 0) -> bytes:
    """Run `booster sessions resume` to its end and return its stdout."""
    process = await asyncio.create_subprocess_exec(
        *command("sessions", "resume", session_id, "--json"), env=env, cwd=home, stdout=PIPE, stderr=PIPE
    )
    out, err = await process.communicate()
    assert process.returncode == expected, err.decode()
    return out


async def killed_at(points: Sequence[Point], solve: Callable[[int, Point], Any]) -> list[Run]:
    """Run one killed solve a point, a few at a time."""
    places = asyncio.Semaphore(AT_ONCE)

    async def one(number: int, point: Point) -> Run:
        async with places:
            found: Run = await solve(number, point)
            return found

    return await asyncio.gather(*(one(number, point) for number, point in enumerate(points)))


def assert_nothing_paid_is_lost_or_repeated(killed: Run) -> None:
    """Calls that were done stay as they were; those in flight, and no others, were sent again, and the result says so."""
    where = str(killed.point)
    in_flight = killed.before.keys("intent")
    result = killed.result
    for key in killed.before.keys("done"):
        assert killed.after.calls[key] == killed.before.calls[key], where
        assert (key[0], key[1] + 1) not in killed.after.calls, f"{where}: {key} was paid twice"

    assert killed.after.keys("lost") == in_flight, where
    assert killed.after.keys("intent") == set(), where
    diagnostics = result["diagnostics"]
    assert diagnostics["lost"] == len(in_flight), where
    assert {item["stepKey"] for item in diagnostics["failures"] if item["kind"] == "lost"} == {
        key for key, _ in in_flight
    }, where
    assert {item["stepKey"] for item in diagnostics["repaid"]} == {key for key, _ in in_flight}, where
    assert {item["reason"] for item in diagnostics["repaid"]} <= {"lost"}, where
    # An intent is durable before its request leaves: it may be on record although the server never saw it.
    assert len(killed.conversations) <= result["usage"]["calls"] <= len(killed.conversations) + len(in_flight), where


def points_over(requests: int, seed: int) -> list[Point]:
    """Return the points of the kills, spread over a run of so many requests."""
    rng = Random(seed)
    numbers = [1 + number * requests // KILLS for number in range(KILLS)]
    # Near the end a kill must come soon, or there is nothing left to kill.
    latest = [LATENCY if number > requests - 3 else 2 * LATENCY for number in numbers]
    return [Point(request=number, delay=rng.uniform(0, late)) for number, late in zip(numbers, latest, strict=True)]


def pooled(run: Run) -> set[str]:
    """Return the step keys of the whole answers that the result rests on."""
    closed = [data for kind, data in run.after.events if kind == "iteration_closed"]
    return {answer["key"] for data in closed for answer in data["answers"]}


def outcomes(run: Run) -> list[str]:
    """Return what the scheduler was told."""
    return [data["outcome"] for kind, data in run.after.events if kind == "reported"]


async def teach_to_think_little(home: Path) -> None:
    """Leave a library behind that has seen cheap answers hold, so that the next solve begins with one."""
    library = Library("default", make_policy("regime"))
    session = Session(library.policy)
    for _ in range(40):
        decision = session.decide(Signals(criticality_hint=0.6, difficulty_hint=0.6, progress=0.0))
        session.report(decision.decision_id, "s1_pass")
    (home / "state").mkdir(parents=True)
    async with open_journal(f"sqlite:///{home / 'state' / 'booster.db'}") as journal:
        await JournalStore(journal).write("default", library.snapshot().document, rev=0)


async def learnt(home: Path) -> tuple[int, int]:
    """Return how many labels the saved library has learnt from, and its revision."""
    async with open_journal(f"sqlite:///{home / 'state' / 'booster.db'}") as journal:
        stored = await JournalStore(journal).read("default")
    return (0, 0) if stored is None else (int(stored.document["library"]["nLabels"]), stored.rev)


async def test_twenty_kills_of_a_solve_lose_nothing_and_repeat_only_what_was_in_flight(tmp_path: Path) -> None:
    with simulated_model("--latency", str(LATENCY), "--seed", "3") as model:
        whole = await run(tmp_path / "whole", model, STEPS, None)
        points = points_over(len(whole.conversations), seed=20)
        runs = await killed_at(points, lambda number, point: run(tmp_path / str(number), model, STEPS, point))

        assert model.count() == sum(len(one.conversations) for one in (whole, *runs))
    assert len(whole.result["steps"]) >= 5
    for killed in runs:
        assert_nothing_paid_is_lost_or_repeated(killed)
        where, in_flight = str(killed.point), len(killed.before.keys("intent"))
        assert killed.beyond(whole).total() <= in_flight, where
        assert whole.beyond(killed).total() == 0, where
        assert killed.result["usage"]["calls"] == whole.result["usage"]["calls"] + in_flight, where
        texts = [step["text"] for step in killed.result["steps"]]
        assert texts[: len(killed.before.steps)] == killed.before.steps, where
        assert texts == [step["text"] for step in whole.result["steps"]], where
        for name in ("status", "stopReason", "answer", "answerStatus"):
            assert killed.result[name] == whole.result[name], where
    assert len({len(killed.before.keys("done")) for killed in runs}) > 5, "the kills did not spread over the run"


async def test_a_kill_amid_a_fan_out_keeps_the_answers_that_had_come(tmp_path: Path) -> None:
    knobs = {**WHOLE_ANSWERS, "BOOSTER_SCHEDULER": "system2", "BOOSTER_NUM_CANDIDATES": "5"}
    points = [Point(request=5, delay=delay) for delay in (0.05, 0.15, 0.2, 0.25, 0.35)]

    with simulated_model("--latency", "0.02", "--jitter", "0.4", "--accuracy", "0.7") as model:
        runs = await killed_at(
            points, lambda number, point: run(tmp_path / str(number), model, knobs, point, parameters={})
        )

    for killed in runs:
        assert_nothing_paid_is_lost_or_repeated(killed)
        assert killed.result["usage"]["calls"] == 5 + len(killed.before.keys("intent"))
        assert pooled(killed) == {f"it1/s2/answer{number}" for number in range(1, 6)}
    assert any(killed.before.keys("done") and killed.before.keys("intent") for killed in runs), "no kill hit amid it"


async def test_a_kill_amid_a_wave_keeps_every_answer_that_had_come(tmp_path: Path) -> None:
    """Which wave follows depends on what has landed: what was paid for is used before anything else is asked."""
    knobs = {**WHOLE_ANSWERS, "BOOSTER_SCHEDULER": "system2", "BOOSTER_SAMPLES": "9"}
    points = [Point(request=2, delay=0.05), Point(request=4, delay=0.05), Point(request=6, delay=0.05)]

    # Wrong answers scatter, so that no vote is clear soon: a kill amid a later wave does not come too late.
    scattered = ("--accuracy", "0.1", "--distractors", "8")
    with simulated_model("--latency", "0.02", "--jitter", "0.15", *scattered) as model:
        runs = await killed_at(
            points, lambda number, point: run(tmp_path / str(number), model, knobs, point, parameters={})
        )

    for killed in runs:
        assert_nothing_paid_is_lost_or_repeated(killed)
        assert {key for key, _ in killed.before.keys("done")} <= pooled(killed)
        assert len(pooled(killed)) <= 9


async def test_a_kill_in_an_escalated_iteration_keeps_the_cheap_attempt_too(tmp_path: Path) -> None:
    """The cheap answer was paid for and failed its check: it stays in the pool, and is still what the scheduler learns."""
    knobs = {**WHOLE_ANSWERS, "BOOSTER_NUM_CANDIDATES": "5"}
    arguments = ["--check", f"equals:{TASK.answer}"]

    async def solve(number: int, point: Point | None) -> Run:
        home = tmp_path / str(number)
        await teach_to_think_little(home)
        return await run(home, model, knobs, point, arguments, expected=4, parameters={})

    with simulated_model("--latency", "0.02", "--jitter", "0.1", "--accuracy", "0") as model:
        whole = await solve(0, None)
        points = [Point(request=1, delay=0.01), Point(request=2, delay=0.0), Point(request=6, delay=0.06)]
        runs = await killed_at(points, lambda number, point: solve(1 + number, point))

    assert [kind for kind, _ in whole.after.events][:2] == ["iteration_opened", "escalated"]
    for killed in runs:
        assert_nothing_paid_is_lost_or_repeated(killed)
        assert pooled(killed) == pooled(whole)
        assert outcomes(killed) == outcomes(whole) == ["s1_fail"]
    assert any(kind == "escalated" for kind, _ in runs[-1].before.events)
    for number in range(4):
        assert (await learnt(tmp_path / str(number)))[0] == 41, "40 of them were there before"


async def test_kills_all_over_a_solve_lose_no_label_and_learn_none_twice(tmp_path: Path) -> None:
    """Between decision and report, between report and save, after the save: the library has exactly one label a report."""
    knobs = {
        "BOOSTER_GRANULARITY": "answer", "BOOSTER_ITERATIONS": "3", "BOOSTER_PROBE_RATE": "1", "BOOSTER_CANDIDATES": "2",
    }  # fmt: skip
    arguments = ["--check", f"equals:{TASK.answer}"]

    async def solve(number: int, point: Point | None) -> Run:
        return await run(tmp_path / str(number), model, knobs, point, arguments, expected=4, parameters={})

    with simulated_model("--latency", "0.03", "--accuracy", "0") as model:
        whole = await solve(0, None)
        last = len(whole.conversations)
        points = [Point(request=number, delay=0.032 * (number % 2)) for number in range(1, last)]
        runs = await killed_at(points, lambda number, point: solve(1 + number, point))

    assert len(outcomes(whole)) == 3
    assert {"s1_fail", "s2_probe_fail"} >= set(outcomes(whole))
    assert (await learnt(tmp_path / "0"))[0] == 3
    for number, killed in enumerate(runs, 1):
        assert outcomes(killed) == outcomes(whole), str(killed.point)
        assert (await learnt(tmp_path / str(number)))[0] == 3, str(killed.point)
