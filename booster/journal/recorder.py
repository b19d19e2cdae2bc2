"""The events of one run, handed to the journal in order: nobody waits for each of them, and none can be missing."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from booster.journal.types import Event, Journal

Listener = Callable[[Event], None]
"""Called with every event of a session once it is durable, in order."""


class Recorder:
    """Records the events of a session under one epoch of ownership.

    Writes become durable in the order in which they are asked for. So an event is durable before any paid call that
    follows it, without anybody waiting; `settled` says so before a result is shown that rests on it. After a write that
    failed no later event is stored.

    Args:
        journal: Where they go.
        session_id: Whose they are.
        epoch: As `Journal.take_over` returned it.
        last: Number of the last event so far; 0 = there is none.
        listener: Told of every event.
    """

    def __init__(
        self, journal: Journal, session_id: str, epoch: int, *, last: int, listener: Listener | None = None
    ) -> None:
        self._journal, self._session_id, self._epoch = journal, session_id, epoch
        self._last = last
        self._listener = listener
        self._pending: deque[asyncio.Future[Any]] = deque()

    def add(self, events: Sequence[tuple[str, dict[str, Any]]], *, status: str, seconds: float) -> None:
        """Hand events over, with the session's status and worked seconds after them."""
        written = self._journal.append(
            self._session_id, self._epoch, events, status=status, seconds=seconds, after=self._last
        )
        self._last += len(events)
        written.add_done_callback(self._tell)
        self.expect(written)

    def expect(self, written: asyncio.Future[Any]) -> None:
        """Let `settled` wait for another write of the session, too."""
        written.add_done_callback(_seen)
        self._pending.append(written)

    def check(self) -> None:
        """Say whether all is well so far, without waiting.

        Raises:
            JournalError: a write is known to have failed; every further call says so again.
        """
        while self._pending and self._pending[0].done():
            self._pending[0].result()
            self._pending.popleft()

    async def settled(self) -> None:
        """Return when everything that was handed over is durable.

        Raises:
            JournalError: something is not and never will be; every further call says so again.
        """
        while self._pending:
            first = self._pending[0]
            if not first.done():
                await asyncio.wait({first})  # unlike `await first`, it leaves the write alone when it is cancelled
            first.result()
            if self._pending and self._pending[0] is first:  # another one may have waited for the same
                self._pending.popleft()

    def _tell(self, written: asyncio.Future[list[Event]]) -> None:
        if self._listener is not None and written.exception() is None:
            for event in written.result():
                self._listener(event)


def _seen(written: asyncio.Future[Any]) -> None:
    """Look at the outcome: whoever broke off does not come back for it."""
    if not written.cancelled():
        written.exception()
