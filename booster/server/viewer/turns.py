"""What a page says of one iteration: who decided, who was proposed, who won and why, and what it cost. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from booster.server.viewer.calls import CallView
from booster.server.viewer.history import History, Turn
from booster.server.viewer.text import line, moment, number
from booster.session import Opened, PooledAnswer
from verifier.types import Candidate

OPEN_AT_FIRST = 3
"""A session of at most so many iterations shows all of them opened; of a longer one, the last."""

_STOPPED = {
    "clear": "the lead was reached", "cap": "no more could be drawn", "check": "an answer held every check",
    "failed": "a whole round brought nothing", "prose": "free text cannot be voted on", "unreadable": "no answer could be read", "plan": "the plan says so",
    "no-answer": "no answer could be read", "unaffordable": "the strong model cannot be paid", "audit": "an audit was due",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class CandidateRow:
    """One candidate of an iteration."""

    candidate: Candidate
    mark: str
    """`chosen`, `failed`, or nothing."""
    opinions: str
    """What judges and process rewards said of it, in words."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnView:
    """One iteration as the page shows it."""

    turn: Turn
    rows: tuple[CandidateRow, ...]
    """The chosen one first, then as they were ranked."""
    why: str
    draw: str
    """How whole answers were drawn; empty where none were."""
    calls: tuple[CallView, ...]
    seconds: float | None
    """From its decision to its choice; None while it runs."""
    is_open: bool
    """Its details are shown at first."""

    @property
    def headline(self) -> str:
        """One line for the closed disclosure: the step, the leading answer, or what else there is to say."""
        if self.turn.step is not None:
            return line(self.turn.step.text, 140)
        if self.turn.groups:
            return f"Answers: {', '.join(f'{line(one.answer, 30)} ×{one.votes}' for one in self.turn.groups[:4])}"
        return "Under way" if self.turn.closed is None else "Nothing was applied"


@dataclass(frozen=True, kw_only=True, slots=True)
class Contribution:
    """One term of the scheduler's read-out."""

    name: str
    value: float
    share: float
    """Of the largest one, in [-1, 1]."""


def turn_views(history: History, calls: Sequence[CallView]) -> tuple[TurnView, ...]:
    """Return the iterations with their calls."""
    turns = history.turns
    return tuple(
        TurnView(
            turn=turn, rows=_rows(turn), why=why(turn), draw=_draw(turn),
            calls=tuple(call for call in calls if call.iteration == turn.number), seconds=_seconds(turn),
            is_open=len(turns) <= OPEN_AT_FIRST or turn is turns[-1],
        )
        for turn in turns
    )  # fmt: skip


def why(turn: Turn) -> str:
    """Return in a sentence why the winner won, or why there is none."""
    closed = turn.closed
    if closed is None:
        return "Not decided yet."
    chosen = next((one for one in closed.candidates if one.key == closed.chosen), None)
    if chosen is None:
        return _why_none(turn, closed.candidates)
    parts = []
    if chosen.passed_checks:
        parts.append(f"it held {len(chosen.passed_checks)} of {len(chosen.checks)} checks")
    votes = next((one for one in turn.groups if one.answer == chosen.proposal.answer), None)
    if votes is not None and len(turn.answers) > 1:
        parts.append(f"{votes.votes} of {len(turn.answers)} answers say the same")
    if not parts:
        parts.append(_by_score(chosen, closed.candidates, tie=closed.tie))
    if "/beam" in chosen.key or any("/beam" in one.key for one in closed.candidates):
        parts.append("a beam looked ahead")
    return f"Chosen because {', and '.join(parts)}."


def contributions(opened: Opened) -> tuple[Contribution, ...]:
    """Return the terms of the scheduler's read-out, the weightiest first."""
    terms: Mapping[str, float] = opened.decision.audit.get("contributions", {})
    most = max((abs(value) for value in terms.values()), default=0.0) or 1.0
    found = (
        Contribution(name=name.replace("_", " "), value=value, share=value / most) for name, value in terms.items()
    )
    return tuple(sorted(found, key=lambda one: -abs(one.value)))


def figures(opened: Opened) -> tuple[tuple[str, str], ...]:
    """Return the numbers that a decision rests on, named, as far as its audit holds them."""
    audit = opened.decision.audit
    named = (
        ("p(System 1 fails)", "p_critical"), ("threshold", "threshold"), ("expected cost of System 1", "expected_cost_s1"),
        ("expected cost of System 2", "expected_cost_s2"), ("shadow price μ", "mu"), ("regime", "regime_id"),
        ("its probability", "regime_posterior"), ("confidence", "confidence"), ("hazard", "hazard"),
        ("labels so far", "n_labels"), ("policy", "policy"),
    )  # fmt: skip
    found = tuple((name, _figure(audit[key])) for name, key in named if audit.get(key) is not None)
    signals = tuple(
        (key.replace("_", " "), _figure(value)) for key, value in audit.get("signals", {}).items() if value is not None
    )
    return found + signals


def _figure(value: Any) -> str:
    return number(value) if isinstance(value, int | float) else str(value)


def _why_none(turn: Turn, candidates: Sequence[Candidate]) -> str:
    if turn.state == "answers":
        return "No step was applied: the answers went into the pool, and none of them stood yet."
    if candidates and all(one.failed_checks for one in candidates):
        return "Nothing was applied: every candidate failed a check."
    return "Nothing was applied: no usable candidate." if not candidates else "Nothing was applied."


def _by_score(chosen: Candidate, candidates: Sequence[Candidate], *, tie: bool) -> str:
    if chosen.score is None:
        return "it was the only one"
    others = [one.score.total for one in candidates if one.score is not None and one.key != chosen.key]
    total = number(chosen.score.total)
    if not others:
        return f"it was the only one (score {total})"
    ahead = chosen.score.total - max(others)
    if tie or abs(ahead) < 5e-4:
        return f"it came first among those with the same score ({total})"
    if ahead < 0:
        return f"it says something new; the highest score ({number(max(others))}) repeats what is known or gains less"
    return f"its score is the highest ({total}, {number(ahead)} ahead of the next)"


def _rows(turn: Turn) -> tuple[CandidateRow, ...]:
    closed = turn.closed
    if closed is None:
        return ()
    pooled = {one.key: one for one in turn.answers}
    ordered = sorted(closed.candidates, key=lambda one: one.key != closed.chosen)
    return tuple(
        CandidateRow(
            candidate=one, opinions=_opinions(pooled.get(one.key)),
            mark="chosen" if one.key == closed.chosen else "failed" if one.failed_checks else "",
        )
        for one in ordered
    )  # fmt: skip


def _opinions(pooled: PooledAnswer | None) -> str:
    if pooled is None:
        return ""
    said = [
        f"{kind}: {number(opinion.get('score', opinion['z']))}"
        + (f", weight {number(opinion['weight'])}" if "weight" in opinion else "")
        for kind, opinion in pooled.opinions.items()
    ]
    return "; ".join(said + (["first in both orders"] if pooled.confirmed else []))


def _draw(turn: Turn) -> str:
    draw = turn.closed.draw if turn.closed else None
    if draw is None:
        return ""
    rule = {"waves": "in waves", "at_once": "side by side", "cascade": "one by one, cheap ones first"}[draw.rule]
    text = f"{draw.samples} of at most {draw.cap} answers drawn {rule}"
    if draw.stopped:
        text += f"; stopped because {_STOPPED.get(draw.stopped, draw.stopped)}"
    if draw.move:
        text += f"; the cascade's move: {draw.move.get('action')} ({draw.move.get('why')})"
    if draw.judge:
        name = f"Judge {draw.judge['model']}" if draw.judge.get("model") else "Judge"
        text += f". {name}: {draw.judge.get('verdict', '')}, {draw.judge.get('asked', 0)} questions"
        text += f", {draw.judge['reason']}" if draw.judge.get("reason") else ""
    return f"{text}."


def _seconds(turn: Turn) -> float | None:
    begun, ended = moment(turn.at), moment(turn.closed_at)
    return None if begun is None or ended is None else max(0.0, ended - begun)
