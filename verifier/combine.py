"""One visible sum for every group of equal answers: votes, checks, judge, process reward, heuristic.

    score = 1.25 ln(votes) + hard + sum of b z over the opinions

in log odds, so that softmax(score) is the probability of each group. Executable checks decide before opinions do; an opinion
enters with a weight that verified outcomes have earned it (`verifier.opinion`). Where programs were run against generated,
hence noisy, tests, agreement of behaviour (`verifier.behaviour`) takes the place of the votes.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from verifier.tuned import COPY_TEMPERATURE, COPY_WEIGHT, PASS_BONUS, VOTE_WEIGHT

Basis = Literal["checks", "votes", "judge", "process", "heuristic"]
Opinion = Literal["judge", "process", "heuristic"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """What is known of one group of equal answers."""

    votes: int
    """Samples that gave it, at least 1."""
    check: bool | None = None
    """Whether it held every executable check of the user; None = none ran."""
    recall: float | None = None
    """Share in [0, 1] of wrong answers that the check finds; None = a check to be believed."""
    behaviour: float | None = None
    """Score by `verifier.behaviour.best_behaviour`, in place of the votes."""
    opinions: Mapping[Opinion, float] = field(default_factory=dict)
    """Kind of scorer -> its standardised score z (`verifier.opinion.standardise`); absent = it gave none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Terms:
    """The sum of one group, term by term, in log odds; None = nothing was said, which adds 0."""

    checks: float | None = None
    votes: float | None = None
    judge: float | None = None
    process: float | None = None
    heuristic: float | None = None

    @property
    def total(self) -> float:
        """The score."""
        return math.fsum(self.values())

    def values(self) -> list[float]:
        """Return the terms in the order of their names above, 0 for a missing one."""
        return [term or 0.0 for term in (self.checks, self.votes, self.judge, self.process, self.heuristic)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Combined:
    """Which group wins, and why."""

    terms: tuple[Terms, ...]
    """One a group."""
    winner: int | None
    """Index of the group; None where every group fails a check."""
    probabilities: tuple[float, ...]
    """softmax of the scores over the groups that are not out, 0 for those that are."""
    basis: Basis | None
    """The term by which the winner is furthest ahead of the next."""
    best_rejected: int | None = None
    """Where all are out: the one that would have won, to be shown as rejected."""


def combine(
    groups: Sequence[Group], weights: Mapping[Opinion, float] | None = None, *, temperature: float | None = None
) -> Combined:
    """Return the winner of the sum, with every term.

    A group that fails an executable check is out. No opinion outvotes a check: a group that passed one which is to be believed
    wins against groups of which that is not known, whatever their scores. Ties go to the group seen first.

    Args:
        groups: At least one, in the order first seen.
        weights: Weight b of each kind of opinion, not negative; without a weight an opinion is left out.
        temperature: Of the samples, where it is known: near-copies of one answer count less.

    Raises:
        ValueError: There is no group.
    """
    factor = COPY_WEIGHT if temperature is not None and temperature <= COPY_TEMPERATURE else VOTE_WEIGHT
    terms = tuple(_terms(group, weights or {}, factor) for group in groups)
    standing = [c for c, group in enumerate(groups) if group.check is not False]

    def rank(c: int) -> tuple[bool, float, int]:
        return groups[c].check is True and groups[c].recall is None, terms[c].total, -c

    order = sorted(standing or range(len(groups)), key=rank, reverse=True)
    if not order:
        raise ValueError("nothing to combine: no group of answers")
    if not standing:
        return Combined(
            terms=terms, winner=None, probabilities=(0.0,) * len(groups), basis=None, best_rejected=order[0]
        )
    top = max(terms[c].total for c in standing)
    odds = [math.exp(terms[c].total - top) if c in standing and top > -math.inf else 0.0 for c in range(len(groups))]
    total = math.fsum(odds)
    return Combined(
        terms=terms,
        winner=order[0],
        probabilities=tuple(
            share / total if total else 1 / len(standing) * (c in standing) for c, share in enumerate(odds)
        ),
        basis=_basis(terms[order[0]], terms[order[1]] if len(order) > 1 else Terms()),
    )


def _terms(group: Group, weights: Mapping[Opinion, float], factor: float) -> Terms:
    opinions = {kind: weights[kind] * z for kind, z in group.opinions.items() if kind in weights}
    votes = factor * math.log(group.votes) if group.behaviour is None else group.behaviour
    return Terms(checks=_hard(group), votes=votes, **opinions)


def _hard(group: Group) -> float | None:
    if not group.check:
        return None
    if group.recall is None:
        return PASS_BONUS
    return min(PASS_BONUS, -math.log(max(math.exp(-PASS_BONUS), 1 - group.recall)))


def _basis(winner: Terms, other: Terms) -> Basis:
    """Return the term by which the winner is furthest ahead; among equals the largest of its own, then the first."""
    names: tuple[Basis, ...] = ("checks", "votes", "judge", "process", "heuristic")
    said = [
        (0.0 if ours == theirs else ours - theirs, ours, -at)  # both may be -inf
        for at, (ours, theirs) in enumerate(zip(winner.values(), other.values(), strict=True))
        if getattr(winner, names[at]) is not None
    ]
    return names[-max(said)[2]]
