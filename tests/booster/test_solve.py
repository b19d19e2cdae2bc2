"""The loop: what it spends, what it stops at, and what it may claim."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from booster.session import Budget, Decision, Session
from booster.solve import iterate, solve, stop_reason
from providers.errors import ConfigurationError, RejectedError
from providers.scripted import Line, ScriptedProvider
from providers.types import Call, Reply, Usage
from tests.builders import CHEAP, DEEP, a_candidate, a_check, a_session, an_answer, opened
from tests.solving import (
    DISTINCT,
    AJudgement,
    Script,
    a_booster,
    answer,
    fresh_steps,
    kind_of,
    scripted,
    some_parts,
    steps,
)
from tests.virtual_clock import run_virtual
from verifier.types import Check

Result = Any
Told = list[tuple[str, Mapping[str, Any]]]

FAILING = RejectedError("400", kind="http_400")


def solved(
    script: Script | None, task: str = "Measure 4 litres", *, delay: float = 0.0, **options: Any
) -> tuple[Result, list[Call], list[Any]]:
    """Solve on a virtual clock and return result, calls and events."""

    async def scenario() -> tuple[Result, list[Call], list[Any]]:
        provider = None if script is None else ScriptedProvider(script, delay=delay)
        events: list[Any] = []
        async with a_booster(providers=[provider] if provider else []) as booster:
            result = await booster.solve(task, listener=events.append, **options)
        return result, provider.calls if provider else [], events

    return run_virtual(scenario)


def looped(script: Script | None, session: Session, **parts: Any) -> tuple[Session, list[Call], Told]:
    """Run the loop alone, without a journal, and return the session, the calls and the events."""

    async def scenario() -> tuple[Session, list[Call], Told]:
        told: Told = []
        provider = None if script is None else ScriptedProvider(script)
        ended = await solve(session, some_parts(provider, events=told, **parts))
        return ended, provider.calls if provider else [], told

    return run_virtual(scenario)


def kinds(told: Any) -> list[str]:
    """Return the types of events."""
    return [event[0] if isinstance(event, tuple) else event.type for event in told]


# How much is spent


def test_a_forced_system_1_is_exactly_one_call() -> None:
    result, calls, _ = solved(scripted(answer=answer("42")), scheduler="system1")

    assert [kind_of(call) for call in calls] == ["answer"]
    assert (result.answer, result.answer_status, result.stop_reason) == ("42", "unverified", "answered")


@pytest.mark.parametrize("line", ["no answer here", "", FAILING])
def test_a_forced_system_1_stays_one_call_whatever_comes_of_it(line: Line) -> None:
    result, calls, _ = solved(scripted(answer=line), scheduler="system1")

    assert len(calls) == 1
    assert (result.answer, result.answer_status, result.stop_reason) == (None, "none", "iterations")


def test_a_forced_system_1_in_steps_is_one_call_a_step() -> None:
    """No finalisation either: it asked for exactly that."""
    result, calls, _ = solved(fresh_steps, scheduler="system1", granularity="step", iterations=3)

    assert [call.step_key for call in calls] == [f"it{number}/s1/steps" for number in (1, 2, 3)]
    assert [len(result.steps), result.stop_reason] == [3, "iterations"]


def test_a_whole_answer_by_system_2_is_n_calls_side_by_side() -> None:
    result, calls, _ = solved(scripted(answer=answer("42")), scheduler="system2", num_candidates=4)

    assert [kind_of(call) for call in calls] == ["answer"] * 4
    assert (result.answer_status, result.stop_reason, len(result.steps)) == ("agreed", "answered", 1)
    assert result.steps[0].answer == "42"


def test_answers_that_do_not_agree_lead_on_to_steps_and_one_call_for_the_answer() -> None:
    numbers = iter("12345")
    script = scripted(answer=lambda call: answer(next(numbers)), steps=fresh_steps, final=answer("9"))

    result, calls, _ = solved(script, scheduler="system2", iterations=4, num_candidates=5)

    assert [kind_of(call) for call in calls] == ["answer"] * 5 + ["steps"] * 3 + ["final"]
    assert (result.answer, result.answer_status, result.stop_reason) == ("9", "unverified", "iterations")
    assert [step.index for step in result.steps] == [0, 1, 2]


def test_a_single_iteration_takes_the_answer_that_there_is() -> None:
    numbers = iter("12345")
    script = scripted(answer=lambda call: answer(next(numbers)))
    result, calls, _ = solved(script, scheduler="system2", iterations=1, num_candidates=5)

    assert len(calls) == 5
    assert (result.answer, result.answer_status, result.stop_reason) == ("1", "unverified", "answered")


def test_a_step_with_an_answer_ends_the_solve_without_a_finalisation() -> None:
    result, calls, _ = solved(lambda call: steps("Count", answer="42"), scheduler="system2", granularity="step")

    assert (len(calls), result.answer, result.stop_reason) == (1, "42", "answered")


def test_the_seed_setting_is_the_seeds_behaviour() -> None:
    """Steps only, numCandidates of each, no escalation, nothing for the scheduler to decide or to learn."""
    result, calls, events = solved(
        scripted(steps=fresh_steps, final=answer("4")), scheduler="seed", iterations=3, num_candidates=4
    )

    assert [kind_of(call) for call in calls] == ["steps", "steps", "steps", "final"]
    assert all("exactly 4 items" in str(call.messages) for call in calls[:3])
    assert {step.decision.mode for step in result.steps} == {"system2"}
    assert "escalated" not in kinds(events)
    assert "reported" not in kinds(events)


def test_max_steps_is_never_exceeded_and_cut_iterations_are_said() -> None:
    result, _, _ = solved(scripted(steps=fresh_steps, final=answer("4")), scheduler="seed", iterations=9, max_steps=4)

    assert (len(result.steps), result.stop_reason) == (4, "max_steps")
    assert any("9 was cut to maxSteps, 4" in warning for warning in result.warnings)


def test_a_finalisation_that_fails_leaves_the_steps_without_an_answer() -> None:
    result, _, _ = solved(scripted(steps=fresh_steps, final=FAILING), scheduler="seed", iterations=2)

    assert (result.answer, result.status, result.stop_reason, len(result.steps)) == (None, "done", "iterations", 2)


# Escalation and what the scheduler learns


def test_a_system_1_step_that_fails_its_check_escalates_within_the_iteration() -> None:
    """The cheap candidate stays among the candidates; the outcome is a fact about System 1."""
    judgement = AJudgement(CHEAP)
    session = a_session(config={"granularity": "step", "iterations": 1}, problem=replace(a_session().problem, checks=(
        Check(kind="contains", value="litre", target="step", id="c"),)))  # fmt: skip
    script = scripted(
        steps=lambda call: steps("Guess") if "/s1/" in call.step_key else steps("Guess again", "Pour a litre"),
        final=answer("4"),
    )

    ended, calls, told = looped(script, session, judgement=judgement)

    assert [call.step_key for call in calls] == ["it1/s1/steps", "it1/s2/steps", "it1/final"]
    assert kinds(told)[:3] == ["iteration_opened", "escalated", "iteration_closed"]
    (closed,) = ended.history
    assert (closed.escalated, closed.decision.mode if closed.decision else "") == (True, "system2")
    assert {one.key for one in closed.candidates} == {"it1/s1/steps.1", "it1/s2/steps.1", "it1/s2/steps.2"}
    assert ended.steps[0].text == "Pour a litre"
    assert judgement.reported == [("s1_fail", False)]


@pytest.mark.parametrize(
    ("text", "checks", "outcome"),
    [
        ("Pour a litre", (Check(kind="contains", value="litre", target="step", id="c"),), "s1_pass"),
        ("Pour a litre", (), "s1_unchecked"),
    ],
)
def test_the_outcome_of_a_system_1_step_is_a_fact(text: str, checks: tuple[Check, ...], outcome: str) -> None:
    judgement = AJudgement(CHEAP)
    session = a_session(
        config={"granularity": "step", "iterations": 1}, problem=replace(a_session().problem, checks=checks)
    )

    _, _, told = looped(scripted(steps=steps(text), final=answer("4")), session, judgement=judgement)

    assert judgement.reported == [(outcome, False)]
    assert ("reported", {"decisionId": "ses_1.1", "outcome": outcome, "rework": False}) in told


def test_a_call_that_never_came_through_says_nothing_about_the_step() -> None:
    """System 2 takes over, but the scheduler learns no failure of System 1."""
    judgement = AJudgement(CHEAP)
    script = scripted(steps=lambda call: FAILING if "/s1/" in call.step_key else steps("Pour"), final=answer("4"))

    ended, _, _ = looped(script, a_session(config={"granularity": "step", "iterations": 1}), judgement=judgement)

    assert judgement.reported == [("s1_unchecked", False)]
    assert ended.history[0].escalated
    assert ended.history[0].problems == ("http_400",)


def test_a_cheap_answer_that_cannot_be_read_escalates_to_several() -> None:
    script = scripted(answer=lambda call: "Hmm." if "/s1/" in call.step_key else answer("42"))

    ended, calls, _ = looped(script, a_session(), judgement=AJudgement(CHEAP))

    assert [call.step_key.split("/")[1] for call in calls] == ["s1"] + ["s2"] * 3
    assert [pooled.answer for pooled in ended.answers] == [None] + ["42"] * 3
    assert ended.conclusion is not None
    assert ended.conclusion.answer_status == "agreed"


def test_without_any_source_system_1_does_not_escalate_to_nobody() -> None:
    ended, _, told = looped(None, a_session(config={"iterations": 2}), judgement=AJudgement(CHEAP))

    assert "escalated" not in kinds(told)
    assert len(ended.steps) == 2


def test_a_spent_budget_does_not_escalate() -> None:
    script = scripted(steps=steps("Guess"))
    checks = (Check(kind="contains", value="litre", target="step", id="c"),)
    session = a_session(config={"granularity": "step"}, problem=replace(a_session().problem, checks=checks))

    ended, calls, told = looped(script, session, judgement=AJudgement(CHEAP), calls=1)

    assert len(calls) == 1
    assert "escalated" not in kinds(told)
    assert ended.conclusion is not None
    assert (ended.conclusion.stop_reason, ended.steps) == ("budget_calls", ())


def test_system_2_that_has_to_take_its_step_back_is_rework() -> None:
    judgement = AJudgement(Decision(mode="system2", decision_id="ses_1.1"))
    script = scripted(steps=steps("Fill the jug"), final=answer("4"))

    looped(script, a_session(config={"granularity": "step", "iterations": 2}), judgement=judgement)

    assert judgement.reported == [("s2_done", False), ("s2_done", True)]


def test_a_task_that_was_not_tried_to_the_end_is_no_failure_for_the_scheduler() -> None:
    for script, seen in ((scripted(answer=answer("42")), True), (scripted(answer="Hmm.", steps="Hmm."), False)):
        judgement = AJudgement()
        looped(script, a_session(config={"iterations": 1}), judgement=judgement)
        assert judgement.successes == [seen]
    judgement = AJudgement()
    looped(None, a_session(), judgement=judgement)
    assert judgement.successes == []


# The probe beside System 2

FORTY_TWO = answer("42")
PROBING = Decision(mode="system2", decision_id="ses_1.1", audit={"probe": True})


def probed(
    cheap: Line, deep: Line | Callable[[Call], Line] = FORTY_TWO, **options: Any
) -> tuple[list[str], AJudgement, Session, Told]:
    """Run one iteration of System 2 that asks for a probe; return step keys, what was reported, and the session."""
    judgement = AJudgement(PROBING)
    checks = options.pop("checks", ())
    config = {"granularity": "answer", "iterations": 1, "numCandidates": 3, **options.pop("config", {})}
    session = a_session(config=config, problem=replace(a_session().problem, checks=checks))

    def script(call: Call) -> Line:
        if "/probe/" in call.step_key:
            return cheap
        return deep(call) if callable(deep) else deep

    ended, calls, told = looped(script, session, judgement=judgement, **options)
    return [call.step_key for call in calls], judgement, ended, told


@pytest.mark.parametrize(
    ("cheap", "outcome"),
    [
        (answer("42"), "s2_probe_pass"),
        (answer("42.0"), "s2_probe_pass"),
        (answer("7"), "s2_probe_fail"),
        ("Hmm.", "s2_probe_fail"),
        (FAILING, "s2_done"),
    ],
)
def test_a_probe_shows_whether_the_cheap_answer_would_have_done(cheap: Line, outcome: str) -> None:
    keys, judgement, ended, _ = probed(cheap)

    assert sorted(keys) == ["it1/probe/answer", "it1/s2/answer1", "it1/s2/answer2", "it1/s2/answer3"]
    assert judgement.reported == [(outcome, False)]
    assert {pooled.key for pooled in ended.answers} == {f"it1/s2/answer{number}" for number in (1, 2, 3)}


def test_a_probe_is_a_call_of_its_own_role_to_the_fast_model() -> None:
    judgement = AJudgement(PROBING)
    session = a_session(
        config={
            "granularity": "answer",
            "iterations": 1,
            "fastModel": "quick",
            "strongModel": "slow",
            "numCandidates": 2,
        }
    )

    _, calls, told = looped(scripted(answer=answer("42")), session, judgement=judgement)

    assert sorted((call.role, call.model) for call in calls) == [
        ("generate", "slow"), ("generate", "slow"), ("probe", "quick")
    ]  # fmt: skip
    assert told[0][1]["probe"] is True


def test_where_system_2_settles_nothing_a_probe_tells_nothing() -> None:
    numbers = iter("123")
    _, judgement, _, _ = probed(answer("1"), lambda call: answer(next(numbers)))

    assert judgement.reported == [("s2_done", False)]


def test_a_probe_that_holds_the_check_is_not_thrown_away() -> None:
    """It is paid for, and System 2 brought nothing better."""
    checks = (Check(kind="equals", value="42", id="c"),)
    _, judgement, ended, _ = probed(answer("42"), answer("7"), checks=checks)

    assert judgement.reported == [("s2_probe_pass", False)]
    assert ended.conclusion is not None
    assert (ended.conclusion.answer, ended.conclusion.answer_status) == ("42", "verified")


@pytest.mark.parametrize(("calls", "asked"), [(4, False), (5, True), (None, True)])
def test_a_probe_takes_neither_a_siblings_call_nor_the_last_one(calls: int | None, asked: bool) -> None:
    keys, _, _, _ = probed(answer("42"), calls=calls)

    assert ("it1/probe/answer" in keys) is asked
    assert len([key for key in keys if "/s2/" in key]) == 3


def test_a_probe_that_hangs_costs_two_seconds_at_most_and_tells_nothing() -> None:
    async def scenario() -> tuple[float, AJudgement]:
        judgement = AJudgement(PROBING)
        session = a_session(config={"granularity": "answer", "iterations": 1, "numCandidates": 3})
        provider = ScriptedProvider(lambda call: None if "/probe/" in call.step_key else answer("42"))
        await solve(session, some_parts(provider, judgement=judgement))
        return asyncio.get_running_loop().time(), judgement

    took, judgement = run_virtual(scenario)

    assert took == 2.0
    assert judgement.reported == [("s2_done", False)]


@pytest.mark.parametrize(("text", "outcome"), [("Pour a litre", "s2_probe_pass"), ("Pour it", "s2_probe_fail")])
def test_a_step_is_probed_by_one_cheap_step(text: str, outcome: str) -> None:
    checks = (Check(kind="contains", value="litre", target="step", id="c"),)
    config = {"granularity": "step", "numCandidates": 2}
    keys, judgement, _, _ = probed(steps(text), steps("Fill a litre", answer="4"), checks=checks, config=config)

    assert sorted(keys) == ["it1/probe/steps", "it1/s2/steps"]
    assert judgement.reported == [(outcome, False)]


def test_an_escalated_iteration_is_not_probed() -> None:
    """System 1 was tried itself."""
    judgement = AJudgement(replace(CHEAP, audit={"probe": True}))
    script = scripted(answer=lambda call: "Hmm." if "/s1/" in call.step_key else answer("42"))

    _, calls, _ = looped(script, a_session(config={"iterations": 1}), judgement=judgement)

    assert not [call for call in calls if "/probe/" in call.step_key]


# The beam


def test_a_beam_is_tried_where_the_best_step_gains_nothing() -> None:
    """Equal scores at the ceiling are no gain; the greedy winner of iteration 3 gives way to the head that leads on."""

    def proposed(call: Call) -> str:
        number = int(call.step_key[2])
        return steps(DISTINCT[2 * number], DISTINCT[2 * number + 1])

    def beam(call: Call) -> str:
        if DISTINCT[6] in str(call.messages[-1]["content"]):
            return steps("Obviously trivial, clearly")
        return steps("Bake seventeen loaves")

    session = a_session("Bake seventeen loaves", config={"granularity": "step", "iterations": 3, "beamWidth": 2})
    ended, calls, _ = looped(scripted(steps=proposed, beam=beam, final=answer("4")), session)
    greedy, _, _ = looped(
        scripted(steps=proposed, final=answer("4")),
        replace(session, config=session.config.override({"beamWidth": 1})[0]),
    )

    assert [call.step_key for call in calls if kind_of(call) == "beam"] == ["it3/s2/beam2.1", "it3/s2/beam2.2"]
    assert greedy.steps[2].text == DISTINCT[6]
    assert ended.steps[2].text == DISTINCT[7]
    assert ended.steps[2].id in {one.key for one in ended.history[2].candidates}


@pytest.mark.parametrize(
    ("config", "script"),
    [
        ({"beamWidth": 1}, scripted(steps=steps(*DISTINCT[:2]), final=answer("4"))),
        ({"beamWidth": 2, "beamDepth": 1}, scripted(steps=steps(*DISTINCT[:2]), final=answer("4"))),
        ({"beamWidth": 2, "scheduler": "system1"}, scripted(steps=steps(*DISTINCT[:2]))),
        ({"beamWidth": 2}, scripted(steps=steps(DISTINCT[0]), final=answer("4"))),
        ({"beamWidth": 2}, scripted(steps=f"[{steps('Count', answer='4')[1:-1]}, {steps('Rest')[1:-1]}]")),
    ],
    ids=["off", "no depth", "forced system1", "a single head", "an answer"],
)
def test_where_a_beam_could_change_nothing_none_is_run(config: dict[str, Any], script: Script) -> None:
    session = a_session(steps=[DISTINCT[9]], config={"granularity": "step", "iterations": 2, **config})

    _, calls, _ = looped(script, session)

    assert not any(kind_of(call) == "beam" for call in calls)


# Stuck


def test_a_repeated_step_is_banned_and_the_search_moves_on_within_two_iterations() -> None:
    def stubborn(call: Call) -> str:
        banned = "Do not propose this again: Fill the jug" in str(call.messages[-1]["content"])
        return steps("Empty the jug" if banned else "Fill the jug")

    ended, _, told = looped(
        scripted(steps=stubborn, final=answer("4")), a_session(config={"granularity": "step", "iterations": 3})
    )

    assert kinds(told).count("backtracked") == 1
    assert [step.text for step in ended.steps] == ["Fill the jug", "Empty the jug"]
    assert [step.index for step in ended.steps] == [0, 1]


@pytest.mark.parametrize("config", [{}, {"allowBacktrack": False}, {"maxBacktracks": 0}])
def test_an_endless_repeater_ends_in_stagnation(config: dict[str, Any]) -> None:
    session = a_session(config={"granularity": "step", "iterations": 16, **config})

    ended, calls, told = looped(scripted(steps=steps("Fill the jug"), final=answer("4")), session)

    assert ended.conclusion is not None
    assert ended.conclusion.stop_reason == "stagnation"
    assert kinds(told).count("backtracked") == (0 if config else 3)
    assert len(calls) <= 6


def test_equal_scores_alone_never_stop_a_run() -> None:
    session = a_session(config={"granularity": "step", "iterations": 12, "scheduler": "seed"})

    ended, _, told = looped(scripted(steps=fresh_steps, final=answer("4")), session)

    assert len(ended.steps) == 12
    assert "perturbed" in kinds(told)


# Budgets


@pytest.mark.parametrize("calls", range(1, 14))
@pytest.mark.parametrize("granularity", ["auto", "step", "answer"])
def test_a_budget_of_calls_is_never_exceeded(calls: int, granularity: str) -> None:
    numbers = iter(range(1000))
    script = scripted(
        answer=lambda call: answer(str(next(numbers))), steps=fresh_steps, beam=steps("Go on"), final=answer("9")
    )

    result, made, _ = solved(
        script, budget=Budget(calls=calls), scheduler="system2", granularity=granularity, beam_width=2
    )

    assert len(made) == result.usage["calls"] <= calls
    assert result.stop_reason in ("budget_calls", "iterations")
    assert result.status == "done"


def test_the_last_call_belongs_to_the_finalisation() -> None:
    result, calls, _ = solved(scripted(steps=fresh_steps, final=answer("9")), budget=Budget(calls=3), scheduler="seed")

    assert [kind_of(call) for call in calls] == ["steps", "steps", "final"]
    assert (result.answer, result.stop_reason) == ("9", "budget_calls")


def test_seconds_never_overshoot_and_answer_with_the_best_so_far() -> None:
    def script(call: Call) -> Line:
        return answer(call.step_key[-1]) if kind_of(call) == "answer" else None

    result, _, _ = solved(script, delay=4.0, budget=Budget(seconds=30), scheduler="system2")

    assert (result.stop_reason, result.status) == ("deadline", "done")
    assert result.usage["seconds"] == 30.0
    assert result.answer in list("12345")


def test_a_budget_of_no_seconds_asks_nobody() -> None:
    result, calls, _ = solved(scripted(answer=answer("42")), budget=Budget(seconds=0))

    assert (calls, result.stop_reason, result.answer, result.status) == ([], "deadline", None, "degraded")


def paid(text: str, tokens: int, cost: float | None = None) -> Reply:
    """Return a reply with this usage."""
    usage = Usage(prompt_tokens=tokens, cost_usd=cost)
    return Reply(text=text, model="m", provider="local", source="model", usage=usage)


def test_tokens_overshoot_by_the_calls_in_flight_at_most() -> None:
    result, calls, _ = solved(lambda call: paid(fresh_steps(call), 100), budget=Budget(tokens=250), scheduler="seed")

    assert (len(calls), result.usage["promptTokens"], result.stop_reason) == (3, 300, "budget_tokens")


def test_money_overshoots_by_the_calls_in_flight_at_most() -> None:
    async def scenario() -> Result:
        provider = ScriptedProvider(lambda call: paid(fresh_steps(call), 1, 0.1), default_model="m")
        prices = {"m": {"inputPerMTok": 1.0, "outputPerMTok": 1.0}}
        async with a_booster(providers=[provider], prices=priced(prices)) as booster:
            return await booster.solve("t", budget=Budget(cost_usd=0.25), scheduler="seed")

    result = run_virtual(scenario)

    assert (result.usage["calls"], result.usage["costUsd"], result.stop_reason) == (3, 0.3, "budget_cost")


def priced(prices: dict[str, dict[str, float]]) -> dict[str, Any]:
    """Return prices as settings hold them."""
    from booster.config import Price

    return {model: Price.model_validate(price) for model, price in prices.items()}


# Every stop reason and status


def test_iterations_that_bring_nothing_come_to_an_end() -> None:
    result, calls, _ = solved(scripted(answer="Hmm.", steps="Hmm.", final="Hmm."), iterations=3, scheduler="system2")

    assert (result.stop_reason, result.answer, result.status) == ("iterations", None, "done")
    assert "not_a_list" in result.degraded_reasons[0]
    assert len(calls) == 3 + 2 + 2


def test_a_check_that_holds_ends_the_solve_as_verified() -> None:
    numbers = iter(["41", "42", "43", "44", "45"])
    result, _, _ = solved(
        scripted(answer=lambda call: answer(next(numbers))), checks=[Check.numeric(42)], scheduler="system2"
    )

    assert (result.answer, result.answer_status, result.confidence_basis) == ("42", "verified", "checks")
    assert result.stop_reason == "answered"
    assert [item.outcome for item in result.evidence if item.kind == "check"] == ["pass"]
    assert result.checks == ({"checkId": "check1", "kind": "numeric", "target": "answer", "ran": True},)


def test_answers_that_fail_a_check_are_never_claimed_but_hinted_at() -> None:
    script = scripted(answer=answer("41"), steps=lambda call: steps("Count again", answer="43"), final=answer("44"))

    result, calls, _ = solved(script, checks=[Check.numeric(7391)], iterations=2, scheduler="system2")

    assert (result.answer, result.answer_status, result.stop_reason) == (None, "none", "iterations")
    last = str(calls[3].messages[-1]["content"])
    assert "answer '41' failed the check check1 (numeric)" in last
    assert not any("7391" in str(call.messages) for call in calls)


def test_a_check_that_only_one_of_two_answers_was_right_by_is_not_outvoted() -> None:
    numbers = iter(["41", "41", "41", "41", "42"])
    script = scripted(answer=lambda call: answer(next(numbers)))
    result, _, _ = solved(script, checks=[Check.numeric(42)], scheduler="system2", num_candidates=5)

    assert (result.answer, result.answer_status) == ("42", "verified")


def test_select_score_takes_the_answer_with_the_best_score() -> None:
    """Three vague voices agree; the one concrete solution is taken, and claims no agreement."""
    replies = iter([answer("1", "Obviously, clearly, trivial without proof")] * 2 + [answer("2", "Measure 4 litres")])
    result, _, _ = solved(
        scripted(answer=lambda call: next(replies)), num_candidates=3, select="score", iterations=1, scheduler="system2"
    )

    assert (result.answer, result.answer_status, result.steps[0].answer) == ("2", "unverified", "2")


def test_no_source_at_all_is_degraded_and_claims_nothing() -> None:
    result, _, _ = solved(None, iterations=2)

    assert (result.status, result.answer, result.degraded, result.stop_reason) == ("degraded", None, True, "iterations")
    assert {step.source for step in result.steps} == {"heuristic"}
    assert any("CEREBRAS_API_KEY" in reason for reason in result.degraded_reasons)
    assert result.diagnostics["provider"] == "heuristic"
    assert result.to_text().startswith("DEGRADED: ")
    assert (result.usage["calls"], result.usage["costUsd"]) == (0, 0.0)


def test_a_source_that_only_fails_is_degraded_and_says_why() -> None:
    error = ConfigurationError("401: the key is wrong", kind="invalid_api_key", status=401)
    result, calls, _ = solved(lambda call: error, iterations=2, scheduler="system2")

    assert (result.status, result.answer, result.stop_reason) == ("degraded", None, "iterations")
    assert any("401" in reason for reason in result.degraded_reasons)
    assert result.diagnostics["failures"][0]["status"] == 401
    assert len(calls) <= 5


def test_blank_replies_are_no_model_content() -> None:
    result, _, _ = solved(lambda call: "", iterations=1, scheduler="system2")

    assert (result.status, result.answer, result.diagnostics["provider"]) == ("degraded", None, None)


def test_sources_may_change_and_every_step_says_its_own() -> None:
    def script(call: Call) -> Line:
        number = int(call.step_key[2])
        return FAILING if number == 1 else steps(DISTINCT[number]) if kind_of(call) == "steps" else answer("4")

    result, _, _ = solved(script, scheduler="seed", iterations=3)

    assert [step.source for step in result.steps] == ["heuristic", "simulated", "simulated"]
    assert (result.status, result.degraded, result.answer) == ("done", True, "4")
    assert "http_400" in result.degraded_reasons[0]


REASONS: dict[str, dict[str, Any]] = {
    "answered": {"answers": tuple(an_answer("1", key=str(n)) for n in range(3))},
    "stagnation": {"stagnant": True},
    "iterations": {"iteration": 8},
    "max_steps": {"iteration": 8, "cut_iterations": True},
}


@pytest.mark.parametrize("reason", REASONS)
def test_the_state_of_a_session_can_forbid_another_iteration(reason: str) -> None:
    assert stop_reason(a_session(**REASONS[reason]), some_parts(None)) == reason


def test_a_full_scratchpad_forbids_another_iteration() -> None:
    assert (
        stop_reason(a_session(steps=DISTINCT[:4], iterations=9, config={"maxSteps": 4}), some_parts(None))
        == "max_steps"
    )


@pytest.mark.parametrize(
    ("limit", "reason"),
    [
        ("calls", "budget_calls"), ("tokens", "budget_tokens"), ("costUsd", "budget_cost"), ("seconds", "deadline"),
        ("cancelled", "cancelled"),
    ],
)  # fmt: skip
def test_every_limit_has_a_reason(limit: str, reason: str) -> None:
    parts = some_parts(None)
    parts.purse.limit = limit  # type: ignore[attr-defined]

    assert stop_reason(a_session(), parts) == reason


@pytest.mark.parametrize(("limit", "reason"), [("calls", None), ("seconds", None), ("cancelled", "cancelled")])
def test_an_interrupted_iteration_is_finished_before_a_limit_counts(limit: str, reason: str | None) -> None:
    """Its replies are paid for; the ledger refuses whatever would be new."""
    parts = some_parts(None)
    parts.purse.limit = limit  # type: ignore[attr-defined]

    assert stop_reason(a_session(opened=opened()), parts) == reason


# One iteration


def test_a_killed_escalation_is_entered_again_from_its_cheap_beginning() -> None:
    """So that the same candidates, the same winner and the same outcome come of it; nothing is decided twice."""
    interrupted = opened("step", CHEAP).after_failure()
    judgement = AJudgement(DEEP)

    async def scenario() -> tuple[Session, list[str], Told]:
        told: Told = []
        provider = ScriptedProvider(lambda call: "Hmm." if "/s1/" in call.step_key else steps("Pour"))
        parts = some_parts(provider, judgement=judgement, events=told)
        session = await iterate(a_session(opened=interrupted), parts)
        return session, [call.step_key for call in provider.calls], told

    session, keys, told = run_virtual(scenario)

    assert keys == ["it1/s1/steps", "it1/s1/steps/again", "it1/s2/steps"]
    assert [kind for kind, _ in told if kind != "improved"] == ["iteration_closed", "reported"]
    assert judgement.reported == [("s1_fail", False)]
    assert session.history[0].decision == interrupted.decision


def test_a_callers_candidates_ask_no_model_and_teach_the_scheduler_nothing() -> None:
    judgement = AJudgement(CHEAP)

    async def scenario() -> Session:
        given = [a_candidate("Pour", answer="42", checks=[a_check()])]
        return await iterate(a_session(opened=opened("answer", CHEAP)), some_parts(None, judgement=judgement), given)

    session = run_virtual(scenario)

    assert (session.steps[0].text, session.answers[0].answer, session.opened) == ("Pour", "42", None)
    assert session.steps[0].decision is not None
    assert (session.steps[0].decision.forced, judgement.reported) == (True, [])


def test_step_keys_are_unique_over_asking_again_beams_and_escalations() -> None:
    def script(call: Call) -> Line:
        if kind_of(call) == "steps" and "again" not in call.step_key:
            return "Hmm."
        number = int(call.step_key[2])
        return steps(DISTINCT[2 * number], DISTINCT[2 * number + 1])

    session = a_session(config={"granularity": "step", "iterations": 6, "beamWidth": 2, "beamDepth": 3})
    _, deep, _ = looped(script, session, judgement=AJudgement(DEEP))
    _, cheap, _ = looped(lambda call: "Hmm.", session, judgement=AJudgement(CHEAP))
    calls = [*deep, *(call for call in cheap if "/s1/" in call.step_key)]

    keys = [call.step_key for call in calls]
    assert len(set(keys)) == len(keys)
    assert any("beam3" in key for key in keys)


@pytest.mark.parametrize("task", ["Odmeraj 4 litre džbánmi", "4リットルを量ってください", "Отмерьте 4 литра"])
def test_a_task_in_any_language_goes_the_same_way(task: str) -> None:
    script = scripted(answer=answer("4"), steps=fresh_steps, final=answer("4"))

    result, calls, _ = solved(script, task, scheduler="system2")

    assert (result.answer, result.answer_status, len(calls)) == ("4", "agreed", 3)
    assert task in result.summary


LINES = st.sampled_from(
    [answer("42"), answer("7"), steps(*DISTINCT[:3]), steps("Fill the jug", answer="42"), "Hmm.", "", FAILING]
)


@settings(max_examples=60, deadline=None)
@given(
    lines=st.lists(LINES, min_size=1, max_size=40),
    calls=st.integers(1, 20),
    config=st.fixed_dictionaries(
        {
            "granularity": st.sampled_from(["auto", "step", "answer"]),
            "scheduler": st.sampled_from(["auto", "system1", "system2", "seed"]),
            "select": st.sampled_from(["auto", "score", "judge", "vote"]),
            "beamWidth": st.integers(1, 3),
            "maxSteps": st.integers(1, 6),
            "iterations": st.integers(1, 9),
            "numCandidates": st.integers(1, 5),
        }
    ),
    checked=st.booleans(),
)
def test_whatever_models_say_a_solve_ends_within_its_limits_and_claims_only_what_it_may(
    lines: list[Line], calls: int, config: dict[str, Any], checked: bool
) -> None:
    """The law of the loop: a result, a reason, no more calls or steps than allowed, no answer that failed a check."""
    play = iter(lines * 40)

    result, made, events = solved(
        lambda call: next(play),
        config=config,
        budget=Budget(calls=calls),
        checks=[Check.numeric(42)] if checked else [],
    )

    assert len(made) <= calls
    assert len(result.steps) <= config["maxSteps"]
    assert [step.index for step in result.steps] == list(range(len(result.steps)))
    assert (result.answer is None) == (result.answer_status == "none")
    assert not checked or result.answer_status in ("verified", "none", "unverified")
    assert not checked or result.answer in (None, "42")
    assert kinds(events)[-1] == "concluded"
    assert result.status == "done" or result.degraded
    assert (result.status == "failed") == (result.stop_reason == "error")
    assert result.status != "degraded" or result.answer is None
    assert len({call.step_key for call in made}) == len(made)


def test_where_a_model_has_spoken_no_template_mixes_with_its_steps() -> None:
    def script(call: Call) -> Line:
        return FAILING if call.step_key.startswith("it2/") else steps(DISTINCT[int(call.step_key[2])])

    result, _, _ = solved(script, scheduler="seed", iterations=3)

    assert {step.source for step in result.steps} == {"simulated"}
    assert len(result.steps) == 2


def test_a_dead_line_ends_the_run_so_that_it_can_be_resumed() -> None:
    def script(call: Call) -> Line:
        return steps(DISTINCT[1]) if call.step_key.startswith("it1/") else FAILING

    result, calls, _ = solved(script, scheduler="seed", iterations=8)

    assert (result.status, result.stop_reason) == ("failed", "error")
    assert {call.step_key[:4] for call in calls} == {"it1/", "it2/", "it3/"}
    assert [step.source for step in result.steps] == ["simulated"]
