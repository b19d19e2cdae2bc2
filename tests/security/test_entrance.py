"""Who gets in: nobody without the token, by whichever route, spelling, browser or protocol he tries."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Route

from booster.server.auth import MOST_ADDRESSES, MOST_WRONG, WRONG_SECONDS, Tries
from tests.booster.server.http_door import TOKEN
from tests.security.exposed import Exposed, exposed, missing, request, statuses

OPEN = {"/healthz", "/sign-in"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exposed]:
    """One server for all that leaves nothing behind."""
    with exposed(tmp_path_factory.mktemp("home")) as server:
        yield server


def paths(server: Exposed) -> list[tuple[str, str]]:
    """Return method and path of everything that is served."""
    found = []
    for route in server.routes:
        assert isinstance(route, Route), f"{route} is of a kind that this test does not know"
        path = re.sub(r"\{.*?\}", "x", route.path)
        found += [(method, path) for method in route.methods or ("GET", "POST", "DELETE")]
    return found


def test_every_route_but_the_open_ones_asks_for_the_token(server: Exposed) -> None:
    """By the application's own list of routes, so also what is added tomorrow."""
    asked = [(method, path, server.stranger.request(method, path).status_code) for method, path in paths(server)]

    assert {path for _, path, status in asked if status != 401} == OPEN
    assert len(asked) > 20


def test_no_spelling_of_an_address_leads_past_the_guard(server: Exposed) -> None:
    """What looks like an open path and is none is asked for the token, too."""
    spellings = (
        "//api/sessions", "/healthz/../api/sessions", "/healthz%2f..%2fapi/sessions", "/sign-in/../api/sessions", "/API/sessions",
        "/api/sessions;/healthz", "/api/sessions/", "/%61pi/sessions", "/healthz//", "/healthz%00", "/static/../api/sessions",
        "http://127.0.0.1/api/sessions", "/api/sessions#/healthz", "/.//api/sessions", "/api/sessions?/healthz", "*",
    )  # fmt: skip
    for spelling in spellings:
        received = server.wire(request("GET", spelling, authorization=""))

        assert statuses(received)[0] in (400, 401), spelling
        assert b'"sessions"' not in received


def test_wrong_tokens_of_every_length_are_refused_alike(server: Exposed) -> None:
    """Beginnings of the right one, longer ones, the right one in other clothes: one answer, word for word."""
    wrong = [TOKEN[:length] for length in range(1, len(TOKEN))] + [TOKEN + "x" * more for more in (1, 2, 64, 4000)]
    wrong += [TOKEN.upper(), TOKEN[::-1], "x" * len(TOKEN), "\xff" * len(TOKEN), f"{TOKEN} {TOKEN}", f'"{TOKEN}"']

    answers = set()
    for token in wrong:
        reply = server.stranger.get("/api/sessions", headers={b"authorization": f"Bearer {token}".encode("latin-1")})
        answers.add((reply.status_code, reply.text))

    assert {status for status, _ in answers} == {401}
    assert len(answers) == 1


@pytest.mark.parametrize("scheme", ["Basic", "Token", "bearer2", "", "Bearer Bearer"])
def test_the_token_opens_only_as_a_bearer_token(server: Exposed, scheme: str) -> None:
    """Nor in the address, a cookie of its own name, or a header that others use."""
    tries: list[Any] = [
        {"headers": {"authorization": f"{scheme} {TOKEN}".strip()}}, {"params": {"token": TOKEN, "access_token": TOKEN, "code": TOKEN}},
        {"headers": {"cookie": f"booster_{server.port}={TOKEN}"}}, {"headers": {"x-api-key": TOKEN}},
    ]  # fmt: skip

    assert {server.stranger.get("/api/sessions", **given).status_code for given in tries} == {401}


def test_guessing_at_the_form_is_slowed_down_and_shuts_nobody_else_out(tmp_path: Path) -> None:
    """After some wrong tokens even the right one has to wait there; programs with the token and browsers that are in do not."""
    with exposed(tmp_path) as server:
        cookie = server.cookie()
        wrong = [server.stranger.post("/sign-in", data={"token": f"x{n}"}).status_code for n in range(MOST_WRONG)]
        slowed = server.stranger.post("/sign-in", data={"token": TOKEN})

        assert wrong == [403] * MOST_WRONG
        assert slowed.status_code == 429
        assert 1 <= int(slowed.headers["retry-after"]) <= WRONG_SECONDS
        assert "set-cookie" not in slowed.headers
        assert server.client.get("/api/sessions").status_code == 200
        assert server.stranger.get("/api/sessions", headers=cookie).status_code == 200


def test_wrong_tokens_are_counted_by_address_for_a_while_and_within_bounds() -> None:
    """Time heals; another address is another sender; counting costs bounded memory."""
    now = [0.0]
    tries = Tries(lambda: now[0])
    for _ in range(MOST_WRONG):
        assert tries.wait("a") == 0
        tries.wrong("a")

    assert (tries.wait("a"), tries.wait("b")) == (WRONG_SECONDS, 0)
    now[0] = WRONG_SECONDS
    assert tries.wait("a") == 0
    tries.wrong("a")
    assert tries.wait("a") == 0
    for number in range(2 * MOST_ADDRESSES):
        tries.wrong(str(number))
    assert len(tries._wrong) == MOST_ADDRESSES


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/json"]
)
@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "http://localhost.evil.example", None]
)
def test_a_page_of_another_site_can_do_nothing_with_a_signed_in_browser(
    server: Exposed, kind: str, origin: str | None
) -> None:
    """Whatever form it sends; a browser that hides where it comes from is refused, too."""
    body = json.dumps({"task": "6 * 7?", "iterations": 1})
    before = len(server.client.get("/api/sessions").json()["sessions"])
    headers = {**server.cookie(), "content-type": kind, **({"origin": origin} if origin else {})}

    for path in ("/api/sessions", "/v1/chat/completions", "/mcp", "/sign-out"):
        reply = server.stranger.post(path, content=body, headers=headers)

        assert reply.status_code == 403, path
        assert not [name for name in reply.headers if name.startswith("access-control-")]
    assert len(server.client.get("/api/sessions").json()["sessions"]) == before


def test_a_preflight_of_another_site_is_granted_nothing(server: Exposed) -> None:
    """There is no CORS here."""
    asks = {
        "origin": "http://evil.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization",
    }

    for _, path in paths(server):
        reply = server.stranger.options(path, headers=asks)

        assert reply.status_code == 403
        assert not [name for name in reply.headers if name.startswith("access-control-")]


@pytest.mark.parametrize("token", ["", f"Bearer {TOKEN}"])
@pytest.mark.parametrize("protocol", ["websocket", "h2c"])
def test_no_connection_is_turned_into_another_protocol(server: Exposed, token: str, protocol: str) -> None:
    """Neither for a stranger nor for whoever may enter."""
    for path in ("/", "/events", "/mcp", "/healthz", "/api/sessions"):
        ask = request(
            "HEAD",
            path,
            authorization=token,
            connection="Upgrade, close",
            upgrade=protocol,
            sec_websocket_key="dGhlIHNhbXBsZSBub25jZQ==",
            sec_websocket_version="13",
        )

        found = statuses(server.wire(ask))

        assert len(found) == 1
        assert found[0] in (200, 303, 400, 401, 405, 406)


def test_old_and_odd_requests_are_held_to_the_same_rules(server: Exposed) -> None:
    """HTTP/1.0, a whole URL as target, no Host or several: this server's own name, once, or nothing."""
    bearer = f"Authorization: Bearer {TOKEN}\r\n"
    asked = {
        f"GET /api/sessions HTTP/1.0\r\nHost: localhost\r\n{bearer}\r\n": 200,
        "GET /api/sessions HTTP/1.0\r\nHost: localhost\r\n\r\n": 401,
        f"GET /api/sessions HTTP/1.0\r\n{bearer}\r\n": 421,
        f"GET /api/sessions HTTP/1.1\r\n{bearer}\r\n": 400,
        f"GET /api/sessions HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n{bearer}\r\n": 400,
        f"GET /api/sessions HTTP/1.0\r\nHost: localhost\r\nHost: evil.example\r\n{bearer}\r\n": 400,
        f"GET http://evil.example/api/sessions HTTP/1.1\r\nHost: evil.example\r\n{bearer}\r\n": 421,
        f"GET http://evil.example/api/sessions HTTP/1.1\r\nHost: localhost\r\n{bearer}\r\n": 404,
        f"GET /api/sessions HTTP/1.1\r\nHost: localhost, evil.example\r\n{bearer}\r\n": 421,
        f"GET /api/sessions HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: localhost\r\n{bearer}\r\n": 421,
        "GET /api/sessions HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 127.0.0.1\r\nForwarded: for=::1\r\n\r\n": 401,
    }  # fmt: skip

    for sent, status in asked.items():
        received = server.wire(sent.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n").encode())

        assert statuses(received)[0] == status, sent


def test_every_answer_to_a_stranger_carries_what_keeps_browsers_safe(server: Exposed) -> None:
    """Also the refusals, and what is no HTTP."""
    for method, path in paths(server):
        assert not missing(server.stranger.request(method, path).headers), path
