"""One attempt at a step: generate, verify, run the beam. The loop's only concurrency lives here.

Any k of N: a candidate that fails, hangs or comes malformed costs its siblings nothing. When this module's functions
return, nothing that they started is still running.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from booster.answer import read_answer
from booster.prompts import again_messages, answer_messages, final_messages, step_messages
from booster.search import Choice, best_head, extend_branches, open_branches
from booster.session import Decision, Opened, PooledAnswer, Session
from providers.errors import ProviderError
from providers.heuristic import heuristic_proposals
from providers.parsing import parse_proposals
from providers.types import Ask, Call, Message, Proposal, Reply, Usage
from scheduler.types import Outcome, Signals
from verifier.types import Candidate, Context, Verifier, Weights

T = TypeVar("T")

PATIENCE_FLOOR = 2.0
"""Seconds that stragglers get at the least once most candidates have landed."""

PATIENCE_FACTOR = 3.0
"""Stragglers may take this many times as long as most candidates took."""

STRAGGLER = "straggler"
"""Why a call was withdrawn: its siblings had long landed."""


class Purse(Protocol):
    """What the loop needs to know of the money: the journal's ledger fulfils it."""

    deadline: float | None

    def affordable(self) -> int | None:
        """Return how many calls may still be opened; None = any number."""

    def exhausted(self) -> str | None:
        """Return what forbids a further call: `calls`, `tokens`, `costUsd`, `seconds`, `cancelled`; None = nothing."""

    def used_share(self) -> float:
        """Return the used share of the tightest limit, in [0, 1]."""


class Judgement(Protocol):
    """What the loop needs of the scheduler."""

    def decide(self, signals: Signals) -> Decision:
        """Return how much thought the step deserves."""

    def report(self, decision: Decision, outcome: Outcome, *, rework: bool = False) -> None:
        """Learn from a verified fact."""

    async def feedback(self, *, success: bool | None) -> None:
        """Close the task and make what was learnt durable."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Parts:
    """Everything outside the loop that a solve needs; wired in `booster.app`."""

    ask: Ask
    purse: Purse
    judgement: Judgement
    verifiers: Sequence[Verifier]
    """Cheapest first."""
    record: Callable[..., Awaitable[Session]]
    """`await record(session, (type, data), ...)`: journal events durably and return the session after them."""
    now: Callable[[], str]
    """The present time, ISO 8601 UTC."""
    fallbacks: Callable[[], Sequence[str]]
    """Reasons, in words, why a later source than the configured one had to answer."""
    request_timeout: float = 120.0
    """Seconds that one call may take."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """What one attempt brought."""

    candidates: tuple[Candidate, ...] = ()
    answers: tuple[PooledAnswer, ...] = ()
    """Whole answers that were sampled, abstentions included."""

    def with_earlier(self, earlier: "Attempt") -> "Attempt":
        """Join the attempt that this one escalated from: what was paid for is never thrown away."""
        return Attempt(
            candidates=(*earlier.candidates, *self.candidates), answers=(*earlier.answers, *self.answers)
        )


async def attempt_step(session: Session, opened: Opened, parts: Parts) -> Attempt:
    """Generate candidates for the open iteration and verify each as it lands.

    Args:
        session: State before the iteration.
        opened: Iteration number, granularity and the scheduler's decision.
        parts: The outside world.
    """
    if opened.granularity == "answer":
        attempt = await _sample_answers(session, opened, parts)
    else:
        attempt = Attempt(candidates=await _expand(session, opened, parts, "steps", (), _count(session, opened)))
    if attempt.candidates or attempt.answers or parts.purse.exhausted():
        return attempt
    return Attempt(candidates=await _templates(session, opened, parts))


async def verify_proposals(
    session: Session, proposals: Sequence[Proposal], key: str, parts: Parts, **origin: Any
) -> tuple[Candidate, ...]:
    """Score and check proposals that are already there; usage, where given, is charged to the first."""
    usage = origin.pop("usage", Usage())
    found = []
    for number, proposal in enumerate(proposals, 1):
        charged = usage if number == 1 else Usage()
        candidate = Candidate(proposal=proposal, key=f"{key}.{number}", usage=charged, **origin)
        found.append(await _verified(session, candidate, parts))
    return tuple(found)


async def run_beam(session: Session, opened: Opened, choice: Choice, parts: Parts) -> Choice:
    """Look ahead from the best heads and return the choice with the head of the best branch as its winner.

    Costs at most `beamWidth * (beamDepth - 1)` calls.
    """
    config = session.config
    branches = open_branches(choice, min(config.beam_width, max(config.top_m, 1)))
    for depth in range(2, config.beam_depth + 1):
        paths = [tuple(one.proposal.text for one in branch.path) for branch in branches]
        jobs = [
            _expand(session, opened, parts, f"beam{depth}.{position + 1}", path, config.num_candidates)
            for position, path in enumerate(paths)
        ]
        landed = await any_of([_numbered(position, job) for position, job in enumerate(jobs)], parts)
        branches = extend_branches(branches, dict(landed), config.beam_width)
    return replace(choice, winner=best_head(branches) or choice.winner)


async def final_answer(session: Session, parts: Parts) -> PooledAnswer | None:
    """Spend one call on the answer that the applied steps support; None where none came."""
    call = _call(session, parts, key="final/answer", role="finalize", messages=final_messages(session), mode="system2")
    return await _sampled(session, call, parts, origin="final")


async def any_of(jobs: Sequence[Coroutine[Any, Any, T | None]], parts: Parts) -> list[T]:
    """Run jobs side by side and return what landed, in the order of arrival.

    Once more than half have landed the others get `PATIENCE_FACTOR` times as long as those took, at least
    `PATIENCE_FLOOR` seconds; then they are withdrawn. The deadline of the solve withdraws all.
    """
    loop = asyncio.get_running_loop()
    start, landed = loop.time(), list[T]()

    async def run(job: Coroutine[Any, Any, T | None]) -> None:
        result = await job
        if result is not None:
            landed.append(result)

    pending = {asyncio.create_task(run(job)) for job in jobs}
    end = parts.purse.deadline
    most: float | None = None
    try:
        while pending:
            timeout = None if end is None else max(0.0, end - loop.time())
            done, pending = await asyncio.wait(pending, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                break
            for task in done:
                task.result()
            if most is None and 2 * len(landed) > len(jobs):
                most = loop.time()
                patience = most + max(PATIENCE_FLOOR, PATIENCE_FACTOR * (most - start))
                end = patience if end is None else min(end, patience)
    finally:
        for task in pending:
            task.cancel(STRAGGLER)
        await asyncio.gather(*pending, return_exceptions=True)
    return landed


async def _numbered(position: int, job: Awaitable[T]) -> tuple[int, T]:
    return position, await job


async def _sample_answers(session: Session, opened: Opened, parts: Parts) -> Attempt:
    affordable = parts.purse.affordable()
    wanted = _count(session, opened)
    count = wanted if affordable is None else min(wanted, affordable)
    messages = answer_messages(session.problem)
    calls = [
        _call(
            session, parts, key=_key(opened, f"answer{number + 1}"), role="generate", messages=messages,
            mode=opened.decision.mode, turn=number,
        )
        for number in range(count)
    ]  # fmt: skip
    landed = await any_of([_candidate_of(session, call, parts) for call in calls], parts)
    return Attempt(
        candidates=tuple(candidate for candidate, _ in landed if candidate), answers=tuple(one for _, one in landed)
    )


async def _candidate_of(session: Session, call: Call, parts: Parts) -> tuple[Candidate | None, PooledAnswer] | None:
    try:
        reply = await parts.ask(call)
    except ProviderError:
        return None
    proposal = read_answer(reply)
    if proposal is None:
        return None, PooledAnswer(key=call.step_key, answer=None, origin="sample", source=reply.source)
    candidate = await _verified(session, _candidate(proposal, call.step_key, reply), parts)
    return candidate, pooled(candidate, "sample")


async def _sampled(session: Session, call: Call, parts: Parts, *, origin: str) -> PooledAnswer | None:
    landed = await any_of([_candidate_of(session, call, parts)], parts)
    return replace(landed[0][1], origin=origin) if landed else None


def pooled(candidate: Candidate, origin: Any) -> PooledAnswer:
    """Return the candidate's answer to the whole task as it goes into the pool."""
    return PooledAnswer(
        key=candidate.key, answer=candidate.proposal.answer, origin=origin, source=candidate.source, checks=candidate.checks
    )


async def _templates(session: Session, opened: Opened, parts: Parts) -> tuple[Candidate, ...]:
    """Last rung: no model said anything. The steps say of themselves that they are templates."""
    count = _count(session, opened)
    found = heuristic_proposals(session.problem.task, len(session.steps), count, family=session.family)
    key = _key(opened, "template")
    return await verify_proposals(session, found, key, parts, source="heuristic", provider="heuristic")


def _count(session: Session, opened: Opened) -> int:
    return 1 if opened.decision.mode == "system1" else session.config.num_candidates


async def _expand(
    session: Session, opened: Opened, parts: Parts, name: str, branch: Sequence[str], count: int
) -> tuple[Candidate, ...]:
    """Ask one model for alternatives to the next step; one re-ask where the reply held none; empty where nothing came."""
    messages = step_messages(session, count, branch)
    mode = opened.decision.mode
    call = _call(session, parts, key=_key(opened, name), role="generate", messages=messages, mode=mode)
    try:
        reply = await parts.ask(call)
        proposals, _ = parse_proposals(reply.text, reply.finish_reason, count)
        if not proposals and reply.problem != "refusal" and not opened.decision.forced_cheap:
            again = again_messages(messages, reply.text, count)
            call = _call(session, parts, key=_key(opened, f"{name}/again"), role="generate", messages=again, mode=mode)
            reply = await parts.ask(call)
            proposals, _ = parse_proposals(reply.text, reply.finish_reason, count)
    except ProviderError:
        return ()
    return await verify_proposals(
        session, proposals, call.step_key, parts, source=reply.source, provider=reply.provider, model=reply.model,
        usage=reply.usage,
    )  # fmt: skip


def _call(
    session: Session, parts: Parts, *, key: str, role: str, messages: tuple[Message, ...], mode: str, turn: int = 0
) -> Call:
    config = session.config
    models: Sequence[str | None] = config.models or (config.fast_model if mode == "system1" else config.strong_model,)
    if mode == "system1" and config.fast_model:
        models = (config.fast_model,)
    return Call(
        role=role, step_key=key, model=models[turn % len(models)], messages=messages, request=session.problem.request,
        max_tokens=config.sampling_max_tokens, timeout=parts.request_timeout, deadline=parts.purse.deadline,
    )  # fmt: skip


def _key(opened: Opened, name: str) -> str:
    return f"it{opened.iteration}/{'s1' if opened.decision.mode == 'system1' else 's2'}/{name}"


def _candidate(proposal: Proposal, key: str, reply: Reply) -> Candidate:
    return Candidate(
        proposal=proposal, key=key, source=reply.source, provider=reply.provider, model=reply.model, usage=reply.usage
    )


async def _verified(session: Session, candidate: Candidate, parts: Parts) -> Candidate:
    config = session.config
    weights = Weights(rules=config.w_rules, redundancy=config.w_redundancy, consistency=config.w_consistency)
    context = Context(
        task=session.problem.task, steps=session.step_texts, checks=session.problem.checks, weights=weights
    )
    for verifier in parts.verifiers:
        candidate = await verifier.verify(candidate, context)
    return candidate
