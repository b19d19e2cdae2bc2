"""One visible sum for every group of equal answers: votes, checks, judge, process reward, heuristic.

    score = 1.25 ln(votes) + hard + sum of b z over the opinions

in log odds, so that softmax(score) is the probability of each group. Executable checks decide before opinions do; an opinion
enters with a weight that verified outcomes have earned it (`verifier.opinion`). Where programs were run against generated,
hence noisy, tests, agreement of behaviour takes the place of the votes: after Chen et al. 2022, "CodeT", arXiv:2207.10397,
section 2.3, whose product of group size and passed tests is replaced by weighted tests and support from similar groups.
"""

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields
from typing import Literal

from verifier.tuned import (
    COPY_TEMPERATURE,
    COPY_WEIGHT,
    ENOUGH_PROGRAMS,
    FEW_PROGRAMS,
    MASS_POWER,
    MOST_PROGRAMS,
    OVERLAP_POWER,
    PASS_BONUS,
    STEADY_ROUNDS,
    VOTE_WEIGHT,
)

Basis = Literal["checks", "votes", "judge", "process", "heuristic"]
Opinion = Literal["judge", "process", "heuristic"]


def best_behaviour(
    sizes: Sequence[int],
    passed: Sequence[AbstractSet[Hashable]],
    *,
    overlap_power: float = OVERLAP_POWER,
    mass_power: float = MASS_POWER,
) -> list[float]:
    """Return a score for every group of programs that pass the same generated tests; -inf where nothing is passed.

    A test weighs as much as the share of live programs that pass it. A group scores by the weight of what it passes and by the
    programs that support it: its own and, by the overlap of the passed weight, those of similar groups. Never the most tests
    passed: among many programs that maximum finds the outlier. With fewer than `FEW_PROGRAMS` programs the score is
    ln(sqrt(size) x tests passed).

    Args:
        sizes: Programs of each group.
        passed: The tests that each group passes, one set a group.
        overlap_power: Exponent of the overlap.
        mass_power: Exponent of the passed weight.
    """
    if sum(sizes) < FEW_PROGRAMS:
        return [
            0.5 * math.log(n) + math.log(len(tests)) if tests else -math.inf
            for n, tests in zip(sizes, passed, strict=True)
        ]
    live = sum(n for n, tests in zip(sizes, passed, strict=True) if tests)
    count: Counter[Hashable] = Counter()
    for n, tests in zip(sizes, passed, strict=True):
        for test in tests:
            count[test] += n  # whole numbers: sums do not depend on the order in which a set is walked
    mass = [sum(count[test] for test in tests) for tests in passed]

    def support(c: int) -> float:
        both = (sum(count[test] for test in passed[c] & tests) for tests in passed)
        return math.fsum(
            sizes[d] * (shared / (mass[c] + mass[d] - shared)) ** overlap_power for d, shared in enumerate(both) if shared
        )

    return [
        math.log(support(c)) + mass_power * math.log(mass[c] / live) if tests else -math.inf
        for c, tests in enumerate(passed)
    ]


def winning_behaviour(sizes: Sequence[int], scores: Sequence[float]) -> int:
    """Return the index of the group that wins: the best score, then the larger, then the first seen.

    Where no group passes anything that is the largest. Inside it, take the program generated first.

    Raises:
        ValueError: There is no group.
    """
    return max(range(len(sizes)), key=lambda c: (scores[c], sizes[c], -c))


def settled(winners: Sequence[bool], programs: int) -> bool:
    """Say whether to stop drawing rounds of programs and tests.

    Args:
        winners: For each round in order, whether its winner behaved as the winner of the round before did, on the tests
            of the later one; False for the first.
        programs: Programs drawn in all.
    """
    steady = len(winners) >= STEADY_ROUNDS and all(winners[1 - STEADY_ROUNDS :])
    return programs >= MOST_PROGRAMS or (steady and programs >= ENOUGH_PROGRAMS)


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
    """Score by `best_behaviour`, in place of the votes."""
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
        return [getattr(self, term.name) or 0.0 for term in fields(self)]


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
        probabilities=tuple(share / total if total else 1 / len(standing) * (c in standing) for c, share in enumerate(odds)),
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
    names: tuple[Basis, ...] = ("checks", "votes", "judge", "process", "heuristic")
    ahead = [ours - theirs for ours, theirs in zip(winner.values(), other.values(), strict=True)]
    return names[max(range(len(names)), key=lambda at: (ahead[at], -at))]
