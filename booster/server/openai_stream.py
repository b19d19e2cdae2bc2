"""A stream of server-sent events that notices when its client leaves, and whoever waits for an answer likewise.

A generator's clean-up is not enough: it runs when the framework comes to it, and a solve that nobody waits for costs money
meanwhile. So the connection is watched beside the work.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

from starlette.responses import Response
from starlette.types import Receive, Scope, Send


async def left(receive: Receive) -> None:
    """Return once the client has closed the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass


class EventStream(Response):
    """Sends frames until there are no more, or until the client leaves; `close` is awaited in any case.

    Args:
        frames: Whole server-sent events.
        close: Ends what the frames come from; called when nothing is sent any more.
    """

    media_type = "text/event-stream"

    def __init__(self, frames: AsyncGenerator[str, None], close: Callable[[], Awaitable[None]]) -> None:
        self.status_code = 200
        self.background = None
        self._frames, self._close = frames, close
        # Proxies that collect a response before they pass it on would hold back all of it.
        self.init_headers({"Cache-Control": "no-cache", "X-Accel-Buffering": "no"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream."""
        sending = asyncio.create_task(self._send(send))
        leaving = asyncio.create_task(left(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sending, leaving):
                task.cancel()
            sent, _ = await asyncio.gather(sending, leaving, return_exceptions=True)
            await self._close()
        if isinstance(sent, Exception) and not isinstance(sent, OSError):  # OSError: the client was gone before we knew
            raise sent

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async with aclosing(self._frames):
            async for frame in self._frames:
                await send({"type": "http.response.body", "body": frame.encode(), "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
