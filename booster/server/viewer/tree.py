"""The tree of steps: one row an iteration, branches that were taken back beside the line that stands. Pure.

Left the steps, joined to the steps they go on from; right of each its candidates. The list beside it says the same in words.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from booster.server.viewer.history import Turn
from booster.server.viewer.svg import drawing, element
from verifier.types import Candidate

ROW: Final = 32
"""Pixels; the list beside has rows of the same height."""

LANE: Final = 18
"""Pixels between a line that stands and one that was taken back."""

MOST_DOTS: Final = 8
"""Candidates that are drawn; of more, the rest is counted."""

_DOT = 12
_MOST_LANES = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    """Where a turn stands in the drawing."""

    turn: Turn
    row: int
    """0 is the task."""
    lane: int
    """0 is the line that stands."""
    parent: int
    """Row that it goes on from."""


def placed(turns: Sequence[Turn]) -> tuple[Node, ...]:
    """Return where each turn stands; what was taken back leaves the line of what stands."""
    rows: dict[int, Node] = {}
    for row, turn in enumerate(turns, 1):
        above = rows.get(turn.parent) if turn.parent is not None else None
        lane = 0
        if turn.taken_back:
            lane = min(_MOST_LANES, (above.lane if above else 0) + 1)
            crossed = {node.lane for node in rows.values() if node.row > (above.row if above else 0)}
            while lane in crossed and lane < _MOST_LANES:
                lane += 1
        rows[turn.number] = Node(turn=turn, row=row, lane=lane, parent=above.row if above else 0)
    return tuple(rows.values())


def tree(turns: Sequence[Turn]) -> Markup:
    """Return the drawing of a session's iterations."""
    nodes = placed(turns)
    lanes = max((node.lane for node in nodes), default=0) + 1
    dots = LANE * lanes + 8
    most = max((_width(node.turn) for node in nodes), default=0)
    lane_of = {node.row: node.lane for node in nodes} | {0: 0}
    return drawing(
        _title(turns), *(_edge(node, lane_of[node.parent]) for node in nodes), _task(),
        *(_node(node) for node in nodes), *(_candidates(node, dots) for node in nodes),
        width=dots + most, height=ROW * (len(nodes) + 1), name="tree",
    )  # fmt: skip


def in_words(turn: Turn) -> str:
    """Return what became of a turn."""
    named = {
        "open": "under way", "applied": "applied", "taken back": "taken back", "answers": "answers drawn, none applied",
        "nothing": "nothing applied",
    }  # fmt: skip
    return named[turn.state]


def _title(turns: Sequence[Turn]) -> str:
    back = sum(turn.taken_back for turn in turns)
    return f"Tree of {len(turns)} iterations" + (f", {back} of them taken back." if back else ".")


def _x(lane: int) -> int:
    return LANE // 2 + 2 + LANE * lane


def _y(row: int) -> int:
    return ROW * row + ROW // 2


def _task() -> Markup:
    return element("rect", class_="task", x=_x(0) - 5, y=_y(0) - 5, width=10, height=10, rx=2)


def _edge(node: Node, parent_lane: int) -> Markup:
    """Return the line from a node up to the one it goes on from; it leaves its lane only beside its own row."""
    x, y, above_x, above_y = _x(node.lane), _y(node.row), _x(parent_lane), _y(node.parent)
    bend = f"M{above_x},{above_y} C{above_x},{above_y + ROW // 2} {x},{above_y + ROW // 2} {x},{above_y + ROW}"
    path = f"M{above_x},{above_y} V{y}" if x == above_x else f"{bend} V{y}"
    kind = "dead" if node.turn.taken_back else "aside" if node.turn.step is None else "live"
    return element("path", class_=f"edge {kind}", d=path)


def _node(node: Node) -> Markup:
    x, y = _x(node.lane), _y(node.row)
    said = element("title", f"Iteration {node.turn.number}: {in_words(node.turn)}")
    state = node.turn.state.replace(" ", "-")
    shape = element("circle", said, class_=f"node {state}", cx=x, cy=y, r=6)
    if node.turn.state != "taken back":
        return shape
    return Markup("").join((shape, element("path", class_="cross", d=f"M{x - 3},{y - 3} l6,6 M{x + 3},{y - 3} l-6,6")))


def _width(turn: Turn) -> int:
    found = len(turn.closed.candidates) if turn.closed else 0
    return _DOT * min(found, MOST_DOTS) + (30 if found > MOST_DOTS else 4)


def _candidates(node: Node, left: int) -> Markup:
    closed = node.turn.closed
    if closed is None:
        return Markup("")
    y = _y(node.row)
    ordered = sorted(closed.candidates, key=lambda one: one.key != closed.chosen)
    drawn = [
        _dot(one, left + _DOT * at + 4, y, chosen=one.key == closed.chosen)
        for at, one in enumerate(ordered[:MOST_DOTS])
    ]
    if len(ordered) > MOST_DOTS:
        more = f"+{len(ordered) - MOST_DOTS}"
        drawn.append(element("text", more, class_="more", x=left + _DOT * MOST_DOTS + 2, y=y + 4))
    return Markup("").join(drawn)


def _dot(candidate: Candidate, x: int, y: int, *, chosen: bool) -> Markup:
    """Return a candidate: round, or square where a beam looked ahead; filled where it was chosen; crossed where it failed."""
    kind = "chosen" if chosen else "failed" if candidate.failed_checks else "other"
    said = element("title", f"{candidate.key}: {kind}")
    if "/beam" in candidate.key:
        return element("rect", said, class_=f"dot {kind}", x=x - 3.5, y=y - 3.5, width=7, height=7)
    if kind == "failed":
        return element("path", said, class_="dot failed", d=f"M{x - 3},{y - 3} l6,6 M{x + 3},{y - 3} l-6,6")
    return element("circle", said, class_=f"dot {kind}", cx=x, cy=y, r=3.5)
