"""A session is a fold of its events: what the journal keeps of it, and what each event makes of it. Pure.

Above: everything that records or reads a session. Below: `booster.session` holds the values.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from booster.codec import decode, encode
from booster.config import Config
from booster.session import Budget, Conclusion, Iteration, Opened, PooledAnswer, Problem, Session, Step


def spec_of(session: Session) -> dict[str, Any]:
    """Return what the journal needs to start the same session again."""
    return {
        "problem": encode(session.problem), "config": session.config.plain(), "budget": encode(session.budget),
        "iterations": session.iterations, "cutIterations": session.cut_iterations, "atOnce": session.at_once,
        "warnings": list(session.warnings),
    }  # fmt: skip


def session_from_spec(session_id: str, spec: Mapping[str, Any], created_at: str) -> Session:
    """Return the session as it was before its first event."""
    config, _ = Config.parse(spec["config"])
    return Session(
        id=session_id, problem=decode(Problem, spec["problem"]), config=config, budget=decode(Budget, spec["budget"]),
        iterations=spec["iterations"], cut_iterations=spec.get("cutIterations", False),
        at_once=spec.get("atOnce", False), created_at=created_at,
        warnings=tuple(spec.get("warnings", ())),
    )  # fmt: skip


def advance(session: Session, kind: str, data: Mapping[str, Any]) -> Session:
    """Return the session after one event. Types that only inform (`resumed`, `reported`, ...) change nothing."""
    handler = _HANDLERS.get(kind)
    return handler(session, data) if handler else session


def _opened(session: Session, data: Mapping[str, Any]) -> Session:
    return replace(session, opened=decode(Opened, data), status="running", conclusion=None)


def _closed(session: Session, data: Mapping[str, Any]) -> Session:
    return with_closed(
        session,
        decode(Iteration, data["iteration"]),
        decode(Step, data["step"]) if data.get("step") else None,
        [decode(PooledAnswer, item) for item in data["answers"]],
        data["hints"],
    )


def with_closed(
    session: Session, closed: Iteration, step: Step | None, answers: Iterable[PooledAnswer], hints: Iterable[str]
) -> Session:
    """Return the session after an iteration was closed, before anything reacts to it."""
    return replace(
        session,
        opened=None,
        iteration=closed.iteration,
        history=(*session.history, closed),
        steps=(*session.steps, step) if step else session.steps,
        answers=(*session.answers, *answers),
        banned=(),
        hints=tuple(hints),
        silent=0 if closed.heard else session.silent + 1,
        heuristic=session.heuristic or any(item.source == "heuristic" for item in closed.candidates),
    )


def _perturbed(session: Session, data: Mapping[str, Any]) -> Session:
    return replace(session, family=session.family + 1, guarded=data["guarded"], stagnant=data["stagnant"])


def _improved(session: Session, _: Mapping[str, Any]) -> Session:
    return replace(session, guarded=0)


def _backtracked(session: Session, data: Mapping[str, Any]) -> Session:
    return replace(
        session, steps=session.steps[:-1], banned=(*session.banned, *data["banned"]), backtracks=session.backtracks + 1,
        guarded=data["guarded"], family=session.family + 1, stagnant=data["stagnant"],
    )  # fmt: skip


def _answered(session: Session, data: Mapping[str, Any]) -> Session:
    return replace(session, answers=(*session.answers, decode(PooledAnswer, data)))


def _extended(session: Session, data: Mapping[str, Any]) -> Session:
    return replace(
        session, iterations=data["iterations"], cut_iterations=data.get("cut", False), status="running", conclusion=None,
        silent=0, stagnant=False, guarded=0,
    )  # fmt: skip


def _concluded(session: Session, data: Mapping[str, Any]) -> Session:
    conclusion = decode(Conclusion, data)
    return replace(session, status=conclusion.status, conclusion=conclusion)


_HANDLERS = {
    "iteration_opened": _opened,
    "escalated": _opened,
    "iteration_closed": _closed,
    "perturbed": _perturbed,
    "improved": _improved,
    "backtracked": _backtracked,
    "answered": _answered,
    "extended": _extended,
    "concluded": _concluded,
}

INFORMING = frozenset({"traced", "resumed", "reported", "task_ended", "learnt"})
"""Event types that record a fact without changing the session."""

EVENT_TYPES = frozenset(_HANDLERS) | INFORMING
"""The closed list; `docs/events.md` describes each."""

__all__ = ["EVENT_TYPES", "INFORMING", "advance", "session_from_spec", "spec_of", "with_closed"]
