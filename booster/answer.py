"""From everything that was proposed to what may be claimed: how a session ends, with how much confidence, in short. Pure.

Above: the loop. Below: `booster.standing` says which answer stands.
"""

import json
from collections.abc import Sequence

from booster.answer_state import AnswerState
from booster.ballots import cut
from booster.session import Conclusion, Draw, PooledAnswer, Session, Status, StopReason
from booster.standing import CAPS, Standing, came_to, standing
from providers.parsing import parse_proposals
from providers.types import Proposal, Reply
from verifier.answers import extract_answer
from verifier.calibration import combined_confidence, confidence

SUMMARY_STEPS = 5
"""Most steps that a summary names."""


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


def ended_by_cascade(draw: Draw | None, answers: Sequence[PooledAnswer], granularity: str) -> bool:
    """Say whether a cascade has the last word: it stopped with an answer, or the strong model gave one and no steps follow.

    Where the strong model contradicts the cheap one the task is hard: with the granularity `auto`, steps take it up.
    """
    if draw is None or draw.rule != "cascade" or not draw.move:
        return False
    sound = [one for one in answers if one.answer is not None and not came_to(one, "fail")]
    if draw.move["action"] == "stop":
        return bool(sound)
    return granularity == "answer" and any(one.origin == "strong" for one in sound)


def conclude(
    session: Session, reason: StopReason, *, degraded_by: Sequence[str] = (), learnt: AnswerState | None = None
) -> Conclusion:
    """Return how the session ends.

    Args:
        session: Its last state.
        reason: Why the loop stopped.
        degraded_by: Reasons why a later source than the configured one had to answer, in words.
        learnt: What turns votes into a probability; without it they are no more than votes.
    """
    stands = standing(session)
    probability, basis = _confidence(stands, learnt or AnswerState())
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
    if not content and not reasons and reason != "cancelled":  # what was under way then may have brought something
        reasons.append(f"no model content was obtained{_problems(session)}")
    return Conclusion(
        status=status, stop_reason=reason, answer=stands.answer, answer_status=stands.status,
        confidence=probability, confidence_basis=basis, evidence=stands.evidence,
        summary=summary(session, stands), degraded=bool(reasons), degraded_reasons=tuple(dict.fromkeys(reasons)),
    )  # fmt: skip


def summary(session: Session, stands: Standing) -> str:
    """Return the task and the last three to five distinct steps, grounded in what was really applied."""
    distinct = list(dict.fromkeys(step.text for step in session.steps))[-SUMMARY_STEPS:]
    lines = ["Summary:", f"Task: {cut(session.problem.task, 1000)}"]
    lines += [f"- {cut(text, 500)}" for text in distinct] or ["(no steps)"]
    if stands.answer is not None:
        lines.append(f"Answer ({stands.status}): {cut(stands.answer, 2000)}")
    return "\n".join(lines)


def _confidence(stands: Standing, learnt: AnswerState) -> tuple[float, str]:
    """Return the probability that may be reported and what it rests on; before enough labels, the plain value capped by status."""
    plain = min(stands.confidence, CAPS[stands.status]), stands.basis
    if stands.status in ("none", "verified"):
        return plain
    if stands.share is not None:
        value, calibrated = combined_confidence(learnt.combined, learnt.combined_labels, stands.share)
        return (value, stands.led_by or "votes") if calibrated else plain
    value, calibrated = confidence(learnt.correctness, learnt.labels, stands.votes, stands.samples)
    return (value, "votes") if calibrated else plain


def _problems(session: Session) -> str:
    """Return in brackets why replies and calls brought nothing, or nothing where all did."""
    found = dict.fromkeys(problem for closed in session.history for problem in closed.problems)
    return f" ({', '.join(list(found)[:5])})" if found else ""
