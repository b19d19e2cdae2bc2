"""What opinions are worth: judges, process rewards and heuristics on one scale, with weights that outcomes have earned.

An opinion is a score z of a candidate in standard deviations of its scorer. Its weight b in the sum (`verifier.combine`) starts
at that of a scorer that is right in 60 % of pairs, and follows verified outcomes from there, so that a useless judge ends
near nothing and a good one well above the votes. Pairwise verdicts in both orders: Zheng et al. 2023, arXiv:2306.05685,
section 3.4; their sum keeps more than a tie at every disagreement does.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from verifier.calibration import sigmoid
from verifier.tuned import (
    OPINION_LIMIT,
    OPINION_OUTCOMES,
    OPINION_PRECISION,
    OPINION_WEIGHT,
    SCALE_CLIP,
    SCALE_NEEDED,
    SCALE_WINDOW,
)

Side = Literal[-1, 0, 1]
"""A verdict on a pair from the view of one candidate: it loses, ties or wins."""


def standardise(scores: Sequence[float], history: Sequence[float] = ()) -> list[float]:
    """Return z = (score - mean) / sd, clipped to +-`SCALE_CLIP`; all 0 where the scores do not differ.

    Mean and population standard deviation are those of the last `SCALE_WINDOW` scores of the same verifier, or of the task's own
    scores where fewer than `SCALE_NEEDED` came before. Changing the scorer's unit or zero changes nothing.

    Args:
        scores: Of the candidates of one task, in any unit; higher is better.
        history: The verifier's earlier scores, oldest first.

    Raises:
        ValueError: A score is not finite.
    """
    reference = history[-SCALE_WINDOW:] if len(history) >= SCALE_NEEDED else scores
    if not all(map(math.isfinite, (*scores, *reference))):
        raise ValueError("a score that is not finite")
    if not scores or min(reference) == max(reference):
        return [0.0] * len(scores)
    mean = math.fsum(reference) / len(reference)
    sd = math.sqrt(math.fsum([(score - mean) ** 2 for score in reference]) / len(reference))
    if sd == 0:  # differences too small to square
        return [0.0] * len(scores)
    return [min(SCALE_CLIP, max(-SCALE_CLIP, (score - mean) / sd)) for score in scores]


@dataclass(frozen=True, kw_only=True, slots=True)
class OpinionWeight:
    """Weight of one scorer, per model and kind of task."""

    b: float = OPINION_WEIGHT
    """Log odds per unit of z, not negative; at most `OPINION_LIMIT` before `OPINION_OUTCOMES` outcomes."""
    precision: float = OPINION_PRECISION
    """Of b; 1 / variance."""
    outcomes: int = 0
    """Verified outcomes learnt from."""

    def learn(self, z_right: float, z_other: float) -> "OpinionWeight":
        """Return the weight after a verified outcome: one logistic step on z(right) - z(best other).

        Args:
            z_right: The scorer's z of the candidate that was verified as right.
            z_other: Its z of the best other candidate, by the whole sum.
        """
        x = z_right - z_other
        right = sigmoid(self.b * x)
        precision = self.precision + right * (1 - right) * x * x
        b = max(0.0, self.b + (1 - right) * x / precision)
        outcomes = self.outcomes + 1
        return OpinionWeight(
            b=min(OPINION_LIMIT, b) if outcomes < OPINION_OUTCOMES else b, precision=precision, outcomes=outcomes
        )

    def dump(self) -> list[float]:
        """Return [b, precision, outcomes], for JSON."""
        return [self.b, self.precision, self.outcomes]

    @classmethod
    def load(cls, numbers: Sequence[float]) -> "OpinionWeight":
        """Return the weight that was dumped.

        Raises:
            ValueError: These are not three numbers that `dump` can have written.
        """
        if len(numbers) != 3 or not all(math.isfinite(x) for x in numbers):
            raise ValueError("the weight of an opinion is three numbers: b, precision, outcomes")
        b, precision, outcomes = numbers
        if b < 0 or precision <= 0 or outcomes < 0 or outcomes != int(outcomes):
            raise ValueError("the weight of an opinion: b and outcomes are not negative, the precision is positive")
        return cls(b=float(b), precision=float(precision), outcomes=int(outcomes))


def may_change_the_winner(weight: float, gap: float) -> bool:
    """Say whether asking a judge can pay: its weight times 2 exceeds the gap.

    Args:
        weight: Weight b of the judge.
        gap: Score of the best group minus that of the second, not negative; inf where there is no second.
    """
    return 2 * abs(weight) > gap


def pair_score(first: Side, second: Side | None = None) -> float:
    """Return the score of one candidate against one opponent, in [-1, 1]: the mean of the verdicts in both orders.

    Args:
        first: Verdict with the candidate shown first or second, from the candidate's view.
        second: Verdict with the places exchanged, from the same view; None = not asked, which counts as a tie.
    """
    return (first + (second or 0)) / 2


def opinion_of(pairs: Sequence[float]) -> float | None:
    """Return z of a pairwise judge: the mean of the scores over the opponents met, in [-1, 1]; None where it met none."""
    return math.fsum(pairs) / len(pairs) if pairs else None


def second_order_may_change_the_winner(weight: float, gap: float, first: Side) -> bool:
    """Say whether to ask the second order: only where the first verdict, taken alone, would overturn the winner.

    Args:
        weight: Weight b of the judge.
        gap: Score of the leader minus that of its opponent before the judge, not negative.
        first: Verdict from the view of the leader.
    """
    return gap + 2 * weight * first < 0
