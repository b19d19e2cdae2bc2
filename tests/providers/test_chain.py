"""Who answers when several providers could, and what is said about those that could not."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from providers.chain import MOST_FAILURES, Chain, how_to_configure, rungs
from providers.counting import CountingLedger
from providers.endpoints import configured_endpoints
from providers.errors import (
    BadReplyError,
    BudgetSpent,
    ConfigurationError,
    NoProviderError,
    ProviderError,
    RejectedError,
    TransientError,
)
from providers.openai_compatible import OpenAICompatible
from providers.retry import RetryPolicy
from providers.scripted import Line, ScriptedProvider
from providers.types import Call, Provider, Reply, Ticket

CALL = Call(role="generate", step_key="it1/candidate1", messages=())
ONCE = RetryPolicy(attempts=1)
KEY = ConfigurationError("HTTP 401: check CEREBRAS_API_KEY", kind="authentication", status=401, endpoint="http://c")
UNREACHABLE = TransientError("no connection", kind="connection")


def scripted(name: str, script: Sequence[Line] | Callable[[Call], Line] = lambda _: "fine") -> ScriptedProvider:
    return ScriptedProvider(script, name=name, default_model=f"{name}-default")


async def sample(calls: Sequence[Call]) -> Sequence[Reply]:
    return [Reply(text="sampled", model="claude", provider="", source="client") for _ in calls]


async def test_the_first_provider_answers_and_the_others_stay_silent() -> None:
    cerebras, openai = scripted("cerebras"), scripted("direct-openai")
    chain = Chain([cerebras, openai], CountingLedger())

    reply = await chain.ask(CALL)

    assert (reply.provider, len(openai.calls), chain.failures, chain.fell_back) == ("cerebras", 0, [], False)


async def test_a_wrong_key_takes_its_provider_out_for_the_rest_of_the_run() -> None:
    cerebras, openai = scripted("cerebras", [KEY]), scripted("direct-openai")
    chain = Chain([cerebras, openai], CountingLedger())

    replies = [await chain.ask(CALL), await chain.ask(CALL)]

    assert [reply.provider for reply in replies] == ["direct-openai"] * 2
    assert len(cerebras.calls) == 1
    assert chain.providers == (openai,)
    assert chain.fell_back


async def test_the_next_provider_is_asked_for_its_own_model() -> None:
    """A model id of one vendor means nothing to another."""
    cerebras, openai = scripted("cerebras", [KEY]), scripted("direct-openai")

    await Chain([cerebras, openai], CountingLedger()).ask(replace(CALL, model="gpt-oss-120b"))

    assert [call.model for call in (*cerebras.calls, *openai.calls)] == ["gpt-oss-120b", None]


@pytest.mark.parametrize("model", ["openai/gpt-4o", "direct-openai/gpt-4o"])
async def test_a_model_id_can_name_its_provider(model: str) -> None:
    cerebras, openai = scripted("cerebras"), scripted("direct-openai")
    chain = Chain([cerebras, openai], CountingLedger())

    reply = await chain.ask(replace(CALL, model=model))

    assert (reply.provider, openai.calls[0].model, chain.fell_back) == ("direct-openai", model, False)


async def test_a_model_of_a_provider_that_is_out_is_answered_by_another_ones_default() -> None:
    cerebras, openai = scripted("cerebras", [KEY]), scripted("direct-openai")
    chain = Chain([cerebras, openai], CountingLedger())
    await chain.ask(CALL)

    await chain.ask(replace(CALL, model="cerebras/gpt-oss-120b"))

    assert [call.model for call in openai.calls] == [None, None]


@pytest.mark.parametrize(
    ("model", "sent"),
    [("cerebras/x", None), ("openai/gpt-oss-20b", "openai/gpt-oss-20b"), ("meta/llama", "meta/llama"), ("m", "m")],
)
async def test_only_an_id_that_certainly_belongs_to_another_provider_is_dropped(model: str, sent: str | None) -> None:
    local = scripted("local")

    await Chain([local], CountingLedger()).ask(replace(CALL, model=model))

    assert local.calls[0].model == sent


async def test_a_provider_that_cannot_be_reached_goes_to_the_end_but_stays_in_the_run() -> None:
    """Its dead address must not cost every later call its retries."""
    cerebras, openai = scripted("cerebras", lambda _: UNREACHABLE), scripted("direct-openai")
    chain = Chain([cerebras, openai], CountingLedger(), policy=ONCE)

    replies = [await chain.ask(CALL), await chain.ask(CALL)]

    assert [reply.provider for reply in replies] == ["direct-openai"] * 2
    assert chain.providers == (openai, cerebras)
    assert (len(cerebras.calls), chain.fell_back) == (1, True)


async def test_a_lost_connection_of_the_only_provider_loses_this_call_alone() -> None:
    only = scripted("cerebras", [UNREACHABLE, "42"])
    chain = Chain([only], CountingLedger(), policy=ONCE)

    with pytest.raises(TransientError):
        await chain.ask(CALL)

    assert (await chain.ask(CALL)).text == "42"


@pytest.mark.parametrize(
    "error", [TransientError("busy", kind="http_500"), BadReplyError("html"), RejectedError("no", status=400)]
)
async def test_other_failures_belong_to_the_call_and_move_nothing(error: ProviderError) -> None:
    cerebras, openai = scripted("cerebras", [error]), scripted("direct-openai")
    chain = Chain([cerebras, openai], CountingLedger(), policy=ONCE)

    with pytest.raises(type(error)):
        await chain.ask(CALL)

    assert (openai.calls, chain.providers) == ([], (cerebras, openai))


async def test_when_no_provider_is_left_the_error_names_cause_and_remedy_in_one_line() -> None:
    chain = Chain([scripted("cerebras", [KEY])], CountingLedger())

    with pytest.raises(NoProviderError) as caught:
        await chain.ask(CALL)

    text = str(caught.value)
    assert "check CEREBRAS_API_KEY" in text
    assert "OPENAI_API_KEY" in text
    assert "\n" not in text


async def test_without_any_provider_the_error_says_how_to_configure_one() -> None:
    with pytest.raises(NoProviderError, match="CEREBRAS_API_KEY or OPENAI_API_KEY.*LOCAL_BASE_URL"):
        await Chain([], CountingLedger()).ask(CALL)


async def test_siblings_of_a_call_with_a_wrong_key_are_answered_too() -> None:
    chain = Chain([scripted("cerebras", lambda _: KEY), scripted("direct-openai")], CountingLedger())

    replies = await asyncio.gather(*(chain.ask(CALL) for _ in range(4)))

    assert [reply.provider for reply in replies] == ["direct-openai"] * 4


async def test_a_spent_budget_ends_the_search() -> None:
    cerebras, openai = scripted("cerebras", [KEY]), scripted("direct-openai")

    with pytest.raises(BudgetSpent):
        await Chain([cerebras, openai], CountingLedger(calls=1)).ask(CALL)

    assert openai.calls == []


async def test_every_failed_attempt_is_on_record_with_its_address() -> None:
    busy = TransientError("busy", kind="http_429", status=429, endpoint="http://c", retry_after=0.0)
    chain = Chain([scripted("cerebras", [busy, KEY]), scripted("direct-openai")], CountingLedger())

    await chain.ask(CALL)

    assert [
        (f["error"], f["kind"], f["status"], f["endpoint"], f["stepKey"], f["attempt"]) for f in chain.failures
    ] == [
        ("TransientError", "http_429", 429, "http://c", "it1/candidate1", 1),
        ("ConfigurationError", "authentication", 401, "http://c", "it1/candidate1", 2),
    ]


async def test_a_recalled_failure_is_on_record_as_well() -> None:
    class Recalling(CountingLedger):
        async def open(self, call: Call) -> Ticket:
            ticket = await super().open(call)
            return replace(ticket, recalled=TransientError("busy", kind="http_500")) if ticket.attempt == 1 else ticket

    chain = Chain([scripted("cerebras")], Recalling())

    await chain.ask(CALL)

    assert [failure["kind"] for failure in chain.failures] == ["http_500"]


async def test_a_run_that_only_fails_keeps_a_bounded_record() -> None:
    chain = Chain([scripted("cerebras", lambda _: RejectedError("no"))], CountingLedger())

    for _ in range(MOST_FAILURES + 7):
        with pytest.raises(RejectedError):
            await chain.ask(CALL)

    assert (len(chain.failures), chain.failures_left_out) == (MOST_FAILURES, 7)


async def test_a_withdrawn_call_is_no_failure() -> None:
    chain = Chain([scripted("cerebras", [None])], CountingLedger())
    task = asyncio.create_task(chain.ask(CALL))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])

    assert (task.cancelled(), chain.failures) == (True, [])


CONFIGURED = {"C": {"CEREBRAS_API_KEY": "c"}, "O": {"OPENAI_API_KEY": "o"}, "L": {"LOCAL_BASE_URL": "http://l"}}


def direct(configured: str) -> list[Provider]:
    values: dict[str, str | None] = {}
    for letter in configured:
        values.update(CONFIGURED[letter])
    return [OpenAICompatible(endpoint) for endpoint in configured_endpoints(values)]


@pytest.mark.parametrize(
    ("configured", "can_sample", "order"),
    [
        ("", False, []),
        ("", True, ["mcp"]),
        ("L", False, ["local"]),
        ("L", True, ["local", "mcp"]),
        ("O", False, ["direct-openai"]),
        ("C", True, ["cerebras", "mcp"]),
        ("CO", False, ["cerebras", "direct-openai"]),
        ("LOC", True, ["cerebras", "direct-openai", "local", "mcp"]),
    ],
)
def test_the_order_is_cerebras_openai_local_sampling(configured: str, can_sample: bool, order: list[str]) -> None:
    found = rungs(direct(configured), sample if can_sample else None)

    assert [provider.name for provider in found] == order


@pytest.mark.parametrize(
    ("provider", "order"),
    [
        ("auto", ["cerebras", "direct-openai", "local", "mcp"]),
        ("cerebras", ["cerebras"]),
        ("openai", ["direct-openai"]),
        ("direct-openai", ["direct-openai"]),
        ("local", ["local"]),
        ("mcp", ["mcp"]),
        ("caller", []),
        ("heuristic", []),
    ],
)
def test_a_forced_provider_is_exactly_that_source(provider: str, order: list[str]) -> None:
    assert [found.name for found in rungs(direct("COL"), sample, provider=provider)] == order


@pytest.mark.parametrize(
    ("provider", "missing"),
    [
        ("cerebras", "CEREBRAS_API_KEY is not set"),
        ("openai", "OPENAI_API_KEY is not set"),
        ("local", "LOCAL_BASE_URL is not set"),
        ("mcp", "did not declare"),
        ("bard", "known are cerebras, direct-openai, local, mcp, caller, heuristic"),
    ],
)
def test_a_forced_provider_that_is_not_there_is_an_error_that_says_what_is_missing(provider: str, missing: str) -> None:
    with pytest.raises(NoProviderError, match=missing):
        rungs([], provider=provider)


def test_use_sampling_false_means_no_model_at_all() -> None:
    assert rungs(direct("CO"), sample, use_sampling=False) == []


def test_use_sampling_true_without_any_source_is_an_error_that_says_what_is_missing() -> None:
    assert [provider.name for provider in rungs([], sample, use_sampling=True)] == ["mcp"]
    with pytest.raises(NoProviderError) as caught:
        rungs([], use_sampling=True)

    assert str(caught.value) == how_to_configure()
