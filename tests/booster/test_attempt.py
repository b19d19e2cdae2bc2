"""One attempt at a step: any k of N."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from booster.asking import PATIENCE_FACTOR, PATIENCE_FLOOR, any_of
from booster.attempt import attempt_step, final_answer, run_beam, verified_steps, with_templates
from booster.parts import Attempt
from booster.search import Choice, choose_step
from booster.session import Decision, Problem, Session
from providers.errors import BadReplyError, CallCancelled, TransientError
from providers.scripted import ScriptedProvider
from providers.types import Call, Reply
from tests.builders import CHEAP, a_candidate, a_session, opened
from tests.solving import DISTINCT, answer, some_parts, steps
from tests.virtual_clock import run_virtual
from verifier.types import Check

HANGING = None


def five(**config: Any) -> Session:
    """Return a session that wants five whole answers side by side."""
    return a_session(config={"numCandidates": 5, **config})


def others() -> set["asyncio.Task[Any]"]:
    """Return the tasks that run beside the present one."""
    return asyncio.all_tasks() - {asyncio.current_task()}


@pytest.mark.parametrize(
    "bad",
    [
        HANGING,
        TransientError("503", kind="http_503"),
        BadReplyError("an HTML page", kind="html"),
        "no answer in sight",
        "",
        "{" * 5000,
        '{"answer": ' + '"x' * 5000,
    ],
    ids=["hanging", "failing", "unreadable", "an abstention", "blank", "deeply nested", "cut off"],
)
def test_one_bad_candidate_costs_its_siblings_nothing(bad: Any) -> None:
    """Four of five answers arrive, whatever the first call does."""
    provider = ScriptedProvider([bad, *[answer("42")] * 4], delay=1.0)

    async def scenario() -> Attempt:
        return await attempt_step(five(), opened("answer"), some_parts(provider))

    attempt = run_virtual(scenario)

    assert [one.proposal.answer for one in attempt.candidates] == ["42"] * 4
    assert len(provider.calls) == 5


def test_stragglers_are_withdrawn_and_nothing_keeps_running() -> None:
    """The fifth call hangs; patience is three times what most took."""

    async def scenario() -> tuple[Attempt, float, int]:
        provider = ScriptedProvider([answer("42")] * 4 + [HANGING], delay=10.0)
        attempt = await attempt_step(five(), opened("answer"), some_parts(provider))
        return attempt, asyncio.get_running_loop().time(), len(others())

    attempt, took, running = run_virtual(scenario)

    assert len(attempt.answers) == 4
    assert took == pytest.approx(10.0 + PATIENCE_FACTOR * 10.0)
    assert running == 0


def test_fast_siblings_leave_stragglers_at_least_the_floor() -> None:
    async def scenario() -> float:
        provider = ScriptedProvider([answer("42")] * 4 + [HANGING], delay=0.01)
        await attempt_step(five(), opened("answer"), some_parts(provider))
        return asyncio.get_running_loop().time()

    assert run_virtual(scenario) == pytest.approx(0.01 + PATIENCE_FLOOR)


def test_failed_siblings_do_not_hold_up_the_withdrawal_of_a_straggler() -> None:
    """Two failed and two landed: the one that hangs is the minority of those that can still land."""

    async def scenario() -> float:
        error = TransientError("503", kind="http_503")
        provider = ScriptedProvider([error, error, answer("1"), answer("1"), HANGING], delay=1.0)
        await attempt_step(five(), opened("answer"), some_parts(provider))
        return asyncio.get_running_loop().time()

    assert run_virtual(scenario) == pytest.approx(1.0 + 3.0)


def test_failures_alone_never_make_anybody_impatient() -> None:
    """Four calls fail at once; the fifth, slow one is still waited for."""

    async def scenario() -> tuple[list[str], list[str]]:
        async def failing() -> str:
            raise TransientError("503", kind="http_503")

        async def slow() -> str:
            await asyncio.sleep(50)
            return "landed"

        landed, failures = await any_of([failing(), failing(), failing(), failing(), slow()], some_parts(None))
        return landed, [error.kind for error in failures]

    assert run_virtual(scenario) == (["landed"], ["http_503"] * 4)


def test_the_deadline_answers_with_what_has_landed() -> None:
    async def scenario() -> tuple[Attempt, float, int]:
        provider = ScriptedProvider([answer("42"), HANGING, HANGING, HANGING, HANGING], delay=1.0)
        attempt = await attempt_step(five(), opened("answer"), some_parts(provider, deadline=5.0))
        return attempt, asyncio.get_running_loop().time(), len(others())

    attempt, now, running = run_virtual(scenario)

    assert [one.answer for one in attempt.answers] == ["42"]
    assert (now, running) == (5.0, 0)


def test_after_the_deadline_nothing_is_waited_for() -> None:
    async def scenario() -> tuple[Attempt, float]:
        await asyncio.sleep(10)
        provider = ScriptedProvider([answer("42")] * 5, delay=1.0)
        attempt = await attempt_step(a_session(), opened("answer"), some_parts(provider, deadline=5.0))
        return attempt, asyncio.get_running_loop().time()

    assert run_virtual(scenario) == (Attempt(), 10.0)


def test_cancellation_leaves_no_task_behind() -> None:
    async def scenario() -> int:
        provider = ScriptedProvider([HANGING] * 5)
        work = asyncio.create_task(attempt_step(a_session(), opened("answer"), some_parts(provider)))
        await asyncio.sleep(1)
        work.cancel()
        await asyncio.wait({work})
        assert work.cancelled()
        return len(others())

    assert run_virtual(scenario) == 0


def test_a_bug_is_raised_and_ends_the_siblings() -> None:
    async def scenario() -> None:
        async def broken() -> int:
            raise ZeroDivisionError

        async def hanging() -> int:
            await asyncio.get_running_loop().create_future()
            return 1

        jobs: list[Coroutine[Any, Any, int]] = [hanging(), broken(), hanging()]
        with pytest.raises(ZeroDivisionError):
            await any_of(jobs, some_parts(None))
        assert others() == set()

    run_virtual(scenario)


def test_a_budget_for_three_of_five_brings_three() -> None:
    provider = ScriptedProvider([answer("42")] * 5)

    async def scenario() -> Attempt:
        return await attempt_step(five(), opened("answer"), some_parts(provider, calls=3))

    attempt = run_virtual(scenario)

    assert len(attempt.answers) == len(provider.calls) == 3
    assert attempt.failed == ("calls", "calls")


def test_abstentions_are_kept_apart_from_blank_replies() -> None:
    async def scenario() -> Attempt:
        provider = ScriptedProvider(["I would begin with the jug.", "  "])
        return await attempt_step(a_session(config={"numCandidates": 2}), opened("answer"), some_parts(provider))

    attempt = run_virtual(scenario)

    assert [(one.answer, one.blank) for one in attempt.answers] == [(None, False), (None, True)]
    assert attempt.heard


def test_system_1_asks_the_fast_model_once() -> None:
    provider = ScriptedProvider([answer("42")])
    session = a_session(config={"fastModel": "small"})

    async def scenario() -> Attempt:
        return await attempt_step(session, opened("answer", CHEAP), some_parts(provider))

    run_virtual(scenario)

    assert [(call.model, call.step_key) for call in provider.calls] == [("small", "it1/s1/answer1")]


def test_whole_answers_come_from_several_models_in_turn() -> None:
    provider = ScriptedProvider([answer("42")] * 5)
    session = five(models=["a", "b"])

    async def scenario() -> Attempt:
        return await attempt_step(session, opened("answer"), some_parts(provider))

    run_virtual(scenario)

    assert [call.model for call in provider.calls] == ["a", "b", "a", "b", "a"]
    assert len({call.step_key for call in provider.calls}) == 5


def test_without_a_fast_model_system_1_takes_the_first_of_several() -> None:
    provider = ScriptedProvider([answer("42")])

    async def scenario() -> Attempt:
        session = a_session(config={"models": ["a", "b"]})
        return await attempt_step(session, opened("answer", CHEAP), some_parts(provider))

    run_virtual(scenario)

    assert [call.model for call in provider.calls] == ["a"]


def test_steps_come_from_one_reply_which_is_charged_once() -> None:
    provider = ScriptedProvider([steps("Fill the jug", "Empty the pot", "Weigh the parcel")])

    async def scenario() -> Attempt:
        return await attempt_step(a_session(), opened(), some_parts(provider))

    attempt = run_virtual(scenario)

    assert [one.key for one in attempt.candidates] == [f"it1/s2/steps.{number}" for number in (1, 2, 3)]
    assert [bool(one.usage.tokens) for one in attempt.candidates] == [True, False, False]
    assert all(one.score for one in attempt.candidates)


def test_a_reply_without_a_list_is_asked_for_once_more_and_the_reason_kept() -> None:
    provider = ScriptedProvider(["I cannot decide.", steps("Fill the jug")])

    async def scenario() -> Attempt:
        return await attempt_step(a_session(), opened(), some_parts(provider))

    attempt = run_virtual(scenario)

    assert [one.key for one in attempt.candidates] == ["it1/s2/steps/again.1"]
    assert attempt.unusable == ("not_a_list",)
    assert provider.calls[1].messages[-2] == {"role": "assistant", "content": "I cannot decide."}


@pytest.mark.parametrize(
    ("line", "reasons"),
    [
        ("Hmm.", ("not_a_list", "not_a_list")),
        ("", ("empty", "empty")),
        ("<think>so long", ("thinking_truncated", "thinking_truncated")),
        (Reply(text="", model="m", provider="p", source="model", problem="refusal"), ("refusal",)),
    ],
)
def test_every_reply_without_a_step_has_a_typed_reason(line: Any, reasons: tuple[str, ...]) -> None:
    """A refusal is not asked again."""
    provider = ScriptedProvider([line, line])

    async def scenario() -> Attempt:
        return await attempt_step(a_session(), opened(), some_parts(provider))

    attempt = run_virtual(scenario)

    assert (attempt.candidates, attempt.unusable, attempt.heard) == ((), reasons, True)


def test_a_forced_system_1_never_asks_again() -> None:
    provider = ScriptedProvider(["Hmm."])
    forced = Decision(mode="system1", forced=True)

    async def scenario() -> Attempt:
        return await attempt_step(a_session(), opened(decision=forced), some_parts(provider))

    attempt = run_virtual(scenario)

    assert (attempt.unusable, attempt.failed) == (("not_a_list",), ())


def test_a_call_that_fails_leaves_its_kind() -> None:
    provider = ScriptedProvider(["Hmm.", TransientError("503", kind="http_503")])

    async def scenario() -> Attempt:
        return await attempt_step(a_session(), opened(), some_parts(provider))

    attempt = run_virtual(scenario)

    assert (attempt.candidates, attempt.unusable, attempt.failed) == ((), ("not_a_list",), ("http_503",))


def test_templates_are_the_last_rung_and_say_so() -> None:
    async def scenario() -> Attempt:
        parts = some_parts(None)
        attempt = await attempt_step(a_session(), opened(), parts)
        assert (attempt.heard, attempt.failed) == (False, ("no_provider",))
        return await with_templates(a_session(), opened(), attempt, parts)

    attempt = run_virtual(scenario)

    assert {one.source for one in attempt.candidates} == {"heuristic"}
    assert len({one.proposal.text for one in attempt.candidates}) == 5
    assert all(one.proposal.answer is None for one in attempt.candidates)


def test_where_money_or_candidates_decide_there_are_no_templates() -> None:
    async def scenario() -> None:
        spent = some_parts(None, calls=0)
        brought = Attempt(candidates=(a_candidate(),))
        assert await with_templates(a_session(), opened(), Attempt(), spent) == Attempt()
        assert await with_templates(a_session(), opened(), brought, some_parts(None)) == brought

    run_virtual(scenario)


def test_step_checks_are_not_run_on_whole_answers() -> None:
    checks = (
        Check(kind="contains", value="metres", target="step", id="unit"),
        Check(kind="numeric", value=42, id="right"),
    )
    session = a_session(problem=Problem(task="t", checks=checks))
    provider = ScriptedProvider([answer("42"), steps("Count the metres", "Rest")])

    async def scenario() -> tuple[Attempt, Attempt]:
        parts = some_parts(provider)
        return (
            await attempt_step(session, opened("answer", CHEAP), parts),
            await attempt_step(session, opened("step", iteration=2), parts),
        )

    whole, single = run_virtual(scenario)

    assert [check.check_id for check in whole.candidates[0].checks] == ["right"]
    assert [one.checks[0].outcome for one in single.candidates] == ["pass", "fail"]


def test_what_a_beam_assumes_counts_as_said() -> None:
    """The child of a branch is a repetition of the branch's own head, though nothing was applied yet."""

    async def scenario() -> float:
        (repeated,) = await verified_steps(
            a_session(), [a_candidate("Fill the jug")], some_parts(None), ["Fill the jug"]
        )
        assert repeated.score is not None
        return repeated.score.redundancy

    assert run_virtual(scenario) == -0.5


def beam_session(**config: Any) -> Any:
    """Return a session with a beam."""
    return a_session("Measure four litres", config={"beamWidth": 2, "topM": 2, "beamDepth": 2, **config})


@pytest.mark.parametrize("line", [steps("Carry on with litres"), "Hmm."])
@pytest.mark.parametrize(("width", "depth", "top"), [(1, 2, 2), (2, 2, 2), (2, 4, 2), (4, 3, 4), (3, 4, 5)])
def test_a_beam_costs_at_most_width_times_depth_minus_one_calls(width: int, depth: int, top: int, line: str) -> None:
    """Also where no reply holds a step: a beam never asks twice."""
    choice = choose_step([a_candidate(text) for text in DISTINCT[:5]], [], [])
    session = beam_session(beamWidth=width, beamDepth=depth, topM=top)
    provider = ScriptedProvider(lambda call: line)

    async def scenario() -> None:
        await run_beam(session, opened(), choice, some_parts(provider))

    run_virtual(scenario)

    assert 0 < len(provider.calls) <= width * (depth - 1)
    assert len({call.step_key for call in provider.calls}) == len(provider.calls)


def test_the_beam_finds_the_head_that_greed_would_miss() -> None:
    """The better-looking head leads only to vague steps; the other one leads on."""
    greedy, patient = a_candidate("Fill the litres jug", total=0.30), a_candidate("Weigh a parcel", total=0.29)

    def script(call: Call) -> str:
        if "Fill the litres jug" in str(call.messages[-1]["content"]):
            return steps("Obviously, clearly, trivial without proof")
        return steps("Pour four litres back")

    async def scenario() -> str:
        provider = ScriptedProvider(script)
        choice = choose_step([greedy, patient], [], [])
        beamed = await run_beam(beam_session(), opened(), choice, some_parts(provider))
        assert choice.winner is greedy
        assert beamed.winner is not None
        return beamed.winner.proposal.text

    assert run_virtual(scenario) == "Weigh a parcel"


def test_a_judge_values_each_distinct_state_as_often_as_its_depth_says() -> None:
    """Two of three heads end in the same state; the judge likes what the scores do not."""
    heads = [
        a_candidate("Fill the litres jug", total=0.9),
        a_candidate("fill  the LITRES jug", total=0.8, key="same"),
        a_candidate("Weigh a parcel", total=0.1),
    ]

    def script(call: Call) -> str:
        if call.role != "judge":
            return steps("Go on with it")
        return '{"score": 9}' if "Weigh a parcel" in str(call.messages[-1]["content"]) else '{"score": 2}'

    async def scenario() -> tuple[list[str], str, int]:
        provider = ScriptedProvider(script)
        session = beam_session(beamWidth=[1, 1], valueCalls=[3, 1], judgeModel="judge", numCandidates=3, topM=3)
        choice = Choice(winner=heads[0], ranked=tuple(heads), contenders=tuple(heads))
        beamed = await run_beam(session, opened(), choice, some_parts(provider))
        assert beamed.winner is not None
        asked = [call.step_key for call in provider.calls if call.role == "judge"]
        return asked, beamed.winner.proposal.text, len(provider.calls)

    asked, winner, calls = run_virtual(scenario)

    assert len(asked) == len(set(asked)) == 2 * 3
    assert (winner, calls) == ("Weigh a parcel", 6 + 1)


def test_a_judge_that_fails_leaves_a_beam_to_the_scores() -> None:
    heads = [a_candidate("Fill the litres jug", total=0.9), a_candidate("Weigh a parcel", total=0.1)]

    async def scenario() -> str:
        provider = ScriptedProvider(lambda call: "I cannot say" if call.role == "judge" else steps("Go on with it"))
        choice = Choice(winner=heads[0], ranked=tuple(heads), contenders=tuple(heads))
        beamed = await run_beam(beam_session(valueCalls=1), opened(), choice, some_parts(provider))
        assert beamed.winner is not None
        return beamed.winner.proposal.text

    assert run_virtual(scenario) == "Fill the litres jug"


def test_the_branches_of_a_beam_run_side_by_side_and_end_together() -> None:
    heads = [a_candidate("Fill the jug"), a_candidate("Weigh a parcel")]

    async def scenario() -> tuple[float, int]:
        provider = ScriptedProvider([steps("Pour four litres"), steps("Send it off")], delay=10.0)
        parts = some_parts(provider)
        await run_beam(beam_session(), opened(), choose_step(heads, [], []), parts)
        took = asyncio.get_running_loop().time()

        hanging = asyncio.create_task(
            run_beam(beam_session(), opened(), choose_step(heads, [], []), some_parts(ScriptedProvider([None, None])))
        )
        await asyncio.sleep(1)
        hanging.cancel()
        await asyncio.wait({hanging})
        return took, len(others())

    assert run_virtual(scenario) == (10.0, 0)


def test_a_banned_step_is_no_head_of_a_beam() -> None:
    banned, other, third = (
        a_candidate("Fill the jug", total=0.9),
        a_candidate("Weigh a parcel"),
        a_candidate("Rest well"),
    )

    async def scenario() -> list[str]:
        provider = ScriptedProvider([steps("Go on"), steps("Go on")])
        await run_beam(
            beam_session(), opened(), choose_step([banned, other, third], [], ["Fill the jug"]), some_parts(provider)
        )
        return [str(call.messages[-1]["content"]) for call in provider.calls]

    assert not any("1. Fill the jug" in prompt for prompt in run_virtual(scenario))


def test_the_finalisation_is_one_call_or_nothing() -> None:
    session = a_session(steps=["Fill the jug"], iteration=3)

    async def scenario() -> None:
        provider = ScriptedProvider([answer("4"), CallCancelled("gone", kind="cancelled")])
        parts = some_parts(provider)
        first, second = await final_answer(session, parts), await final_answer(session, parts)
        assert first is not None
        assert (first.key, first.answer, first.origin, second) == ("it3/final", "4", "final", None)
        assert [call.role for call in provider.calls] == ["finalize", "finalize"]

    run_virtual(scenario)
