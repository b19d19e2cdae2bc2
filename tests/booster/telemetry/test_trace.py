"""What a solve leaves in OpenTelemetry: which spans, under whom, saying what, and never a secret."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind, StatusCode, get_tracer

from booster.app import Booster
from booster.journal import SessionRecord
from booster.redact import Redactor
from booster.telemetry import Telemetry
from providers.errors import RejectedError, TransientError
from providers.scripted import Line
from providers.types import Call, Reply, Usage
from tests.booster.server.mcp_harness import MODES, answering, call, connected, opened
from tests.solving import a_booster, answer, fresh_steps, scripted
from tests.tracing import recorded

CANARY = "canary-4b7d0f1e9a"
"""A secret that the process knows."""

STEPWISE = {"granularity": "step", "scheduler": "system2", "iterations": 2, "numCandidates": 2}

ONE_CALL = {"scheduler": "system1", "iterations": 1}


def said(span: ReadableSpan, name: str) -> Any:
    """Return an attribute; None = it is missing."""
    return (span.attributes or {}).get(name)


def total(spans: Sequence[ReadableSpan], name: str) -> Any:
    """Return the sum of an attribute."""
    return sum(said(span, name) or 0 for span in spans)


async def reached(booster: Booster, session_id: str, event: str, times: int = 1) -> None:
    """Wait until the journal holds so many events of a type."""
    while sum(one.type == event for one in (await booster.journal.load(session_id)).events) < times:
        await asyncio.sleep(0.01)


def hanging_from(iteration: int) -> Callable[[Call], Line]:
    """Return a script whose calls of this iteration and later ones never return."""
    return lambda call: None if call.step_key.startswith(f"it{iteration}/") else fresh_steps(call)


async def test_a_solve_is_a_workflow_of_iterations_of_calls() -> None:
    """On the simulated model, over HTTP."""
    with recorded() as trace:
        async with a_booster(config={**STEPWISE, "provider": "simulated"}, providers=[]) as booster:
            result = await booster.solve("What is 6 * 7?")

    root, agents, chats = trace.one("invoke_workflow solve"), trace.named("invoke_agent"), trace.named("chat ")
    assert len(trace.spans) == 1 + len(agents) + len(chats)
    assert root.parent is None
    assert [trace.parent(agent) for agent in agents] == [root] * 2
    assert {id(trace.parent(chat)) for chat in chats} <= {id(span) for span in (*agents, root)}
    assert {span.kind for span in (root, *agents)} == {SpanKind.INTERNAL}
    assert {(chat.name, chat.kind) for chat in chats} == {("chat simulated/large", SpanKind.CLIENT)}
    assert {said(span, "gen_ai.conversation.id") for span in trace.spans} == {result.session_id}
    assert [said(agent, "booster.iteration") for agent in agents] == [1, 2]
    assert {said(agent, "booster.mode") for agent in agents} == {"system2"}
    assert total(chats, "booster.attempts") == said(root, "booster.attempts") == result.usage["calls"]
    for spans in (chats, [root]):
        assert total(spans, "gen_ai.usage.input_tokens") == result.usage["promptTokens"] > 0
        assert total(spans, "gen_ai.usage.output_tokens") == result.usage["completionTokens"] > 0


async def test_spans_say_what_was_asked_for_and_how_it_ended() -> None:
    usage = Usage(prompt_tokens=9, completion_tokens=5, reasoning_tokens=3, cached_tokens=2, cost_usd=0.25)
    reply = Reply(
        text=answer("42"), model="simulated/exact", provider="simulated", source="simulated", finish_reason="stop",
        usage=usage,
    )  # fmt: skip
    config = {**ONE_CALL, "fastModel": "simulated/fast", "samplingMaxTokens": 77}
    with recorded() as trace:
        async with a_booster([reply], config=config) as booster:
            result = await booster.solve("6 * 7?", request={"temperature": 0.5, "seed": 3})

    assert dict(trace.one("chat simulated/fast").attributes or {}) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.conversation.id": result.session_id,
        "gen_ai.provider.name": "simulated",
        "gen_ai.request.model": "simulated/fast",
        "gen_ai.request.max_tokens": 77,
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.seed": 3,
        "gen_ai.response.model": "simulated/exact",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 9,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.usage.reasoning.output_tokens": 3,
        "gen_ai.usage.cache_read.input_tokens": 2,
        "booster.attempts": 1,
        "booster.cost_usd": 0.25,
        "booster.role": "generate",
        "booster.step_key": "it1/s1/answer1",
    }
    root = trace.one("invoke_workflow")
    ending = [said(root, f"booster.{name}") for name in ("status", "stop_reason", "answer_status", "cost_usd")]
    assert ending == ["done", result.stop_reason, "unverified", 0.25]
    assert root.status.status_code is StatusCode.UNSET


async def test_an_unknown_price_is_missing_and_not_zero() -> None:
    with recorded() as trace:
        async with a_booster([answer("42")], config=ONE_CALL) as booster:
            await booster.solve("6 * 7?")

    assert len(trace.spans) == 3
    assert {said(span, "booster.cost_usd") for span in trace.spans} == {None}


def test_an_iteration_that_escalates_says_who_ended_it() -> None:
    """Spans of iterations are read off the events, whoever wrote those."""
    record = SessionRecord(
        id="ses_1", spec={"problem": {"task": "6 * 7?"}}, status="running", task="6 * 7?", created_at="", updated_at="",
        owner=None, epoch=1, cancel_requested=False, seconds=0.0,
    )  # fmt: skip
    begun = {"iteration": 3, "granularity": "step", "decision": {"mode": "system1"}, "escalated": False}
    closed = {"candidates": [{}, {}], "chosen": "it3/s2/steps.1", "problems": ["empty"]}
    with recorded() as spans, Telemetry(Redactor()).run(record) as trace:
        trace.told([("iteration_opened", begun)])
        trace.told([("escalated", {**begun, "decision": {"mode": "system2"}, "escalated": True})])
        trace.told([("iteration_closed", {"iteration": closed})])

    agent = spans.one("invoke_agent")
    assert [said(agent, f"booster.{name}") for name in ("iteration", "mode", "escalated")] == [3, "system2", True]
    assert [said(agent, f"booster.{name}") for name in ("candidates", "chosen", "problems")] == [
        2, "it3/s2/steps.1", ("empty",),
    ]  # fmt: skip


async def test_what_was_asked_and_answered_stays_out() -> None:
    with recorded() as trace:
        async with a_booster([answer("the-answer")], config=ONE_CALL) as booster:
            assert (await booster.solve("the-question")).answer == "the-answer"

        told = trace.text()
    assert "the-question" not in told
    assert "the-answer" not in told


async def test_on_request_it_is_in_without_secrets() -> None:
    settings: dict[str, Any] = {"trace_content": True, "secrets": frozenset({CANARY})}
    with recorded() as trace:
        async with a_booster([answer(f"the-answer {CANARY}")], config=ONE_CALL, **settings) as booster:
            await booster.solve(f"the-question {CANARY}")

        root, chat, told = trace.one("invoke_workflow"), trace.one("chat"), trace.text()
    for span in (root, chat):
        assert "the-question [redacted]" in said(span, "gen_ai.input.messages")
        assert "the-answer [redacted]" in said(span, "gen_ai.output.messages")
    assert CANARY not in told


@pytest.mark.parametrize("content", [True, False])
async def test_no_secret_is_on_any_span_whatever_a_server_says(content: bool) -> None:
    refused = RejectedError(f"wrong: {CANARY}", kind=f"http_{CANARY}", provider="simulated")
    odd = Reply(
        text=answer(CANARY), model=CANARY, provider=CANARY, source="simulated", finish_reason=CANARY
    )  # fmt: skip
    settings: dict[str, Any] = {"trace_content": content, "secrets": frozenset({CANARY})}
    with recorded() as trace:
        for line in (refused, odd):
            async with a_booster([line], config=ONE_CALL, **settings) as booster:
                await booster.solve(CANARY, request={"seed": CANARY})

        assert len(trace.named("chat")) == 2
        assert CANARY not in trace.text()


async def test_one_span_covers_a_call_with_its_retries() -> None:
    busy = TransientError("busy", kind="http_503", provider="simulated", retry_after=0.0)
    with recorded() as trace:
        async with a_booster([busy, busy, answer("42")], config=ONE_CALL) as booster:
            result = await booster.solve("6 * 7?")

    chat = trace.one("chat")
    assert said(chat, "booster.attempts") == result.usage["calls"] == 3
    assert said(chat, "gen_ai.usage.input_tokens") == result.usage["promptTokens"]
    assert (chat.status.status_code, said(chat, "error.type")) == (StatusCode.UNSET, None)


async def test_a_call_that_failed_says_how_and_does_not_quote() -> None:
    refused = RejectedError("cannot parse the-question", kind="http_400", provider="simulated")
    with recorded() as trace:
        async with a_booster([refused], config=ONE_CALL) as booster:
            await booster.solve("the-question")

        told = trace.text()
    chat = trace.one("chat")
    assert (chat.status.status_code, chat.status.description) == (StatusCode.ERROR, "http_400")
    assert said(chat, "error.type") == "http_400"
    assert "the-question" not in told


async def test_a_solve_that_breaks_off_ends_its_spans_as_failed() -> None:
    def broken(_: Call) -> Line:
        raise ArithmeticError("no such luck")

    with recorded() as trace:
        async with a_booster(broken, config=ONE_CALL) as booster:
            with pytest.raises(ArithmeticError):
                await booster.wait(await booster.begin("6 * 7?"))

    assert [span.name.partition(" ")[0] for span in trace.spans] == ["chat", "invoke_agent", "invoke_workflow"]
    assert {(span.status.status_code, said(span, "error.type")) for span in trace.spans} == {
        (StatusCode.ERROR, "ArithmeticError")
    }
    assert said(trace.one("invoke_workflow"), "booster.status") == "failed"


async def test_a_cancelled_solve_is_no_error() -> None:
    with recorded() as trace:
        async with a_booster(hanging_from(1), config=STEPWISE) as booster:
            session_id = await booster.begin("6 * 7?")
            await reached(booster, session_id, "iteration_opened")
            await booster.cancel(session_id)

    root = trace.one("invoke_workflow")
    assert (said(root, "booster.status"), said(root, "booster.cancelled")) == ("cancelled", True)
    assert {span.status.status_code for span in trace.spans} == {StatusCode.UNSET}


async def test_a_solve_belongs_to_the_span_it_begins_in() -> None:
    with recorded() as trace:
        async with a_booster([answer("42")], config=ONE_CALL) as booster:
            with get_tracer("caller").start_as_current_span("the caller's own"):
                session_id = await booster.begin("6 * 7?")
            await booster.wait(session_id)

        parent = trace.parent(trace.one("invoke_workflow"))
    assert parent is not None
    assert parent.name == "the caller's own"


@pytest.mark.parametrize("mode", MODES)
async def test_a_solve_of_an_mcp_client_is_a_child_of_its_request(mode: str, tmp_path: Path) -> None:
    with recorded() as trace:
        async with opened(tmp_path, answering(42)) as booster, connected(booster, mode) as client:
            with get_tracer("client").start_as_current_span("the client's own") as own:
                await call(client, "solve", task="6 * 7?", config=ONE_CALL)

        root = trace.one("invoke_workflow")
        request = trace.parent(root)
    assert request is not None
    assert (request.name, request.kind) == ("tools/call solve", SpanKind.SERVER)
    assert root.context.trace_id == own.get_span_context().trace_id


async def interrupted(home: Path) -> str:
    """Solve until the second iteration hangs, and end the process's booster; return the session."""
    async with a_booster(hanging_from(2), home=home, config=STEPWISE) as booster:
        session_id = await booster.begin("6 * 7?")
        await reached(booster, session_id, "iteration_opened", times=2)
        return session_id


def linked(span: ReadableSpan) -> list[int]:
    """Return the traces that a span is linked to."""
    return [link.context.trace_id for link in span.links]


async def test_a_resumed_solve_is_a_trace_of_its_own_with_a_link_to_the_first(tmp_path: Path) -> None:
    with recorded() as trace:
        session_id = await interrupted(tmp_path)
        first = trace.one("invoke_workflow")
        async with a_booster(fresh_steps, home=tmp_path, config=STEPWISE) as booster:
            result = await booster.resume(session_id)

        second = trace.named("invoke_workflow")[1]
        reopened = [agent for agent in trace.named("invoke_agent") if said(agent, "booster.resumed")]
    assert second.parent is None
    assert second.context.trace_id != first.context.trace_id
    assert (linked(first), linked(second)) == ([], [first.context.trace_id])
    assert [said(agent, "booster.iteration") for agent in reopened] == [2]
    assert result.status == "done"


async def test_calls_that_are_recalled_are_no_spans_again(tmp_path: Path) -> None:
    """An iteration with an answer that arrived and one that hung: only what is asked again is a call."""

    def half(call: Call) -> Line:
        return answer("42") if call.step_key.endswith("answer1") else None

    config = {"granularity": "answer", "scheduler": "system2", "iterations": 1, "numCandidates": 2, "select": "vote"}
    async with a_booster(half, home=tmp_path, config=config) as booster:
        session_id = await booster.begin("6 * 7?")
        while (await booster.result(session_id)).diagnostics["successes"] < 1:
            await asyncio.sleep(0.01)
    with recorded() as trace:
        async with a_booster([answer("42")] * 9, home=tmp_path, config=config) as booster:
            result = await booster.resume(session_id)

    root, keys = trace.one("invoke_workflow"), [said(chat, "booster.step_key") for chat in trace.named("chat")]
    assert said(root, "booster.recalled") == 1
    assert keys == ["it1/s2/answer2"]
    assert said(root, "booster.attempts") == 1
    assert result.answer == "42"


async def test_a_session_of_a_process_that_traced_nothing_resumes_without_a_link(tmp_path: Path) -> None:
    session_id = await interrupted(tmp_path)
    with recorded() as trace:
        async with a_booster(fresh_steps, home=tmp_path, config=STEPWISE) as booster:
            before = {event.type for event in (await booster.journal.load(session_id)).events}
            await booster.resume(session_id)

    assert "traced" not in before
    assert linked(trace.one("invoke_workflow")) == []


async def test_a_damaged_trace_id_is_no_reason_to_fail(tmp_path: Path) -> None:
    with recorded() as trace:
        async with a_booster(fresh_steps, home=tmp_path, config=STEPWISE) as booster:
            session = await booster.start("6 * 7?")
            epoch = await booster.journal.take_over(session.id)
            await booster.journal.append(
                session.id, epoch, [("traced", {"traceparent": "nonsense"})], status="running", seconds=0.0, after=0
            )
            await booster.step(session.id)

    assert linked(trace.one("invoke_workflow")) == []


async def test_steps_on_request_are_traces_that_follow_each_other() -> None:
    with recorded() as trace:
        async with a_booster(scripted(steps=fresh_steps)) as booster:
            session = await booster.start("6 * 7?")
            for _ in range(3):
                await booster.step(session.id)

    runs = trace.named("invoke_workflow")
    traces = [run.context.trace_id for run in runs]
    assert [linked(run) for run in runs] == [[], traces[:1], traces[1:2]]
    assert [said(run, "booster.status") for run in runs] == ["running"] * 3


async def test_many_solves_at_once_keep_their_spans_apart() -> None:
    with recorded() as trace:
        async with a_booster(lambda _: answer("42"), delay=0.01, config=ONE_CALL) as booster:
            results = await asyncio.gather(*(booster.solve(f"task {n}") for n in range(8)))

    roots = trace.named("invoke_workflow")
    assert {said(root, "gen_ai.conversation.id") for root in roots} == {result.session_id for result in results}
    assert len(trace.named("chat")) == 8
    for span in trace.spans:
        parent = trace.parent(span)
        assert parent is None or said(parent, "gen_ai.conversation.id") == said(span, "gen_ai.conversation.id")
