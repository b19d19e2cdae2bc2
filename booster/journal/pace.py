"""Where a commit is waited for: on the event loop while the disk is quick, in a thread while it is not."""

from typing import Final

QUICK: Final = 0.002
"""Seconds that a commit may keep the event loop. A thread's answer takes longer where the loop is busy."""

RESPITE: Final = 0.25
"""Seconds for which commits go to the thread once one of them was slower than that."""


class Pace:
    """Remembers how the disk does; times are on any one monotonic clock, in seconds.

    A disk that always needs its time costs the loop one commit in each `RESPITE`, and no more.
    """

    def __init__(self) -> None:
        self._slow_until = float("-inf")

    def is_quick(self, now: float) -> bool:
        """Say whether the next commit may be waited for on the loop."""
        return now >= self._slow_until

    def took(self, seconds: float, now: float) -> None:
        """Learn from a commit that the loop waited for and that has just ended."""
        if seconds > QUICK:
            self._slow_until = now + RESPITE
