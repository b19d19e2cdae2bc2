"""Quality over cost of a router: its curve, the area under it, and what it needs for a part of the gap. Pure.

APGR and CPT as in RouteLLM (Ong et al. 2024, arXiv:2406.18665, section 3.2): the area under the share of the gap between the weak
and the strong model that is recovered, over the share of strong calls; and the least share of strong calls that recovers
half, or four fifths, of it.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

REQUIRED = (
    "always cheap",
    "always strong",
    "random mixture",
    "prompt length",
    "share of 5 >= .6",
    "share of 5 >= .8",
    "two agree",
    "three agree",
    "oracle",
)
"""Rows without which a table of routers says nothing."""


@dataclass(frozen=True, slots=True)
class Point:
    """One way to run a router."""

    strong: float
    """Share of questions in [0, 1] for which the strong model is called."""
    recovered: float
    """Share of the gap that is recovered; may leave [0, 1]."""
    cost: float
    """Price of the calls a question, in cheap calls."""


def require_companions(rows: Collection[str]) -> None:
    """Refuse a table that leaves out what a result has to be held against.

    Raises:
        ValueError: Rows are missing; the text names them.
    """
    missing = [name for name in REQUIRED if name not in rows]
    if missing:
        raise ValueError(f"a table of routers without {', '.join(missing)}")


def curve(points: Sequence[Point], strong_price: float) -> list[Point]:
    """Return points in the order of strong calls, between always cheap and always strong.

    Two neighbours can be mixed at random, so everything on the line between them can be had.
    """
    ends = (Point(0.0, 0.0, 1.0), Point(1.0, 1.0, strong_price))
    inner = sorted((point for point in points if 0 < point.strong < 1), key=lambda point: point.strong)
    return [ends[0], *inner, ends[1]]


def apgr(line: Sequence[Point]) -> float:
    """Return the area under the recovered share; .5 for a random mixture, above 1 is possible."""
    return sum((b.strong - a.strong) * (a.recovered + b.recovered) / 2 for a, b in pairwise(line))


def strong_for(line: Sequence[Point], share: float) -> float | None:
    """Return the least share of strong calls that recovers `share` of the gap, or None."""
    return _first(line, share, lambda point: point.strong)


def cost_for(line: Sequence[Point], share: float) -> float | None:
    """Return the price a question, in cheap calls, at the first point of the line that recovers `share` of the gap."""
    return _first(line, share, lambda point: point.cost)


def _first(line: Sequence[Point], share: float, what: Callable[[Point], float]) -> float | None:
    for a, b in pairwise(line):
        if a.recovered >= share:
            return what(a)
        if b.recovered >= share:
            t = (share - a.recovered) / (b.recovered - a.recovered)
            return what(a) + t * (what(b) - what(a))
    return None
