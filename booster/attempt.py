"""One attempt at a step: generate, verify, run the beam. The loop's only concurrency lives here.

Any k of N: a candidate that fails, hangs or comes malformed costs its siblings nothing. When this module's functions
return, nothing that they started is still running.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, TypeVar

from booster.answer import read_answer
from booster.prompts import again_messages, answer_messages, final_messages, step_messages
from booster.search import Branch, Choice, best_head, extend_branches, open_branches, total
from booster.session import Decision, Mode, Opened, PooledAnswer, Session
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

    def decide(self, signals: Signals, *, noticed: bool) -> Decision:
        """Return how much thought the step deserves; `noticed`: a cheap attempt that fails would be told from one that does."""

    def report(self, decision: Decision, outcome: Outcome, *, rework: bool = False) -> Mapping[str, Any]:
        """Learn from a verified fact; return what it taught, for the journal."""

    def end_task(self, *, success: bool) -> bool:
        """Say how the task ended; return whether there was one to end."""

    async def save(self) -> Sequence[tuple[str, Mapping[str, Any]]]:
        """Make what was learnt durable; return the events to journal of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Parts:
    """Everything outside the loop that a solve needs; wired in `booster.work`."""

    ask: Ask
    purse: Purse
    judgement: Judgement
    verifiers: Sequence[Verifier]
    """Cheapest first."""
    record: Callable[..., Awaitable[Session]]
    """`await record(session, (type, data), ...)`: hand events to the journal, in one transaction, and return the session after
    them. They are durable before any reply that is asked for later is used, and before the solve ends."""
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
    unusable: tuple[str, ...] = ()
    """Why replies held no step: `not_a_list`, `empty`, `refusal`, `thinking_truncated`."""
    failed: tuple[str, ...] = ()
    """Kinds of the errors that calls ended with: `timeout`, `http_500`, `no_provider`, ..."""

    @property
    def heard(self) -> bool:
        """Somebody said something, usable or not."""
        return bool(self.candidates or self.answers or self.unusable)

    def with_earlier(self, earlier: "Attempt") -> "Attempt":
        """Join the attempt that this one escalated from: what was paid for is never thrown away."""
        return Attempt(
            candidates=(*earlier.candidates, *self.candidates),
            answers=(*earlier.answers, *self.answers),
            unusable=(*earlier.unusable, *self.unusable),
            failed=(*earlier.failed, *self.failed),
        )

    def with_proven(self, probe: "Attempt | None") -> "Attempt":
        """Take over what a cheap attempt beside this one brought, where it held a check: else it only taught the scheduler."""
        proven = probe and any(one.passed_checks and not one.failed_checks for one in probe.candidates)
        return probe.with_earlier(self) if probe and proven else self


async def attempt_step(session: Session, opened: Opened, parts: Parts) -> Attempt:
    """Generate candidates for the open iteration with a model, and verify each as it lands.

    Args:
        session: State before the iteration.
        opened: Iteration number, granularity and the decision in force.
        parts: The outside world.
    """
    if opened.granularity == "answer":
        return await _sample_answers(session, opened, parts)
    return await _expand(session, opened, parts, "steps", asks_again=not opened.decision.forced_cheap)


async def attempt_with_probe(session: Session, opened: Opened, parts: Parts) -> tuple[Attempt, Attempt | None]:
    """Make the attempt and, where the iteration asks for it, the cheap attempt beside it.

    The second of the two is no part of the first: it costs that neither a call nor time, but for `PATIENCE_FLOOR` seconds at
    the most where it is late.
    """
    if not opened.probe:
        return await attempt_step(session, opened, parts), None
    probing = asyncio.create_task(_probe(session, opened.as_probe(), parts))
    try:
        attempt = await attempt_step(session, opened, parts)
        left = PATIENCE_FLOOR
        if parts.purse.deadline is not None:
            left = min(left, max(0.0, parts.purse.deadline - asyncio.get_running_loop().time()))
        landed, _ = await asyncio.wait({probing}, timeout=left)
        return attempt, probing.result() if landed else Attempt()
    finally:
        probing.cancel(STRAGGLER)
        await asyncio.gather(probing, return_exceptions=True)


async def with_templates(session: Session, opened: Opened, attempt: Attempt, parts: Parts) -> Attempt:
    """Add the last rung where no model ever brought anything: steps that say of themselves that they are templates."""
    if attempt.candidates or attempt.answers or parts.purse.exhausted() or session.has_content:
        return attempt
    proposals = heuristic_proposals(
        session.problem.task, len(session.steps), _count(session, opened), family=session.family
    )
    key = _key(opened, "template")
    templates = [
        Candidate(proposal=proposal, key=f"{key}.{number}", source="heuristic", provider="heuristic")
        for number, proposal in enumerate(proposals, 1)
    ]
    return replace(attempt, candidates=await verified_steps(session, templates, parts))


async def verified_steps(
    session: Session, candidates: Sequence[Candidate], parts: Parts, branch: Sequence[str] = ()
) -> tuple[Candidate, ...]:
    """Score and check candidates for the next step; `branch` holds the steps a beam assumes beyond the applied ones."""
    context = replace(_context(session), steps=(*session.step_texts, *branch))
    return tuple([await _verified(candidate, context, parts) for candidate in candidates])


async def run_beam(session: Session, opened: Opened, choice: Choice, parts: Parts) -> Choice:
    """Look ahead from the best heads and return the choice with the head of the best branch as its winner.

    Costs at most `beamWidth * (beamDepth - 1)` calls.
    """
    config = session.config

    async def children(depth: int, position: int, branch: Branch) -> tuple[int, tuple[Candidate, ...]]:
        path = tuple(one.proposal.text for one in branch.path)
        grown = await _expand(session, opened, parts, f"beam{depth}.{position + 1}", path)
        return position, grown.candidates

    branches = open_branches(choice, min(config.beam_width, config.top_m))
    for depth in range(2, config.beam_depth + 1):
        jobs = [children(depth, position, branch) for position, branch in enumerate(branches)]
        landed, _ = await any_of(jobs, parts)
        branches = extend_branches(branches, dict(landed), config.beam_width)
    return replace(choice, winner=best_head(branches) or choice.winner)


async def final_answer(session: Session, parts: Parts) -> PooledAnswer | None:
    """Spend one call on the answer that the applied steps support; None where none came."""
    messages = final_messages(session)
    call = _call(session, parts, key=final_key(session), role="finalize", messages=messages, mode="system2")
    landed, _ = await any_of([_sample(session, call, parts, "final")], parts)
    return landed[0][1] if landed else None


def final_key(session: Session) -> str:
    """Return the key of the finalisation; another one where the session was extended and ends once more."""
    return f"it{session.iteration}/final"


async def any_of(jobs: Sequence[Coroutine[Any, Any, T]], parts: Parts) -> tuple[list[T], list[ProviderError]]:
    """Run jobs side by side; return what landed, in the order of arrival, and the errors of those that failed.

    Once more than half of those that did not fail have landed, the others get `PATIENCE_FACTOR` times as long as those
    took, at least `PATIENCE_FLOOR` seconds; then they are withdrawn. The deadline of the solve withdraws all.

    Raises:
        Exception: one that is no ProviderError ends the others and is raised.
    """
    loop = asyncio.get_running_loop()
    start, landed, failures = loop.time(), list[T](), list[ProviderError]()

    async def run(job: Coroutine[Any, Any, T]) -> None:
        try:
            landed.append(await job)
        except ProviderError as error:
            failures.append(error)

    tasks = [asyncio.create_task(run(job)) for job in jobs]
    pending, end, most_landed = set(tasks), parts.purse.deadline, False
    try:
        while pending:
            timeout = None if end is None else max(0.0, end - loop.time())
            done, pending = await asyncio.wait(pending, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                break
            for task in done:
                task.result()
            if not most_landed and 2 * len(landed) > len(jobs) - len(failures):
                most_landed, took = True, loop.time() - start
                patience = loop.time() + max(PATIENCE_FLOOR, PATIENCE_FACTOR * took)
                end = patience if end is None else min(end, patience)
    finally:
        for task in tasks:
            task.cancel(STRAGGLER)
        await asyncio.gather(*tasks, return_exceptions=True)
    return landed, failures


async def _sample_answers(session: Session, opened: Opened, parts: Parts) -> Attempt:
    """Draw whole answers side by side; the ledger refuses those that the budget does not allow."""
    messages = answer_messages(session.problem)
    calls = [
        _call(
            session, parts, key=_key(opened, f"answer{number + 1}"), role="generate", messages=messages,
            mode=opened.decision.mode, turn=number,
        )
        for number in range(_count(session, opened))
    ]  # fmt: skip
    landed, failures = await any_of([_sample(session, call, parts, "sample") for call in calls], parts)
    return Attempt(
        candidates=tuple(candidate for candidate, _ in landed if candidate),
        answers=tuple(answer for _, answer in landed),
        failed=tuple(error.kind for error in failures),
    )


async def _probe(session: Session, opened: Opened, parts: Parts) -> Attempt:
    """Make one cheap call of the kind that the iteration makes."""
    if opened.granularity == "step":
        return await _expand(session, opened, parts, "steps")
    messages = answer_messages(session.problem)
    call = _call(session, parts, key=_key(opened, "answer"), role="probe", messages=messages, mode="system1")
    landed, failures = await any_of([_sample(session, call, parts, "sample")], parts)
    return Attempt(
        candidates=tuple(candidate for candidate, _ in landed if candidate),
        answers=tuple(answer for _, answer in landed),
        failed=tuple(error.kind for error in failures),
    )


async def _sample(
    session: Session, call: Call, parts: Parts, origin: Literal["sample", "final"]
) -> tuple[Candidate | None, PooledAnswer]:
    """Ask for one whole answer; without a candidate where none could be read: an abstention."""
    reply = await parts.ask(call)
    proposal = read_answer(reply)
    if proposal is None:
        blank = not reply.text.strip()
        return None, PooledAnswer(key=call.step_key, answer=None, origin=origin, source=reply.source, blank=blank)
    # A check of single steps says nothing about an answer to the whole.
    context = _context(session)
    context = replace(context, checks=tuple(check for check in context.checks if check.target == "answer"))
    candidate = await _verified(_candidate(proposal, call.step_key, reply, reply.usage), context, parts)
    return candidate, pooled(candidate, origin)


def pooled(candidate: Candidate, origin: Literal["sample", "step", "final"]) -> PooledAnswer:
    """Return the candidate's answer to the whole task as it goes into the pool."""
    return PooledAnswer(
        key=candidate.key, answer=candidate.proposal.answer, origin=origin, source=candidate.source,
        checks=candidate.checks, score=total(candidate),
    )  # fmt: skip


async def _expand(
    session: Session, opened: Opened, parts: Parts, name: str, branch: Sequence[str] = (), *, asks_again: bool = False
) -> Attempt:
    """Ask one model for alternatives to the next step, once more where the reply held none and `asks_again` is set."""
    count = _count(session, opened)
    messages = step_messages(session, count, branch)
    role, mode = "probe" if opened.is_probe else "generate", opened.decision.mode
    call = _call(session, parts, key=_key(opened, name), role=role, messages=messages, mode=mode)
    unusable: list[str] = []
    try:
        reply = await parts.ask(call)
        proposals, reason = parse_proposals(reply.text, reply.finish_reason, count)
        if reason is not None:
            unusable.append(reply.problem or reason)
            if not asks_again or "refusal" in unusable:
                return Attempt(unusable=tuple(unusable))
            again = again_messages(messages, reply.text, count)
            call = replace(call, step_key=_key(opened, f"{name}/again"), messages=again)
            reply = await parts.ask(call)
            proposals, reason = parse_proposals(reply.text, reply.finish_reason, count)
            unusable += [reply.problem or reason] if reason else []
    except ProviderError as error:
        return Attempt(unusable=tuple(unusable), failed=(error.kind,))
    candidates = [
        _candidate(proposal, f"{call.step_key}.{number}", reply, reply.usage if number == 1 else Usage())
        for number, proposal in enumerate(proposals, 1)
    ]
    return Attempt(candidates=await verified_steps(session, candidates, parts, branch=branch), unusable=tuple(unusable))


def _count(session: Session, opened: Opened) -> int:
    return 1 if opened.decision.mode == "system1" else session.config.num_candidates


def _call(
    session: Session, parts: Parts, *, key: str, role: str, messages: tuple[Message, ...], mode: Mode, turn: int = 0
) -> Call:
    config = session.config
    models: Sequence[str | None] = config.models or (config.strong_model,)
    if mode == "system1":
        models = (config.fast_model,) if config.fast_model else config.models or (None,)
    return Call(
        role=role, step_key=key, model=models[turn % len(models)], messages=messages, request=session.problem.request,
        max_tokens=config.sampling_max_tokens, timeout=parts.request_timeout, deadline=parts.purse.deadline,
    )  # fmt: skip


def _key(opened: Opened, name: str) -> str:
    place = "probe" if opened.is_probe else {"system1": "s1", "system2": "s2"}[opened.decision.mode]
    return f"it{opened.iteration}/{place}/{name}"


def _candidate(proposal: Proposal, key: str, reply: Reply, usage: Usage) -> Candidate:
    """Return an unscored candidate; a call that yielded several is charged to the first."""
    return Candidate(
        proposal=proposal, key=key, source=reply.source, provider=reply.provider, model=reply.model, usage=usage
    )


def _context(session: Session) -> Context:
    config = session.config
    weights = Weights(rules=config.w_rules, redundancy=config.w_redundancy, consistency=config.w_consistency)
    problem = session.problem
    return Context(task=problem.task, steps=session.step_texts, checks=problem.checks, weights=weights)


async def _verified(candidate: Candidate, context: Context, parts: Parts) -> Candidate:
    for verifier in parts.verifiers:
        candidate = await verifier.verify(candidate, context)
    return candidate
