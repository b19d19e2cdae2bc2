"""The OpenAI-compatible door, through OpenAI's own client with nothing but the base URL changed."""

import asyncio
import json
from typing import Any

import httpx2
import pytest
from openai import APIStatusError, AsyncOpenAI, AuthenticationError, NotFoundError

from providers.endpoints import Endpoint
from providers.openai_compatible import OpenAICompatible
from providers.simulated import Fault, SimulatedModel, SimulatedServer
from tests.booster.server.http_door import TOKEN, http_door
from tests.booster.server.openai_door import QUESTION, Door, a_door, called, calls, local, said, until
from tests.fake_openai import Answer, FakeOpenAI, Seen, completion
from tests.solving import a_booster

ONE = {"scheduler": "system1"}
THREE = {"candidates": 3}

WEATHER = {
    "type": "function",
    "function": {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
}


async def refused(door: Door, *arguments: Any, **options: Any) -> APIStatusError:
    with pytest.raises(APIStatusError) as caught:
        await door.ask(*arguments, **options)
    return caught.value


async def test_a_client_that_changes_only_its_base_url_gets_a_model_s_own_message() -> None:
    async with a_door([said()]) as door:
        reply = await door.ask()

        assert reply.choices[0].message.content == "The product is 42.\n\nFinal answer: 42"
        assert reply.choices[0].message.role == "assistant"
        assert (reply.choices[0].finish_reason, reply.object, reply.model) == ("stop", "chat.completion", "booster")
        assert reply.id == f"chatcmpl-{reply.booster['sessionId']}"
        assert reply.created > 1_700_000_000


async def test_one_cheap_call_passes_the_conversation_on_byte_for_byte() -> None:
    """A passthrough costs exactly one call, and nothing is added to what the client wrote."""
    messages = [
        {"role": "system", "content": "Be brief.\r\n\n  "},
        {"role": "developer", "content": "Answer in Slovak."},
        {"role": "user", "name": "eva", "content": "Key: sk-abcdefghijklmnop1234 é 漢 \u200b"},
        {"role": "assistant", "content": None, "tool_calls": [called("weather", {"city": "Košice"}, "call_9")]},
        {"role": "tool", "tool_call_id": "call_9", "content": '{"t": 3}'},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "And this?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo=", "detail": "low"}},
            ],
        },
    ]
    async with a_door([said("Dobre.")]) as door:
        reply = await door.ask(messages, booster=ONE)

        (body,) = door.bodies
        assert json.dumps(body["messages"]) == json.dumps(messages)
        assert set(body) == {"model", "messages"}
        assert reply.choices[0].message.content == "Dobre."
        assert reply.booster["calls"] == 1


async def test_every_parameter_of_the_client_arrives_as_it_was_sent() -> None:
    options: dict[str, Any] = {
        "temperature": 0.3, "top_p": 0.9, "max_completion_tokens": 50, "stop": ["END"], "seed": 7,
        "presence_penalty": 0.1, "frequency_penalty": 0.2, "logit_bias": {"50256": -100}, "user": "eva",
        "reasoning_effort": "low", "metadata": {"team": "x"}, "parallel_tool_calls": False, "tools": [WEATHER],
        "tool_choice": "auto", "verbosity": "low", "store": False, "service_tier": "auto",
    }  # fmt: skip
    async with a_door([said()]) as door:
        await door.ask(**options, booster=THREE, extra_headers={"x-y": "z"})

        assert len(door.bodies) == 3
        for body in door.bodies:
            assert {name: body[name] for name in body if name not in ("model", "messages")} == options
            assert body["messages"] == QUESTION


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
async def test_the_cap_keeps_the_name_that_the_client_gave_it_and_is_never_raised(name: str) -> None:
    """Thinking that ran into the cap is not asked for again under a larger one."""
    async with a_door([completion("<think>so", finish_reason="length")]) as door:
        error = await refused(door, booster=ONE, **{name: 16})

        assert [(body.get(name), len(body)) for body in door.bodies] == [(16, 3)]
        assert (error.status_code, error.code) == (502, "no_answer")


async def test_a_vendor_s_own_parameters_pass_too() -> None:
    async with a_door([said()]) as door:
        await door.client.chat.completions.create(
            model="booster", messages=QUESTION, extra_body={"chat_template_kwargs": {"thinking": True}, "booster": ONE}
        )

        assert door.bodies[0]["chat_template_kwargs"] == {"thinking": True}


async def test_the_message_most_agree_with_is_returned_whole() -> None:
    answers = [
        said("I guess.\nFinal answer: 41"),
        said("First.\nFinal answer: 42"),
        said("Second.\nFinal answer: 42.0"),
    ]
    async with a_door(answers) as door:
        reply = await door.ask(booster=THREE)

        assert reply.choices[0].message.content in ("First.\nFinal answer: 42", "Second.\nFinal answer: 42.0")
        assert reply.booster["answer"] in ("42", "42.0")
        assert reply.booster["evidence"][0]["observed"].startswith("2 of 3")


async def test_usage_is_the_sum_over_all_calls_that_the_model_counted() -> None:
    async with a_door([said()]) as door:
        reply = await door.ask(booster={"candidates": 5})

        assert len(door.model.seen) == reply.booster["calls"] == 5
        assert (reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.usage.total_tokens) == (35, 15, 50)
        assert reply.usage.completion_tokens_details.reasoning_tokens == 0
        assert reply.booster["costUsd"] is None


async def test_prose_that_states_no_answer_is_not_drawn_again_and_again() -> None:
    """Where there is nothing to vote on, one round is all that is paid, and nothing is claimed."""
    poems = iter(range(100))
    async with a_door(lambda _: said(f"Poem number {next(poems)}: roses, {'ha' * 3}.")) as door:
        reply = await door.ask([{"role": "user", "content": "A poem!"}], booster={"scheduler": "system2"})

        assert reply.booster["calls"] == 3
        assert reply.booster["answerStatus"] == "unverified"
        assert reply.choices[0].message.content.startswith("Poem number")


async def test_equal_short_replies_agree_without_any_form() -> None:
    async with a_door([said("Paris."), said("paris"), said("**Paris**")]) as door:
        reply = await door.ask(booster={"scheduler": "system2"})

        assert (reply.booster["answerStatus"], reply.booster["calls"]) == ("agreed", 3)
        assert reply.choices[0].message.content in ("Paris.", "paris", "**Paris**")


async def test_tool_calls_are_voted_on_by_name_and_arguments() -> None:
    """Spelling and ids do not matter, values do; the winner keeps its ids and its text."""
    answers = [
        calls(called("weather", {"city": "Paris"}, "call_a")),
        calls(called("weather", '{ "unit": "C",  "city": "Bern" }', "call_b"), content="Let me look."),
        calls(called("weather", {"city": "Bern", "unit": "C"}, "call_c"), content="Let me look."),
    ]
    async with a_door(answers) as door:
        reply = await door.ask(tools=[WEATHER], booster=THREE)

        (choice,) = reply.choices
        (call,) = choice.message.tool_calls
        assert (choice.finish_reason, choice.message.content) == ("tool_calls", "Let me look.")
        assert call.id in ("call_b", "call_c")
        assert json.loads(call.function.arguments) == {"city": "Bern", "unit": "C"}


async def test_tool_calls_in_another_order_or_case_are_other_calls() -> None:
    first, second = called("a", {"x": "A"}), called("b", {})
    answers = [calls(first, second), calls(second, first), calls(called("a", {"x": "a"}), second)]
    async with a_door(answers) as door:
        reply = await door.ask(tools=[WEATHER], booster=THREE)

        assert reply.booster["evidence"][0]["observed"].startswith("1 of 3")
        assert reply.choices[0].message.content is None


async def test_tool_calls_with_arguments_that_are_no_json_come_back_untouched() -> None:
    async with a_door([calls(called("run", 'print("1'))]) as door:
        reply = await door.ask(tools=[WEATHER], booster=ONE)

        assert reply.choices[0].message.tool_calls[0].function.arguments == 'print("1'


SCHEMA = {
    "type": "json_schema",
    "json_schema": {
        "name": "sum",
        "strict": True,
        "schema": {
            "type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"], "additionalProperties": False,
        },
    },
}  # fmt: skip


async def test_json_that_violates_the_schema_loses_and_the_rest_is_voted_on_by_value() -> None:
    answers = [
        said('{"sum": "42"}'),
        said('{"sum": "42"}'),
        said('{ "sum" : 42 }'),
        said('{"sum":42}'),
        said('{"sum":41}'),
    ]
    async with a_door(answers) as door:
        reply = await door.ask(response_format=SCHEMA, booster={"candidates": 5})

        assert reply.choices[0].message.content in ('{ "sum" : 42 }', '{"sum":42}')
        assert all(body["response_format"] == SCHEMA for body in door.bodies)
        assert reply.booster["answerStatus"] != "verified"  # its form was checked, not its truth


async def test_json_object_comes_back_unchanged() -> None:
    text = '{\n  "b": 1.50,\n  "a": [null, "é"]\n}'
    async with a_door([said(text)]) as door:
        reply = await door.ask(response_format={"type": "json_object"}, booster=ONE)

        assert reply.choices[0].message.content == text


async def test_no_reply_of_the_form_asked_for_is_no_answer() -> None:
    async with a_door([said("Forty-two, I think.")]) as door:
        error = await refused(door, response_format=SCHEMA, booster=THREE)

        assert (error.status_code, error.code) == (502, "no_answer")


async def test_a_schema_that_cannot_be_applied_here_still_asks_for_json_and_says_so() -> None:
    odd = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "string", "pattern": "(?=a)b"}}}
    async with a_door([said('{"free": 1}')]) as door:
        reply = await door.ask(response_format=odd, booster=ONE)

        assert reply.choices[0].message.content == '{"free": 1}'
        assert reply.booster["warnings"][0].startswith("response_format: only that replies are JSON")


async def test_a_check_of_the_client_decides() -> None:
    answers = [said("Final answer: 41"), said("Final answer: 41"), said("Final answer: 42")]
    async with a_door(answers) as door:
        reply = await door.ask(booster={**THREE, "checks": [{"kind": "numeric", "value": 42}]})

        assert reply.choices[0].message.content == "Final answer: 42"
        assert (reply.booster["answerStatus"], reply.booster["confidenceBasis"]) == ("verified", "checks")


async def test_a_check_that_nothing_meets_is_no_answer() -> None:
    async with a_door([said("Final answer: 41")]) as door:
        error = await refused(door, booster={**THREE, "checks": [{"kind": "numeric", "value": 42}]})

        assert (error.status_code, error.code) == (422, "checks_failed")


async def test_a_cheap_call_whose_check_fails_is_followed_by_deliberation() -> None:
    def answer(seen: Seen) -> Answer:
        return said("Final answer: 42") if seen.body["model"] == "strong" else said("Final answer: 41")

    checks = [{"kind": "numeric", "value": 42}]
    async with a_door(answer, config={"fastModel": "weak", "strongModel": "strong"}) as door:
        reply = await door.ask(booster={"checks": checks})

        assert reply.choices[0].message.content == "Final answer: 42"


async def test_a_judge_is_asked_without_what_the_client_set_for_its_answer() -> None:
    def answer(seen: Seen) -> Answer:
        judging = seen.body["model"] == "judge"
        return said('{"score": 0.9}') if judging else said(f"Essay number {len(seen.body['messages'])}")

    async with a_door(answer, config={"judgeModel": "judge"}) as door:
        reply = await door.ask(tools=[WEATHER], response_format={"type": "text"}, booster={**THREE, "select": "judge"})

        asked: dict[str, list[set[str]]] = {"answers": [], "judge": []}
        for body in door.bodies:
            asked["judge" if body["model"] == "judge" else "answers"].append(set(body))
        assert (len(asked["answers"]), len(asked["judge"]), reply.booster["calls"]) == (3, 3, 6)
        assert all({"tools", "response_format"} <= names for names in asked["answers"])
        assert not any(names & {"tools", "response_format"} for names in asked["judge"])
        assert reply.usage.total_tokens == 60


async def test_reasoning_of_the_model_comes_back_beside_its_content() -> None:
    async with a_door([said("Final answer: 42", reasoning_content="six sevens")]) as door:
        reply = await door.ask(booster=ONE)

        assert reply.choices[0].message.reasoning_content == "six sevens"


async def test_what_a_model_writes_is_not_redacted_unless_it_is_our_own_key() -> None:
    text = "Use postgresql://me:secret@localhost/db and sk-abcdefghijklmnop1234"
    async with a_door([said(text + " but not the-server-key")], secrets=("the-server-key",)) as door:
        reply = await door.ask(booster=ONE)

        assert reply.choices[0].message.content == text + " but not [redacted]"


async def test_half_a_character_comes_back_as_it_was_written() -> None:
    async with a_door([said("half: \ud83d")]) as door:
        reply = await door.ask(booster=ONE)

        assert reply.choices[0].message.content == "half: \ud83d"


@pytest.mark.parametrize("fixed", [{"temperature": 0}, {"seed": 1}])
async def test_calls_that_would_only_repeat_themselves_are_not_made(fixed: dict[str, Any]) -> None:
    """Three copies of one reply would look like three voices; who asks for several gets them."""
    async with a_door([said()]) as door:
        alone = await door.ask(**fixed)
        several = await door.ask(**fixed, booster={"candidates": 2})

        assert (alone.booster["calls"], several.booster["calls"]) == (1, 2)
        assert "one call" in alone.booster["warnings"][0]


async def test_steps_can_be_asked_for_and_their_answer_is_the_content() -> None:
    def answer(seen: Seen) -> Answer:
        return said('[{"text": "Multiply six by seven", "rationale": "asked", "answer": "42"}]')

    async with a_door(answer) as door:
        reply = await door.ask(
            booster={"granularity": "step", "iterations": 2, "scheduler": "system2"}, temperature=0.5
        )

        assert reply.choices[0].message.content == "42"
        assert door.bodies[0]["messages"][0] == QUESTION[0]
        assert door.bodies[0]["temperature"] == 0.5


# Models


async def test_the_models_are_listed_and_each_can_be_looked_up() -> None:
    async with a_door([said()], config={"models": ["vendor/big"]}) as door:
        listed = [model.id async for model in door.client.models.list()]

        assert listed == ["booster", "booster/m", "booster/vendor/big"]
        for model_id in listed:
            found = await door.client.models.retrieve(model_id)
            assert (found.id, found.object) == (model_id, "model")


async def test_a_named_model_answers_every_call() -> None:
    async with a_door([said()], config={"fastModel": "small", "strongModel": "large", "models": ["other"]}) as door:
        reply = await door.ask(model="booster/m", booster=THREE)
        await door.ask(model="booster/large", booster=ONE)

        assert [body["model"] for body in door.bodies] == ["m", "m", "m", "large"]
        assert reply.model == "booster/m"


async def test_a_named_model_of_the_second_endpoint_is_asked_there_and_nowhere_else() -> None:
    async with FakeOpenAI([said("Second.")]) as second:

        def both(first: FakeOpenAI) -> list[Any]:
            return [local(first, "a", "cerebras"), local(second, "b", "local")]

        async with a_door([said("First.")], providers=both) as door:
            reply = await door.ask(model="booster/b", booster=ONE)

            assert reply.choices[0].message.content == "Second."
            assert (len(door.model.seen), second.seen[0].body["model"]) == (0, "b")


async def test_an_unknown_model_is_not_found() -> None:
    async with a_door([said()]) as door:
        error = await refused(door, model="gpt-99")
        with pytest.raises(NotFoundError) as looked_up:
            await door.client.models.retrieve("gpt-99")

        for one in (error, looked_up.value):
            assert (one.status_code, one.code, one.param) == (404, "model_not_found", "model")
        assert door.bodies == []


# Bodies that do not fit


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"booster": {"candidatez": 3}}, "booster.candidatez"),
        ({"booster": {"candidates": 99}}, "booster.numCandidates"),
        ({"booster": {"candidates": "many"}}, "booster.numCandidates"),
        ({"booster": {"candidates": 3, "numCandidates": 3}}, "booster.numCandidates"),
        ({"booster": {"prices": {}}}, "booster.prices"),
        ({"booster": {"budget": {"calls": 0}}}, "booster.budget.calls"),
        ({"booster": {"budget": {"dollars": 1}}}, "booster.budget"),
        ({"booster": {"budget": 5}}, "booster.budget"),
        ({"booster": {"budget": {"costUsd": 1}}}, "booster.budget.costUsd"),
        ({"booster": {"checks": [{"kind": "magic", "value": 1}]}}, "booster.checks[0].kind"),
        ({"booster": {"checks": {}}}, "booster.checks"),
        ({"booster": {"progress": "yes"}}, "booster.progress"),
        ({"booster": {"granularity": "step"}, "tools": [WEATHER]}, "booster.granularity"),
        ({"booster": {"samplingMaxTokens": 100}}, "booster.samplingMaxTokens"),
        ({"booster": []}, "booster"),
        ({"n": 2}, "n"),
        ({"logprobs": True}, "logprobs"),
        ({"functions": [{"name": "f"}]}, "functions"),
        ({"modalities": ["text", "audio"]}, "modalities"),
        ({"stream": "yes"}, "stream"),
        ({"messages": []}, "messages"),
        ({"messages": "hi"}, "messages"),
        ({"messages": [{"content": "hi"}]}, "messages[0]"),
        ({"model": 5}, "model"),
    ],
)
async def test_what_does_not_fit_is_refused_with_its_name_before_anything_is_asked(
    body: dict[str, Any], param: str
) -> None:
    async with a_door([said()]) as door, httpx2.AsyncClient() as http:
        reply = await http.post(f"{door.url}/chat/completions", json={"model": "booster", "messages": QUESTION, **body})

        error = reply.json()["error"]
        assert (reply.status_code, error["type"], error["param"]) == (400, "invalid_request_error", param)
        assert set(error) == {"message", "type", "param", "code"}
        assert door.bodies == []


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b'{"model": NaN}', b"\xff", b'{"model": "a", "model": "b"}'])
async def test_a_body_that_is_no_json_object_is_refused(raw: bytes) -> None:
    async with a_door([said()]) as door, httpx2.AsyncClient() as http:
        reply = await http.post(f"{door.url}/chat/completions", content=raw)

        assert (reply.status_code, reply.json()["error"]["code"]) == (400, "invalid_json")


# Many at once, and clients that leave


async def test_thirty_two_different_requests_at_once_do_not_mix() -> None:
    def answer(seen: Seen) -> Answer:
        wanted = seen.body["messages"][0]["content"]
        return said(f"{wanted} at {seen.body['temperature']}\nFinal answer: {wanted}")

    async def one(door: Door, number: int) -> None:
        reply = await door.ask(
            [{"role": "user", "content": f"n{number}"}],
            temperature=number / 100 + 0.01,
            model="booster/m" if number % 2 else "booster",
            booster={"candidates": number % 3 + 1},
        )
        assert reply.choices[0].message.content.startswith(f"n{number} at {number / 100 + 0.01}\n")
        assert reply.booster["calls"] == number % 3 + 1
        assert reply.usage.total_tokens == 10 * (number % 3 + 1)

    async with a_door(answer) as door:
        await asyncio.gather(*(one(door, number) for number in range(32)))

        assert len(door.bodies) == sum(number % 3 + 1 for number in range(32))


@pytest.mark.parametrize("stream", [False, True])
async def test_a_client_that_leaves_ends_its_solve_and_its_calls(stream: bool) -> None:
    async with SimulatedServer(SimulatedModel(faults=(Fault(kind="hang"),))) as server:
        hanging = OpenAICompatible(Endpoint(name="local", base_url=server.base_url, model="simulated/large"))
        async with a_door([], providers=lambda _: [hanging]) as door:
            async with AsyncOpenAI(base_url=door.url, api_key="k", max_retries=0) as client:

                async def ask() -> None:
                    reply: Any = await client.chat.completions.create(
                        model="booster", messages=QUESTION, stream=stream, extra_body={"booster": THREE}
                    )
                    async for _ in reply:
                        pass

                asking = asyncio.create_task(ask())
                await until(lambda: server.in_flight == 3)
                asking.cancel()
                await asyncio.gather(asking, return_exceptions=True)

            await until(lambda: server.in_flight == 0)
            while (sessions := await door.booster.sessions())[0]["status"] == "running":
                await asyncio.sleep(0.005)
            assert [session["status"] for session in sessions] == ["cancelled"]
            assert server.requests == 3


# In its place


async def test_behind_the_guard_the_token_is_the_api_key() -> None:
    """The whole application: who has no token is told so in OpenAI's form, who has it gets plain replies and streams."""
    async with a_booster(lambda _: "Final answer: 42") as booster, http_door(booster) as door:
        url = f"{door.url}/v1"
        async with (
            AsyncOpenAI(base_url=url, api_key=TOKEN, max_retries=0) as known,
            AsyncOpenAI(base_url=url, api_key="a guess", max_retries=0) as stranger,
        ):
            with pytest.raises(AuthenticationError):
                await stranger.models.list()
            create: Any = known.chat.completions.create
            plain = await create(model="booster", messages=QUESTION)
            stream = await create(model="booster", messages=QUESTION, stream=True)
            streamed = [chunk.choices[0].delta.content or "" async for chunk in stream]

    assert plain.choices[0].message.content == "".join(streamed) == "Final answer: 42"
