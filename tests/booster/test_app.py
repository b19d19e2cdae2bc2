"""The engine behind every door: whole solves, single steps, resuming, cancelling, and what it refuses."""

import asyncio
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from booster.app import BEGINNING, Booster
from booster.config import Price
from booster.errors import EndingError, UsageError
from booster.journal import Event, JournalError, UnknownSession
from booster.journal.codec import reply_from_dict
from booster.opening import MAX_TASK_CHARS
from booster.result import SolveResult
from booster.server.results import bounded
from booster.session import Budget, Session
from booster.work import fold
from providers.errors import ConfigurationError, TransientError
from providers.replay import ReplayProvider
from providers.scripted import Line, ScriptedProvider
from providers.types import Call, Reply
from tests.solving import DISTINCT, a_booster, answer, fresh_steps, kind_of, scripted, steps
from tests.verifier.bubblewrap_here import needs_bubblewrap
from tests.virtual_clock import run_virtual
from verifier.errors import CheckError
from verifier.types import Check

TASK = "Measure 4 litres with jugs of 5 and 3"

STEP_BY_STEP = scripted(steps=fresh_steps, final=answer("4"))
"""A model that proposes a new step each time and knows the answer at the end."""


async def eventually(holds: Callable[[], bool]) -> None:
    """Give other tasks their turn until something holds."""
    async with asyncio.timeout(20):
        while not holds():
            await asyncio.sleep(0.005)


async def arrived(booster: Booster, session_id: str, count: int) -> None:
    """Wait until the journal has so many outcomes of calls."""
    async with asyncio.timeout(20):
        while len(await booster.journal.calls(session_id)) < count:
            await asyncio.sleep(0.005)


async def folded(booster: Booster, session_id: str) -> Session:
    """Return the state that the journal alone has of a session."""
    return fold(await booster.journal.load(session_id))


# Whole solves


@pytest.mark.parametrize("task", ["\ud83d", "Count \udcff tiles"])
async def test_a_task_that_is_no_unicode_is_refused_and_costs_nothing(task: str) -> None:
    async with a_booster(providers=[provider := ScriptedProvider(scripted(answer=answer("4")))]) as booster:
        with pytest.raises(UsageError, match=r"task: character \d+ is half of one") as caught:
            await booster.solve(task)

        assert (caught.value.field, await booster.sessions()) == ("task", [])
    assert provider.calls == []


async def test_a_solve_returns_a_result_that_the_journal_agrees_with() -> None:
    async with a_booster(scripted(answer=answer("4"))) as booster:
        result = await booster.solve(TASK, scheduler="system2")

        assert (result.answer, result.status) == ("4", "done")
        assert (await booster.result(result.session_id)).to_dict()["answer"] == "4"
        assert (await booster.session(result.session_id)).conclusion is not None
        assert not booster.is_running(result.session_id)


async def test_of_many_solves_the_first_have_asked_before_the_last_are_begun(tmp_path: Path) -> None:
    begun_when_asked: list[int] = []

    class Watching(ScriptedProvider):
        async def send(self, call: Call) -> Reply:
            begun_when_asked.append(len(await booster.journal.sessions(limit=100)))
            return await super().send(call)

    async with a_booster(providers=[Watching(scripted(answer=answer("4")))], home=tmp_path) as booster:
        jobs = [booster.solve(TASK, scheduler="system1") for _ in range(20 * BEGINNING)]
        results = await asyncio.gather(*jobs)

    assert [result.answer for result in results] == ["4"] * len(jobs)
    assert begun_when_asked[0] < len(jobs)


async def test_a_solve_that_is_cancelled_before_its_turn_leaves_nothing_behind(tmp_path: Path) -> None:
    async with a_booster(scripted(answer=answer("4")), home=tmp_path) as booster:
        jobs = [asyncio.create_task(booster.solve(TASK, scheduler="system1")) for _ in range(2 * BEGINNING)]
        await asyncio.sleep(0)
        jobs[-1].cancel()
        *others, cancelled = await asyncio.gather(*jobs, return_exceptions=True)

        assert isinstance(cancelled, asyncio.CancelledError)
        assert len(await booster.journal.sessions(limit=100)) == len(others)

    assert all(isinstance(one, SolveResult) and one.status == "done" for one in others)


async def test_what_waits_for_its_turn_when_the_process_is_told_to_end_is_never_begun(tmp_path: Path) -> None:
    async with a_booster(scripted(answer=answer("4")), home=tmp_path) as booster:
        begun = [asyncio.create_task(booster.begin(TASK, scheduler="system1")) for _ in range(5 * BEGINNING)]
        await asyncio.sleep(0)
        await booster.interrupt()
        ended = await asyncio.gather(*begun, return_exceptions=True)
        stored = {record.id for record in await booster.journal.sessions(limit=100)}

        assert {str(one) for one in ended if not isinstance(one, EndingError)} == stored
        assert len(stored) == BEGINNING
        assert not any(map(booster.is_running, stored))


async def test_a_solve_goes_on_while_nobody_waits() -> None:
    release = asyncio.Event()

    class Held(ScriptedProvider):
        async def send(self, call: Call) -> Reply:
            await release.wait()
            return await super().send(call)

    async with a_booster(providers=[Held(scripted(answer=answer("4")))]) as booster:
        session_id = await booster.begin(TASK, scheduler="system2")
        unfinished = await booster.wait(session_id, 0.01)
        assert (unfinished.status, unfinished.stop_reason) == ("running", None)
        assert booster.is_running(session_id)

        release.set()
        first, second = await asyncio.gather(booster.wait(session_id), booster.wait(session_id))
        assert first == second
        assert first.answer == "4"
        assert (await booster.wait(session_id)).answer == "4"


async def test_a_listener_hears_every_event_in_order_once() -> None:
    heard: list[Event] = []
    async with a_booster(STEP_BY_STEP) as booster:
        result = await booster.solve(TASK, scheduler="seed", iterations=3, listener=heard.append)

        assert tuple(heard) == (await booster.journal.load(result.session_id)).events
        assert [event.seq for event in heard] == list(range(1, len(heard) + 1))


async def test_stream_yields_the_events_and_ends() -> None:
    async with a_booster(STEP_BY_STEP) as booster:
        seen = [event.type async for event in booster.stream(TASK, scheduler="seed", iterations=1)]

    assert seen == ["iteration_opened", "iteration_closed", "answered", "concluded"]


async def test_leaving_a_stream_early_cancels_the_solve() -> None:
    async with a_booster(lambda call: None) as booster:
        events = booster.stream(TASK, scheduler="seed")
        assert (await anext(events)).type == "iteration_opened"
        await events.aclose()  # type: ignore[attr-defined]  # an async generator

        ((session,)) = await booster.sessions()
        assert session["status"] == "cancelled"


async def test_the_live_state_is_the_fold_of_the_journal() -> None:
    """Also with checks whose values have no JSON form of their own."""
    async with a_booster(scripted(answer="Hmm.", steps=steps(*DISTINCT[:3]), final=answer("4"))) as booster:
        session_id = await booster.begin(TASK, checks=[Check.numeric(Fraction(1, 3))], iterations=5)
        run = booster._runs[session_id]
        result = await booster.wait(session_id)
        record = await booster.journal.load(session_id)

        assert run.session == fold(record)
        assert record.status == result.status


async def test_replaying_a_recorded_session_gives_the_same_result_but_for_ids_and_times() -> None:
    """Without a model: every reply, and the order of arrival, comes out of the recording."""
    numbers = iter(["1", "2", "3", "1", "5"])
    script = scripted(answer=lambda call: answer(next(numbers)), steps=fresh_steps, final=answer("4"))
    options: dict[str, Any] = {"scheduler": "system2", "iterations": 4, "num_candidates": 5}
    async with a_booster(script) as booster:
        recorded = await booster.solve(TASK, **options)
        calls = await booster.journal.calls(recorded.session_id)
    recording = [(call["stepKey"], reply_from_dict(call["reply"])) for call in calls]

    async with a_booster(providers=[ReplayProvider(recording)]) as booster:
        replayed = await booster.solve(TASK, **options)

    assert comparable(replayed.to_dict()) == comparable(recorded.to_dict())
    assert replayed.usage["calls"] == recorded.usage["calls"] == 9


def comparable(document: dict[str, Any]) -> dict[str, Any]:
    """Leave out ids, times and the name of the source."""
    del document["sessionId"], document["diagnostics"]
    document["usage"] = {name: value for name, value in document["usage"].items() if name != "seconds"}
    document["steps"] = [
        {name: value for name, value in step.items() if name not in ("at", "provider", "source")}
        for step in document["steps"]
    ]
    return document


# Step by step


async def test_start_opens_a_session_of_steps_and_runs_nothing() -> None:
    async with a_booster(STEP_BY_STEP) as booster:
        session = await booster.start(TASK)

        assert (session.config.granularity, session.steps, session.opened) == ("step", (), None)
        assert (await booster.start(TASK, granularity="answer")).config.granularity == "answer"
        assert (await booster.result(session.id)).usage["calls"] == 0
        assert await booster.summarize(session.id) == f"Summary:\nTask: {TASK}\n(no steps)"


async def test_single_steps_add_up_without_ending_the_session() -> None:
    async with a_booster(STEP_BY_STEP) as booster:
        session = await booster.start(TASK, scheduler="seed", iterations=2)
        results = [await booster.step(session.id) for _ in range(3)]

        assert [len(result.session.steps) for result in results] == [1, 2, 3]
        assert all(result.chosen in result.candidates for result in results)
        assert results[-1].result.status == "running"
        events = [event.type for event in (await booster.journal.load(session.id)).events]
        assert events.count("extended") == 1
        assert (await booster.summarize(session.id)).count("\n- ") == 3


async def test_steps_ask_for_the_answer_only_where_they_are_the_last() -> None:
    async with a_booster(providers=[provider := ScriptedProvider(STEP_BY_STEP)]) as booster:
        session = await booster.start(TASK, scheduler="seed", iterations=3)
        for _ in range(3):
            await booster.step(session.id)

    assert ["last step there is" in str(call.messages) for call in provider.calls] == [False, False, True]


async def test_decision_ids_are_not_given_twice() -> None:
    async with a_booster(STEP_BY_STEP) as booster:
        session = await booster.start(TASK)
        for _ in range(3):
            await booster.step(session.id)
        steps_taken = (await booster.session(session.id)).history

    ids = [closed.decision.decision_id for closed in steps_taken if closed.decision]
    assert ids == [f"{session.id}.{number}" for number in (1, 2, 3)]


async def test_another_number_of_candidates_holds_for_that_call_only() -> None:
    async with a_booster(providers=[provider := ScriptedProvider(STEP_BY_STEP)]) as booster:
        session = await booster.start(TASK, scheduler="seed")
        await booster.step(session.id, override_num_candidates=1)
        await booster.step(session.id)
        await booster.multi_step(session.id, 1, override_num_candidates=12)
        result = await booster.wait(session.id)

    prompts = [str(call.messages) for call in provider.calls if kind_of(call) == "steps"]
    assert ["exactly 1 item " in prompts[0], "exactly 5 items" in prompts[1], "exactly 12 items" in prompts[2]] == [
        True
    ] * 3
    assert result.config["numCandidates"] == 5


async def test_a_callers_own_proposals_are_checked_and_selected_without_any_model() -> None:
    async with a_booster() as booster:
        session = await booster.start(TASK, checks=[Check.numeric(4)])
        own = {"kind": "contains", "value": "jug", "target": "step"}
        first = await booster.step(
            session.id,
            proposals=[{"text": "Fill something", "checks": [own]}, {"text": "Fill the jug", "checks": [own]}],
        )
        second = await booster.step(session.id, proposals=[{"text": "Read it off", "rationale": "done", "answer": 4}])

    assert first.chosen is not None
    assert (first.chosen.proposal.text, first.chosen.source, first.chosen.provider) == (
        "Fill the jug",
        "caller",
        "caller",
    )
    assert [check.check_id for check in first.candidates[-1].failed_checks] == ["proposal1.check1"]
    assert (second.result.answer, second.result.answer_status) == ("4", "verified")
    assert (second.result.usage["calls"], second.result.degraded) == (0, False)
    assert second.result.diagnostics["provider"] == "caller"


@pytest.mark.parametrize(
    ("proposals", "said"),
    [
        ([{"rationale": "no text"}], r"proposals\[0\].text is missing"),
        ([{"text": "x", "checks": [{"kind": "regex", "value": "("}]}], r"proposals\[0\].checks\[0\]: value"),
        ("text", "must be a list"),
    ],
)
async def test_a_malformed_proposal_is_refused_and_costs_the_session_nothing(proposals: Any, said: str) -> None:
    async with a_booster() as booster:
        session = await booster.start(TASK)
        with pytest.raises(UsageError, match=said):
            await booster.step(session.id, proposals=proposals)

        assert await folded(booster, session.id) == session


@pytest.mark.parametrize("count", [0, 999, "many"])
async def test_a_number_of_candidates_out_of_range_costs_the_session_nothing(count: Any) -> None:
    async with a_booster(STEP_BY_STEP) as booster:
        session = await booster.start(TASK)
        for refused in (
            booster.step(session.id, override_num_candidates=count),
            booster.multi_step(session.id, 1, override_num_candidates=count),
        ):
            with pytest.raises(UsageError, match="numCandidates"):
                await refused

        assert await folded(booster, session.id) == session


async def test_a_full_session_takes_no_further_step() -> None:
    async with a_booster(STEP_BY_STEP) as booster:
        session = await booster.start(TASK, scheduler="seed", max_steps=2)
        await booster.multi_step(session.id, 5)
        result = await booster.wait(session.id)
        assert (len(result.steps), result.stop_reason) == (2, "max_steps")

        with pytest.raises(UsageError, match="as many as maxSteps allows"):
            await booster.step(session.id)
        await booster.multi_step(session.id, 1)
        assert (await booster.wait(session.id)).stop_reason == "max_steps"


async def test_a_step_on_a_spent_budget_says_so_and_asks_nobody() -> None:
    async with a_booster(STEP_BY_STEP) as booster:
        session = await booster.start(TASK, scheduler="seed", budget=Budget(calls=1))
        first, second = await booster.step(session.id), await booster.step(session.id)

    assert (first.chosen is not None, second.chosen, second.candidates) == (True, None, ())
    assert (second.result.stop_reason, second.result.usage["calls"]) == ("budget_calls", 1)


async def test_multi_step_goes_on_where_a_solve_ended() -> None:
    """The finalisation asks anew under a key of its own; the answer of the first one stays in the pool."""
    async with a_booster(providers=[provider := ScriptedProvider(STEP_BY_STEP)]) as booster:
        first = await booster.solve(TASK, scheduler="seed", iterations=2)
        await booster.multi_step(first.session_id, 2)
        second = await booster.wait(first.session_id)
        pool = (await booster.session(first.session_id)).answers

    assert (len(first.steps), len(second.steps), second.stop_reason) == (2, 4, "iterations")
    assert [pooled.key for pooled in pool] == ["it2/final", "it4/final"]
    assert len({call.step_key for call in provider.calls}) == len(provider.calls) == 6
    assert second.diagnostics["repaid"] == []


@pytest.mark.parametrize("iterations", [0, -1, True, "3", 1.5])
async def test_iterations_that_are_no_count_are_refused(iterations: Any) -> None:
    async with a_booster() as booster:
        session = await booster.start(TASK)
        with pytest.raises(UsageError, match="iterations"):
            await booster.multi_step(session.id, iterations)


async def test_a_session_is_worked_on_once_at_a_time() -> None:
    async with a_booster(lambda call: None) as booster:
        session = await booster.start(TASK)
        outcomes = [asyncio.create_task(booster.step(session.id)) for _ in range(2)]
        done, pending = await asyncio.wait(outcomes, return_when=asyncio.FIRST_COMPLETED)
        (refused,), (working,) = done, pending
        with pytest.raises(UsageError, match="being worked on"):
            refused.result()
        assert booster.is_running(session.id)

        await booster.cancel(session.id)
        await working
        assert not booster.is_running(session.id)


# Going on after a stop


AT_ONCE: dict[str, Any] = {"num_candidates": 5}
IN_WAVES: dict[str, Any] = {"samples": 9}
"""Waves of three, four and two answers, since no two are equal."""


@pytest.mark.parametrize(
    ("kept", "how", "stopped_at", "most"),
    [
        *(("memory", AT_ONCE, place, 9) for place in range(1, 10)),
        *(("file", AT_ONCE, place, 9) for place in range(1, 10)),
        *(("memory", IN_WAVES, place, 13) for place in range(1, 14)),
        *(("file", IN_WAVES, place, 13) for place in (2, 5, 9)),
    ],
)
async def test_a_resumed_solve_repeats_nothing_and_comes_to_the_same(
    kept: str, how: dict[str, Any], stopped_at: int, most: int, tmp_path: Path
) -> None:
    """Interrupted after each of its calls in turn; `memory` goes on in the same process, `file` in another booster."""
    home = None if kept == "memory" else tmp_path
    options: dict[str, Any] = {"scheduler": "system2", "iterations": 4, **how}
    script = scripted(answer=lambda call: answer(call.step_key[-1]), steps=fresh_steps, final=answer("4"))
    async with a_booster(script) as booster:
        whole = await booster.solve(TASK, **options)

    made: list[str] = []

    def until_stopped(call: Call) -> Line:
        made.append(call.step_key)
        return script(call) if len(made) < stopped_at else None

    def afterwards(call: Call) -> Line:
        made.append(call.step_key)
        return script(call)

    provider = ScriptedProvider(until_stopped)
    async with a_booster(providers=[provider], home=home) as booster:
        session_id = await booster.begin(TASK, **options)
        await eventually(lambda: len(made) >= stopped_at)
        await arrived(booster, session_id, stopped_at - 1)
        in_flight = len(made) - stopped_at + 1
        await booster.interrupt()
        assert (await booster.result(session_id)).status == "running"
        if home is None:
            provider._next_line = afterwards
            result = await booster.resume(session_id)
    if home is not None:
        async with a_booster(afterwards, home=home) as booster:
            result = await booster.resume(session_id)

    assert [step.text for step in result.steps] == [step.text for step in whole.steps]
    assert [step.id for step in result.steps] == [step.id for step in whole.steps]
    assert (result.answer, result.stop_reason) == (whole.answer, whole.stop_reason)
    assert len(made) <= most + in_flight
    assert result.usage["calls"] == len(made)


async def test_the_last_affordable_replies_of_an_interrupted_iteration_are_used() -> None:
    """The budget was spent to the last call when the process stopped; what it bought is not lost."""
    made: list[str] = []

    def script(call: Call) -> Line:
        made.append(call.step_key)
        return answer("4") if len(made) < 4 else None

    async with a_booster(script) as booster:
        session_id = await booster.begin(TASK, scheduler="system2", num_candidates=4, budget=Budget(calls=4))
        await eventually(lambda: len(made) == 4)
        await arrived(booster, session_id, 3)
        await booster.interrupt()
        result = await booster.resume(session_id)

    assert (result.answer, result.answer_status, result.usage["calls"]) == ("4", "agreed", 4)


async def test_answers_that_a_small_budget_had_paid_for_are_used_after_a_stop() -> None:
    """Two of the six calls were lost with the process: what is left of the budget allows none, what was bought counts."""
    made: list[str] = []

    def script(call: Call) -> Line:
        made.append(call.step_key)
        return answer(str(len(made))) if len(made) < 5 else None

    async with a_booster(script) as booster:
        options: dict[str, Any] = {"granularity": "answer", "iterations": 1, "budget": Budget(calls=6)}
        session_id = await booster.begin(TASK, scheduler="system2", **options)
        await eventually(lambda: len(made) == 6)
        await arrived(booster, session_id, 4)
        await booster.interrupt()
        result = await booster.resume(session_id)
        session = await booster.session(session_id)

    assert (result.usage["calls"], len(made)) == (6, 6)
    assert [one.key for one in session.answers] == [f"it1/s2/answer{number}" for number in (1, 2, 3, 4)]


def test_a_withdrawn_straggler_that_is_recalled_cancels_nothing() -> None:
    """It was withdrawn by a decision of the loop; a resumed solve recalls that and goes on."""

    async def scenario() -> Any:
        made: list[str] = []

        def script(call: Call) -> Line:
            made.append(call.step_key)
            if kind_of(call) == "answer":
                return None if call.step_key.endswith("5") else answer(call.step_key[-1])
            return None if len(made) == 6 else STEP_BY_STEP(call)

        async with a_booster(script, delay=0.5) as booster:
            session_id = await booster.begin(TASK, scheduler="system2", iterations=3)
            await asyncio.sleep(20)
            await booster.interrupt()
            return await booster.resume(session_id), made

    result, made = run_virtual(scenario)

    assert (result.status, result.stop_reason, len(result.steps)) == ("done", "iterations", 2)
    assert made.count("it1/s2/answer5") == 1


async def test_resuming_what_has_ended_just_returns_it() -> None:
    async with a_booster(providers=[provider := ScriptedProvider(scripted(answer=answer("4")))]) as booster:
        result = await booster.solve(TASK, scheduler="system1")
        again = await booster.resume(result.session_id)

    assert (again.answer, again.stop_reason, len(provider.calls)) == ("4", "answered", 1)


async def test_resume_runs_a_session_that_was_only_started() -> None:
    async with a_booster(STEP_BY_STEP) as booster:
        session = await booster.start(TASK, scheduler="seed", iterations=2)
        result = await booster.resume(session.id)

    assert (len(result.steps), result.answer) == (2, "4")


# Cancelling


async def test_a_cancelled_solve_keeps_its_state_and_can_go_on() -> None:
    hanging = True

    def script(call: Call) -> Line:
        return None if hanging and call.step_key.startswith("it3") else STEP_BY_STEP(call)

    async with a_booster(script) as booster:
        heard: list[Event] = []
        session_id = await booster.begin(TASK, scheduler="seed", iterations=4, listener=heard.append)
        await eventually(lambda: any(event.data.get("iteration") == 3 for event in heard))
        await booster.cancel(session_id)
        cancelled = await booster.result(session_id)
        assert (cancelled.status, cancelled.stop_reason, len(cancelled.steps)) == ("cancelled", "cancelled", 2)
        assert not booster.is_running(session_id)

        hanging = False
        result = await booster.resume(session_id)
        assert (result.status, len(result.steps), result.answer) == ("done", 4, "4")


async def test_a_solve_cancelled_before_its_first_step_is_cancelled() -> None:
    async with a_booster(lambda call: None) as booster:
        session_id = await booster.begin(TASK)
        await booster.cancel(session_id)

        assert (await booster.result(session_id)).status == "cancelled"
        assert not booster.is_running(session_id)
        ((listed,)) = await booster.sessions()
        assert (listed["status"], listed["active"]) == ("cancelled", False)


async def test_a_session_that_nobody_works_on_can_be_cancelled_too() -> None:
    async with a_booster(STEP_BY_STEP) as booster:
        session = await booster.start(TASK, scheduler="seed")
        await booster.step(session.id)
        await booster.cancel(session.id)
        assert (await booster.result(session.id)).status == "cancelled"

        await booster.cancel(session.id)
        stepped = await booster.step(session.id)
        assert (stepped.result.status, len(stepped.session.steps)) == ("running", 2)


async def test_cancelling_what_waits_for_a_solve_cancels_the_solve() -> None:
    async with a_booster(lambda call: None) as booster:
        waiting = asyncio.create_task(booster.solve(TASK))
        await eventually(lambda: bool(booster._runs))
        waiting.cancel()
        await asyncio.wait({waiting})

        ((listed,)) = await booster.sessions()
        assert (waiting.cancelled(), listed["status"]) == (True, "cancelled")


async def test_cancelling_twice_at_once_is_cancelling_once() -> None:
    async with a_booster(lambda call: None) as booster:
        session_id = await booster.begin(TASK)
        await asyncio.sleep(0.02)
        await asyncio.gather(booster.cancel(session_id), booster.cancel(session_id))

        assert (await booster.result(session_id)).status == "cancelled"


async def test_two_boosters_on_one_file_see_each_other_and_one_can_cancel_the_others_solve(tmp_path: Path) -> None:
    """The one that works notices at its next call, or while a call hangs."""
    provider = ScriptedProvider(lambda call: None)
    async with a_booster(providers=[provider], home=tmp_path) as worker, a_booster(home=tmp_path) as other:
        session_id = await worker.begin(TASK, scheduler="system2")
        await eventually(lambda: bool(provider.calls))
        ((listed,)) = await other.sessions()
        assert (listed["sessionId"], listed["active"]) == (session_id, True)
        with pytest.raises(JournalError, match="being worked on"):
            await other.resume(session_id)

        await other.cancel(session_id)
        result = await worker.wait(session_id, 20)
        assert (result.status, result.stop_reason) == ("cancelled", "cancelled")
        assert (await other.result(session_id)).status == "cancelled"


async def test_what_one_booster_began_another_one_can_finish(tmp_path: Path) -> None:
    async with a_booster(STEP_BY_STEP, home=tmp_path) as first:
        session = await first.start(TASK, scheduler="seed", iterations=3)
        await first.step(session.id)
        async with a_booster(STEP_BY_STEP, home=tmp_path) as second:
            result = await second.resume(session.id)
        assert (len(result.steps), result.answer) == (3, "4")
        assert (await first.session(session.id)).conclusion is not None


# What is refused


async def test_an_unknown_session_is_named() -> None:
    async with a_booster() as booster:
        for asked in (
            booster.session("ses_no"), booster.result("ses_no"), booster.resume("ses_no"), booster.step("ses_no"),
            booster.multi_step("ses_no", 1), booster.cancel("ses_no"), booster.summarize("ses_no"), booster.wait("ses_no"),
        ):  # fmt: skip
            with pytest.raises(UnknownSession, match="ses_no"):
                await asked


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"task": ""}, "task: is blank"),
        ({"task": " \n"}, "task: is blank"),
        ({"task": None}, "task: is blank"),
        ({"task": "x" * 1_000_000}, f"at most {MAX_TASK_CHARS}"),
        ({"w_rules": float("nan")}, "wRules"),
        ({"config": {"wRedundancy": -0.1}}, "wRedundancy"),
        ({"num_candidates": 0}, "numCandidates: 0 is not allowed"),
        ({"candidates": 999}, "numCandidates: 999 is not allowed"),
        ({"iterations": 65}, "iterations"),
        ({"messages": ["hello"]}, r"messages\[0\]"),
        ({"messages": [{"role": "user", "content": float("nan")}]}, r"messages\[0\]"),
        ({"request": {"temperature": float("inf")}}, "request"),
        ({"request": {"stop": {1, 2}}}, "request"),
        ({"provider": "cerebras"}, "provider: .*CEREBRAS_API_KEY"),
        ({"use_sampling": True}, "useSampling"),
    ],
)
async def test_what_cannot_work_is_refused_before_anything_is_started(options: dict[str, Any], said: str) -> None:
    async with a_booster() as booster:
        with pytest.raises(UsageError, match=said):
            await booster.solve(**{"task": TASK, **options})

        assert await booster.sessions() == []


async def test_a_check_that_can_never_run_is_refused_at_once() -> None:
    async with a_booster() as booster:
        with pytest.raises(CheckError, match=r"checks\[0\]"):
            await booster.solve(TASK, checks=[{"kind": "regex", "value": "("}])

        assert await booster.sessions() == []


async def test_options_that_nobody_knows_are_named_with_the_nearest_one() -> None:
    async with a_booster(scripted(answer=answer("4"))) as booster:
        result = await booster.solve(TASK, config={"numCandidatez": 3, "scheduler": "system1"})

    assert any("numCandidatez" in warning and "numCandidates" in warning for warning in result.warnings)
    assert result.answer == "4"


PRICE = Price.model_validate({"inputPerMTok": 1, "outputPerMTok": 1})


@pytest.mark.parametrize(
    ("options", "known", "unknown"),
    [
        ({}, [], "own"),
        ({"fast_model": "small"}, ["small"], "own"),
        ({"strong_model": "large"}, ["large"], "own"),
        ({"fast_model": "small", "strong_model": "large"}, ["small"], "large"),
        ({"models": ["a", "b"]}, ["a"], "b"),
    ],
)
async def test_a_money_budget_needs_the_price_of_every_model_that_may_be_asked(
    options: dict[str, Any], known: list[str], unknown: str
) -> None:
    provider = ScriptedProvider(scripted(answer=answer("4")), default_model="own")
    budget = Budget(cost_usd=1)
    async with a_booster(providers=[provider], prices=dict.fromkeys(known, PRICE)) as booster:
        with pytest.raises(UsageError, match=f"'{unknown}'.*`prices`"):
            await booster.solve(TASK, budget=budget, **options)
        assert (provider.calls, await booster.sessions()) == ([], [])
    async with a_booster(providers=[provider], prices=dict.fromkeys([*known, unknown], PRICE)) as booster:
        assert (await booster.solve(TASK, budget=budget, scheduler="system1", **options)).answer == "4"


async def test_a_price_may_stand_under_the_id_without_its_provider() -> None:
    provider = ScriptedProvider(scripted(answer=answer("4")), default_model="vendor/own")
    async with a_booster(providers=[provider], prices={"own": PRICE}) as booster:
        assert (await booster.solve(TASK, budget=Budget(cost_usd=1), scheduler="system1")).answer == "4"


async def test_the_price_of_a_model_that_only_stands_in_is_needed_too() -> None:
    providers = [ScriptedProvider([], name=name, default_model=name) for name in ("local", "mcp")]
    async with a_booster(providers=providers, prices={"local": PRICE, "named": PRICE}) as booster:
        with pytest.raises(UsageError, match="'mcp'"):
            await booster.solve(TASK, budget=Budget(cost_usd=1), strong_model="named", fast_model="named")


# What breaks


async def test_the_next_source_answers_and_the_result_says_so() -> None:
    error = ConfigurationError("401: the key is wrong", kind="invalid_api_key", status=401)
    first = ScriptedProvider(lambda call: error, name="cerebras", default_model="a")
    second = ScriptedProvider(scripted(answer=answer("4")), name="local", default_model="b")
    async with a_booster(providers=[first, second]) as booster:
        result = await booster.solve(TASK, scheduler="system1")

    assert (result.status, result.answer, result.degraded) == ("done", "4", True)
    assert "later source" in result.degraded_reasons[0]
    assert (result.diagnostics["provider"], result.steps[0].provider) == ("local", "local")


def test_every_attempt_counts_and_the_retried_call_brings_its_answer() -> None:
    async def scenario() -> SolveResult:
        rate_limit = TransientError("429", kind="rate_limit", status=429, retry_after=30.0)
        async with a_booster([rate_limit, TransientError("500", kind="http_500"), answer("4")]) as booster:
            return await booster.solve(TASK, scheduler="system1")

    result = run_virtual(scenario)

    assert (result.answer, result.usage["calls"]) == ("4", 3)
    assert [result.diagnostics[name] for name in ("totalCalls", "successes", "failureCount")] == [3, 1, 2]
    assert result.usage["seconds"] >= 30


async def test_a_listener_that_stumbles_costs_the_solve_nothing() -> None:
    loop = asyncio.get_running_loop()
    complaints: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _, context: complaints.append(context))

    def stumbling(event: Event) -> None:
        raise ZeroDivisionError

    async with a_booster(scripted(answer=answer("4"))) as booster:
        result = await booster.solve(TASK, scheduler="system1", listener=stumbling)

    assert result.answer == "4"


async def test_a_broken_part_ends_the_session_as_failed_and_it_can_go_on() -> None:
    class Broken:
        name = "broken"
        works = False

        async def verify(self, candidate: Any, context: Any) -> Any:
            if not self.works:
                raise ZeroDivisionError("a bug")
            return candidate

    part = Broken()
    async with a_booster(scripted(answer=answer("4"))) as booster:
        booster._worker._verifiers = (part,)
        with pytest.raises(ZeroDivisionError):
            await booster.solve(TASK, scheduler="system1")
        ((listed,)) = await booster.sessions()
        failed = await booster.result(listed["sessionId"])
        assert (failed.status, failed.stop_reason) == ("failed", "error")
        assert failed.degraded_reasons[0] == "ZeroDivisionError: a bug"

        part.works = True
        assert (await booster.resume(failed.session_id)).answer == "4"


async def test_a_journal_that_fails_stops_the_solve_before_it_pays_on() -> None:
    """What cannot be recorded must not be bought."""
    provider = ScriptedProvider(STEP_BY_STEP)
    async with a_booster(providers=[provider]) as booster:
        keep = booster.journal.enqueue  # type: ignore[attr-defined]
        left = 7

        def failing(write: Any) -> Any:
            nonlocal left
            left -= 1
            if left >= 0:
                return keep(write)
            future = asyncio.get_running_loop().create_future()
            future.set_exception(JournalError("the disk is full"))
            return future

        booster.journal.enqueue = failing  # type: ignore[attr-defined]
        with pytest.raises(JournalError, match="the disk is full"):
            await booster.solve(TASK, scheduler="seed")

    assert len(provider.calls) <= 3


async def test_a_session_that_cannot_be_stored_is_not_begun() -> None:
    provider = ScriptedProvider(STEP_BY_STEP)
    async with a_booster(providers=[provider]) as booster:

        def failing(write: Any) -> Any:
            future = asyncio.get_running_loop().create_future()
            future.set_exception(JournalError("the disk is full"))
            return future

        booster.journal.enqueue = failing  # type: ignore[attr-defined]
        with pytest.raises(JournalError, match="the disk is full"):
            await booster.begin(TASK, scheduler="seed")
        assert not booster._runs

    assert provider.calls == []


async def test_what_was_learnt_and_cannot_be_saved_costs_no_answer() -> None:
    async with a_booster(scripted(answer=answer("4"))) as booster:

        async def failing(*_: Any) -> int:
            raise JournalError("the disk is full")

        booster.journal.save_state = failing  # type: ignore[assignment, method-assign]
        assert (await booster.solve(TASK, num_candidates=3)).answer == "4"


# The document


async def test_the_document_of_a_reply_of_a_million_characters_stays_small() -> None:
    huge, large = "four litres " * 90_000, "four litres " * 5_000
    lines = iter([huge, *[answer("4 " + large, rationale=large)] * 3])
    async with a_booster(lambda call: next(lines)) as booster:
        result = await booster.solve(TASK, scheduler="system2", num_candidates=4)
        full = await booster.result(result.session_id, full=True)

    for document in (bounded(result.to_dict()), bounded(full.to_dict())):
        assert len(json.dumps(document, ensure_ascii=False)) < 50_000
        assert "more characters" in document["answer"]
    assert result.to_dict()["answer"] == result.answer, "what is kept is whole"
    assert len(full.diagnostics["rawSamples"]) == 4
    assert "rawSamples" not in result.diagnostics


async def test_every_document_is_plain_json_without_nan() -> None:
    async with a_booster(STEP_BY_STEP) as booster:
        result = await booster.solve(TASK, iterations=3, granularity="step", w_rules=0, w_redundancy=0, w_consistency=0)

    assert json.loads(result.to_json()) == json.loads(json.dumps(result.to_dict(), allow_nan=False))
    for step in result.to_dict()["steps"]:
        assert {"rulesScore", "redundancyScore", "consistencyScore", "totalScore"} == set(step["score"])
        assert step["decision"]["mode"] in ("system1", "system2")


async def test_sources_are_described_without_keys() -> None:
    async with a_booster(STEP_BY_STEP) as booster:
        assert booster.describe_sources() == [{"provider": "simulated", "model": "simulated/script", "url": ""}]
        assert "CEREBRAS_API_KEY" in booster.advice()


async def test_the_simulated_model_can_be_asked_for_by_name() -> None:
    async with a_booster() as booster:
        result = await booster.solve("What is 12 + 30?", provider="simulated", iterations=1)
        again = await booster.solve("What is 12 + 30?", provider="simulated", iterations=1)

    assert result.simulated
    assert again.simulated
    assert "SIMULATED" in result.to_text()


# Checks that run code


@needs_bubblewrap
async def test_a_check_that_runs_code_verifies_where_the_process_allows_it() -> None:
    async with a_booster(scripted(answer=answer("42")), allow_code=True) as booster:
        result = await booster.solve(TASK, scheduler="system2", checks=[Check.python("int(answer) == 6 * 7")])

    assert (result.answer, result.answer_status) == ("42", "verified")


async def test_without_leave_no_code_is_run_and_nothing_is_verified_by_it() -> None:
    """A call cannot give the leave: the option belongs to the process."""
    async with a_booster(scripted(answer=answer("42"))) as booster:
        checks = [Check.python("int(answer) == 6 * 7")]
        result = await booster.solve(TASK, scheduler="system2", checks=checks, config={"allowCode": True})

    assert (result.answer, result.answer_status) == ("42", "agreed")
    ignored, not_run = result.warnings
    assert "'allowCode' is ignored" in ignored or '"allowCode" is ignored' in ignored
    assert not_run == "check check1 (python): code checks are off; set allowCode in the server's config; it is not run"
    assert [check["ran"] for check in result.checks] == [False]
