"""The journal's file: modes, schema versions, traces of the deleted, and disks that refuse."""

import asyncio
import os
import random
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, create_engine, make_url, text
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateTable

from booster.journal import JournalError, open_journal, schema
from booster.journal.engine import explain, open_engine, parse_url, place
from booster.journal.pace import Pace
from booster.journal.writer import Writer
from tests.booster.journal.journal_samples import a_call, a_reply, pay, resumed, started

ROOT = Path(__file__).parents[3]


def file_of(url: str) -> Path:
    """Return the file that a SQLite URL names."""
    return Path(str(make_url(url).database))


def size_of(path: Path) -> int:
    """Return the bytes of a file."""
    return path.stat().st_size


async def test_what_was_written_is_there_after_reopening(sqlite_url: str) -> None:
    async with open_journal(sqlite_url) as journal:
        epoch, ledger = await started(journal)
        await journal.append("ses_a", epoch, [("a", {"n": 1})])
        await pay(ledger, a_call())
        before = await journal.export("ses_a")

    async with open_journal(sqlite_url) as journal:
        assert await journal.export("ses_a") == before
        assert not journal.is_alive((await journal.load("ses_a")).owner)
        assert await journal.take_over("ses_a") == epoch + 1


async def test_files_and_new_directories_are_for_their_user_only(sqlite_url: str) -> None:
    mask = os.umask(0)
    try:
        async with open_journal(sqlite_url) as journal:
            await started(journal)
            file = file_of(sqlite_url)
            modes = {path.name: path.stat().st_mode & 0o777 for path in [*file.parent.iterdir(), file.parent]}
    finally:
        os.umask(mask)

    assert modes == {
        "booster.db": 0o600,
        "booster.db-wal": 0o600,
        "booster.db-shm": 0o600,
        "owners": 0o700,
        "home": 0o700,
    }


async def test_a_file_that_others_could_read_is_closed_to_them(sqlite_url: str) -> None:
    async with open_journal(sqlite_url):
        pass
    file_of(sqlite_url).chmod(0o644)

    async with open_journal(sqlite_url):
        assert file_of(sqlite_url).stat().st_mode & 0o777 == 0o600


async def test_a_commit_is_in_the_file_and_survives_a_power_cut(sqlite_url: str) -> None:
    """WAL and synchronous=FULL: another connection sees the row when `append` has returned."""
    async with open_journal(sqlite_url) as journal:
        epoch, _ = await started(journal)
        await journal.append("ses_a", epoch, [("a", {})])

        with sqlite3.connect(file_of(sqlite_url)) as other:
            mode = other.execute("PRAGMA journal_mode").fetchone()
            rows = other.execute("SELECT count(*) FROM events").fetchone()
        other.close()
        pragmas = await journal._writer.alone(  # type: ignore[attr-defined]  # the only way to see a connection's own settings
            lambda connection: [
                connection.exec_driver_sql(f"PRAGMA {name}").scalar()
                for name in ("synchronous", "busy_timeout", "foreign_keys")
            ]
        )

    assert (mode, rows) == (("wal",), (1,))
    assert pragmas == [2, 30_000, 1]


async def test_the_log_is_moved_into_the_database_before_it_grows_long(sqlite_url: str) -> None:
    """Between two commits, and long before SQLite's own bound, which would come to bear amid one."""
    async with open_journal(sqlite_url) as journal:
        epoch, _ = await started(journal)
        for _ in range(150):
            await journal.append("ses_a", epoch, [("a", {"text": "x" * 50_000})])

        assert size_of(Path(f"{file_of(sqlite_url)}-wal")) < 4_000_000
        assert size_of(file_of(sqlite_url)) > 4_000_000
        assert len((await journal.load("ses_a")).events) == 150


async def test_the_log_stays_short_where_no_process_writes_for_long_and_one_keeps_it_open(sqlite_url: str) -> None:
    async with open_journal(sqlite_url):
        for number in range(8):
            async with open_journal(sqlite_url) as journal:
                epoch, _ = await started(journal, f"ses_{number}")
                for _ in range(20):
                    await journal.append(f"ses_{number}", epoch, [("a", {"text": "x" * 80_000})])

        assert size_of(Path(f"{file_of(sqlite_url)}-wal")) < 10_000_000


@pytest.mark.parametrize("disk", ["quick", "slow"])
async def test_a_commit_keeps_the_loop_only_while_the_disk_is_quick(sqlite_url: str, disk: str) -> None:
    places: set[str] = set()

    def watch(connection: Connection) -> None:
        driver: Any = connection.connection
        driver.set_trace_callback(
            lambda said: places.add(threading.current_thread().name) if said.startswith("COMMIT") else None
        )

    async with open_journal(sqlite_url) as journal:
        epoch, ledger = await started(journal)
        writer: Writer = journal._writer  # type: ignore[attr-defined]  # a slow disk is not to be had on request
        await writer.alone(watch)
        writer._pace = Pace()
        writer._pace.took(1.0 if disk == "slow" else 0.0, time.monotonic() + 3600)
        for kind in "abc":
            await journal.append("ses_a", epoch, [(kind, {})])
        await pay(ledger, a_call())

        assert [event.type for event in await journal.events_after("ses_a", 0)] == ["a", "b", "c"]
    assert (threading.current_thread().name in places) == (disk == "quick")
    assert places


async def test_nothing_of_a_deleted_session_is_left_in_any_file(sqlite_url: str) -> None:
    """Rows of many sizes move between pages as the file grows: their copies must go too."""
    ids = [f"ses_CANARY{number}" for number in range(8)]
    dice = random.Random(7)
    async with open_journal(sqlite_url) as journal:
        workers = {session_id: await started(journal, session_id) for session_id in ids}
        for turn in range(160):
            session_id = dice.choice(ids)
            epoch, ledger = workers[session_id]
            words = f"{session_id}-text " * dice.choice([1, 3, 20, 200])
            await journal.append(session_id, epoch, [("a", {"text": words})])
            await pay(ledger, a_call(f"it{turn}/{session_id}", content=words), a_reply(words))

        for session_id in ids[:6]:
            await journal.delete(session_id)

        content = b"".join(path.read_bytes() for path in file_of(sqlite_url).parent.glob("booster.db*"))
        assert [session_id for session_id in ids if session_id.encode() in content] == ids[6:]


def test_a_schema_is_brought_forward_with_its_data(tmp_path: Path) -> None:
    """A file as version 1 wrote it, and a program that is two versions ahead."""
    engine = create_engine(f"sqlite:///{tmp_path}/old.db")
    with engine.begin() as connection:
        schema.migrate(connection, ())
        connection.execute(text("INSERT INTO clients VALUES ('cursor', '1.0', 'p', '{}', 'then')"))

    def add_column(connection: Connection) -> None:
        connection.execute(text("ALTER TABLE clients ADD COLUMN title TEXT"))

    def fill_column(connection: Connection) -> None:
        connection.execute(text("UPDATE clients SET title = upper(name)"))

    with engine.begin() as connection:
        schema.migrate(connection, (add_column, fill_column))
        again = connection.execute(text("SELECT name, title FROM clients")).all()
        schema.migrate(connection, (add_column, fill_column))
        version = schema.stored_version(connection)
    engine.dispose()

    assert again == [("cursor", "CURSOR")]
    assert version == 3


def test_an_upgrade_that_fails_half_way_leaves_the_old_version(tmp_path: Path) -> None:
    engine = open_engine(parse_url(f"sqlite:///{tmp_path}/old.db"))
    with engine.begin() as connection:
        schema.migrate(connection, ())

    def add_and_fail(connection: Connection) -> None:
        connection.execute(text("ALTER TABLE clients ADD COLUMN title TEXT"))
        raise RuntimeError("the machine stops here")

    with pytest.raises(RuntimeError), engine.begin() as connection:
        schema.migrate(connection, (add_and_fail,))

    with engine.begin() as connection:
        assert schema.stored_version(connection) == 1
        assert "title" not in [row.name for row in connection.execute(text("PRAGMA table_info(clients)"))]
    engine.dispose()


async def test_an_empty_file_made_by_hand_becomes_a_journal(sqlite_url: str) -> None:
    file_of(sqlite_url).parent.mkdir()
    file_of(sqlite_url).touch()

    async with open_journal(sqlite_url) as journal:
        await started(journal)

        assert len(await journal.sessions()) == 1


async def test_a_newer_schema_is_refused_and_left_alone(sqlite_url: str) -> None:
    async with open_journal(sqlite_url) as journal:
        await started(journal)
    connection = sqlite3.connect(file_of(sqlite_url))
    connection.execute("UPDATE schema_version SET version = 99")
    connection.commit()
    connection.close()
    before = file_of(sqlite_url).read_bytes()

    with pytest.raises(JournalError, match=r"booster\.db.*version 99.*use a newer one"):
        async with open_journal(sqlite_url):
            pass

    assert file_of(sqlite_url).read_bytes() == before


async def test_a_database_of_something_else_is_refused(sqlite_url: str) -> None:
    file_of(sqlite_url).parent.mkdir()
    connection = sqlite3.connect(file_of(sqlite_url))
    connection.execute("CREATE TABLE sessions (cookie TEXT)")
    connection.close()

    with pytest.raises(JournalError, match="no journal"):
        async with open_journal(sqlite_url):
            pass


async def test_a_file_that_is_no_database_is_named_with_what_to_do(sqlite_url: str) -> None:
    file_of(sqlite_url).parent.mkdir()
    file_of(sqlite_url).write_text("notes to myself\n" * 100)

    with pytest.raises(JournalError, match=r"booster\.db.*no SQLite database.*move this one away"):
        async with open_journal(sqlite_url):
            pass


async def test_a_damaged_file_is_an_error_and_not_an_empty_answer(sqlite_url: str) -> None:
    async with open_journal(sqlite_url) as journal:
        epoch, _ = await started(journal)
        await journal.append("ses_a", epoch, [("a", {"text": "x" * 50_000})])
    content = bytearray(file_of(sqlite_url).read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    file_of(sqlite_url).write_bytes(content)

    with pytest.raises(JournalError, match=r"booster\.db.*damaged"):
        async with open_journal(sqlite_url) as journal:
            await journal.load("ses_a")


async def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(JournalError, match=r"file/booster\.db"):
        async with open_journal(f"sqlite:///{tmp_path}/file/booster.db"):
            pass


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("booster.db", "no database URL"),
        ("mysql://localhost/x", "no journal on 'mysql'"),
        ("sqlite://", "needs a file"),
        ("sqlite:///:memory:", "needs a file"),
        ("postgresql://localhost/x", "owner_dir"),
    ],
)
async def test_a_url_that_cannot_work_is_answered_with_those_that_can(url: str, says: str) -> None:
    with pytest.raises(JournalError, match=says):
        async with open_journal(url):
            pass


def test_urls_with_another_driver_of_the_same_database_mean_the_same_file() -> None:
    urls = ("sqlite:////var/a.db", "sqlite+aiosqlite:////var/a.db", "sqlite+pysqlite:////var/a.db")

    assert len({parse_url(url) for url in urls}) == 1


def test_a_password_is_in_no_message() -> None:
    url = parse_url("postgresql://me:hunter2@localhost/x")

    assert "hunter2" not in place(url)
    assert "hunter2" not in str(explain(sqlite3.OperationalError("connection refused"), url))


def test_a_missing_driver_is_answered_with_the_extra_that_brings_it() -> None:
    error = explain(ModuleNotFoundError("No module named 'psycopg'"), parse_url("postgresql://localhost/x"))

    assert "install the extra `postgres`" in str(error)


def test_a_read_only_file_is_explained(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    file.touch()
    connection = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    with pytest.raises(sqlite3.OperationalError) as refusal:
        connection.execute("CREATE TABLE t (x)")
    connection.close()

    error = explain(refusal.value, parse_url(f"sqlite:///{file}"))

    assert "a.db: it is read-only; make the file and its directory writable" in str(error)


async def test_a_full_disk_is_an_error_for_those_who_wait_and_nothing_is_half_written(sqlite_url: str) -> None:
    """SQLite's own limit on pages raises the very error of a full disk; lifting it is space that came back."""
    async with open_journal(sqlite_url) as journal:
        epoch, ledger = await started(journal)
        ticket = await ledger.open(a_call())
        await _limit_pages(journal, 0)

        outcomes = await asyncio.gather(
            *(journal.append("ses_a", epoch, [("a", {"n": n}), ("b", {"text": "x" * 90_000})]) for n in range(5)),
            ledger.close(ticket, a_reply("y" * 90_000)),
            return_exceptions=True,
        )
        assert {type(outcome) for outcome in outcomes} == {JournalError}
        assert "booster.db: the disk is full; free some space" in str(outcomes[0])
        assert (await journal.load("ses_a")).events == ()

        await _limit_pages(journal, 2**30)
        await ledger.close(ticket, a_reply("not this one"))
        events = await journal.append("ses_a", epoch, [("a", {}), ("b", {"text": "x" * 90_000})])

        assert [event.seq for event in events] == [1, 2]
        assert [call["reply"]["text"] for call in await journal.calls("ses_a")] == ["y" * 90_000]
        _, ledger = await resumed(journal)
        assert (ledger.spent.calls, ledger.spent.successes) == (1, 1)


async def _limit_pages(journal: object, pages: int) -> None:
    """Let the writing connection's file grow to so many pages; SQLite never goes below what it has."""
    pragma = f"PRAGMA max_page_count = {pages or 1}"
    await journal._writer.alone(lambda connection: connection.exec_driver_sql(pragma).scalar())  # type: ignore[attr-defined]


QUOTA = """
import asyncio, resource, sys
from booster.journal import JournalError, open_journal
from tests.booster.journal.journal_samples import started

async def main():
    async with open_journal(sys.argv[1]) as journal:
        epoch, ledger = await started(journal)
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
        try:
            while True:
                await journal.append("ses_a", epoch, [("a", {"text": "x" * 20_000})])
        except JournalError as error:
            print(error)
        kept = len((await journal.load("ses_a")).events)
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        events = await journal.append("ses_a", epoch, [("a", {})])
        print(kept, events[0].seq, len((await journal.load("ses_a")).events))

asyncio.run(main())
"""


def test_the_writer_goes_on_once_a_file_may_grow_again(sqlite_url: str) -> None:
    """A real refusal by the operating system: the process may write no file beyond 200 kB, then it may."""
    done = subprocess.run(
        [sys.executable, "-c", QUOTA, sqlite_url], capture_output=True, text=True, timeout=60, check=False, cwd=ROOT
    )

    refused, numbers = done.stdout.splitlines()
    kept, first, events = map(int, numbers.split())
    assert "booster.db: the disk" in refused, done.stderr
    assert 0 < kept == first - 1 == events - 1


async def test_one_row_at_fault_does_not_cost_the_others_their_commit(sqlite_url: str) -> None:
    """Two ledgers of one epoch open the same attempt: the database refuses one of them, and only that one."""
    async with open_journal(sqlite_url) as journal:
        epoch, one = await started(journal)
        other = await journal.ledger(await journal.load("ses_a"), epoch=epoch)

        outcomes = await asyncio.gather(
            journal.append("ses_a", epoch, [("a", {})]),
            one.open(a_call()),
            other.open(a_call()),
            journal.append("ses_a", epoch, [("b", {})]),
            return_exceptions=True,
        )

        assert [isinstance(outcome, JournalError) for outcome in outcomes] == [False, False, True, False]
        assert [event.type for event in (await journal.load("ses_a")).events] == ["a", "b"]
        assert (one.spent.calls, other.spent.calls) == (1, 0)


async def test_a_closed_journal_says_so(sqlite_url: str) -> None:
    async with open_journal(sqlite_url) as journal:
        epoch, _ = await started(journal)

    with pytest.raises(JournalError, match="closed"):
        await journal.append("ses_a", epoch, [("a", {})])
    with pytest.raises(JournalError, match="closed"):
        await journal.load("ses_a")


async def test_what_is_queued_is_written_before_the_journal_closes(sqlite_url: str) -> None:
    async with open_journal(sqlite_url) as journal:
        epoch, _ = await started(journal)
        appending = [journal.append("ses_a", epoch, [("a", {})]) for _ in range(20)]
        await asyncio.sleep(0)

    assert all([await task for task in appending])


def test_every_statement_has_a_form_for_postgresql() -> None:
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]  # SQLAlchemy leaves it untyped
    hot = (
        schema.select_heads(2),
        schema.UPDATE_HEAD,
        schema.INSERT_SESSION,
        schema.INSERT_EVENT,
        schema.INSERT_CALL,
        schema.UPDATE_CALL,
        schema.DELETE_CALL,
        schema.select_revisions(2),
        schema.INSERT_STATE,
        schema.UPDATE_STATE,
    )

    statements = [str(statement.compile(dialect=dialect)) for statement in hot]
    tables = [str(CreateTable(table).compile(dialect=dialect)) for table in schema.METADATA.sorted_tables]

    assert statements[0].endswith("FOR UPDATE")
    assert not [table for table in tables if "SERIAL" in table]


async def test_a_write_waits_for_another_process_and_the_loop_does_not(sqlite_url: str) -> None:
    async with open_journal(sqlite_url) as journal:
        epoch, ledger = await started(journal)
        other = sqlite3.connect(str(parse_url(sqlite_url).database), isolation_level=None)
        other.execute("BEGIN IMMEDIATE")

        opening = asyncio.create_task(ledger.open(a_call()))
        saving = asyncio.create_task(journal.save_state("answers/a", None, {"n": 1}))
        for _ in range(20):  # as long as the lock is held nothing is written, and nothing stands still
            await asyncio.sleep(0.01)
        assert not opening.done()
        assert not saving.done()
        other.execute("COMMIT")
        other.close()

        assert (await opening).attempt == 1
        assert await saving == 1
        await journal.append("ses_a", epoch, [("a", {})])
        assert [event.type for event in await journal.events_after("ses_a", 0)] == ["a"]
