"""A recording as a provider."""

import asyncio
from dataclasses import replace

import pytest

from providers.counting import CountingLedger
from providers.errors import RejectedError, TransientError
from providers.replay import ReplayProvider, SampledReplay
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


def sampled(problem: str, model: str | None = None) -> Call:
    return Call(role="generate", step_key="a", messages=(), model=model, request={"user": problem})


async def test_samples_are_given_out_in_order_each_problem_and_model_by_itself() -> None:
    table: dict[tuple[str, ...], tuple[str, ...]] = {("p", "m"): ("1", "2"), ("p", "n"): ("3",), ("r", "m"): ("4",)}
    provider = SampledReplay(table, default_model="m")

    calls = [sampled("p"), sampled("r", "m"), sampled("p", "n"), sampled("p", "m")]
    replies = [await provider.send(call) for call in calls]

    assert [(reply.text, reply.model, reply.source) for reply in replies] == [
        ("1", "m", "replay"), ("4", "m", "replay"), ("3", "n", "replay"), ("2", "m", "replay"),
    ]  # fmt: skip
    assert provider.given("p", "m") == 2


async def test_samples_that_are_used_up_are_given_again() -> None:
    provider = SampledReplay({("p", "m"): ("1", "2")}, default_model="m")

    replies = [await provider.send(sampled("p")) for _ in range(3)]

    assert [reply.text for reply in replies] == ["1", "2", "1"]


@pytest.mark.parametrize(
    "asked", [sampled("other"), sampled("p", "other"), call("a")], ids=["problem", "model", "none"]
)
async def test_what_was_not_sampled_is_refused_by_name(asked: Call) -> None:
    provider = SampledReplay({("p", "m"): ("1",)}, default_model="m")

    with pytest.raises(RejectedError, match="the recording holds nothing of") as refused:
        await provider.send(asked)

    assert refused.value.kind == "not_recorded"


async def test_calls_of_a_role_may_have_replies_of_their_own() -> None:
    table: dict[tuple[str, ...], tuple[str, ...]] = {("p", "m"): ("program",), ("p", "m", "tests"): ("test",)}
    provider = SampledReplay(table, default_model="m")

    program, test = [await provider.send(replace(sampled("p"), role=role)) for role in ("generate", "tests")]

    assert (program.text, test.text) == ("program", "test")
