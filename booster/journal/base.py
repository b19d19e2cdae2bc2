"""What every journal does in the same way, whatever it stores into."""

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from booster.journal.account import Limits
from booster.journal.calls import CallRecord
from booster.journal.codec import Codec, Redact, cut, dumps, now
from booster.journal.errors import SessionBusy
from booster.journal.ledger import SessionLedger
from booster.journal.types import Event, SessionRecord
from booster.journal.writes import AppendEvents, CreateSession, ReleaseSession, Row, SaveState, Write

TASK_CHARS = 200
"""Characters of the task that lists show."""


class BaseJournal(ABC):
    """Encodes, redacts and hands rows to a storage; the methods of `Journal` that need no statement of their own."""

    def __init__(self, redact: Redact) -> None:
        self._codec = Codec(redact)

    @abstractmethod
    def enqueue(self, write: Write) -> asyncio.Future[Any]:
        """Take a frequent write; the future ends when it is durable or refused."""

    @property
    @abstractmethod
    def me(self) -> str:
        """This process as an owner."""

    @abstractmethod
    async def load(self, session_id: str) -> SessionRecord:
        """See `Journal.load`."""

    @abstractmethod
    async def _call_rows(self, session_id: str) -> Sequence[Any]:
        """Return the rows of all attempts of a session; none for an unknown session."""

    async def create(self, session_id: str, spec: dict[str, Any], *, task: str) -> SessionRecord:
        """See `Journal.create`."""
        row = self._session_row(session_id, spec, task)
        await self.enqueue(CreateSession(row=row))
        return SessionRecord.from_row(row)

    def create_owned(
        self, session_id: str, spec: dict[str, Any], *, task: str
    ) -> tuple[SessionRecord, asyncio.Future[None]]:
        """See `Journal.create_owned`."""
        row = {**self._session_row(session_id, spec, task), "owner": self.me, "epoch": 1}
        return SessionRecord.from_row(row), self.enqueue(CreateSession(row=row))

    def release(self, session_id: str, epoch: int) -> asyncio.Future[None]:
        """See `Journal.release`."""
        return self.enqueue(ReleaseSession(session_id=session_id, epoch=epoch))

    def append(
        self,
        session_id: str,
        epoch: int,
        events: Sequence[tuple[str, dict[str, Any]]],
        *,
        status: str | None = None,
        seconds: float | None = None,
        after: int | None = None,
    ) -> asyncio.Future[list[Event]]:
        """See `Journal.append`."""
        at = now()
        stored = [(kind, self._codec.plain(data)) for kind, data in events]
        encoded = [(kind, dumps(data)) for kind, data in stored]
        write = AppendEvents(
            session_id=session_id, epoch=epoch, at=at, events=encoded, status=status, seconds=seconds, after=after
        )
        told: asyncio.Future[list[Event]] = asyncio.get_running_loop().create_future()

        def tell(written: asyncio.Future[int]) -> None:
            error = written.exception()
            if told.done():  # nobody waits any more
                return
            if error is not None:
                told.set_exception(error)
            else:
                first = written.result()
                told.set_result(
                    [Event(seq=seq, at=at, type=kind, data=data) for seq, (kind, data) in enumerate(stored, first)]
                )

        self.enqueue(write).add_done_callback(tell)
        return told

    async def ledger(
        self,
        record: SessionRecord,
        *,
        epoch: int,
        calls: int | None = None,
        tokens: int | None = None,
        seconds: float | None = None,
        cost_usd: float | None = None,
        fresh: bool = False,
        expect: Callable[[asyncio.Future[Any]], None] | None = None,
    ) -> SessionLedger:
        """See `Journal.ledger`."""
        return SessionLedger(
            record.id,
            epoch=epoch,
            limits=Limits(calls=calls, tokens=tokens, seconds=seconds, cost_usd=cost_usd),
            past=() if fresh else await self._call_records(record.id),
            seconds=record.seconds if fresh else (await self.load_head(record.id)).seconds,
            writes=self,
            codec=self._codec,
            expect=expect,
        )

    async def save_state(self, namespace: str, rev: int | None, state: dict[str, Any]) -> int:
        """See `Journal.save_state`."""
        saved: int = await self.enqueue(SaveState(namespace=namespace, rev=rev, state=dumps(self._codec.plain(state))))
        return saved

    @abstractmethod
    async def load_head(self, session_id: str) -> SessionRecord:
        """Return a session without its events.

        Raises:
            UnknownSession: there is none of that id.
        """

    async def cancel_requested(self, session_id: str) -> bool:
        """See `Journal.cancel_requested`."""
        return (await self.load_head(session_id)).cancel_requested

    async def calls(self, session_id: str) -> list[dict[str, Any]]:
        """See `Journal.calls`."""
        arrived = [record for record in await self._call_records(session_id) if record.arrived is not None]
        return [record.to_dict() for record in sorted(arrived, key=lambda record: record.arrived or 0)]

    async def export(self, session_id: str) -> dict[str, Any]:
        """See `Journal.export`."""
        record = await self.load(session_id)
        return {
            "session": {
                "sessionId": record.id,
                "status": record.status,
                "task": record.task,
                "createdAt": record.created_at,
                "updatedAt": record.updated_at,
                "owner": record.owner,
                "epoch": record.epoch,
                "cancelRequested": record.cancel_requested,
                "seconds": record.seconds,
                "spec": record.spec,
            },
            "events": [{"seq": e.seq, "at": e.at, "type": e.type, "data": e.data} for e in record.events],
            "calls": [call.to_dict() for call in await self._call_records(session_id)],
        }

    async def _call_records(self, session_id: str) -> list[CallRecord]:
        """Return all attempts of a session, in the order in which they were opened."""
        records = [CallRecord.from_row(row) for row in await self._call_rows(session_id)]
        return sorted(records, key=lambda record: record.opened)

    def _session_row(self, session_id: str, spec: dict[str, Any], task: str) -> Row:
        """Return every column of a new session."""
        at = now()
        return {
            "id": session_id,
            "spec": dumps(self._codec.plain(spec)),
            "status": "running",
            "task": cut(_storable(self._codec.redact(task)), TASK_CHARS),
            "created_at": at,
            "updated_at": at,
            "owner": None,
            "epoch": 0,
            "cancel_requested": False,
            "last_seq": 0,
            "seconds": 0.0,
        }

    def _client_row(self, name: str, version: str, protocol: str, capabilities: dict[str, Any]) -> Row:
        """Return every column of a client; its names come from outside and are bounded."""
        name, version, protocol = (cut(_storable(self._codec.redact(text)), 200) for text in (name, version, protocol))
        declared = dumps(self._codec.plain(capabilities))
        return {"name": name, "version": version, "protocol": protocol, "capabilities": declared, "seen_at": now()}

    def _client(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return a client as `Journal.clients` shows it."""
        known = {key: row[key] for key in ("name", "version", "protocol")}
        return {**known, "capabilities": json.loads(row["capabilities"]), "seenAt": row["seen_at"]}


def _storable(text: str) -> str:
    """Return the text without what a text column cannot hold: lone surrogates and, on PostgreSQL, NUL."""
    return text.encode("utf-8", "replace").decode().replace("\0", "")


def check_take_over(
    session_id: str, owner: str | None, *, mine: str, again: bool, is_alive: Callable[[str | None], bool]
) -> None:
    """Say whether the process `mine` may take a session over from `owner`.

    Raises:
        SessionBusy: it may not.
    """
    if owner is None or (owner == mine and again):
        return
    if owner == mine or is_alive(owner):
        raise SessionBusy(session_id, "this process" if owner == mine else owner)
