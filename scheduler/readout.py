"""Bayesian read-outs: how probable is it that System 1 fails, and how sure is the answer.

A head is a probit model with a Gaussian belief over its weights, scaled to agree with the logistic; it learns by moment
matching (assumed-density filtering, Opper 1998; for the probit Minka 2001, "A family of algorithms for approximate
Bayesian inference", chapter 3), with an allowance for wrong labels. A prototype mixes an affine and a quadratic head.
Plain lists and no numpy: with 4 and 10 weights the interpreter's own loops win.
"""

import math
from collections.abc import Sequence
from operator import mul

from scheduler.types import Signals

WRONG = 0.02
"""Share of labels taken to be wrong."""
CLIP_LOW, CLIP_HIGH = 0.02, 0.98
"""Predictions are limited to this range before they are held against a label."""
DRIFT = 0.002
"""Variance that every label gives back to each weight, up to its prior."""
WEIGHT_MEMORY = 0.99
WEIGHT_FLOOR = -6.0
START_WEIGHTS = (0.0, -1.5)
"""Log-weights of the affine and the quadratic head before any label."""
NEGLIGIBLE = -4.0
"""Log-weight below which a head is left out of decisions."""
FEATURES = (
    "bias",
    "criticality_hint",
    "difficulty_hint",
    "progress",
    "criticality_hint^2",
    "difficulty_hint^2",
    "progress^2",
    "criticality_hint*difficulty_hint",
    "criticality_hint*progress",
    "difficulty_hint*progress",
)
PRIOR_VARIANCE = (2.0, 16.0, 16.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0)
FIRST_MEAN = (-0.5, 1.0, 0.5, 0.0)
FRESH_MEAN = (-0.5, 0.0, 0.0, 0.0)

_EIGHTH = math.pi / 8.0
_ROOT_EIGHTH = math.sqrt(_EIGHTH)
_SQRT2 = math.sqrt(2.0)
_DENSITY = 1.0 / math.sqrt(2.0 * math.pi)


class Situation:
    """One input in the form the heads read.

    `phi`: the affine and the quadratic features, 4 and 10 numbers, each in [-1, 1] (the squares in [-.5, 1]); `outer`:
    their outer products, row by row. Both are computed once and read by every prototype.
    """

    __slots__ = ("outer", "phi")

    def __init__(self, phi: tuple[list[float], list[float]]) -> None:
        self.phi = phi
        self.outer: tuple[list[float], list[float]] = (_outer(phi[0]), _outer(phi[1]))

    @classmethod
    def of(cls, signals: Signals, *, quadratic: bool = True) -> "Situation":
        """Return the features of three signals, centred on 0; pollution is no feature, it enters the costs."""
        c = 2.0 * signals.criticality_hint - 1.0
        d = 2.0 * signals.difficulty_hint - 1.0
        p = 2.0 * signals.progress - 1.0
        affine = [1.0, c, d, p]
        if not quadratic:
            return cls((affine, []))
        third = 1.0 / 3.0
        squares = [1.5 * (c * c - third), 1.5 * (d * d - third), 1.5 * (p * p - third)]
        return cls((affine, [*affine, *squares, c * d, c * p, d * p]))

    def signed(self, signs: Sequence[float]) -> "Situation":
        """Return the situation with some features negated; `signs` holds 10 numbers, 1 or -1."""
        affine, quadratic = self.phi
        return Situation((list(map(mul, affine, signs)), list(map(mul, quadratic, signs))))


class Head:
    """A Gaussian belief over the weights of one probit model.

    Args:
        mean: The weights' means.
        variance: Their prior variances, also the upper limit of the posterior ones.
    """

    __slots__ = ("covariance", "mean", "variance")

    def __init__(self, mean: Sequence[float], variance: Sequence[float]) -> None:
        size = len(mean)
        self.mean = list(mean)
        self.variance = tuple(variance)
        self.covariance = [0.0] * (size * size)
        """Row by row; kept exactly symmetric."""
        for i, value in enumerate(self.variance):
            self.covariance[i * (size + 1)] = value

    def moments(self, phi: list[float], outer: list[float]) -> tuple[float, float]:
        """Return mean and variance of the score before squashing."""
        return sum(map(mul, self.mean, phi)), sum(map(mul, self.covariance, outer))

    def learn(self, phi: list[float], y: float, weight: float) -> None:
        """Match the moments of the posterior after a label.

        Args:
            phi: The features.
            y: Label in [0, 1]; between the ends it stands for a probability.
            weight: How much the label counts, in [0, 1].
        """
        size = len(phi)
        covariance = self.covariance
        pull = [sum(map(mul, covariance[row : row + size], phi)) for row in range(0, size * size, size)]
        scale = math.sqrt(_EIGHTH / (1.0 + _EIGHTH * sum(map(mul, pull, phi))))
        t = scale * sum(map(mul, self.mean, phi))
        lean = (1.0 - 2.0 * WRONG) * (2.0 * y - 1.0)
        evidence = WRONG * y + (1.0 - WRONG) * (1.0 - y) + lean * normal_cdf(t)
        gradient = lean * _DENSITY * math.exp(-0.5 * t * t) * scale / evidence
        curvature = min(0.0, -gradient * (t * scale + gradient))
        step = weight * gradient
        self.mean = [m + step * u for m, u in zip(self.mean, pull, strict=True)]
        if curvature:
            shrink = weight * curvature
            self.covariance = [p + shrink * o for p, o in zip(covariance, _outer(pull), strict=True)]
        self._forget(DRIFT * weight)

    def widen(self, share: float) -> None:
        """Give every weight back this share of its prior variance, at most up to the prior."""
        size = len(self.mean)
        for i, limit in enumerate(self.variance):
            at = i * (size + 1)
            self.covariance[at] = min(limit, self.covariance[at] + share * limit)

    def signed(self, signs: Sequence[float]) -> "Head":
        """Return a copy that reads features of the opposite sign where `signs` is -1."""
        copy = Head(list(map(mul, self.mean, signs)), self.variance)
        size = len(self.mean)
        copy.covariance = list(map(mul, self.covariance, _outer(list(signs[:size]))))
        return copy

    def _forget(self, amount: float) -> None:
        covariance, stride = self.covariance, len(self.mean) + 1
        at = 0
        for limit in self.variance:
            value = covariance[at] + amount
            covariance[at] = min(limit, value)
            at += stride


class Mixture:
    """An affine and a quadratic head, weighted by how well each predicted.

    Args:
        mean: Means of the affine weights; the quadratic ones start at 0.
        quadratic: False leaves the quadratic head out.
    """

    __slots__ = ("heads", "log_weights")

    def __init__(self, mean: Sequence[float] = FRESH_MEAN, *, quadratic: bool = True) -> None:
        self.heads = [Head(mean, PRIOR_VARIANCE[:4])]
        self.log_weights = [START_WEIGHTS[0]]
        if quadratic:
            self.heads.append(Head([*mean, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], PRIOR_VARIANCE))
            self.log_weights.append(START_WEIGHTS[1])

    @property
    def shares(self) -> list[float]:
        """Weights of the heads, the largest 1."""
        return [math.exp(value) for value in self.log_weights]

    @property
    def heaviest(self) -> int:
        """Index of the head with the largest weight: 0 affine, 1 quadratic."""
        return max(range(len(self.heads)), key=self.log_weights.__getitem__)

    def predict(self, x: Situation, *, floor: float = -math.inf) -> float:
        """Return the probability of failure in (0, 1); heads with a log-weight below `floor` are left out."""
        total = probability = 0.0
        for i, head in enumerate(self.heads):
            log_weight = self.log_weights[i]
            if log_weight >= floor:
                share = math.exp(log_weight)
                mean, variance = head.moments(x.phi[i], x.outer[i])
                probability += share * squash(mean, variance)
                total += share
        return probability / total

    def optimistic(self, x: Situation, beta: float) -> float:
        """Return the probability of failure in (0, 1) at `beta` standard deviations below the heaviest head's score."""
        i = self.heaviest
        mean, variance = self.heads[i].moments(x.phi[i], x.outer[i])
        return normal_cdf(_ROOT_EIGHTH * (mean - beta * math.sqrt(variance)))

    def learn(self, x: Situation, y: float, weight: float) -> None:
        """Learn one label: the heads' weights from their predictions, then the heads."""
        for i, head in enumerate(self.heads):
            mean, variance = head.moments(x.phi[i], x.outer[i])
            fit = math.log(likelihood(squash(mean, variance), y))
            self.log_weights[i] = WEIGHT_MEMORY * self.log_weights[i] + weight * fit
            head.learn(x.phi[i], y, weight)
        best = max(self.log_weights)
        self.log_weights = [max(WEIGHT_FLOOR, value - best) for value in self.log_weights]

    def signed(self, signs: Sequence[float]) -> "Mixture":
        """Return a copy that reads features of the opposite sign where `signs` is -1."""
        copy = Mixture.__new__(Mixture)
        copy.heads = [head.signed(signs) for head in self.heads]
        copy.log_weights = list(self.log_weights)
        return copy


def normal_cdf(t: float) -> float:
    """Return the standard normal distribution function."""
    return 0.5 * math.erfc(-t / _SQRT2)


def squash(mean: float, variance: float) -> float:
    """Return the expected probability of failure of a score with this mean and variance."""
    return 0.5 * math.erfc(-mean * math.sqrt(_EIGHTH / (1.0 + _EIGHTH * variance)) / _SQRT2)


def likelihood(probability: float, y: float) -> float:
    """Return how well a prediction met a label in [0, 1]; the prediction is clipped, so this lies in [.02, .98]."""
    p = CLIP_LOW if probability < CLIP_LOW else min(probability, CLIP_HIGH)
    return y * p + (1.0 - y) * (1.0 - p)


def prior_sd(x: Situation, head: int) -> float:
    """Return the standard deviation of the score under a head's prior."""
    return math.sqrt(sum(v * f * f for v, f in zip(PRIOR_VARIANCE, x.phi[head], strict=False)))


def _outer(values: list[float]) -> list[float]:
    return [a * b for a in values for b in values]
