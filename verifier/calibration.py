"""From agreement to a probability: a logistic curve that learns online from verified outcomes.

Vote shares are no probabilities: over recorded answers their calibration error is 25 %, that of the curve 4 %. Two numbers
describe the curve, three the precision with which they are known. Each outcome is one Newton step of a Bayesian logistic
regression with a Gaussian prior (the Laplace approximation kept up to date label by label: Spiegelhalter and Lauritzen 1990,
doi:10.1002/net.3230200507).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from verifier.tuned import LABELS_NEEDED, LEAST_SLOPE, SLOPE

_EDGE = 1e-4
"""Shares are kept this far from 0 and 1, so that their log odds stay finite."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Calibration:
    """Probability that an answer is right, by how many samples agree on it; five numbers."""

    a: float = 0.0
    """Intercept, in log odds."""
    b: float = SLOPE
    """Slope over the log odds of the share, at least `LEAST_SLOPE`."""
    h_aa: float = 1.0
    h_ab: float = 0.0
    h_bb: float = 1.0
    """Precision matrix of (a, b): symmetric, positive definite."""

    def p(self, v1: int, n: int) -> float:
        """Return the probability in (0, 1) for `v1` equal answers among `n` samples drawn."""
        return self.p_at(evidence(v1, n))

    def p_at(self, x: float) -> float:
        """Return the probability in (0, 1) at evidence `x`, in log odds of any scale."""
        return sigmoid(self.a + self.b * x)

    def learn(self, v1: int, n: int, y: bool, w: float = 1.0) -> "Calibration":
        """Return the state after one outcome.

        Args:
            v1: Votes of the answer.
            n: Samples drawn, abstentions included.
            y: Whether the answer was right.
            w: Weight of the label, not negative; 1 is one certain outcome.
        """
        return self.learn_at(evidence(v1, n), y, w)

    def learn_at(self, x: float, y: bool, w: float = 1.0) -> "Calibration":
        """Return the state after one outcome at evidence `x`."""
        z = self.p_at(x)
        curvature = w * z * (1 - z)
        h_aa, h_ab, h_bb = self.h_aa + curvature, self.h_ab + curvature * x, self.h_bb + curvature * x * x
        determinant = h_aa * h_bb - h_ab * h_ab
        error = w * (y - z)
        return Calibration(
            a=self.a + error * (h_bb - h_ab * x) / determinant,
            b=max(LEAST_SLOPE, self.b + error * (h_aa * x - h_ab) / determinant),
            h_aa=h_aa,
            h_ab=h_ab,
            h_bb=h_bb,
        )

    def dump(self) -> list[float]:
        """Return the five numbers, for JSON; `load` takes them back without loss."""
        return [self.a, self.b, self.h_aa, self.h_ab, self.h_bb]

    @classmethod
    def load(cls, numbers: Sequence[float]) -> "Calibration":
        """Return the state that was dumped.

        Raises:
            ValueError: These are not five finite numbers that `dump` can have written.
        """
        if len(numbers) != 5 or any(isinstance(x, bool) or not isinstance(x, (int, float)) for x in numbers):
            raise ValueError("a calibration is five numbers: a, b and the precisions aa, ab, bb")
        a, b, h_aa, h_ab, h_bb = map(float, numbers)
        if not all(map(math.isfinite, (a, b, h_aa, h_ab, h_bb))):
            raise ValueError("a calibration of numbers that are not finite")
        if b < LEAST_SLOPE or h_aa <= 0 or h_aa * h_bb - h_ab * h_ab <= 0:
            raise ValueError(f"no calibration: b is at least {LEAST_SLOPE}, the precision matrix positive definite")
        return cls(a=a, b=b, h_aa=h_aa, h_ab=h_ab, h_bb=h_bb)


def confidence(calibration: Calibration, labels: int, v1: int, n: int) -> tuple[float, bool]:
    """Return what may be reported of an answer, and whether it is calibrated.

    With fewer than `LABELS_NEEDED` labels it is the plain v1 / (n + 1), which no label has confirmed.

    Args:
        calibration: State learnt from verified outcomes, never from opinions.
        labels: Outcomes it has learnt from.
        v1: Votes of the answer.
        n: Samples drawn, abstentions included.
    """
    if labels < LABELS_NEEDED:
        return v1 / (n + 1), False
    return calibration.p(v1, n), True


def combined_confidence(calibration: Calibration, labels: int, share: float) -> tuple[float, bool]:
    """Return what may be reported of the winner of a sum of votes and opinions, and whether it is calibrated.

    Args:
        calibration: Learnt from verified outcomes of such winners alone.
        labels: Outcomes it has learnt from.
        share: P(winner) in [0, 1] by `verifier.combine`; with fewer than `LABELS_NEEDED` labels it is returned as it is.
    """
    if labels < LABELS_NEEDED:
        return share, False
    return calibration.p_at(log_odds(share)), True


def evidence(v1: int, n: int) -> float:
    """Return the log odds of v1 / (n + 1): one imagined sample more has voted for another answer.

    Raises:
        ValueError: There are more votes than samples, or fewer than none.
    """
    if not 0 <= v1 <= n:
        raise ValueError(f"{v1} votes among {n} samples")
    return log_odds(v1 / (n + 1))


def log_odds(share: float) -> float:
    """Return ln(share / (1 - share)) of a share in [0, 1], kept 1e-4 away from its ends."""
    share = min(1 - _EDGE, max(_EDGE, share))
    return math.log(share / (1 - share))


def sigmoid(x: float) -> float:
    """Return 1 / (1 + exp(-x)) without overflow."""
    if x >= 0:
        return 1 / (1 + math.exp(-x))
    return math.exp(x) / (1 + math.exp(x))
