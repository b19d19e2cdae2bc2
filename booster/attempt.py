"""One attempt at a step: generate, verify, run the beam.

Any k of N: a candidate that fails, hangs or comes malformed costs its siblings nothing. When this module's functions
return, nothing that they started is still running.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from booster.asking import (
    PATIENCE_FLOOR,
    STRAGGLER,
    any_of,
    call_of,
    candidate_of,
    checked,
    context_of,
    judge_of,
    key_of,
    matter_of,
    models_of,
)
from booster.drawing import draw_answers, sample
from booster.parts import Attempt, Parts
from booster.programs import draw_programs
from booster.prompts import again_messages, answer_messages, final_messages, step_messages
from booster.rewarding import rewarded
from booster.search import Branch, Choice, at_depth, best_head, grow, keep, open_branches
from booster.session import Opened, PooledAnswer, Session
from providers.errors import ProviderError
from providers.heuristic import heuristic_proposals
from providers.parsing import parse_proposals
from providers.types import Usage
from verifier.types import Candidate


async def attempt_step(session: Session, opened: Opened, parts: Parts) -> Attempt:
    """Generate candidates for the open iteration with a model, and verify each as it lands.

    Args:
        session: State before the iteration.
        opened: Iteration number, granularity and the decision in force.
        parts: The outside world.
    """
    if opened.granularity == "answer":
        run = parts.run_tests
        if session.config.select == "programs" and opened.decision.mode == "system2" and run is not None:
            return await draw_programs(session, opened, parts, run)
        return await draw_answers(session, opened, parts)
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
    key = key_of(opened, "template")
    templates = [
        Candidate(proposal=proposal, key=f"{key}.{number}", source="heuristic", provider="heuristic")
        for number, proposal in enumerate(proposals, 1)
    ]
    return replace(attempt, candidates=await verified_steps(session, templates, parts))


async def verified_steps(
    session: Session, candidates: Sequence[Candidate], parts: Parts, branch: Sequence[str] = ()
) -> tuple[Candidate, ...]:
    """Score and check candidates for the next step; `branch` holds the steps a beam assumes beyond the applied ones.

    A beam compares branches by their own scores: process rewards are paid for where a step is to be applied.
    """
    context = replace(context_of(session), steps=(*session.step_texts, *branch))
    found = tuple([await checked(candidate, context, parts) for candidate in candidates])
    return found if branch else await rewarded(found, context, parts)


async def run_beam(session: Session, opened: Opened, choice: Choice, parts: Parts) -> Choice:
    """Look ahead from the best heads and return the choice with the head of the best branch as its winner.

    Equal states are expanded and valued once. Costs at most `booster.search.beam_calls`.
    """
    config = session.config
    judge, matter = judge_of(session, parts), matter_of(session)

    async def value(depth: int, place: int, number: int, branch: Branch) -> tuple[int, float | None]:
        path = (*session.step_texts, *(one.proposal.text for one in branch.path))
        key = key_of(opened, f"beam{depth}.{place + 1}/value{number + 1}")
        return place, (await judge.value(matter, path, step_key=key)).value

    async def kept(depth: int, branches: Sequence[Branch]) -> tuple[Branch, ...]:
        times = at_depth(config.value_calls, depth) if len(branches) > 1 else 0
        jobs = [value(depth, place, n, branch) for place, branch in enumerate(branches) for n in range(times)]
        landed, _ = await any_of(jobs, parts)
        valued = [
            replace(branch, values=tuple(one for at, one in landed if at == place and one is not None))
            for place, branch in enumerate(branches)
        ]
        return keep(valued, at_depth(config.beam_width, depth))

    async def children(depth: int, position: int, branch: Branch) -> tuple[int, tuple[Candidate, ...]]:
        path = tuple(one.proposal.text for one in branch.path)
        grown = await _expand(session, opened, parts, f"beam{depth}.{position + 1}", path)
        return position, grown.candidates

    heads = config.top_m if at_depth(config.value_calls, 1) else min(config.top_m, at_depth(config.beam_width, 1))
    branches = await kept(1, open_branches(choice, heads))
    for depth in range(2, config.beam_depth + 1):
        jobs = [children(depth, position, branch) for position, branch in enumerate(branches)]
        landed, _ = await any_of(jobs, parts)
        branches = await kept(depth, grow(branches, dict(landed)))
    return replace(choice, winner=best_head(branches) or choice.winner)


async def final_answer(session: Session, parts: Parts) -> PooledAnswer | None:
    """Spend one call on the answer that the applied steps support; None where none came."""
    messages = final_messages(session)
    call = call_of(
        session,
        parts,
        key=final_key(session),
        role="finalize",
        messages=messages,
        model=models_of(session, "system2")[0],
    )
    landed, _ = await any_of([sample(session, call, parts, "final")], parts)
    return landed[0].answer if landed else None


def final_key(session: Session) -> str:
    """Return the key of the finalisation; another one where the session was extended and ends once more."""
    return f"it{session.iteration}/final"


async def _probe(session: Session, opened: Opened, parts: Parts) -> Attempt:
    """Make one cheap call of the kind that the iteration makes."""
    if opened.granularity == "step":
        return await _expand(session, opened, parts, "steps")
    messages = answer_messages(session.problem)
    call = call_of(
        session, parts, key=key_of(opened, "answer"), role="probe", messages=messages,
        model=models_of(session, "system1")[0],
    )  # fmt: skip
    landed, failures = await any_of([sample(session, call, parts, "sample")], parts)
    return Attempt(
        candidates=tuple(one.candidate for one in landed if one.candidate is not None),
        answers=tuple(one.answer for one in landed),
        failed=tuple(error.kind for error in failures),
    )


async def _expand(
    session: Session, opened: Opened, parts: Parts, name: str, branch: Sequence[str] = (), *, asks_again: bool = False
) -> Attempt:
    """Ask one model for alternatives to the next step, once more where the reply held none and `asks_again` is set."""
    count = _count(session, opened)
    messages = step_messages(session, count, branch)
    call = call_of(
        session, parts, key=key_of(opened, name), role="probe" if opened.is_probe else "generate", messages=messages,
        model=models_of(session, opened.decision.mode)[0],
    )  # fmt: skip
    unusable: list[str] = []
    try:
        reply = await parts.ask(call)
        proposals, reason = parse_proposals(reply.text, reply.finish_reason, count)
        if reason is not None:
            unusable.append(reply.problem or reason)
            if not asks_again or "refusal" in unusable:
                return Attempt(unusable=tuple(unusable))
            again = again_messages(messages, reply.text, count)
            call = replace(call, step_key=key_of(opened, f"{name}/again"), messages=again)
            reply = await parts.ask(call)
            proposals, reason = parse_proposals(reply.text, reply.finish_reason, count)
            unusable += [reply.problem or reason] if reason else []
    except ProviderError as error:
        return Attempt(unusable=tuple(unusable), failed=(error.kind,))
    candidates = [
        candidate_of(proposal, f"{call.step_key}.{number}", reply, reply.usage if number == 1 else Usage())
        for number, proposal in enumerate(proposals, 1)
    ]
    return Attempt(candidates=await verified_steps(session, candidates, parts, branch=branch), unusable=tuple(unusable))


def _count(session: Session, opened: Opened) -> int:
    return 1 if opened.decision.mode == "system1" else session.config.num_candidates
