"""What a namespace has learnt, shared by solves and processes: nothing is lost, and nothing is learnt twice."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from booster.codec import encode
from booster.experience import Event, lived_through
from booster.journal import MemoryJournal
from booster.journal.errors import JournalError, StateConflict
from booster.judgement import BLIND, LearnedJudgement, SharedScheduler
from booster.scheduler_store import JournalStore
from booster.session import Session
from scheduler.library import FOREIGN_CAP, Library
from scheduler.persistence import ATTEMPTS
from scheduler.registry import make_policy
from scheduler.types import Costs, Outcome, Signals
from tests.builders import a_session, opened

COSTS = Costs(cheap=1, deep=3)
UNNOTICED = Costs(cheap=1, deep=3, damage=3e12)
SEEN = Signals(criticality_hint=0.5, difficulty_hint=0.123456789, progress=0.1, context_pollution=0.0)


def a_solve(session_id: str, **config: Any) -> Session:
    """Return a session of this id."""
    return replace(a_session(config=config), id=session_id)


class Solve:
    """One solve as the loop drives the scheduler, with the events that its journal would hold."""

    def __init__(self, journal: Any, session_id: str, *, shared: SharedScheduler | None = None, **config: Any) -> None:
        self.events: list[Event] = []
        self.shared = shared or SharedScheduler(journal)
        self.session = a_solve(session_id, **config)
        self.judgement: LearnedJudgement

    async def open(self, *, shared: SharedScheduler | None = None) -> "Solve":
        """Open the session, or bring it back in another process."""
        self.shared = shared or self.shared
        self.judgement = await self.shared.judgement(self.session, self.events)
        return self

    def decide(self) -> "Solve":
        """Decide a step."""
        decision = self.judgement.decide(SEEN, COSTS)
        self.events.append(("iteration_opened", encode(opened("step", decision))))
        self.decision = decision
        return self

    def report(self, outcome: Outcome = "s1_fail") -> "Solve":
        """Report the step."""
        taught = self.judgement.report(self.decision, outcome)
        data = {"decisionId": self.decision.decision_id, "outcome": outcome, "rework": False, **taught}
        self.events.append(("reported", data))
        return self

    def end(self) -> "Solve":
        """End the task."""
        if self.judgement.end_task(success=True):
            self.events.append(("task_ended", {"success": True}))
        return self

    async def save(self, *, killed: bool = False) -> "Solve":
        """Save; where the process is killed thereafter, nothing of it is journalled."""
        events = await self.judgement.save()
        self.events += [] if killed else events
        return self

    async def whole(self, outcomes: Sequence[Outcome] = ("s1_fail",)) -> "Solve":
        """Run a whole solve of so many steps."""
        await self.open()
        for outcome in outcomes:
            self.decide().report(outcome)
        await self.end().save()
        self.judgement.close()
        return self


async def labels(journal: Any, namespace: str = "default") -> int:
    """Return how many labels the saved library has learnt from."""
    stored = await JournalStore(journal).read(namespace)
    return 0 if stored is None else int(stored.document["library"]["nLabels"])


async def test_what_one_process_learnt_the_next_one_knows() -> None:
    journal = MemoryJournal()
    await Solve(journal, "ses_1").whole(["s1_fail"] * 5)

    later = await Solve(journal, "ses_2").open()

    assert (await labels(journal), later.judgement.decide(SEEN, COSTS).audit["n_labels"]) == (5, 5)


async def test_two_processes_on_one_namespace_lose_nothing() -> None:
    journal = MemoryJournal()
    first, second = SharedScheduler(journal), SharedScheduler(journal)
    for number in range(6):
        solves = [Solve(journal, f"ses_{number}{at}", shared=shared) for at, shared in enumerate((first, second))]
        for solve in solves:
            (await solve.open()).decide().report()
        for solve in solves:
            await solve.end().save()

    assert await labels(journal) == 12


async def test_a_kill_between_decision_and_report_loses_no_label() -> None:
    journal = MemoryJournal()
    solve = (await Solve(journal, "ses_1").open()).decide().report().decide()

    await solve.open(shared=SharedScheduler(journal))
    await solve.report("s1_pass").end().save()

    assert await labels(journal) == 2
    assert [data["label"] for kind, data in solve.events if kind == "reported"] == [1.0, 0.0]


@pytest.mark.parametrize("kills", [1, 3])
async def test_a_kill_before_the_library_was_saved_loses_nothing_and_after_it_learns_nothing_twice(kills: int) -> None:
    """Whether the journal says that it was saved or not."""
    journal = MemoryJournal()
    solve = (await Solve(journal, "ses_1").open()).decide().report()
    for _ in range(kills):
        await solve.open(shared=SharedScheduler(journal))
    await solve.save(killed=True)
    for _ in range(kills):
        await solve.open(shared=SharedScheduler(journal))
    await solve.decide().report().end().save(killed=True)
    await solve.open(shared=SharedScheduler(journal))
    await solve.save()

    assert await labels(journal) == 2


async def test_whoever_takes_a_session_over_knows_what_its_dead_process_had_saved() -> None:
    """Also where it had the library in memory from before."""
    journal = MemoryJournal()
    survivor = SharedScheduler(journal)
    other = (await Solve(journal, "ses_0", shared=survivor).open()).decide().report()
    dead = (await Solve(journal, "ses_1").open()).decide().report()
    await dead.save(killed=True)

    await dead.open(shared=survivor)
    await dead.end().save()
    await other.end().save()

    assert await labels(journal) == 2


async def test_a_session_that_goes_on_after_its_end_teaches_only_what_is_new() -> None:
    journal = MemoryJournal()
    shared = SharedScheduler(journal)
    solve = await Solve(journal, "ses_1", shared=shared).whole(["s1_fail", "s1_pass"])
    await Solve(journal, "ses_2", shared=shared).whole()

    await solve.open(shared=SharedScheduler(journal))
    await solve.decide().report().end().save()

    assert await labels(journal) == 4
    assert solve.decision.decision_id == "ses_1.3"
    assert [type(one).__name__ for one in lived_through(solve.events)].count("TaskStarted") == 2


async def test_what_is_learnt_again_from_the_journal_is_what_was_learnt_live() -> None:
    """To the last bit: the events keep the signals as they were."""
    live, again = MemoryJournal(), MemoryJournal()
    solve = await Solve(live, "ses_1").whole(["s1_fail", "s1_pass", "s1_unchecked", "s2_probe_fail", "s2_done"])
    solve.events = [event for event in solve.events if event[0] != "learnt"]

    await solve.open(shared=SharedScheduler(again))
    await solve.save()

    first, second = await JournalStore(live).read("default"), await JournalStore(again).read("default")
    assert first is not None
    assert second is not None
    assert first.document["library"] == second.document["library"]


async def test_no_library_stays_in_memory_that_no_solve_uses() -> None:
    journal = MemoryJournal()
    shared = SharedScheduler(journal)
    for number in range(20):
        await Solve(journal, f"ses_{number}", shared=shared, namespace=f"n{number}").whole()
    running = await Solve(journal, "ses_x", shared=shared, namespace="busy").open()

    assert shared.namespaces == ["busy"]
    running.judgement.close()
    assert shared.namespaces == []


@pytest.mark.parametrize("processes", [1, 50])
async def test_a_library_does_not_grow_with_the_sessions_that_ended(processes: int) -> None:
    journal = MemoryJournal()
    shared = [SharedScheduler(journal) for _ in range(processes)]
    for number in range(50):
        await Solve(journal, f"ses_{number}", shared=shared[number % processes]).whole()

    stored = await JournalStore(journal).read("default")

    assert stored is not None
    assert len(stored.document["applied"]) <= FOREIGN_CAP + 1
    assert stored.document["library"]["nLabels"] == 50


async def test_a_race_that_is_lost_for_ever_costs_no_answer_and_keeps_what_was_learnt() -> None:
    class Contested(MemoryJournal):
        tries = 0
        quiet = False

        async def save_state(self, namespace: str, rev: int | None, state: dict[str, Any]) -> int:
            self.tries += 1
            if self.quiet:
                return await super().save_state(namespace, rev, state)
            raise StateConflict("somebody was faster")

    journal = Contested()
    shared = SharedScheduler(journal)
    solve = (await Solve(journal, "ses_1", shared=shared).open()).decide().report()
    await solve.end().save()
    solve.judgement.close()

    assert (journal.tries, shared.namespaces) == (ATTEMPTS, ["default"])
    journal.quiet = True
    await Solve(journal, "ses_2", shared=shared).whole()
    assert await labels(journal) == 2


@pytest.mark.parametrize("state", [{"policy": "auction", "library": {}}, {"version": 99, "policy": "regime"}, {"x": 1}])
async def test_a_state_that_cannot_be_read_is_left_alone_and_fails_no_solve(
    state: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    journal = MemoryJournal()
    await journal.save_state("default", None, state)

    with caplog.at_level(logging.WARNING):
        solve = await Solve(journal, "ses_1").whole()

    assert await journal.load_state("default") == (1, state)
    assert "booster scheduler reset" in caplog.text
    assert "learnt" not in [kind for kind, _ in solve.events]


async def test_a_journal_that_cannot_be_read_fails_no_solve() -> None:
    class Unreadable(MemoryJournal):
        async def load_state(self, namespace: str) -> tuple[int, dict[str, Any]] | None:
            raise JournalError("the disk is gone")

    solve = Solve(Unreadable(), "ses_1")
    await solve.whole()

    assert solve.decision.mode in ("system1", "system2")


@pytest.mark.parametrize(("policy", "mode"), [("always-s1", "system1"), ("always-s2", "system2")])
async def test_a_namespace_keeps_the_policy_that_it_was_founded_with(policy: str, mode: str) -> None:
    journal = MemoryJournal()
    await JournalStore(journal).write("default", Library("default", make_policy(policy)).snapshot().document, rev=0)

    solve = (await Solve(journal, "ses_1").open()).decide()

    assert (solve.decision.mode, solve.decision.audit["policy"]) == (mode, policy)


async def test_a_new_namespace_begins_with_regimes_and_thinks_little_until_it_has_seen_failures() -> None:
    solve = (await Solve(MemoryJournal(), "ses_1").open()).decide()
    assert (solve.decision.mode, solve.decision.audit["policy"]) == ("system1", "regime")

    for _ in range(12):
        solve.report("s1_fail").decide()
    assert solve.decision.mode == "system2"


@pytest.mark.parametrize(("rate", "probes"), [(0.0, 0), (0.05, 5), (0.25, 25), (1.0, 100)])
async def test_the_share_of_probed_decisions_is_exact_over_the_solves_of_a_namespace(rate: float, probes: int) -> None:
    """A solve is too short to count in; so is a process."""
    journal = MemoryJournal()
    await JournalStore(journal).write(
        "default", Library("default", make_policy("always-s2")).snapshot().document, rev=0
    )
    asked = 0
    for number in range(50):
        solve = await Solve(journal, f"ses_{number}", probeRate=rate).open()
        for _ in range(2):
            asked += solve.decide().report("s2_done").decision.audit["probe"]
        await solve.end().save()

    assert asked == probes


async def test_where_no_failure_would_be_noticed_nothing_is_left_to_intuition() -> None:
    journal = MemoryJournal()
    solve = await Solve(journal, "ses_1").open()
    for _ in range(30):
        solve.decide().report("s1_pass")

    assert solve.judgement.decide(SEEN, COSTS).mode == "system1"
    for _ in range(300):
        solve.decision = solve.judgement.decide(SEEN, UNNOTICED)
        assert (solve.decision.mode, solve.decision.reason) == ("system2", BLIND)
        assert "expected_cost_s1" not in solve.decision.audit  # beyond all figures
        solve.report("s2_done")
