"""The HTTP provider against a real server that answers, refuses, breaks and hangs."""

import asyncio
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from providers.counting import CountingLedger
from providers.endpoints import Endpoint, endpoint
from providers.errors import BadReplyError, ConfigurationError, ProviderError, RejectedError, TransientError
from providers.openai_compatible import OpenAICompatible
from providers.retry import ask
from providers.types import Call
from tests.fake_openai import (
    BREAK_OFF,
    HANG,
    HTML,
    Answer,
    FakeOpenAI,
    Handler,
    Seen,
    completion,
    data,
    refusal,
)

CANARY = "sk-canary-7f3b9e2d51"


def call(**fields: object) -> Call:
    plain: dict[str, object] = {
        "role": "generate",
        "step_key": "it1/candidate1",
        "messages": ({"role": "system", "content": "Be brief."}, {"role": "user", "content": "6 * 7?"}),
    }
    return Call(**{**plain, **fields})  # type: ignore[arg-type]  # fields of Call by name


@asynccontextmanager
async def served(
    answers: Handler | list[Answer], *, name: str = "direct-openai", model: str = "gpt-4o-mini", concurrency: int = 64
) -> AsyncIterator[tuple[OpenAICompatible, FakeOpenAI]]:
    async with FakeOpenAI(answers) as server:
        provider = OpenAICompatible(
            endpoint(name, key=CANARY, base_url=server.base_url, model=model), concurrency=concurrency
        )
        try:
            yield provider, server
        finally:
            await provider.aclose()


async def failure(provider: OpenAICompatible, asked: Call | None = None) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await provider.send(asked or call())
    return caught.value


async def test_key_model_messages_and_cap_reach_the_wire() -> None:
    """What the user configured and asked is what the server gets, system and user messages apart."""
    async with served([completion("42")]) as (provider, server):
        reply = await provider.send(call(max_tokens=123, request={"temperature": 0.5}))

    assert server.seen[0].path == "/v1/chat/completions"
    assert server.seen[0].headers["authorization"] == f"Bearer {CANARY}"
    assert server.seen[0].body == {
        "model": "gpt-4o-mini",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "6 * 7?"}],
        "max_tokens": 123,
        "temperature": 0.5,
    }
    assert (reply.text, reply.provider, reply.source, reply.model) == ("42", "direct-openai", "model", "m")
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.usage.estimated) == (7, 3, False)


async def test_a_local_server_needs_no_key() -> None:
    async with FakeOpenAI([completion()]) as server:
        provider = OpenAICompatible(endpoint("local", base_url=server.origin))

        reply = await provider.send(call())
        await provider.aclose()

    assert (reply.text, reply.provider) == ("fine", "local")
    assert server.seen[0].path == "/v1/chat/completions"


@pytest.mark.parametrize(
    ("answer", "cls", "kind", "status"),
    [
        (refusal(500), TransientError, "http_500", 500),
        (refusal(503, code="server_is_overloaded"), TransientError, "http_503", 503),
        (refusal(408), TransientError, "http_408", 408),
        (refusal(409), TransientError, "http_409", 409),
        (refusal(429), TransientError, "http_429", 429),
        (refusal(429, code="insufficient_quota"), ConfigurationError, "insufficient_quota", 429),
        (refusal(429, type="insufficient_quota"), ConfigurationError, "insufficient_quota", 429),
        (refusal(400, "bad prompt"), RejectedError, "http_400", 400),
        (refusal(413), RejectedError, "http_413", 413),
        (refusal(422), RejectedError, "http_422", 422),
        (refusal(401, code="invalid_api_key"), ConfigurationError, "authentication", 401),
        (refusal(402), ConfigurationError, "payment_required", 402),
        (refusal(403), ConfigurationError, "authentication", 403),
        (refusal(404, code="model_not_found"), ConfigurationError, "model_not_found", 404),
        (refusal(404), ConfigurationError, "not_found", 404),
        (data([{"error": {"message": "API key not valid", "status": "INVALID_ARGUMENT"}}], status=400),
         ConfigurationError, "authentication", 400),
        (Answer(status=502, body="<html>bad gateway</html>", content_type="text/html"), TransientError, "http_502", 502),
        (HTML, BadReplyError, "html", None),
        (Answer(body="hello", content_type="text/plain"), BadReplyError, "not_json", None),
        (Answer(body='{"choices": ['), BadReplyError, "broken_json", None),
        (Answer(body='{"choices": ' + "9" * 5000 + "}"), BadReplyError, "broken_json", None),
        (Answer(body="[" * 100_000), BadReplyError, "broken_json", None),
        (Answer(status=301, headers={"Location": "/v2"}), ConfigurationError, "http_301", 301),
        (Answer(status=304), ConfigurationError, "http_304", 304),
        (Answer(body=""), BadReplyError, "broken_json", None),
        (data([1]), BadReplyError, "not_an_object", None),
        (data({"error": {"message": "provider down", "code": 502}}), BadReplyError, "error_in_200", None),
        (data({"choices": []}), BadReplyError, "no_choices", None),
        (data({"choices": None}), BadReplyError, "no_choices", None),
        (data({"choices": [None]}), BadReplyError, "no_choices", None),
        (data(None), BadReplyError, "not_an_object", None),
        (BREAK_OFF, TransientError, "connection", None),
        (Answer(endless=True), BadReplyError, "too_large", None),
    ],
)  # fmt: skip
async def test_every_way_to_fail_has_its_class_and_kind(
    answer: Answer, cls: type[ProviderError], kind: str, status: int | None
) -> None:
    async with served([answer]) as (provider, server):
        error = await failure(provider)

        assert (type(error), error.kind, error.status) == (cls, kind, status)
        assert (error.endpoint, error.model) == (f"{server.base_url}/chat/completions", "gpt-4o-mini")
        assert error.provider == "direct-openai"
        assert len(server.seen) == 1


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 200])
async def test_the_key_is_in_no_error_even_where_the_server_echoes_it(status: int) -> None:
    """Text, repr, dictionary, traceback and everything reachable from the exception are searched."""

    def echo(seen: Seen) -> Answer:
        return Answer(status=status, body=f"you sent {seen.headers['authorization']}", content_type="text/plain")

    async with served(echo) as (provider, _):
        error = await failure(provider)

    shown = [str(error), repr(error), str(error.to_dict()), *traceback.format_exception(error), repr(provider)]
    assert "***" in str(error)
    assert not any(CANARY in text for text in shown)
    assert error.__cause__ is None
    assert error.__context__ is None


@pytest.mark.parametrize("padding", [*range(380, 600, 7)])
async def test_not_even_half_a_key_is_left_where_a_long_message_is_cut(padding: int) -> None:
    def echo(seen: Seen) -> Answer:
        return Answer(status=500, body="x" * padding + CANARY + "y" * 9000, content_type="text/plain")

    async with served(echo) as (provider, _):
        error = await failure(provider)

    assert CANARY[:8] not in str(error)
    assert len(str(error)) <= 601


async def test_a_server_that_hangs_is_given_up_at_the_timeout() -> None:
    async with served([HANG]) as (provider, _):
        error = await failure(provider, call(timeout=0.05))

    assert (type(error), error.kind) == (TransientError, "timeout")


async def test_a_dead_address_is_a_connection_error_that_names_it() -> None:
    async with FakeOpenAI([completion()]) as server:
        pass
    provider = OpenAICompatible(endpoint("local", base_url=server.base_url))

    error = await failure(provider)
    await provider.aclose()

    assert (type(error), error.kind) == (TransientError, "connection")
    assert server.base_url in str(error)


async def test_a_host_that_does_not_exist_is_a_connection_error() -> None:
    provider = OpenAICompatible(endpoint("local", base_url="http://nowhere.invalid"))

    error = await failure(provider)
    await provider.aclose()

    assert (type(error), error.kind) == (TransientError, "connection")


@pytest.mark.parametrize(
    ("answer", "knobs"),
    [
        (refusal(401), ["OPENAI_API_KEY"]),
        (refusal(404, code="model_not_found"), ["OPENAI_MODEL", "gpt-4o-mini"]),
        (refusal(404), ["OPENAI_MODEL", "OPENAI_BASE_URL", "gpt-4o-mini"]),
        (refusal(402), ["OPENAI_API_KEY"]),
    ],
)
async def test_a_configuration_error_names_the_setting_to_mend(answer: Answer, knobs: list[str]) -> None:
    async with served([answer]) as (provider, server):
        error = await failure(provider)

    assert all(knob in str(error) for knob in [*knobs, f"{server.base_url}/chat/completions"])


@pytest.mark.parametrize("code", ["model_not_found", None])
async def test_a_model_that_a_setting_of_the_solve_names_is_not_blamed_on_the_endpoint(code: str | None) -> None:
    async with served([refusal(404, code=code)]) as (provider, _):
        error = await failure(provider, call(model="of-another-server"))

    assert "strongModel" in str(error)
    assert "OPENAI_MODEL" not in str(error)


async def test_retry_after_is_read_from_the_response() -> None:
    async with served([refusal(429, headers={"Retry-After": "2"})]) as (provider, _):
        error = await failure(provider)

    assert error.retry_after == 2.0


async def test_a_refused_parameter_is_renamed_once_and_remembered() -> None:
    """The next attempt, and every later call for the model, uses the other name."""

    def handler(seen: Seen) -> Answer:
        if "max_tokens" in seen.body:
            return refusal(400, "Unsupported parameter: 'max_tokens'", code="unsupported_parameter", param="max_tokens")
        return completion()

    async with served(handler) as (provider, server):
        error = await failure(provider)
        await provider.send(call(max_tokens=77))
        await provider.send(call(max_tokens=78))

    assert (type(error), error.kind, error.retry_after) == (TransientError, "parameter_refused", 0.0)
    assert [seen.body.get("max_completion_tokens") for seen in server.seen] == [None, 77, 78]
    assert "max_tokens" not in server.seen[-1].body


async def test_what_one_model_refuses_another_still_gets() -> None:
    def handler(seen: Seen) -> Answer:
        if seen.body["model"] == "strict" and "temperature" in seen.body:
            return refusal(400, "temperature is not supported with this model")
        return completion()

    async with served(handler) as (provider, server):
        await failure(provider, call(model="strict", request={"temperature": 0.2}))
        await provider.send(call(model="strict", request={"temperature": 0.2}))
        await provider.send(call(model="lax", request={"temperature": 0.2}))

    assert ["temperature" in seen.body for seen in server.seen] == [True, False, True]


async def test_siblings_refused_together_all_get_their_second_attempt() -> None:
    """What the first refusal taught must not make the others' refusals look final."""
    arrived = 0

    def handler(seen: Seen) -> Answer:
        nonlocal arrived
        arrived += 1
        return refusal(400, "unknown", param="seed") if "seed" in seen.body else completion()

    async with served(handler) as (provider, _):
        sibling = call(request={"seed": 1})
        errors = await asyncio.gather(*(provider.send(sibling) for _ in range(3)), return_exceptions=True)

    assert [getattr(error, "kind", "") for error in errors] == ["parameter_refused"] * 3


async def test_a_cap_refused_under_both_names_is_a_rejection() -> None:
    def handler(seen: Seen) -> Answer:
        name = "max_tokens" if "max_tokens" in seen.body else "max_completion_tokens"
        return refusal(400, "unsupported", param=name)

    async with served(handler) as (provider, _):
        kinds = [(await failure(provider)).kind for _ in range(3)]

    assert kinds == ["parameter_refused", "http_400", "http_400"]


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        (None, "gpt-4o-mini"),
        ("gpt-4o", "gpt-4o"),
        ("openai/gpt-4o", "gpt-4o"),
        ("direct-openai/gpt-4o", "gpt-4o"),
        ("meta/llama", "meta/llama"),
        ("simulated/small", "simulated/small"),
    ],
)
async def test_a_model_id_goes_without_the_prefix_that_only_names_this_endpoint(asked: str | None, sent: str) -> None:
    async with served([completion()]) as (provider, server):
        await provider.send(call(model=asked))

    assert server.seen[0].body["model"] == sent


async def test_the_simulated_model_is_called_simulated_by_whichever_url() -> None:
    async with served([completion(model="simulated/small")], model="simulated/small") as (provider, _):
        reply = await provider.send(call())

    assert (reply.source, reply.provider) == ("simulated", "direct-openai")


async def test_no_more_calls_are_under_way_than_there_are_slots() -> None:
    async with served([completion()], concurrency=2) as (provider, server):
        ledger = CountingLedger()

        await asyncio.gather(*(ask(call(), provider, ledger) for _ in range(8)))

    assert server.most_at_once <= 2
    assert len(server.seen) == 8


async def test_a_key_that_cannot_be_sent_is_named_but_not_shown() -> None:
    provider = OpenAICompatible(endpoint("cerebras", key="sk-cänary-12345"))

    error = await failure(provider)

    assert (type(error), error.kind) == (ConfigurationError, "key")
    assert "CEREBRAS_API_KEY" in str(error)
    assert "nary" not in str(error)


async def test_half_a_character_in_the_prompt_is_a_rejection() -> None:
    async with served([completion()]) as (provider, _):
        error = await failure(provider, call(messages=({"role": "user", "content": "\ud83d"},)))

    assert (type(error), error.kind) == (RejectedError, "not_unicode")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), b"bytes", {1, 2}])
async def test_what_json_cannot_say_is_a_rejection(value: object) -> None:
    async with served([completion()]) as (provider, server):
        error = await failure(provider, call(request={"seed": value}))

    assert (type(error), error.kind, server.seen) == (RejectedError, "not_json", [])


async def test_json_under_another_content_type_is_still_read() -> None:
    answer = Answer(body=completion("42").body, content_type="text/plain")
    async with served([answer]) as (provider, _):
        reply = await provider.send(call())

    assert reply.text == "42"


@pytest.mark.parametrize(
    "host", ["1.2.3.999", "ex ample", "a..b", "a" * 64, "ü" * 70, "h:99999", "h\\x", "\x00h", "xn--zz"]
)
async def test_a_host_that_cannot_be_written_is_a_matter_of_its_setting(host: str) -> None:
    there = Endpoint(name="local", base_url=f"http://{host}/v1", model="m")

    error = await failure(OpenAICompatible(there))

    assert (type(error), error.kind) == (ConfigurationError, "base_url")
    assert "LOCAL_BASE_URL" in str(error)


async def test_closing_twice_does_no_harm() -> None:
    async with served([completion()]) as (provider, _):
        await provider.send(call())
        await provider.aclose()
        await provider.aclose()

        assert (await provider.send(call())).text == "fine"  # over new connections


async def test_a_provider_that_was_never_used_can_be_closed() -> None:
    async with served([completion()]) as (provider, server):
        await provider.aclose()

        assert server.seen == []
        assert (await provider.send(call())).text == "fine"


def test_an_endpoint_does_not_show_its_key() -> None:
    shown = endpoint("cerebras", key=CANARY)

    assert CANARY not in repr(shown)
    assert CANARY not in repr(OpenAICompatible(shown))
    assert isinstance(shown, Endpoint)
