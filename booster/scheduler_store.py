"""The journal's `scheduler_state` rows as the store that `scheduler.persistence` asks for.

Above: `booster.judgement`, the scheduler's tools and commands. Below: the journal, which compares revisions and swaps.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from booster.journal.errors import JournalError, StateConflict
from scheduler.errors import StateError, StoreConflictError
from scheduler.library import Stored
from scheduler.persistence import PersistentService
from scheduler.store import FileStore, file_name

PIECE = 16
"""Characters after which long texts are broken. A library holds packed numbers; the journal, which hides whatever looks
like a key, shall never find one in them by chance: no shape that it knows is as short as this."""


class StateJournal(Protocol):
    """What is needed of the journal."""

    async def load_state(self, namespace: str) -> tuple[int, dict[str, Any]] | None:
        """Return revision and state, or None."""

    async def save_state(self, namespace: str, rev: int | None, state: dict[str, Any]) -> int:
        """Write if the stored revision is still `rev` (None = there is none); return the new one."""


class JournalStore:
    """Fulfils `scheduler.store.Store`. A forgotten namespace leaves an empty row behind, so that its revisions go on.

    Args:
        journal: Keeps the rows.
    """

    def __init__(self, journal: StateJournal) -> None:
        self._journal = journal

    async def read(self, namespace: str) -> Stored | None:
        """Return what was saved, or None.

        Raises:
            InvalidInputError: The name cannot be used.
            StateError: The journal cannot be read.
        """
        found = await self._load(namespace)
        if found is None or not found[1]:
            return None
        rev, document = found
        return Stored(rev, _texts(document, lambda text: text.replace("\n", "")))

    async def write(self, namespace: str, document: Mapping[str, Any], *, rev: int) -> int:
        """Save on top of revision `rev` (0 = nothing) and return the new one.

        Raises:
            InvalidInputError: The name cannot be used.
            StoreConflictError: Another revision is stored.
            StateError: The journal cannot be written.
        """
        expected: int | None = rev
        if rev == 0:
            found = await self._load(namespace)
            expected = None if found is None or found[1] else found[0]
        return await self._save(namespace, expected, _texts(document, _broken))

    async def delete(self, namespace: str) -> bool:
        """Forget a namespace; return whether there was one.

        Raises:
            InvalidInputError: The name cannot be used.
            StoreConflictError: Somebody saved it in this moment.
            StateError: The journal cannot be written.
        """
        found = await self._load(namespace)
        if found is None or not found[1]:
            return False
        await self._save(namespace, found[0], {})
        return True

    async def _load(self, namespace: str) -> tuple[int, dict[str, Any]] | None:
        try:
            return await self._journal.load_state(file_name("namespace", namespace))
        except JournalError as error:
            raise StateError(str(error)) from error

    async def _save(self, namespace: str, rev: int | None, document: dict[str, Any]) -> int:
        try:
            return await self._journal.save_state(file_name("namespace", namespace), rev, document)
        except StateConflict as error:
            raise StoreConflictError(str(error)) from error
        except JournalError as error:
            raise StateError(str(error)) from error


def scheduler_tools(journal: StateJournal, logs: Path | None) -> PersistentService:
    """Return what the nine tools of the scheduler work on.

    Args:
        journal: Keeps the libraries, the same ones as those of the loop.
        logs: Directory for what happens in open sessions between two saves; None = it dies with the process.
    """
    return PersistentService(JournalStore(journal), None if logs is None else FileStore(logs))


def _broken(text: str) -> str:
    return "\n".join(text[start : start + PIECE] for start in range(0, len(text), PIECE))


def _texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return a JSON value with every text in it changed; names stay."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {name: _texts(item, change) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_texts(item, change) for item in value]
    return value
