"""Carries out many writes in one transaction, with one statement a table.

The statements are SQLAlchemy's, compiled once for the database, and run on the driver's own cursor: measured on SQLite, a
transaction of one event takes 0.15 ms of processor time this way and 0.43 ms with SQLAlchemy's `Connection` between.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from sqlalchemy import Connection, Dialect, Executable
from sqlalchemy.exc import DBAPIError

from booster.journal import schema
from booster.journal.writes import HEAD, Head, Heads, Row, Rows, Write, plan_all


class Batch:
    """The frequent writes in the words of one database.

    Args:
        dialect: Of the connection that they will run on.
    """

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._compiled = cache(lambda statement: _Compiled(statement, dialect))
        self._heads = cache(lambda count: _Compiled(schema.select_heads(count), dialect))
        self._revisions = cache(lambda count: _Compiled(schema.select_revisions(count), dialect))

    def carry_out(self, connection: Connection, writes: Sequence[Write]) -> list[Any]:
        """Write and commit; return one outcome a write: its result, or the exception that refused it.

        Raises:
            sqlalchemy.exc.SQLAlchemyError: nothing at all was written.
        """
        driver = connection.connection
        with self._translated():
            cursor = driver.cursor()
            try:
                if self._dialect.name == "sqlite":  # the others begin by themselves
                    cursor.execute("BEGIN IMMEDIATE")
                heads = self._read_heads(cursor, writes)
                rows, outcomes = plan_all(writes, heads)
                self._store(cursor, rows, heads)
                driver.commit()
            except BaseException:
                driver.rollback()
                raise
            finally:
                cursor.close()
        return outcomes

    def _read_heads(self, cursor: Any, writes: Sequence[Write]) -> Heads:
        """Return what the writes are about and keep others from changing it until the transaction ends."""
        sessions = _found(self._heads, cursor, {write.session_id for write in writes})
        revisions = _found(self._revisions, cursor, {write.namespace for write in writes})
        return Heads(
            sessions={head[0]: Head(**dict(zip(HEAD, head, strict=True))) for head in sessions},
            revisions=dict(revisions),
        )

    def _store(self, cursor: Any, rows: Rows, heads: Heads) -> None:
        touched = [
            {
                "key_id": head.id,
                "status": head.status,
                "owner": head.owner,
                "last_seq": head.last_seq,
                "seconds": head.seconds,
                "updated_at": head.updated_at,
            }
            for head in heads.sessions.values()
            if head.changed
        ]
        for statement, parameters in (
            (schema.INSERT_SESSION, rows.sessions),
            (schema.INSERT_EVENT, rows.events),
            (schema.INSERT_CALL, rows.opened),
            (schema.UPDATE_CALL, rows.closed),
            (schema.DELETE_CALL, rows.withdrawn),
            (schema.UPDATE_HEAD, touched),
            (schema.INSERT_STATE, rows.states),
            (schema.UPDATE_STATE, rows.replaced),
        ):
            if parameters:
                self._compiled(statement).run(cursor, parameters)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Raise the driver's errors as SQLAlchemy's, which have the same names whatever the driver."""
        base = self._dialect.loaded_dbapi.Error
        try:
            yield
        except base as error:
            raise DBAPIError.instance(None, None, error, base, dialect=self._dialect) from error


def _found(query: Callable[[int], "_Compiled"], cursor: Any, ids: set[str] | set[str | None]) -> Sequence[Any]:
    """Return the rows that a query finds for these ids; None among them stands for nothing."""
    wanted = sorted(name for name in ids if name is not None)
    if not wanted:
        return ()
    places = 1 << (len(wanted) - 1).bit_length()  # few forms of the statement, whatever the number of ids
    query(places).run(cursor, [{f"id{place}": wanted[min(place, len(wanted) - 1)] for place in range(places)}])
    rows: Sequence[Any] = cursor.fetchall()
    return rows


class _Compiled:
    """One statement as the driver takes it."""

    def __init__(self, statement: Executable, dialect: Dialect) -> None:
        compiled = statement.compile(dialect=dialect)  # type: ignore[attr-defined]  # every statement here has it
        self._text = str(compiled)
        self._order: Sequence[str] | None = compiled.positiontup if compiled.positional else None

    def run(self, cursor: Any, rows: Sequence[Row]) -> None:
        """Execute it for every row."""
        order = self._order
        parameters: Sequence[Any] = rows if order is None else [[row[name] for name in order] for row in rows]
        if len(parameters) == 1:
            cursor.execute(self._text, parameters[0])
        else:
            cursor.executemany(self._text, parameters)
