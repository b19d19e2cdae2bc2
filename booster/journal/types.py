"""What the journal keeps and the port behind which it is kept: plain JSON, no class of the loop above."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from json import loads
from typing import Any, Protocol

from booster.journal.ledger import SessionLedger


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """One entry of a session's append-only log."""

    seq: int
    """1, 2, 3, … within the session, without gaps."""
    at: str
    """ISO 8601, UTC, milliseconds."""
    type: str
    data: dict[str, Any]
    """Plain JSON, redacted."""

    @staticmethod
    def from_row(row: Mapping[str, Any]) -> "Event":
        """Rebuild an event from a row of `events`."""
        return Event(seq=row["seq"], at=row["at"], type=row["type"], data=loads(row["data"]))


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionRecord:
    """A session as stored; its state is a fold of `spec` and `events`."""

    id: str
    spec: dict[str, Any]
    """What was asked for, as given at creation; plain JSON, redacted."""
    status: str
    task: str
    """Beginning of the task, for lists."""
    created_at: str
    """ISO 8601, UTC, milliseconds."""
    updated_at: str
    owner: str | None
    """The process that works on it, alive or not; None = none does."""
    epoch: int
    """How often it was taken over; 0 = never yet."""
    cancel_requested: bool
    seconds: float
    """Wall-clock seconds worked on it."""
    events: tuple[Event, ...] = ()
    """Oldest first; empty in lists."""

    @staticmethod
    def from_row(row: Mapping[str, Any], events: Sequence[Event] = ()) -> "SessionRecord":
        """Rebuild a record from a row of `sessions`."""
        same = ("id", "status", "task", "created_at", "updated_at", "owner", "epoch", "cancel_requested", "seconds")
        return SessionRecord(**{name: row[name] for name in same}, spec=loads(row["spec"]), events=tuple(events))


class Journal(Protocol):
    """Port: sessions, their events and paid calls, the scheduler's state and the clients seen.

    Every method may raise JournalError where the storage fails; what it did not return for is then not stored.
    """

    async def create(self, session_id: str, spec: dict[str, Any], *, task: str) -> SessionRecord:
        """Store a new session with status `running`, owned by nobody.

        Raises:
            JournalError: the id is taken.
        """

    def create_owned(
        self, session_id: str, spec: dict[str, Any], *, task: str
    ) -> tuple[SessionRecord, asyncio.Future[None]]:
        """Store a new session that this process works on from the start, at epoch 1.

        It is durable when the future ends. Writes become durable in the order in which they are asked for, so what
        is written to the session meanwhile never comes before it.
        """

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
        """Add events of given types and data, and set status and worked seconds, in one transaction.

        Durable when the future ends. It gives the events as stored, that is redacted. Writes become durable in the order
        in which they are asked for. Worked seconds never decrease.

        Args:
            session_id: The session to add to.
            epoch: As `take_over` returned it.
            events: Types and data.
            status: None = as it was.
            seconds: None = as they were.
            after: Number of the event that must be the last one so far; for those who do not wait for each write. None =
                whichever is.

        Raises:
            SessionTaken: `epoch` is not the session's; nothing was written.
            UnknownSession: there is no such session.
            JournalError: the last event is not `after`, because an earlier write failed; nothing was written.
        """

    async def load(self, session_id: str) -> SessionRecord:
        """Return a session with all its events.

        Raises:
            UnknownSession: there is none of that id.
        """

    async def events_after(self, session_id: str, seq: int) -> list[Event]:
        """Return the events with a number greater than `seq`, oldest first; none for an unknown session."""

    async def sessions(self, *, status: str | None = None, limit: int = 50) -> list[SessionRecord]:
        """Return sessions without their events, latest first."""

    async def delete(self, session_id: str) -> None:
        """Remove a session with everything it holds, from the file's free space too.

        Raises:
            SessionBusy: another living process works on it.
            UnknownSession: there is none of that id.
        """

    async def export(self, session_id: str) -> dict[str, Any]:
        """Return everything that is kept of a session as one JSON document: `session`, `events`, `calls`.

        Raises:
            UnknownSession: there is none of that id.
        """

    async def take_over(self, session_id: str, *, again: bool = False) -> int:
        """Make this process the owner and return the new epoch; calls left in flight by earlier epochs become lost.

        Args:
            session_id: The session to work on.
            again: Take a session that this process owns already, and end the earlier ownership.

        Raises:
            SessionBusy: another living process owns it, or this one does and `again` is false.
            UnknownSession: there is none of that id.
        """

    def release(self, session_id: str, epoch: int) -> asyncio.Future[None]:
        """Record that nobody works on the session, unless it was taken over since `epoch`; durable when the future ends."""

    def is_alive(self, owner: str | None) -> bool:
        """Tell whether the process that a session names as its owner still runs."""

    async def request_cancel(self, session_id: str) -> None:
        """Ask whoever works on the session to stop: from now on it can open no further call.

        Raises:
            UnknownSession: there is none of that id.
        """

    async def withdraw_cancel(self, session_id: str) -> None:
        """Take a request to stop back: somebody wants the session to go on after all.

        Raises:
            UnknownSession: there is none of that id.
        """

    async def cancel_requested(self, session_id: str) -> bool:
        """Tell whether cancellation was requested.

        Raises:
            UnknownSession: there is none of that id.
        """

    async def cancelled_among(self, session_ids: Sequence[str]) -> set[str]:
        """Return those of the sessions whose cancellation was requested; unknown ones are left out."""

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
        """Return the ledger of a session, with the calls made so far; the clock of `seconds` runs from now on.

        Args:
            record: The session.
            epoch: As `take_over` returned it. With `record.epoch` of a session owned by nobody it serves for reading.
            calls: Attempts that the session may make in all; None = no limit, here and below.
            tokens: Prompt and completion tokens together.
            seconds: Wall-clock seconds of work, those before a restart included.
            cost_usd: US dollars.
            fresh: The session comes from `create_owned` and nothing was done yet: there is nothing to read.
            expect: Given the future of every outcome's write, such as `Recorder.expect`.
        """

    async def calls(self, session_id: str) -> list[dict[str, Any]]:
        """Return the finished and failed calls in the order of their arrival (`CallRecord.to_dict`)."""

    async def load_state(self, namespace: str) -> tuple[int, dict[str, Any]] | None:
        """Return revision and state of a scheduler's namespace; None = nothing was saved yet."""

    async def save_state(self, namespace: str, rev: int | None, state: dict[str, Any]) -> int:
        """Replace the state that was loaded at `rev` (None = there was none) and return the new revision.

        Raises:
            StateConflict: somebody else saved in between; nothing was written.
        """

    async def note_client(self, name: str, version: str, protocol: str, capabilities: dict[str, Any]) -> None:
        """Remember what an MCP client declared; the latest declaration of each name, version and protocol is kept."""

    async def clients(self) -> list[dict[str, Any]]:
        """Return `{name, version, protocol, capabilities, seenAt}` of the clients, last seen first."""
