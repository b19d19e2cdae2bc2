"""Files: names, modes, damage, and two writers."""

import json
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler import InvalidInputError, StoreConflictError
from scheduler.errors import SetAsideError
from scheduler.library import Stored
from scheduler.store import FileStore, file_name


@pytest.mark.parametrize("name", ["default", "team-1", "a.b_c", "A" * 199])
def test_a_safe_name_stays_as_it_is(name: str) -> None:
    assert file_name("namespace", name) == name


@pytest.mark.parametrize("name", ["a/b", "../x", "spaced out", "ключ", "a\x00b", "C:\\x", "-"][:6])
def test_an_unsafe_name_is_replaced_and_marked(name: str) -> None:
    result = file_name("namespace", name)

    assert result != name
    assert "/" not in result
    assert result.startswith("".join(c if c.isascii() and (c.isalnum() or c in "_.-") else "_" for c in name) + "-")


@pytest.mark.parametrize("name", ["", ".", "..", "x" * 200])
def test_a_name_that_cannot_be_one_is_refused(name: str) -> None:
    with pytest.raises(InvalidInputError, match="namespace"):
        file_name("namespace", name)


@given(st.text(min_size=1, max_size=50), st.text(min_size=1, max_size=50))
def test_different_names_never_share_a_file(a: str, b: str) -> None:
    if a == b or {a, b} & {".", ".."}:
        return

    assert file_name("namespace", a) != file_name("namespace", b)


async def test_what_is_written_is_read(tmp_path: Path) -> None:
    store = FileStore(tmp_path)

    rev = await store.write("n", {"a": 1}, rev=0)

    assert rev == 1
    assert await store.read("n") == Stored(1, {"a": 1})
    assert await store.read("other") is None


async def test_only_the_owner_can_read_the_file(tmp_path: Path) -> None:
    await FileStore(tmp_path).write("n", {}, rev=0)

    assert stat.S_IMODE((tmp_path / "n.json").stat().st_mode) == 0o600


async def test_a_write_on_an_old_revision_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    await store.write("n", {"a": 1}, rev=0)

    with pytest.raises(StoreConflictError):
        await store.write("n", {"a": 2}, rev=0)

    assert await store.read("n") == Stored(1, {"a": 1})


@pytest.mark.parametrize("content", [b"{", b"[]", b"null", b"\xff\xfe", b"", b'{"a":1}', b'{"rev":"x"}'])
async def test_an_unreadable_file_is_set_aside_and_reported(tmp_path: Path, content: bytes) -> None:
    store = FileStore(tmp_path)
    (tmp_path / "n.json").write_bytes(content)

    with pytest.raises(SetAsideError, match=r"n\.json\.bak"):
        await store.read("n")

    assert (tmp_path / "n.json.bak").read_bytes() == content
    assert await store.read("n") is None


async def test_a_second_unreadable_file_does_not_replace_the_first(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    for content in ("one", "two"):
        (tmp_path / "n.json").write_text(content)
        with pytest.raises(SetAsideError):
            await store.read("n")

    assert (tmp_path / "n.json.bak").read_text() == "one"
    assert (tmp_path / "n.json.1.bak").read_text() == "two"


async def test_a_writer_that_dies_before_the_rename_leaves_the_old_state(tmp_path: Path) -> None:
    """The temporary file of a dead process lies about; it is not the state."""
    store = FileStore(tmp_path)
    await store.write("n", {"a": 1}, rev=0)
    (tmp_path / f".n.json.{os.getpid()}.tmp").write_text('{"rev": 2, "a"')

    assert await store.read("n") == Stored(1, {"a": 1})
    assert await store.write("n", {"a": 2}, rev=1) == 2


async def test_a_deleted_namespace_is_gone(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    await store.write("n", {}, rev=0)

    assert await store.delete("n")
    assert not await store.delete("n")
    assert await store.read("n") is None


def test_a_log_holds_rows_in_order_and_ignores_a_row_cut_off_by_death(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    store.replace_log("n", "s", [{"i": 0}])
    store.append_log("n", "s", {"i": 1})
    path = next((tmp_path / "n.sessions").iterdir())
    path.write_text(path.read_text() + json.dumps({"i": 2})[:4])

    assert store.read_log("n", "s") == [{"i": 0}, {"i": 1}]
    store.delete_log("n", "s")
    assert store.read_log("n", "s") == []


def test_a_damaged_log_is_set_aside(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    store.replace_log("n", "s", [{"i": 0}])
    path = next((tmp_path / "n.sessions").iterdir())
    path.write_text("nonsense\n")

    with pytest.raises(SetAsideError):
        store.read_log("n", "s")
