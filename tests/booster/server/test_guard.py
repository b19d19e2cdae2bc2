"""The guard: who gets in, what is turned away before anything else sees it, and what every response carries."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from booster.server.guard import HERE, LOOPBACK, Limits, Names, is_own
from tests.booster.server.http_door import TOKEN, HttpDoor, http_door
from tests.booster.server.mcp_harness import answering, opened

SMALL = Limits(body_bytes=2000, form_bytes=200, body_seconds=0.3, url_bytes=300, headers=20, header_bytes=2000)


@asynccontextmanager
async def a_door(home: Path, limits: Limits = SMALL) -> AsyncIterator[HttpDoor]:
    async with opened(home, answering(42)) as booster, http_door(booster, limits=limits) as door:
        yield door


async def raw(door: HttpDoor, *parts: bytes, pause: float = 0.0) -> tuple[int, bytes]:
    """Send bytes as they are and return status and the whole answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
    try:
        for part in parts:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(pause)
        head = await reader.readuntil(b"\r\n\r\n")
        status = int(head.split()[1])
        length = int(re.search(rb"content-length: (\d+)", head.lower())[1])  # type: ignore[index]
        return status, head + await reader.readexactly(length)
    finally:
        writer.close()


def head(method: str, path: str, host: str, **headers: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", f"Authorization: Bearer {TOKEN}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1.evil.example", "localhost@evil", ""]
)
async def test_a_name_that_was_rebound_to_this_machine_reaches_nothing(tmp_path: Path, host: str) -> None:
    """DNS rebinding: the page's own name stands in the Host header, however the address was found."""
    async with a_door(tmp_path) as door:
        for path in ("/healthz", "/api/sessions", "/v1/models", "/mcp", "/sign-in", "/", "/metrics"):
            status, answer = await raw(door, head("GET", path, host.format(port=door.port)))

            assert status == 421
            assert b'"wrong_host"' in answer


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST:1234", "[::1]:9", "127.0.0.1:{port}"])
async def test_the_names_of_this_machine_are_served(tmp_path: Path, host: str) -> None:
    """Under any port: a tunnel may lead here."""
    async with a_door(tmp_path) as door:
        status, _ = await raw(door, head("GET", "/healthz", host.format(port=door.port)))

    assert status == 200


def test_a_server_for_a_network_goes_by_its_addresses_and_its_configured_names_only() -> None:
    """No other site's page has a number as its name."""
    names = Names(hosts=LOOPBACK | {"booster.lan"}, addresses=True)

    assert all(names.include(host) for host in ("192.0.2.7:8642", "[2001:db8::1]", "Booster.lan", "booster.lan.:80"))
    assert not any(names.include(host) for host in ("evil.example", "192.0.2.7.evil.example", "", "a b", "x:y:z"))
    assert not HERE.include("192.0.2.7")


@given(st.text(max_size=60))
def test_no_text_is_one_of_the_servers_names_by_accident(host: str) -> None:
    """Only what is a known name, with or without a port, passes."""
    name = re.sub(r":[0-9]{1,5}$", "", host).strip("[]").lower().rstrip(".")

    assert HERE.include(host) <= (name in LOOPBACK)


@pytest.mark.parametrize(
    ("origin", "fetch_site", "own"),
    [
        ("http://localhost:8642", None, True),
        ("https://localhost:8642", None, True),
        ("http://localhost:3000", None, False),
        ("http://localhost", None, False),
        ("http://evil.example", "same-origin", False),
        ("null", None, False),
        ("null", "cross-site", False),
        ("null", "same-origin", True),
    ],
)
def test_only_a_page_of_this_server_is_its_own(origin: str, fetch_site: str | None, own: bool) -> None:
    """Another port is another site; a hidden origin counts where the browser vouches for it."""
    assert is_own(origin, "localhost:8642", fetch_site) is own


async def test_a_page_of_another_site_is_turned_away_even_with_the_token(tmp_path: Path) -> None:
    """Also where nothing is asked for, and no answer allows another site to read."""
    async with a_door(tmp_path) as door:
        for path in ("/healthz", "/api/sessions", "/sign-in", "/v1/models"):
            reply = await door.client.get(path, headers={"origin": "http://evil.example"})

            assert reply.status_code == 403
            assert not [name for name in reply.headers if name.startswith("access-control-")]


@pytest.mark.parametrize(
    "headers",
    [{}, {"authorization": "Bearer wrong"}, {"authorization": f"Basic {TOKEN}"}, {"authorization": "Bearer"},
     {"authorization": f"Bearer {TOKEN}x"}, {"cookie": "booster_1=x"}],
)  # fmt: skip
async def test_without_the_token_nothing_is_told(tmp_path: Path, headers: dict[str, str]) -> None:
    """Not even whether there is such a page; the form is the one that OpenAI's clients read."""
    async with a_door(tmp_path) as door:
        for path in ("/api/sessions", "/v1/models", "/v1/nothing", "/mcp", "/events", "/metrics", "/nowhere"):
            reply = await door.stranger.get(path, headers=headers)

            assert reply.status_code == 401
            assert reply.headers["www-authenticate"] == "Bearer"
            error = reply.json()["error"]
            assert error["type"] == "authentication_error"
            assert set(error) == {"message", "type", "param", "code"}
            assert TOKEN not in reply.text


async def test_the_token_is_asked_for_before_the_body_is_looked_at(tmp_path: Path) -> None:
    """A stranger learns nothing about limits and kinds."""
    async with a_door(tmp_path) as door:
        reply = await door.stranger.post("/api/sessions", content=b"x" * 5000, headers={"content-type": "text/plain"})

        assert reply.status_code == 401


async def test_a_person_is_led_to_the_sign_in_and_a_program_is_not(tmp_path: Path) -> None:
    """Only pages redirect."""
    async with a_door(tmp_path) as door:
        accepts = {"accept": "text/html,application/xhtml+xml"}

        page = await door.stranger.get("/sessions/ses_x", headers=accepts)
        data = await door.stranger.get("/api/sessions", headers=accepts)

        assert (page.status_code, page.headers["location"]) == (303, "/sign-in?next=/sessions/ses_x")
        assert data.status_code == 401


async def test_a_browser_must_say_where_a_changing_request_comes_from(tmp_path: Path) -> None:
    """A cookie alone is no proof that the person meant it."""
    async with a_door(tmp_path) as door:
        cookie = await door.browser_cookie()
        body = {"task": "6 * 7?"}

        seen = await door.stranger.get("/api/sessions", headers=cookie)
        silent = await door.stranger.post("/api/sessions", json=body, headers=cookie)
        foreign = await door.stranger.post(
            "/api/sessions", json=body, headers={**cookie, "origin": "http://evil.example"}
        )
        own = await door.stranger.post("/api/sessions", json=body, headers={**cookie, "origin": door.url})

        assert [seen.status_code, silent.status_code, foreign.status_code, own.status_code] == [200, 403, 403, 200]
        assert silent.json()["error"]["code"] == "no_origin"


async def test_a_wrong_token_beside_a_good_cookie_is_refused(tmp_path: Path) -> None:
    """Whoever sends a token means it."""
    async with a_door(tmp_path) as door:
        headers = {**await door.browser_cookie(), "authorization": "Bearer wrong"}

        assert (await door.stranger.get("/api/sessions", headers=headers)).status_code == 401


async def test_a_body_that_is_declared_too_large_is_refused_before_it_comes(tmp_path: Path) -> None:
    """No byte of it is read."""
    async with a_door(tmp_path) as door:
        request = head("POST", "/api/sessions", "localhost", content_type="application/json", content_length="2001")

        status, answer = await raw(door, request)

    assert status == 413
    assert b"connection: close" in answer.lower()


async def test_a_chunked_body_is_refused_where_it_becomes_too_large(tmp_path: Path) -> None:
    """It has no length to look at."""
    async with a_door(tmp_path) as door:
        request = head(
            "POST", "/api/sessions", "localhost", content_type="application/json", transfer_encoding="chunked"
        )
        chunk = b"400\r\n" + b" " * 1024 + b"\r\n"

        status, _ = await raw(door, request, chunk, chunk)

    assert status == 413


async def test_mcp_bodies_have_the_same_limit(tmp_path: Path) -> None:
    """Nothing is exempt from it."""
    async with a_door(tmp_path) as door:
        reply = await door.client.post("/mcp", content=b"x" * 3000, headers={"content-type": "application/json"})

        assert reply.status_code == 413


async def test_a_body_that_drips_is_given_up(tmp_path: Path) -> None:
    """Its sender holds a place that others could use."""
    async with a_door(tmp_path) as door:
        request = head("POST", "/api/sessions", "localhost", content_type="application/json", content_length="100")

        status, answer = await raw(door, request, b'{"task"')

    assert status == 408
    assert b'"body_timeout"' in answer


async def test_a_client_that_leaves_amid_its_body_disturbs_nobody(tmp_path: Path) -> None:
    """The next request is served."""
    async with a_door(tmp_path) as door:
        _, writer = await asyncio.open_connection("127.0.0.1", door.port)
        writer.write(head("POST", "/api/sessions", "localhost", content_type="application/json", content_length="100"))
        writer.close()

        assert (await door.client.get("/healthz")).status_code == 200


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        (f"/api/sessions?x={'y' * 400}", {}, 414),
        ("/api/sessions", {"x-long": "y" * 2100}, 431),
        ("/api/sessions", {f"x-{index}": "y" for index in range(30)}, 431),
    ],
)
async def test_an_oversized_head_is_refused(tmp_path: Path, path: str, headers: dict[str, str], status: int) -> None:
    """Each with the status that says which part of it."""
    async with a_door(tmp_path) as door:
        reply = await door.client.get(path, headers=headers)

        assert reply.status_code == status
        assert reply.json()["error"]["message"]


async def test_what_is_not_http_is_answered_in_the_same_form(tmp_path: Path) -> None:
    """Errors have one form, this one too."""
    async with a_door(tmp_path) as door:
        status, answer = await raw(door, b"NONSENSE\r\n\r\n")

    assert status == 400
    assert b'"bad_request"' in answer


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "", "application/jsonx"])
async def test_a_body_that_is_not_json_is_refused(tmp_path: Path, kind: str) -> None:
    """These are the kinds that a form of another site can send."""
    async with a_door(tmp_path) as door:
        reply = await door.client.post("/api/sessions", content=b'{"task": "x"}', headers={"content-type": kind})

        assert reply.status_code == 415


async def test_a_response_cannot_be_framed_sniffed_kept_or_referred_from(tmp_path: Path) -> None:
    """Those of programs; that of pages follows."""
    async with a_door(tmp_path) as door:
        for path in ("/api/sessions", "/healthz", "/nowhere"):
            headers = (await door.client.get(path)).headers

            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"
            assert headers["cache-control"] == "no-store"
            assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
            assert "server" not in headers


async def test_a_page_runs_only_what_carries_its_own_nonce(tmp_path: Path) -> None:
    """A fresh one for every response."""
    async with a_door(tmp_path) as door:
        first, second = await door.stranger.get("/sign-in"), await door.stranger.get("/sign-in")

        policy = first.headers["content-security-policy"]
        found = re.search(r"style-src 'nonce-([^']+)'", policy)
        assert found is not None
        assert f'<style nonce="{found[1]}">' in first.text
        assert "default-src 'none'" in policy
        assert f"script-src 'nonce-{found[1]}'" in policy
        assert "unsafe" not in policy
        assert found[1] not in second.headers["content-security-policy"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nowhere", 404),
        ("PUT", "/api/sessions", 405),
        ("POST", "/healthz", 405),
        ("GET", "/%2e%2e/etc/passwd", 404),
    ],
)
async def test_what_is_not_there_is_said_in_json(tmp_path: Path, method: str, path: str, status: int) -> None:
    """The framework's own texts never get out."""
    async with a_door(tmp_path) as door:
        reply = await door.client.request(method, path)

        assert reply.status_code == status
        assert set(reply.json()["error"]) == {"message", "type", "param", "code"}


async def test_health_is_open_and_says_nothing_else(tmp_path: Path) -> None:
    """A watchdog has no token."""
    async with a_door(tmp_path) as door:
        reply = await door.stranger.get("/healthz")

        assert (reply.status_code, reply.json()) == (200, {"status": "ok"})


async def test_without_a_token_everybody_of_this_machine_may_enter(tmp_path: Path) -> None:
    """`--no-auth`: names and origins are looked at all the same."""
    async with opened(tmp_path, answering(42)) as booster, http_door(booster, token=None) as door:
        assert (await door.stranger.get("/api/sessions")).status_code == 200
        assert (await door.stranger.get("/api/sessions", headers={"origin": "http://evil.example"})).status_code == 403
        assert (await door.stranger.get("/api/sessions", headers={"host": "evil.example"})).status_code == 421
