"""The list of sessions. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from booster.result import SolveResult
from booster.server.viewer.text import line

FILTERS: Final = ("running", "orphaned", "done", "degraded", "cancelled", "failed")
"""Statuses that a list can be narrowed to."""

PAGE: Final = 25
"""Sessions of a page, unless more are asked for."""

MOST: Final = 200
"""Sessions that one page shows at most."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One session in the list."""

    id: str
    task: str
    state: str
    """`running`, `orphaned`, `open`, or the status it ended with."""
    created_at: str
    answer: str | None
    answer_status: str
    calls: int
    cost_usd: float | None
    degraded: bool
    simulated: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ListPage:
    """Sessions, newest first."""

    rows: tuple[Row, ...]
    status: str | None
    """What the list is narrowed to; None = all."""
    more: int | None
    """How many to ask for to see more; None = there are no more, or no more are shown."""

    @property
    def running(self) -> bool:
        """Something here changes without an event of its own."""
        return any(row.state == "running" for row in self.rows)


def row_of(listed: Mapping[str, Any], result: SolveResult) -> Row:
    """Return a session of the list.

    Args:
        listed: As `Booster.sessions` lists it.
        result: What it came to so far.
    """
    state = "running" if listed["active"] else "open"
    if listed["status"] not in ("running", "continue"):
        state = listed["status"]
    elif listed.get("orphaned") or result.orphaned:
        state = "orphaned"
    return Row(
        id=listed["sessionId"], task=line(listed["task"], 160), state=state, created_at=listed["createdAt"],
        answer=None if result.answer is None else line(result.answer, 80), answer_status=result.answer_status,
        calls=result.usage["calls"], cost_usd=result.usage["costUsd"], degraded=result.degraded, simulated=result.simulated,
    )  # fmt: skip


def list_page(rows: Sequence[Row], *, status: str | None, limit: int) -> ListPage:
    """Return the page; `rows` holds one more than `limit` where there are more."""
    has_more = len(rows) > limit and limit < MOST
    return ListPage(rows=tuple(rows[:limit]), status=status, more=min(MOST, 2 * limit) if has_more else None)
