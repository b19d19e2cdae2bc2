"""Drawing whole answers: how many calls, in how many rounds, and when no more of them."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from booster.answer_state import AnswerState
from booster.asking import PATIENCE_FLOOR
from booster.attempt import attempt_step
from booster.cascade_state import CascadeState
from booster.drawing import most_samples
from booster.lessons import learn
from booster.pair import pair_of
from booster.parts import Attempt, Forgetful, Parts
from booster.session import Budget, Draw, Problem, Session
from booster.solve import solve
from providers.errors import RejectedError
from providers.scripted import Line, ScriptedProvider
from providers.types import Call
from tests.builders import CHEAP, a_session, opened
from tests.solving import AJudgement, answer, kind_of, scripted, some_parts, steps
from tests.virtual_clock import run_virtual
from verifier.types import Check

FAILING = RejectedError("400", kind="http_400")
PRICES = {"small": (1.0, 1.0), "large": (20.0, 20.0)}
PAIR = {"fastModel": "small", "strongModel": "large"}


def drawn(
    lines: Sequence[Line],
    *,
    delay: float = 1.0,
    calls: int | None = None,
    session: Session | None = None,
    **config: Any,
) -> tuple[Attempt, Draw, list[Call], float]:
    """Draw the answers of one System 2 attempt on a virtual clock; return it, how, the calls and the seconds it took."""

    async def scenario() -> tuple[Attempt, list[Call], float]:
        provider = ScriptedProvider(lines, delay=delay)
        asked = session or a_session(config=config)
        attempt = await attempt_step(asked, opened("answer"), some_parts(provider, calls=calls))
        return attempt, provider.calls, asyncio.get_running_loop().time()

    attempt, made, took = run_virtual(scenario)
    return attempt, attempt.draw or Draw(rule="waves", samples=0, cap=0), made, took


def said(*texts: str) -> list[Line]:
    return [answer(text) for text in texts]


def test_three_equal_answers_are_enough() -> None:
    """One round of three calls; nothing else is asked."""
    _, draw, calls, took = drawn(said("4", "4", "4"))

    assert [call.step_key for call in calls] == [f"it1/s2/answer{number}" for number in (1, 2, 3)]
    assert (draw.rule, draw.samples, draw.waves, draw.stopped, draw.lead) == ("waves", 3, 1, "clear", 3)
    assert took == 1.0


def test_where_the_first_answers_differ_waves_of_four_follow() -> None:
    _, draw, calls, took = drawn(said("4", "4", "5", "4", "4", "4", "6"))

    assert (len(calls), draw.waves, draw.stopped, took) == (7, 2, "clear", 2.0)


def test_with_single_calls_nothing_is_drawn_that_the_rule_might_not_need() -> None:
    _, draw, calls, took = drawn(said("4", "4", "5", "4", "4"), waveSize=1)

    assert (len(calls), draw.samples, draw.stopped) == (5, 5, "clear")
    assert took == 2.0  # three without which nothing can be clear, then two without which nothing can be clear again


@pytest.mark.parametrize(("lead", "calls"), [(2, 2), (3, 3), (4, 4)])
def test_the_lead_says_how_careful_a_vote_is(lead: int, calls: int) -> None:
    _, _, made, _ = drawn(said(*"4444"), lead=lead, waveSize=1, granularity="answer")

    assert len(made) == calls


def test_samples_are_never_exceeded() -> None:
    numbers = [str(number) for number in range(50)]

    _, draw, calls, _ = drawn(said(*numbers), samples=10)

    assert (len(calls), draw.samples, draw.stopped, draw.cap) == (10, 10, "cap", 10)


def test_failed_calls_count_as_drawn() -> None:
    """Else a model that fails half of the time would be asked twice as often as was allowed."""
    lines: list[Line] = [FAILING if number % 2 else answer(str(number)) for number in range(50)]

    attempt, draw, calls, _ = drawn(lines, samples=10)

    assert (len(calls), draw.samples, len(attempt.failed)) == (10, 5, 5)


@pytest.mark.parametrize("calls", range(1, 9))
def test_a_budget_smaller_than_a_wave_asks_for_no_more_than_it_pays(calls: int) -> None:
    """No call is opened that the ledger would refuse."""
    attempt, draw, made, _ = drawn(said(*"123456789"), calls=calls)

    assert len(made) <= calls
    assert (attempt.failed, draw.samples) == ((), len(made))


def test_a_small_budget_makes_the_rule_less_demanding() -> None:
    """Of five calls, two equal answers are as clear as it gets."""
    _, draw, made, _ = drawn(said("4", "4", "5"), calls=5, waveSize=1)

    assert (len(made), draw.stopped, draw.cap) == (2, "clear", 5)


def test_where_steps_may_follow_half_of_the_calls_are_left_for_them() -> None:
    session = a_session(budget=Budget(calls=12))

    assert most_samples(session) == 6
    assert most_samples(a_session(budget=Budget(calls=12), config={"granularity": "answer"})) == 12 + 8
    assert most_samples(replace(session, iterations=1)) == 20
    assert most_samples(a_session(budget=Budget(calls=None))) == 20


def test_a_straggler_votes_if_it_lands_before_the_answer_is_returned() -> None:
    """Two of five calls can settle it; the third, on its way, is paid for and gets the patience that is due to it."""

    async def scenario() -> tuple[Attempt, float]:
        def line(call: Call) -> Line:
            return answer("5" if call.step_key.endswith("3") else "4")

        class Late(ScriptedProvider):
            async def send(self, call: Call) -> Any:
                if call.step_key.endswith("3"):
                    await asyncio.sleep(PATIENCE_FLOOR / 2)
                return await super().send(call)

        attempt = await attempt_step(a_session(), opened("answer"), some_parts(Late(line, delay=0.1), calls=5))
        return attempt, asyncio.get_running_loop().time()

    attempt, took = run_virtual(scenario)

    assert [one.answer for one in attempt.answers][:3] == ["4", "4", "5"]
    assert took >= PATIENCE_FLOOR / 2


def test_a_straggler_that_hangs_does_not_hold_a_clear_vote_up_for_ever() -> None:
    attempt, draw, _, took = drawn([answer("4"), answer("4"), None], calls=5, delay=1.0)

    assert ([one.answer for one in attempt.answers], draw.stopped) == (["4", "4"], "clear")
    assert took == 1.0 + 3.0


@pytest.mark.parametrize(("line", "stopped"), [(FAILING, ""), ("Hmm.", "unreadable")])
def test_a_first_wave_that_brings_no_answer_is_the_last(line: Line, stopped: str) -> None:
    attempt, _, calls, _ = drawn([line] * 20)

    assert len(calls) == 3
    assert (attempt.draw.stopped if attempt.draw else "") == stopped


def test_an_answer_that_holds_the_checks_ends_the_drawing() -> None:
    session = a_session(problem=Problem(task="t", checks=(Check(kind="numeric", value=42, id="right"),)))

    _, draw, calls, _ = drawn(said("41", "42", "43"), session=session)

    assert (len(calls), draw.stopped) == (3, "check")


def test_equal_answers_that_fail_a_check_end_the_drawing_too() -> None:
    """More of the same would help nobody; steps with a hint may."""
    session = a_session(problem=Problem(task="t", checks=(Check(kind="numeric", value=42, id="right"),)))

    _, draw, calls, _ = drawn(said("41", "41", "41"), session=session)

    assert (len(calls), draw.stopped) == (3, "clear")


def test_where_no_steps_may_follow_answers_that_fail_a_check_do_not_end_the_drawing() -> None:
    session = a_session(
        problem=Problem(task="t", checks=(Check(kind="numeric", value=42, id="right"),)),
        config={"granularity": "answer", "iterations": 1},
    )

    _, draw, calls, _ = drawn(said("41", "41", "41", "41", "42", "42", "42"), session=session)

    assert (len(calls), draw.stopped) == (7, "check")


@pytest.mark.parametrize("config", [{"numCandidates": 6}, {"select": "score"}, {"select": "vote", "numCandidates": 5}])
def test_a_number_that_was_asked_for_is_drawn_at_once(config: Mapping[str, Any]) -> None:
    _, draw, calls, took = drawn(said(*"444444"), **config)

    assert (len(calls), draw.rule, took) == (config.get("numCandidates", 5), "at_once", 1.0)


def test_what_was_drawn_is_told_with_its_price() -> None:
    _, draw, _, _ = drawn(said("4", "4", "4"))

    assert draw.tokens > 0
    assert draw.cost_usd is None


# A cheap and a strong model


def cascaded(
    script: Any,
    *,
    state: AnswerState | None = None,
    calls: int | None = None,
    session: Session | None = None,
    **config: Any,
) -> tuple[Session, list[Call]]:
    """Run the loop where the scheduler says System 1 and two models are named."""

    async def scenario() -> tuple[Session, list[Call]]:
        provider = ScriptedProvider(script)
        parts: Parts = replace(
            some_parts(provider, judgement=AJudgement(CHEAP), calls=calls),
            prices=PRICES,
            memory=Forgetful(state=state or AnswerState()),
        )
        asked = session or a_session(config={**PAIR, **config})
        return await solve(asked, parts), provider.calls

    return run_virtual(scenario)


def trusting(votes: int = 3) -> AnswerState:
    """Return a state that has seen the strong model agree with the cheap one, again and again."""
    learnt = CascadeState()
    for _ in range(60):
        for j in range(1, votes + 1):
            learnt = learnt.saw_strong((j,), True)
    return AnswerState(cascades={"small>large": learnt})


def test_cheap_answers_are_drawn_while_they_agree_and_then_stand() -> None:
    """Nothing is known yet: one is not enough at these prices, and the strong model is dearer than another cheap one."""
    ended, calls = cascaded(scripted(answer=answer("4")))

    assert {call.model for call in calls} == {"small"}
    assert 2 <= len(calls) <= 3
    assert ended.conclusion is not None
    assert (ended.conclusion.answer, ended.conclusion.stop_reason) == ("4", "answered")
    draw = ended.history[0].draw
    assert draw is not None
    assert (draw.rule, draw.move["action"], draw.move["why"]) == ("cascade", "stop", "plan")
    assert draw.move["prices"]["unit"] == "usd"


def test_where_the_cheap_model_has_earned_trust_one_answer_is_enough() -> None:
    ended, calls = cascaded(scripted(answer=answer("4")), state=trusting())

    assert [call.step_key for call in calls] == ["it1/s1/answer1"]
    assert ended.conclusion is not None
    assert (ended.conclusion.answer, ended.conclusion.answer_status) == ("4", "unverified")


def test_cheap_answers_that_differ_bring_one_call_of_the_strong_model_whose_answer_stands() -> None:
    numbers = iter(["4", "5", "9"])

    ended, calls = cascaded(lambda call: answer(next(numbers)), granularity="answer")

    assert [call.model for call in calls] == ["small", "small", "large"]
    assert calls[-1].step_key == "it1/s2/answer1"
    assert ended.conclusion is not None
    assert (ended.conclusion.answer, ended.conclusion.answer_status) == ("9", "unverified")
    assert ended.steps[0].answer == "9"
    assert ended.history[0].escalated


def test_a_strong_answer_that_confirms_the_cheap_one_is_agreement() -> None:
    numbers = iter(["4", "5", "4"])

    ended, _ = cascaded(lambda call: answer(next(numbers)))

    assert ended.conclusion is not None
    assert (ended.conclusion.answer, ended.conclusion.answer_status) == ("4", "agreed")


def test_where_the_strong_model_contradicts_the_cheap_one_steps_may_follow() -> None:
    """A task on which they differ is a hard one; `auto` goes on with what it has learnt of the answer."""
    numbers = iter(["4", "5", "9"])
    script = scripted(answer=lambda call: answer(next(numbers)), steps=steps("Count", answer="9"))

    ended, calls = cascaded(script)

    assert [kind_of(call) for call in calls] == ["answer"] * 3 + ["steps"]
    assert ended.conclusion is not None
    assert ended.conclusion.answer == "9"


def test_a_first_answer_that_cannot_be_read_escalates_at_once() -> None:
    ended, calls = cascaded(lambda call: "Hmm." if call.model == "small" else answer("4"), granularity="answer")

    assert [call.model for call in calls] == ["small", "large"]
    assert learn(AnswerState(), ended).cascade("small>large").labels == 0


def test_without_prices_tokens_are_weighed_and_that_is_said() -> None:
    async def scenario() -> tuple[Session, list[Call]]:
        provider = ScriptedProvider(scripted(answer=answer("4")))
        parts = some_parts(provider, judgement=AJudgement(CHEAP))
        return await solve(a_session(config={**PAIR, "granularity": "answer"}), parts), provider.calls

    ended, calls = run_virtual(scenario)

    assert [call.model for call in calls] == ["small", "large"]
    draw = ended.history[0].draw
    assert draw is not None
    assert draw.move["prices"]["unit"] == "tokens"


def test_an_escalation_that_cannot_be_paid_leaves_the_leader_and_says_so() -> None:
    ended, calls = cascaded(lambda call: answer("4"), calls=1)

    assert len(calls) == 1
    assert ended.conclusion is not None
    assert (ended.conclusion.answer, ended.conclusion.answer_status) == ("4", "unverified")
    draw = ended.history[0].draw
    assert draw is not None
    assert draw.move["why"] == "unaffordable"


@pytest.mark.parametrize(("right", "models"), [("4", ["small"]), ("9", ["small", "large"])])
def test_a_check_decides_alone(right: str, models: list[str]) -> None:
    problem = Problem(task="t", checks=(Check(kind="equals", value=right, id="right"),))
    session = a_session(config=PAIR, problem=problem)

    ended, calls = cascaded(lambda call: answer("4" if call.model == "small" else "9"), session=session)

    assert [call.model for call in calls] == models
    assert ended.conclusion is not None
    assert (ended.conclusion.answer, ended.conclusion.answer_status) == (right, "verified")


def test_a_strong_model_that_fails_leaves_the_cheap_answer_and_the_steps() -> None:
    """Nothing is lost: the solve goes on as it does without a cascade."""

    def script(call: Call) -> Line:
        if kind_of(call) == "answer":
            return FAILING if call.model == "large" else "4 it is. Final answer: 4"
        return steps("Count", answer="4")

    ended, _ = cascaded(lambda call: script(call), state=None, iterations=2)

    assert ended.conclusion is not None
    assert ended.conclusion.answer == "4"


def test_a_forced_system_1_is_one_call_with_two_models_as_well() -> None:
    _, calls = cascaded(scripted(answer=answer("4")), scheduler="system1")

    assert [call.model for call in calls] == ["small"]


def test_one_in_so_many_stops_is_audited_by_the_strong_model() -> None:
    """A counter decides: with a rate of one half, every second stop."""
    state, asked = trusting(), []
    for number in range(4):
        ended, calls = cascaded(scripted(answer=answer("4")), state=state, auditRate=0.5)
        asked.append([call.model for call in calls][-1])
        state = learn(state, replace(ended, id=f"ses_{number}"))

    assert asked == ["small", "large", "small", "large"]


def test_two_different_cheap_models_that_agree_are_agreement() -> None:
    used_to_agree = CascadeState()
    for _ in range(20):
        used_to_agree = used_to_agree.saw_next(1, True)
    ended, calls = cascaded(
        scripted(answer=answer("4")),
        session=a_session(config={"models": ["small", "other"], "strongModel": "large"}),
        state=AnswerState(cascades={"small+other>large": used_to_agree}),
    )

    assert [call.model for call in calls] == ["small", "other"]
    assert ended.conclusion is not None
    assert (ended.conclusion.answer, ended.conclusion.answer_status) == ("4", "agreed")


@pytest.mark.parametrize(
    ("config", "key"),
    [
        (PAIR, "small>large"),
        ({"models": ["a", "b", "c"], "strongModel": "large"}, "a+b>large"),
        ({"fastModel": "large", "strongModel": "large"}, None),
        ({"fastModel": "small"}, None),
        ({"strongModel": "large"}, None),
        ({"models": ["a", "b"]}, None),
    ],
)
def test_a_cascade_needs_a_cheap_and_a_strong_model(config: dict[str, Any], key: str | None) -> None:
    pair = pair_of(a_session(config=config).config)

    assert (pair.key if pair else None) == key
