"""The scheduler's libraries in rows of the journal."""

import json
from typing import Any

import pytest

from booster.journal import JournalError, MemoryJournal
from booster.redact import Redactor
from booster.scheduler_store import PIECE, JournalStore
from scheduler.errors import InvalidInputError, StateError, StoreConflictError

DOCUMENT = {
    "version": 1,
    "policy": "regime",
    "library": {"packed": ["AIza" + "x" * 200], "mu": 1.0},
    "applied": {"s": 3},
}


async def test_what_was_written_is_read_and_counted() -> None:
    store = JournalStore(MemoryJournal())

    rev = await store.write("n", DOCUMENT, rev=0)
    stored = await store.read("n")

    assert stored is not None
    assert (rev, stored.rev, stored.document) == (1, 1, DOCUMENT)
    assert await store.read("other") is None


@pytest.mark.parametrize("rev", [0, 2])
async def test_only_the_revision_that_was_read_is_overwritten(rev: int) -> None:
    store = JournalStore(MemoryJournal())
    await store.write("n", DOCUMENT, rev=0)

    with pytest.raises(StoreConflictError, match="n"):
        await store.write("n", DOCUMENT, rev=rev)


async def test_a_forgotten_namespace_is_empty_and_whoever_still_has_the_old_one_learns_it() -> None:
    """The revision goes on: a process that loaded revision 1 before must not overwrite what came after."""
    store = JournalStore(MemoryJournal())
    await store.write("n", DOCUMENT, rev=0)

    assert await store.delete("n")
    assert await store.read("n") is None
    assert not await store.delete("n")
    with pytest.raises(StoreConflictError):
        await store.write("n", DOCUMENT, rev=1)
    assert await store.write("n", DOCUMENT, rev=0) == 3


async def test_packed_numbers_that_look_like_a_key_are_not_hidden() -> None:
    journal = MemoryJournal(Redactor())

    await JournalStore(journal).write("n", DOCUMENT, rev=0)

    stored = await JournalStore(journal).read("n")
    assert stored is not None
    assert stored.document == DOCUMENT
    kept = await journal.load_state("n")
    assert kept is not None
    assert all(len(piece) <= PIECE for piece in kept[1]["library"]["packed"][0].split("\n"))


@pytest.mark.parametrize("name", ["", "..", "x" * 200])
async def test_a_name_that_cannot_be_one_is_refused(name: str) -> None:
    with pytest.raises(InvalidInputError, match="namespace"):
        await JournalStore(MemoryJournal()).read(name)


async def test_names_that_would_become_equal_stay_different() -> None:
    store = JournalStore(MemoryJournal())
    await store.write("a b", DOCUMENT, rev=0)

    assert await store.read("a_b") is None
    assert await store.read("a/b") is None
    assert await store.read("a b") is not None


async def test_a_journal_that_fails_is_an_error_of_the_scheduler() -> None:
    class Broken:
        async def load_state(self, namespace: str) -> tuple[int, dict[str, Any]] | None:
            raise JournalError("the disk is gone")

        async def save_state(self, namespace: str, rev: int | None, state: dict[str, Any]) -> int:
            raise JournalError("the disk is full")

    store = JournalStore(Broken())

    with pytest.raises(StateError, match="gone"):
        await store.read("n")
    with pytest.raises(StateError, match="full"):
        await store.write("n", json.loads(json.dumps(DOCUMENT)), rev=1)
