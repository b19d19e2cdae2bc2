"""The journal in a SQL database: a SQLite file by default, PostgreSQL by URL; one implementation for both."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, closing
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, Select, Update, delete, insert, select, update

from booster.journal import schema
from booster.journal.base import BaseJournal, check_take_over
from booster.journal.codec import Redact, identity, now
from booster.journal.engine import READERS, explained, open_engine, parse_url
from booster.journal.errors import JournalError, SessionBusy, UnknownSession
from booster.journal.owner import Owner
from booster.journal.pace import Pace
from booster.journal.schema import calls, clients, events, scheduler_state, sessions
from booster.journal.types import Event, SessionRecord
from booster.journal.writer import Writer
from booster.journal.writes import Row, Write


class SqlJournal(BaseJournal):
    """Implements `Journal`. Reads run on a pool of connections; every write goes through one task."""

    def __init__(
        self, engine: Engine, url: URL, writer: Writer, readers: Executor, owner: Owner, redact: Redact
    ) -> None:
        super().__init__(redact)
        self._engine = engine
        self._url = url
        self._writer = writer
        self._readers = readers
        self._owner = owner

    @classmethod
    @asynccontextmanager
    async def open(
        cls, url: str, *, owner_dir: Path | None = None, redact: Redact = identity
    ) -> AsyncIterator["SqlJournal"]:
        """Open or create the journal; a file gets mode 0600, an older schema is brought forward.

        Args:
            url: `sqlite:///FILE` or `postgresql+psycopg://USER@HOST/NAME`.
            owner_dir: Where the processes that share the journal show that they live; `owners` beside a SQLite file
                unless given, required for a database server.
            redact: Applied to every string before it is written.

        Raises:
            JournalError: the URL, the file, its schema or its directory does not allow it; the text says what to do.
        """
        parsed = parse_url(url)
        loop = asyncio.get_running_loop()
        with ExitStack() as stack:
            readers = stack.enter_context(ThreadPoolExecutor(READERS, "journal reader"))
            thread = stack.enter_context(ThreadPoolExecutor(1, "journal writer"))
            with explained(parsed):
                owner = stack.enter_context(closing(Owner(owner_dir or _default_owner_dir(parsed))))
                engine = open_engine(parsed)
                stack.callback(engine.dispose)
                connection = await loop.run_in_executor(thread, _connect, engine)
            stack.callback(connection.close)
            writer = Writer(connection, thread, parsed, Pace())
            writer.start()
            try:
                yield cls(engine, parsed, writer, readers, owner, redact)
            finally:
                await writer.stop()

    @property
    def me(self) -> str:
        """See `BaseJournal.me`."""
        return self._owner.name

    def enqueue(self, write: Write) -> asyncio.Future[Any]:
        """See `BaseJournal.enqueue`."""
        return self._writer.enqueue(write)

    async def load(self, session_id: str) -> SessionRecord:
        """See `Journal.load`."""
        log = select(events).where(events.c.session_id == session_id).order_by(events.c.seq)
        found, rows = await self._read(select(sessions).where(sessions.c.id == session_id), log)
        if not found:
            raise UnknownSession(session_id)
        return SessionRecord.from_row(found[0], [Event.from_row(row) for row in rows])

    async def load_head(self, session_id: str) -> SessionRecord:
        """See `BaseJournal.load_head`."""
        (found,) = await self._read(select(sessions).where(sessions.c.id == session_id))
        if not found:
            raise UnknownSession(session_id)
        return SessionRecord.from_row(found[0])

    async def events_after(self, session_id: str, seq: int) -> list[Event]:
        """See `Journal.events_after`."""
        newer = (events.c.session_id == session_id) & (events.c.seq > seq)
        (rows,) = await self._read(select(events).where(newer).order_by(events.c.seq))
        return [Event.from_row(row) for row in rows]

    async def sessions(self, *, status: str | None = None, limit: int = 50) -> list[SessionRecord]:
        """See `Journal.sessions`."""
        query = select(sessions).order_by(sessions.c.created_at.desc(), sessions.c.id).limit(limit)
        if status is not None:
            query = query.where(sessions.c.status == status)
        (rows,) = await self._read(query)
        return [SessionRecord.from_row(row) for row in rows]

    async def delete(self, session_id: str) -> None:
        """See `Journal.delete`."""

        def work(connection: Connection) -> None:
            owner = _locked(connection, session_id)["owner"]
            if owner not in (None, self._owner.name) and self.is_alive(owner):
                raise SessionBusy(session_id, owner)
            connection.execute(delete(sessions).where(sessions.c.id == session_id))

        await self._writer.transaction(work)
        if self._engine.dialect.name == "sqlite":
            await self._writer.alone(_scrub)

    async def take_over(self, session_id: str, *, again: bool = False) -> int:
        """See `Journal.take_over`."""
        mine = self._owner.name

        def work(connection: Connection) -> int:
            row = _locked(connection, session_id)
            check_take_over(session_id, row["owner"], mine=mine, again=again, is_alive=self.is_alive)
            epoch: int = row["epoch"] + 1
            taken = {"owner": mine, "epoch": epoch, "updated_at": now()}
            connection.execute(update(sessions).where(sessions.c.id == session_id).values(taken))
            in_flight = (calls.c.session_id == session_id) & (calls.c.state == "intent")
            connection.execute(update(calls).where(in_flight).values(state="lost"))
            return epoch

        return await self._writer.transaction(work)

    def is_alive(self, owner: str | None) -> bool:
        """See `Journal.is_alive`."""
        return self._owner.is_alive(owner)

    async def request_cancel(self, session_id: str) -> None:
        """See `Journal.request_cancel`."""
        await self._set_cancel(session_id, True)

    async def withdraw_cancel(self, session_id: str) -> None:
        """See `Journal.withdraw_cancel`."""
        await self._set_cancel(session_id, False)

    async def cancelled_among(self, session_ids: Sequence[str]) -> set[str]:
        """See `Journal.cancelled_among`."""
        asked = sessions.c.id.in_(session_ids) & sessions.c.cancel_requested
        (rows,) = await self._read(select(sessions.c.id).where(asked))
        return {row["id"] for row in rows}

    async def load_state(self, namespace: str) -> tuple[int, dict[str, Any]] | None:
        """See `Journal.load_state`."""
        (rows,) = await self._read(select(scheduler_state).where(scheduler_state.c.namespace == namespace))
        return (rows[0]["rev"], json.loads(rows[0]["state"])) if rows else None

    async def note_client(self, name: str, version: str, protocol: str, capabilities: dict[str, Any]) -> None:
        """See `Journal.note_client`."""
        row = self._client_row(name, version, protocol, capabilities)

        def work(connection: Connection) -> None:
            same = [clients.c[key] == row[key] for key in ("name", "version", "protocol")]
            connection.execute(delete(clients).where(*same))
            connection.execute(insert(clients), row)

        await self._writer.transaction(work)

    async def clients(self) -> list[dict[str, Any]]:
        """See `Journal.clients`."""
        (rows,) = await self._read(select(clients).order_by(clients.c.seen_at.desc(), clients.c.name))
        return [self._client(row) for row in rows]

    async def _call_rows(self, session_id: str) -> Sequence[Row]:
        (rows,) = await self._read(select(calls).where(calls.c.session_id == session_id))
        return rows

    async def _read(self, *queries: Select[Any]) -> list[list[Row]]:
        """Return the rows of each query, all of one moment."""

        def work() -> list[list[Row]]:
            with self._engine.connect() as connection:
                return [[row._asdict() for row in connection.execute(query)] for query in queries]

        if self._writer.closed:
            raise JournalError("the journal is closed")
        with explained(self._url):
            return await asyncio.get_running_loop().run_in_executor(self._readers, work)

    async def _set_cancel(self, session_id: str, requested: bool) -> None:
        flag = update(sessions).where(sessions.c.id == session_id).values(cancel_requested=requested, updated_at=now())
        if await self._execute(flag) == 0:
            raise UnknownSession(session_id)

    async def _execute(self, statement: Update) -> int:
        """Run one statement in a write transaction and return the number of rows it changed."""
        return await self._writer.transaction(lambda connection: connection.execute(statement).rowcount)


def _default_owner_dir(url: URL) -> Path:
    if url.get_backend_name() != "sqlite":
        raise JournalError("a journal on a database server needs a directory for its owner files (`owner_dir`)")
    return Path(str(url.database)).parent / "owners"


def _connect(engine: Engine) -> Connection:
    """Return the writing connection to a database whose schema is up to date."""
    schema.prepare(engine)
    return engine.connect().execution_options(write=True)


def _locked(connection: Connection, session_id: str) -> Row:
    """Return a session's row and keep others from changing it until the transaction ends."""
    row = connection.execute(select(sessions).where(sessions.c.id == session_id).with_for_update()).first()
    if row is None:
        raise UnknownSession(session_id)
    return row._asdict()


def _scrub(connection: Connection) -> None:
    """Rewrite a SQLite file, so that nothing deleted is left in free pages or in the write-ahead log.

    `secure_delete` alone is not enough: moving rows between pages leaves copies that it does not know of.
    """
    driver = connection.connection.driver_connection
    assert driver is not None  # it is open for as long as the journal is
    driver.execute("VACUUM")
    busy, *_ = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        raise JournalError("deleted, but traces stay in the file while another process reads it; delete again later")
