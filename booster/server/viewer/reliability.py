"""Predictions held against what came of them: the plot on the scheduler's page. Pure."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from markupsafe import Markup

from booster.server.viewer.svg import drawing, element

SIZE: Final = 240
"""Pixels of each side of the field."""

_LEFT, _BOTTOM, _ROOM = 40, 34, 10


def reliability(bins: Sequence[Mapping[str, float]], name: str) -> Markup:
    """Return the plot of a calibration: well calibrated predictions lie on the diagonal, larger dots rest on more labels.

    Args:
        bins: `predicted` and `observed`, each in [0, 1], and `n`, as the scheduler's calibration reports them.
        name: Unique on the page.
    """
    most = max((item["n"] for item in bins), default=1)
    title = f"Predicted against observed share of System 1 failures, {len(bins)} bins"
    corner = f"M{_x(0)},{_y(0)} L{_x(1)},{_y(1)}"
    return drawing(
        title, *(_grid(tick) for tick in (0.0, 0.25, 0.5, 0.75, 1.0)), element("path", class_="diagonal", d=corner),
        *(_dot(item, most) for item in bins),
        element("text", "predicted", class_="axis", x=_x(0.5), y=SIZE + _ROOM + _BOTTOM - 4, text_anchor="middle"),
        element("text", "observed", class_="axis", x=11, y=_y(0.5), text_anchor="middle", transform=f"rotate(-90 11 {_y(0.5)})"),
        width=SIZE + _LEFT + _ROOM, height=SIZE + _BOTTOM + _ROOM, name=name,
        view=f"0 0 {SIZE + _LEFT + _ROOM} {SIZE + _BOTTOM + _ROOM}",
    )  # fmt: skip


def _x(value: float) -> float:
    return _LEFT + SIZE * value


def _y(value: float) -> float:
    return _ROOM + SIZE * (1 - value)


def _grid(tick: float) -> Markup:
    lines = (
        element("line", class_="grid", x1=_x(tick), x2=_x(tick), y1=_y(0), y2=_y(1)),
        element("line", class_="grid", x1=_x(0), x2=_x(1), y1=_y(tick), y2=_y(tick)),
    )
    written = f"{tick:g}"
    return Markup("").join(
        (
            *lines,
            element("text", written, class_="tick", x=_x(tick), y=_y(0) + 14, text_anchor="middle"),
            element("text", written, class_="tick", x=_LEFT - 6, y=_y(tick) + 4, text_anchor="end"),
        )
    )


def _dot(item: Mapping[str, float], most: float) -> Markup:
    said = f"{item['n']:.0f} labels: predicted {item['predicted']:.2f}, observed {item['observed']:.2f}"
    radius = 4 + 6 * math.sqrt(item["n"] / most)
    return element(
        "circle", element("title", said), class_="dot", cx=_x(item["predicted"]), cy=_y(item["observed"]), r=radius
    )
