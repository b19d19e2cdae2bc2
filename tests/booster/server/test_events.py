"""Event streams: nothing is missed, whoever writes, whoever comes back, and whatever restarts."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from booster.server.events import Feed
from providers.types import Call
from tests.booster.server.http_door import HttpDoor, a_file, http_door
from tests.booster.server.mcp_harness import STEPS, answering, opened

CANARY = "canary-7f3a9c51d2e84b60"


@dataclass(frozen=True)
class Seen:
    """One event as a browser sees it."""

    id: str
    type: str
    data: dict[str, Any]


@asynccontextmanager
async def a_door(home: Path, script: Any = None, *, delay: float = 0.0, **fields: Any) -> AsyncIterator[HttpDoor]:
    async with opened(home, script or answering(42), delay=delay, **fields) as booster, http_door(booster) as door:
        yield door


async def events(reply: httpx2.Response) -> AsyncIterator[Seen]:
    """Yield the events of an open stream."""
    fields: dict[str, str] = {}
    async for line in reply.aiter_lines():
        if line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value
        elif fields:
            yield Seen(fields["id"], fields["event"], json.loads(fields["data"]))
            fields = {}


async def all_events(door: HttpDoor, session_id: str, **headers: str) -> list[Seen]:
    """Return the events of a session up to the end of its stream."""
    async with door.client.stream("GET", "/events", params={"sessionId": session_id}, headers=headers) as reply:
        assert reply.status_code == 200
        return [event async for event in events(reply)]


async def solved(door: HttpDoor, **fields: Any) -> str:
    """Solve a task and return its session's id."""
    reply = await door.client.post("/api/sessions", json={"task": "6 * 7?", "iterations": 1, **fields})
    session_id: str = reply.json()["sessionId"]
    return session_id


async def test_the_events_of_a_session_are_told_in_order_and_come_to_an_end(tmp_path: Path) -> None:
    """As the journal has them: number, type and data."""
    async with a_door(tmp_path) as door:
        session_id = await solved(door)

        told = await all_events(door, session_id)

        kept = await door.booster.journal.events_after(session_id, 0)
        assert [(event.id, event.type) for event in told[:-1]] == [(str(event.seq), event.type) for event in kept]
        assert told[0].data["data"] == kept[0].data
        assert (told[-1].type, told[-1].id) == ("end", str(kept[-1].seq))


async def test_whoever_comes_back_is_told_what_it_has_not_seen(tmp_path: Path) -> None:
    """By the header that browsers send, or by the address."""
    async with a_door(tmp_path) as door:
        session_id = await solved(door)
        every = await all_events(door, session_id)

        for seen in range(len(every)):
            rest = await all_events(door, session_id, **{"last-event-id": str(seen)})
            assert rest == every[seen:]
        params = {"sessionId": session_id, "after": "2"}
        async with door.client.stream("GET", "/events", params=params) as reply:
            assert [event async for event in events(reply)] == every[2:]


async def test_a_running_session_is_followed_to_its_end(tmp_path: Path) -> None:
    """The stream was there first."""
    async with a_door(tmp_path, delay=0.2) as door:
        session_id = await door.booster.begin("6 * 7?", iterations=1)

        told = await all_events(door, session_id)

        assert told[-1].type == "end"
        assert [event.id for event in told[:-1]] == [str(number) for number in range(1, len(told))]


async def test_events_of_this_process_are_told_without_waiting_for_the_next_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With nobody looking any more, only a wake-up can tell of them."""
    monkeypatch.setattr("booster.server.events.LOOK_SECONDS", 3600)
    async with a_door(tmp_path, delay=0.2) as door:
        session_id = await door.booster.begin("6 * 7?", iterations=1)

        async with asyncio.timeout(30):
            told = await all_events(door, session_id)

        assert told[-1].type == "end"


async def test_a_session_of_another_process_is_followed_too(tmp_path: Path) -> None:
    """Two servers on one state directory."""
    url = a_file(tmp_path)
    async with a_door(tmp_path, delay=0.3, journal_url=url) as one, a_door(tmp_path, journal_url=url) as other:
        session_id = await one.booster.begin("6 * 7?", iterations=1)

        told = await all_events(other, session_id)

        kept = await one.booster.journal.events_after(session_id, 0)
        assert [event.id for event in told[:-1]] == [str(event.seq) for event in kept]
        assert told[-1].type == "end"


async def test_a_stream_is_resumed_after_a_restart_of_the_server(tmp_path: Path) -> None:
    """Numbers are the journal's, not the process's."""
    url = a_file(tmp_path)
    async with a_door(tmp_path, lambda call: STEPS, journal_url=url) as door:
        session_id = (await door.client.post("/api/sessions/start", json={"task": "6 * 7?"})).json()["sessionId"]
        await door.client.post(f"/api/sessions/{session_id}/step", json={"proposals": [{"text": "Think of it"}]})
        async with door.client.stream("GET", "/events", params={"sessionId": session_id}) as reply:
            stream = events(reply)
            first = await anext(stream)
            await stream.aclose()  # type: ignore[attr-defined]  # a generator, whatever it is annotated as
    async with a_door(tmp_path, journal_url=url) as door:
        await door.client.post(f"/api/sessions/{session_id}/multi-step", json={"iterations": 1})
        await door.client.post(f"/api/sessions/{session_id}/cancel")

        rest = await all_events(door, session_id, **{"last-event-id": first.id})

        kept = await door.booster.journal.events_after(session_id, 0)
        assert [first.id, *(event.id for event in rest[:-1])] == [str(event.seq) for event in kept]


async def test_a_stream_ends_when_the_server_does(tmp_path: Path) -> None:
    """Without an `end`: the client comes back to whoever serves next."""
    async with opened(tmp_path, answering(42)) as booster:
        async with http_door(booster) as door:
            session_id = (await door.client.post("/api/sessions/start", json={"task": "6 * 7?"})).json()["sessionId"]
            following = asyncio.create_task(all_events(door, session_id))
            while not booster.observers[0].__self__._bells:  # type: ignore[attr-defined]  # the stream is open
                await asyncio.sleep(0.01)

        assert [event.type for event in await following] == []


async def test_a_silent_stream_shows_that_it_is_alive_and_notices_that_its_session_is_gone(tmp_path: Path) -> None:
    """A session that was opened and left alone has no events."""
    async with opened(tmp_path, answering(42)) as booster:
        session = await booster.start("6 * 7?")
        stream = await Feed(booster, ping_seconds=0).session(session.id, 0)

        ping = await anext(stream)
        await booster.journal.delete(session.id)
        end = await anext(stream)

        assert ping == b": ping\n\n"
        assert b"event: end" in end
        assert b'"deleted": true' in end


async def test_no_prompt_reply_or_secret_is_in_a_stream(tmp_path: Path) -> None:
    """Sessions are told of, not what was said to whom."""
    asked: list[str] = []

    def script(call: Call) -> str:
        asked.extend(str(message["content"]) for message in call.messages)
        return json.dumps({"rationale": f"by {CANARY}", "answer": CANARY, "further": "only in the reply"})

    async with a_door(tmp_path, script, secrets=frozenset({CANARY})) as door:
        session_id = await solved(door, task=f"Say {CANARY}")

        every = await all_events(door, session_id)
        async with door.client.stream("GET", "/events") as reply:
            listed = await anext(events(reply))

        text = json.dumps([event.data for event in (*every, listed)])
        export = json.dumps(await door.booster.journal.export(session_id))
        assert "only in the reply" in export
        assert "only in the reply" not in text
        assert asked
        assert not [prompt for prompt in asked if json.dumps(prompt)[1:60] in text]
        assert CANARY not in text


async def test_an_event_is_of_bounded_size(tmp_path: Path) -> None:
    """What was cut says so."""
    async with a_door(tmp_path, lambda call: "x" * 300_000 + "\nFinal answer: 42") as door:
        session_id = await solved(door)

        every = await all_events(door, session_id)

        assert max(len(json.dumps(event.data)) for event in every) < 70_000


async def test_the_list_of_sessions_is_told_and_then_every_change_of_it(tmp_path: Path) -> None:
    """Its beginning, a new session, the end of it, and one that is deleted."""
    async with a_door(tmp_path, delay=0.2) as door:
        old = (await door.booster.start("an old one")).id
        async with door.client.stream("GET", "/events") as reply:
            stream = events(reply)

            first = await anext(stream)
            new = await door.booster.begin("6 * 7?", iterations=1)
            found: list[Seen] = []
            while not found or found[-1].data["status"] != "done":
                found.append(await anext(stream))
            await door.booster.wait(new)
            await door.booster.journal.delete(new)
            while (gone := await anext(stream)).type != "deleted":
                found.append(gone)

        assert (first.data["sessionId"], first.data["status"]) == (old, "running")
        assert {event.data["sessionId"] for event in found} == {new}
        assert gone.data["sessionId"] == new


async def test_the_list_goes_on_from_where_it_was_left(tmp_path: Path) -> None:
    """What did not change since is not told again."""
    async with a_door(tmp_path) as door:
        await door.booster.start("first")
        await asyncio.sleep(0.01)  # times are kept to the millisecond
        second = (await door.booster.start("second")).id
        async with door.client.stream("GET", "/events") as reply:
            stream = events(reply)
            _, last = await anext(stream), await anext(stream)

        async with door.client.stream("GET", "/events", headers={"last-event-id": last.id}) as reply:
            again = await anext(events(reply))

        assert last.data["sessionId"] == again.data["sessionId"] == second


@pytest.mark.parametrize(
    ("params", "status"),
    [
        ({"sessionId": "ses_nothing"}, 404),
        ({"sessionId": "../x"}, 404),
        ({"sessionId": "ses_x", "after": "-1"}, 400),
        ({"sessionId": "ses_x", "after": "x"}, 400),
        ({"after": "2026\nevent: evil"}, 400),
    ],
)
async def test_a_stream_of_nothing_is_refused(tmp_path: Path, params: dict[str, str], status: int) -> None:
    """Before it begins."""
    async with a_door(tmp_path) as door:
        reply = await door.client.get("/events", params=params)

        assert reply.status_code == status
        assert reply.json()["error"]["message"]


async def test_a_stream_is_neither_kept_nor_held_back(tmp_path: Path) -> None:
    """Caches and proxies are told."""
    async with a_door(tmp_path) as door:
        params = {"sessionId": await solved(door)}
        async with door.client.stream("GET", "/events", params=params) as reply:
            assert reply.headers["content-type"].startswith("text/event-stream")
            assert (reply.headers["cache-control"], reply.headers["x-accel-buffering"]) == ("no-store", "no")
