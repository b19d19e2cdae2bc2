"""The one task that writes: frequent writes share a transaction, and everyone waits for the commit of their own.

On a database server a whole transaction runs in a thread of its own, in one visit. SQLite's statements work on memory, and
each would wait there for the interpreter, milliseconds while the event loop is busy: they run where they stand, and so does
the commit while the disk is quick (`booster.journal.pace`). The thread is left what may take its time: the commit on a disk
that is not, the wait for another process that writes, and tidying up the log.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, Transaction
from sqlalchemy.exc import OperationalError

from booster.journal.batch import Batch, again_if_lost
from booster.journal.engine import BUSY_SECONDS, explained
from booster.journal.errors import JournalError
from booster.journal.pace import Pace
from booster.journal.writes import AppendEvents, CloseCall, Write

T = TypeVar("T")

MAX_BATCH = 500
"""Writes that share one commit at most."""

GATHERING_TURNS = 8
"""Turns of the event loop at most that a commit waits for company, as long as each brings some."""

GATHERING_SECONDS = 0.004
"""After these no further turn is waited for: where the loop is busy, a turn takes longer than a commit."""

COMPANY = 64
"""Writes that need not wait for more."""

PATIENCE = 0.005
"""Seconds that events and outcomes of calls may wait for company: nobody waits for them, but for what follows them."""

CHECKPOINT_COMMITS = 32
"""Commits after which SQLite's log is moved into the database: a megabyte or so under load."""

_PATIENT = (AppendEvents, CloseCall)

Work = Callable[[Connection], Any]
"""A rare write that wants the connection to itself; runs in the writing thread."""


@dataclass(slots=True)
class _Queued:
    """A wish and whoever waits for it."""

    wish: Write | Work
    waiter: asyncio.Future[Any] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def settle(self, outcome: Any) -> None:
        """Resume the waiter, unless it has gone."""
        if self.waiter.done():
            return
        if isinstance(outcome, BaseException):
            self.waiter.set_exception(outcome)
        else:
            self.waiter.set_result(outcome)


class Writer:
    """Owns the writing connection and its thread from `start` to `stop`.

    Args:
        connection: For writing, and nobody else's.
        thread: With one worker.
        url: Of the database, for messages.
        pace: What is known of the disk.
    """

    def __init__(self, connection: Connection, thread: Executor, url: URL, pace: Pace) -> None:
        self._connection = connection
        self._batch = Batch(connection.dialect)
        self._thread = thread
        self._url = url
        self._queue: deque[_Queued] = deque()
        self._wanted = asyncio.Event()
        """Somebody waits for what is queued."""
        self._timer: asyncio.TimerHandle | None = None
        self._stopping = False
        self._task: asyncio.Task[None] | None = None
        self._pace = pace
        self._commits = 0
        """Since the log was last moved into the database."""

    def start(self) -> None:
        """Begin to write."""
        self._task = asyncio.create_task(self._run(), name="journal writer")

    async def stop(self) -> None:
        """Carry out what is queued, then end."""
        if self._task is not None:
            task, self._task = self._task, None
            self._stopping = True
            self._wanted.set()
            await task

    @property
    def closed(self) -> bool:
        """Whether nothing can be written any more."""
        return self._task is None or self._task.done()

    def enqueue(self, write: Write) -> asyncio.Future[Any]:
        """Take a frequent write; the future ends when it is durable or refused."""
        return self._put(write)

    async def alone(self, work: Callable[[Connection], T]) -> T:
        """Run work on the writing connection, after what is queued and before what comes later."""
        result: T = await self._put(work)
        return result

    async def transaction(self, work: Callable[[Connection], T]) -> T:
        """Run work in a write transaction of its own and commit; once more where the connection was lost before that."""

        def begin_and_work(connection: Connection) -> T:
            transaction, result = again_if_lost(lambda: _begun(connection, work))
            transaction.commit()
            return result

        return await self.alone(begin_and_work)

    def _put(self, wish: Write | Work) -> asyncio.Future[Any]:
        queued = _Queued(wish)
        if self.closed:
            queued.settle(JournalError("the journal is closed"))
        else:
            self._queue.append(queued)
            if not isinstance(wish, _PATIENT):
                self._wanted.set()
            elif self._timer is None and not self._wanted.is_set():
                self._timer = asyncio.get_running_loop().call_later(PATIENCE, self._wanted.set)
        return queued.waiter

    async def _run(self) -> None:
        """Take what has gathered while the last commit ran, until told to stop."""
        while True:
            await self._wanted.wait()
            await self._let_gather()
            taken = self._take()
            if not taken and self._stopping:
                return
            batch: list[_Queued] = []
            for queued in taken:
                if callable(queued.wish):
                    await self._commit(batch)
                    batch = []
                    await self._work(queued, queued.wish)
                else:
                    batch.append(queued)
            await self._commit(batch)
            await self._tidy_up()

    async def _let_gather(self) -> None:
        """Let those who are about to write do so: turns of the event loop are far cheaper than a commit."""
        until = time.monotonic() + GATHERING_SECONDS
        for _ in range(GATHERING_TURNS):
            before = len(self._queue)
            if before >= COMPANY or time.monotonic() > until:
                return
            await asyncio.sleep(0)
            if len(self._queue) == before:
                return

    def _take(self) -> Sequence[_Queued]:
        """Return the next wishes, oldest first; what is asked for from now on waits for its own commit."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        taken = [self._queue.popleft() for _ in range(min(MAX_BATCH, len(self._queue)))]
        if not self._queue and not self._stopping:
            self._wanted.clear()
        return taken

    async def _work(self, queued: _Queued, work: Work) -> None:
        def patiently(connection: Connection) -> Any:
            self._batch.be_patient(connection, BUSY_SECONDS)
            return work(connection)

        outcome: Any
        try:
            outcome = await self._in_thread(patiently)
        except Exception as error:  # whatever it is belongs to the waiter; the writer lives on
            outcome = error
        queued.settle(outcome)

    async def _commit(self, batch: list[_Queued]) -> None:
        """Write a batch in one transaction. Where one of its rows is at fault, write them one by one."""
        if not batch:
            return
        writes = [queued.wish for queued in batch if not callable(queued.wish)]
        outcomes: list[Any]
        try:
            outcomes = await self._carried_out(writes)
        except Exception as error:  # as above
            cause = error.__cause__ or error
            # Where the connection was lost nobody knows whether it was committed.
            unsure = isinstance(cause, OperationalError) or getattr(cause, "connection_invalidated", False)
            if len(batch) > 1 and not unsure:
                for queued in batch:
                    await self._commit([queued])
                return
            outcomes = [error] * len(batch)
        for queued, outcome in zip(batch, outcomes, strict=True):
            queued.settle(outcome)

    async def _carried_out(self, writes: Sequence[Write]) -> list[Any]:
        """Write and commit."""
        if not self._batch.at_hand:
            return list(await self._in_thread(lambda connection: self._batch.carry_out(connection, writes)))
        with explained(self._url):
            begun = self._batch.begin_at_once(self._connection)
        if not begun:
            await self._in_thread(self._batch.begin)
        with explained(self._url):
            outcomes = self._batch.write(self._connection, writes)
        await self._make_durable()
        return outcomes

    async def _make_durable(self) -> None:
        self._commits += 1
        began = time.monotonic()
        if not self._pace.is_quick(began):
            await self._in_thread(self._batch.commit)
            return
        with explained(self._url):
            self._batch.commit(self._connection)
        ended = time.monotonic()
        self._pace.took(ended - began, ended)

    async def _tidy_up(self) -> None:
        """Keep SQLite's log short. What a commit wrote is safe in it, whatever becomes of this."""
        if self._commits >= CHECKPOINT_COMMITS:
            self._commits = 0
            with suppress(JournalError):
                await self._in_thread(self._batch.checkpoint)

    async def _in_thread(self, work: Work) -> Any:
        with explained(self._url):
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._tidily, work)

    def _tidily(self, work: Work) -> Any:
        """Run work and leave no transaction open, whatever it did: the next one could not begin."""
        try:
            return work(self._connection)
        finally:
            self._connection.rollback()


def _begun(connection: Connection, work: Callable[[Connection], T]) -> tuple[Transaction, T]:
    """Begin a transaction and do the work in it; what is left is to commit."""
    transaction = connection.begin()
    try:
        return transaction, work(connection)
    except BaseException:
        transaction.rollback()
        raise
