"""Replies that are wanted as they are: what of them is voted on, and how many are paid for."""

import asyncio
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from booster.errors import UsageError
from booster.events import session_from_spec, spec_of
from booster.opening import new_session
from booster.prompts import answer_messages
from booster.session import Problem, Session
from booster.settings import Settings
from booster.solve import solve
from booster.verbatim import json_wanted, read_message, violation
from providers.scripted import ScriptedProvider
from providers.types import Reply
from tests.builders import CHEAP, DEEP, a_session
from tests.solving import AJudgement, Script, a_booster, some_parts
from verifier.types import Check

UNSET = Settings(home=Path("unused"), journal_url="memory:")
MESSAGES = ({"role": "system", "content": "Be brief."}, {"role": "user", "content": "6 * 7?"})
SCHEMA: dict[str, Any] = {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}}


def reply(text: str = "", **fields: Any) -> Reply:
    return Reply(text=text, model="m", provider="local", source="model", **fields)


def call(name: str, arguments: object, call_id: str = "1") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def a_chat(**problem: Any) -> Session:
    """Return a session that wants one whole message."""
    asked = Problem(task="6 * 7?", messages=MESSAGES, verbatim=True, **problem)
    return a_session(problem=asked, config={"granularity": "answer", "iterations": 1})


async def solved(script: Script, *, cheap: bool, session: Session | None = None) -> tuple[Session, ScriptedProvider]:
    """Solve a chat under a scheduler that always decides the same."""
    provider = ScriptedProvider(script)
    parts = some_parts(provider, judgement=AJudgement(CHEAP if cheap else DEEP))
    return await solve(session or a_chat(), parts), provider


async def test_who_decides_for_one_cheap_call_pays_one() -> None:
    """The learned scheduler, not a setting: the message is usable, so nothing follows it."""
    ended, provider = await solved(lambda _: "Hello there, how are you?", cheap=True)

    assert len(provider.calls) == 1
    assert ended.conclusion is not None
    assert (ended.conclusion.answer, ended.conclusion.answer_status) == ("Hello there, how are you?", "unverified")


@pytest.mark.parametrize(("finish_reason", "status"), [("length", "unverified"), ("stop", "agreed")])
async def test_messages_that_were_cut_before_they_stated_anything_do_not_agree(finish_reason: str, status: str) -> None:
    ended, _ = await solved(lambda _: reply("List the values that", finish_reason=finish_reason), cheap=False)

    assert ended.conclusion is not None
    assert (ended.conclusion.answer, ended.conclusion.answer_status) == ("List the values that", status)


async def test_cut_messages_are_not_asked_for_again_and_again() -> None:
    _, provider = await solved(lambda _: reply("List the values that", finish_reason="length"), cheap=False)
    numbers = count()
    _, whole = await solved(lambda _: f"Prose, and no two alike: {next(numbers)}", cheap=False)

    assert len(provider.calls) == len(whole.calls)


async def test_a_cut_message_that_states_its_answer_is_not_taken_for_cut() -> None:
    spoken = read_message(reply("Final answer: 42", finish_reason="length"), {})

    assert spoken is not None
    assert (spoken.states, spoken.cut) == (True, False)


async def test_a_cheap_message_that_cannot_be_used_is_followed_by_deliberation() -> None:
    script = iter(["", "Final answer: 42", "Final answer: 42", "Final answer: 42"])
    ended, provider = await solved(lambda _: next(script), cheap=True)

    assert len(provider.calls) == 4
    assert ended.conclusion is not None
    assert ended.conclusion.answer == "42"


async def test_a_cheap_message_that_fails_a_check_is_too() -> None:
    checked = a_chat(checks=(Check.numeric(42),))
    script = iter(["Final answer: 41", "Final answer: 42", "Final answer: 42", "Final answer: 42"])
    ended, _ = await solved(lambda _: next(script), cheap=True, session=checked)

    assert ended.conclusion is not None
    assert ended.conclusion.answer_status == "verified"


async def test_the_conversation_is_asked_as_it_is_and_without_a_cap_of_ours() -> None:
    _, provider = await solved(lambda _: "Final answer: 42", cheap=False)

    assert [(one.messages, one.max_tokens) for one in provider.calls] == [(MESSAGES, None)] * 3


async def test_prose_is_drawn_for_one_round_only() -> None:
    texts = iter(f"Essay number {number} on rain." for number in range(100))
    ended, provider = await solved(lambda _: next(texts), cheap=False)

    assert len(provider.calls) == 3
    draw = ended.history[0].draw
    assert draw is not None
    assert draw.stopped == "prose"


async def test_messages_that_state_different_answers_are_drawn_on() -> None:
    answers = iter(["1", "2", "3", "2", "2", "2", "2"])
    ended, provider = await solved(lambda _: f"Final answer: {next(answers)}", cheap=False)

    assert len(provider.calls) == 7
    assert ended.conclusion is not None
    assert ended.conclusion.answer == "2"


async def test_a_result_knows_the_whole_reply_also_after_the_journal_was_read_back() -> None:
    async with a_booster(lambda _: "So.\nFinal answer: 42") as booster:
        result = await booster.solve("6 * 7?", messages=MESSAGES, verbatim=True, granularity="answer", iterations=1)
        again = await booster.result(result.session_id)

        assert result.reply is not None
        assert again.reply is not None
        assert result.reply.text == again.reply.text == "So.\nFinal answer: 42"


def test_only_conversations_can_be_answered_verbatim() -> None:
    with pytest.raises(UsageError, match="verbatim"):
        new_session(UNSET, "6 * 7?", verbatim=True, granularity="answer")
    with pytest.raises(UsageError, match="verbatim"):
        new_session(UNSET, "6 * 7?", verbatim=True, messages=MESSAGES)


def test_a_session_is_read_back_as_verbatim_and_older_ones_as_not() -> None:
    session = a_chat()
    spec = spec_of(session)
    assert session_from_spec("ses_1", spec, "").problem == session.problem

    del spec["problem"]["verbatim"]
    older = session_from_spec("ses_1", spec, "").problem
    assert older == replace(session.problem, verbatim=False)
    assert len(answer_messages(older)) == len(MESSAGES) + 1


# What is read


def test_tool_calls_are_read_by_value_and_in_order() -> None:
    one = read_message(reply(tool_calls=(call("f", '{"b": 1, "a": 2.0}'), call("g", ""))), {})
    other = read_message(reply("Sure!", tool_calls=(call("f", '{"a":2,"b":1}', "9"), call("g", "{}"))), {})
    turned = read_message(reply(tool_calls=(call("g", ""), call("f", '{"b": 1, "a": 2.0}'))), {})

    assert one is not None
    assert other is not None
    assert turned is not None
    assert one.proposal.answer != turned.proposal.answer
    assert one.proposal.answer == '[{"arguments":{"a":2.0,"b":1},"name":"f"},{"arguments":{},"name":"g"}]'
    assert one.states
    assert other.states


def test_odd_tool_calls_are_kept_as_they_are() -> None:
    odd: tuple[dict[str, Any], ...] = (
        {},
        {"function": "f"},
        call("f", "{"),
        call("f", {"a": 1}),
        {"custom": {"input": "ls"}},
    )
    spoken = read_message(reply(tool_calls=odd), {})

    assert spoken is not None
    assert spoken.proposal.answer is not None
    assert '"arguments":"{"' in spoken.proposal.answer
    assert '"ls"' in spoken.proposal.answer


def test_a_text_is_read_by_its_final_answer_else_as_a_whole() -> None:
    stated, plain = read_message(reply("So.\nFinal answer: 42"), {}), read_message(reply(" Hello! "), {})

    assert stated is not None
    assert (stated.proposal.answer, stated.states) == ("42", True)
    assert plain is not None
    assert (plain.proposal.answer, plain.states) == ("Hello!", False)


@pytest.mark.parametrize(
    ("choice", "usable"),
    [
        (None, True),
        ("auto", True),
        ("none", True),
        ("required", False),
        ({"type": "function", "function": {"name": "ls"}}, False),
        ({"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}}, True),
        ({"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": []}}, False),
    ],
)
def test_prose_is_no_message_where_a_tool_must_be_called(choice: Any, usable: bool) -> None:
    tools = [{"type": "function", "function": {"name": "ls"}}]

    assert (read_message(reply("Hello"), {"tools": tools, "tool_choice": choice}) is not None) is usable
    assert read_message(reply("Hello"), {"tool_choice": choice}) is not None


@pytest.mark.parametrize("problem", ["empty", "refusal", "thinking_truncated"])
def test_a_reply_without_a_message_is_none(problem: Any) -> None:
    assert read_message(reply(problem=problem), {}) is None


@pytest.mark.parametrize(
    ("text", "usable"),
    [('{"a": 1}', True), ('{"a": "1"}', False), ("Sure: 1", False), ('```json\n{"a": 1}\n```', False)],
)
def test_json_of_another_form_than_asked_for_is_none(text: str, usable: bool) -> None:
    request = {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}}

    assert (read_message(reply(text), request) is not None) is usable


@pytest.mark.parametrize(
    ("wanted", "schema"),
    [
        (None, None),
        ("json", None),
        ({"type": "text"}, None),
        ({"type": "json_object"}, {"type": "object"}),
        ({"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}, SCHEMA),
        ({"type": "json_schema", "json_schema": {"name": "x"}}, {}),
        ({"type": "json_schema"}, {}),
    ],
)
def test_the_form_asked_for_is_a_schema(wanted: Any, schema: Any) -> None:
    assert json_wanted({"response_format": wanted}) == schema


def test_a_schema_that_cannot_be_applied_asks_for_json_only() -> None:
    impossible = {"type": "string", "pattern": "(?=a)b"}

    assert violation('{"any": "thing"}', impossible) is None
    assert violation("no JSON", impossible) is not None
    assert violation(f'"{"a" * 300_000}"', SCHEMA) is None  # too long to tell


async def test_a_killed_solve_goes_on_with_what_was_paid_although_its_journal_hides_a_key(tmp_path: Path) -> None:
    """Live, the model sees the client's words as they are; read back they are redacted, and still the same question."""
    words = "Is sk-abcdefghijklmnop1234 a key?"
    messages = ({"role": "user", "content": words},)
    script: list[Any] = ["Final answer: yes", None]
    first = ScriptedProvider(script)
    async with a_booster(providers=[first], home=tmp_path) as booster:
        session_id = await booster.begin(
            words, messages=messages, verbatim=True, granularity="answer", iterations=1, scheduler="system2",
            num_candidates=2,
        )  # fmt: skip
        while (await booster.result(session_id)).diagnostics["successes"] == 0:
            await asyncio.sleep(0.01)

    second = ScriptedProvider(["Final answer: yes"])
    async with a_booster(providers=[second], home=tmp_path) as booster:
        result = await booster.resume(session_id)

    assert [call.messages for call in first.calls] == [messages, messages]
    assert [call.messages[0]["content"] for call in second.calls] == ["Is [redacted] a key?"]
    assert (result.answer, result.usage["calls"]) == ("yes", 3)
