"""The HTTP application on a real port: what the tests of everything that it serves share."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from booster.app import Booster
from booster.server.auth import Access
from booster.server.guard import HERE, USUAL, Limits, Names
from booster.server.http import HttpApp, build_app
from booster.server.serving import Server, configured, listening

TOKEN = "a-token-for-tests-that-is-long-enough-0123456789"


@dataclass(frozen=True, kw_only=True)
class HttpDoor:
    """A running server over one booster."""

    url: str
    """`http://127.0.0.1:PORT`, without a slash at its end."""
    port: int
    app: HttpApp
    access: Access
    booster: Booster
    client: httpx2.AsyncClient
    """Sends the token with every request; paths are enough as addresses."""
    stranger: httpx2.AsyncClient
    """Sends no token."""

    async def browser_cookie(self) -> dict[str, str]:
        """Return the header of a browser that has signed in."""
        return {"cookie": f"booster_{self.port}={self.access.sign_in()}"}


@asynccontextmanager
async def http_door(
    booster: Booster,
    *,
    token: str | None = TOKEN,
    names: Names = HERE,
    limits: Limits = USUAL,
    send_buffer: int | None = None,
    **options: Any,
) -> AsyncIterator[HttpDoor]:
    """Serve a booster on a free port of 127.0.0.1 until the block ends.

    Args:
        booster: For example of `tests.solving.a_booster` or `tests.booster.server.mcp_harness.opened`.
        token: What is asked for; None = nothing.
        names: Under which the server may be addressed.
        limits: Of requests.
        send_buffer: Bytes that the system takes of what a client does not read; None = as many as it likes.
        options: Of `build_app`: `profile`, `output_root`.
    """
    access = Access(token)
    app = build_app(booster, access=access, names=names, limits=limits, **options)
    with listening("127.0.0.1", 0) as listener:
        if send_buffer is not None:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)  # connections inherit it
        server = Server(configured(app))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        port = listener.getsockname()[1]
        url = f"http://127.0.0.1:{port}"
        headers = {"authorization": f"Bearer {token}"} if token else {}
        async with (
            httpx2.AsyncClient(base_url=url, headers=headers, timeout=60) as client,
            httpx2.AsyncClient(base_url=url, timeout=60) as stranger,
        ):
            try:
                yield HttpDoor(
                    url=url, port=port, app=app, access=access, booster=booster, client=client, stranger=stranger
                )
            finally:
                server.should_exit = True
                app.close()
                await serving


def a_file(home: Path) -> str:
    """Return the URL of a journal that outlives its process."""
    return f"sqlite:///{home / 'booster.db'}"
