"""A server in a thread of its own and the ways to be rude to it: what the tests of the doors' security share."""

import asyncio
import io
import logging
import re
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import structlog
from starlette.routing import BaseRoute

from booster.app import Booster
from booster.redact import Redactor
from booster.server.logs import OURS, configure_logs
from booster.settings import Settings
from providers.scripted import Line, ScriptedProvider
from providers.types import Call, Provider
from tests.booster.server.http_door import TOKEN, HttpDoor, http_door
from tests.booster.server.mcp_harness import answering

CARRIED = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-resource-policy": "same-origin",
}
"""Headers that every response carries with these values."""

POLICIES = ("content-security-policy", "referrer-policy")
"""Headers that every response carries with some value."""

MCP_HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


@dataclass(frozen=True, kw_only=True, repr=False)
class Exposed:
    """A running server, seen from outside."""

    door: HttpDoor
    loop: asyncio.AbstractEventLoop
    """The server's own, in its own thread."""
    client: httpx2.Client
    """Sends the token with every request."""
    stranger: httpx2.Client
    """Sends no token."""
    log: io.StringIO

    @property
    def port(self) -> int:
        """Where it listens."""
        return self.door.port

    @property
    def routes(self) -> Sequence[BaseRoute]:
        """All that it serves."""
        return self.door.app.routes

    @property
    def logged(self) -> str:
        """All that it has logged so far, as it would stand on standard error."""
        return self.log.getvalue()

    def is_alive(self) -> bool:
        """Say whether it still answers, on a fresh connection."""
        return httpx2.get(f"{self.door.url}/healthz", timeout=30).content == b'{"status":"ok"}'

    def cookie(self) -> dict[str, str]:
        """Return the header of a browser that is signed in."""
        return {"cookie": f"booster_{self.port}={self.door.access.sign_in()}"}

    def connect(self) -> socket.socket:
        """Open a plain connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def wire(self, sent: bytes, patience: float = 30.0) -> bytes:
        """Send bytes as they are; return all that comes until the server closes, or says nothing for some seconds."""
        with self.connect() as connection:
            connection.settimeout(patience)
            received = b""
            try:
                connection.sendall(sent)
                while chunk := connection.recv(65536):
                    received += chunk
            except OSError:  # it waits for more, or closed before it had read everything
                pass
            return received


@contextmanager
def exposed(
    home: Path,
    script: Sequence[Line] | Callable[[Call], Line] | None = None,
    *,
    delay: float = 0.0,
    providers: Sequence[Provider] | None = None,
    settings: Mapping[str, Any] | None = None,
    **options: Any,
) -> Iterator[Exposed]:
    """Serve until the block ends.

    Args:
        home: Directory of the journal.
        script: Of the only model; says 42 unless given.
        delay: Seconds until the model answers.
        providers: Models in its place.
        settings: Further fields of `Settings`.
        options: Of `http_door`.
    """
    effective = Settings(home=home, journal_url=f"sqlite:///{home / 'booster.db'}", **(settings or {}))
    started: Future[tuple[HttpDoor, asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def serve() -> None:
        models = [ScriptedProvider(script or answering(42), delay=delay)] if providers is None else providers
        try:
            async with Booster.open(effective, providers=models) as booster, http_door(booster, **options) as door:
                stop = asyncio.Event()
                started.set_result((door, asyncio.get_running_loop(), stop))
                await stop.wait()
        except BaseException as error:
            if not started.done():
                started.set_exception(error)
            raise

    with _logged(Redactor(effective.secrets)) as log, ThreadPoolExecutor(1) as pool:
        served = pool.submit(asyncio.run, serve())
        door, loop, stop = started.result(60)
        headers = {"authorization": f"Bearer {TOKEN}"}
        try:
            with (
                httpx2.Client(base_url=door.url, headers=headers, timeout=60) as client,
                httpx2.Client(base_url=door.url, timeout=60) as stranger,
            ):
                yield Exposed(door=door, loop=loop, client=client, stranger=stranger, log=log)
        finally:
            loop.call_soon_threadsafe(stop.set)
            served.result(60)


@contextmanager
def _logged(redact: Redactor) -> Iterator[io.StringIO]:
    """Log as a serving process does, until the block ends."""
    names = ("", *OURS, "uvicorn", "uvicorn.error", "uvicorn.access", "mcp")
    before = [(logger, list(logger.handlers), logger.level) for logger in map(logging.getLogger, names)]
    log = io.StringIO()
    configure_logs(redact, stream=log)
    try:
        yield log
    finally:
        structlog.reset_defaults()
        for logger, handlers, level in before:
            logger.handlers[:] = handlers
            logger.setLevel(level)


def request(method: str, target: str, body: bytes = b"", **headers: str) -> bytes:
    """Return a whole request with the token; headers given replace those that it has by itself."""
    own = {"Host": "localhost", "Authorization": f"Bearer {TOKEN}", "Connection": "close"}
    if body:
        own |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
    lines = [f"{name}: {value}" for name, value in (own | named(headers)).items() if value]
    return "\r\n".join([f"{method} {target} HTTP/1.1", *lines, "", ""]).encode() + body


def named(headers: Mapping[str, str]) -> dict[str, str]:
    """Return headers with the names that stand for them in Python."""
    return {name.replace("_", "-").title(): value for name, value in headers.items()}


_HEAD = re.compile(rb"HTTP/1\.1 ([0-9]{3})[^\r\n]*\r\n(.*?)\r\n\r\n", re.DOTALL)


def heads(received: bytes) -> list[tuple[int, dict[str, str]]]:
    """Return status and headers of every response in what came over a connection."""
    return [(int(found[1]), _fields(found[2])) for found in _HEAD.finditer(received)]


def statuses(received: bytes) -> list[int]:
    """Return the status of every response in what came over a connection."""
    return [status for status, _ in heads(received)]


def _fields(lines: bytes) -> dict[str, str]:
    pairs = (line.partition(":") for line in lines.decode("latin-1").split("\r\n"))
    return {name.lower(): value.strip() for name, _, value in pairs}


def missing(headers: Mapping[str, str]) -> list[str]:
    """Return what a response should carry and does not."""
    wrong = [name for name, value in CARRIED.items() if headers.get(name) != value]
    return wrong + [name for name in POLICIES if not headers.get(name)]
