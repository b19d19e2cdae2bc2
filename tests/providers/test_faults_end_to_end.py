"""The whole way from `Chain.ask` to a real server that fails: siblings survive, attempts are counted, nobody waits."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

import pytest

from providers.chain import Chain
from providers.counting import CountingLedger
from providers.endpoints import endpoint
from providers.errors import NoProviderError, ProviderError
from providers.openai_compatible import OpenAICompatible
from providers.retry import RetryPolicy
from providers.types import Call, Reply
from tests.fake_openai import HANG, HTML, Answer, FakeOpenAI, Handler, Seen, completion, data, refusal

CANARY = "sk-canary-7f3b9e2d51"
SWIFT = RetryPolicy(first_wait=0.01)


def call(number: int, **fields: float) -> Call:
    message = {"role": "user", "content": str(number)}
    return Call(role="generate", step_key=f"it1/candidate{number}", messages=(message,), **fields)  # type: ignore[arg-type]  # limits by name


@asynccontextmanager
async def chained(answers: Handler | list[Answer]) -> AsyncIterator[tuple[Chain, CountingLedger, FakeOpenAI]]:
    async with FakeOpenAI(answers) as server:
        provider = OpenAICompatible(endpoint("openai", key=CANARY, base_url=server.base_url))
        ledger = CountingLedger()
        try:
            yield Chain([provider], ledger, policy=SWIFT), ledger, server
        finally:
            await provider.aclose()


def first_then_fine(bad: Answer) -> Callable[[], Handler]:
    """A server that answers candidate 0 badly once and everything else well."""

    def handler() -> Handler:
        failed = False

        def answer(seen: Seen) -> Answer:
            nonlocal failed
            if seen.body["messages"][0]["content"] == "0" and not failed:
                failed = True
                return bad
            return completion("fine")

        return answer

    return handler


@pytest.mark.parametrize(
    ("bad", "attempts", "kind", "recovers"),
    [
        (refusal(500), 5, "http_500", True),
        (refusal(429, headers={"Retry-After": "0"}), 5, "http_429", True),
        (refusal(400, "bad"), 4, "http_400", False),
        (Answer(body='{"choices":'), 5, "broken_json", True),
        (data({"choices": []}), 5, "no_choices", True),
        (HTML, 5, "html", True),
    ],
)
async def test_one_failing_candidate_costs_its_siblings_nothing(
    bad: Answer, attempts: int, kind: str, recovers: bool
) -> None:
    async with chained(first_then_fine(bad)()) as (chain, ledger, server):
        outcomes = await asyncio.gather(*(chain.ask(call(n)) for n in range(4)), return_exceptions=True)

    assert [isinstance(outcome, Reply) for outcome in outcomes] == [recovers, True, True, True]
    assert (ledger.attempts, ledger.failures, len(server.seen)) == (attempts, 1, attempts)
    assert [failure["kind"] for failure in chain.failures] == [kind]


async def test_a_hanging_candidate_ends_at_its_deadline_and_its_siblings_are_there() -> None:
    def handler(seen: Seen) -> Answer:
        return HANG if seen.body["messages"][0]["content"] == "0" else completion()

    async with chained(handler) as (chain, ledger, _):
        now = asyncio.get_running_loop().time()
        asked = (chain.ask(call(n, deadline=now + 2)) for n in range(4))
        outcomes = await asyncio.gather(*asked, return_exceptions=True)

    assert [getattr(outcome, "kind", "reply") for outcome in outcomes] == ["timeout", "reply", "reply", "reply"]
    assert ledger.attempts == 4
    assert chain.failures[0]["endpoint"].endswith("/v1/chat/completions")


async def test_a_server_that_asks_to_wait_past_the_deadline_is_not_waited_for() -> None:
    """Were it waited for, this test would take a minute."""
    async with chained([refusal(429, headers={"Retry-After": "60"})]) as (chain, ledger, _):
        now = asyncio.get_running_loop().time()
        with pytest.raises(ProviderError) as caught:
            await chain.ask(call(1, deadline=now + 30))

    assert (caught.value.kind, caught.value.retry_after, ledger.attempts) == ("http_429", 60.0, 1)


async def test_content_that_is_null_everywhere_is_reported_and_not_paid_for_again() -> None:
    async with chained([completion(None)]) as (chain, ledger, _):
        reply = await chain.ask(call(1))

    assert (reply.text, reply.problem, ledger.attempts) == ("", "empty", 1)


async def test_cut_off_thinking_is_asked_again_with_twice_the_cap() -> None:
    cut = completion(None, finish_reason="length", reasoning="so then")
    async with chained([cut, completion("42")]) as (chain, ledger, server):
        reply = await chain.ask(call(1))

    assert (reply.text, ledger.attempts) == ("42", 2)
    assert [seen.body["max_tokens"] for seen in server.seen] == [2000, 4000]


async def test_a_refused_parameter_costs_one_counted_attempt_once_in_a_run() -> None:
    def handler(seen: Seen) -> Answer:
        if "max_tokens" in seen.body:
            return refusal(400, "'max_tokens' is not supported", code="unsupported_parameter", param="max_tokens")
        return completion()

    async with chained(handler) as (chain, ledger, _):
        await chain.ask(call(1))
        await chain.ask(call(2))

    assert (ledger.attempts, ledger.failures) == (3, 1)


async def test_a_wrong_key_is_one_attempt_and_an_error_that_says_what_to_set() -> None:
    async with chained([refusal(401)]) as (chain, ledger, _):
        with pytest.raises(NoProviderError, match="OPENAI_API_KEY"):
            await chain.ask(call(1))

    assert ledger.attempts == 1


async def test_the_key_is_nowhere_in_what_is_kept_of_a_run() -> None:
    def echo(seen: Seen) -> Answer:
        return Answer(status=500, body=str(dict(seen.headers)), content_type="text/plain")

    async with chained(echo) as (chain, ledger, _):
        with pytest.raises(ProviderError) as caught:
            await chain.ask(call(1))

    kept: list[object] = [chain.failures, ledger.outcomes, caught.value, caught.value.to_dict()]
    kept += [outcome.to_dict() for _, outcome in ledger.outcomes if isinstance(outcome, ProviderError)]
    assert "***" in str(chain.failures)
    assert not any(CANARY in repr(thing) for thing in kept)


async def test_what_the_server_reports_of_usage_and_cost_arrives() -> None:
    body: Mapping[str, object] = {
        "model": "m",
        "choices": [{"finish_reason": "stop", "message": {"content": "42"}}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 2, "cost": 0.001},
    }
    async with chained([data(body)]) as (chain, _, _):
        reply = await chain.ask(call(1))

    assert (reply.usage.tokens, reply.usage.cost_usd) == (7, 0.001)
