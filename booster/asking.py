"""Asking a model for one thing, and several side by side: calls as the loop words them, and any k of N.

When a function of this module returns, nothing that it started is still running. Above: `booster.attempt`, `booster.drawing`.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from booster.parts import Parts
from booster.session import Mode, Opened, Session
from providers.errors import ProviderError
from providers.types import Call, Message, Proposal, Reply, Usage
from verifier.judge import Judge
from verifier.judge_prompts import Matter
from verifier.types import Candidate, Context, Weights

T = TypeVar("T")

PATIENCE_FLOOR = 2.0
"""Seconds that stragglers get at the least once most candidates have landed."""

PATIENCE_FACTOR = 3.0
"""Stragglers may take this many times as long as most candidates took."""

GRACE = 0.01
"""Seconds after the deadline of the solve, at which calls end by themselves, until what is left is withdrawn."""

STRAGGLER = "straggler"
"""Why a call was withdrawn: its siblings had long landed."""


async def any_of(
    jobs: Sequence[Coroutine[Any, Any, T]], parts: Parts, satisfied: Callable[[Sequence[T]], bool] | None = None
) -> tuple[list[T], list[ProviderError]]:
    """Run jobs side by side; return what landed, in the order of arrival, and the errors of those that failed.

    Once more than half of those that did not fail have landed, or what has landed is enough, the others get
    `PATIENCE_FACTOR` times as long as those took, at least `PATIENCE_FLOOR` seconds; then they are withdrawn. The deadline
    of the solve withdraws all.

    Args:
        jobs: What to run.
        parts: Whose deadline holds.
        satisfied: Asked after each arrival: whether what has landed is enough. The others are paid for: they are not
            withdrawn at once, since most servers bill a call that is cancelled.

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

    # One event and at most two timers for all: `asyncio.wait` would set up each of its rounds anew.
    news, late = asyncio.Event(), False

    def ring() -> None:
        nonlocal late
        late = True
        news.set()

    deadline, patience = parts.purse.deadline, None
    alarm = None if deadline is None else loop.call_at(deadline + GRACE, ring)
    tasks = [asyncio.create_task(run(job)) for job in jobs]
    for task in tasks:
        task.add_done_callback(lambda _: news.set())
    try:
        while not late and not all(task.done() for task in tasks):
            await news.wait()
            news.clear()
            for task in tasks:
                if task.done():
                    task.result()
            if patience is None and (
                2 * len(landed) > len(jobs) - len(failures)
                or (satisfied is not None and bool(landed) and satisfied(landed))
            ):
                now = loop.time()
                patience = loop.call_at(now + max(PATIENCE_FLOOR, PATIENCE_FACTOR * (now - start)), ring)
    finally:
        for timer in filter(None, (alarm, patience)):
            timer.cancel()
        await _withdraw(tasks)
    return landed, failures


async def _withdraw(tasks: Sequence["asyncio.Task[None]"]) -> None:
    """Withdraw what is still under way and return when it has ended; what a task broke off with is looked at."""
    for task in tasks:
        task.cancel(STRAGGLER)
    if not all(task.done() and not task.cancelled() and task.exception() is None for task in tasks):
        await asyncio.gather(*tasks, return_exceptions=True)


def call_of(
    session: Session, parts: Parts, *, key: str, role: str, messages: tuple[Message, ...], model: str | None
) -> Call:
    """Return the call as the session's options and the request of its client have it."""
    return Call(
        role=role, step_key=key, model=model, messages=messages, request=session.problem.request,
        max_tokens=None if session.problem.verbatim else session.config.sampling_max_tokens, timeout=parts.request_timeout, deadline=parts.purse.deadline,
    )  # fmt: skip


def judge_of(session: Session, parts: Parts) -> Judge:
    """Return the judge of a solve; without a `judgeModel` the model that answers judges itself."""
    config = session.config
    return Judge(
        ask=parts.ask, model=config.judge_model or config.strong_model, attempt_seconds=parts.request_timeout,
        seconds=parts.request_timeout, deadline=parts.purse.deadline,
    )  # fmt: skip


def matter_of(session: Session) -> Matter:
    """Return what candidates are judged against."""
    return Matter(task=session.problem.task, messages=session.problem.messages)


def models_of(session: Session, mode: Mode) -> Sequence[str | None]:
    """Return the models that take turns; None = the endpoint's own."""
    config = session.config
    if mode == "system1":
        return (config.fast_model,) if config.fast_model else config.models or (None,)
    return config.models or (config.strong_model,)


def key_of(opened: Opened, name: str) -> str:
    """Return the logical name of a call: iteration, system or probe, what for."""
    place = "probe" if opened.is_probe else {"system1": "s1", "system2": "s2"}[opened.decision.mode]
    return f"it{opened.iteration}/{place}/{name}"


def is_deliberate(key: str) -> bool:
    """Say whether a key of `key_of` belongs to System 2; its cheap sibling is exactly one call."""
    return "/s2/" in key


def candidate_of(proposal: Proposal, key: str, reply: Reply, usage: Usage) -> Candidate:
    """Return an unscored candidate; a call that yielded several is charged to the first."""
    return Candidate(
        proposal=proposal, key=key, source=reply.source, provider=reply.provider, model=reply.model, usage=usage
    )


def context_of(session: Session) -> Context:
    """Return what verifiers may look at."""
    config = session.config
    weights = Weights(rules=config.w_rules, redundancy=config.w_redundancy, consistency=config.w_consistency)
    problem = session.problem
    return Context(task=problem.task, steps=session.step_texts, checks=problem.checks, weights=weights)


def answer_context(session: Session) -> Context:
    """Return the same for answers to the whole task: a check of single steps says nothing about them."""
    context = context_of(session)
    if not context.checks:
        return context
    return replace(context, checks=tuple(check for check in context.checks if check.target == "answer"))


async def verified(candidate: Candidate, context: Context, parts: Parts) -> Candidate:
    """Let every verifier add what it finds to a whole answer, cheapest first; the reward of its steps where System 2 drew it."""
    candidate = await checked(candidate, context, parts)
    if parts.reward is None or not is_deliberate(candidate.key):
        return candidate
    return await parts.reward.of_answer(candidate, context)


async def checked(candidate: Candidate, context: Context, parts: Parts) -> Candidate:
    """Let every verifier that asks no model add what it finds."""
    for verifier in parts.verifiers:
        candidate = await verifier.verify(candidate, context)
    return candidate


async def unless_withdrawn(opinion: Coroutine[Any, Any, T]) -> T | None:
    """Return an opinion on what has landed; None where the time of `any_of` ends first: then only the opinion is lost."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():  # withdrawn during an earlier opinion, which was lost in the same way
        opinion.close()
        return None
    try:
        return await opinion
    except asyncio.CancelledError as withdrawn:
        if withdrawn.args != (STRAGGLER,):
            raise
        return None
