"""What goes over the wire: headers, proxies, trust, and servers that break the rules of HTTP."""

import asyncio
import gzip
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from ipaddress import ip_address
from pathlib import Path

import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from providers.endpoints import Endpoint, endpoint
from providers.errors import BadReplyError, ConfigurationError, ProviderError, TransientError
from providers.openai_compatible import OpenAICompatible
from providers.transport import MAX_BODY
from providers.types import Call, Reply
from tests.fake_openai import Answer, FakeOpenAI, completion, data, refusal

CANARY = "sk-canary-7f3b9e2d51"
CALL = Call(role="generate", step_key="it1/candidate1", messages=({"role": "user", "content": "6 * 7?"},), timeout=20)
FINE = completion("42").body.encode()

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy and no certificates but those that a test names."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)


@asynccontextmanager
async def listening(talk: Talk, *, context: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Serve a conversation in bytes on 127.0.0.1 and give its port."""

    async def whole(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await talk(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client went away
        finally:
            writer.close()

    server = await asyncio.start_server(whole, "127.0.0.1", 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def read_request(reader: asyncio.StreamReader) -> str:
    """Return the head of a request, after reading its body."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    lengths = [line.partition(":")[2] for line in head.splitlines() if line.lower().startswith("content-length:")]
    await reader.readexactly(int(lengths[0]) if lengths else 0)
    return head


def saying(answer: bytes) -> Talk:
    """Answer the first request with these bytes and close."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(answer)
        await writer.drain()

    return talk


def http(body: bytes, *headers: str, length: int | None = None) -> bytes:
    lines = ["HTTP/1.1 200 OK", f"Content-Length: {len(body) if length is None else length}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


JSON = "Content-Type: application/json"


async def asked(there: Endpoint, call: Call = CALL) -> Reply | ProviderError:
    """Return how one call to an endpoint ended."""
    provider = OpenAICompatible(there)
    try:
        return await provider.send(call)
    except ProviderError as error:
        return error
    finally:
        await provider.aclose()


async def failed(there: Endpoint, call: Call = CALL) -> ProviderError:
    outcome = await asked(there, call)
    assert isinstance(outcome, ProviderError)
    return outcome


def local(base_url: str, *, key: str | None = CANARY) -> Endpoint:
    return endpoint("local", base_url=base_url, key=key)


async def test_a_call_says_who_sends_it_and_what_it_takes() -> None:
    async with FakeOpenAI([completion()]) as server:
        await asked(local(server.base_url))

    headers = server.seen[0].headers
    assert headers["authorization"] == f"Bearer {CANARY}"
    assert headers["user-agent"] == f"reasoning-booster/{version('reasoning-booster')}"
    assert (headers["content-type"], headers["accept"]) == ("application/json", "application/json")


async def test_a_name_and_a_password_in_the_base_url_are_sent_in_place_of_a_key() -> None:
    async with FakeOpenAI([refusal(500)]) as server:
        error = await failed(local(server.base_url.replace("://", "://me:p%40ss@"), key=None))

    assert server.seen[0].headers["authorization"] == f"Basic {b64encode(b'me:p@ss').decode()}"
    assert error.kind == "http_500"
    assert "p%40ss" not in str(error)


async def test_passwords_of_other_programs_are_not_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A `.netrc` belongs to who wrote it for another client."""
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password pass\n", encoding="utf-8")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))

    async with FakeOpenAI([completion()]) as server:
        outcome = await asked(local(server.base_url))

    assert isinstance(outcome, Reply)
    assert server.seen[0].headers["authorization"] == f"Bearer {CANARY}"


async def test_cookies_are_not_kept() -> None:
    async with FakeOpenAI([data({}, headers={"Set-Cookie": "a=b"}), completion()]) as server:
        provider = OpenAICompatible(local(server.base_url.replace("127.0.0.1", "localhost")))
        with pytest.raises(BadReplyError):
            await provider.send(CALL)
        await provider.send(CALL)
        await provider.aclose()

    assert "cookie" not in server.seen[1].headers


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed_but_named(status: int) -> None:
    """Wherever it leads, the key does not go along."""
    async with (
        FakeOpenAI([completion()]) as elsewhere,
        FakeOpenAI([Answer(status=status, headers={"Location": elsewhere.base_url})]) as server,
    ):
        error = await failed(local(server.base_url))

    assert (type(error), error.kind, error.status) == (ConfigurationError, f"http_{status}", status)
    assert "LOCAL_BASE_URL" in str(error)
    assert elsewhere.base_url in str(error)
    assert elsewhere.seen == []


@pytest.mark.parametrize(
    ("variable", "base_url"),
    [
        ("HTTP_PROXY", "http://model.invalid/v1"),
        ("http_proxy", "http://model.invalid/v1"),
        ("ALL_PROXY", "http://model.invalid/v1"),
    ],
)
async def test_the_proxy_of_the_environment_is_used(
    variable: str, base_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with FakeOpenAI([completion("42")]) as proxy:
        monkeypatch.setenv(variable, proxy.origin.replace("://", "://me:secret@"))
        outcome = await asked(local(base_url))

    assert isinstance(outcome, Reply)
    assert proxy.seen[0].headers["host"] == "model.invalid"
    assert proxy.seen[0].headers["proxy-authorization"] == f"Basic {b64encode(b'me:secret').decode()}"
    assert proxy.seen[0].headers["authorization"] == f"Bearer {CANARY}"


async def test_a_proxy_may_be_named_without_a_scheme(monkeypatch: pytest.MonkeyPatch) -> None:
    async with FakeOpenAI([completion("42")]) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.origin.removeprefix("http://"))

        assert isinstance(await asked(local("http://model.invalid/v1")), Reply)


@pytest.mark.parametrize("exempt", ["*", "127.0.0.1", "else.where, 127.0.0.1", "127.0.0.0/8", "127.0.0.1:{port}"])
async def test_no_proxy_is_asked_for_what_is_exempt(exempt: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with FakeOpenAI([completion()]) as server, FakeOpenAI([completion()]) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.origin)
        monkeypatch.setenv("NO_PROXY", exempt.format(port=server.origin.rpartition(":")[2]))
        await asked(local(server.base_url))

    assert (len(server.seen), len(proxy.seen)) == (1, 0)


@pytest.mark.parametrize("exempt", ["localhost", "10.0.0.0/8", "27.0.0.1", "::1/128", "127.0.0.1/33"])
async def test_what_is_not_exempt_goes_through_the_proxy(exempt: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with FakeOpenAI([completion()]) as server, FakeOpenAI([completion()]) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.origin)
        monkeypatch.setenv("NO_PROXY", exempt)
        await asked(local(server.base_url))

    assert (len(server.seen), len(proxy.seen)) == (0, 1)


async def test_a_proxy_that_opens_a_tunnel_does_not_learn_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    heads = []

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await read_request(reader))
        writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()

    async with listening(refuse) as port:
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:secret@127.0.0.1:{port}")
        error = await failed(local("https://model.invalid/v1"))

    assert heads[0].startswith("CONNECT model.invalid:443 ")
    assert f"Proxy-Authorization: Basic {b64encode(b'me:secret').decode()}" in heads[0]
    assert CANARY not in heads[0]
    assert (type(error), error.kind) == (TransientError, "connection")
    assert "proxy answered HTTP 403" in str(error)
    assert "secret" not in str(error)


async def test_a_proxy_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    async with FakeOpenAI([completion()]) as proxy:
        pass
    monkeypatch.setenv("HTTP_PROXY", proxy.origin.replace("://", "://me:secret@"))

    error = await failed(local("http://model.invalid/v1"))

    assert (type(error), error.kind) == (TransientError, "connection")
    assert f"proxy {proxy.origin.removeprefix('http://')}" in str(error)
    assert "secret" not in str(error)


@pytest.mark.parametrize("proxy", ["socks5://me:secret@127.0.0.1:1", "http://me:secret@[", "http://"])
async def test_a_proxy_that_cannot_be_used_is_a_matter_of_configuration(
    proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)

    error = await failed(local("http://model.invalid/v1"))

    assert (type(error), error.kind) == (ConfigurationError, "proxy")
    assert "NO_PROXY" in str(error)
    assert "secret" not in str(error)


async def test_openai_learns_who_pays_and_another_vendor_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """The proxy stands in for both hosts."""
    async with FakeOpenAI([completion()]) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.origin)
        for host in ("api.openai.com", "api.openai.com.invalid"):
            await asked(endpoint("openai", base_url=f"http://{host}/v1", key="k", organization="org", project="pro"))

    paying = [(seen.headers.get("openai-organization"), seen.headers.get("openai-project")) for seen in proxy.seen]
    assert paying == [("org", "pro"), (None, None)]


async def test_an_organisation_that_cannot_be_sent_is_named() -> None:
    error = await failed(endpoint("openai", key="k", organization="org\r\nX-Evil: 1"))

    assert (type(error), error.kind) == (ConfigurationError, "key")
    assert "OPENAI_ORG_ID" in str(error)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"\x15\x03\x01\x00\x02\x02\x46",
        b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
        http(FINE[:20], JSON, length=100),
        http(b"no gzip", JSON, "Content-Encoding: gzip"),
        http(gzip.compress(FINE)[:-12], JSON, "Content-Encoding: gzip", length=5000),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
    ],
    ids=lambda answer: repr(answer[:70]),
)
async def test_a_server_that_breaks_the_rules_of_http_is_a_lost_connection(answer: bytes) -> None:
    async with listening(saying(answer)) as port:
        error = await failed(local(f"http://127.0.0.1:{port}"))

    assert (type(error), error.kind) == (TransientError, "connection")
    assert str(port) in str(error)
    assert error.__cause__ is None
    assert error.__context__ is None


async def test_a_server_that_resets_the_connection_is_a_lost_connection() -> None:
    async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.transport.abort()

    async with listening(reset) as port:
        error = await failed(local(f"http://127.0.0.1:{port}"))

    assert (type(error), error.kind) == (TransientError, "connection")


async def test_a_kept_connection_that_the_server_has_closed_costs_one_attempt() -> None:
    """The call may have arrived, so it is for the retry policy to send it again; then there is a new connection."""
    connections = 0

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await read_request(reader)
        writer.write(http(FINE, JSON))
        await writer.drain()
        await read_request(reader)

    async with listening(talk) as port:
        provider = OpenAICompatible(local(f"http://127.0.0.1:{port}"))
        await provider.send(CALL)
        with pytest.raises(TransientError) as caught:
            await provider.send(CALL)
        again = await provider.send(CALL)
        await provider.aclose()

    assert (caught.value.kind, again.text, connections) == ("connection", "42", 2)


async def test_calls_in_turn_share_a_connection() -> None:
    connections = 0

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        while True:
            await read_request(reader)
            writer.write(http(FINE, JSON))
            await writer.drain()

    async with listening(talk) as port:
        provider = OpenAICompatible(local(f"http://127.0.0.1:{port}"))
        for _ in range(3):
            await provider.send(CALL)
        await provider.aclose()

    assert connections == 1


@pytest.mark.parametrize("beginning", [b"", http(FINE[:20], JSON, length=100)])
async def test_a_call_that_is_withdrawn_closes_its_connection(beginning: bytes) -> None:
    arrived, closed = asyncio.Event(), asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(beginning)
        await writer.drain()
        arrived.set()
        assert await reader.read() == b""
        closed.set()

    async with listening(talk) as port:
        provider = OpenAICompatible(local(f"http://127.0.0.1:{port}"))
        task = asyncio.create_task(provider.send(CALL))
        await arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(20):
            await closed.wait()
        await provider.aclose()


async def test_a_reply_that_stops_half_way_ends_at_the_timeout() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(http(FINE[:20], JSON, length=100))
        await reader.read()

    async with listening(talk) as port:
        error = await failed(
            local(f"http://127.0.0.1:{port}"), Call(role="r", step_key="s", messages=CALL.messages, timeout=0.05)
        )

    assert (type(error), error.kind) == (TransientError, "timeout")


@asynccontextmanager
async def application(handler: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> AsyncIterator[str]:
    """Serve a handler of aiohttp's for every path, and give the base URL."""
    app = web.Application(client_max_size=2**24)
    app.router.add_post("/{path:.*}", handler)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("status", [200, 500])
async def test_a_reply_beyond_the_limit_is_not_read_to_its_end(compressed: bool, status: int) -> None:
    """A small body may hold a large one."""
    body = b" " * (MAX_BODY + 1)

    async def handler(request: web.Request) -> web.Response:
        encoding = {"Content-Encoding": "gzip"} if compressed else {}
        return web.Response(status=status, body=gzip.compress(body) if compressed else body, headers=encoding)

    async with application(handler) as base_url:
        error = await failed(local(base_url))

    assert (type(error), error.kind) == (BadReplyError, "too_large")


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_compressed_reply_is_read(chunked: bool) -> None:
    async def handler(request: web.Request) -> web.Response:
        answer = web.Response(body=FINE, content_type="application/json")
        answer.enable_compression(web.ContentCoding.gzip)
        if chunked:
            answer.enable_chunked_encoding()
        return answer

    async with application(handler) as base_url:
        outcome = await asked(local(base_url))

    assert isinstance(outcome, Reply)
    assert outcome.text == "42"


async def test_a_long_prompt_arrives_whole() -> None:
    """Pictures make prompts of megabytes."""
    lengths = []

    async def handler(request: web.Request) -> web.Response:
        lengths.append((request.content_length, len((await request.json())["messages"][0]["content"])))
        return web.Response(body=FINE, content_type="application/json")

    long = Call(role="generate", step_key="k", messages=({"role": "user", "content": "é" * 2**21},))
    async with application(handler) as base_url:
        outcome = await asked(local(base_url), long)

    assert isinstance(outcome, Reply)
    ((declared, characters),) = lengths
    assert characters == 2**21
    assert declared is not None
    assert declared > 2**22


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 that nobody else has signed, with its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ) + made.public_bytes(serialization.Encoding.PEM)
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    path.write_bytes(pem)
    return path


@pytest.fixture
def server_side(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


async def test_a_certificate_that_is_not_trusted_points_to_the_trust_store(server_side: ssl.SSLContext) -> None:
    """Another attempt could not help, so it is a matter of configuration."""
    async with listening(saying(http(FINE, JSON)), context=server_side) as port:
        error = await failed(local(f"https://127.0.0.1:{port}"))

    assert (type(error), error.kind) == (ConfigurationError, "tls")
    assert "operating system's store" in str(error)
    assert "LOCAL_BASE_URL" in str(error)


async def test_certificates_that_the_environment_names_are_trusted(
    server_side: ssl.SSLContext, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    async with listening(saying(http(FINE, JSON)), context=server_side) as port:
        outcome = await asked(local(f"https://127.0.0.1:{port}"))

    assert isinstance(outcome, Reply)
    assert outcome.text == "42"


async def test_certificates_that_are_not_there_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "missing.pem"))

    error = await failed(local("https://127.0.0.1:9"))

    assert (type(error), error.kind) == (ConfigurationError, "tls")
    assert "SSL_CERT_FILE" in str(error)


async def test_tls_to_a_server_without_it_is_a_lost_connection() -> None:
    async with FakeOpenAI([completion()]) as server:
        error = await failed(local(server.base_url.replace("http://", "https://")))

    assert (type(error), error.kind) == (TransientError, "connection")
    assert "TLS" in str(error)


async def test_an_address_of_the_sixth_version_can_be_asked() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await saying(http(FINE, JSON))(reader, writer)
        writer.close()

    try:
        server = await asyncio.start_server(talk, "::1", 0)
    except OSError:
        pytest.skip("this machine has no IPv6")
    async with server:
        outcome = await asked(local(f"http://[::1]:{server.sockets[0].getsockname()[1]}"))

    assert isinstance(outcome, Reply)
