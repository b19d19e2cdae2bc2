"""The HTTP connections to one endpoint: address, headers, proxy, trust, timeouts, the longest reply. Imported on first use.

Above: `providers.openai_compatible`. Importing this module imports aiohttp (a fraction of a second), so it stands alone.
"""

import ipaddress
import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from io import BytesIO
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from yarl import URL

from providers.endpoints import Endpoint
from providers.errors import BadReplyError, ConfigurationError

if TYPE_CHECKING:
    import ssl

CONNECT_TIMEOUT = 10.0
"""Seconds to reach a server: far more than any network needs, far less than a reply may take."""

KEEP_ALIVE = 4.0
"""Seconds that an idle connection is kept: less than the 5 after which common servers close theirs, so that a call seldom
goes out on a connection that is just being closed."""

MAX_BODY = 8 * 1024 * 1024
"""Bytes of a reply, decompressed. The longest honest one is under 1 MiB; a server that never stops must not fill the
memory."""

_DISTRIBUTION = "reasoning-booster"

_NO_KEY = "unused"
"""Sent where no key is set: some servers ask for a bearer token and take any."""

_JSON = "application/json"

_LABELS = re.compile(r"([A-Za-z0-9_-]{1,63}\.)*[A-Za-z0-9_-]{1,63}\.?")
_DOTTED_NUMBERS = re.compile(r"\d+\.\d+\.\d+\.\d+")

_PIECEWISE = 1024 * 1024
"""Bytes from which a request is written in pieces, between which other tasks run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Response:
    """One response, read to its end."""

    status: int
    headers: Mapping[str, str]
    """Names ignore case."""
    content: bytes
    """Decompressed."""
    content_type: str
    """In lower case, without parameters."""
    charset: str | None
    """As the server names it."""


class Connections:
    """The connections to one endpoint; made, used and closed on one event loop.

    Args:
        endpoint: Where and as whom.
        concurrency: Connections at most.

    Raises:
        ConfigurationError: Base URL (kind `base_url`), key (`key`), proxy (`proxy`) or trusted certificates (`tls`) cannot
            be used at all.
    """

    def __init__(self, endpoint: Endpoint, *, concurrency: int) -> None:
        self._url = _address(endpoint)
        # Handed over with each call: aiohttp would send the headers of a session to a proxy, too.
        self._headers = _headers(endpoint)
        self._proxy = _proxy(self._url)
        secured = "https" in (self._url.scheme, self._proxy and self._proxy.scheme)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=concurrency, keepalive_timeout=KEEP_ALIVE, ssl=_trust() if secured else True
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def post(self, body: bytes, seconds: float) -> Response:
        """Post JSON once and read the whole response; redirects are not followed, for they would take the key along.

        Args:
            seconds: Bound of each single wait for the server; `providers.retry` bounds their sum.

        Raises:
            BadReplyError: kind `too_large`.
            Exception: Whatever aiohttp raises; besides `aiohttp.ClientError` and `OSError` there are errors of its
                parsers. The connection is closed.
        """
        response = await self._session.post(
            self._url,
            # A payload of a known kind: aiohttp need not search for who can write it.
            data=aiohttp.BytesPayload(body, content_type=_JSON) if len(body) < _PIECEWISE else BytesIO(body),
            headers=self._headers,
            timeout=_timeouts(seconds),
            allow_redirects=False,
            proxy=self._proxy,
        )
        try:
            content = await _content(response)
        finally:
            # Ends the connection unless the body was read to its end, which has given it back.
            response.close()
        return Response(
            status=response.status,
            headers=response.headers,
            content=content,
            content_type=response.content_type,
            charset=response.charset,
        )

    async def aclose(self) -> None:
        """Close the connections; idempotent."""
        await self._session.close()


async def _content(response: aiohttp.ClientResponse) -> bytes:
    length = response.content_length
    if length is not None and length <= MAX_BODY and "Content-Encoding" not in response.headers:
        return await response.read()
    content = bytearray()
    async for chunk in response.content.iter_any():
        content += chunk
        if len(content) > MAX_BODY:
            raise BadReplyError(f"the reply is longer than {MAX_BODY} bytes", kind="too_large")
    return bytes(content)


@lru_cache(maxsize=16)
def _timeouts(seconds: float) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(connect=seconds, sock_connect=min(CONNECT_TIMEOUT, seconds), sock_read=seconds)


def _address(endpoint: Endpoint) -> URL:
    """Return the URL of the calls, without user name and password."""
    try:
        url = URL(endpoint.url)
        reason = "" if _can_be_asked(url) else "no host has this name or address"
    except ValueError as error:
        reason = str(error)
    if reason:
        raise ConfigurationError(f"{endpoint.knob('BASE_URL')}: {reason}", kind="base_url")
    return url


def _can_be_asked(url: URL) -> bool:
    host = url.host or ""
    if ":" in host or _DOTTED_NUMBERS.fullmatch(host):
        ipaddress.ip_address(host)  # raises ValueError
        return True
    return _LABELS.fullmatch(url.raw_host or "") is not None


def _headers(endpoint: Endpoint) -> dict[str, str]:
    headers = {
        "Authorization": _authorization(endpoint),
        "Content-Type": _JSON,
        "Accept": _JSON,
        "User-Agent": _agent(),
    }
    for name, variable, value in (
        ("OpenAI-Organization", "OPENAI_ORG_ID", endpoint.organization),
        ("OpenAI-Project", "OPENAI_PROJECT_ID", endpoint.project),
    ):
        if value:
            headers[name] = _sendable(value, variable)
    return headers


def _authorization(endpoint: Endpoint) -> str:
    """Return the user name and password of the base URL where it has them, else the key."""
    parts = urlsplit(endpoint.base_url)
    if parts.username or parts.password:
        pair = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        return f"Basic {b64encode(pair.encode()).decode()}"
    return f"Bearer {_sendable(endpoint.key or _NO_KEY, endpoint.knob('API_KEY'))}"


def _sendable(value: str, variable: str) -> str:
    if not (value.isascii() and value.isprintable()):
        raise ConfigurationError(f"{variable} holds characters that no key has", kind="key")
    return value


def _agent() -> str:
    try:
        return f"{_DISTRIBUTION}/{version(_DISTRIBUTION)}"
    except PackageNotFoundError:
        return _DISTRIBUTION


def _proxy(url: URL) -> URL | None:
    """Return the proxy that the environment (`HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY`) wants for a URL.

    Asked once and not by aiohttp, which would ask a thread before every call and take passwords from `.netrc`, too.
    """
    proxies = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all")
    if not proxy or _is_exempt(url, proxies.get("no", "")):
        return None
    try:
        parsed = URL(proxy if "://" in proxy else f"http://{proxy}")
        usable = parsed.scheme in ("http", "https") and bool(parsed.host)
    except ValueError:
        usable = False
    if not usable:
        # The text is not repeated: it may hold a password.
        raise ConfigurationError(
            f"the proxy that the environment names for {url.scheme} addresses is no http(s) URL: set"
            f" {url.scheme.upper()}_PROXY, or name {url.host} in NO_PROXY",
            kind="proxy",
        )
    return parsed


def _is_exempt(url: URL, exempt: str) -> bool:
    """Return whether the host of the URL is among the names, addresses and networks of `NO_PROXY`."""
    host = url.host or ""
    if proxy_bypass(host) or proxy_bypass(f"{host}:{url.port}"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return any(address in network for name in exempt.split(",") if (network := _network(name.strip())))


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None


def _trust() -> "ssl.SSLContext":
    """Return what decides which certificates are believed: `SSL_CERT_FILE` or `SSL_CERT_DIR`, else the system's store."""
    from httpx2 import create_ssl_context

    try:
        return create_ssl_context()
    except OSError as error:  # that of ssl is one
        raise ConfigurationError(
            f"the certificates that SSL_CERT_FILE or SSL_CERT_DIR names cannot be read: {error}", kind="tls"
        ) from None
