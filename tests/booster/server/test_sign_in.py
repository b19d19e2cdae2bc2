"""Browsers: signing in by link and by form, and out again."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from booster.server.sign_in import link
from tests.booster.server.http_door import TOKEN, HttpDoor, http_door
from tests.booster.server.mcp_harness import answering, opened

LIST = "/api/sessions"


@asynccontextmanager
async def a_door(home: Path) -> AsyncIterator[HttpDoor]:
    async with opened(home, answering(42)) as booster, http_door(booster) as door:
        yield door


def cookie(reply: httpx2.Response) -> str:
    """Return the cookie that a reply sets, as a browser sends it back."""
    return reply.headers["set-cookie"].partition(";")[0]


async def test_a_link_signs_one_browser_in(tmp_path: Path) -> None:
    """Scripts cannot read the cookie, other sites cannot make the browser send it."""
    async with a_door(tmp_path) as door:
        address = link(door.url, door.access.new_link())

        first = await door.stranger.get(address)
        kept = first.headers["set-cookie"]
        seen = await door.stranger.get(LIST, headers={"cookie": cookie(first)})
        door.stranger.cookies.clear()
        second = await door.stranger.get(address)

        assert first.status_code == 200
        assert 'url=/"' in first.text
        assert {"HttpOnly", "SameSite=strict", "Path=/"} <= {part.strip() for part in kept.split(";")}
        assert TOKEN not in first.text + kept
        assert seen.status_code == 200
        assert (second.status_code, "set-cookie" in second.headers) == (403, False)


async def test_the_form_takes_the_token(tmp_path: Path) -> None:
    """As a browser posts it: with an origin of its own."""
    async with a_door(tmp_path) as door:
        reply = await door.stranger.post("/sign-in", data={"token": f" {TOKEN} "}, headers={"origin": door.url})

        assert reply.status_code == 200
        assert (await door.stranger.get(LIST, headers={"cookie": cookie(reply)})).status_code == 200


@pytest.mark.parametrize("token", ["", "wrong", TOKEN[:-1]])
async def test_the_form_takes_nothing_else(tmp_path: Path, token: str) -> None:
    """It says so on the page."""
    async with a_door(tmp_path) as door:
        reply = await door.stranger.post("/sign-in", data={"token": token})

        assert reply.status_code == 403
        assert "not the token" in reply.text
        assert "set-cookie" not in reply.headers


async def test_a_form_of_another_site_signs_nobody_in(tmp_path: Path) -> None:
    """Nor may a form be larger than a token needs."""
    async with a_door(tmp_path) as door:
        foreign = await door.stranger.post("/sign-in", data={"token": TOKEN}, headers={"origin": "http://evil.example"})
        large = await door.stranger.post("/sign-in", data={"token": "x" * 9000})

        assert [foreign.status_code, large.status_code] == [403, 413]


async def test_what_is_typed_into_an_address_is_never_part_of_a_page(tmp_path: Path) -> None:
    """No code comes back."""
    async with a_door(tmp_path) as door:
        reply = await door.stranger.get("/sign-in", params={"code": "<script>alert(1)</script>"})

        assert reply.status_code == 403
        assert not re.search(r"<script|alert\(", reply.text)


async def test_signing_in_leads_to_the_page_that_was_asked_for(tmp_path: Path) -> None:
    """Also after a wrong token."""
    async with a_door(tmp_path) as door:
        asked = await door.stranger.get("/sign-in", params={"next": "/sessions/ses_x"})
        wrong = await door.stranger.post("/sign-in", data={"token": "wrong", "next": "/sessions/ses_x"})
        right = await door.stranger.post("/sign-in", data={"token": TOKEN, "next": "/sessions/ses_x"})

        assert 'value="/sessions/ses_x"' in asked.text
        assert 'value="/sessions/ses_x"' in wrong.text
        assert 'url=/sessions/ses_x"' in right.text


@pytest.mark.parametrize(
    "onward",
    [
        "//evil.example",
        "https://evil.example/",
        "/\\evil.example",
        '/sessions/x"><script>',
        "/sessions/../api",
        "/api/sessions",
        "javascript:alert(1)",
    ],
)
async def test_signing_in_leads_nowhere_else(tmp_path: Path, onward: str) -> None:
    """The page could be a link that a stranger has sent."""
    async with a_door(tmp_path) as door:
        asked = await door.stranger.get("/sign-in", params={"next": onward})
        right = await door.stranger.post("/sign-in", data={"token": TOKEN, "next": onward})

        assert 'name="next" value="/">' in asked.text
        assert 'url=/"' in right.text


async def test_whoever_signs_out_is_out(tmp_path: Path) -> None:
    """The server forgets, whatever the browser keeps."""
    async with a_door(tmp_path) as door:
        headers = await door.browser_cookie()

        out = await door.stranger.post("/sign-out", headers={**headers, "origin": door.url})
        after = await door.stranger.get(LIST, headers=headers)

        assert (out.status_code, out.headers["location"]) == (303, "/sign-in")
        assert "Max-Age=0" in out.headers["set-cookie"]
        assert after.status_code == 401


async def test_a_cookie_of_another_server_on_this_machine_is_nothing(tmp_path: Path) -> None:
    """Browsers send it to every port."""
    async with a_door(tmp_path) as one, a_door(tmp_path) as other:
        headers = await one.browser_cookie()

        assert (await other.stranger.get(LIST, headers=headers)).status_code == 401
        assert (await one.stranger.get(LIST, headers=headers)).status_code == 200
