"""Figures of merit, from raw traces only."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean, stdev


def capture(best_trivial: float, regret: float, bayes: float) -> float:
    """Return the share of what can be gained over the best trivial arm that was gained; 1 = as good as the Bayes filter.

    Args:
        best_trivial: Regret of always-System-1 or always-System-2, whichever is lower.
        regret: Regret of the arm.
        bayes: Regret of the Bayes filter, below `best_trivial`.
    """
    return (best_trivial - regret) / (best_trivial - bayes)


def recovery_curve(estimates: Sequence[float], critical: Sequence[bool]) -> list[tuple[float, float]]:
    """Return (share of steps sent to System 2, share of critical steps among them), most critical-looking first.

    Steps of equal estimate enter together, so that their order says nothing.
    """
    order = sorted(range(len(estimates)), key=lambda i: -estimates[i])
    total = sum(critical)
    curve, found, at = [(0.0, 0.0)], 0, 0
    while at < len(order):
        end = at
        while end < len(order) and estimates[order[end]] == estimates[order[at]]:
            found += critical[order[end]]
            end += 1
        at = end
        curve.append((at / len(order), found / total))
    return curve


def apgr(curve: Sequence[tuple[float, float]]) -> float:
    """Return the average performance gap recovered: the area under the curve (RouteLLM, arXiv:2406.18665)."""
    return sum((x1 - x0) * (y0 + y1) / 2 for (x0, y0), (x1, y1) in pairwise(curve))


def cpt(curve: Sequence[tuple[float, float]], share: float) -> float:
    """Return the call-performance threshold: the share of System 2 steps that recovers this share of the gap."""
    for (x0, y0), (x1, y1) in pairwise(curve):
        if y1 >= share:
            return x0 + (x1 - x0) * (share - y0) / (y1 - y0) if y1 > y0 else x0
    return 1.0


@dataclass(frozen=True, slots=True)
class Paired:
    """How two arms compare on the same seeds."""

    mean: float
    """Mean of first minus second."""
    sd: float
    """Sample standard deviation of the differences."""
    t: float
    """t statistic with n - 1 degrees of freedom; 0 if all differences are equal."""
    p: float
    """Two-sided p-value of t."""
    wins: int
    """Seeds where the first is smaller."""
    n: int

    @property
    def effect(self) -> float:
        """Cohen's d of the differences."""
        return self.mean / self.sd if self.sd else math.inf * (1 if self.mean > 0 else -1)


def paired(first: Sequence[float], second: Sequence[float]) -> Paired:
    """Compare two arms seed by seed; at least two seeds."""
    differences = [a - b for a, b in zip(first, second, strict=True)]
    n, centre, spread = len(differences), mean(differences), stdev(differences)
    t = centre / (spread / math.sqrt(n)) if spread else 0.0
    return Paired(centre, spread, t, t_p_value(t, n - 1), sum(d < 0 for d in differences), n)


def sign_test(wins: int, losses: int) -> float:
    """Return the one-sided p-value of at least this many wins if either were equally likely."""
    n = wins + losses
    return sum(math.comb(n, k) for k in range(wins, n + 1)) / 2**n if n else 1.0


def t_p_value(t: float, freedom: int) -> float:
    """Return the two-sided p-value of Student's t, through the incomplete beta function."""
    return _incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t))


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """Return the regularised incomplete beta function by Lentz's continued fraction."""
    if x in (0.0, 1.0):
        return x
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x > (a + 1) / (a + b + 2):
        return 1.0 - _incomplete_beta(b, a, 1.0 - x)
    tiny, f, c, d = 1e-300, 1.0, 1.0, 0.0
    for i in range(400):
        m = i // 2
        if i == 0:
            numerator = 1.0
        elif i % 2 == 0:
            numerator = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        else:
            numerator = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1.0 / ((1.0 + numerator * d) or tiny)
        c = (1.0 + numerator / c) or tiny
        f *= c * d
        if abs(1.0 - c * d) < 1e-13:
            break
    return front * (f - 1.0) / a


def cheapest_at(points: Sequence[tuple[float, float]], cost: float) -> float:
    """Return the fewest misses a mixture of settings reaches at this cost.

    Args:
        points: (cost, misses) per setting.
        cost: What may be spent; must not be below the cheapest setting.

    Returns:
        The value of the lower convex hull at `cost`; `inf` below the cheapest setting.
    """
    hull: list[tuple[float, float]] = []
    for x, y in sorted(points):
        if hull and y >= hull[-1][1]:
            continue
        while len(hull) > 1 and _turns_up(hull[-2], hull[-1], (x, y)):
            hull.pop()
        hull.append((x, y))
    if cost < hull[0][0]:
        return math.inf
    for (x0, y0), (x1, y1) in pairwise(hull):
        if cost <= x1:
            return y0 + (y1 - y0) * (cost - x0) / (x1 - x0)
    return hull[-1][1]


def _turns_up(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    return (b[0] - a[0]) * (c[1] - a[1]) <= (b[1] - a[1]) * (c[0] - a[0])
