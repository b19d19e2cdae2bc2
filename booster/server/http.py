"""The HTTP application: MCP, the API, OpenAI's endpoints, event streams, viewer and metrics under one guard.

Above: `booster.server.serving`, which listens. Below: one module for each of the parts.
"""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from booster.app import Booster
from booster.errors import BoosterError
from booster.journal.errors import JournalError
from booster.server import api, events, metrics, openai_api, sign_in, viewer
from booster.server.auth import Access
from booster.server.door import Door
from booster.server.events import Feed
from booster.server.failures import explained
from booster.server.guard import HERE, USUAL, Guard, Limits, Names
from booster.server.mcp import Profile, build_server
from booster.server.refusals import Json, error_response, status_of
from providers.errors import ProviderError
from scheduler.errors import SchedulerError
from verifier.errors import VerifierError

log = structlog.get_logger("booster.server")


@dataclass(frozen=True, kw_only=True, slots=True)
class HttpApp:
    """The whole application; an ASGI callable."""

    guard: Guard = field(repr=False)
    feed: Feed = field(repr=False)
    routes: tuple[BaseRoute, ...] = field(repr=False)
    """All that is served."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or the application's lifespan."""
        await self.guard(scope, receive, send)

    def close(self) -> None:
        """End the streams, which would go on for ever: the process is ending."""
        self.feed.close()
        self.guard.disconnect()


def build_app(
    booster: Booster,
    *,
    access: Access,
    names: Names = HERE,
    profile: Profile = "core",
    output_root: Path | None = None,
    limits: Limits = USUAL,
) -> HttpApp:
    """Return the application over an open booster, which outlives it.

    Args:
        booster: What every part works on.
        access: Who may enter.
        names: Under which names the server may be addressed.
        profile: Which tools MCP clients are offered.
        output_root: Directory that `outputPath` may write to; None = writing files is refused.
        limits: Of requests.
    """
    server = build_server(booster, output_root=output_root, profile=profile)
    # The guard has checked names and origins, here as everywhere.
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    mcp = server.streamable_http_app(transport_security=unchecked, max_request_body_size=limits.body_bytes)
    door, feed = Door(booster, output_root=output_root), Feed(booster)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with server.session_manager.run():
            yield

    routes: list[BaseRoute] = [
        Route("/healthz", _healthz, methods=["GET"]),
        *mcp.routes,
        *api.routes(door),
        *events.routes(feed),
        *openai_api.routes(booster),
        *metrics.routes(booster),
        *sign_in.routes(access),
        *viewer.routes(booster),
    ]
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=_handlers(door))
    guard = Guard(app, access=access, names=names, limits=limits)
    return HttpApp(guard=guard, feed=feed, routes=tuple(routes))


async def _healthz(_: Request) -> Response:
    return Json({"status": "ok"})


def _handlers(door: Door) -> Any:
    """Return what turns errors into responses: ours keep their text, of all others only a reference gets out."""

    async def refused(_: Request, error: Exception) -> Response:
        status, code = status_of(error)
        return error_response(
            status, door.redact(explained(error)), code=code, param=getattr(error, "field", "") or None
        )

    async def http(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        headers = dict(error.headers or {})
        return error_response(error.status_code, error.detail, code=_code(error.status_code), headers=headers)

    async def broken(request: Request, error: Exception) -> Response:
        reference = secrets.token_hex(4)
        log.error(
            "a request failed unexpectedly", reference=reference, path=request.url.path, kind=type(error).__name__,
            exc_info=error,
        )  # fmt: skip
        return error_response(
            500, f"the server failed unexpectedly; its log has the details under {reference}", code="internal"
        )

    ours = (BoosterError, JournalError, ProviderError, VerifierError, SchedulerError)
    return {HTTPException: http, **dict.fromkeys(ours, refused), Exception: broken}


def _code(status: int) -> str:
    return {404: "not_found", 405: "method_not_allowed"}.get(status, "refused")
