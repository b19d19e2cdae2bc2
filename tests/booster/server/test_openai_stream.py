"""Streams of the OpenAI-compatible door: real server-sent events, as OpenAI's client and as a socket see them."""

import asyncio
import json
from typing import Any

import httpx2
import pytest
from openai import APIError, BadRequestError

from booster.server.openai_stream import EventStream, left
from booster.server.openai_wire import PIECE_CHARS, comment_frame
from providers.endpoints import Endpoint
from providers.openai_compatible import OpenAICompatible
from providers.simulated import SimulatedModel, SimulatedServer
from tests.booster.server.openai_door import QUESTION, Door, a_door, called, calls, said
from tests.fake_openai import Answer, Seen, refusal

THREE = {"candidates": 3}


async def chunks(door: Door, **options: Any) -> list[Any]:
    return [chunk async for chunk in await door.ask(stream=True, **options)]


async def raw(door: Door, **body: Any) -> str:
    async with httpx2.AsyncClient(timeout=30) as http:
        reply = await http.post(
            f"{door.url}/chat/completions", json={"model": "booster", "messages": QUESTION, **body, "stream": True}
        )
        assert reply.headers["content-type"].startswith("text/event-stream")
        return reply.text


async def test_a_stream_adds_up_to_the_plain_reply() -> None:
    text = "é" * (2 * PIECE_CHARS) + "\n\nFinal answer: 42"
    async with a_door([said(text)]) as door:
        plain = await door.ask(booster=THREE)
        streamed = await chunks(door, booster=THREE)

        deltas = [chunk.choices[0].delta for chunk in streamed]
        assert (deltas[0].role, deltas[0].content) == ("assistant", "")
        assert "".join(delta.content or "" for delta in deltas) == plain.choices[0].message.content == text
        assert [chunk.choices[0].finish_reason for chunk in streamed][-2:] == [None, "stop"]
        assert {chunk.id for chunk in streamed} == {f"chatcmpl-{streamed[-1].booster['sessionId']}"}
        assert {(chunk.object, chunk.model) for chunk in streamed} == {("chat.completion.chunk", "booster")}
        assert streamed[-1].booster["calls"] == 3


async def test_usage_comes_last_where_it_is_asked_for() -> None:
    async with a_door([said()]) as door:
        with_usage = await chunks(door, booster=THREE, stream_options={"include_usage": True})
        without = await chunks(door, booster=THREE)

        assert with_usage[-1].choices == []
        assert with_usage[-1].usage.total_tokens == 30
        assert all(chunk.usage is None for chunk in (*with_usage[:-1], *without))
        assert all("stream" not in body and "stream_options" not in body for body in door.bodies)


async def test_tool_calls_stream_with_their_ids_and_places() -> None:
    first, second = called("a", {"x": 1}, "id_a"), called("b", {"y": "é"}, "id_b")
    async with a_door([calls(first, second)]) as door:
        streamed = await chunks(door, booster=THREE, tools=[{"type": "function", "function": {"name": "a"}}])

        (found,) = [chunk.choices[0].delta.tool_calls for chunk in streamed if chunk.choices[0].delta.tool_calls]
        assert [(call.index, call.id, call.function.name) for call in found] == [(0, "id_a", "a"), (1, "id_b", "b")]
        assert json.loads(found[1].function.arguments) == {"y": "é"}
        assert streamed[-1].choices[0].finish_reason == "tool_calls"


async def test_progress_stands_in_comments_that_no_client_reads() -> None:
    async with a_door([said()]) as door:
        text = await raw(door, booster=THREE)

        frames = text.strip().split("\n\n")
        assert ": iteration 1: 3 candidates, 3 agree" in frames
        assert frames[-1] == "data: [DONE]"
        assert "reasoning_content" not in text
        assert all(frame.startswith((": ", "data: ")) and "\n" not in frame for frame in frames)


async def test_progress_comes_as_reasoning_where_that_is_wanted() -> None:
    async with a_door([said()]) as door:
        streamed = await chunks(door, booster={**THREE, "progress": True})

        lines = [getattr(chunk.choices[0].delta, "reasoning_content", None) for chunk in streamed]
        assert [line for line in lines if line] == ["iteration 1: system2\n", "iteration 1: 3 candidates, 3 agree\n"]


async def test_reasoning_of_the_model_comes_before_its_content() -> None:
    async with a_door([said("Final answer: 42", reasoning="six sevens")]) as door:
        streamed = await chunks(door, booster=THREE)

        told = [
            getattr(chunk.choices[0].delta, "reasoning_content", None) or chunk.choices[0].delta.content
            for chunk in streamed
        ]
        assert [text for text in told if text] == ["six sevens", "Final answer: 42"]


async def test_a_silent_stream_shows_signs_of_life_and_says_that_the_model_is_simulated() -> None:
    """The model thinks for many heartbeats."""
    async with SimulatedServer(SimulatedModel(latency=0.3)) as server:
        slow = OpenAICompatible(Endpoint(name="local", base_url=server.base_url, model="simulated/large"))
        async with a_door([said()], heartbeat=0.02, providers=lambda _: [slow]) as door:
            text = await raw(door, model="booster/simulated/large", booster=THREE)

            frames = text.strip().split("\n\n")
            assert ": working" in frames
            assert json.loads(frames[-2].removeprefix("data: "))["booster"]["simulated"] is True
            assert server.requests == 3


async def test_what_is_refused_at_once_is_no_stream() -> None:
    async with a_door([said()]) as door:
        with pytest.raises(BadRequestError) as caught:
            await chunks(door, booster={"candidates": 0})

        assert caught.value.param == "booster.numCandidates"


async def test_an_error_in_mid_stream_is_an_error_object_and_the_end() -> None:
    async with a_door([refusal(401, "who are you?")]) as door:
        text = await raw(door, booster=THREE)
        with pytest.raises(APIError, match="who are you"):
            await chunks(door, booster=THREE)

        last = json.loads(text.strip().split("\n\n")[-1].removeprefix("data: "))
        assert (last["error"]["code"], last["error"]["type"]) == ("authentication", "authentication_error")
        assert "[DONE]" not in text


async def test_streams_side_by_side_do_not_mix() -> None:
    def answer(seen: Seen) -> Answer:
        return said(f"Final answer: {seen.body['messages'][0]['content']}")

    async def one(door: Door, number: int) -> str:
        streamed = await chunks(door, messages=[{"role": "user", "content": f"n{number}"}], booster=THREE)
        return "".join(chunk.choices[0].delta.content or "" for chunk in streamed)

    async with a_door(answer) as door:
        found = await asyncio.gather(*(one(door, number) for number in range(16)))

        assert found == [f"Final answer: n{number}" for number in range(16)]


def test_a_comment_is_one_line_whatever_it_says() -> None:
    assert comment_frame("a\nb\r\n\ndata: c") == ": a b data: c\n\n"


async def test_whoever_watches_a_connection_waits_for_its_end() -> None:
    messages = iter([{"type": "http.request"}, {"type": "http.disconnect"}])

    async def receive() -> dict[str, Any]:
        return next(messages)

    await left(receive)

    assert list(messages) == []


@pytest.mark.parametrize("breaks", [OSError("gone"), RuntimeError("a bug")])
async def test_the_work_is_ended_however_the_sending_ends(breaks: Exception) -> None:
    closed: list[bool] = []

    async def frames() -> Any:
        yield "data: 1\n\n"

    async def close() -> None:
        closed.append(True)

    async def never() -> Any:
        await asyncio.Event().wait()

    async def send(_: Any) -> None:
        raise breaks

    stream = EventStream(frames(), close)
    if isinstance(breaks, OSError):
        await stream({}, never, send)
    else:
        with pytest.raises(RuntimeError, match="a bug"):
            await stream({}, never, send)

    assert closed == [True]
