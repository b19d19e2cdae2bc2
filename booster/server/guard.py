"""What every HTTP request passes before anything else sees it, and what every response carries. One ASGI middleware.

In this order: is the request for this server (Host), does it come from one of its own pages if it comes from a page at all
(Origin), are its address and headers of a sane size, may its sender enter, and is its body of a sane size and kind. A body
is read here, whole and in limited time; responses pass as they come, so streams stay streams (`booster.server.answer`).
"""

import asyncio
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final, Literal

import structlog
from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from booster.server.answer import Answer
from booster.server.auth import Access, cookie_name
from booster.server.refusals import error_response

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
"""Names that always mean this machine."""

SIGN_IN: Final = "/sign-in"

ONWARD: Final = re.compile(r"/(?:scheduler|sessions/[A-Za-z0-9_-]{1,80})?")
"""Pages that signing in may lead to: ours, and nothing that a stranger could write into a link."""

HEALTH: Final = "/healthz"
OPEN_PATHS: Final = frozenset({HEALTH, SIGN_IN})
"""Paths that ask for no token."""

FORM_PATHS: Final = frozenset({SIGN_IN, "/sign-out"})
"""Paths that take a form."""

PROGRAM_PATHS: Final = ("/api", "/v1", "/mcp", "/events", "/metrics", HEALTH, "/static")
"""Beginnings of paths that no person opens in a browser."""

_HARMLESS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_HOST: Final = re.compile(r"(?:\[(?P<v6>[0-9a-fA-F:.]+)\]|(?P<name>[^:\[\]/@\s]+))(?::[0-9]{1,5})?")

log = structlog.get_logger("booster.server")


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """How large and slow a request may be."""

    body_bytes: int = 4 * 1024 * 1024
    form_bytes: int = 8 * 1024
    """Of a form, which comes from people who have not signed in yet."""
    body_seconds: float = 30.0
    """In which the whole body must have come."""
    url_bytes: int = 8 * 1024
    headers: int = 100
    header_bytes: int = 32 * 1024
    requests: int = 448
    """Under way at once, streams included."""
    sign_ins: int = 32
    """The same of those who sign in: strangers, who must not take the places of others."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Names:
    """The names under which this server may be addressed: a page that reached it under another one is an attack."""

    hosts: frozenset[str] = LOOPBACK
    """Lower case, without port."""
    addresses: bool = False
    """Whether every numeric address will do: no page of another site has one that leads here."""

    def include(self, host: str) -> bool:
        """Say whether the value of a Host header is one of them."""
        found = _HOST.fullmatch(host)
        if found is None:
            return False
        name = (found["v6"] or found["name"]).lower().rstrip(".")
        return name in self.hosts or (self.addresses and _is_address(name))


HERE: Final = Names()
"""A server that only this machine can reach."""
USUAL: Final = Limits()


class Guard:
    """The middleware; put around everything.

    Args:
        app: What it guards.
        access: Who may enter.
        names: The server's own names.
        limits: Of requests.
    """

    def __init__(self, app: ASGIApp, *, access: Access, names: Names, limits: Limits) -> None:
        self._app, self._access, self._names, self._limits = app, access, names, limits
        self._leaving = asyncio.Event()
        self._under_way = {"requests": 0, "sign_ins": 0}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # nothing here speaks anything else; the server closes the connection
        nonce = secrets.token_urlsafe(16)
        scope.setdefault("state", {})["nonce"] = nonce
        answer = Answer(send, scope["path"], nonce)
        headers = Headers(scope=scope)
        refused = self._refused(scope, headers)
        if refused is not None:
            await refused(scope, receive, answer.send)
            return
        if scope["path"] == HEALTH:  # costs nothing, so it is always answered
            await self._pass(scope, headers, receive, answer)
            return
        kind = "sign_ins" if scope["path"] == SIGN_IN else "requests"
        if self._under_way[kind] >= getattr(self._limits, kind):
            busy = error_response(
                503, "too many requests at once; try again in a moment", code="busy", headers={"retry-after": "1"}
            )
            await busy(scope, receive, answer.send)
            return
        self._under_way[kind] += 1
        try:
            await self._pass(scope, headers, receive, answer)
        finally:
            self._under_way[kind] -= 1

    async def _pass(self, scope: Scope, headers: Headers, receive: Receive, answer: Answer) -> None:
        """Let a request pass whose head is in order; what is wrong with its body is still answered here."""
        try:
            body = await self._body(scope["path"], headers, receive)
        except _Refused as refusal:
            await refusal.response(scope, receive, answer.send)
            return
        if body is None:
            return
        try:
            await self._app(scope, self._replay(body, receive), answer.send)
        except Exception as error:
            # What failed before the answer began was logged and answered inside; what breaks off later ends here.
            if not answer.complete:
                log.error("a response broke off", path=scope["path"], kind=type(error).__name__, exc_info=error)
            return
        if answer.begun and not answer.complete and self._leaving.is_set():
            await answer.send({"type": "http.response.body", "body": b"", "more_body": False})

    def disconnect(self) -> None:
        """Tell every response that goes on that its client has left: the process is ending."""
        self._leaving.set()

    def _replay(self, body: bytes, receive: Receive) -> Receive:
        """Return a `receive` that gives the body that was read, then what comes after it."""
        pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            if pending:
                return pending.pop()
            coming, leaving = asyncio.ensure_future(receive()), asyncio.ensure_future(self._leaving.wait())
            try:
                await asyncio.wait({coming, leaving}, return_when=asyncio.FIRST_COMPLETED)
                return coming.result() if coming.done() else {"type": "http.disconnect"}
            finally:
                coming.cancel()
                leaving.cancel()

        return replay

    def _refused(self, scope: Scope, headers: Headers) -> Response | None:
        """Return the answer to a request that may not pass; None = it may, as far as its head shows."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if len(headers.getlist("host")) != 1 or not self._names.include(host):
            return error_response(
                421,
                "this server does not go by the name in the Host header; use 127.0.0.1 or localhost, "
                "or name the host in `allowedHosts`",
                code="wrong_host",
            )
        if origin is not None and not is_own(origin, host, headers.get("sec-fetch-site")):
            return error_response(403, "pages of other sites may not use this server", code="wrong_origin")
        if (too_large := self._too_large(scope)) is not None:
            return too_large
        entered = self._entered(scope, headers)
        if entered is None:
            return _not_signed_in(scope, headers)
        if entered == "cookie" and scope["method"] not in _HARMLESS and origin is None:
            return error_response(
                403, "a browser's request must say which page it comes from (Origin)", code="no_origin"
            )
        return self._wrong_body(scope, headers)

    def _too_large(self, scope: Scope) -> Response | None:
        limits, found = self._limits, scope["headers"]
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > limits.url_bytes:
            return error_response(414, f"the URL is longer than {limits.url_bytes} bytes", code="url_too_long")
        if len(found) > limits.headers or sum(len(name) + len(value) for name, value in found) > limits.header_bytes:
            message = f"more than {limits.headers} header lines or {limits.header_bytes} bytes of them"
            return error_response(431, message, code="headers_too_large")
        return None

    def _entered(self, scope: Scope, headers: Headers) -> Literal["open", "token", "cookie"] | None:
        """Say by what the sender may enter; None = he may not."""
        if self._access.is_open or scope["path"] in OPEN_PATHS:
            return "open"
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme:
            return "token" if scheme.lower() == "bearer" and self._access.knows(token.strip()) else None
        return "cookie" if self._access.remembers(cookie_of(scope) or "") else None

    def _wrong_body(self, scope: Scope, headers: Headers) -> Response | None:
        """Return the answer to a body that is declared too large or is of a kind that is not read."""
        path, most = scope["path"], self._most(scope["path"])
        if path == HEALTH:
            return None
        declared = headers.get("content-length", "")
        if declared.isdecimal() and int(declared) > most:
            return _too_much(most)
        has_body = "transfer-encoding" in headers or declared not in ("", "0")
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if not has_body or kind == "application/json":
            return None
        if path in FORM_PATHS and kind == "application/x-www-form-urlencoded":
            return None
        return error_response(415, "send the body as application/json", code="unsupported_media_type")

    async def _body(self, path: str, headers: Headers, receive: Receive) -> bytes | None:
        """Return the whole body; None = the client went away before it was complete."""
        if path == HEALTH:
            return b""  # whoever asks has shown no token: nothing of his is waited for or kept
        most = self._most(path)
        parts, size, more = [], 0, True
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                while more:
                    message = await receive()
                    if message["type"] != "http.request":
                        return None
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > most:
                        raise _Refused(_too_much(most))
                    more = message.get("more_body", False)
        except TimeoutError:
            late = f"the body did not come within {self._limits.body_seconds:g} s"
            raise _Refused(error_response(408, late, code="body_timeout", headers={"connection": "close"})) from None
        return b"".join(parts)

    def _most(self, path: str) -> int:
        return self._limits.form_bytes if path in FORM_PATHS else self._limits.body_bytes


class _Refused(Exception):
    def __init__(self, response: Response) -> None:
        self.response = response


def is_own(origin: str, host: str, fetch_site: str | None) -> bool:
    """Say whether a page of this server itself sent a request, by the Origin that its browser gave.

    Args:
        origin: Value of the Origin header.
        host: Value of the Host header, which is one of the server's names.
        fetch_site: Value of Sec-Fetch-Site; a browser that hides the origin of a form still says whether it is the same.
    """
    if origin == "null":
        return fetch_site == "same-origin"
    return origin.lower() in (f"http://{host.lower()}", f"https://{host.lower()}")


def cookie_of(scope: Scope) -> str | None:
    """Return the browser's cookie for this server; None = it has none."""
    (_, port) = scope.get("server") or ("", 0)
    pairs: Mapping[str, str] = cookie_parser(Headers(scope=scope).get("cookie", ""))
    return pairs.get(cookie_name(port or 0))


def _not_signed_in(scope: Scope, headers: Headers) -> Response:
    is_page = not scope["path"].startswith(PROGRAM_PATHS) and "text/html" in headers.get("accept", "")
    if is_page and scope["method"] in ("GET", "HEAD") and "authorization" not in headers:
        known = scope["path"] != "/" and ONWARD.fullmatch(scope["path"])
        return RedirectResponse(f"{SIGN_IN}?next={scope['path']}" if known else SIGN_IN, status_code=303)
    wrong = "authorization" in headers
    message = "the token is wrong" if wrong else "a token is needed"
    return error_response(
        401,
        f"{message}; send `Authorization: Bearer TOKEN`, the server's first line of output says where the token is kept",
        code="wrong_token" if wrong else "no_token",
        headers={"www-authenticate": "Bearer"},
    )


def _too_much(most: int) -> Response:
    return error_response(
        413, f"the body is larger than {most} bytes", code="body_too_large", headers={"connection": "close"}
    )


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
