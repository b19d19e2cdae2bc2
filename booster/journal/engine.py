"""Opens the database: its file and modes, the pragmas that make a commit durable, and errors in words that help."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from booster.journal.errors import JournalError
from booster.journal.files import private_database

BUSY_SECONDS = 30
"""How long a writer waits for another process's transaction."""

READERS = 4
"""Connections for reading; there is one more for the writer."""

LONGEST_LOG = 2000
"""Pages of SQLite's log from which on a commit moves it into the database, whoever wrote it. A process that goes on does so far
earlier, and not amid a commit: `booster.journal.writer`."""

_DRIVERS = {"sqlite": "sqlite+pysqlite", "postgresql": "postgresql+psycopg"}

_ADVICE = (
    ("database or disk is full", "the disk is full; free some space and repeat, nothing of this write was kept"),
    (
        "disk i/o error",
        "the disk (full, over a quota, or failing) refused a write, of which nothing was kept; free some space",
    ),
    ("no space left", "the disk is full; free some space and repeat"),
    ("readonly", "it is read-only; make the file and its directory writable, or set `journal.url` to another place"),
    ("locked", f"another process kept it locked for more than {BUSY_SECONDS} seconds; end that process or try again"),
    ("malformed", "the file is damaged; move it away together with its -wal and -shm files, or restore a copy"),
    ("not a database", "this is no SQLite database; set `journal.url` to another file, or move this one away"),
    ("no module named 'psycopg'", "its driver is not installed; install the extra `postgres`"),
    (
        "unable to open",
        "it cannot be opened; check that it is a file, and that its directory exists and belongs to you",
    ),
)


_HOME_ADVICE = "set BOOSTER_HOME, or `journal.url`, to a directory that can be written"


def parse_url(url: str) -> URL:
    """Return the URL with the driver that is used here.

    Raises:
        JournalError: it names no database that can hold a journal.
    """
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise JournalError(_url_advice("this is no database URL")) from error
    driver = _DRIVERS.get(parsed.get_backend_name())
    if driver is None:
        raise JournalError(_url_advice(f"there is no journal on {parsed.get_backend_name()!r}"))
    if driver.startswith("sqlite") and parsed.database in (None, "", ":memory:"):
        raise JournalError(_url_advice("a SQLite journal needs a file"))
    return parsed.set(drivername=driver)


def _url_advice(problem: str) -> str:
    return f"{problem}; `journal.url` takes sqlite:///FILE, postgresql+psycopg://USER@HOST/NAME or memory:"


def place(url: URL) -> str:
    """Return how the database is named in messages; never holds a password."""
    return str(url.database) if url.get_backend_name() == "sqlite" else url.render_as_string(hide_password=True)


@contextmanager
def explained(url: URL) -> Iterator[None]:
    """Turn errors of the database and the file system into a JournalError that names the place and the fix."""
    try:
        yield
    except JournalError as error:
        if type(error) is not JournalError:
            raise
        raise JournalError(f"journal {place(url)}: {error}") from error
    except (SQLAlchemyError, sqlite3.Error, OSError, ImportError) as error:
        raise explain(error, url) from error


def explain(error: Exception, url: URL) -> JournalError:
    """Return the JournalError for an error of the database; statements and their values are left out of the text."""
    cause = str(error.orig) if isinstance(error, DBAPIError) else str(error)
    otherwise = f"{cause}; {_HOME_ADVICE}" if isinstance(error, OSError) else cause
    advice = next((text for sign, text in _ADVICE if sign in cause.lower()), otherwise)
    return JournalError(f"journal {place(url)}: {advice}")


def open_engine(url: URL) -> Engine:
    """Return an engine; connections whose execution option `write` is true lock the SQLite file when they begin."""
    pool = {"pool_size": READERS + 1, "max_overflow": 0, "pool_timeout": BUSY_SECONDS}
    if url.get_backend_name() != "sqlite":
        # Whatever the server's own default is: what a lock was waited for has to be seen.
        return create_engine(url, pool_pre_ping=True, isolation_level="READ COMMITTED", **pool)
    private_database(Path(str(url.database)))
    engine = create_engine(url, **pool)
    event.listen(engine, "connect", _configure)
    event.listen(engine, "begin", _begin)
    return engine


def _configure(dbapi: Any, _record: object) -> None:
    """Set a new SQLite connection up: our own BEGIN, a commit that survives a power cut, the log in the writer's care."""
    dbapi.isolation_level = None
    cursor = dbapi.cursor()
    for pragma in (
        f"busy_timeout={BUSY_SECONDS * 1000}",
        "synchronous=FULL",
        "foreign_keys=ON",
        f"wal_autocheckpoint={LONGEST_LOG}",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    _enter_wal(cursor)
    cursor.close()


def _enter_wal(cursor: Any) -> None:
    """Switch to write-ahead logging; SQLite does not wait here for another process that does the same."""
    patience = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > patience:
                raise
            time.sleep(0.005)


def _begin(connection: Connection) -> None:
    write = connection.get_execution_options().get("write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")
