"""Choosing among many programs by generated tests, of which many are wrong themselves. Pure.

Programs that pass the same tests are one group: one behaviour. After Chen et al. 2022, "CodeT: Code Generation with Generated
Tests", arXiv:2207.10397, section 2.3, whose product of group size and passed tests is replaced by tests weighted by who passes
them, and by support from groups that behave alike. Tests that a user gives are no noise and come before all of this: a
program that fails one is not among the groups.
"""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from collections.abc import Set as AbstractSet

from verifier.tuned import (
    ENOUGH_PROGRAMS,
    FEW_PROGRAMS,
    MASS_POWER,
    MOST_PROGRAMS,
    OVERLAP_POWER,
    STEADY_ROUNDS,
)


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
    weigh = _weigher(count)
    bit = {test: 1 << at for at, test in enumerate(count)}
    masks = [sum(bit[test] for test in tests) for tests in passed]
    mass = [weigh(mask) for mask in masks]
    support: list[list[float]] = [[] for _ in passed]
    for c in range(len(passed)):
        for d in range(c, len(passed)):
            if shared := weigh(masks[c] & masks[d]):
                overlap = (shared / (mass[c] + mass[d] - shared)) ** overlap_power
                support[c].append(sizes[d] * overlap)
                if d != c:
                    support[d].append(sizes[c] * overlap)
    return [
        math.log(math.fsum(support[c])) + mass_power * math.log(mass[c] / live) if tests else -math.inf
        for c, tests in enumerate(passed)
    ]


def winning_behaviour(sizes: Sequence[int], scores: Sequence[float]) -> int:
    """Return the index of the group that wins: the best score, then the larger, then the first seen.

    Where no group passes anything that is the largest. Inside it, take the program generated first.

    Raises:
        ValueError: There is no group.
    """
    return max(range(len(sizes)), key=lambda c: (scores[c], sizes[c], -c))


def settled(winners: Sequence[bool], programs: int, *, rounds: int = STEADY_ROUNDS) -> bool:
    """Say whether to stop drawing rounds of programs and tests.

    Args:
        winners: For each round in order, whether its winner behaved as the winner of the round before did, on the tests
            of the later one; False for the first.
        programs: Programs drawn in all.
        rounds: Rounds that the same behaviour must win in a row, at least 2.
    """
    steady = len(winners) >= rounds and all(winners[1 - rounds :])
    return programs >= MOST_PROGRAMS or (steady and programs >= ENOUGH_PROGRAMS)


def _weigher(count: Counter[Hashable]) -> Callable[[int], int]:
    """Return what a set of tests weighs, given as a bit mask in the order of `count`.

    The counts are taken in binary, one mask for each power of two, so that a pair of groups costs some ten operations.
    """
    powers = max(count.values(), default=0).bit_length()
    planes = [sum(1 << at for at, n in enumerate(count.values()) if n >> k & 1) for k in range(powers)]
    return lambda mask: sum((mask & plane).bit_count() << k for k, plane in enumerate(planes))
