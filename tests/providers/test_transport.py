"""The connections below the provider against servers that speak HTTP, or something like it, byte by byte."""

import asyncio
import gzip
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from providers.endpoints import Endpoint, endpoint
from providers.errors import BadReplyError, ConfigurationError, ProviderError, TransientError
from providers.openai_compatible import OpenAICompatible
from providers.transport import MAX_BODY
from providers.types import Call
from tests.fake_openai import FakeOpenAI, completion
from tests.providers.certificate import CERTIFICATE, KEY

SECRET = "sk-canary-7f3b9e2d51"

CALL = Call(role="generate", step_key="it1/candidate1", messages=({"role": "user", "content": "6 * 7?"},), timeout=10)

Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


class Served:
    """A server of bytes: what came in, and where it listens."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.heads: list[str] = []
        self.connections = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@asynccontextmanager
async def serving(*answers: Answer, tls: ssl.SSLContext | None = None) -> AsyncIterator[Served]:
    """Answer request after request with these, the last one again and again."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        served.connections += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = int(head.lower().partition("content-length: ")[2].split("\r\n")[0])
                await reader.readexactly(length)
                served.heads.append(head)
                await answers[min(len(served.heads), len(answers)) - 1](writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has gone, or we have hung up
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=tls)
    served = Served(server.sockets[0].getsockname()[1])
    async with server:
        yield served


def saying(body: bytes, *headers: str, status: str = "200 OK") -> Answer:
    """Return the answer with this body, said to be JSON."""
    lines = (f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {len(body)}", *headers)

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write("\r\n".join((*lines, "", "")).encode() + body)
        await writer.drain()

    return answer


def then_hanging_up(data: bytes) -> Answer:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await writer.drain()
        writer.close()

    return answer


FINE = saying(completion("42").body.encode())


async def sent(place: Endpoint) -> str:
    """Return the text of the reply to one call."""
    provider = OpenAICompatible(place)
    try:
        return (await provider.send(CALL)).text
    finally:
        await provider.aclose()


async def failed(place: Endpoint) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await sent(place)
    return caught.value


def local(url: str, **fields: str) -> Endpoint:
    return endpoint("local", base_url=url, key=SECRET, **fields)


async def test_a_redirect_is_not_followed_for_it_would_take_the_key_along() -> None:
    async with serving(FINE) as elsewhere:
        moved = saying(b"", f"Location: {elsewhere.url}/v1/chat/completions", status="307 Temporary Redirect")
        async with serving(moved) as server:
            error = await failed(local(server.url))

    assert elsewhere.heads == []
    assert (type(error), error.kind) == (ConfigurationError, "http_307")
    assert "LOCAL_BASE_URL" in str(error)
    assert elsewhere.url in str(error)


async def test_a_reply_that_swells_when_unpacked_is_broken_off() -> None:
    bomb = gzip.compress(b" " * (2 * MAX_BODY))
    async with serving(saying(bomb, "Content-Encoding: gzip")) as server:
        error = await failed(local(server.url))

    assert (type(error), error.kind) == (BadReplyError, "too_large")


async def test_a_packed_reply_is_unpacked() -> None:
    packed = gzip.compress(completion("42").body.encode())
    async with serving(saying(packed, "Content-Encoding: gzip")) as server:
        assert await sent(local(server.url)) == "42"


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"cho",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
        b"220 mail.example ESMTP\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 100_000 + b"\r\n\r\n",
        b"",
    ],
    ids=["body cut off", "chunk cut off", "not packed", "no HTTP", "length no number", "endless header", "nothing"],
)  # fmt: skip
async def test_what_is_no_whole_answer_is_a_connection_error_that_shows_no_key(data: bytes) -> None:
    async with serving(then_hanging_up(data)) as server:
        error = await failed(local(server.url))

    assert (type(error), error.kind) == (TransientError, "connection")
    assert SECRET not in str(error)
    assert error.__cause__ is error.__context__ is None


async def test_a_connection_that_the_server_closed_while_it_was_idle_is_not_used_again() -> None:
    body = completion("42").body.encode()
    silent_end = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (
        len(body),
        body,
    )
    async with serving(then_hanging_up(silent_end)) as server:
        provider = OpenAICompatible(local(server.url))
        for _ in range(3):
            assert (await provider.send(CALL)).text == "42"
            await asyncio.sleep(0.05)  # until the end of the connection has arrived
        await provider.aclose()

    assert server.connections == 3


async def test_calls_one_after_the_other_share_a_connection() -> None:
    async with serving(FINE) as server:
        provider = OpenAICompatible(local(server.url))
        for _ in range(3):
            await provider.send(CALL)
        await provider.aclose()

    assert (server.connections, len(server.heads)) == (1, 3)


async def test_a_withdrawn_call_takes_its_connection_along() -> None:
    """What would come late must not be read as the answer to the next call."""

    async def late(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.2)
        await saying(completion("late").body.encode())(writer)

    async with serving(late, FINE) as server:
        provider = OpenAICompatible(local(server.url))
        withdrawn = asyncio.create_task(provider.send(CALL))
        while not server.heads:
            await asyncio.sleep(0.01)
        withdrawn.cancel()
        await asyncio.wait([withdrawn])
        reply = await provider.send(CALL)
        await provider.aclose()

    assert withdrawn.cancelled()
    assert (reply.text, server.connections) == ("42", 2)


async def test_a_proxy_of_the_environment_is_used_and_gets_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(FINE) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.delenv("no_proxy", raising=False)
        text = await sent(local("http://model.invalid/v1"))

    assert text == "42"
    assert proxy.heads[0].startswith("POST http://model.invalid/v1/chat/completions HTTP/1.1")
    assert "proxy-authorization" not in proxy.heads[0].lower()


@pytest.mark.parametrize("exempt", ["127.0.0.1", "127.0.0.0/8", "*"])
async def test_hosts_that_are_exempt_are_asked_directly(exempt: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(FINE) as proxy, serving(FINE) as server:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.setenv("no_proxy", exempt)
        await sent(local(server.url))

    assert (len(proxy.heads), len(server.heads)) == (0, 1)


@pytest.mark.parametrize("address", ["socks5://127.0.0.1:1", "http://", "http://u:sk-canary-7f3b9e2d51@[::1"])
async def test_a_proxy_that_cannot_be_used_is_named_without_its_address(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", address)
    monkeypatch.delenv("no_proxy", raising=False)

    error = await failed(local("http://model.invalid/v1"))

    assert (type(error), error.kind) == (ConfigurationError, "proxy")
    assert "HTTP_PROXY" in str(error)
    assert SECRET not in str(error)


async def test_a_dead_proxy_is_said_to_be_one(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(FINE) as proxy:
        pass
    monkeypatch.setenv("http_proxy", proxy.url)
    monkeypatch.delenv("no_proxy", raising=False)

    error = await failed(local("http://model.invalid/v1"))

    assert (type(error), error.kind) == (TransientError, "connection")
    assert f"its proxy 127.0.0.1:{proxy.port} cannot be reached" in str(error)


async def test_who_asks_is_said_and_who_pays_where_it_is_known() -> None:
    async with serving(FINE) as server:
        await sent(Endpoint(name="local", base_url=f"{server.url}/v1", model="m", organization="org-1", project="p-2"))
        await sent(local(server.url))

    whole, plain = (head.lower() for head in server.heads)
    assert "user-agent: reasoning-booster/" in plain
    assert "openai-organization: org-1\r\n" in whole
    assert "openai-project: p-2\r\n" in whole
    assert "openai-" not in plain


def test_only_openai_itself_is_told_who_pays() -> None:
    account = {"key": SECRET, "organization": "org-1", "project": "p-2"}

    own, other = endpoint("openai", **account), endpoint("openai", base_url="http://127.0.0.1:1", **account)

    assert (own.organization, own.project) == ("org-1", "p-2")
    assert (other.organization, other.project) == (None, None)


async def test_user_and_password_of_the_address_are_sent_instead_of_a_key() -> None:
    async with serving(FINE) as server:
        await sent(endpoint("local", base_url=f"http://me:pass%20word@127.0.0.1:{server.port}/v1"))

    assert "Authorization: Basic bWU6cGFzcyB3b3Jk\r\n" in server.heads[0]


async def test_a_certificate_that_is_not_trusted_points_to_the_trust_store(tmp_path: Path) -> None:
    """Another attempt could not help, so it is a matter of configuration."""
    async with serving(FINE, tls=server_context(tmp_path)) as server:
        error = await failed(local(f"https://localhost:{server.port}"))

    assert (type(error), error.kind) == (ConfigurationError, "tls")
    assert "operating system's store" in str(error)
    assert "LOCAL_BASE_URL" in str(error)


async def test_a_certificate_that_the_environment_trusts_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(FINE, tls=server_context(tmp_path)) as server:
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate.pem"))
        assert await sent(local(f"https://localhost:{server.port}")) == "42"


async def test_certificates_that_cannot_be_read_are_a_matter_of_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken.pem"
    broken.write_text("no certificate")
    monkeypatch.setenv("SSL_CERT_FILE", str(broken))

    error = await failed(local("https://localhost:1"))

    assert (type(error), error.kind) == (ConfigurationError, "tls")
    assert "SSL_CERT_FILE" in str(error)


async def test_a_server_without_tls_is_said_to_be_a_matter_of_tls() -> None:
    async with FakeOpenAI([completion()]) as server:
        error = await failed(local(server.origin.replace("http://", "https://")))

    assert (type(error), error.kind) == (TransientError, "connection")
    assert "TLS" in str(error)


def server_context(directory: Path) -> ssl.SSLContext:
    """Return the context of a server for `localhost`; its certificate is written to `certificate.pem`."""
    (directory / "certificate.pem").write_text(CERTIFICATE)
    (directory / "key.pem").write_text(KEY)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(directory / "certificate.pem", directory / "key.pem")
    return context
