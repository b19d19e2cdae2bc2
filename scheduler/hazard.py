"""Which regime is at work: a sticky hidden Markov filter, averaged over how often rules change.

How often a rule changes is not estimated but averaged over (Adams & MacKay 2007, arXiv:0710.3742, treat a known rate):
one filter per pair of rates, one rate for a change between tasks and one for a change within, weighted by how well each
pair predicted the labels.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul

TASK_RATES = (0.01, 0.1, 0.4)
"""Probabilities of a change of regime at the start of a task."""
STEP_RATES = (0.002, 0.015, 0.06)
"""Probabilities of a change of regime between two labels within a task."""
PAIRS = tuple((task, step) for task in TASK_RATES for step in STEP_RATES)
MEMORY = 0.99
"""Exponent that lets old evidence about the rates fade."""


@dataclass(slots=True)
class Belief:
    """Posterior over the regimes of one session, one row per pair of rates, one column per regime."""

    rows: list[list[float]]

    def add(self, share: float) -> None:
        """Append a regime that takes this share of the probability."""
        for row in self.rows:
            row[:] = [value * (1.0 - share) for value in row]
            row.append(share)

    def drop(self, index: int) -> None:
        """Forget a regime; its probability goes to the others in proportion."""
        for row in self.rows:
            del row[index]
            total = sum(row)
            row[:] = [value / total for value in row] if total > 0.0 else [1.0 / len(row) for _ in row]

    def mean(self, weights: Sequence[float]) -> list[float]:
        """Return the posterior averaged over the pairs; sums to 1."""
        return [sum(map(mul, weights, column)) for column in zip(*self.rows, strict=True)]


def arrival_shares(use: Sequence[float]) -> list[float]:
    """Return the probability that a change leads to each regime, from how much each has been used; sums to 1."""
    total = sum(use) + len(use)
    return [(value + 1.0) / total for value in use]


def propagate(rows: Sequence[Sequence[float]], rates: Sequence[float], arrivals: Sequence[float]) -> list[list[float]]:
    """Return the priors before the next label: with the rate of its row, the regime changes to another one.

    Args:
        rows: Posterior per pair of rates, each row summing to 1.
        rates: The probability of a change that holds for each row.
        arrivals: Where changes lead, summing to 1.
    """
    if len(arrivals) == 1:
        return [[1.0] for _ in rows]
    leaving = [1.0 / (1.0 - share) for share in arrivals]
    priors = []
    for row, rate in zip(rows, rates, strict=True):
        outflow = list(map(mul, row, leaving))
        total = sum(outflow)
        stay = 1.0 - rate
        priors.append(
            [
                stay * value + rate * share * (total - own)
                for value, share, own in zip(row, arrivals, outflow, strict=True)
            ]
        )
    return priors


def condition(
    priors: Sequence[Sequence[float]], weights: Sequence[float], likelihoods: Sequence[float]
) -> tuple[list[list[float]], list[float]]:
    """Return posteriors per pair and new weights of the pairs, after one label.

    Args:
        priors: Probability of each regime per pair, each row summing to 1.
        weights: Probability of each pair, summing to 1; kept as they are with a single regime.
        likelihoods: Of the label under each regime.
    """
    posteriors, evidence = [], []
    for prior in priors:
        joint = list(map(mul, prior, likelihoods))
        z = sum(joint)
        evidence.append(z)
        posteriors.append([value / z for value in joint])
    if len(likelihoods) == 1:
        return posteriors, list(weights)
    scores = [weight**MEMORY * z for weight, z in zip(weights, evidence, strict=True)]
    total = sum(scores)
    return posteriors, [score / total for score in scores]
