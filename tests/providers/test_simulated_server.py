"""The simulated server over real HTTP, asked by the official client."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import openai
import pytest
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletion

from providers.simulated import MEDIUM, SMALL, Fault, SimulatedModel, SimulatedServer, demo_tasks

JUG = demo_tasks(1)[0]
ANSWER = f"{JUG.task}\nGive the final answer."
STEPS = f"{JUG.task}\nReturn exactly 3 items as pure JSON."


@asynccontextmanager
async def serving(model: SimulatedModel | None = None) -> AsyncIterator[tuple[SimulatedServer, AsyncOpenAI]]:
    async with (
        SimulatedServer(model) as server,
        AsyncOpenAI(api_key="unused", base_url=server.base_url, max_retries=0, timeout=20) as client,
    ):
        yield server, client


async def ask(client: AsyncOpenAI, text: str = ANSWER, **options: Any) -> ChatCompletion:
    completion: ChatCompletion = await client.chat.completions.create(
        model=options.pop("model", MEDIUM), messages=[{"role": "user", "content": text}], **options
    )
    return completion


async def texts(client: AsyncOpenAI, count: int, text: str = ANSWER, **options: Any) -> list[str]:
    replies = await asyncio.gather(*[ask(client, text, **options) for _ in range(count)])
    return [reply.choices[0].message.content or "" for reply in replies]


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not holds():  # the server's plain counters are what is tested
            await asyncio.sleep(0.001)


def failing(*faults: Fault) -> SimulatedModel:
    return SimulatedModel(accuracy=1, faults=faults)


async def test_a_reply_has_the_openai_form_and_calls_itself_simulated() -> None:
    async with serving(SimulatedModel(accuracy=1)) as (_, client):
        reply = await ask(client)

    assert (reply.object, reply.model, reply.system_fingerprint) == ("chat.completion", MEDIUM, "simulated")
    assert "simulated" in reply.id
    assert abs(reply.created - time.time()) < 60
    (choice,) = reply.choices
    assert (choice.index, choice.finish_reason, choice.message.role) == (0, "stop", "assistant")
    assert json.loads(choice.message.content or "")["answer"] == JUG.answer


async def test_usage_counts_four_characters_a_token_and_thinking_apart() -> None:
    async with serving(SimulatedModel(shape="thinking")) as (_, client):
        reply = await ask(client, STEPS)

    content = reply.choices[0].message.content or ""
    thinking = content[: content.index("[")]
    assert reply.usage is not None
    assert reply.usage.completion_tokens_details is not None
    assert reply.usage.prompt_tokens == -(-len(STEPS) // 4)
    assert reply.usage.completion_tokens == -(-len(content) // 4)
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens
    assert reply.usage.completion_tokens_details.reasoning_tokens == -(-len(thinking) // 4) > 0


async def test_usage_can_be_left_out() -> None:
    async with serving(SimulatedModel(usage=False)) as (_, client):
        reply = await ask(client)

    assert reply.usage is None


async def test_the_models_are_listed_as_simulated_with_their_invented_prices() -> None:
    async with serving() as (_, client):
        listed = [model async for model in client.models.list()]

    assert {model.id for model in listed} == {"simulated/small", "simulated/medium", "simulated/large"}
    assert {model.owned_by for model in listed} == {"simulated"}
    assert all(float((model.model_extra or {})["pricing"]["completion"]) > 0 for model in listed)


async def test_any_simulated_id_is_served_and_every_other_is_unknown() -> None:
    async with serving() as (_, client):
        assert (await ask(client, model="simulated/other")).model == "simulated/other"
        with pytest.raises(openai.NotFoundError) as caught:
            await ask(client, model="gpt-4o-mini")

    assert caught.value.code == "model_not_found"


async def test_the_server_counts_and_logs_for_itself() -> None:
    async with serving(failing(Fault(kind="http_500", first=1))) as (server, client), aiohttp.ClientSession() as plain:
        with pytest.raises(openai.InternalServerError):
            await ask(client)
        await ask(client, temperature=0.5)
        async with plain.get(server.base_url.removesuffix("/v1") + "/control/count") as response:
            counted = await response.json()
        async with plain.get(server.base_url + "/nothing") as response:
            status = response.status

    assert counted == {"requests": 2, "in_flight": 0, "max_in_flight": 1, "simulated": True}
    assert status == 404
    assert server.requests == 2
    assert [body.get("temperature") for body in server.log] == [None, 0.5]
    assert server.log[1]["messages"] == [{"role": "user", "content": ANSWER}]


async def test_accuracy_over_the_wire_lies_within_a_binomial_bound_of_the_knob() -> None:
    async with serving(SimulatedModel(accuracy=0.7)) as (server, client):
        drawn = [answer for _ in range(4) for answer in await texts(client, 100)]

    right = sum(json.loads(text)["answer"] == JUG.answer for text in drawn)
    assert abs(right - 280) <= 4 * (400 * 0.7 * 0.3) ** 0.5
    assert server.requests == 400


async def test_repeated_requests_differ_and_the_same_seed_repeats_them() -> None:
    async def draw(seed: int, shape: Sequence[int]) -> list[Counter[str]]:
        async with serving(SimulatedModel(seed=seed, accuracy=0.5)) as (_, client):
            answers = [text for size in shape for text in await texts(client, size)]
            steps = [text for size in shape for text in await texts(client, size, STEPS)]
        return [Counter(answers), Counter(steps)]

    one_by_one, at_once, other = await draw(1, [1] * 12), await draw(1, [12]), await draw(2, [12])

    assert len(one_by_one[0]) > 1
    assert one_by_one == at_once
    assert one_by_one != other


async def test_other_conversations_in_between_change_nothing() -> None:
    async with serving(SimulatedModel(accuracy=0.5)) as (_, client):
        alone = [text for _ in range(8) for text in await texts(client, 1)]
    async with serving(SimulatedModel(accuracy=0.5)) as (_, client):
        mixed = [
            (await texts(client, 1), await texts(client, 2, STEPS), await texts(client, 1, model=SMALL))
            for _ in range(8)
        ]

    assert alone == [own[0] for own, _, _ in mixed]


async def test_temperature_zero_always_gives_the_same_answer() -> None:
    async with serving(SimulatedModel(accuracy=0.5)) as (_, client):
        warm, cold = await texts(client, 12), await texts(client, 12, temperature=0)

    assert len(set(warm)) > 1
    assert len(set(cold)) == 1


async def test_faulted_requests_do_not_change_what_the_others_get() -> None:
    async with serving(SimulatedModel(accuracy=0.5)) as (_, client):
        sound = await texts(client, 9)
    async with serving(SimulatedModel(accuracy=0.5, faults=(Fault(kind="http_500", every=2),))) as (_, client):
        replies = await asyncio.gather(*[ask(client) for _ in range(18)], return_exceptions=True)

    survived = [reply.choices[0].message.content for reply in replies if isinstance(reply, ChatCompletion)]
    assert Counter(survived) == Counter(sound)


@pytest.mark.parametrize(("knob", "choices"), [("ok", 3), ("ignored", 1)])
async def test_n_choices_are_given_or_silently_ignored(knob: Any, choices: int) -> None:
    async with serving(SimulatedModel(accuracy=0.5, n=knob)) as (_, client):
        reply = await ask(client, n=3)
    async with serving(SimulatedModel(accuracy=0.5)) as (_, client):
        apart = [text for _ in range(choices) for text in await texts(client, 1)]

    assert [choice.index for choice in reply.choices] == list(range(choices))
    assert [choice.message.content for choice in reply.choices] == apart


async def test_n_can_be_rejected() -> None:
    async with serving(SimulatedModel(n="rejected")) as (_, client):
        with pytest.raises(openai.BadRequestError) as caught:
            await ask(client, n=2)
        single = await ask(client, n=1)

    assert caught.value.param == "n"
    assert len(single.choices) == 1


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
async def test_a_token_limit_cuts_the_reply(name: str) -> None:
    tight: dict[str, Any] = {name: 5}
    wide: dict[str, Any] = {name: 1000}
    async with serving(SimulatedModel(accuracy=1)) as (_, client):
        reply, whole = await ask(client, **tight), await ask(client, **wide)

    assert reply.choices[0].finish_reason == "length"
    assert reply.choices[0].message.content == (whole.choices[0].message.content or "")[:20]
    assert reply.usage is not None
    assert reply.usage.completion_tokens == 5
    assert whole.choices[0].finish_reason == "stop"


async def test_a_stream_adds_up_to_the_plain_reply() -> None:
    options: dict[str, Any] = {"model": MEDIUM, "messages": [{"role": "user", "content": STEPS}], "temperature": 0}
    async with serving() as (_, client):
        plain = await client.chat.completions.create(**options)
        chunks = [
            chunk
            async for chunk in await client.chat.completions.create(
                **options, stream=True, stream_options={"include_usage": True}
            )
        ]
        silent = [chunk async for chunk in await client.chat.completions.create(**options, stream=True)]

    pieces = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
    assert len(pieces) > 3
    assert "".join(pieces) == plain.choices[0].message.content
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert {chunk.system_fingerprint for chunk in chunks} == {"simulated"}
    assert (chunks[-1].choices, chunks[-1].usage) == ([], plain.usage)
    assert not [chunk for chunk in silent if chunk.usage]


async def test_requests_run_side_by_side_and_are_counted_while_they_do() -> None:
    async with serving(SimulatedModel(latency=0.2, jitter=0.1)) as (server, client):
        got = await texts(client, 40)

    assert len(got) == 40
    assert server.max_in_flight == 40
    assert server.in_flight == 0


@pytest.mark.parametrize(
    ("kind", "status", "code"),
    [
        ("http_500", 500, "server_error"),
        ("http_429", 429, "rate_limit_exceeded"),
        ("http_400", 400, None),
        ("http_401", 401, "invalid_api_key"),
    ],
)
async def test_a_status_fault_is_raised_by_the_client(kind: Any, status: int, code: str | None) -> None:
    async with serving(failing(Fault(kind=kind, first=1, seconds=0.25))) as (_, client):
        with pytest.raises(openai.APIStatusError) as caught:
            await ask(client)
        after = await ask(client)

    assert (caught.value.status_code, caught.value.code) == (status, code)
    assert "simulated" in caught.value.message
    assert caught.value.response.headers.get("retry-after") == ("0.25" if kind == "http_429" else None)
    assert after.choices


async def test_a_parameter_is_refused_by_name_and_its_absence_is_fine() -> None:
    async with serving(failing(Fault(kind="unsupported_parameter"))) as (_, client):
        with pytest.raises(openai.BadRequestError) as caught:
            await ask(client, max_tokens=100)
        renamed = await ask(client, max_completion_tokens=100)

    assert (caught.value.code, caught.value.param) == ("unsupported_parameter", "max_tokens")
    assert renamed.choices


async def test_a_body_of_half_a_json_text_cannot_be_decoded() -> None:
    async with serving(failing(Fault(kind="broken_json"))) as (_, client):
        with pytest.raises((openai.APIError, json.JSONDecodeError)):
            await ask(client)


async def test_an_html_page_arrives_with_status_200() -> None:
    async with serving(failing(Fault(kind="html"))) as (_, client):
        reply: Any = await ask(client)

    assert reply.startswith("<html>")


async def test_an_error_body_arrives_with_status_200() -> None:
    async with serving(failing(Fault(kind="error_in_200"))) as (_, client):
        reply = await ask(client)

    assert reply.choices is None
    assert (reply.model_extra or {})["error"]["code"] == "server_error"


async def test_a_completion_without_choices() -> None:
    async with serving(failing(Fault(kind="no_choices"))) as (_, client):
        reply = await ask(client)

    assert reply.choices == []


@pytest.mark.parametrize(
    ("kind", "finish_reason", "refuses", "reasons"),
    [
        ("null_content", "stop", False, False),
        ("refusal", "stop", True, False),
        ("truncated_thinking", "length", False, True),
    ],
)
async def test_a_choice_without_content(kind: Any, finish_reason: str, refuses: bool, reasons: bool) -> None:
    async with serving(failing(Fault(kind=kind))) as (_, client):
        reply = await ask(client, max_tokens=77)

    (choice,) = reply.choices
    assert (choice.message.content, choice.finish_reason) == (None, finish_reason)
    assert bool(choice.message.refusal) is refuses
    assert bool((choice.message.model_extra or {}).get("reasoning")) is reasons
    assert reply.usage is not None
    assert reply.usage.completion_tokens == (77 if reasons else 0)


async def test_a_hanging_call_holds_up_nobody_and_ends_with_its_client() -> None:
    async with serving(failing(Fault(kind="hang", indices=(0,)))) as (server, client):
        hanging = asyncio.create_task(ask(client))
        await until(lambda: server.in_flight == 1)
        others = await texts(client, 5)
        still = (hanging.done(), server.in_flight)
        hanging.cancel()
        await asyncio.wait([hanging])
        await until(lambda: server.in_flight == 0)

    assert len(others) == 5
    assert still == (False, 1)
    assert hanging.cancelled()


async def test_closing_the_server_ends_a_hanging_call() -> None:
    async with AsyncOpenAI(api_key="unused", base_url="http://127.0.0.1:1/v1", max_retries=0) as client:
        async with SimulatedServer(failing(Fault(kind="hang"))) as server:
            client.base_url = server.base_url
            hanging = asyncio.create_task(ask(client))
            await until(lambda: server.in_flight == 1)

        with pytest.raises(openai.APIConnectionError):
            await hanging

    assert server.in_flight == 0


async def test_a_request_in_flight_when_the_server_closes_is_still_answered() -> None:
    async with AsyncOpenAI(api_key="unused", base_url="http://127.0.0.1:1/v1", max_retries=0) as client:
        async with SimulatedServer(SimulatedModel(latency=0.2)) as server:
            client.base_url = server.base_url
            asked = asyncio.create_task(ask(client))
            await until(lambda: server.in_flight == 1)

        reply = await asked

    assert reply.choices


async def test_a_dropped_connection_is_a_connection_error() -> None:
    async with serving(failing(Fault(kind="drop", first=1))) as (_, client):
        with pytest.raises(openai.APIConnectionError):
            await ask(client)
        after = await ask(client)

    assert after.choices


async def test_a_slow_body_arrives_in_two_halves() -> None:
    async with serving(failing(Fault(kind="slow_body", seconds=0.1))) as (_, client):
        reply = await ask(client)

    assert json.loads(reply.choices[0].message.content or "")["answer"] == JUG.answer


async def test_a_fault_for_one_role_leaves_the_others_alone() -> None:
    async with serving(failing(Fault(kind="http_500", roles=("answer",), first=1))) as (_, client):
        steps = await ask(client, STEPS)
        with pytest.raises(openai.InternalServerError):
            await ask(client)
        answer = await ask(client)

    assert steps.choices
    assert answer.choices


@pytest.mark.parametrize(
    ("fault", "hit"),
    [
        (Fault(kind="http_500", every=3), {2, 5, 8, 11}),
        (Fault(kind="http_500", first=2), {0, 1}),
        (Fault(kind="http_500", indices=(1, 7)), {1, 7}),
        (Fault(kind="http_500", first=1, indices=(4,)), {0, 4}),
        (Fault(kind="http_500"), set(range(12))),
        (Fault(kind="http_500", first=0), set()),
    ],
)
async def test_the_fault_says_which_requests_it_hits(fault: Fault, hit: set[int]) -> None:
    failed = set()
    async with serving(failing(fault)) as (_, client):
        for number in range(12):
            try:
                await ask(client)
            except openai.InternalServerError:
                failed.add(number)

    assert failed == hit


async def test_faults_by_chance_are_as_many_as_the_probability_says_and_the_same_each_time() -> None:
    async def failures() -> int:
        async with serving(failing(Fault(kind="http_500", probability=0.3))) as (_, client):
            replies = await asyncio.gather(*[ask(client) for _ in range(200)], return_exceptions=True)
        return sum(isinstance(reply, openai.InternalServerError) for reply in replies)

    first, second = await failures(), await failures()

    assert first == second
    assert abs(first - 60) <= 4 * (200 * 0.3 * 0.7) ** 0.5


async def test_the_first_fault_that_is_due_decides() -> None:
    faults = Fault(kind="http_500", every=2), Fault(kind="http_429")
    async with serving(failing(*faults)) as (_, client):
        replies = await asyncio.gather(*[ask(client) for _ in range(6)], return_exceptions=True)

    assert Counter(type(reply) for reply in replies) == {openai.InternalServerError: 3, openai.RateLimitError: 3}


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b'{"messages": [{"role": "user", "content": "x"}]}',
        b'{"model": "simulated/medium", "messages": []}',
        b'{"model": "simulated/medium", "messages": ["x"]}',
        b'{"model": "simulated/medium", "messages": [{"role": "user", "content": "x"}], "n": 0}',
        b'{"model": "simulated/medium", "messages": [{"role": "user", "content": "x"}], "max_tokens": "5"}',
    ],
)
async def test_a_bad_body_is_refused_with_status_400_and_counted(body: bytes) -> None:
    async with (
        SimulatedServer() as server,
        aiohttp.ClientSession() as plain,
        plain.post(server.base_url + "/chat/completions", data=body) as response,
    ):
        status, answer = response.status, await response.json()

    assert (status, answer["error"]["type"]) == (400, "invalid_request_error")
    assert server.requests == 1


async def test_odd_but_legal_content_is_answered() -> None:
    messages = [
        {"role": "system", "content": None},
        {"role": "user", "content": [{"type": "text", "text": "lone \ud800 half"}, 7]},
        {"role": "tool", "content": ""},
    ]
    async with SimulatedServer() as server, aiohttp.ClientSession() as plain:
        body = {"model": MEDIUM, "messages": messages, "n": None, "max_tokens": None}
        async with plain.post(server.base_url + "/chat/completions", json=body) as response:
            answer = await response.json()

    assert answer["choices"][0]["message"]["content"]


async def test_a_port_that_is_taken_is_an_error() -> None:
    async with SimulatedServer() as server:
        port = int(server.base_url.split(":")[2].split("/")[0])
        with pytest.raises(OSError, match="in use"):
            await SimulatedServer(port=port).start()
