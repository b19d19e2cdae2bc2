"""From everything that was proposed to what may be claimed: answer, status, confidence, evidence, summary. Pure."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from booster.session import AnswerStatus, Conclusion, Evidence, PooledAnswer, Session, Status, StopReason
from providers.parsing import parse_proposals
from providers.types import Proposal, Reply
from verifier.answers import extract_answer
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

Select = Literal["auto", "score", "vote"]
"""How the winner among answers is found."""


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
    if answer is None or not answer.strip():
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
    return standing_of(session.answers, session.config.select)


@lru_cache(maxsize=64)
def standing_of(answers: tuple[PooledAnswer, ...], select: Select = "auto") -> Standing:
    """Return what can be said of a pool of answers.

    An answer that fails a check is out. One that held every check that ran on it is `verified`. Else the most frequent
    answer is `agreed` if at least three, and at least half of all drawn, say the same. Else the answer that the steps led
    to stands, unverified, or where there is none the first of the most frequent ones.

    Args:
        answers: In the order of arrival, abstentions included; keys are unique.
        select: `score` puts the candidate with the highest score in the place of the most frequent answer.
    """
    sound = [pooled for pooled in answers if not _outcomes(pooled, "fail")]
    answered = [pooled for pooled in sound if (pooled.answer or "").strip()]
    proven = [pooled for pooled in answered if _outcomes(pooled, "pass")]
    if proven:
        best = _represent(proven, select)
        return Standing(
            answer=best.answer, status="verified", confidence=CHECKED, basis="checks", evidence=_check_evidence(best)
        )
    if not answered:
        return Standing(evidence=tuple(item for pooled in answers for item in _check_evidence(pooled))[:10])
    verdict = vote([(pooled.key, pooled.answer) for pooled in _independent(sound)])
    if select != "score" and _agree(verdict, verdict.votes):
        return _voted(verdict, verdict.answer, verdict.votes)
    led = [pooled for pooled in answered if pooled.origin != "sample"]
    best = led[-1] if led else _represent(answered, select)
    return _voted(verdict, best.answer, next(len(keys) for _, keys in verdict.groups if best.key in keys))


def conclude(session: Session, reason: StopReason, *, degraded_by: Sequence[str] = ()) -> Conclusion:
    """Return how the session ends.

    Args:
        session: Its last state.
        reason: Why the loop stopped.
        degraded_by: Reasons why a later source than the configured one had to answer, in words.
    """
    stands = standing(session)
    content = session.has_content
    status: Status = "cancelled" if reason == "cancelled" else "failed" if reason == "error" else "done"
    if status == "done" and not content:
        status = "degraded"
    reasons = list(degraded_by)
    if reason == "error" and not degraded_by:
        reasons.append(f"no call came through any more{_problems(session)}; resume the session when the model is back")
    if session.heuristic:
        reasons.append(f"some steps are templates of the program, not of a model{_problems(session)}")
    if content and not session.steps and not any(pooled.answer for pooled in session.answers):
        reasons.append(f"nothing could be read in the replies{_problems(session)}")
    if not content and not reasons:
        reasons.append(f"no model content was obtained{_problems(session)}")
    return Conclusion(
        status=status, stop_reason=reason, answer=stands.answer, answer_status=stands.status,
        confidence=min(stands.confidence, CAPS[stands.status]), confidence_basis=stands.basis, evidence=stands.evidence,
        summary=summary(session, stands), degraded=bool(reasons), degraded_reasons=tuple(dict.fromkeys(reasons)),
    )  # fmt: skip


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
    chained = [pooled for pooled in pool if pooled.origin == "step"]
    return [pooled for pooled in pool if pooled.origin != "step" or pooled is chained[-1]]


def _represent(pool: Sequence[PooledAnswer], select: Select) -> PooledAnswer:
    """Return the one that speaks for a pool of answers: by score, or by vote and arrival."""
    if select == "score":
        return max(pool, key=lambda pooled: pooled.score)
    winner = vote([(pooled.key, pooled.answer) for pooled in pool]).groups[0][1][0]
    return next(pooled for pooled in pool if pooled.key == winner)


def _agree(verdict: Verdict, votes: int) -> bool:
    return votes >= AGREEING and 2 * votes >= verdict.samples


def _voted(verdict: Verdict, answer: str | None, votes: int) -> Standing:
    status: AnswerStatus = "agreed" if _agree(verdict, votes) else "unverified"
    counts = ", ".join(f"{_cut(text, 60)}: {len(keys)}" for text, keys in verdict.groups[:5])
    evidence = Evidence(
        kind="votes", observed=f"{votes} of {verdict.samples} ({counts})", outcome=status,
        expected=f"at least {AGREEING} equal answers and half of all drawn",
    )  # fmt: skip
    confidence = min(CAPS[status], votes / (verdict.samples + 1))
    return Standing(answer=answer, status=status, confidence=confidence, evidence=(evidence,))


def _problems(session: Session) -> str:
    """Return in brackets why replies and calls brought nothing, or nothing where all did."""
    found = dict.fromkeys(problem for closed in session.history for problem in closed.problems)
    return f" ({', '.join(list(found)[:5])})" if found else ""


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
