"""From everything that was proposed to what may be claimed: answer, status, confidence, evidence, summary. Pure."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from booster.session import AnswerStatus, Conclusion, Evidence, PooledAnswer, Session, Status, StopReason
from providers.parsing import parse_proposals
from providers.types import Proposal, Reply
from verifier.answers import extract_answer, vote_key
from verifier.consensus import vote
from verifier.types import Verdict

CAPS = {"verified": 1.0, "agreed": 0.9, "judged": 0.8, "unverified": 0.6, "none": 0.0}
"""Highest confidence that each status may claim while nothing has been calibrated."""

CHECKED = 0.95
"""Confidence of an answer that held every check: a user's checks may be weaker than the truth."""

AGREEING = 3
"""Equal answers that `agreed` needs; they must also be at least half of all that were drawn."""

SUMMARY_STEPS = 5
"""Most steps that a summary names."""

_NOT_INDEPENDENT = frozenset({"step"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """What can be said of the answer at this moment."""

    answer: str | None = None
    status: AnswerStatus = "none"
    confidence: float = 0.0
    basis: str = "uncalibrated"
    evidence: tuple[Evidence, ...] = ()

    @property
    def settled(self) -> bool:
        """Nothing needs to be spent on the answer any more."""
        return self.status in ("verified", "agreed")


def read_answer(reply: Reply) -> Proposal | None:
    """Read a whole-answer reply; None where it holds no answer, which then counts as an abstention."""
    answer = extract_answer(reply.text)
    if answer is None:
        return None
    rationale = _rationale(reply.text)
    return Proposal(text=(rationale or answer)[:200], rationale=rationale[:2000], answer=answer)


def _rationale(text: str) -> str:
    """Return what a reply says beside its answer: the field we asked for, else its first sentences."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        document = None
    if isinstance(document, dict) and isinstance(document.get("rationale"), str):
        return str(document["rationale"]).strip()
    proposals, _ = parse_proposals(text, limit=1)
    if proposals:
        return proposals[0].rationale or proposals[0].text
    return text.rpartition("</think>")[2].strip() if document is None else ""


def standing(session: Session) -> Standing:
    """Return the answer that stands, and why; see `standing_of`."""
    return standing_of(session.answers)


@lru_cache(maxsize=256)
def standing_of(answers: tuple[PooledAnswer, ...]) -> Standing:
    """Return what can be said of a pool of answers.

    An answer that fails a check is out. One that held every check that ran on it is `verified`. Else the most frequent
    answer is `agreed` if at least three, and at least half of all drawn, say the same. Else the answer that the steps led
    to stands, unverified.
    """
    sound = [pooled for pooled in answers if not _outcomes(pooled, "fail")]
    proven = [pooled for pooled in sound if pooled.answer is not None and _outcomes(pooled, "pass")]
    if proven:
        best = _represent(proven)
        return Standing(
            answer=best.answer, status="verified", confidence=CHECKED, basis="checks", evidence=_check_evidence(best)
        )
    answered = [pooled for pooled in sound if pooled.answer is not None]
    if not answered:
        return Standing(evidence=tuple(item for pooled in answers for item in _check_evidence(pooled))[:10])
    ballots = _independent(sound)
    verdict = vote([(pooled.key, pooled.answer) for pooled in ballots])
    if verdict.votes >= AGREEING and 2 * verdict.votes >= verdict.samples:
        return _voted(verdict, "agreed", verdict.answer, verdict.votes)
    led = [pooled for pooled in answered if pooled.origin != "sample"]
    best_answer = led[-1].answer if led else verdict.answer
    assert best_answer is not None  # `answered` holds no abstentions
    votes = sum(vote_key(pooled.answer) == vote_key(best_answer) for pooled in ballots if pooled.answer is not None)
    return _voted(verdict, "unverified", best_answer, votes)


def conclude(
    session: Session, reason: StopReason, *, degraded_by: Sequence[str] = ()
) -> Conclusion:
    """Return how the session ends.

    Args:
        session: Its last state.
        reason: Why the loop stopped.
        degraded_by: Reasons why a later source than the configured one had to answer, in words.
    """
    stands = standing(session)
    content = has_content(session)
    status: Status = "cancelled" if reason == "cancelled" else "failed" if reason == "error" else "done"
    if status == "done" and not content:
        status = "degraded"
    reasons = list(degraded_by)
    if session.heuristic:
        reasons.append("some steps are templates of the program, not of a model")
    if not content and not reasons:
        reasons.append("no model content was obtained")
    return Conclusion(
        status=status, stop_reason=reason, answer=stands.answer, answer_status=stands.status,
        confidence=min(stands.confidence, CAPS[stands.status]), confidence_basis=stands.basis, evidence=stands.evidence,
        summary=summary(session, stands), degraded=bool(reasons), degraded_reasons=tuple(dict.fromkeys(reasons)),
    )  # fmt: skip


def has_content(session: Session) -> bool:
    """Say whether anything but templates was ever proposed."""
    proposed = (one for closed in session.history for one in closed.candidates)
    return bool(session.answers) or any(one.source != "heuristic" for one in proposed)


def summary(session: Session, stands: Standing) -> str:
    """Return the task and the last three to five distinct steps, grounded in what was really applied."""
    distinct = list(dict.fromkeys(step.text for step in session.steps))[-SUMMARY_STEPS:]
    lines = ["Summary:", f"Task: {_cut(session.problem.task, 1000)}"]
    lines += [f"- {_cut(text, 500)}" for text in distinct] or ["(no steps)"]
    if stands.answer is not None:
        lines.append(f"Answer ({stands.status}): {_cut(stands.answer, 2000)}")
    return "\n".join(lines)


def _independent(pool: Sequence[PooledAnswer]) -> list[PooledAnswer]:
    """Leave out all but the last answer that steps carried: one chain of thought has one vote."""
    chained = [pooled for pooled in pool if pooled.origin in _NOT_INDEPENDENT]
    return [pooled for pooled in pool if pooled.origin not in _NOT_INDEPENDENT or pooled is chained[-1]]


def _represent(proven: Sequence[PooledAnswer]) -> PooledAnswer:
    winner = vote([(pooled.key, pooled.answer) for pooled in proven]).groups[0][1][0]
    return next(pooled for pooled in proven if pooled.key == winner)


def _voted(verdict: Verdict, status: AnswerStatus, answer: str, votes: int) -> Standing:
    counts = ", ".join(f"{_cut(text, 60)}: {len(keys)}" for text, keys in verdict.groups[:5])
    evidence = Evidence(
        kind="votes", observed=f"{votes} of {verdict.samples} ({counts})", outcome=status,
        expected=f"at least {AGREEING} equal answers and half of all drawn",
    )  # fmt: skip
    confidence = min(CAPS[status], votes / (verdict.samples + 1))
    return Standing(answer=answer, status=status, confidence=confidence, evidence=(evidence,))


def _check_evidence(pooled: PooledAnswer) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(
            kind="check", check_id=check.check_id, step_id=pooled.key, outcome=check.outcome, expected=check.expected,
            observed=check.observed or check.message,
        )
        for check in pooled.checks
    )  # fmt: skip


def _outcomes(pooled: PooledAnswer, outcome: str) -> bool:
    return any(check.outcome == outcome and check.target == "answer" for check in pooled.checks)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… [{len(text) - limit} more characters]"
