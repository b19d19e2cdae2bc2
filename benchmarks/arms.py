"""What is timed against what: the booster with its journal on disk and in memory, and two floors without it.

All of them ask the same model the same: four whole answers to one task, side by side; where they are judged, each of them is
scored by a further call as soon as it has landed.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

import aiohttp

from benchmarks.demo import SIMULATED, simulated_settings
from benchmarks.table import Bar, Figure
from benchmarks.timing import Arm, Samples
from booster.app import Booster
from booster.config import Config
from booster.process import settle_memory
from booster.prompts import answer_messages
from booster.session import Problem
from providers.endpoints import Endpoint
from providers.openai_compatible import OpenAICompatible
from providers.parameters import request_body
from providers.simulated import LARGE
from providers.types import Call
from verifier.judge_prompts import Matter, point_messages

CANDIDATES = 4
"""Calls of one unit of work."""

BEST_OF_FOUR: dict[str, Any] = {
    "num_candidates": CANDIDATES,
    "scheduler": "seed",
    "granularity": "answer",
    "iterations": 1,
}
"""Options of a solve that is one iteration of four calls."""

BEST_OF_FOUR_JUDGED: dict[str, Any] = {**BEST_OF_FOUR, "select": "judge", "judge_model": LARGE}
"""The same with a judge's call behind each of the four."""

ON_DISK, IN_MEMORY = "booster, journal on SQLite", "booster, journal in memory"
FLOOR, BARE = "floor: same client, gathered", "floor: plain aiohttp"


@asynccontextmanager
async def opened_arms(base_url: str, home: Path, options: dict[str, Any] | None = None) -> AsyncIterator[list[Arm]]:
    """Open the four arms against one model: on disk, in memory, floor, bare.

    Args:
        base_url: Of the model.
        home: Where the journal goes; an empty directory.
        options: Of every solve; `BEST_OF_FOUR` unless given.
    """
    async with AsyncExitStack() as stack:
        boosters = [
            await stack.enter_async_context(Booster.open(simulated_settings(base_url, home=place)))
            for place in (home, None)
        ]
        chosen = options if options is not None else BEST_OF_FOUR
        judged = chosen.get("select") == "judge"
        settle_memory()  # as the servers do
        endpoint = Endpoint(name="local", base_url=base_url, model=SIMULATED)
        at_once = simulated_settings(base_url).max_concurrency
        provider = OpenAICompatible(endpoint, concurrency=at_once)
        stack.push_async_callback(provider.aclose)
        http = await stack.enter_async_context(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=at_once)))
        yield [
            *(booster_arm(name, booster, chosen) for name, booster in zip((ON_DISK, IN_MEMORY), boosters, strict=True)),
            _floor(provider, judged=judged),
            _bare(http, endpoint, judged=judged),
        ]


def booster_arm(name: str, booster: Booster, options: dict[str, Any]) -> Arm:
    """Return the arm of whole solves; one that lost a call is an error, for its time would flatter."""

    async def run(task: str) -> None:
        result = await booster.solve(task, **options)
        if result.answer is None or result.diagnostics["failures"]:
            raise RuntimeError(f"a measured solve failed: {result.to_json()}")

    return Arm(name=name, run=run)


def against_the_floor(samples: Mapping[str, Samples]) -> tuple[Figure, Figure]:
    """Return how much longer than the floor a solve takes, with its journal on disk and in memory."""
    floor = samples[FLOOR].wall_ms()
    on_disk, in_memory = (samples[name].wall_ms() / floor for name in (ON_DISK, IN_MEMORY))
    bar = Bar(relation="<=", value=1.08)
    return (
        Figure(name="p50 against the floor's, journal on SQLite", value=on_disk, unit="x", bar=bar),
        Figure(name="p50 against the floor's, journal in memory", value=in_memory, unit="x"),
    )


@cache
def bare_calls(task: str) -> tuple[Call, ...]:
    """Return the calls that a best-of-4 solve of the task makes; kept, for the floor shall do nothing but send."""
    messages = answer_messages(Problem(task=task))
    cap = Config().sampling_max_tokens
    return tuple(
        Call(role="generate", step_key=f"it1/s2/answer{number}", messages=messages, max_tokens=cap)
        for number in range(1, CANDIDATES + 1)
    )


def judge_call(task: str, reply: str, number: int) -> Call:
    """Return the call that scores a reply."""
    messages = point_messages(Matter(task=task), reply)
    return Call(role="judge", step_key=f"it1/judge{number}", messages=messages, model=LARGE, max_tokens=1000)


def _floor(provider: OpenAICompatible, *, judged: bool) -> Arm:
    async def chain(task: str, number: int, call: Call) -> None:
        reply = await provider.send(call)
        if judged:
            await provider.send(judge_call(task, reply.text, number))

    async def run(task: str) -> None:
        await asyncio.gather(*(chain(task, number, call) for number, call in enumerate(bare_calls(task), 1)))

    return Arm(name=FLOOR, run=run)


def _bare(http: aiohttp.ClientSession, endpoint: Endpoint, *, judged: bool) -> Arm:
    async def send(call: Call) -> str:
        body = request_body(call, call.model or endpoint.model, endpoint.profile)
        async with http.post(endpoint.url, json=body) as response:
            response.raise_for_status()
            return str(json.loads(await response.read())["choices"][0]["message"]["content"])

    async def chain(task: str, number: int, call: Call) -> None:
        text = await send(call)
        if judged:
            await send(judge_call(task, text, number))

    async def run(task: str) -> None:
        await asyncio.gather(*(chain(task, number, call) for number, call in enumerate(bare_calls(task), 1)))

    return Arm(name=BARE, run=run)
