"""Small values for tests, with everything that a test does not care about filled in."""

from typing import Any

from booster.config import Config
from booster.session import Budget, Decision, Iteration, Opened, PooledAnswer, Problem, Session, Step
from providers.types import Proposal
from verifier.types import Candidate, CheckResult, Score

DEEP = Decision(mode="system2", reason="test")
CHEAP = Decision(mode="system1", decision_id="ses_1.1", reason="test")


def a_score(total: float = 0.3) -> Score:
    """Return a score with this total."""
    return Score(rules=0.45, redundancy=0.1, consistency=0.05, total=total)


def a_check(
    outcome: Any = "pass", *, target: Any = "answer", check_id: str = "check1", observed: str = "41"
) -> CheckResult:
    """Return what a numeric check said."""
    return CheckResult(
        check_id=check_id, kind="numeric", target=target, outcome=outcome, observed=observed, expected="42"
    )


def a_candidate(
    text: str = "Fill the jug", *, total: float = 0.3, key: str = "", answer: str | None = None, checks: Any = ()
) -> Candidate:
    """Return a scored candidate."""
    return Candidate(
        proposal=Proposal(text=text, rationale="because", answer=answer), source="simulated", key=key or f"key of {text}",
        score=a_score(total), checks=tuple(checks),
    )  # fmt: skip


def a_step(text: str = "Fill the jug", *, index: int = 0, total: float = 0.3, answer: str | None = None) -> Step:
    """Return an applied step."""
    return Step(
        id=f"it{index + 1}/s2/steps.1", index=index, text=text, rationale="because", score=a_score(total),
        source="simulated", iteration=index + 1, answer=answer, decision=DEEP,
    )  # fmt: skip


def an_answer(
    answer: str | None, key: str = "", *, origin: Any = "sample", checks: Any = (), score: float = 0.0
) -> PooledAnswer:
    """Return an answer as it lies in the pool."""
    return PooledAnswer(
        key=key or f"key of {answer}",
        answer=answer,
        origin=origin,
        source="simulated",
        checks=tuple(checks),
        score=score,
    )


def a_session(
    task: str = "Measure 4 litres", *, steps: Any = (), config: dict[str, Any] | None = None, **fields: Any
) -> Session:
    """Return a session; `steps` are texts or steps, each closed by an iteration that chose it."""
    effective, _ = Config.parse(config or {})
    applied = tuple(a_step(step, index=index) if isinstance(step, str) else step for index, step in enumerate(steps))
    history = tuple(
        Iteration(iteration=step.iteration, chosen=step.id, candidates=(), decision=DEEP) for step in applied
    )
    plain: dict[str, Any] = {
        "problem": Problem(task=task), "budget": Budget(), "iterations": min(effective.iterations, effective.max_steps),
        "steps": applied, "history": history, "iteration": len(applied), "created_at": "2026-01-01T00:00:00.000Z",
        "at_once": "num_candidates" in effective.model_fields_set,
    }  # fmt: skip
    return Session(id="ses_1", config=effective, **{**plain, **fields})


def opened(granularity: Any = "step", decision: Decision = DEEP, iteration: int = 1) -> Opened:
    """Return an iteration that is under way."""
    return Opened(iteration=iteration, granularity=granularity, decision=decision)
