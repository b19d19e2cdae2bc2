"""The provider that plays a script."""

import asyncio

import pytest

from providers.errors import RejectedError, TransientError
from providers.scripted import ScriptedProvider
from providers.types import Call, Reply
from tests.virtual_clock import run_virtual

CALL = Call(role="generate", step_key="k", messages=({"role": "user", "content": "12345678"},))


async def test_lines_are_played_in_order_and_say_that_they_are_simulated() -> None:
    provider = ScriptedProvider(["42", Reply(text="43", model="m", provider="p", source="model")])

    first, second = await provider.send(CALL), await provider.send(CALL)

    assert (first.text, first.source, first.provider, first.usage.estimated) == ("42", "simulated", "simulated", True)
    assert (second.text, second.source) == ("43", "model")
    assert provider.calls == [CALL, CALL]


async def test_errors_are_raised_and_an_ended_script_is_one() -> None:
    provider = ScriptedProvider([TransientError("no")])

    with pytest.raises(TransientError):
        await provider.send(CALL)
    with pytest.raises(RejectedError, match="no line left"):
        await provider.send(CALL)


async def test_a_function_answers_by_the_call() -> None:
    provider = ScriptedProvider(lambda call: call.step_key.upper())

    assert (await provider.send(CALL)).text == "K"


async def test_an_empty_line_is_a_reply_with_a_problem() -> None:
    assert (await ScriptedProvider([""]).send(CALL)).problem == "empty"


def test_none_never_returns_and_a_delay_passes_first() -> None:
    async def scenario() -> tuple[float, bool]:
        provider = ScriptedProvider(["42", None], delay=3)
        await provider.send(CALL)
        waited = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(1000):
                await provider.send(CALL)
        except TimeoutError:
            return waited, True
        return waited, False

    assert run_virtual(scenario) == (3.0, True)
