"""The HTTP connections below the client: their number, their timeouts and the longest reply. Imported on first use.

Above: `providers.openai_compatible`. Importing this module imports openai and httpx2 (0.3 s), so it stands alone.
"""

from collections.abc import AsyncIterator

import httpx2
from openai import AsyncOpenAI, DefaultAioHttpClient

from providers.errors import BadReplyError

CONNECT_TIMEOUT = 10.0
"""Seconds to reach a server: far more than any network needs, far less than a reply may take."""

MAX_BODY = 8 * 1024 * 1024
"""Bytes of a reply. The longest honest one is under 1 MiB; a server that never stops must not fill the memory."""


def open_client(base_url: str, key: str, *, concurrency: int, http_client: httpx2.AsyncClient | None) -> AsyncOpenAI:
    """Return a client of its own connections, with the library's retries off.

    Args:
        base_url: Calls go to `{base_url}/chat/completions`.
        key: Bearer token; any text for servers that want none.
        concurrency: Connections at most.
        http_client: Taken instead of our own where given.

    Raises:
        httpx2.InvalidURL: The base URL is none.
    """
    if http_client is None:
        limits = httpx2.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)
        http_client = DefaultAioHttpClient(limits=limits, event_hooks={"response": [_limit_body]})
    client = AsyncOpenAI(base_url=base_url, api_key=key, max_retries=0, http_client=http_client)
    if client.base_url.host != "api.openai.com":
        # Read from the environment by the library; no other vendor has to know them.
        client.organization = client.project = None
    return client


def timeouts(seconds: float) -> httpx2.Timeout:
    """Bound each single wait for the server by the time of the attempt; `providers.retry` bounds their sum."""
    return httpx2.Timeout(seconds, connect=min(CONNECT_TIMEOUT, seconds))


class _LimitedStream(httpx2.AsyncByteStream):
    """A response body that breaks off, with an error, once it is longer than `MAX_BODY`."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > MAX_BODY:
                raise BadReplyError(f"the reply is longer than {MAX_BODY} bytes", kind="too_large")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _limit_body(response: httpx2.Response) -> None:
    """Response hook; it runs when the headers are there and the body is not read yet."""
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _LimitedStream(response.stream)
