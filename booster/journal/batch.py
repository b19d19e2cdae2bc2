"""Carries out many writes in one transaction, with one statement a table."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection

from booster.journal import schema
from booster.journal.writes import Head, Write, plan_all


def carry_out(connection: Connection, writes: Sequence[Write]) -> list[Any]:
    """Write and commit; return one outcome a write: its result, or the exception that refused it.

    Raises:
        sqlalchemy.exc.SQLAlchemyError: nothing at all was written.
    """
    with connection.begin():
        ids = sorted({write.session_id for write in writes})
        found = connection.execute(schema.SELECT_HEADS, {"ids": ids})
        heads = {row.id: Head(**row._asdict()) for row in found}
        rows, outcomes = plan_all(writes, heads)
        touched = [
            {
                "key_id": head.id,
                "status": head.status,
                "owner": head.owner,
                "last_seq": head.last_seq,
                "seconds": head.seconds,
                "updated_at": head.updated_at,
            }
            for head in heads.values()
            if head.changed
        ]
        for statement, parameters in (
            (schema.INSERT_SESSION, rows.sessions),
            (schema.INSERT_EVENT, rows.events),
            (schema.INSERT_CALL, rows.opened),
            (schema.UPDATE_CALL, rows.closed),
            (schema.DELETE_CALL, rows.withdrawn),
            (schema.UPDATE_HEAD, touched),
        ):
            if parameters:
                connection.execute(statement, parameters)
    return outcomes
