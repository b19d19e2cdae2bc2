"""The loop. Everything that is decided here is decided by pure functions; everything that is done goes through `Parts`.

decide -> generate -> verify -> select -> apply -> metacontrol -> report, again and again, then finalize.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from booster.answer import conclude, ended_by_cascade
from booster.attempt import attempt_step, attempt_with_probe, final_answer, final_key, run_beam, with_templates
from booster.codec import encode
from booster.drawing import most_samples, pooled
from booster.events import advance, with_closed
from booster.metacontrol import improves, is_cut_off, react
from booster.pair import pair_of
from booster.parts import Attempt, Parts
from booster.search import Choice, beam_calls, choose_answer, choose_step, total
from booster.session import (
    Conclusion,
    Decision,
    Granularity,
    Iteration,
    Opened,
    PooledAnswer,
    Session,
    Step,
    StopReason,
)
from booster.signals import costs_of, failed, outcome_of, probed, signals
from booster.standing import Standing, standing, standing_of
from scheduler.types import Outcome
from verifier.answers import vote_key
from verifier.types import Candidate, Score

_LIMITS: dict[str, StopReason] = {
    "calls": "budget_calls", "tokens": "budget_tokens", "costUsd": "budget_cost", "seconds": "deadline",
    "cancelled": "cancelled",
}  # fmt: skip

_UNSCORED = Score(rules=0, redundancy=0, consistency=0, total=0)


async def solve(session: Session, parts: Parts) -> Session:
    """Run iterations until the answer stands, the budget ends, or nothing moves any more; always end with a result."""
    while (reason := stop_reason(session, parts)) is None:
        session = await iterate(session, parts)
    return await finalize(session, reason, parts)


async def iterate(session: Session, parts: Parts, given: Sequence[Candidate] = ()) -> Session:
    """Run one iteration: decide, attempt, escalate where intuition failed, select, apply, react, report.

    An iteration that a killed process left open is entered again from its beginning, under its own decision: what was
    finished in it is recalled and not paid again.

    Args:
        session: State before it.
        parts: The outside world.
        given: Candidates that the caller proposed; no model is asked then.
    """
    session, opened = await _open(session, parts, given)
    first = opened.at_first()
    attempt, probe = Attempt(candidates=tuple(given)), None
    if not given:
        attempt, probe = await attempt_with_probe(session, first, parts)
    choice = _select(session, opened, attempt)
    escalates = opened.escalated or _worth_escalating(session, first, attempt, choice, parts)
    outcome = _outcome(session, first, attempt, choice, escalates=escalates, probe=probe)
    chosen_from, attempt = attempt, attempt.with_proven(probe)
    if escalates:
        session, opened = await _escalate(session, opened, parts)
        attempt = (await attempt_step(session, opened, parts)).with_earlier(attempt)
    attempt = await with_templates(session, opened, attempt, parts)
    if attempt is not chosen_from:
        choice = _select(session, opened, attempt)
    if _worth_looking_ahead(session, opened, choice) and not given:
        choice = await run_beam(session, opened, choice, parts)
    return await _close(session, opened, attempt, choice, outcome, parts)


def stop_reason(session: Session, parts: Parts) -> StopReason | None:
    """Return why the loop must not run another iteration, or None."""
    limit = exhausted(session, parts)
    if session.opened is not None and limit is None:
        return None
    if standing(session).settled or (session.steps and session.steps[-1].answer is not None):
        return "answered"
    if session.history and ended_by_cascade(session.history[-1].draw, session.answers, session.config.granularity):
        return "answered"
    if limit == "deadline":
        return limit  # it cut the last iteration short, whatever else holds
    if session.stagnant:
        return "stagnation"
    if is_cut_off(session):
        return "error"
    if session.iteration >= session.iterations:
        return "max_steps" if session.cut_iterations else "iterations"
    if len(session.steps) >= session.config.max_steps:
        return "max_steps"
    if _asks_once(session) and session.iteration:
        return "iterations" if standing(session).answer is None else "answered"
    if limit is None and parts.purse.affordable() == 1 and _lacks_answer(session):
        return "budget_calls"  # the last call belongs to the finalisation
    return limit


def exhausted(session: Session, parts: Parts) -> StopReason | None:
    """Return what forbids another iteration, or None. What was paid for in one that was interrupted is used first."""
    limit = parts.purse.exhausted()
    if limit is None or (session.opened is not None and limit != "cancelled"):
        return None
    return _LIMITS[limit]


async def finalize(session: Session, reason: StopReason, parts: Parts) -> Session:
    """End the session: one call for the answer where the steps carry none, then what may be claimed, and why."""
    events: list[tuple[str, Mapping[str, Any]]] = []
    last = session
    if _lacks_answer(session) and reason not in ("cancelled", "error") and not parts.purse.exhausted():
        answer = await final_answer(session, parts)
        if answer is not None:
            events.append(("answered", encode(answer)))
            last = advance(session, *events[0])
    conclusion = conclude(last, reason, degraded_by=parts.fallbacks(), learnt=parts.memory.state)
    success = _success(last, conclusion)
    if success is not None and parts.judgement.end_task(success=success):
        events.append(("task_ended", {"success": success}))
    if events:
        session = await parts.record(session, *events)
    # Before the session ends: one that has ended is resumed by nobody, and what it taught would be lost with the process.
    learnt = await parts.judgement.save()
    if reason not in ("cancelled", "error"):
        parts.memory.learn(last)  # written with the end, or right after it
    return await parts.record(session, *learnt, ("concluded", encode(conclusion)))


async def give_up(session: Session, parts: Parts) -> Session:
    """End a session as cancelled; nothing is asked any more."""
    return await finalize(session, "cancelled", parts)


async def _open(session: Session, parts: Parts, given: Sequence[Candidate]) -> tuple[Session, Opened]:
    if session.opened is not None and not given:
        return session, session.opened
    granularity: Granularity = "step" if given else _granularity(session)
    decision = _decide(session, granularity, parts, given)
    probe = decision.mode == "system2" and bool(decision.audit.get("probe")) and _can_probe(session, granularity, parts)
    opened = Opened(iteration=session.iteration + 1, granularity=granularity, decision=decision, probe=probe)
    return await parts.record(session, ("iteration_opened", encode(opened))), opened


def _decide(session: Session, granularity: Granularity, parts: Parts, given: Sequence[Candidate]) -> Decision:
    if given:
        return Decision(mode="system2", forced=True, reason="the caller proposed the candidates")
    match session.config.scheduler:
        case "system1":
            return Decision(mode="system1", forced=True, reason="the scheduler setting is system1")
        case "system2" | "seed" as setting:
            return Decision(mode="system2", forced=True, reason=f"the scheduler setting is {setting}")
        case _:
            pair = pair_of(session.config)
            learnt = parts.memory.state.cascade(pair.key) if pair else None
            seen = signals(session, parts.purse.used_share(), granularity, learnt)
            return parts.judgement.decide(seen, costs_of(session, granularity, parts.prices))


def _can_probe(session: Session, granularity: Granularity, parts: Parts) -> bool:
    """Say whether a further call leaves System 2 all of its own, and one for the answer."""
    config, left = session.config, parts.purse.affordable()
    whole = config.num_candidates if session.at_once else most_samples(session)
    own = whole if granularity == "answer" else 2 + beam_calls(config)
    return left is None or left > own + 1


def _granularity(session: Session) -> Granularity:
    """`auto` begins with a whole answer and goes on in steps; the seed's behaviour knows steps only."""
    if session.config.granularity != "auto":
        return session.config.granularity
    return "answer" if session.iteration == 0 and session.config.scheduler != "seed" else "step"


def _asks_once(session: Session) -> bool:
    """A whole answer by System 1 alone is one call, whatever comes of it."""
    return session.config.scheduler == "system1" and session.config.granularity != "step"


async def _escalate(session: Session, opened: Opened, parts: Parts) -> tuple[Session, Opened]:
    if opened.escalated:
        return session, opened
    opened = opened.after_failure()
    return await parts.record(session, ("escalated", encode(opened))), opened


def _worth_escalating(session: Session, opened: Opened, attempt: Attempt, choice: Choice, parts: Parts) -> bool:
    if opened.decision.mode == "system2" or opened.decision.forced or parts.purse.exhausted():
        return False
    if "no_provider" in attempt.failed:
        return False
    if attempt.draw is not None and attempt.draw.move:
        return attempt.escalates
    if session.problem.verbatim:  # one message was decided on: others follow only where it cannot be used
        return attempt.heard and choice.winner is None
    if opened.granularity == "answer":  # one answer that no check speaks for is no reason to stop
        return not _stands(session, attempt).settled
    return failed(session, choice.winner)


def _stands(session: Session, attempt: Attempt) -> Standing:
    return standing_of((*session.answers, *attempt.answers), session.config.select)


def _outcome(
    session: Session, first: Opened, attempt: Attempt, choice: Choice, *, escalates: bool, probe: Attempt | None
) -> Outcome:
    """Return the fact to report of the first attempt, and of the cheap one beside it.

    That a cascade has weighed costs and asks the strong model says nothing yet of the cheap answer.
    """
    stands = _stands(session, attempt)
    settled = stands.answer if stands.settled else None
    if probe is not None:
        return probed(session, probe.candidates, heard=probe.heard, settled=settled)
    return outcome_of(
        session, choice.winner, intuition=first.decision.mode == "system1", heard=attempt.heard,
        escalated=escalates and not attempt.escalates, settled=settled,
    )  # fmt: skip


def _select(session: Session, opened: Opened, attempt: Attempt) -> Choice:
    if opened.granularity == "answer" and attempt.answers:
        choice = choose_answer(attempt.candidates, session.config.select)
        speaks = standing_of((*session.answers, *attempt.answers), session.config.select).key
        return replace(choice, winner=next((one for one in choice.ranked if one.key == speaks), choice.winner))
    return choose_step(attempt.candidates, session.step_texts, session.banned)


def _worth_looking_ahead(session: Session, opened: Opened, choice: Choice) -> bool:
    """A beam is tried where the best step gains nothing, carries no answer, and there is another one to take."""
    config, winner = session.config, choice.winner
    if opened.granularity == "answer" or beam_calls(config) == 0 or len(choice.contenders) < 2:
        return False
    last = session.steps[-1] if session.steps else None
    return (
        winner is not None
        and winner.proposal.answer is None
        and not improves(total(winner), last, config.min_improvement)
    )


async def _close(
    session: Session, opened: Opened, attempt: Attempt, choice: Choice, outcome: Outcome, parts: Parts
) -> Session:
    """Apply the winner, let metacontrol react, report the outcome; all in one entry of the journal."""
    winner, answers = choice.winner, attempt.answers
    if winner is not None and not answers and winner.proposal.answer is not None:
        answers = (pooled(winner, "step"),)
    applied = winner if winner is not None and _applies(session, opened, winner, answers, attempt) else None
    closed = Iteration(
        iteration=opened.iteration, chosen=applied.key if applied else None, candidates=choice.ranked, tie=choice.tie,
        decision=opened.decision, escalated=opened.escalated, problems=(*attempt.unusable, *attempt.failed),
        heard=attempt.heard, draw=attempt.draw,
    )  # fmt: skip
    step, hints = _step(session, opened, applied, parts.now()) if applied else None, _hints(choice.ranked)
    event = {"iteration": encode(closed), "step": encode(step), "answers": encode(answers), "hints": hints}
    reactions = react(with_closed(session, closed, step, answers, hints))
    reported = _report(opened, outcome, reactions, parts)
    return await parts.record(session, ("iteration_closed", event), *reactions, *reported)


def _report(
    opened: Opened, outcome: Outcome, reactions: Sequence[tuple[str, Mapping[str, Any]]], parts: Parts
) -> list[tuple[str, Mapping[str, Any]]]:
    """Tell the scheduler what came of its decision. A step of System 2 that had to be taken back is rework."""
    if not opened.decision.decision_id:
        return []
    taken_back = any(data.get("reason") == "repetition" for kind, data in reactions if kind == "backtracked")
    rework = taken_back and outcome.startswith("s2")
    taught = parts.judgement.report(opened.decision, outcome, rework=rework)
    return [("reported", {"decisionId": opened.decision.decision_id, "outcome": outcome, "rework": rework, **taught})]


def _applies(
    session: Session, opened: Opened, winner: Candidate, answers: Sequence[PooledAnswer], attempt: Attempt
) -> bool:
    """A whole answer goes on the scratchpad only where it ends the solve; a mere guess would mislead the steps."""
    if opened.granularity == "step" or not answers:
        return True
    stands = standing_of((*session.answers, *answers), session.config.select)
    ends = stands.settled or opened.iteration >= session.iterations or _asks_once(session)
    ends = ends or ended_by_cascade(attempt.draw, answers, session.config.granularity)
    return ends and vote_key(stands.answer or "") == vote_key(winner.proposal.answer or "")


def _step(session: Session, opened: Opened, winner: Candidate, at: str) -> Step:
    return Step(
        id=winner.key, index=len(session.steps), text=winner.proposal.text, rationale=winner.proposal.rationale,
        score=winner.score or _UNSCORED, source=winner.source, iteration=opened.iteration, provider=winner.provider,
        model=winner.model, answer=winner.proposal.answer, checks=winner.checks, decision=opened.decision,
        usage=winner.usage, at=at,
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
    """Say whether the finalisation has to ask for the answer that the steps support."""
    if standing(session).settled or not session.steps or session.steps[-1].answer is not None:
        return False
    asked = any(pooled.key == final_key(session) for pooled in session.answers)
    return not asked and session.config.scheduler != "system1" and session.has_content


def _success(session: Session, conclusion: Conclusion) -> bool | None:
    """Return what is known of the task's success: nothing where it was not tried to the end, or no check or vote spoke."""
    if conclusion.answer_status in ("verified", "agreed"):
        return True
    tried = conclusion.status == "done" and session.has_content
    return False if tried and conclusion.answer is None else None
