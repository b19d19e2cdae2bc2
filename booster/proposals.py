"""Candidates that the calling program proposes: checked, scored and selected like a model's, without a key."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from booster.attempt import Parts, verify_proposals
from booster.session import Session
from providers.caller import caller_proposals
from verifier.checks import parse_check
from verifier.types import Candidate


async def caller_candidates(
    session: Session, given: Sequence[Mapping[str, Any]], parts: Parts
) -> tuple[Candidate, ...]:
    """Return verified candidates for `proposals[] {text, rationale, answer?, checks?}`; a proposal's own checks join the task's.

    Raises:
        ProviderError: a proposal is malformed; the text names it.
        CheckError: one of its checks is.
    """
    found: list[Candidate] = []
    for number, given_one in enumerate(caller_proposals(given) if given else (), 1):
        own = [
            replace(parse_check(check), id=f"proposal{number}.check{place}")
            for place, check in enumerate(given_one.checks, 1)
        ]
        problem = replace(session.problem, checks=(*session.problem.checks, *own))
        key = f"it{session.iteration + 1}/caller{number}"
        found += await verify_proposals(
            replace(session, problem=problem), [given_one.proposal], key, parts, source="caller", provider="caller"
        )
    return tuple(found)
