"""Tables, statements and schema versions: one schema for SQLite and PostgreSQL, JSON kept as text."""

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Engine,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Select,
    String,
    Table,
    Text,
    bindparam,
    delete,
    func,
    insert,
    inspect,
    select,
    update,
)

from booster.journal.errors import JournalError
from booster.journal.writes import HEAD

METADATA = MetaData()

schema_version = Table("schema_version", METADATA, Column("version", Integer, nullable=False))

sessions = Table(
    "sessions",
    METADATA,
    Column("id", String, primary_key=True),
    Column("spec", Text, nullable=False),
    Column("status", String, nullable=False),
    Column("task", Text, nullable=False),
    Column("created_at", String, nullable=False),
    Column("updated_at", String, nullable=False),
    Column("owner", String),
    Column("epoch", Integer, nullable=False),
    Column("cancel_requested", Boolean, nullable=False),
    Column("last_seq", Integer, nullable=False),
    Column("seconds", Float, nullable=False),
    Index("sessions_by_creation", "created_at"),
)


def _session_id() -> Column[Any]:
    return Column("session_id", String, ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True)


events = Table(
    "events",
    METADATA,
    _session_id(),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("at", String, nullable=False),
    Column("type", String, nullable=False),
    Column("data", Text, nullable=False),
)

calls = Table(
    "calls",
    METADATA,
    _session_id(),
    Column("step_key", String, primary_key=True),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("epoch", Integer, nullable=False),
    Column("state", String, nullable=False),
    Column("role", String, nullable=False),
    Column("model", String),
    Column("request_hash", String, nullable=False),
    Column("repaid", String, nullable=False),
    Column("opened", Integer, nullable=False),
    Column("arrived", Integer),
    Column("opened_at", String, nullable=False),
    Column("closed_at", String),
    Column("request", Text, nullable=False),
    Column("reply", Text),
    Column("error", Text),
    Column("usage", Text),
    Column("cost_micro_usd", BigInteger),
)

scheduler_state = Table(
    "scheduler_state",
    METADATA,
    Column("namespace", String, primary_key=True),
    Column("rev", Integer, nullable=False),
    Column("state", Text, nullable=False),
)

clients = Table(
    "clients",
    METADATA,
    Column("name", String, primary_key=True),
    Column("version", String, primary_key=True),
    Column("protocol", String, primary_key=True),
    Column("capabilities", Text, nullable=False),
    Column("seen_at", String, nullable=False),
)

_OUTCOME = ("state", "arrived", "closed_at", "reply", "error", "usage", "cost_micro_usd")


def select_heads(count: int) -> Select[Any]:
    """Return the query for the heads of so many sessions; see `_locked`."""
    return _locked(sessions.c.id, [sessions.c[name] for name in HEAD], count)


def select_revisions(count: int) -> Select[Any]:
    """Return the query for the revisions of so many states; see `_locked`."""
    return _locked(scheduler_state.c.namespace, [scheduler_state.c.namespace, scheduler_state.c.rev], count)


def _locked(key: Column[str], columns: Sequence[Column[Any]], count: int) -> Select[Any]:
    """Return the query for the rows of so many keys, with the parameters `id0`, `id1`, ...

    Rows are locked in one order, so that two processes on PostgreSQL cannot wait for each other; SQLite has locked the
    whole file at BEGIN IMMEDIATE and ignores it.
    """
    wanted = [bindparam(f"id{place}", type_=String) for place in range(count)]
    return select(*columns).where(key.in_(wanted)).order_by(key).with_for_update()


UPDATE_HEAD = (
    update(sessions)
    .where(sessions.c.id == bindparam("key_id"))
    .values({name: bindparam(name) for name in ("status", "owner", "last_seq", "seconds", "updated_at")})
)
INSERT_SESSION = insert(sessions)
INSERT_EVENT = insert(events)
INSERT_CALL = insert(calls)
_ONE_CALL = (
    (calls.c.session_id == bindparam("key_session"))
    & (calls.c.step_key == bindparam("key_step"))
    & (calls.c.attempt == bindparam("key_attempt"))
)
UPDATE_CALL = update(calls).where(_ONE_CALL).values({name: bindparam(name) for name in _OUTCOME})
DELETE_CALL = delete(calls).where(_ONE_CALL)
INSERT_STATE = insert(scheduler_state)
UPDATE_STATE = (
    update(scheduler_state)
    .where(scheduler_state.c.namespace == bindparam("key_namespace"))
    .values({name: bindparam(name) for name in ("rev", "state")})
)

Migration = Callable[[Connection], None]
"""Brings an older schema one version forward, data included."""

MIGRATIONS: tuple[Migration, ...] = ()
"""Step i leads from version i + 1 to i + 2; version 1 is the first that was released."""

NEWEST = 1 + len(MIGRATIONS)
"""The version this program writes."""


def migrate(connection: Connection, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Create the tables, or bring those of an older version forward; runs inside the caller's transaction.

    Raises:
        JournalError: the schema is newer than this program, or the tables in the file belong to something else.
    """
    newest = 1 + len(migrations)
    version = stored_version(connection)
    if version > newest:
        raise JournalError(
            f"its schema has version {version}, this program knows up to {newest}; "
            "use a newer one, or set `journal.url` to another place"
        )
    if version == newest:
        return
    if version == 0:
        foreign = set(inspect(connection).get_table_names()) & METADATA.tables.keys()
        if foreign:
            raise JournalError(
                f"it is no journal: it has tables {sorted(foreign)} but no schema version; "
                "set `journal.url` to another file"
            )
        METADATA.create_all(connection)
        connection.execute(insert(schema_version).values(version=newest))
        return
    for step in migrations[version - 1 :]:
        step(connection)
    connection.execute(update(schema_version).values(version=newest))


MIGRATION_LOCK = 0x626F6F73746572
"""A number that others are unlikely to take for theirs: one process at a time changes the tables of a database."""


def prepare(engine: Engine) -> None:
    """Bring the schema to this program's version; a database that has it is only read.

    Raises:
        JournalError: see `migrate`.
    """
    with engine.connect() as connection:
        if stored_version(connection) == NEWEST:
            return
    with engine.connect().execution_options(write=True) as connection, connection.begin():
        if engine.dialect.name == "postgresql":  # SQLite has locked the whole file by now
            connection.execute(select(func.pg_advisory_xact_lock(MIGRATION_LOCK)))
        migrate(connection)


def stored_version(connection: Connection) -> int:
    """Return the schema version in the database; 0 = it holds no journal yet."""
    if not inspect(connection).has_table(schema_version.name):
        return 0
    return int(connection.execute(select(schema_version.c.version)).scalar() or 0)
