"""Candidates that the calling program proposes: checked, scored and selected like a model's, without a key."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from booster.attempt import verified_steps
from booster.errors import UsageError
from booster.parts import Parts
from booster.session import Session
from providers.caller import caller_proposals
from providers.types import Proposal
from verifier.checks import parse_check
from verifier.errors import CheckError
from verifier.types import Candidate, Check


@dataclass(frozen=True, kw_only=True, slots=True)
class Given:
    """A proposal of the caller with the checks it brings along."""

    proposal: Proposal
    checks: tuple[Check, ...] = ()


def read_proposals(items: Sequence[Mapping[str, Any]]) -> tuple[Given, ...]:
    """Read `proposals[] {text, rationale, answer?, checks?}` before anything is done with them; none is fine, too.

    Raises:
        UsageError: one of them, or one of its checks, is malformed; the text names it.
    """
    if isinstance(items, list | tuple) and not items:
        return ()
    try:
        found = caller_proposals(items)
    except ValueError as error:
        raise UsageError(str(error), field="proposals") from None
    return tuple(
        Given(
            proposal=proposed.proposal,
            checks=tuple(_check(number, place, check) for place, check in enumerate(proposed.checks, 1)),
        )
        for number, proposed in enumerate(found, 1)
    )


async def caller_candidates(session: Session, given: Sequence[Given], parts: Parts) -> tuple[Candidate, ...]:
    """Return verified candidates; a proposal's own checks join the task's."""
    found: list[Candidate] = []
    for number, one in enumerate(given, 1):
        problem = replace(session.problem, checks=(*session.problem.checks, *one.checks))
        key = f"it{session.iteration + 1}/caller{number}"
        candidate = Candidate(proposal=one.proposal, key=key, source="caller", provider="caller")
        found += await verified_steps(replace(session, problem=problem), [candidate], parts)
    return tuple(found)


def _check(number: int, place: int, spec: Mapping[str, Any]) -> Check:
    try:
        return replace(parse_check(spec), id=f"proposal{number}.check{place}")
    except CheckError as error:
        raise UsageError(f"proposals[{number - 1}].checks[{place - 1}]: {error}", field="proposals") from None
