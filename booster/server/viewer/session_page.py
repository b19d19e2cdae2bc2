"""The page of one session: everything that its template shows, worked out beforehand. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

from markupsafe import Markup

from booster.events import advance, session_from_spec
from booster.result import SolveResult
from booster.server.viewer.calls import MOST_CALLS, CallView, views_of
from booster.server.viewer.history import Remark, history_of
from booster.server.viewer.text import count, line, seconds, usd
from booster.server.viewer.tree import tree
from booster.server.viewer.turns import TurnView, turn_views
from booster.server.viewer.waterfall import waterfall
from booster.session import Session

_BEYOND = {
    "agreed": "That answers agree does not show that they are right.",
    "judged": "A model preferred this answer; nothing else speaks for it.",
    "unverified": "Nothing but the model's own word speaks for this answer.",
}
_STOPS = {
    "answered": "the answer stands", "iterations": "all iterations are done", "max_steps": "no step is left (maxSteps)",
    "stagnation": "nothing moved any more", "budget_calls": "the calls are spent", "budget_tokens": "the tokens are spent",
    "budget_cost": "the money is spent", "deadline": "the time is over", "cancelled": "it was cancelled",
    "energy": "the energy is spent", "error": "no call came through any more",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Meter:
    """One limit and what is used of it."""

    name: str
    used: str
    limit: str
    """`of 24`, or `no limit`."""
    share: float | None
    """Used share in [0, 1]; None where there is no limit."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionPage:
    """A session, finished or not."""

    result: SolveResult
    session: Session
    state: str
    """`running`, `orphaned`, `open` (nobody works on it), or the status it ended with."""
    updated_at: str
    seq: int
    """Number of its last event; 0 = none yet."""
    meters: tuple[Meter, ...]
    stopped: str
    """Why it ended, in words; empty while it has not."""
    unchecked: tuple[str, ...]
    """What nobody has checked."""
    turns: tuple[TurnView, ...]
    remarks: tuple[Remark, ...]
    calls: tuple[CallView, ...]
    calls_left_out: int
    roles: tuple[str, ...]
    """Of the calls, for the legend."""
    timeline: Markup | None
    """None where nothing was paid."""
    tree: Markup | None
    """None before the first iteration."""
    announcement: str
    """What a screen reader is told when it changes."""

    @property
    def can_cancel(self) -> bool:
        """There is something to stop."""
        return self.result.status in ("running", "continue") and self.state != "orphaned"

    @property
    def can_resume(self) -> bool:
        """Nobody works on it, and it can go on."""
        return self.state in ("orphaned", "open", "cancelled", "failed")


def session_page(export: Mapping[str, Any], result: SolveResult, *, active: bool, now: float) -> SessionPage:
    """Return the page of a session.

    Args:
        export: Everything that the journal holds of it.
        result: The same as its result.
        active: A living process works on it.
        now: Seconds since the epoch.
    """
    stored, events = export["session"], export["events"]
    session = reduce(
        lambda found, event: advance(found, event["type"], event["data"]),
        events, session_from_spec(stored["sessionId"], stored["spec"], stored["createdAt"]),
    )  # fmt: skip
    history, calls = history_of(events), views_of(export["calls"], active=active)
    state = _state(result, active=active)
    return SessionPage(
        result=result, session=session, state=state, updated_at=stored["updatedAt"],
        seq=events[-1]["seq"] if events else 0, meters=_meters(session, result, now if active else None, calls),
        stopped=_STOPS.get(result.stop_reason or "", ""), unchecked=_unchecked(result),
        turns=turn_views(history, calls), remarks=history.remarks, calls=calls,
        calls_left_out=max(0, len(export["calls"]) - MOST_CALLS), roles=tuple(dict.fromkeys(call.role for call in calls)),
        timeline=waterfall(calls, now) if calls else None, tree=tree(history.turns) if history.turns else None,
        announcement=_announcement(session, result, state),
    )  # fmt: skip


def _state(result: SolveResult, *, active: bool) -> str:
    if result.status not in ("running", "continue"):
        return result.status
    return "orphaned" if result.orphaned else "running" if active else "open"


def _meters(session: Session, result: SolveResult, now: float | None, calls: tuple[CallView, ...]) -> tuple[Meter, ...]:
    usage, budget = result.usage, session.budget
    tokens = usage["promptTokens"] + usage["completionTokens"]
    cost = usage["costUsd"]
    about = "≈ " if usage.get("estimated") else ""
    return (
        _meter("Calls", usage["calls"], budget.calls, count(usage["calls"]), count),
        _meter("Tokens", tokens, budget.tokens, about + count(tokens), count),
        _meter("Time", _worked(result, now, calls), budget.seconds, seconds(_worked(result, now, calls)), seconds),
        _meter("Cost", cost or 0.0, budget.cost_usd, usd(cost), usd),
    )


def _worked(result: SolveResult, now: float | None, calls: tuple[CallView, ...]) -> float:
    """Return the seconds of work; while a call is under way, up to now and not to the last write."""
    stored = float(result.usage["seconds"])
    under_way = [call.start for call in calls if call.state == "running"]
    return stored if now is None or not under_way else stored + max(0.0, now - max(under_way))


def _meter(name: str, used: float, limit: float | None, text: str, form: Any) -> Meter:
    share = None if not limit else min(1.0, used / limit)
    return Meter(name=name, used=text, limit="no limit" if limit is None else f"of {form(limit)}", share=share)


def _unchecked(result: SolveResult) -> tuple[str, ...]:
    """Return what must not be taken for checked."""
    if result.answer is None:
        return ()
    idle = [check for check in result.checks if not check["ran"]]
    said = [f"Check {check['checkId']} ({check['kind']}, on the {check['target']}) never ran." for check in idle]
    if not result.checks:
        said.append("No check was given.")
    if beyond := _BEYOND.get(result.answer_status):
        said.append(beyond)
    if result.simulated:
        said.append("The model is a simulation: its answers mean nothing outside a demonstration or a test.")
    return tuple(said)


def _announcement(session: Session, result: SolveResult, state: str) -> str:
    if state == "running":
        begun = session.opened.iteration if session.opened else session.iteration
        return f"Running, iteration {begun}." if begun else "Running."
    answer = f" Answer, {result.answer_status}: {line(result.answer, 200)}" if result.answer is not None else ""
    return f"Session {state}.{answer}"
