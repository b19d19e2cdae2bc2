"""What can go wrong with the journal.

JournalError
├── UnknownSession   no session of that id is kept here
├── SessionBusy      a live process works on the session
├── SessionTaken     another owner has taken the session over: stop at once, pay for nothing more
└── StateConflict    another writer changed the state first: load it again and repeat the change
"""


class JournalError(Exception):
    """Base of all errors of the journal. The text names the file or database and what to do."""


class UnknownSession(JournalError):
    """There is no such session; the text says how to list those there are."""

    def __init__(self, session_id: str) -> None:
        super().__init__(f"no session {session_id!r}; `booster sessions list` shows those that are kept")
        self.session_id = session_id


class SessionBusy(JournalError):
    """A process that still lives works on this session."""

    def __init__(self, session_id: str, owner: str) -> None:
        super().__init__(f"session {session_id} is being worked on by {owner}; wait for it or cancel the session there")
        self.session_id = session_id
        self.owner = owner


class SessionTaken(JournalError):
    """Somebody else took the session over; whoever gets this error has lost the right to write and to pay."""

    def __init__(self, session_id: str, *, epoch: int, current: int) -> None:
        super().__init__(
            f"session {session_id} was taken over: this worker holds epoch {epoch}, the session is at {current}"
        )
        self.session_id = session_id


class StateConflict(JournalError):
    """Compare-and-swap failed: the stored revision is not the one that was read."""


def state_conflict(namespace: str, rev: int | None) -> StateConflict:
    """Return the error of a state that is not at the expected revision (None = not there yet)."""
    expected = "unsaved" if rev is None else f"at revision {rev}"
    return StateConflict(f"the state {namespace!r} is no longer {expected}; load it again and repeat the change")
