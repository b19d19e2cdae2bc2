"""Server-sent events: what happens in one session, and in the list of all of them; a client that comes back misses nothing.

There is no buffer: every client reads the journal from the number it has seen last, so a slow one loses nothing and costs
nobody else anything. Events of this process wake the readers at once, those of other processes are found by looking.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from booster.app import Booster
from booster.errors import UsageError
from booster.journal import Event, SessionRecord, UnknownSession
from booster.redact import Redactor
from booster.server.results import bounded

PING_SECONDS: Final = 15.0
"""Time after which a silent stream says that it is still there."""

LOOK_SECONDS: Final = 1.0
"""Time between two looks at what other processes wrote."""

MAX_EVENT_CHARS: Final = 60_000
"""Characters of one event's data as JSON."""

PIECE_BYTES: Final = 16_000
"""Up to which frames are joined; less than what is held for a client that does not read."""

MOST_LISTED: Final = 200
"""Latest sessions that the stream of the list is about."""

_TASK_CHARS = 200
_TIME = re.compile(r"(?:[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{5,20}Z)?")


class Feed:
    """Wakes those who follow sessions.

    Args:
        booster: Whose sessions they are; tells of every event that this process writes.
        ping_seconds: See `PING_SECONDS`.
    """

    def __init__(self, booster: Booster, *, ping_seconds: float = PING_SECONDS) -> None:
        self._booster = booster
        self._redact = Redactor(booster.settings.secrets)
        self._ping_seconds = ping_seconds
        self._bells: dict[asyncio.Event, str | None] = {}
        self._closed = False
        booster.observers.append(self._ring)

    def close(self) -> None:
        """End every stream: the process is ending."""
        self._closed = True
        if self._ring in self._booster.observers:
            self._booster.observers.remove(self._ring)
        for bell in self._bells:
            bell.set()

    async def session(self, session_id: str, seen: int) -> AsyncIterator[bytes]:
        """Yield the events of a session after number `seen`, until it has ended and all of them were given.

        Raises:
            UnknownSession: there is none of that id; nothing was yielded.
        """
        record = await self._booster.journal.load(session_id)
        return self._session(session_id, seen, record)

    async def _session(self, session_id: str, seen: int, record: SessionRecord) -> AsyncIterator[bytes]:
        last = record.events[-1].type if record.events else ""
        pending: Sequence[Event] = [event for event in record.events if event.seq > seen]
        with self._bell(session_id) as bell:
            silent_since = self._now()
            while not self._closed:
                for piece in _pieces(map(self._event, pending)):
                    yield piece
                if pending:
                    seen, last, silent_since = pending[-1].seq, pending[-1].type, self._now()
                bell.clear()
                pending = await self._booster.journal.events_after(session_id, seen)
                if pending:
                    continue
                if last == "concluded":
                    yield _frame("end", {"sessionId": session_id}, seen)
                    return
                if self._now() - silent_since >= self._ping_seconds:
                    if await self._is_gone(session_id):
                        yield _frame("end", {"sessionId": session_id, "deleted": True}, seen)
                        return
                    yield b": ping\n\n"
                    silent_since = self._now()
                await _wait(bell)

    async def sessions(self, since: str) -> AsyncIterator[bytes]:
        """Yield the sessions changed at or after a time, then every change of the list, without end.

        Args:
            since: `updatedAt` of the last change that was seen; empty = begin with the whole list.
        """
        known: dict[str, dict[str, Any]] = {}
        latest, first = since, True
        with self._bell(None) as bell:
            silent_since = self._now()
            while not self._closed:
                bell.clear()
                listed = await self._booster.sessions(limit=MOST_LISTED)
                frames: list[bytes] = []
                for document in reversed(listed):
                    before = known.get(document["sessionId"])
                    known[document["sessionId"]] = document
                    if (before is None and (not first or document["updatedAt"] >= since)) or _differ(before, document):
                        latest = max(latest, document["updatedAt"])
                        frames.append(self._entry(document, latest))
                for gone in _gone(known, listed):
                    del known[gone]
                    frames.append(_frame("deleted", {"sessionId": gone}, latest))
                for piece in _pieces(frames):
                    yield piece
                    silent_since = self._now()
                first = False
                if self._now() - silent_since >= self._ping_seconds:
                    yield b": ping\n\n"
                    silent_since = self._now()
                await _wait(bell)

    def _event(self, event: Event) -> bytes:
        data: Any = bounded({"seq": event.seq, "at": event.at, "type": event.type, "data": event.data}, MAX_EVENT_CHARS)
        data = self._redact.redact_value(data)
        return _frame(event.type, data, event.seq)

    def _entry(self, document: dict[str, Any], cursor: str) -> bytes:
        short: Any = self._redact.redact_value({**document, "task": str(document["task"])[:_TASK_CHARS]})
        return _frame("session", short, cursor)

    @contextmanager
    def _bell(self, session_id: str | None) -> Iterator[asyncio.Event]:
        bell = asyncio.Event()
        self._bells[bell] = session_id
        try:
            yield bell
        finally:
            del self._bells[bell]

    def _ring(self, session_id: str) -> None:
        for bell, wanted in self._bells.items():
            if wanted is None or wanted == session_id:
                bell.set()

    async def _is_gone(self, session_id: str) -> bool:
        try:
            await self._booster.journal.cancel_requested(session_id)  # the cheapest look at whether it is there
        except UnknownSession:
            return True
        return False

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()


def routes(feed: Feed) -> list[BaseRoute]:
    """Return the route `/events`."""

    async def events(request: Request) -> Response:
        cursor = request.headers.get("last-event-id") or request.query_params.get("after") or ""
        session_id = request.query_params.get("sessionId")
        frames = feed.sessions(_time(cursor)) if session_id is None else await feed.session(session_id, _seq(cursor))
        # A stream of which only the head is wanted would hold its connection without end, and nobody would know.
        return _stream(frames if request.method == "GET" else _nothing())

    return [Route("/events", events, methods=["GET"])]


async def _nothing() -> AsyncIterator[bytes]:
    return
    yield b""


def _stream(frames: AsyncIterator[bytes]) -> Response:
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(frames, media_type="text/event-stream", headers=headers)


def _seq(cursor: str) -> int:
    if not cursor:
        return 0
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) < 16):
        raise UsageError("after: the number of the last event seen, 0 or more, is expected", field="after")
    return int(cursor)


def _time(cursor: str) -> str:
    if not _TIME.fullmatch(cursor):
        raise UsageError("after: the `updatedAt` of the last change seen is expected", field="after")
    return cursor


def _frame(kind: str, data: dict[str, Any], cursor: object) -> bytes:
    """Return one event; its data is JSON on a single line."""
    return f"id: {cursor}\nevent: {kind}\ndata: {json.dumps(data, ensure_ascii=True)}\n\n".encode()


def _pieces(frames: Iterable[bytes]) -> Iterator[bytes]:
    """Join small frames, so that whoever has left is not written to again and again; a large one stays alone."""
    piece = b""
    for frame in frames:
        if piece and len(piece) + len(frame) > PIECE_BYTES:
            yield piece
            piece = b""
        piece += frame
    if piece:
        yield piece


def _differ(before: dict[str, Any] | None, after: dict[str, Any]) -> bool:
    watched = ("status", "active", "orphaned")
    return before is not None and any(before.get(name) != after.get(name) for name in watched)


def _gone(known: dict[str, dict[str, Any]], listed: Sequence[dict[str, Any]]) -> list[str]:
    """Return those known that were deleted; one may also be missing because newer ones took its place in the list."""
    there = {document["sessionId"] for document in listed}
    oldest = listed[-1]["createdAt"] if len(listed) == MOST_LISTED else ""
    return [name for name, document in known.items() if name not in there and document["createdAt"] > oldest]


async def _wait(bell: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(LOOK_SECONDS):
            await bell.wait()
    except TimeoutError:
        pass
