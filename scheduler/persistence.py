"""A service whose libraries and sessions outlive the process.

Libraries are saved at the end of a task and when a session closes, by compare-and-swap: whoever loses reads the newer
state and learns its own experiences again on top of it. Between two saves every experience of a session goes to a log, so
that a killed process loses neither a pending decision nor a label.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakValueDictionary

from scheduler.errors import InvalidInputError, SetAsideError, StateError, StoreConflictError
from scheduler.experience import Experience, decode, encode
from scheduler.library import STATE_VERSION, Library, Stored
from scheduler.registry import make_policy
from scheduler.service import Service
from scheduler.session import Session
from scheduler.store import SessionLog, Store
from scheduler.types import Costs

COMPACT_ROWS = 256
"""Rows after which a session's log is replaced by one snapshot, at the next save."""

ATTEMPTS = 50
"""Lost races after which a save is given up; what was learnt stays in memory for the next one."""


class PersistentService:
    """A service with a store behind it.

    Args:
        store: Keeps the libraries.
        log: Keeps what happens in open sessions; None = a caller with a journal of its own does.
    """

    def __init__(self, store: Store, log: SessionLog | None = None) -> None:
        self.service = Service(self._note if log is not None else None)
        """The sessions; whatever needs no store is called there."""
        self._store = store
        self._log = log
        self._rows: dict[str, int] = {}
        """Session id -> rows in its log."""
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """Of the namespaces that somebody reads or writes now."""

    async def open_session(
        self,
        session_id: str,
        namespace: str = "default",
        *,
        policy: str | None = None,
        costs: Costs | None = None,
        opts: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Open a session, or resume one of this id, also after its process was killed.

        Returns:
            What `Service.open_session` returns, and `warning` where a file was unreadable and set aside.

        Raises:
            InvalidInputError: A name, policy or option cannot be used.
            StateError: The stored state cannot be loaded.
        """
        warnings: list[str] = []
        async with self._lock(namespace):
            stored = None
            if self.service.library(namespace) is None:
                try:
                    stored = await self._store.read(namespace)
                except SetAsideError as error:
                    warnings.append(str(error))
            library = self.service.load(namespace, policy=policy, opts=opts, stored=stored)
            if session_id not in library.sessions and self._log is not None:
                try:
                    rows = self._log.read_log(namespace, session_id)
                except SetAsideError as error:
                    rows = []
                    warnings.append(str(error))
                if rows:
                    self._bring_back(library, session_id, rows)
            known = session_id in library.sessions
            reply = self.service.open_session(session_id, namespace, policy=policy, costs=costs, opts=opts)
            if self._log is not None and not known:
                self._start_log(library, session_id)
        return {**reply, "warning": "; ".join(warnings)} if warnings else reply

    async def resume_session(
        self,
        session_id: str,
        namespace: str,
        experiences: Sequence[Experience],
        *,
        saved: int = 0,
    ) -> None:
        """Open a session out of a journal that its caller keeps, and learn whatever the saved library lacks of it.

        Args:
            session_id: Name of the session; one of this name that is open is replaced.
            namespace: Library to decide with and to teach.
            experiences: Everything that changed the session so far, oldest first, as `on_experience` gave it; none = a new one.
            saved: How many of them the caller knows to be in the saved library.

        Raises:
            InvalidInputError: A name cannot be used.
            StateError: The stored state cannot be loaded.
        """
        async with self._lock(namespace):
            library = self.service.library(namespace)
            if library is None or experiences:
                # Another process may have worked on the session and saved what it learnt there.
                stored = await self._store.read(namespace)
                if library is None:
                    library = self.service.load(namespace, stored=stored)
                elif library.rev != (stored.rev if stored else 0):
                    library.rebase(stored)
            applied = min(len(experiences), max(saved, library.applied.get(session_id, 0)))
            if session_id in library.sessions:
                self.service.close_session(session_id)
            session = Session(library.policy, session_id)
            self.service.open_session(session_id, namespace, resumed=session, applied=applied)
            self._repeat(library, session, experiences, applied=applied)

    async def task_feedback(self, session_id: str, success: bool) -> dict[str, Any]:
        """End a task and save the library."""
        reply = self.service.task_feedback(session_id, success)
        await self.save(self.service.namespace_of(session_id))
        return reply

    async def close_session(self, session_id: str) -> dict[str, Any]:
        """Close a session and save the library."""
        namespace = self.service.namespace_of(session_id)
        reply = self.service.close_session(session_id)
        await self.save(namespace)
        if self._log is not None:
            self._log.delete_log(namespace, session_id)
            self._rows.pop(session_id, None)
        self.service.unload(namespace)
        return reply

    async def save(self, namespace: str) -> None:
        """Save what a namespace learnt; on a lost race, learn it again on top of what the winner saved.

        Raises:
            StateError: The winner's state cannot be loaded; nothing of ours is lost, it stays in memory and in the log.
            StoreConflictError: The race was lost `ATTEMPTS` times; nothing is lost either.
        """
        async with self._lock(namespace):
            library = self.service.library(namespace)
            if library is None or not library.dirty:
                return
            for _ in range(ATTEMPTS):
                snapshot = library.snapshot()
                try:
                    rev = await self._store.write(namespace, snapshot.document, rev=library.rev)
                except StoreConflictError:
                    library.rebase(await self._store.read(namespace))
                    continue
                library.saved(snapshot, rev)
                self._compact(library)
                return
            raise StoreConflictError(f"namespace {namespace!r} changed {ATTEMPTS} times while it was written")

    async def save_all(self) -> None:
        """Save every library in memory."""
        for library in self.service.libraries():
            await self.save(library.namespace)

    async def export(self, namespace: str) -> dict[str, Any]:
        """Return a saved library for another place.

        Raises:
            InvalidInputError: Nothing was saved under this name.
        """
        await self.save(namespace)
        stored = await self._store.read(namespace)
        if stored is None:
            raise InvalidInputError("namespace", f"nothing is saved under {namespace!r}")
        return {**stored.document, "namespace": namespace, "applied": {}}

    async def restore(self, namespace: str, document: Mapping[str, Any]) -> dict[str, Any]:
        """Put an exported library in place of whatever the namespace holds; return `{namespace, nPrototypes}`.

        Raises:
            InvalidInputError: The namespace has open sessions.
            StateError: The document cannot be loaded.
        """
        self._require_closed(namespace)
        entry = {key: document.get(key) for key in ("version", "policy", "library")}
        if entry["version"] != STATE_VERSION or not isinstance(entry["policy"], str):
            raise StateError(f"this is no exported library of version {STATE_VERSION}")
        entry["applied"] = {}
        library = Library(namespace, make_policy(entry["policy"]), Stored(0, entry))
        async with self._lock(namespace):
            stored = await self._store.read(namespace)
            await self._store.write(namespace, entry, rev=stored.rev if stored else 0)
        return {"namespace": namespace, "nPrototypes": library.policy.n_prototypes}

    async def reset(self, namespace: str) -> bool:
        """Forget what a namespace learnt; return whether there was anything.

        Raises:
            InvalidInputError: The namespace has open sessions.
        """
        self._require_closed(namespace)
        async with self._lock(namespace):
            return await self._store.delete(namespace)

    def _require_closed(self, namespace: str) -> None:
        if self.service.library(namespace) is not None:
            raise InvalidInputError("namespace", f"{namespace!r} has open sessions here; close them first")

    def _lock(self, namespace: str) -> asyncio.Lock:
        lock = self._locks.get(namespace)
        if lock is None:
            lock = self._locks[namespace] = asyncio.Lock()
        return lock

    def _note(self, namespace: str, session_id: str, experience: Experience) -> None:
        assert self._log is not None
        self._log.append_log(namespace, session_id, encode(experience))
        self._rows[session_id] = self._rows.get(session_id, 0) + 1

    def _start_log(self, library: Library, session_id: str) -> None:
        """Begin a session's log, or a new stretch of it, with a snapshot."""
        assert self._log is not None
        seq = library.applied[session_id]
        row = {"t": "session", "seq": seq, "state": {**library.sessions[session_id].dump(), "track": None}}
        unsaved = [encode(experience) for name, experience in library.log if name == session_id]
        if unsaved:
            # The snapshot already contains them; the library on disk does not yet, so they must be learnt again.
            row["unsaved"] = unsaved
            row["seq"] = seq - len(unsaved)
        self._log.replace_log(library.namespace, session_id, [row])
        self._rows[session_id] = 0

    def _compact(self, library: Library) -> None:
        if self._log is None:
            return
        for session_id in library.sessions:
            if self._rows.get(session_id, 0) >= COMPACT_ROWS:
                self._start_log(library, session_id)

    def _bring_back(self, library: Library, session_id: str, rows: list[dict[str, Any]]) -> None:
        """Rebuild a session from its log, and teach the library what it had not learnt when the process died."""
        try:
            head, tail = rows[0], [decode(row) for row in rows[1:]]
            session = Session.load(library.policy, head["state"])
            unsaved = [decode(row) for row in head.get("unsaved", [])]
            seq = int(head["seq"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise StateError(f"the log of session {session_id!r} is damaged: {error!r}") from error
        applied = max(library.applied.get(session_id, 0), seq)
        self.service.open_session(session_id, library.namespace, resumed=session, applied=applied)
        listener, session.on_experience = session.on_experience, None
        for experience in unsaved:
            seq += 1
            if seq > applied:
                session.observe_again(experience)
                library.note(session_id, experience)
        session.on_experience = listener
        self._repeat(library, session, tail, applied=applied - seq)

    @staticmethod
    def _repeat(library: Library, session: Session, experiences: Sequence[Experience], *, applied: int) -> None:
        """Let a session live through its experiences again; the library learns those after the first `applied`."""
        listener, session.on_experience = session.on_experience, None
        for number, experience in enumerate(experiences, 1):
            session.apply(experience, learn=number > applied)
            if number > applied:
                library.note(session.session_id, experience)
        session.on_experience = listener
