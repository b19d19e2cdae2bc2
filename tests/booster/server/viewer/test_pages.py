"""The viewer's pages over a real server, and the exported file from the command line."""

from pathlib import Path

import pytest

from booster.scheduler_store import JournalStore
from booster.server.viewer.reading import ListReader
from providers.types import Call
from tests.booster.server.http_door import http_door
from tests.booster.server.mcp_harness import answering
from tests.processes import booster as run_booster
from tests.processes import configured, simulated_model
from tests.solving import a_booster, answer

QUESTION = "What is six times seven?"


async def test_the_list_shows_what_was_solved_newest_first_and_narrows(tmp_path: Path) -> None:
    async with a_booster(answering("42"), home=tmp_path) as booster, http_door(booster) as door:
        first = await booster.solve(QUESTION)
        second = await booster.solve("What is nine times nine?")

        everything = (await door.client.get("/")).text
        failed = (await door.client.get("/?status=failed")).text
        one = (await door.client.get("/?limit=1")).text

        assert everything.index(second.session_id) < everything.index(first.session_id)
        assert first.session_id not in failed
        assert "No session is failed" in failed
        assert second.session_id in one
        assert first.session_id not in one
        assert 'href="/?limit=2"' in one


async def test_a_list_goes_with_the_sessions(tmp_path: Path) -> None:
    async with a_booster(answering("42"), home=tmp_path) as booster, http_door(booster) as door:
        session = await booster.start(QUESTION)
        assert ">open<" in (await door.client.get("/")).text

        await booster.step(session.id)
        await booster.resume(session.id)

        page = (await door.client.get("/")).text
        assert ">done<" in page
        assert ">open<" not in page


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=-1", "limit=99999999", "limit=%00", "status=<script>", "status=none&limit=x"]
)
async def test_a_strange_query_is_no_error(query: str, tmp_path: Path) -> None:
    async with a_booster(answering("42"), home=tmp_path) as booster, http_door(booster) as door:
        found = await door.client.get(f"/?{query}")

        assert found.status_code == 200
        assert "<script>" not in found.text


async def test_a_session_shows_its_answer_and_its_calls_and_may_not_be_kept(tmp_path: Path) -> None:
    async with a_booster(answering("42"), home=tmp_path) as booster, http_door(booster) as door:
        result = await booster.solve(QUESTION)

        found = await door.client.get(f"/sessions/{result.session_id}")

        assert found.status_code == 200
        assert found.headers["cache-control"] == "no-store"
        nonce = found.headers["content-security-policy"].partition("script-src 'nonce-")[2].partition("'")[0]
        assert found.text.count(f'nonce="{nonce}"') == 2
        assert 'class="answer" dir="auto">42</pre>' in found.text
        assert found.text.count('class="call"') == result.usage["calls"]


async def test_a_session_that_is_not_there_is_404_and_says_where_to_look(tmp_path: Path) -> None:
    async with a_booster(answering("42"), home=tmp_path) as booster, http_door(booster) as door:
        found = await door.client.get("/sessions/ses_%3Cb%3E")

        assert found.status_code == 404
        assert "There is no such session" in found.text
        assert "<b>" not in found.text


async def test_a_stranger_sees_no_page(tmp_path: Path) -> None:
    async with a_booster(answering("42"), home=tmp_path) as booster, http_door(booster) as door:
        result = await booster.solve(QUESTION)

        for path in ("/", f"/sessions/{result.session_id}", "/scheduler", "/static/viewer.js"):
            found = await door.stranger.get(path)
            assert found.status_code in (303, 401)
            assert QUESTION not in found.text


async def test_the_scheduler_page_shows_what_was_decided_and_learnt(tmp_path: Path) -> None:
    def script(call: Call) -> str:
        return answer("42" if call.step_key.startswith("it1/s2") else "41")

    async with a_booster(script, home=tmp_path, config={"namespace": "sums"}) as booster, http_door(booster) as door:
        result = await booster.solve(QUESTION, checks=[{"kind": "numeric", "value": 42}])

        page = (await door.client.get("/scheduler")).text

        assert "<bdi>sums</bdi>" in page
        assert f"/sessions/{result.session_id}#iteration-1" in page
        assert "s1_fail" in page or "s2_done" in page
        assert "critical when" in page or "Nothing has been learnt yet" in page


async def test_a_namespace_that_cannot_be_read_says_why_and_hides_no_other(tmp_path: Path) -> None:
    async with a_booster(answering("42"), home=tmp_path, config={"namespace": "sums"}) as booster:
        await JournalStore(booster.journal).write(
            "sums", {"version": 99, "policy": "regime", "library": {}, "applied": {}}, rev=0
        )
        await booster.start(QUESTION, namespace="others")
        async with http_door(booster) as door:
            page = (await door.client.get("/scheduler")).text

    assert "has version 99" in page
    assert "<bdi>others</bdi>" in page


async def test_rows_beyond_those_that_are_remembered_are_read_again(tmp_path: Path) -> None:
    async with a_booster(answering("42"), home=tmp_path) as booster:
        solved = [(await booster.solve(QUESTION)).session_id for _ in range(3)]
        reader = ListReader(booster, remembered=1)

        for _ in range(2):
            page = await reader.read(status=None, limit=5)

            assert [row.id for row in page.rows] == solved[::-1]


async def test_the_scheduler_page_of_a_new_installation_says_that_there_is_nothing(tmp_path: Path) -> None:
    async with a_booster(answering("42"), home=tmp_path) as booster, http_door(booster) as door:
        page = (await door.client.get("/scheduler")).text

        assert "Nothing has been learnt yet" in page
        assert "No decision has been labelled" in page


async def test_the_assets_have_their_types(tmp_path: Path) -> None:
    async with a_booster(answering("42"), home=tmp_path) as booster, http_door(booster) as door:
        script, style = await door.client.get("/static/viewer.js"), await door.client.get("/static/viewer.css")

        assert script.headers["content-type"].startswith("text/javascript")
        assert style.headers["content-type"].startswith("text/css")
        assert "innerHTML" not in script.text
        assert "url(" not in style.text
        assert "@import" not in style.text


def test_a_session_is_exported_from_the_command_line_as_one_file(tmp_path: Path) -> None:
    with simulated_model("--accuracy", "1") as model:
        env = configured(tmp_path, model.base_url)
        solved = run_booster("solve", QUESTION, "-n", "1", "--json", env=env, cwd=tmp_path)
        session_id = solved.stdout.partition('"sessionId": "')[2].partition('"')[0]
        file = tmp_path / "session.html"

        done = run_booster("sessions", "export", session_id, "--html", "--out", str(file), env=env, cwd=tmp_path)
        printed = run_booster("sessions", "export", session_id, "--html", env=env, cwd=tmp_path)
        unknown = run_booster("sessions", "export", "ses_nothing", "--html", env=env, cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    html = file.read_text(encoding="utf-8")
    assert html.startswith("<!doctype html>")
    assert session_id in html
    assert printed.stdout.startswith("<!doctype html>")
    assert unknown.returncode == 2
