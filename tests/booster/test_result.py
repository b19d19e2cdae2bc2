"""The result as its users see it."""

import json
from dataclasses import replace
from typing import Any

from booster.answer import conclude
from booster.result import (
    SolveResult,
    decision_document,
    score_document,
    session_result,
    step_document,
)
from booster.session import Decision, Iteration, Problem, Session
from tests.builders import a_candidate, a_check, a_score, a_session, a_step, an_answer
from verifier.types import Check

USAGE = {"calls": 1, "costUsd": None, "seconds": 1.0}


def result_of(session: Session, **fields: Any) -> SolveResult:
    """Return the result of a session."""
    return session_result(session, usage=USAGE, diagnostics={"provider": "local"}, **fields)


def ended(session: Session, reason: Any = "answered") -> Session:
    """Return the session with its conclusion."""
    conclusion = conclude(session, reason)
    return replace(session, conclusion=conclusion, status=conclusion.status)


def size(document: Any) -> int:
    return len(json.dumps(document, ensure_ascii=False))


def test_the_document_has_the_fields_of_the_seed_and_ours() -> None:
    session = ended(a_session(steps=[a_step(answer="4")], answers=(an_answer("4", origin="step"),)))

    document = result_of(session).to_dict()

    assert list(document) == [
        "sessionId", "status", "degraded", "simulated", "task", "answer", "answerStatus", "confidence", "confidenceBasis",
        "evidence", "checks", "summary", "steps", "config", "usage", "stopReason", "diagnostics",
    ]  # fmt: skip
    (step,) = document["steps"]
    assert {"index", "text", "rationale", "score", "source", "decision", "usage", "id", "at"} <= set(step)
    assert step["score"] == {"rulesScore": 0.45, "redundancyScore": 0.1, "consistencyScore": 0.05, "totalScore": 0.3}
    assert (document["usage"]["costUsd"], document["stopReason"], document["answer"]) == (None, "answered", "4")


def test_a_session_under_way_shows_what_stands_so_far() -> None:
    session = a_session(answers=(an_answer("4"),), heuristic=True)

    result = result_of(session, orphaned=True)

    assert (result.status, result.stop_reason, result.answer, result.degraded) == ("running", None, "4", True)
    assert result.to_dict()["orphaned"] is True
    assert "No answer (running)." in result_of(a_session()).to_text()


def test_text_begins_with_what_must_not_be_overlooked() -> None:
    degraded = result_of(ended(a_session(), "iterations")).to_text()
    answered = result_of(ended(a_session(answers=(an_answer("4"),)))).to_text()

    assert degraded.splitlines()[:2] == ["DEGRADED: no model content was obtained", "No answer (iterations)."]
    assert answered.splitlines()[0].startswith("SIMULATED: ")
    assert "Status: unverified, confidence 0.50 (uncalibrated)" in answered
    assert answered.endswith("Answer (unverified): 4")


def test_text_says_what_cut_a_solve_short_and_what_to_know_of_it() -> None:
    answers, warned = (an_answer("4"),), ("unknown option 'x' is ignored",)
    cancelled = result_of(ended(a_session(answers=answers, warnings=warned), "cancelled")).to_text()
    spent = result_of(ended(a_session(answers=answers), "budget_tokens")).to_text()
    whole = result_of(ended(a_session(answers=answers))).to_text()

    assert "Cut short: it was cancelled." in cancelled
    assert "Warning: unknown option 'x' is ignored" in cancelled
    assert "Cut short: the budget of tokens is spent" in spent
    assert "Cut short" not in whole


def test_text_without_an_answer_says_which_check_failed() -> None:
    problem = Problem(task="t", checks=(Check(kind="numeric", value=42, id="check1"),))
    session = a_session(problem=problem, answers=(an_answer("41", checks=[a_check("fail")]),))

    assert "- 41 failed the check check1: 42" in result_of(ended(session, "iterations")).to_text()


def test_text_of_a_dead_model_shows_its_last_error() -> None:
    session = ended(a_session(), "iterations")
    result = session_result(session, usage=USAGE, diagnostics={"lastError": "connect refused"})

    assert "Last error: connect refused" in result.to_text()


def test_a_cancelled_solve_claims_nothing_of_what_was_under_way() -> None:
    result = result_of(ended(a_session(), "cancelled"))

    assert (result.status, result.degraded_reasons) == ("cancelled", ())


def test_warnings_and_reasons_are_shown_where_there_are_any() -> None:
    document = result_of(ended(a_session(warnings=("unknown option 'x' is ignored",)))).to_dict()

    assert document["warnings"] == ["unknown option 'x' is ignored"]
    assert document["degradedReasons"] == ["no model content was obtained"]


def test_every_check_says_whether_it_was_run() -> None:
    checks = (Check(kind="numeric", value=42, id="check1"), Check(kind="regex", value="x", target="step", id="check2"))
    closed = Iteration(
        iteration=1, chosen=None, candidates=(a_candidate(checks=[a_check("error", check_id="check2")]),)
    )
    session = a_session(
        problem=Problem(task="t", checks=checks),
        answers=(an_answer("41", checks=[a_check("fail")]),),
        history=(closed,),
    )

    assert [check["ran"] for check in result_of(session).checks] == [True, False]


def test_a_decision_shows_its_two_numbers() -> None:
    audit = {"p_critical": 0.25, "threshold": 0.5, "mu": 1.0}

    shown = decision_document(Decision(mode="system1", decision_id="s.1", audit=audit))

    assert shown == {
        "mode": "system1", "decisionId": "s.1", "forced": False, "reason": "", "pCritical": 0.25, "threshold": 0.5
    }  # fmt: skip
    assert decision_document(None) is None
    assert step_document(replace(a_step(), decision=None))["decision"] is None


def test_scores_have_four_decimals() -> None:
    assert score_document(a_score(1 / 3)) == {
        "rulesScore": 0.45, "redundancyScore": 0.1, "consistencyScore": 0.05, "totalScore": 0.3333
    }  # fmt: skip
    assert score_document(None) is None
