"""Replaying votes over recorded answers: what a stopping rule draws, and what it then answers."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import comb
from random import Random

from benchmarks.replay_data import Sampled
from benchmarks.statistics import bootstrap_interval, mean
from verifier.consensus import enough, next_wave, vote
from verifier.errors import NoCandidatesError

SEEDS = 20
"""Orders of the samples that every figure is the mean of."""
QUICK_SEEDS = 3
RESAMPLES = 1000

Wave = Callable[[int, int, int, int], int]
"""(votes of the leader, of the runner-up, samples drawn, cap) -> samples to draw now; 0 = stop."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """What one replay of one problem came to."""

    votes: int
    runner_up: int
    samples: int
    rounds: int
    right: bool
    """The scorer's."""


def draw(problem: Sampled, order: Sequence[int], cap: int, wave: Wave) -> Drawn:
    """Draw samples in the given order, wave by wave, until the rule says stop; then let all of them vote."""
    counts: Counter[str] = Counter()
    n = rounds = v1 = v2 = 0
    while size := wave(v1, v2, n, cap):
        for index in order[n : n + size]:
            key = problem.keys[index]
            if key is not None:
                counts[key] += 1
        n, rounds = n + size, rounds + 1
        v1, v2 = _top_two(counts)
    try:
        verdict = vote([(str(index), problem.keys[index]) for index in order[:n]], key=str)
    except NoCandidatesError:
        return Drawn(0, 0, n, rounds, False)
    winner = int(verdict.groups[0][1][0])
    return Drawn(verdict.votes, verdict.runner_up, n, rounds, problem.right[winner])


def orders(problem: Sampled, seeds: int) -> Iterator[list[int]]:
    """Yield one order of the samples a seed; the same for every rule, so that rules are compared in pairs."""
    for seed in range(seeds):
        order = list(range(len(problem.keys)))
        Random(f"{seed} {problem.id}").shuffle(order)
        yield order


def fixed(size: int) -> Wave:
    """Return the rule that draws `size` samples at once, whatever they say."""
    return lambda v1, v2, n, cap: size if n == 0 else 0


def by_lead(lead: int, wave_size: int) -> Wave:
    """Return the shipped rule; with `wave_size` 1 no sample is drawn that it might not need."""
    return lambda v1, v2, n, cap: next_wave(v1, v2, n, cap, cap - n, wave_size=wave_size, lead=lead)


def even_waves(lead: int, size: int) -> Wave:
    """Return the shipped stopping rule in waves that are all of one size, the first one too."""
    return lambda v1, v2, n, cap: 0 if enough(v1, v2, n, cap, lead) else min(size, cap - n)


def by_beta(threshold: float) -> Wave:
    """Return adaptive consistency (arXiv:2305.11860): stop at P(leader beats runner-up) >= threshold, uniform prior."""
    return lambda v1, v2, n, cap: int(n < cap and (n == 0 or beats(v1, v2) < threshold))


def beats(v1: int, v2: int) -> float:
    """Return P(p > 1/2) for p distributed as Beta(v1 + 1, v2 + 1), in closed form."""
    n = v1 + v2 + 1
    return sum(comb(n, i) for i in range(v1 + 1)) / float(2**n)


def paired(ours: Sequence[float], theirs: Sequence[float]) -> str:
    """Return `difference [low, high]` in percentage points, over problems; the interval is a paired bootstrap's, 95 %."""
    low, high = bounds(ours, theirs)
    return f"{100 * (mean(ours) - mean(theirs)):+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"


def bounds(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % paired bootstrap interval of the mean difference, over problems."""
    return bootstrap_interval([a - b for a, b in zip(ours, theirs, strict=True)], resamples=RESAMPLES)


def spread(values: Sequence[float]) -> float:
    """Return the standard deviation."""
    center = mean(values)
    return math.sqrt(mean([(value - center) ** 2 for value in values]))


def _top_two(counts: Counter[str]) -> tuple[int, int]:
    first, second, *_ = (*(count for _, count in counts.most_common(2)), 0, 0)
    return first, second
