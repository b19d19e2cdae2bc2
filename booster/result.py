"""The result of a solve as its users see it: a value for Python, one JSON document, one text. Pure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from booster.answer import summary
from booster.codec import camel, encode
from booster.session import AnswerStatus, Decision, Evidence, Session, Status, Step, StopReason
from booster.standing import standing
from providers.types import Reply

CUT_SHORT: Mapping[str, str] = {
    "cancelled": "it was cancelled",
    "deadline": "its time was over",
    "budget_calls": "the budget of calls is spent",
    "budget_tokens": "the budget of tokens is spent, calls that were in flight included",
    "budget_cost": "the budget of money is spent, calls that were in flight included",
    "error": "it broke off",
}
"""Reasons to stop that a reader of an answer should know of."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SolveResult:
    """What a solve came to, whether it is finished or still running."""

    session_id: str
    status: Status
    task: str
    answer: str | None
    """None where nothing may be claimed."""
    answer_status: AnswerStatus
    confidence: float
    """Probability in [0, 1]; see `confidence_basis`."""
    confidence_basis: str
    """`checks`, `votes`, `judge`, `process`, `heuristic` or `uncalibrated`."""
    evidence: tuple[Evidence, ...]
    summary: str
    steps: tuple[Step, ...]
    config: Mapping[str, Any]
    """The effective configuration under its public names."""
    usage: Mapping[str, Any]
    """`calls`, `promptTokens`, `completionTokens`, `reasoningTokens`, `costUsd` (None = unknown), `seconds`, `byRole`."""
    stop_reason: StopReason | None
    """None while it runs."""
    degraded: bool
    degraded_reasons: tuple[str, ...]
    diagnostics: Mapping[str, Any]
    warnings: tuple[str, ...] = ()
    """Options that were not understood, limits that were cut."""
    orphaned: bool = False
    """True where it was left unfinished by a process that is gone; `resume` takes it up."""
    checks: tuple[Mapping[str, Any], ...] = field(default=())
    """Every check that was given, with whether it was run."""
    simulated: bool = False
    """True where any content came from the simulated model."""
    reply: Reply | None = None
    """The reply that the answer was read from, as the model wrote it; None where there is no answer, or a client gave it."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON document: camelCase keys, finite numbers, nothing cut."""
        return {
            "sessionId": self.session_id,
            "status": self.status,
            "degraded": self.degraded,
            **({"degradedReasons": list(self.degraded_reasons)} if self.degraded_reasons else {}),
            **({"simulated": True} if self.simulated else {}),
            **({"orphaned": True} if self.orphaned else {}),
            "task": self.task,
            "answer": self.answer,
            "answerStatus": self.answer_status,
            "confidence": round(self.confidence, 4),
            "confidenceBasis": self.confidence_basis,
            "evidence": [_evidence(item) for item in self.evidence],
            "checks": encode(self.checks),
            "summary": self.summary,
            "steps": [step_document(step) for step in self.steps],
            "config": dict(self.config),
            "usage": dict(self.usage),
            "stopReason": self.stop_reason,
            "diagnostics": dict(self.diagnostics),
            **({"warnings": list(self.warnings)} if self.warnings else {}),
        }

    def to_json(self) -> str:
        """Return the document as indented JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2, allow_nan=False)

    def to_text(self) -> str:
        """Return what a person reads: first what must not be overlooked, then the answer, then the summary."""
        lines = []
        if self.degraded:
            lines.append(f"DEGRADED: {'; '.join(self.degraded_reasons)}")
        if self.simulated:
            lines.append(
                "SIMULATED: the model is a simulation; its answers mean nothing outside a demonstration or test"
            )
        if self.answer is not None:
            lines.append(f"Answer: {self.answer}")
            lines.append(f"Status: {self.answer_status}, confidence {self.confidence:.2f} ({self.confidence_basis})")
        else:
            lines.append(f"No answer ({self.stop_reason or self.status}).")
            lines += [f"- {item.observed} failed the check {item.check_id}: {item.expected}" for item in self._failed()]
        if self.degraded and self.diagnostics.get("lastError"):
            lines.append(f"Last error: {self.diagnostics['lastError']}")
        if self.answer is not None and (cut_short := CUT_SHORT.get(self.stop_reason or "")):
            lines.append(f"Cut short: {cut_short}.")
        lines += [f"Warning: {warning}" for warning in self.warnings]
        return "\n".join([*lines, "", self.summary])

    def _failed(self) -> list[Evidence]:
        """Return what failed a check, a few of it."""
        return [item for item in self.evidence if item.kind == "check" and item.outcome == "fail"][:3]


def session_result(
    session: Session,
    *,
    usage: Mapping[str, Any],
    diagnostics: Mapping[str, Any],
    orphaned: bool = False,
    reply: Reply | None = None,
) -> SolveResult:
    """Return the result of a session, finished or not."""
    stands, ending = standing(session), session.conclusion
    return SolveResult(
        session_id=session.id, status=session.status, task=session.problem.task,
        answer=ending.answer if ending else stands.answer,
        answer_status=ending.answer_status if ending else stands.status,
        confidence=ending.confidence if ending else stands.confidence,
        confidence_basis=ending.confidence_basis if ending else stands.basis,
        evidence=ending.evidence if ending else stands.evidence,
        summary=ending.summary if ending else summary(session, stands),
        steps=session.steps, config=session.config.plain(), usage=usage, diagnostics=diagnostics,
        stop_reason=ending.stop_reason if ending else None,
        degraded=ending.degraded if ending else session.heuristic,
        degraded_reasons=ending.degraded_reasons if ending else (),
        warnings=session.warnings, orphaned=orphaned, checks=_checks(session),
        simulated="simulated" in _sources(session), reply=reply,
    )  # fmt: skip


def step_document(step: Step) -> dict[str, Any]:
    """Return one step with the seed's field names and ours."""
    document: dict[str, Any] = encode(step)
    document["score"] = score_document(step.score)
    document["decision"] = decision_document(step.decision)
    return document


def decision_document(decision: Decision | None) -> dict[str, Any] | None:
    """Return who decided on the mode and on which two numbers; all the others stand in the journal."""
    if decision is None:
        return None
    numbers = {camel(name): decision.audit[name] for name in ("p_critical", "threshold") if name in decision.audit}
    return {
        "mode": decision.mode, "decisionId": decision.decision_id, "forced": decision.forced, "reason": decision.reason,
        **numbers,
    }  # fmt: skip


def score_document(score: Any) -> dict[str, float] | None:
    """Return a score under its public names, four decimals."""
    if score is None:
        return None
    return {
        "rulesScore": round(score.rules, 4), "redundancyScore": round(score.redundancy, 4),
        "consistencyScore": round(score.consistency, 4), "totalScore": round(score.total, 4),
    }  # fmt: skip


def _evidence(item: Evidence) -> dict[str, Any]:
    return {key: value for key, value in encode(item).items() if value is not None}


def _sources(session: Session) -> set[str]:
    proposed = {candidate.source for closed in session.history for candidate in closed.candidates}
    return proposed | {pooled.source for pooled in session.answers}


def _checks(session: Session) -> tuple[Mapping[str, Any], ...]:
    examined = [candidate.checks for closed in session.history for candidate in closed.candidates]
    results = (check for checks in [*examined, *(pooled.checks for pooled in session.answers)] for check in checks)
    ran = {check.check_id for check in results if check.outcome in ("pass", "fail")}
    return tuple(
        {"checkId": check.id, "kind": check.kind, "target": check.target, "ran": check.id in ran}
        for check in session.problem.checks
    )
