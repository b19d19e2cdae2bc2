"""Listening: the HTTP application on a socket, from the line that says where to a signal that ends it."""

import asyncio
import signal
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

import anyio
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from booster.app import Booster
from booster.errors import BoosterError, UsageError
from booster.process import settle_memory
from booster.redact import Redactor
from booster.server.answer import carried
from booster.server.auth import Access, Token, load_token
from booster.server.guard import LOOPBACK, Names
from booster.server.http import HttpApp, build_app
from booster.server.logs import configure_logs
from booster.server.mcp import Profile
from booster.server.refusals import error_response
from booster.server.sign_in import link
from booster.settings import Settings
from booster.telemetry.export import exporting

HOST: Final = "127.0.0.1"
PORT: Final = 8642

HEAD_SECONDS: Final = 15.0
"""In which the head of a request must have come."""

GRACE_SECONDS: Final = 3
"""How long requests under way may go on once the process was told to end."""

FAREWELL_SECONDS: Final = 0.2
"""In which requests that waited for work are told that it was interrupted, before streams are cut."""

MOST_CONNECTIONS: Final = 512
"""Connections at once; a further one takes the place of that which has been idle longest. More than the guard's
limits on requests, so that there is one."""

MOST_HEAD_BYTES: Final = 64 * 1024
"""Bytes of a request's head that are held; the guard's own limits are tighter and answer politely."""

ANY_ADDRESS: Final = frozenset({"0.0.0.0", "::", ""})


class ListenError(BoosterError):
    """The address cannot be listened on; the text names it and the option to change."""


async def serve_http(
    settings: Settings, *, host: str = HOST, port: int = PORT, auth: bool = True, tools: Profile = "core"
) -> None:
    """Serve until SIGINT or SIGTERM; unfinished solves are left resumable.

    Args:
        settings: Of the process; result files are written only where `output_root` is set.
        host: Address or name to listen on.
        port: 0 = any that is free.
        auth: Whether a token is asked for; without one only this machine may be listened to.
        tools: Which tools MCP clients are offered.

    Raises:
        UsageError: the address is not of this machine only, and no token is asked for.
        ListenError: the address cannot be listened on.
        TokenFileError: the token's file cannot be used.
    """
    if not auth and host not in LOOPBACK:
        raise UsageError(f"--no-auth: only on 127.0.0.1, and not on {host!r}; leave it out", field="--no-auth")
    with listening(host, port) as listener, anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        token = _token(settings) if auth else None
        if token is not None:
            settings = replace(settings, secrets=settings.secrets | {token.value})
        configure_logs(Redactor(settings.secrets), level=settings.log_level)
        access = Access(token.value if token else None)
        async with exporting(), Booster.open(settings) as booster:
            app = build_app(
                booster,
                access=access,
                names=names_of(host, settings.allowed_hosts),
                profile=tools,
                output_root=settings.output_root,
            )
            settle_memory()
            sys.stderr.write(greeting(listener, host, token, access) + "\n")
            sys.stderr.flush()
            await _serve(app, listener, booster, signals)


def names_of(host: str, further: tuple[str, ...] = ()) -> Names:
    """Return the names of a server that listens on `host`.

    Args:
        host: As it was asked for.
        further: Names that it is known by in its network, without port.
    """
    named = {name.lower().strip("[]") for name in (*further, host) if name not in ANY_ADDRESS}
    return Names(hosts=LOOPBACK | named, addresses=host in ANY_ADDRESS)


def greeting(listener: socket.socket, host: str, token: Token | None, access: Access) -> str:
    """Return the line that says where the server is and how to get in, and on a terminal one that lets a browser in."""
    shown = "127.0.0.1" if host in ANY_ADDRESS else host
    url = f"http://{f'[{shown}]' if ':' in shown else shown}:{listener.getsockname()[1]}"
    how = f"token: {token.place}" if token else "no token is asked for"
    line = f"booster: serving on {url} ({how})"
    if host not in LOOPBACK:
        line += "; what is sent is not encrypted: put a proxy with TLS in front"
    if token and sys.stderr.isatty():
        line += f"\nbooster: in a browser, once and within 5 minutes: {link(url, access.new_link())}"
    return line


def configured(app: HttpApp) -> uvicorn.Config:
    """Return how the application is served."""
    return uvicorn.Config(
        app,
        http=PatientProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=int(HEAD_SECONDS),
        timeout_graceful_shutdown=GRACE_SECONDS,
        h11_max_incomplete_event_size=MOST_HEAD_BYTES,
        backlog=256,
    )


class Server(uvicorn.Server):
    """A server that leaves signals alone: what they mean is decided here, for the whole process."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


class PatientProtocol(H11Protocol):
    """HTTP/1.1 with an end to patience: a connection that does not complete the head of a request is closed.

    Nor can connections without a request keep others out: where there are too many, they make room.
    """

    _deadline: asyncio.TimerHandle | None = None
    _idle_since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as its base has it
        """Begin to wait for a head."""
        super().connection_made(transport)
        self._idle_since = self.loop.time()
        self._expect_head()
        if len(self.connections) > MOST_CONNECTIONS:
            idle = [one for one in self.connections if isinstance(one, PatientProtocol) and one._is_idle()]
            min(idle, key=lambda one: one._idle_since).transport.close()  # there is one: this one

    def data_received(self, data: bytes) -> None:
        """Read; stop waiting once a head is complete."""
        super().data_received(data)
        begun = self.cycle is not None  # None before the first request, whatever its annotation says
        if begun and not self.cycle.response_complete:
            self._stop_waiting()
        elif self._deadline is None:
            self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Clean up."""
        self._stop_waiting()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP in the form of all errors; amid a response there is no place for that."""
        if self._is_idle() or not self.cycle.response_started:
            self.transport.write(_NOT_HTTP)
        self.transport.close()

    def _should_upgrade(self) -> bool:
        """Speak nothing but HTTP/1.1; the request is answered as the one that it is otherwise."""
        return False

    def on_response_complete(self) -> None:
        """Begin to be idle."""
        super().on_response_complete()
        self._idle_since = self.loop.time()

    def _is_idle(self) -> bool:
        """Say whether there is neither a request nor a response under way."""
        begun = self.cycle is not None  # as above
        is_answered = not begun or (self.cycle.response_complete and not self.transport.get_write_buffer_size())
        return is_answered and not self.transport.is_closing()

    def _expect_head(self) -> None:
        self._deadline = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def _not_http() -> bytes:
    response = error_response(400, "this is not an HTTP request that can be read", code="bad_request")
    headers = {**response.headers, **carried("", "application/json"), "connection": "close"}
    lines = [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join(["HTTP/1.1 400 Bad Request", *lines, "", ""]).encode() + bytes(response.body)


_NOT_HTTP: Final = _not_http()


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """Listen on an address until the block ends.

    Raises:
        ListenError: it is taken, or not this machine's.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise ListenError(f"--host {host}: cannot be listened on ({error.strerror}); name another one") from error
    with listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
            listener.listen(256)
        except OSError as error:
            raise ListenError(
                f"{host}:{port} cannot be listened on ({error.strerror}); name another port with --port"
            ) from error
        yield listener


def _token(settings: Settings) -> Token:
    return load_token(settings.home, settings.token.get_secret_value() if settings.token else None)


async def _serve(
    app: HttpApp, listener: socket.socket, booster: Booster, signals: AsyncIterator[signal.Signals]
) -> None:
    server = Server(configured(app))

    async def end_on_signal() -> None:
        async for _ in signals:
            server.force_exit = server.should_exit
            server.should_exit = True
            await booster.interrupt()
            await asyncio.sleep(FAREWELL_SECONDS)
            app.close()

    async with anyio.create_task_group() as group:
        group.start_soon(end_on_signal)
        await server.serve(sockets=[listener])
        group.cancel_scope.cancel()
