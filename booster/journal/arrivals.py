"""Recorded replies come back in the order in which they once arrived."""

import asyncio
import heapq


class ArrivalGate:
    """Lets waiters through one by one, the earliest recorded arrival first.

    Two turns of the event loop pass between them, so that whoever was let through acts on its reply before the next
    one is, and a follow-up call that also is on record can still join the queue.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self._running = False

    async def wait(self, arrived: int) -> None:
        """Return when every recorded arrival that waits here and came earlier has been let through.

        Args:
            arrived: Position among the arrivals of the session; no two are equal.
        """
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        heapq.heappush(self._waiting, (arrived, turn))
        if not self._running:
            self._running = True
            loop.call_soon(self._settle, loop)
        await turn

    def _settle(self, loop: asyncio.AbstractEventLoop) -> None:
        loop.call_soon(self._release, loop)

    def _release(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._waiting:
            _, turn = heapq.heappop(self._waiting)
            if not turn.done():  # its waiter was cancelled
                turn.set_result(None)
                break
        self._running = bool(self._waiting)
        if self._running:
            loop.call_soon(self._settle, loop)
