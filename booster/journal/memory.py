"""A journal that keeps nothing beyond its process: the same rules on plain dictionaries, without a file or a thread."""

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from booster.journal.base import BaseJournal, check_take_over
from booster.journal.codec import Redact, identity, now
from booster.journal.errors import UnknownSession
from booster.journal.types import Event, SessionRecord
from booster.journal.writes import HEAD, Head, Heads, Row, Rows, Write, plan_all

OWNER = "this process"
"""The only owner there can be."""


class MemoryJournal(BaseJournal):
    """Implements `Journal` with rows as a database would hold them."""

    def __init__(self, redact: Redact = identity) -> None:
        super().__init__(redact)
        self._sessions: dict[str, Row] = {}
        self._events: defaultdict[str, list[Row]] = defaultdict(list)
        self._calls: defaultdict[str, dict[tuple[str, int], Row]] = defaultdict(dict)
        self._states: dict[str, tuple[int, str]] = {}
        self._clients: dict[tuple[str, str, str], Row] = {}

    @classmethod
    @asynccontextmanager
    async def open(cls, *, redact: Redact = identity) -> AsyncIterator["MemoryJournal"]:
        """Open an empty journal."""
        yield cls(redact)

    @property
    def me(self) -> str:
        """See `BaseJournal.me`."""
        return OWNER

    def enqueue(self, write: Write) -> asyncio.Future[Any]:
        """Carry the write out at once; whoever waits for it goes on with the next turn of the loop, as after a commit."""
        row = self._sessions.get(write.session_id or "")
        state = self._states.get(write.namespace or "")
        heads = Heads()
        if row is not None:
            heads.sessions[row["id"]] = Head(**{name: row[name] for name in HEAD})
        if state is not None:
            heads.revisions[write.namespace or ""], _ = state
        rows, (outcome,) = plan_all([write], heads)
        self._store(rows, heads)

        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        loop.call_soon(_settle, future, outcome)
        return future

    def _store(self, rows: Rows, heads: Heads) -> None:
        for row in rows.sessions:
            self._sessions[row["id"]] = row
        for row in rows.events:
            self._events[row["session_id"]].append(row)
        for row in rows.opened:
            self._calls[row["session_id"]][row["step_key"], row["attempt"]] = dict(row)
        for row in rows.closed:
            outcome = {name: value for name, value in row.items() if not name.startswith("key_")}
            self._calls[row["key_session"]][row["key_step"], row["key_attempt"]].update(outcome)
        for row in rows.withdrawn:
            self._calls[row["key_session"]].pop((row["key_step"], row["key_attempt"]), None)
        for row in rows.states:
            self._states[row["namespace"]] = row["rev"], row["state"]
        for row in rows.replaced:
            self._states[row["key_namespace"]] = row["rev"], row["state"]
        for head in heads.sessions.values():
            changed = {"status": head.status, "last_seq": head.last_seq, "seconds": head.seconds, "owner": head.owner}
            self._sessions[head.id].update(changed, updated_at=head.updated_at)

    async def load(self, session_id: str) -> SessionRecord:
        """See `Journal.load`."""
        return SessionRecord.from_row(self._row(session_id), await self.events_after(session_id, 0))

    async def load_head(self, session_id: str) -> SessionRecord:
        """See `BaseJournal.load_head`."""
        return SessionRecord.from_row(self._row(session_id))

    async def events_after(self, session_id: str, seq: int) -> list[Event]:
        """See `Journal.events_after`."""
        return [Event.from_row(row) for row in self._events.get(session_id, ()) if row["seq"] > seq]

    async def sessions(self, *, status: str | None = None, limit: int = 50) -> list[SessionRecord]:
        """See `Journal.sessions`."""
        rows = [row for row in self._sessions.values() if status in (None, row["status"])]
        rows.sort(key=lambda row: row["id"])
        rows.sort(key=lambda row: row["created_at"], reverse=True)
        return [SessionRecord.from_row(row) for row in rows[:limit]]

    async def delete(self, session_id: str) -> None:
        """See `Journal.delete`."""
        self._row(session_id)
        del self._sessions[session_id]
        self._events.pop(session_id, None)
        self._calls.pop(session_id, None)

    async def take_over(self, session_id: str, *, again: bool = False) -> int:
        """See `Journal.take_over`."""
        row = self._row(session_id)
        check_take_over(session_id, row["owner"], mine=OWNER, again=again, is_alive=self.is_alive)
        row.update(owner=OWNER, epoch=row["epoch"] + 1, updated_at=now())
        for call in self._calls[session_id].values():
            if call["state"] == "intent":
                call["state"] = "lost"
        return int(row["epoch"])

    def is_alive(self, owner: str | None) -> bool:
        """See `Journal.is_alive`."""
        return owner == OWNER

    async def request_cancel(self, session_id: str) -> None:
        """See `Journal.request_cancel`."""
        self._row(session_id).update(cancel_requested=True, updated_at=now())

    async def withdraw_cancel(self, session_id: str) -> None:
        """See `Journal.withdraw_cancel`."""
        self._row(session_id).update(cancel_requested=False, updated_at=now())

    async def cancelled_among(self, session_ids: Sequence[str]) -> set[str]:
        """See `Journal.cancelled_among`."""
        return {name for name in session_ids if self._sessions.get(name, {}).get("cancel_requested")}

    async def load_state(self, namespace: str) -> tuple[int, dict[str, Any]] | None:
        """See `Journal.load_state`."""
        if namespace not in self._states:
            return None
        rev, state = self._states[namespace]
        return rev, json.loads(state)

    async def note_client(self, name: str, version: str, protocol: str, capabilities: dict[str, Any]) -> None:
        """See `Journal.note_client`."""
        row = self._client_row(name, version, protocol, capabilities)
        self._clients[row["name"], row["version"], row["protocol"]] = row

    async def clients(self) -> list[dict[str, Any]]:
        """See `Journal.clients`."""
        rows = sorted(self._clients.values(), key=lambda row: row["name"])
        return [self._client(row) for row in sorted(rows, key=lambda row: row["seen_at"], reverse=True)]

    async def _call_rows(self, session_id: str) -> Sequence[Row]:
        return list(self._calls.get(session_id, {}).values())

    def _row(self, session_id: str) -> Row:
        row = self._sessions.get(session_id)
        if row is None:
            raise UnknownSession(session_id)
        return row


def _settle(future: asyncio.Future[Any], outcome: Any) -> None:
    if future.done():  # whoever waited has gone
        return
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
