"""The timeline of paid calls: one row a call, its bar where and as long as it ran. Pure.

Positions are percentages and texts have a fixed size, so the drawing fills whatever width it is given and stays legible. It
stands beside a list of the same calls, row by row.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from booster.server.viewer.calls import CallView
from booster.server.viewer.svg import drawing, element, share
from booster.server.viewer.text import seconds

ROW: Final = 24
"""Pixels; the list beside has rows of the same height."""

ROLES: Final = ("generate", "judge", "probe", "finalize", "process_reward", "other")
"""Those that have a colour and a pattern of their own; all others share the last one."""

LONGEST_PAUSE: Final = 3.0
"""Seconds without any call in flight that are still drawn; of longer ones only a mark is."""

_TICKS: Final = 5
_BAR, _TOP = 12, 6


@dataclass(frozen=True, kw_only=True, slots=True)
class Scale:
    """Where on the drawing a moment lies; long pauses take no room."""

    spans: tuple[tuple[float, float, float], ...]
    """Stretches with calls: from, to (seconds since the epoch), and the seconds drawn before it."""
    total: float
    """Seconds drawn, above 0."""

    @property
    def pauses(self) -> tuple[tuple[float, float], ...]:
        """Share of the width at which each pause was cut out, and its seconds."""
        pairs = zip(self.spans, self.spans[1:], strict=False)
        return tuple((later[2] / self.total, later[0] - earlier[1]) for earlier, later in pairs)

    def at(self, moment: float) -> float:
        """Return the share of the width, in [0, 1], at which a moment of a stretch lies."""
        start, end, before = next((one for one in reversed(self.spans) if one[0] <= moment), self.spans[0])
        return (before + (min(end, max(start, moment)) - start)) / self.total


def scale_of(calls: Sequence[tuple[float, float]]) -> Scale:
    """Return the scale for calls, each given by start and end; there is at least one."""
    spans: list[list[float]] = []
    for start, end in sorted(calls):
        if spans and start - spans[-1][1] <= LONGEST_PAUSE:
            spans[-1][1] = max(spans[-1][1], end)
        else:
            spans.append([start, max(start, end)])
    placed, drawn = [], 0.0
    for start, end in spans:
        placed.append((start, end, drawn))
        drawn += end - start
    return Scale(spans=tuple(placed), total=max(drawn, 1e-3))


def ticks(total: float) -> tuple[float, ...]:
    """Return round numbers of seconds between 0 and `total`, at most six of them."""
    power = 10.0 ** math.floor(math.log10(total / _TICKS))
    step = next(step for step in (power, 2 * power, 5 * power, 10 * power) if total / step <= _TICKS)
    return tuple(position * step for position in range(int(total / step) + 1))


def role_class(role: str) -> str:
    """Return the name under which a role has its colour and pattern."""
    return (role if role in ROLES else "other").replace("_", "-")


def waterfall(calls: Sequence[CallView], now: float) -> Markup:
    """Return the drawing of at least one call; `now` is where those under way end."""
    scale = scale_of([(call.start, _end(call, now)) for call in calls])
    height = ROW * (len(calls) + 1)
    return drawing(
        _title(calls, scale), element("defs", *map(_pattern, ROLES)), *_axis(scale, height),
        *(_row(call, scale, position, now) for position, call in enumerate(calls, 1)),
        width="100%", height=height, name="waterfall",
    )  # fmt: skip


def legend(role: str) -> Markup:
    """Return a small sample of a role's colour and pattern."""
    return element(
        "svg", element("rect", class_="bar", width=18, height=10, rx=2, fill=f"url(#role-{role_class(role)})"),
        class_=f"swatch role-{role_class(role)}", width=18, height=10, aria_hidden="true",
    )  # fmt: skip


def _end(call: CallView, now: float) -> float:
    if call.end is not None:
        return call.end
    return max(call.start, now) if call.state == "running" else call.start


def _title(calls: Sequence[CallView], scale: Scale) -> str:
    failed = sum(call.state not in ("done", "running") for call in calls)
    text = f"Timeline of {len(calls)} paid calls over {seconds(scale.total)}"
    return f"{text}; {failed} of them brought nothing." if failed else f"{text}."


def _axis(scale: Scale, height: int) -> list[Markup]:
    drawn = []
    for at, tick in enumerate(ticks(scale.total)):
        x = share(tick / scale.total)
        drawn.append(element("line", class_="grid", x1=x, x2=x, y1=ROW - 4, y2=height))
        near_end = tick / scale.total > 0.85
        drawn.append(
            element("text", seconds(tick) if tick else "0", class_="tick minor" if at % 2 else "tick", x=x, y=ROW - 9,
                    text_anchor="end" if near_end else None)
        )  # fmt: skip
    for where, length in scale.pauses:
        mark = element("title", f"{seconds(length)} without a call, left out")
        x = share(where)
        drawn.append(element("line", mark, class_="pause", x1=x, x2=x, y1=ROW - 4, y2=height))
    return drawn


def _row(call: CallView, scale: Scale, position: int, now: float) -> Markup:
    start, end = scale.at(call.start), scale.at(_end(call, now))
    width = max(0.006, end - start)
    y = ROW * position
    took = seconds(_end(call, now) - call.start) if call.state != "lost" else ""
    label = {"failed": f"{took} failed", "empty": f"{took} empty", "lost": "lost", "running": f"{took} …"}
    said = label.get(call.state, took)
    shape = element(
        "rect", element("title", f"{call.role} {call.key}, {said}"), class_="bar", x=share(start), y=y + _TOP,
        width=share(width), height=_BAR, rx=2, fill=f"url(#role-{role_class(call.role)})",
    )  # fmt: skip
    return element(
        "g", shape, _label(said, start, start + width, y), class_=f"call role-{role_class(call.role)} {call.state}"
    )


def _label(said: str, start: float, end: float, y: int) -> Markup:
    """Return the text beside a bar: behind it, before it, or on it, wherever there is room."""
    baseline = y + _TOP + _BAR - 2
    if end <= 0.7:
        return element("text", said, class_="took", x=share(end), y=baseline, dx=6)
    if start >= 0.3:
        return element("text", said, class_="took", x=share(start), y=baseline, dx=-6, text_anchor="end")
    return element("text", said, class_="took inside", x=share(end), y=baseline, dx=-6, text_anchor="end")


def _pattern(role: str) -> Markup:
    """Return what fills the bars of a role: its colour, and over it lines that tell it apart without colour."""
    marks: dict[str, tuple[str, ...]] = {
        "judge": ("M-2,2 l4,-4 M0,8 l8,-8 M6,10 l4,-4",), "probe": ("M4,0 v8",), "finalize": ("M0,4 h8",),
        "process_reward": ("M4,0 v8", "M0,4 h8"), "other": ("M2,2 h1 v1 h-1 z", "M6,6 h1 v1 h-1 z"),
    }  # fmt: skip
    ground = element("rect", class_="ground", width=8, height=8)
    lines = [element("path", class_="hatch", d=path) for path in marks.get(role, ())]
    name = role_class(role)
    return element(
        "pattern",
        ground,
        *lines,
        id=f"role-{name}",
        class_=f"role-{name}",
        width=8,
        height=8,
        patternUnits="userSpaceOnUse",
    )
