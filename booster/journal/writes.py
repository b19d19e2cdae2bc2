"""The frequent writes: a session, its events, the intents and outcomes of its paid calls, and what solves teach.

Each says what it wants and checks its right to it against the session's head, or the state's revision, read in the same
transaction: this is the epoch fence, and the compare-and-swap. Many share one transaction; one that is refused costs the
others nothing, because it is
refused before anything is written. Storage carries out the resulting `Rows`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from booster.journal.errors import JournalError, SessionTaken, UnknownSession, state_conflict
from providers.errors import CallCancelled

Row = dict[str, Any]
"""Columns of a table by name."""


@dataclass(slots=True, kw_only=True)
class Head:
    """The row of a session that is being written to, without its spec."""

    id: str
    status: str
    epoch: int
    cancel_requested: bool
    owner: str | None
    last_seq: int
    seconds: float
    updated_at: str
    changed: bool = False

    def fence(self, epoch: int) -> None:
        """Refuse a worker whose ownership has ended.

        Raises:
            SessionTaken: the session is at another epoch.
        """
        if epoch != self.epoch:
            raise SessionTaken(self.id, epoch=epoch, current=self.epoch)

    def touch(self, at: str, seconds: float | None) -> None:
        """Note that something was written now; worked seconds never run backwards."""
        self.changed = True
        self.updated_at = at
        if seconds is not None:
            self.seconds = max(self.seconds, seconds)


@dataclass(slots=True)
class Heads:
    """What one transaction finds of that which it writes to; what does not exist is missing."""

    sessions: dict[str, Head] = field(default_factory=dict)
    """By id."""
    revisions: dict[str, int] = field(default_factory=dict)
    """Of states, by namespace."""


HEAD = ("id", "status", "epoch", "cancel_requested", "owner", "last_seq", "seconds", "updated_at")
"""Columns of a session that make its head."""


def head_of(heads: Heads, session_id: str) -> Head:
    """Return the head of a session.

    Raises:
        UnknownSession: there is none of that id.
    """
    if session_id not in heads.sessions:
        raise UnknownSession(session_id)
    return heads.sessions[session_id]


@dataclass(slots=True)
class Rows:
    """What one transaction writes, in this order."""

    sessions: list[Row] = field(default_factory=list)
    events: list[Row] = field(default_factory=list)
    opened: list[Row] = field(default_factory=list)
    closed: list[Row] = field(default_factory=list)
    withdrawn: list[Row] = field(default_factory=list)
    states: list[Row] = field(default_factory=list)
    """New ones."""
    replaced: list[Row] = field(default_factory=list)
    """States in the place of older ones."""


class Write(Protocol):
    """One wish among those that share a transaction."""

    @property
    def session_id(self) -> str | None:
        """The session it is about; None for a state."""

    @property
    def namespace(self) -> str | None:
        """The namespace of the state it is about; None for a session."""

    def plan(self, heads: Heads, rows: Rows) -> Any:
        """Check the right to write, add the rows and return the result; a refusal is raised before any row is added."""


class _OfSession:
    """Is about a session and no state."""

    __slots__ = ()
    namespace: ClassVar[None] = None


@dataclass(frozen=True, kw_only=True, slots=True)
class CreateSession(_OfSession):
    """Add a session; what follows in the same transaction finds it."""

    row: Row
    """Every column."""

    @property
    def session_id(self) -> str:
        """The session it is about."""
        return str(self.row["id"])

    def plan(self, heads: Heads, rows: Rows) -> None:
        """Make its head.

        Raises:
            JournalError: the id is taken.
        """
        if self.session_id in heads.sessions:
            raise JournalError(f"there is a session {self.session_id!r} already")
        rows.sessions.append(self.row)
        heads.sessions[self.session_id] = Head(**{name: self.row[name] for name in HEAD})


@dataclass(frozen=True, kw_only=True, slots=True)
class ReleaseSession(_OfSession):
    """Record that nobody works on a session, unless it was taken over meanwhile."""

    session_id: str
    epoch: int

    def plan(self, heads: Heads, rows: Rows) -> None:
        """Take the owner's name away; a session that was deleted needs nothing."""
        head = heads.sessions.get(self.session_id)
        if head is not None and head.epoch == self.epoch:
            head.owner, head.changed = None, True


@dataclass(frozen=True, kw_only=True, slots=True)
class AppendEvents(_OfSession):
    """Add events and set what comes with them; the result is the sequence number of the first."""

    session_id: str
    epoch: int
    at: str
    events: Sequence[tuple[str, str]]
    """Type and JSON text."""
    status: str | None = None
    seconds: float | None = None
    after: int | None = None
    """Number of the event that these follow; None = whichever is the last."""

    def plan(self, heads: Heads, rows: Rows) -> int:
        """Give the events the next sequence numbers.

        Raises:
            JournalError: an event before these is missing; without it they would tell another story.
        """
        head = head_of(heads, self.session_id)
        head.fence(self.epoch)
        if self.after is not None and self.after != head.last_seq:
            raise JournalError(
                f"event {self.after} of session {self.session_id} was not stored; what follows it is not either"
            )
        first = head.last_seq + 1
        for seq, (kind, data) in enumerate(self.events, first):
            rows.events.append({"session_id": self.session_id, "seq": seq, "at": self.at, "type": kind, "data": data})
        head.last_seq += len(self.events)
        head.status = self.status or head.status
        head.touch(self.at, self.seconds)
        return first


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenCall(_OfSession):
    """Record the intent to pay."""

    session_id: str
    epoch: int
    row: Row
    seconds: float

    def plan(self, heads: Heads, rows: Rows) -> None:
        """Refuse a zombie and a cancelled session before they pay.

        Raises:
            CallCancelled: cancellation of the session was requested; kind `cancelled`.
        """
        head = head_of(heads, self.session_id)
        head.fence(self.epoch)
        if head.cancel_requested:
            raise CallCancelled(f"session {self.session_id} was cancelled; nothing was sent", kind="cancelled")
        rows.opened.append(self.row)
        head.touch(self.row["opened_at"], self.seconds)


@dataclass(frozen=True, kw_only=True, slots=True)
class CloseCall(_OfSession):
    """Record how an attempt ended."""

    session_id: str
    epoch: int
    step_key: str
    attempt: int
    row: Row
    seconds: float

    def plan(self, heads: Heads, rows: Rows) -> None:
        """Update the intent's row."""
        head = head_of(heads, self.session_id)
        head.fence(self.epoch)
        key = {"key_session": self.session_id, "key_step": self.step_key, "key_attempt": self.attempt}
        rows.closed.append({**key, **self.row})
        head.touch(self.row["closed_at"], self.seconds)


@dataclass(frozen=True, kw_only=True, slots=True)
class WithdrawCall(_OfSession):
    """Take an intent back whose caller went away before anything was sent."""

    session_id: str
    epoch: int
    step_key: str
    attempt: int

    def plan(self, heads: Heads, rows: Rows) -> None:
        """Remove the intent's row."""
        head_of(heads, self.session_id).fence(self.epoch)
        key = {"key_session": self.session_id, "key_step": self.step_key, "key_attempt": self.attempt}
        rows.withdrawn.append(key)


@dataclass(frozen=True, kw_only=True, slots=True)
class SaveState:
    """Put a state in the place of the one that was read at a revision; the result is the new revision."""

    namespace: str
    rev: int | None
    """None = there was none."""
    state: str
    """JSON text."""
    session_id: ClassVar[None] = None

    def plan(self, heads: Heads, rows: Rows) -> int:
        """Compare and swap.

        Raises:
            StateConflict: another one was saved since.
        """
        if heads.revisions.get(self.namespace) != self.rev:
            raise state_conflict(self.namespace, self.rev)
        rev = heads.revisions[self.namespace] = (self.rev or 0) + 1
        kept = {"rev": rev, "state": self.state}
        if self.rev is None:
            rows.states.append({"namespace": self.namespace, **kept})
        else:
            rows.replaced.append({"key_namespace": self.namespace, **kept})
        return rev


def plan_all(writes: Sequence[Write], heads: Heads) -> tuple[Rows, list[Any]]:
    """Return the rows to write and one outcome a write, in order: its result, or the exception that refused it."""
    rows = Rows()
    outcomes: list[Any] = []
    for write in writes:
        try:
            outcomes.append(write.plan(heads, rows))
        except (JournalError, CallCancelled) as refusal:
            outcomes.append(refusal)
    return rows, outcomes
