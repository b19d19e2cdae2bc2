"""Groups of equal answers, and what votes and opinions say of each: the evidence behind an answer. Pure.

Above: `booster.standing`, which decides what may be claimed. Below: `verifier.consensus` groups, `verifier.combine` adds up.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from booster.codec import encode
from booster.session import AnswerStatus, Evidence, PooledAnswer
from verifier.combine import Combined, Group, Opinion, combine
from verifier.consensus import vote
from verifier.errors import NoCandidatesError
from verifier.types import Verdict

AGREEING = 3
"""Equal answers that `agreed` needs; they must also be at least half of all that were drawn."""

WHOLE: Mapping[Opinion, float] = {"judge": 1.0, "process": 1.0, "heuristic": 1.0}
"""Weights of opinions that carry their weight already."""

MOST_GROUPS = 10
"""Groups of answers that the evidence lists."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ballot:
    """One group of equal answers and what speaks for it."""

    answer: str
    """As first given."""
    keys: tuple[str, ...]
    """Of its members, in the order of arrival."""
    check: bool | None = None
    """Whether its members held every check that ran on them; None = none ran."""
    opinions: Mapping[Opinion, float] = field(default_factory=dict)
    """Kind of scorer -> what it adds, in log odds."""
    confirmed: bool = False
    """A judge put it first whichever way round it was asked."""
    cut: bool = False
    """A member ended at its length before it stated anything: that the others begin alike is no agreement."""
    temperature: float | None = None
    """The lowest at which a member was drawn, as far as requests said so."""


def sum_of(ballots: Sequence[Ballot], *, checks: bool = True) -> Combined:
    """Return the one sum over groups whose opinions are weighted already.

    Args:
        ballots: At least one.
        checks: False = as if no check had run.
    """
    groups = [Group(votes=len(one.keys), check=one.check if checks else None, opinions=one.opinions) for one in ballots]
    known = [one.temperature for one in ballots if one.temperature is not None]
    return combine(groups, WHOLE, temperature=min(known, default=None))


def right(answers: Sequence[PooledAnswer]) -> bool | None:
    """Say whether equal answers are right: all checks that ran on them held; None where none ran."""
    ran = [check.outcome for one in answers for check in one.checks if check.target == "answer"]
    if "fail" in ran:
        return False
    return True if "pass" in ran else None


def groups_of(answers: Sequence[PooledAnswer]) -> tuple[tuple[str, ...], ...]:
    """Return the keys of each group of equal answers, the largest group first; nothing where there is no answer."""
    try:
        return tuple(keys for _, keys in vote([(pooled.key, pooled.answer) for pooled in answers]).groups)
    except NoCandidatesError:
        return ()


def vote_evidence(
    verdict: Verdict, votes: int, status: AnswerStatus, found: Combined, ballots: Sequence[Ballot]
) -> Evidence:
    """Return the observation that so many answers are equal, with every group and every term of its sum."""
    counts = ", ".join(f"{cut(ballot.answer, 60)}: {len(ballot.keys)}" for ballot in ballots[:5])
    groups = [
        {
            "answer": cut(ballot.answer, 200),
            "votes": len(ballot.keys),
            "terms": encode(terms),
            "share": round(share, 4),
        }
        for ballot, terms, share in zip(ballots, found.terms, found.probabilities, strict=True)
    ][:MOST_GROUPS]
    return Evidence(
        kind="votes", observed=f"{votes} of {verdict.samples} ({counts})", outcome=status,
        expected=f"at least {AGREEING} equal answers and half of all drawn", detail={"groups": groups},
    )  # fmt: skip


def ballots_of(verdict: Verdict, pool: Sequence[PooledAnswer]) -> tuple[Ballot, ...]:
    """Return the groups of a vote with the opinions of their members, the largest first."""
    members = {pooled.key: pooled for pooled in pool}
    return tuple(_ballot(answer, keys, [members[key] for key in keys]) for answer, keys in verdict.groups)


def _ballot(answer: str, keys: tuple[str, ...], group: Sequence[PooledAnswer]) -> Ballot:
    known = [one.temperature for one in group if one.temperature is not None]
    return Ballot(
        answer=answer, keys=keys, check=right(group), opinions=_opinions(group),
        confirmed=any(one.confirmed for one in group), cut=any(one.cut for one in group), temperature=min(known, default=None),
    )  # fmt: skip


def _opinions(group: Sequence[PooledAnswer]) -> dict[Opinion, float]:
    """Return what each kind of scorer adds for a group: the mean over the members that it spoke of."""
    kinds: tuple[Opinion, ...] = ("judge", "process", "heuristic")
    spoken = {kind: [one.opinions[kind] for one in group if kind in one.opinions] for kind in kinds}
    return {
        kind: sum(said["z"] * said["weight"] for said in opinions) / len(opinions)
        for kind, opinions in spoken.items()
        if opinions
    }


def cut(text: str, limit: int) -> str:
    """Return the beginning of a text, and how much is left out."""
    return text if len(text) <= limit else f"{text[:limit]}… [{len(text) - limit} more characters]"
