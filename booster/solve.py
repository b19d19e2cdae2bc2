"""The loop. Everything that is decided here is decided by pure functions; everything that is done goes through `Parts`.

decide -> generate -> verify -> select -> apply -> metacontrol -> report, again and again, then finalize.
"""

from collections.abc import Sequence
from dataclasses import replace

from booster.answer import conclude, has_content, standing, standing_of
from booster.attempt import Attempt, Parts, attempt_step, final_answer, pooled, run_beam
from booster.codec import encode
from booster.metacontrol import improves, react
from booster.search import Choice, choose_answer, choose_step, total
from booster.session import Decision, Granularity, Iteration, Opened, PooledAnswer, Session, Step, StopReason, advance
from booster.signals import failed, outcome_of, signals
from verifier.types import Candidate, Score

_LIMITS: dict[str, StopReason] = {
    "calls": "budget_calls", "tokens": "budget_tokens", "costUsd": "budget_cost", "seconds": "deadline",
    "cancelled": "cancelled",
}  # fmt: skip


async def solve(session: Session, parts: Parts) -> Session:
    """Run iterations until the answer stands, the budget ends, or nothing moves any more; always end with a result."""
    while (reason := stop_reason(session, parts)) is None:
        session = await iterate(session, parts)
    return await finalize(session, reason, parts)


async def iterate(session: Session, parts: Parts, given: Sequence[Candidate] = ()) -> Session:
    """Run one iteration: decide, attempt, escalate where intuition failed, select, apply, react, report.

    Args:
        session: State before it; an iteration that a killed process left open is entered again with its own decision.
        parts: The outside world.
        given: Candidates that the caller proposed; no model is asked then.
    """
    session, opened = await _open(session, parts, given)
    attempt = Attempt(candidates=tuple(given)) if given else await attempt_step(session, opened, parts)
    choice = _select(session, opened, attempt)
    outcome = outcome_of(session, choice.winner, intuition=opened.decision.mode == "system1")
    if _worth_escalating(session, opened, choice, parts):
        session, opened = await _escalate(session, opened, parts)
        attempt = (await attempt_step(session, opened, parts)).with_earlier(attempt)
        choice = _select(session, opened, attempt)
    if not given and _guarded(session, opened, choice):
        choice = await run_beam(session, opened, choice, parts)
    session = await _close(session, opened, attempt, choice, parts)
    if opened.decision.decision_id:
        parts.judgement.report(opened.decision, outcome)
        session = await parts.record(session, ("reported", {"decisionId": opened.decision.decision_id, "outcome": outcome}))
    return session


def stop_reason(session: Session, parts: Parts) -> StopReason | None:
    """Return why the loop must not run another iteration, or None."""
    if standing(session).settled or (session.steps and session.steps[-1].answer is not None):
        return "answered"
    if session.stagnant:
        return "stagnation"
    if session.opened is None and session.iteration >= session.iterations:
        return "max_steps" if session.cut_iterations else "iterations"
    if len(session.steps) >= session.config.max_steps:
        return "max_steps"
    if session.config.scheduler == "system1" and session.answers:
        return "answered" if standing(session).answer is not None else "iterations"
    if limit := parts.purse.exhausted():
        return _LIMITS[limit]
    if session.steps and parts.purse.affordable() == 1:
        return "budget_calls"  # the last call belongs to the finalisation
    return None


async def finalize(session: Session, reason: StopReason, parts: Parts) -> Session:
    """End the session: one call for the answer where the steps carry none, then what may be claimed, and why."""
    if _lacks_answer(session) and reason not in ("cancelled", "error") and not parts.purse.exhausted():
        answer = await final_answer(session, parts)
        if answer is not None:
            session = await parts.record(session, ("answered", encode(answer)))
    conclusion = conclude(session, reason, degraded_by=parts.fallbacks())
    session = await parts.record(session, ("concluded", encode(conclusion)))
    await parts.judgement.feedback(success=_success(session))
    return session


async def _open(session: Session, parts: Parts, given: Sequence[Candidate]) -> tuple[Session, Opened]:
    if session.opened is not None:
        return session, session.opened
    decision = _decide(session, parts)
    granularity: Granularity = "step" if given else _granularity(session)
    opened = Opened(iteration=session.iteration + 1, granularity=granularity, decision=decision)
    return await parts.record(session, ("iteration_opened", encode(opened))), opened


def _decide(session: Session, parts: Parts) -> Decision:
    match session.config.scheduler:
        case "system1":
            return Decision(mode="system1", forced=True, reason="the scheduler setting is system1")
        case "system2" | "seed" as setting:
            return Decision(mode="system2", forced=True, reason=f"the scheduler setting is {setting}")
        case _:
            return parts.judgement.decide(signals(session, parts.purse.used_share()))


def _granularity(session: Session) -> Granularity:
    if session.config.granularity != "auto":
        return session.config.granularity
    return "answer" if session.iteration == 0 else "step"


async def _escalate(session: Session, opened: Opened, parts: Parts) -> tuple[Session, Opened]:
    decision = replace(opened.decision, mode="system2", reason=f"{opened.decision.reason}; the cheap attempt failed")
    opened = replace(opened, decision=decision, escalated=True)
    return await parts.record(session, ("escalated", encode(opened))), opened


def _worth_escalating(session: Session, opened: Opened, choice: Choice, parts: Parts) -> bool:
    decision = opened.decision
    if decision.mode == "system2" or decision.forced or parts.purse.exhausted():
        return False
    return failed(session, choice.winner)


def _select(session: Session, opened: Opened, attempt: Attempt) -> Choice:
    if opened.granularity == "answer" and attempt.answers:
        return choose_answer(attempt.candidates, session.config.select)
    return choose_step(attempt.candidates, session.step_texts, session.banned)


def _guarded(session: Session, opened: Opened, choice: Choice) -> bool:
    if opened.granularity == "answer" or session.config.beam_width < 2 or choice.winner is None:
        return False
    last = session.steps[-1] if session.steps else None
    return not improves(total(choice.winner), last, session.config.min_improvement)


async def _close(session: Session, opened: Opened, attempt: Attempt, choice: Choice, parts: Parts) -> Session:
    winner = choice.winner
    answers = attempt.answers
    if winner is not None and not answers and winner.proposal.answer is not None:
        answers = (pooled(winner, "step"),)
    applied = winner if winner is not None and _applies(session, opened, answers) else None
    closed = Iteration(
        iteration=opened.iteration, chosen=applied.key if applied else None, candidates=choice.ranked, tie=choice.tie,
        decision=opened.decision, escalated=opened.escalated,
    )  # fmt: skip
    step = _step(session, opened, applied, parts.now()) if applied else None
    event = {
        "iteration": encode(closed), "step": encode(step), "answers": encode(answers), "hints": _hints(choice.ranked),
    }  # fmt: skip
    after = advance(session, "iteration_closed", event)
    return await parts.record(session, ("iteration_closed", event), *react(after))


def _applies(session: Session, opened: Opened, answers: Sequence[PooledAnswer]) -> bool:
    """A whole answer goes on the scratchpad only where it ends the solve; a mere guess would mislead the steps."""
    if opened.granularity == "step" or not answers:
        return True
    stands = standing_of((*session.answers, *answers))
    return stands.settled or opened.iteration >= session.iterations or session.config.scheduler == "system1"


def _step(session: Session, opened: Opened, winner: Candidate, at: str) -> Step:
    return Step(
        id=winner.key, index=len(session.steps), text=winner.proposal.text, rationale=winner.proposal.rationale,
        score=winner.score or Score(rules=0, redundancy=0, consistency=0, total=0), source=winner.source,
        iteration=opened.iteration, provider=winner.provider, model=winner.model, answer=winner.proposal.answer,
        checks=winner.checks, decision=opened.decision, usage=winner.usage, at=at,
    )  # fmt: skip


def _hints(candidates: Sequence[Candidate]) -> list[str]:
    """Name what failed, without the expected value: the model shall find the answer, not read it."""
    found = (
        f"{check.target} {check.observed[:120]!r} failed the check {check.check_id} ({check.kind})"
        for candidate in candidates
        for check in candidate.failed_checks
    )
    return list(dict.fromkeys(found))[:3]


def _lacks_answer(session: Session) -> bool:
    if standing(session).settled or not session.steps or session.steps[-1].answer is not None:
        return False
    return session.config.scheduler != "system1" and has_content(session)


def _success(session: Session) -> bool | None:
    stands = standing(session)
    if stands.settled:
        return True
    return False if stands.answer is None else None
