"""What the pages read of the journal, and nothing else: between the `Booster` and the page models."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from booster.experience import relived
from booster.journal import SessionRecord
from booster.scheduler_store import JournalStore
from booster.server.viewer.list_page import ListPage, Row, list_page, row_of
from booster.server.viewer.scheduler_page import RECENT, SESSIONS, NamespaceView, namespace_view, rulings
from booster.server.viewer.session_page import SessionPage, session_page
from scheduler.errors import SchedulerError

if TYPE_CHECKING:
    from booster.app import Booster

REMEMBERED: Final = 500
"""Rows of ended sessions that are kept, so that a list need not read them again."""


async def read_session(booster: "Booster", session_id: str) -> SessionPage:
    """Return the page of a session as it is now.

    Raises:
        UnknownSession: there is none of that id.
    """
    result = await booster.result(session_id)
    export = await booster.journal.export(session_id)
    active = booster.journal.is_alive(export["session"]["owner"])
    # A long session takes a tenth of a second: solves go on meanwhile.
    return await asyncio.to_thread(session_page, export, result, active=active, now=time.time())


class ListReader:
    """Reads lists of sessions; what has ended is read once, until it changes.

    Args:
        booster: Whose sessions they are.
        remembered: See `REMEMBERED`.
    """

    def __init__(self, booster: "Booster", *, remembered: int = REMEMBERED) -> None:
        self._booster = booster
        self._remembered = remembered
        self._rows: OrderedDict[tuple[str, str, bool], Row] = OrderedDict()

    async def read(self, *, status: str | None, limit: int) -> ListPage:
        """Return the latest sessions; `status` None = all of them."""
        listed = await self._booster.sessions(status=status, limit=limit + 1)
        return list_page([await self._row(entry) for entry in listed], status=status, limit=limit)

    async def _row(self, entry: Mapping[str, Any]) -> Row:
        key = (entry["sessionId"], entry["updatedAt"], entry["active"])
        if entry["status"] == "running" or key not in self._rows:
            self._rows[key] = row_of(entry, await self._booster.result(entry["sessionId"]))
        self._rows.move_to_end(key)
        row = self._rows[key]
        while len(self._rows) > self._remembered:
            self._rows.popitem(last=False)
        return row


async def read_namespaces(booster: "Booster") -> tuple[NamespaceView, ...]:
    """Return every namespace that the settings or one of the latest sessions names, that of the settings first."""
    records = await booster.journal.sessions(limit=SESSIONS)
    names = dict.fromkeys([booster.settings.config.namespace, *(_namespace(one) for one in records)])
    return tuple([await _namespace_view(booster, name, records, at) for at, name in enumerate(names)])


async def _namespace_view(booster: "Booster", name: str, records: list[SessionRecord], position: int) -> NamespaceView:
    try:
        stored = await JournalStore(booster.journal).read(name)
        library = booster.scheduler_tools().service.load(name, stored=stored)
    except SchedulerError as error:
        return NamespaceView(name=name, problem=str(error))
    loaded = [await booster.journal.load(one.id) for one in records if _namespace(one) == name]
    lived = relived([(event.type, event.data) for event in record.events] for record in reversed(loaded))
    ruled = [
        one for record in loaded
        for one in reversed(rulings(record.id, ((event.at, event.type, event.data) for event in record.events)))
    ]  # fmt: skip
    return namespace_view(
        name, policy=library.policy, revision=library.rev, stats=lived.stats(), calibration=lived.calibration.report(),
        recent=ruled[:RECENT], position=position,
    )  # fmt: skip


def _namespace(record: SessionRecord) -> str:
    return str(record.spec["config"].get("namespace", "default"))
