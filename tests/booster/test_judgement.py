"""What a namespace has learnt, shared by solves and processes."""

from typing import Any

import pytest

import scheduler
from booster.journal import MemoryJournal
from booster.journal.errors import StateConflict
from booster.judgement import ATTEMPTS, POLICY, LearnedJudgement, Library
from booster.session import Decision
from scheduler.types import Signals

SEEN = Signals(criticality_hint=0.5, difficulty_hint=0.5, progress=0.1, context_pollution=0.0)


def taught(library: Library, session_id: str) -> LearnedJudgement:
    """Let one solve teach the library that System 1 failed."""
    judgement = LearnedJudgement(library, session_id)
    judgement.report(judgement.decide(SEEN), "s1_fail")
    return judgement


def labels(library: Library) -> int:
    """Return how many labels a library has learnt from."""
    found: int = library._policy.n_labels
    return found


async def test_what_one_process_learnt_the_next_one_knows() -> None:
    store = MemoryJournal()
    await taught(Library(store, "ns"), "ses_1").feedback(success=True)

    later = Library(store, "ns")
    await later.load()

    assert labels(later) == 1


async def test_the_loser_of_a_race_learns_on_top_of_the_winner() -> None:
    store = MemoryJournal()
    first, second = Library(store, "ns"), Library(store, "ns")
    judgements = taught(first, "ses_1"), taught(second, "ses_2")
    for judgement in judgements:
        await judgement.feedback(success=None)

    third = Library(store, "ns")
    await third.load()

    assert (labels(first), labels(second), labels(third)) == (1, 2, 2)


async def test_nothing_learnt_is_nothing_to_write() -> None:
    store = MemoryJournal()

    await Library(store, "ns").save()

    assert await store.load_state("ns") is None


async def test_a_race_that_is_lost_for_ever_is_given_up_and_costs_no_answer() -> None:
    class Contested:
        tries = 0

        async def load_state(self, namespace: str) -> None:
            return None

        async def save_state(self, namespace: str, rev: int | None, state: dict[str, Any]) -> int:
            self.tries += 1
            raise StateConflict("somebody was faster")

    store = Contested()
    library = Library(store, "ns")
    judgement = taught(library, "ses_1")
    with pytest.raises(StateConflict, match=f"{ATTEMPTS} times"):
        await library.save()

    await judgement.feedback(success=True)

    assert store.tries == 2 * ATTEMPTS


async def test_the_state_of_another_policy_is_not_misread() -> None:
    store = MemoryJournal()
    await store.save_state("ns", None, {"policy": f"not {POLICY}", "library": {}})

    with pytest.raises(scheduler.StateError, match="holds the policy"):
        await Library(store, "ns").load()


def test_a_decision_of_a_process_that_is_gone_teaches_nothing() -> None:
    library = Library(MemoryJournal(), "ns")
    LearnedJudgement(library, "ses_1").report(Decision(mode="system1", decision_id="ses_1.7"), "s1_fail")

    assert labels(library) == 0


def test_decision_ids_go_on_where_the_session_was_left() -> None:
    judgement = LearnedJudgement(Library(MemoryJournal(), "ns"), "ses_1", decided=4)

    assert judgement.decide(SEEN).decision_id == "ses_1.5"
