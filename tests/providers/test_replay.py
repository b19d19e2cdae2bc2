"""A recording as a provider."""

import asyncio

import pytest

from providers.counting import CountingLedger
from providers.errors import RejectedError, TransientError
from providers.replay import ReplayProvider
from providers.retry import RetryPolicy, ask
from providers.types import Call, Reply


def call(key: str) -> Call:
    return Call(role="generate", step_key=key, messages=())


async def test_each_call_gets_what_was_recorded_under_its_step_key() -> None:
    provider = ReplayProvider({"a": "1", "b": "2"})

    replies = [await provider.send(call(key)) for key in "ba"]

    assert [(reply.text, reply.provider, reply.source) for reply in replies] == [
        ("2", "replay", "replay"),
        ("1", "replay", "replay"),
    ]


@pytest.mark.parametrize(
    ("recorded", "replayed"), [("model", "replay"), ("client", "replay"), ("simulated", "simulated")]
)
async def test_a_recorded_reply_stays_what_it_was_but_for_its_source(recorded: str, replayed: str) -> None:
    original = Reply(text="42", model="m", provider="cerebras", source=recorded, finish_reason="stop")  # type: ignore[arg-type]  # a Source

    reply = await ReplayProvider({"a": original}).send(call("a"))

    assert (reply.text, reply.model, reply.finish_reason) == ("42", "m", "stop")
    assert (reply.provider, reply.source) == ("replay", replayed)


async def test_an_unknown_step_key_is_refused_by_name() -> None:
    with pytest.raises(RejectedError, match="'it9/candidate1'") as caught:
        await ReplayProvider({"a": "1"}).send(call("it9/candidate1"))

    assert caught.value.kind == "not_recorded"


@pytest.mark.parametrize("asked", ["abc", "cba", "bca"])
async def test_replies_arrive_in_the_recorded_order_whatever_the_order_of_asking(asked: str) -> None:
    provider, arrived = ReplayProvider({"c": "3", "a": "1", "b": "2"}), []

    async def one(key: str) -> None:
        arrived.append((await provider.send(call(key))).text)

    await asyncio.gather(*(one(key) for key in asked))

    assert arrived == ["3", "1", "2"]


async def test_a_call_that_is_withdrawn_does_not_hold_up_the_later_ones() -> None:
    provider = ReplayProvider([("a", "1"), ("b", "2")])
    first, second = (asyncio.create_task(provider.send(call(key))) for key in "ab")
    await asyncio.sleep(0)

    first.cancel()

    assert (await second).text == "2"


async def test_recorded_attempts_are_played_one_after_the_other() -> None:
    provider = ReplayProvider([("a", TransientError("busy", retry_after=0.0)), ("b", "2"), ("a", "1")])
    ledger = CountingLedger()

    reply = await ask(call("a"), provider, ledger)

    assert (reply.text, ledger.attempts, ledger.failures) == ("1", 2, 1)


async def test_a_recorded_failure_fails_again() -> None:
    provider = ReplayProvider({"a": TransientError("busy", kind="http_500")})

    with pytest.raises(TransientError):
        await ask(call("a"), provider, CountingLedger(), policy=RetryPolicy(attempts=1))


async def test_an_empty_recorded_text_is_a_problem() -> None:
    assert (await ReplayProvider({"a": ""}).send(call("a"))).problem == "empty"
