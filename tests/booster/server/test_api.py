"""The API over HTTP: the operations of the tools, and with which status each answers."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from providers.errors import ConfigurationError, RejectedError
from providers.scripted import Line
from tests.booster.server.http_door import HttpDoor, a_file, http_door
from tests.booster.server.mcp_harness import STEPS, answering, opened

CANARY = "canary-7f3a9c51d2e84b60"


@asynccontextmanager
async def a_door(home: Path, script: Any = None, *, delay: float = 0.0, **fields: Any) -> AsyncIterator[HttpDoor]:
    async with opened(home, script or answering(42), delay=delay, **fields) as booster, http_door(booster) as door:
        yield door


async def started(door: HttpDoor, **fields: Any) -> str:
    """Open a session and return its id."""
    reply = await door.client.post("/api/sessions/start", json={"task": "6 * 7?", **fields})
    assert reply.status_code == 201, reply.text
    session_id: str = reply.json()["sessionId"]
    return session_id


async def test_a_solve_is_answered_with_its_result(tmp_path: Path) -> None:
    """The same document as the tool's; sloppy values are read as they are there, unknown names are warnings."""
    async with a_door(tmp_path) as door:
        given = {"task": "6 * 7?", "iterations": "2", "checks": '[{"kind": "numeric", "value": 42}]', "color": "blue"}

        reply = await door.client.post("/api/sessions", json=given)

        assert reply.status_code == 200, reply.text
        document = reply.json()
        assert (document["answer"], document["answerStatus"], document["status"]) == ("42", "verified", "done")
        assert any("color" in warning for warning in document["warnings"])


async def test_a_solve_that_takes_longer_goes_on_and_can_be_waited_for(tmp_path: Path) -> None:
    """202 with the id; the session's own address waits for the rest."""
    async with a_door(tmp_path, delay=1.3) as door:
        begun = await door.client.post("/api/sessions", json={"task": "6 * 7?", "iterations": 1, "waitSeconds": 1})
        path = f"/api/sessions/{begun.json()['sessionId']}"

        ended = await door.client.get(path, params={"waitSeconds": "30"})

        assert (begun.status_code, begun.json()["status"]) == (202, "running")
        assert ended.status_code == 200
        assert ended.json()["result"]["answer"] == "42"


async def test_a_client_that_leaves_changes_nothing_about_its_solve(tmp_path: Path) -> None:
    """Solves outlive requests."""
    async with a_door(tmp_path, delay=0.3) as door:
        request = json.dumps({"task": "6 * 7?", "iterations": 1}).encode()
        _, writer = await asyncio.open_connection("127.0.0.1", door.port)
        authorization = door.client.headers["authorization"]
        writer.write(
            f"POST /api/sessions HTTP/1.1\r\nHost: localhost\r\nAuthorization: {authorization}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(request)}\r\n\r\n".encode()
            + request
        )
        await writer.drain()
        while not (listed := (await door.client.get("/api/sessions")).json()["sessions"]):
            await asyncio.sleep(0.02)
        writer.close()

        reply = await door.client.get(f"/api/sessions/{listed[0]['sessionId']}", params={"waitSeconds": 30})

        assert reply.json()["result"]["answer"] == "42"


async def test_a_session_can_be_gone_through_step_by_step(tmp_path: Path) -> None:
    """Start, step with own proposals, further steps, look, summary."""
    async with a_door(tmp_path, lambda call: STEPS) as door:
        path = f"/api/sessions/{await started(door)}"
        proposals = [{"text": "Six sevens are forty-two"}]

        own = await door.client.post(f"{path}/step", json={"proposals": proposals})
        more = await door.client.post(f"{path}/multi-step", json={"iterations": 1})
        state = await door.client.get(path)
        summary = await door.client.get(f"{path}/summary")

        assert own.status_code == 200, own.text
        assert own.json()["chosen"]["text"] == "Six sevens are forty-two"
        assert more.status_code == 200, more.text
        assert len(state.json()["state"]["steps"]) == 2
        assert "6 * 7?" in summary.json()["summary"]


async def test_a_cancelled_session_can_be_resumed(tmp_path: Path) -> None:
    """What it has is kept; a body is not needed."""
    async with a_door(tmp_path, delay=1.3) as door:
        begun = await door.client.post("/api/sessions", json={"task": "6 * 7?", "iterations": 1, "waitSeconds": 1})
        path = f"/api/sessions/{begun.json()['sessionId']}"

        cancelled = await door.client.post(f"{path}/cancel")
        resumed = await door.client.post(f"{path}/resume", json={"waitSeconds": 0})
        busy = [await door.client.post(f"{path}/{verb}", json={"iterations": 1}) for verb in ("resume", "multi-step")]
        kept = await door.client.delete(path)
        ended = await door.client.get(path, params={"waitSeconds": 30})
        again = await door.client.post(f"{path}/resume")

        assert cancelled.json()["status"] == "cancelled"
        assert resumed.status_code == 202
        assert [reply.status_code for reply in (*busy, kept)] == [409, 409, 409]
        assert busy[0].json()["error"]["code"] == "session_busy"
        assert ended.json()["result"]["answer"] == "42"
        assert (again.status_code, again.json()["answer"]) == (200, "42")


async def test_sessions_are_listed_exported_and_deleted(tmp_path: Path) -> None:
    """What was deleted is gone."""
    async with a_door(tmp_path) as door:
        done = (await door.client.post("/api/sessions", json={"task": "6 * 7?", "iterations": 1})).json()["sessionId"]
        await started(door)

        listed = await door.client.get("/api/sessions", params={"status": "done", "limit": "5"})
        export = await door.client.get(f"/api/sessions/{done}/export")
        deleted = await door.client.delete(f"/api/sessions/{done}")
        after = await door.client.get(f"/api/sessions/{done}")

        assert [entry["sessionId"] for entry in listed.json()["sessions"]] == [done]
        assert {"session", "events", "calls"} <= set(export.json())
        assert (deleted.status_code, deleted.content) == (204, b"")
        assert after.status_code == 404


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", ""), ("DELETE", ""), ("GET", "/summary"), ("GET", "/export"), ("POST", "/step"), ("POST", "/cancel"),
        ("POST", "/resume"), ("POST", "/multi-step"),
    ],
)  # fmt: skip
async def test_an_unknown_session_is_not_found(tmp_path: Path, method: str, path: str) -> None:
    """Whatever is asked of it, and whatever it is called."""
    async with a_door(tmp_path) as door:
        body = {"iterations": 1} if method == "POST" else None
        for name in ("ses_nothing", "%2e%2e%2f%2e%2e%2fetc%2fpasswd", "..%5c..%5cx", "%00", "start"):
            reply = await door.client.request(method, f"/api/sessions/{name}{path}", json=body)

            assert reply.status_code == 404, (name, reply.text)
            assert reply.json()["error"]["message"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"task": "  "}, "task"),
        ({}, "task"),
        ({"task": "x", "iterations": 0}, "iterations"),
        ({"task": "x", "waitSeconds": 601}, "waitSeconds"),
        ({"task": "x", "config": {"numCandidates": 99}}, "numCandidates"),
        ({"task": "x", "budget": {"calls": 0}}, "budget.calls"),
        ({"task": "x", "checks": [{"kind": "nothing", "value": 1}]}, "checks"),
        ({"task": "x", "outputPath": "../out.json"}, "outputPath"),
        ({"task": "x", "outputPath": "out.json"}, "outputPath"),
    ],
)
async def test_a_wrong_value_is_refused_by_the_name_of_its_field(
    tmp_path: Path, body: dict[str, Any], field: str
) -> None:
    """Nothing is begun."""
    async with a_door(tmp_path) as door:
        reply = await door.client.post("/api/sessions", json=body)

        assert reply.status_code == 400, reply.text
        assert field in reply.json()["error"]["message"]
        assert (await door.client.get("/api/sessions")).json()["sessions"] == []


@pytest.mark.parametrize("body", [b"{", b"[]", b'"x"', b"\xff\xfe", b"[" * 100_000, b"null"])
async def test_a_body_that_is_no_object_is_refused(tmp_path: Path, body: bytes) -> None:
    """Also one that is nested deeper than can be read."""
    async with a_door(tmp_path) as door:
        reply = await door.client.post("/api/sessions", content=body, headers={"content-type": "application/json"})

        assert reply.status_code == 400
        assert "body" in reply.json()["error"]["message"]


async def test_result_files_are_written_below_the_configured_root_only(tmp_path: Path) -> None:
    """A client names a path in it and nothing else."""
    root = tmp_path / "out"
    root.mkdir()
    async with opened(tmp_path, answering(42)) as booster, http_door(booster, output_root=root) as door:
        solve = {"task": "6 * 7?", "iterations": 1}

        outside = [
            await door.client.post("/api/sessions", json={**solve, "outputPath": path})
            for path in ("../x.json", "/tmp/x.json", "a/../../x.json", "~/x.json", "..\\x.json", "x\u0000.json")
        ]
        inside = await door.client.post("/api/sessions", json={**solve, "outputPath": "deep/x.json"})

        assert [reply.status_code for reply in outside] == [400] * 6
        assert inside.json()["output"]["written"] is True
        assert [path.relative_to(root).as_posix() for path in root.rglob("*.json")] == ["deep/x.json"]


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (RejectedError("too long", kind="http_413", status=413), 413),
        (ConfigurationError("the key is wrong", kind="http_401", status=401), 502),
    ],
)
async def test_what_the_model_refused_is_never_an_ok(tmp_path: Path, line: Line, status: int) -> None:
    """Its status is passed on, but for the one that would look like ours; the document says all there is."""
    async with a_door(tmp_path, lambda call: line) as door:
        reply = await door.client.post("/api/sessions", json={"task": "6 * 7?", "iterations": 1, "granularity": "step"})

        assert reply.status_code == status, reply.text
        assert reply.json()["error"]["message"]
        assert reply.json()["status"] == "degraded"


async def test_a_deadline_without_an_answer_is_a_timeout(tmp_path: Path) -> None:
    """504, with what there is."""
    async with a_door(tmp_path, delay=30) as door:
        reply = await door.client.post("/api/sessions", json={"task": "6 * 7?", "budget": {"seconds": 0.2}})

        assert reply.status_code == 504
        assert reply.json()["stopReason"] == "deadline"


async def test_without_a_model_the_server_says_how_to_configure_one(tmp_path: Path) -> None:
    """503: it may be configured later."""
    async with opened(tmp_path) as booster, http_door(booster) as door:
        reply = await door.client.post("/api/sessions", json={"task": "6 * 7?"})

        assert reply.status_code == 503, reply.text


async def test_a_secret_never_comes_back(tmp_path: Path) -> None:
    """In no document, from wherever it came."""
    async with a_door(
        tmp_path, lambda call: f"It is {CANARY}.\nFinal answer: {CANARY}", secrets=frozenset({CANARY})
    ) as door:
        reply = await door.client.post(
            "/api/sessions", json={"task": f"Say {CANARY}", "iterations": 1, "detail": "full"}
        )
        path = f"/api/sessions/{reply.json()['sessionId']}"

        every = [reply, await door.client.get("/api/sessions")]
        every += [await door.client.get(f"{path}{end}") for end in ("?detail=full", "/summary", "/export")]
        every.append(await door.client.post("/api/sessions", json={"task": "x", "outputPath": f"../{CANARY}"}))

        assert [CANARY in reply.text for reply in every] == [False] * 6
        assert "[redacted]" in every[0].text


async def test_a_defect_shows_its_reference_and_nothing_else(tmp_path: Path) -> None:
    """The log has the rest under it."""
    async with opened(tmp_path, answering(42), journal_url=a_file(tmp_path)) as booster, http_door(booster) as door:

        async def broken(**_: object) -> list[dict[str, Any]]:
            raise RuntimeError("the inside of the server")

        booster.sessions = broken  # type: ignore[method-assign]
        reply = await door.client.get("/api/sessions")

        assert reply.status_code == 500
        assert reply.json()["error"]["code"] == "internal"
        assert "inside" not in reply.text
        assert reply.headers["x-content-type-options"] == "nosniff"


async def test_two_servers_on_one_state_directory_show_the_same_sessions(tmp_path: Path) -> None:
    """What one works on the other can look at, wait for and stop, but not work on."""
    url = a_file(tmp_path)
    async with a_door(tmp_path, delay=1.5, journal_url=url) as one, a_door(tmp_path, journal_url=url) as other:
        begun = await one.client.post("/api/sessions", json={"task": "6 * 7?", "iterations": 1, "waitSeconds": 1})
        path = f"/api/sessions/{begun.json()['sessionId']}"

        seen = await other.client.get(path)
        refused = await other.client.post(f"{path}/multi-step", json={"iterations": 1})
        deleted = await other.client.delete(path)
        ended = await other.client.get(path, params={"waitSeconds": 30})

        assert seen.json()["active"] is True
        assert [refused.status_code, deleted.status_code] == [409, 409]
        assert ended.json()["result"]["answer"] == "42"


async def test_half_a_character_of_a_model_comes_through(tmp_path: Path) -> None:
    """It has no form in UTF-8, and JSON has one for it."""
    async with a_door(tmp_path, lambda call: json.dumps({"rationale": "x", "answer": "42 \ud83d"})) as door:
        reply = await door.client.post("/api/sessions", json={"task": "6 * 7?", "iterations": 1})

        assert reply.status_code == 200, reply.text
        assert reply.json()["answer"].startswith("42")
