"""The state of a solve as values, and the fold that makes it."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from booster.codec import encode
from booster.errors import UsageError
from booster.events import EVENT_TYPES, advance, session_from_spec, spec_of
from booster.session import Budget, Opened, Problem, new_session_id
from tests.builders import CHEAP, DEEP, a_candidate, a_check, a_session, an_answer, opened
from verifier.types import Check

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"calls": 0}, "budget.calls: 0 is not a number >= 1"),
        ({"calls": 2.5}, "budget.calls: 2.5 is not a whole number"),
        ({"tokens": -1}, "budget.tokens"),
        ({"tokens": True}, "budget.tokens"),
        ({"seconds": -0.1}, "budget.seconds"),
        ({"seconds": float("nan")}, "budget.seconds"),
        ({"cost_usd": float("inf")}, "budget.costUsd"),
        ({"cost_usd": "1"}, "budget.costUsd"),
    ],
)
def test_a_limit_that_limits_nothing_is_refused_by_name(limits: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        Budget(**limits)


def test_a_limit_may_be_left_out() -> None:
    assert Budget(calls=None, seconds=None).tokens is None


def test_session_ids_cannot_be_guessed() -> None:
    ids = {new_session_id() for _ in range(100_000)}

    assert len(ids) == 100_000
    assert all(re.fullmatch(r"ses_[0-9a-f]{32}", session_id) for session_id in ids)


@settings(deadline=None)
@given(
    task=st.text(min_size=1), content=st.text(), temperature=st.floats(0, 2), calls=st.none() | st.integers(1, 99),
    candidates=st.integers(1, 16), iterations=st.integers(1, 16),
)  # fmt: skip
def test_a_session_is_the_same_after_its_way_through_the_journal(
    task: str, content: str, temperature: float, calls: int | None, candidates: int, iterations: int
) -> None:
    problem = Problem(
        task=task, messages=({"role": "user", "content": content, "tool_call_id": None},),
        request={"temperature": temperature}, checks=(Check(kind="regex", value="a", id="check1"),),
    )  # fmt: skip
    session = a_session(
        problem=problem, config={"numCandidates": candidates, "iterations": iterations}, budget=Budget(calls=calls),
        cut_iterations=True, warnings=("w",),
    )  # fmt: skip

    assert session_from_spec(session.id, spec_of(session), session.created_at) == session


def test_an_event_that_only_informs_changes_nothing() -> None:
    session = a_session(steps=["a"])

    assert advance(session, "resumed", {"epoch": 2}) is session
    assert advance(session, "from a later version", {}) is session


def test_an_escalated_iteration_remembers_how_it_began() -> None:
    begun = opened("answer", CHEAP)

    escalated = begun.after_failure()

    assert (escalated.decision.mode, escalated.escalated) == ("system2", True)
    assert "the cheap attempt failed" in escalated.decision.reason
    assert escalated.after_failure() is escalated
    assert escalated.at_first().decision.mode == "system1"
    assert escalated.at_first().decision.decision_id == CHEAP.decision_id
    assert begun.at_first() is begun


def closed(chosen: bool = True, *, source: Any = "simulated", **fields: Any) -> dict[str, Any]:
    """Return the data of an `iteration_closed`."""
    from dataclasses import replace

    from booster.session import Iteration
    from tests.builders import a_step

    candidate = replace(a_candidate(checks=[a_check("fail")]), source=source)
    iteration = Iteration(iteration=1, chosen=candidate.key if chosen else None, candidates=(candidate,), decision=DEEP)
    step = encode(a_step()) if chosen else None
    return {"iteration": encode(iteration), "step": step, "answers": [], "hints": ["hint"], **fields}


def test_a_closed_iteration_moves_the_session_on() -> None:
    before = a_session(opened=opened(), banned=("x",), hints=("old",))

    after = advance(before, "iteration_closed", closed(answers=[encode(an_answer("4", checks=[a_check()]))]))

    assert (after.iteration, after.opened, after.banned, after.hints) == (1, None, (), ("hint",))
    assert [step.text for step in after.steps] == ["Fill the jug"]
    assert after.answers == (an_answer("4", checks=[a_check()]),)
    assert not after.heuristic


def test_an_iteration_may_close_without_a_step_and_with_templates() -> None:
    after = advance(a_session(), "iteration_closed", closed(False, source="heuristic"))

    assert (after.steps, after.heuristic, after.history[0].chosen) == ((), True, None)


def test_a_backtrack_takes_the_step_and_bans_its_text() -> None:
    data = {"reason": "repetition", "banned": ["b"], "guarded": 1, "stagnant": False}

    after = advance(a_session(steps=["a", "b"]), "backtracked", data)

    assert ([step.text for step in after.steps], after.banned, after.backtracks) == (["a"], ("b",), 1)
    assert (after.guarded, after.family) == (1, 1)


def test_metacontrol_and_the_ending_are_kept() -> None:
    stuck = advance(a_session(), "perturbed", {"reason": "repetition", "guarded": 3, "stagnant": True})
    better = advance(stuck, "improved", {})
    answered = advance(better, "answered", encode(an_answer("4", origin="final")))
    ended = advance(answered, "concluded", {"status": "done", "stopReason": "stagnation", "answer": "4"})
    going_on = advance(ended, "extended", {"iterations": 12, "cut": True})
    begun = advance(going_on, "iteration_opened", encode(opened()))

    assert (stuck.family, stuck.guarded, stuck.stagnant, better.guarded) == (1, 3, True, 0)
    assert (answered.answers[0].origin, ended.status) == ("final", "done")
    assert ended.conclusion is not None
    assert ended.conclusion.stop_reason == "stagnation"
    assert (going_on.iterations, going_on.cut_iterations, going_on.stagnant) == (12, True, False)
    assert (going_on.status, going_on.conclusion) == ("running", None)
    assert begun.opened == Opened(iteration=1, granularity="step", decision=DEEP)


def test_the_page_of_events_lists_every_type_and_no_other() -> None:
    page = (ROOT / "docs" / "events.md").read_text(encoding="utf-8")

    assert set(re.findall(r"^\| `(\w+)` \|", page, flags=re.MULTILINE)) == EVENT_TYPES
