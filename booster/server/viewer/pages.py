"""The viewer's routes: read, build the page, render."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from booster.journal import UnknownSession
from booster.server.viewer import render
from booster.server.viewer.list_page import FILTERS, MOST, PAGE
from booster.server.viewer.reading import ListReader, read_namespaces, read_session
from booster.server.viewer.scheduler_page import SESSIONS

if TYPE_CHECKING:
    from booster.app import Booster

Endpoint = Callable[[Request], Awaitable[Response]]


def page_routes(booster: "Booster") -> list[BaseRoute]:
    """Return the routes of the viewer over this booster."""
    return [
        Route("/", _list(booster)), Route("/sessions/{id}", _session(booster)), Route("/scheduler", _scheduler(booster)),
        Route("/static/viewer.js", _static("viewer.js", "text/javascript")),
        Route("/static/viewer.css", _static("viewer.css", "text/css")),
    ]  # fmt: skip


def _list(booster: "Booster") -> Endpoint:
    reader = ListReader(booster)

    async def page(request: Request) -> Response:
        status, given = request.query_params.get("status"), request.query_params.get("limit", "")
        limit = int(given) if given.isascii() and given.isdecimal() and len(given) < 6 else PAGE
        found = await reader.read(status=status if status in FILTERS else None, limit=min(MOST, max(1, limit)))
        return _html(render.list_html(found, now=time.time(), frame=_frame(request)))

    return page


def _session(booster: "Booster") -> Endpoint:
    async def page(request: Request) -> Response:
        try:
            found = await read_session(booster, request.path_params["id"])
        except UnknownSession:
            said = "The list shows the sessions that there are; this one may have been deleted."
            return _html(render.problem_html("There is no such session", said, frame=_frame(request)), status=404)
        html = await asyncio.to_thread(render.session_html, found, now=time.time(), frame=_frame(request))
        return _html(html)

    return page


def _scheduler(booster: "Booster") -> Endpoint:
    async def page(request: Request) -> Response:
        found = await read_namespaces(booster)
        return _html(render.scheduler_html(found, now=time.time(), frame=_frame(request), sessions=SESSIONS))

    return page


def _static(name: str, kind: str) -> Endpoint:
    async def file(request: Request) -> Response:
        return Response(render.static(name), media_type=kind, headers={"Cache-Control": "no-cache"})

    return file


def _html(page: str, status: int = 200) -> Response:
    return HTMLResponse(page, status_code=status, headers={"Cache-Control": "no-store"})


def _frame(request: Request) -> render.Frame:
    return render.Frame(
        nonce=getattr(request.state, "nonce", ""),
        signed_in=any(name.startswith("booster_") for name in request.cookies),
    )
