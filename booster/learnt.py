"""Where what was learnt about answers is kept: beside the scheduler's state, under a key of its own, with compare-and-swap.

Above: `booster.work`. Below: `booster.lessons` says what a session teaches, the journal stores it under a revision.
"""

import asyncio
import logging
from typing import Any, Protocol

from booster.answer_state import AnswerState
from booster.journal.errors import JournalError, StateConflict
from booster.lessons import learn
from booster.session import Session

log = logging.getLogger("booster")

ATTEMPTS = 20
"""Times that lessons are learnt on top of what other processes wrote in between before giving up."""


class StateStore(Protocol):
    """What is needed of the journal."""

    async def load_state(self, namespace: str) -> tuple[int, dict[str, Any]] | None:
        """Return revision and state, or None."""

    async def save_state(self, namespace: str, rev: int | None, state: dict[str, Any]) -> int:
        """Write if the stored revision is still `rev`; return the new one."""


def state_key(namespace: str) -> str:
    """Return the key of the stored state; no namespace of a scheduler can have it, since names hold no slash."""
    return f"answers/{namespace}"


async def read(store: StateStore, namespace: str) -> AnswerState | None:
    """Return what is stored of a namespace; None where nothing is.

    Raises:
        ValueError: What is stored cannot be read.
        JournalError: The journal cannot.
    """
    stored = await store.load_state(state_key(namespace))
    return AnswerState.load(stored[1]) if stored and stored[1] else None


async def replace_state(store: StateStore, namespace: str, state: AnswerState | None) -> bool:
    """Put a state, or None for nothing, in place of what is stored; return whether there was something.

    An emptied row stays, so that its revisions go on: a process that has the old state in memory notices, and learns what it
    has not written yet on top of the new one.

    Raises:
        StateConflict: Somebody saved in this moment.
        JournalError: The journal cannot be written.
    """
    stored = await store.load_state(state_key(namespace))
    there_was = bool(stored and stored[1])
    if state is not None or there_was:
        await store.save_state(state_key(namespace), stored[0] if stored else None, state.dump() if state else {})
    return there_was


class AnswerMemory:
    """Fulfils `booster.parts.Memory` for one namespace, in this process."""

    def __init__(self, store: StateStore, namespace: str) -> None:
        self._store, self._key = store, state_key(namespace)
        self._rev: int | None = None
        self._state = AnswerState()
        self._unsaved: list[Session] = []
        self._saving: asyncio.Task[None] | None = None

    @property
    def state(self) -> AnswerState:
        """As known now."""
        return self._state

    async def load(self) -> None:
        """Take over what is stored; what this process has not stored yet is learnt on top.

        A stored state that cannot be read is not overwritten in silence: a warning says that learning begins anew.
        """
        stored = await self._store.load_state(self._key)
        state = AnswerState()
        if stored is not None:
            self._rev, document = stored
            try:
                state = AnswerState.load(document) if document else state
            except ValueError as error:
                log.warning("what was learnt about answers (%s) cannot be read and begins anew: %s", self._key, error)
        for session in self._unsaved:
            state = learn(state, session)
        self._state = state

    def learn(self, session: Session) -> None:
        """Learn from a session that has ended, from each only once; `saved` says when it is durable."""
        taught = learn(self._state, session)
        if taught is self._state:
            return
        self._state = taught
        self._unsaved.append(session)
        if self._saving is None or self._saving.done():
            self._saving = asyncio.create_task(self._write())

    async def saved(self) -> None:
        """Return when all that was learnt is durable, or a warning has said that it could not be made so."""
        if self._saving is not None:
            await asyncio.wait({self._saving})

    async def _write(self) -> None:
        try:
            while self._unsaved:
                await self._save()
        except JournalError as error:  # the answers are there; what was learnt is written with the next solve
            log.warning("what was learnt about answers could not be saved: %s", error)

    async def _save(self) -> None:
        for _ in range(ATTEMPTS):
            written, document = len(self._unsaved), self._state.dump()
            try:
                self._rev = await self._store.save_state(self._key, self._rev, document)
            except StateConflict:
                await self.load()
                continue
            del self._unsaved[:written]
            return
        raise StateConflict(f"{self._key} changed {ATTEMPTS} times while it was written")


class Memories:
    """The memories of a process, one a namespace; each is loaded once, by whoever comes first."""

    def __init__(self, store: StateStore) -> None:
        self._store = store
        self._memories: dict[str, AnswerMemory] = {}
        self._loading = asyncio.Lock()

    async def of(self, namespace: str) -> AnswerMemory:
        """Return what the namespace has learnt."""
        async with self._loading:
            if namespace not in self._memories:
                memory = AnswerMemory(self._store, namespace)
                await memory.load()
                self._memories[namespace] = memory
            return self._memories[namespace]
