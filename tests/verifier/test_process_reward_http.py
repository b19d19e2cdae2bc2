"""A process-reward model over real HTTP on the loopback interface."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest

from providers.counting import CountingLedger
from providers.errors import BudgetSpent, ProviderError
from providers.retry import RetryPolicy, ask
from providers.types import Call
from tests.fake_openai import BREAK_OFF, HANG, HTML, Answer, FakeOpenAI, Handler, data, refusal
from verifier.process_reward_http import ProcessRewardServer, RewardModel, StepRewards, step_rewards

STEPS = ["Add 1 and 2.", "The sum is 3."]
ONCE = RetryPolicy(attempts=1, bad_replies=0)
KEY = "sk-reward-5f1e"


def pooled(*rows: object, **more: object) -> Answer:
    """A reply in the form of pooling."""
    return data({"object": "list", "model": "prm", "data": [{"index": 0, "object": "pooling", "data": rows}], **more})


def classified(*probs: object) -> Answer:
    """A reply in the form of classification."""
    items = [{"index": index, "label": "LABEL_1", "probs": row, "num_classes": 2} for index, row in enumerate(probs)]
    return data({"object": "list", "model": "prm", "data": items, "usage": {"prompt_tokens": 31, "total_tokens": 31}})


@asynccontextmanager
async def serving(
    answers: Handler | list[Answer], **place: Any
) -> AsyncIterator[tuple[FakeOpenAI, ProcessRewardServer]]:
    """A server that answers so, and the client of it."""
    async with FakeOpenAI(answers) as server:
        client = ProcessRewardServer(RewardModel(**{"url": server.origin, "model": "prm", **place}))
        try:
            yield server, client
        finally:
            await client.aclose()


async def rewards(
    client: ProcessRewardServer,
    steps: list[str] = STEPS,
    *,
    ledger: CountingLedger | None = None,
    policy: RetryPolicy = ONCE,
    seconds: float = 10,
) -> StepRewards:
    """Ask as the product does: through the retries and a ledger."""
    paid = partial(ask, provider=client, ledger=ledger or CountingLedger(), policy=policy)
    return await step_rewards(paid, "What is 1 + 2?", steps, step_key="it1/process", seconds=seconds)


async def test_pooling_gives_one_reward_a_step() -> None:
    async with serving([pooled([0.1, 0.9], [0.75, 0.25])]) as (server, client):
        found = await rewards(client)

    assert found == StepRewards(rewards=(0.9, 0.25), model="prm")
    assert server.seen[0].path == "/pooling"
    assert server.seen[0].body == {
        "model": "prm",
        "messages": [
            {"role": "user", "content": "What is 1 + 2?"},
            {"role": "assistant", "content": "Add 1 and 2.<extra_0>The sum is 3.<extra_0>"},
        ],
    }


@pytest.mark.parametrize(
    ("row", "positive", "reward"), [([0.8, 0.2], 0, 0.8), ([0.8], 1, 0.8), (0.8, 1, 0.8), ([1, 0], 1, 0.0)]
)
async def test_the_class_that_means_right_is_a_setting(row: object, positive: int, reward: float) -> None:
    async with serving([pooled(row)], positive=positive) as (_, client):
        found = await rewards(client, ["a"])

    assert found.rewards == (reward,)


async def test_a_separator_inside_a_step_does_not_make_a_further_step() -> None:
    async with serving([pooled([0, 1])], separator="<sep>") as (server, client):
        await rewards(client, ["a<sep>b"])

    assert server.seen[0].body["messages"][1]["content"] == "a b<sep>"


async def test_classification_sees_every_beginning_of_the_path() -> None:
    async with serving([classified([0.1, 0.9], [0.6, 0.4])], form="classify") as (server, client):
        found = await rewards(client)

    assert found.rewards == (0.9, 0.4)
    assert server.seen[0].path == "/classify"
    assert server.seen[0].body["input"] == [
        "What is 1 + 2?\n\nAdd 1 and 2.",
        "What is 1 + 2?\n\nAdd 1 and 2.\nThe sum is 3.",
    ]


async def test_results_that_come_out_of_order_are_put_right() -> None:
    items = [{"index": 1, "probs": [0.6, 0.4]}, {"index": 0, "probs": [0.1, 0.9]}]

    async with serving([data({"data": items})], form="classify") as (_, client):
        found = await rewards(client)

    assert found.rewards == (0.9, 0.4)


async def test_an_address_with_v1_is_the_same_server() -> None:
    async with FakeOpenAI([pooled([0, 1])]) as server:
        client = ProcessRewardServer(RewardModel(url=server.base_url, model="prm"))

        found = await rewards(client, ["a"])
        await client.aclose()

    assert found.rewards == (1.0,)
    assert server.seen[0].path == "/pooling"


async def test_a_question_is_a_paid_call_like_any_other() -> None:
    ledger = CountingLedger()
    async with serving([classified([0, 1], [0, 1])], form="classify") as (_, client):
        await rewards(client, ledger=ledger)

    ((call, reply),) = ledger.outcomes
    assert (call.role, call.step_key) == ("process_reward", "it1/process")
    assert not isinstance(reply, ProviderError)
    assert (reply.usage.prompt_tokens, reply.usage.estimated) == (31, False)


async def test_unreported_tokens_are_estimated_and_said_to_be() -> None:
    ledger = CountingLedger()
    async with serving([pooled([0, 1], [0, 1])]) as (_, client):
        await rewards(client, ledger=ledger)

    reply = ledger.outcomes[0][1]
    assert not isinstance(reply, ProviderError)
    assert (reply.usage.prompt_tokens, reply.usage.estimated) == (10, True)


async def test_where_the_budget_is_spent_nothing_is_sent() -> None:
    async with serving([pooled([0, 1])]) as (server, client):
        found = await rewards(client, ledger=CountingLedger(calls=0))

    assert found.rewards is None
    assert "budget" in found.reason
    assert server.seen == []


@pytest.mark.parametrize("steps", [[], ["x"] * 257])
async def test_a_path_of_no_or_too_many_steps_is_not_asked_about(steps: list[str]) -> None:
    async with serving([pooled()]) as (server, client):
        found = await rewards(client, steps)

    assert found.rewards is None
    assert server.seen == []


@pytest.mark.parametrize(
    "answer",
    [
        pooled([0.1, 0.9]),
        pooled([0.1, 0.9], [0.1, 0.9], [0.1, 0.9]),
        pooled([-3.1, 4.2], [-1.0, 2.0]),
        pooled([0.1, True], [0.1, True]),
        pooled([0.1, None], [0.1, "0.9"]),
        pooled([0.1, float("nan")], [0.1, 0.9]),
        pooled([], []),
        data({"data": []}),
        data({"data": [{"index": 0}]}),
        data({"data": [None]}),
        data({"data": 5}),
        data({"error": "no"}),
        data([1, 2]),
        Answer(body="{"),
        Answer(body="[" * 100_000),
        HTML,
        BREAK_OFF,
        Answer(endless=True),
        refusal(400, "too long"),
        refusal(401, "who are you"),
        refusal(404, "no such model"),
        refusal(500),
        Answer(status=302, headers={"location": "http://192.0.2.1/"}),
    ],
)
async def test_whatever_is_wrong_with_a_reply_is_no_reward(answer: Answer) -> None:
    async with serving([answer]) as (_, client):
        found = await rewards(client)

    assert found.rewards is None
    assert found.reason.startswith("no reward: ")
    assert len(found.reason) < 600


async def test_a_server_that_hangs_is_left_after_its_time() -> None:
    async with serving([HANG]) as (_, client):
        found = await rewards(client, seconds=0.1)

    assert found.rewards is None
    assert "0.1" in found.reason


async def test_a_server_that_is_not_there_is_no_reward() -> None:
    client = ProcessRewardServer(RewardModel(url="http://127.0.0.1:9", model="prm"))

    found = await rewards(client)
    await client.aclose()

    assert found.rewards is None
    assert "127.0.0.1:9" in found.reason


@pytest.mark.parametrize("url", ["", "ftp://x", "127.0.0.1:8000", "file:///etc/passwd", "http://"])
async def test_an_address_that_is_none_is_no_reward(url: str) -> None:
    client = ProcessRewardServer(RewardModel(url=url, model="prm"))

    found = await rewards(client)
    await client.aclose()

    assert found.rewards is None


async def test_an_overloaded_server_is_asked_again() -> None:
    ledger = CountingLedger()
    patient = RetryPolicy(attempts=2, first_wait=0.0)
    async with serving([refusal(503), pooled([0, 1], [0, 1])]) as (_, client):
        found = await rewards(client, ledger=ledger, policy=patient)

    assert found.rewards == (1.0, 1.0)
    assert ledger.attempts == 2


async def test_the_key_is_sent_and_never_said() -> None:
    async with serving([refusal(401, f"unknown key {KEY}")], key=KEY) as (server, client):
        found = await rewards(client)

    assert server.seen[0].headers["authorization"] == f"Bearer {KEY}"
    assert "***" in found.reason
    assert KEY not in found.reason + repr(client._place)


async def test_the_environment_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    async with serving([pooled([0, 1])]) as (_, client):
        found = await rewards(client, ["a"])

    assert found.rewards == (1.0,)


async def test_questions_are_asked_side_by_side_up_to_the_places() -> None:
    async with FakeOpenAI([pooled([0, 1])]) as server:
        client = ProcessRewardServer(RewardModel(url=server.origin, model="prm"), concurrency=2)
        found = await asyncio.gather(*[rewards(client, ["a"]) for _ in range(6)])
        await client.aclose()

    assert [one.rewards for one in found] == [(1.0,)] * 6
    assert server.most_at_once <= 2


async def test_a_recorded_reply_that_is_no_list_is_no_reward() -> None:
    async def recalled(call: Call) -> Any:
        from providers.types import Reply

        return Reply(text='{"a": 1}', model="m", provider="p", source="model")

    assert (await step_rewards(recalled, "t", ["a"], step_key="k")).rewards is None


async def test_an_error_of_the_ledger_is_no_reward() -> None:
    async def spent(call: Call) -> Any:
        raise BudgetSpent("all calls are spent", kind="calls")

    assert (await step_rewards(spent, "t", ["a"], step_key="k")).reason == "no reward: all calls are spent"
