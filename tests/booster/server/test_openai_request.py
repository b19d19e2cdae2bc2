"""What a chat completion request is read as, which models it may name, and that the page about both is true."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai import OpenAI

from booster.config import Config
from booster.server import openai_errors
from booster.server.openai_errors import RefusedError
from booster.server.openai_models import served_models
from booster.server.openai_request import MAX_TASK_CHARS, Asked, read_request
from tests.booster.server.openai_door import QUESTION, a_door, said
from verifier.types import Check

SOURCES = [{"provider": "direct-openai", "model": "gpt"}, {"provider": "local", "model": "qwen"}]
PAGE = Path(__file__).resolve().parents[3] / "docs" / "openai.md"


def read(base: Config | None = None, **body: Any) -> Asked:
    config = base or Config()
    whole = {"model": "booster", "messages": QUESTION, **body}
    return read_request(json.dumps(whole).encode(), config, served_models(SOURCES, config))


def test_a_plain_request_is_a_whole_answer_in_one_round_and_the_scheduler_decides() -> None:
    asked = read()

    assert asked.config == {"granularity": "answer", "iterations": 1}
    assert (asked.verbatim, asked.request, asked.task) == (True, {}, QUESTION[0]["content"])
    assert (asked.stream, asked.include_usage, asked.progress, asked.notes) == (False, False, False, ())


@pytest.mark.parametrize(
    ("base", "body", "scheduler"),
    [
        ({}, {"booster": {"candidates": 4}}, "system2"),
        ({}, {"booster": {"samples": 4}}, "system2"),
        ({}, {"booster": {"candidates": 4, "scheduler": "auto"}}, "auto"),
        ({"scheduler": "system1"}, {"booster": {"candidates": 4}}, None),
        ({}, {"temperature": 0}, "system1"),
        ({}, {"temperature": 0.0, "seed": 0}, "system1"),
        ({}, {"temperature": 0, "booster": {"candidates": 4}}, "system2"),
        ({"models": ["a", "b"]}, {"temperature": 0}, None),
        ({"fastModel": "a", "strongModel": "b"}, {"temperature": 0}, None),
        ({"models": ["a", "b"]}, {"temperature": 0, "model": "booster/b"}, "system1"),
        ({"samples": 5}, {"temperature": 0}, None),
        ({}, {"temperature": 0.1}, None),
    ],
)
def test_who_decides_on_the_number_of_calls(base: Any, body: Any, scheduler: str | None) -> None:
    assert read(Config.parse(base)[0], **body).config.get("scheduler") == scheduler


def test_null_is_not_given() -> None:
    asked = read(n=None, stream=None, stream_options=None, logprobs=None, booster={"checks": None, "candidates": None})

    assert asked.config == {"granularity": "answer", "iterations": 1}
    assert asked.checks == ()


def test_options_are_read_by_every_name_they_have() -> None:
    asked = read(
        booster={"num_candidates": "3", "checks": [{"kind": "numeric", "value": 42}], "budget": {"calls": None}},
        stream=True,
        stream_options={"include_usage": True},
    )

    assert asked.config["num_candidates"] == "3"  # read as a number where the solve begins, as everywhere
    assert asked.checks[0].kind == Check.numeric(42).kind
    assert (asked.budget.calls, asked.budget.seconds) == (None, 300)
    assert (asked.stream, asked.include_usage) == (True, True)


@pytest.mark.parametrize(
    ("messages", "task"),
    [
        ([{"role": "user", "content": "one"}, {"role": "assistant", "content": "x"}, {"role": "user", "content": "two"}], "two"),
        ([{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url"}, {"text": "b"}]}], "a\nb"),
        ([{"role": "user", "content": "q"}, {"role": "user", "content": [{"type": "image_url", "image_url": {}}]}], "q"),
        ([{"role": "system", "content": "rules"}], "rules"),
        ([{"role": "user", "content": None}, {"role": "tool", "content": 5}], "(a conversation without text)"),
        ([{"role": "user", "content": "x" * 50_000}], "x" * MAX_TASK_CHARS),
    ],
)  # fmt: skip
def test_the_last_thing_the_user_wrote_stands_for_the_conversation(messages: Any, task: str) -> None:
    asked = read(messages=messages)

    assert asked.task == task
    assert list(asked.messages) == messages


names = st.text(min_size=1, max_size=12).filter(lambda name: name not in ("checks", "budget", "progress"))


@given(names, st.none() | st.integers() | st.text(max_size=5) | st.lists(st.integers(), max_size=2))
def test_whatever_stands_under_an_unknown_name_is_refused_by_that_name(name: str, value: Any) -> None:
    if name in Config.spellings():
        return
    with pytest.raises(RefusedError) as caught:
        read(booster={name: value})

    assert caught.value.refusal.status == 400
    assert caught.value.refusal.param == f"booster.{name}"


# Models


def test_every_configured_model_is_served_once() -> None:
    twice = [*SOURCES, {"provider": "cerebras", "model": "gpt"}]
    served = served_models(twice, Config.parse({"models": ["openai/big"], "strongModel": "openai/big"})[0])

    assert list(served) == ["booster", "booster/gpt", "booster/qwen", "booster/cerebras/gpt", "booster/openai/big"]
    assert served["booster"].options == {}


def test_a_model_of_an_endpoint_is_asked_by_its_full_name_and_nowhere_else() -> None:
    options = served_models(SOURCES, Config())["booster/gpt"].options

    whole = "direct-openai/gpt"
    assert options == {"models": [whole], "fastModel": whole, "strongModel": whole, "provider": "openai"}


def test_a_simulated_model_says_so_in_the_list() -> None:
    (_, served) = served_models([{"provider": "local", "model": "simulated/large"}], Config()).values()

    assert (served.id, served.document()["owned_by"]) == ("booster/simulated/large", "simulated")


# The page


async def test_the_python_example_of_the_page_runs() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    async with a_door([said("Final answer: 25")]) as door:
        here = code.replace("http://127.0.0.1:8642/v1", door.url)
        shown: list[Any] = []

        def run() -> None:
            exec(here, {"OpenAI": OpenAI, "print": lambda *values: shown.extend(values)})

        await asyncio.to_thread(run)

    assert shown == ["Final answer: 25", "verified", 30]


async def test_the_curl_example_of_the_page_is_answered() -> None:
    (body,) = re.findall(r"-d '(.*?)'", PAGE.read_text(), re.DOTALL)
    async with a_door([said("Final answer: 25")]) as door, httpx2.AsyncClient(timeout=30) as http:
        reply = await http.post(f"{door.url}/chat/completions", content=body)

        assert reply.text.endswith("data: [DONE]\n\n")


def test_the_page_names_every_code_that_is_ours() -> None:
    source = (
        Path(openai_errors.__file__).read_text()
        + Path(openai_errors.__file__).with_name("openai_request.py").read_text()
    )
    codes = set(re.findall(r'(?:code=|\b\d{3}, )"([a-z_]+)"', source))

    assert {"deadline", "no_answer", "unknown_option", "model_not_found"} <= codes
    assert {code for code in codes if f"`{code}`" not in PAGE.read_text()} == set()
