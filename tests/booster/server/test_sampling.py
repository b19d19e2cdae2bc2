"""The client's own model as a source, in both protocol eras."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.session import ClientRequestContext
from mcp.shared.exceptions import MCPError
from mcp.types import CreateMessageRequestParams, CreateMessageResult, ErrorData, TextContent

from booster.server.mcp import build_server
from booster.server.sampling import PATIENCE, Rounds, refused, reply_of, sampling_params
from providers.errors import RejectedError
from providers.types import Call
from tests.booster.server.mcp_harness import MODES, STEPS, call, connected, opened, text_of
from tests.virtual_clock import run_virtual

CHECK = {"kind": "numeric", "value": 42}
MODERN = "auto"


class Model:
    """A client's model: remembers what it was asked and says what its script says."""

    def __init__(self, *script: str | ErrorData) -> None:
        self.asked: list[CreateMessageRequestParams] = []
        self._script = script

    async def __call__(
        self, context: ClientRequestContext, params: CreateMessageRequestParams
    ) -> CreateMessageResult | ErrorData:
        line = self._script[min(len(self.asked), len(self._script) - 1)]
        self.asked.append(params)
        if isinstance(line, ErrorData):
            return line
        content = TextContent(type="text", text=line)
        return CreateMessageResult(role="assistant", content=content, model="client-model-1", stop_reason="endTurn")


def _call(**fields: Any) -> Call:
    messages = (
        {"role": "system", "content": "Be exact."},
        {"role": "user", "content": [{"type": "text", "text": "6 * 7?"}]},
    )
    return Call(**{"role": "generate", "step_key": "it1/a", "messages": messages, **fields})


def test_a_call_becomes_what_a_client_is_asked() -> None:
    params = sampling_params(_call(model="small", request={"temperature": 0.5, "stop": "END"}, max_tokens=77))

    assert params.system_prompt == "Be exact."
    assert [(message.role, message.content) for message in params.messages] == [
        ("user", TextContent(type="text", text="6 * 7?"))
    ]
    assert params.max_tokens == 77
    assert params.temperature == 0.5
    assert params.stop_sequences == ["END"]
    assert params.model_preferences is not None
    assert params.model_preferences.hints is not None
    assert params.model_preferences.hints[0].name == "small"


def test_what_the_client_says_becomes_a_reply_with_an_estimated_usage() -> None:
    content = TextContent(type="text", text="42")
    said = CreateMessageResult(role="assistant", content=content, model="m", stop_reason="maxTokens")

    reply = reply_of(_call(), said)

    assert (reply.text, reply.model, reply.provider, reply.source) == ("42", "m", "mcp", "client")
    assert reply.finish_reason == "length"
    assert reply.usage.estimated
    assert reply_of(_call(), None).problem == "refusal"


@pytest.mark.parametrize("mode", MODES)
async def test_the_clients_model_is_used_where_none_is_configured(tmp_path: Path, mode: str) -> None:
    model = Model("Multiply.\nFinal answer: 42")

    async with opened(tmp_path) as booster, connected(booster, mode, sampling_callback=model) as client:
        document = await call(client, "solve", task="6 * 7?", checks=[CHECK], config={"scheduler": "system2"})

    assert document["answer"] == "42"
    assert document["steps"][0]["source"] == "client"
    assert document["diagnostics"]["provider"] == "mcp"
    assert document["diagnostics"]["lastModel"] == "client-model-1"
    assert document["usage"]["calls"] == len(model.asked) > 1
    assert document["usage"]["estimated"] is True
    assert document["degraded"] is False


@pytest.mark.parametrize("mode", MODES)
async def test_a_configured_model_is_asked_before_the_clients(tmp_path: Path, mode: str) -> None:
    model = Model("Final answer: 41")

    async with (
        opened(tmp_path, lambda _: "Final answer: 42") as booster,
        connected(booster, mode, sampling_callback=model) as client,
    ):
        document = await call(client, "solve", task="6 * 7?", checks=[CHECK])

    assert document["answer"] == "42"
    assert model.asked == []


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_that_declares_no_sampling_is_never_asked(tmp_path: Path, mode: str) -> None:
    async with opened(tmp_path) as booster, connected(booster, mode) as client:
        document = await call(client, "solve", task="6 * 7?", iterations=1)
        forced = await client.call_tool("solve", {"task": "6 * 7?", "config": {"provider": "mcp"}})

    assert document["status"] == "degraded"
    assert forced.is_error
    assert "did not declare that it can sample" in text_of(forced)


@pytest.mark.parametrize("mode", MODES)
async def test_steps_and_further_iterations_are_sampled_too(tmp_path: Path, mode: str) -> None:
    model = Model(STEPS)

    async with opened(tmp_path) as booster, connected(booster, mode, sampling_callback=model) as client:
        session = (await call(client, "start", task="6 * 7?"))["sessionId"]
        stepped = await call(client, "step", sessionId=session)
        further = await call(client, "multi-step", sessionId=session, iterations=1)

    assert stepped["chosen"]["source"] == "client"
    assert {step["source"] for step in further["state"]["steps"]} == {"client"}


async def test_a_refusal_in_the_handshake_era_is_a_failed_call_and_not_the_end(tmp_path: Path) -> None:
    model = Model(ErrorData(code=-1, message="the user said no"))

    async with opened(tmp_path) as booster, connected(booster, "legacy", sampling_callback=model) as client:
        document = await call(client, "solve", task="6 * 7?", iterations=1)

    assert document["status"] == "degraded"
    assert any("the user said no" in failure["message"] for failure in document["diagnostics"]["failures"])


async def test_one_refusal_among_many_costs_the_others_nothing(tmp_path: Path) -> None:
    model = Model(ErrorData(code=-1, message="no"), "Final answer: 42")

    async with opened(tmp_path) as booster, connected(booster, "legacy", sampling_callback=model) as client:
        document = await call(client, "solve", task="6 * 7?", checks=[CHECK])

    assert document["answerStatus"] == "verified"


async def test_after_the_request_has_returned_the_handshake_era_still_samples(tmp_path: Path) -> None:
    release = asyncio.Event()

    async def slow(context: ClientRequestContext, params: CreateMessageRequestParams) -> CreateMessageResult:
        await release.wait()
        content = TextContent(type="text", text=STEPS)
        return CreateMessageResult(role="assistant", content=content, model="client-model-1")

    async with opened(tmp_path) as booster, connected(booster, "legacy", sampling_callback=slow) as client:
        config = {"granularity": "step", "numCandidates": 2}
        running = await call(client, "solve", task="6 * 7?", iterations=2, waitSeconds=1, config=config)
        release.set()
        state = await call(client, "get-state", sessionId=running["sessionId"], waitSeconds=60)

    assert running["status"] == "running"
    assert {step["source"] for step in state["result"]["steps"]} == {"client"}
    assert state["result"]["degraded"] is False


async def test_more_rounds_than_one_call_may_have_go_on_in_get_state(tmp_path: Path) -> None:
    """A client of the 2026-07-28 protocol gives up a call after ten rounds, so each call of ours has eight at most."""
    steps = [json.dumps([{"text": f"Look at part number {n} of the plan", "rationale": "next"}]) for n in range(40)]
    model = Model(*steps)

    async with opened(tmp_path) as booster, connected(booster, MODERN, sampling_callback=model) as client:
        config = {"granularity": "step", "maxSteps": 12, "scheduler": "system1"}
        first = await call(client, "solve", task="Plan it", iterations=12, config=config)
        asked_in_first = len(model.asked)
        second = await call(client, "get-state", sessionId=first["sessionId"])

    assert first["status"] == "continue"
    assert "get-state" in first["next"]
    assert asked_in_first == 8
    assert second["result"]["status"] == "done"
    assert len(second["state"]["steps"]) == 12


async def test_a_refusal_in_the_modern_era_leaves_the_session_to_be_looked_at(tmp_path: Path) -> None:
    model = Model(ErrorData(code=-1, message="the user said no"))

    async with opened(tmp_path) as booster, connected(booster, MODERN, sampling_callback=model) as client:
        with pytest.raises(MCPError):
            await client.call_tool("solve", {"task": "6 * 7?"})
        (listed,) = (await call(client, "sessions"))["sessions"]
        state = await call(client, "get-state", sessionId=listed["sessionId"])
        cancelled = await call(client, "cancel", sessionId=listed["sessionId"])

    assert state["active"] is True
    assert cancelled["status"] == "cancelled"


async def test_a_client_that_cannot_sample_may_look_at_a_solve_that_waits_for_one_that_can(tmp_path: Path) -> None:
    model = Model(ErrorData(code=-1, message="no"))

    async with opened(tmp_path) as booster:
        server = build_server(booster)
        async with (
            Client(server, mode=MODERN, sampling_callback=model) as sampling,
            Client(server, mode=MODERN) as other,
        ):
            with pytest.raises(MCPError):
                await sampling.call_tool("solve", {"task": "6 * 7?"})
            (listed,) = (await call(other, "sessions"))["sessions"]
            state = await call(other, "get-state", sessionId=listed["sessionId"], waitSeconds=1)

    assert state["status"] == "running"


async def test_a_client_that_vanishes_leaves_nothing_running() -> None:
    """After the time to live the solve is cancelled with its state kept."""

    async def scenario() -> None:
        model = Model(ErrorData(code=-1, message="no"))
        async with opened(Path("/nowhere"), request_timeout=3600) as booster:
            server = build_server(booster)
            async with Client(server, mode=MODERN, sampling_callback=model) as client:
                with pytest.raises(MCPError):
                    await client.call_tool("solve", {"task": "6 * 7?", "budget": {"seconds": None}})
                (listed,) = (await call(client, "sessions"))["sessions"]
                assert booster.is_running(listed["sessionId"])
                await asyncio.sleep(PATIENCE + 1)
                state = await call(client, "get-state", sessionId=listed["sessionId"])

            assert not booster.is_running(listed["sessionId"])
            assert state["result"]["status"] == "cancelled"
            names = {task.get_name() for task in asyncio.all_tasks()}
            assert not any(name.startswith(("work on", "session")) for name in names)

    await asyncio.to_thread(run_virtual, scenario)


def test_a_round_belongs_to_the_request_that_took_it_until_that_stays_away() -> None:
    async def scenario() -> None:
        rounds = Rounds(lambda: None)
        waiting = asyncio.create_task(rounds([_call(), _call()]))
        await rounds.posted.wait()

        first = rounds.take()
        second = rounds.take()
        await asyncio.sleep(61)
        third = rounds.take()

        assert first is not None
        assert list(first[1]) == ["q0", "q1"]
        assert second is None
        assert third is not None
        assert third[0] == first[0]
        content = TextContent(type="text", text="42")
        rounds.answer(first[0], {"q1": CreateMessageResult(role="assistant", content=content, model="m")})
        assert [reply.problem for reply in await waiting] == ["refusal", None]

    run_virtual(scenario)


def test_answers_to_a_round_that_was_withdrawn_are_dropped() -> None:
    async def scenario() -> None:
        rounds = Rounds(lambda: None)
        withdrawn = asyncio.create_task(rounds([_call()]))
        await rounds.posted.wait()
        taken = rounds.take()
        assert taken is not None
        withdrawn.cancel()
        await asyncio.wait({withdrawn})
        current = asyncio.create_task(rounds([_call()]))
        await rounds.posted.wait()

        late = TextContent(type="text", text="42")
        rounds.answer(taken[0], {"q0": CreateMessageResult(role="assistant", content=late, model="m")})

        assert not current.done()
        current.cancel()

    run_virtual(scenario)


def test_an_abandoned_round_ends_and_says_so() -> None:
    expired: list[bool] = []

    async def scenario() -> None:
        with pytest.raises(RejectedError, match="did not come back within 600 s"):
            await Rounds(lambda: expired.append(True))([_call()])

    run_virtual(scenario)
    assert expired == [True]


def test_a_refusal_is_an_error_of_the_sampling_kind() -> None:
    error = refused("no")

    assert (error.kind, error.provider) == ("sampling", "mcp")
