"""The statistics of the measurements: percentiles, bootstrap intervals, calibration. Pure; no third-party package."""

import math
from collections.abc import Callable, Sequence
from random import Random

BINS = 10
"""Bins of the calibration error."""

RESAMPLES = 2000
"""Draws of a bootstrap."""


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which a share of the values lies, interpolated linearly between neighbours.

    Args:
        values: At least one.
        share: In [0, 1]; 0.5 is the median.

    Raises:
        ValueError: there are no values, or the share is outside its range.
    """
    if not values:
        raise ValueError("a percentile of nothing")
    if not 0 <= share <= 1:
        raise ValueError(f"a share lies in [0, 1], not {share}")
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def median(values: Sequence[float]) -> float:
    """Return the middle value; of an even number, the mean of the two in the middle."""
    return percentile(values, 0.5)


def mean(values: Sequence[float]) -> float:
    """Return the arithmetic mean.

    Raises:
        ValueError: there are no values.
    """
    if not values:
        raise ValueError("a mean of nothing")
    return math.fsum(values) / len(values)


def bootstrap_interval(
    values: Sequence[float],
    *,
    statistic: Callable[[Sequence[float]], float] = mean,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> tuple[float, float]:
    """Return the percentile bootstrap interval of a statistic (Efron 1979, doi:10.1214/aos/1176344552).

    For paired arms, give the differences of the pairs.

    Args:
        values: One observation an independent unit (a task), at least one.
        statistic: Of a resample of the same size.
        level: Probability that the interval is to cover, in (0, 1).
        resamples: Draws, with replacement.
        seed: The same seed gives the same interval.
    """
    generator = Random(seed)
    drawn = [statistic(generator.choices(values, k=len(values))) for _ in range(resamples)]
    outside = (1 - level) / 2
    return percentile(drawn, outside), percentile(drawn, 1 - outside)


def calibration_error(confidences: Sequence[float], right: Sequence[bool], bins: int = BINS) -> float:
    """Return the expected calibration error: mean gap between confidence and accuracy over equally wide bins.

    Each bin weighs as much as it holds (Guo et al. 2017, arXiv:1706.04599, equation 3). A confidence on the border of two
    bins belongs to the upper one, 1.0 to the last.

    Args:
        confidences: Probabilities in [0, 1], at least one.
        right: Whether each was right; as many.
        bins: Number of bins.
    """
    _require_pairs(confidences, right)
    gaps = [0.0] * bins
    for confidence, hit in zip(confidences, right, strict=True):
        gaps[min(bins - 1, int(confidence * bins))] += confidence - hit
    return math.fsum(map(abs, gaps)) / len(confidences)


def brier_score(confidences: Sequence[float], right: Sequence[bool]) -> float:
    """Return the mean squared distance between probability and fact, in [0, 1] (Brier 1950); lower is better."""
    _require_pairs(confidences, right)
    return mean([(confidence - hit) ** 2 for confidence, hit in zip(confidences, right, strict=True)])


def _require_pairs(confidences: Sequence[float], right: Sequence[bool]) -> None:
    if not confidences or len(confidences) != len(right):
        raise ValueError(f"{len(confidences)} confidences for {len(right)} facts")
    if not all(0 <= confidence <= 1 for confidence in confidences):
        raise ValueError("a confidence outside [0, 1]")
