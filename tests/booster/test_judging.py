"""A judge beside the vote: asked where it can change the winner, believed where it is not swayed, never able to lose an answer."""

import asyncio
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from booster.answer_state import AnswerState
from booster.parts import Forgetful
from booster.session import Draw, Problem, Session
from booster.solve import solve
from booster.standing import standing, standing_of
from providers.errors import RejectedError
from providers.scripted import Line, ScriptedProvider
from providers.types import Call
from tests.builders import a_check, a_session, an_answer
from tests.solving import answer, some_parts
from tests.virtual_clock import run_virtual
from verifier.opinion import OpinionWeight
from verifier.tuned import OPINION_OUTCOMES
from verifier.types import Check

FAILING = RejectedError("400", kind="http_400")
ONCE = {"granularity": "answer", "iterations": 1, "numCandidates": 4, "judgeModel": "judge"}


def verdict(word: str) -> str:
    return json.dumps({"rationale": "compared", "verdict": word})


def score(value: float) -> str:
    return json.dumps({"rationale": "weighed", "score": value})


def prefers(wanted: str) -> Callable[[Call], Line]:
    """Return a judge that prefers the candidate with this answer, wherever it stands."""

    def line(call: Call) -> Line:
        text = str(call.messages[-1]["content"])
        shown = text[text.index("\nAnswer A:") : text.index("\nAnswer B:")]
        return verdict("A" if f"> Answer: {wanted}" in shown else "B")

    return line


def judged(
    texts: Sequence[str],
    judge: Line | Callable[[Call], Line],
    *,
    weight: float = 0.35,
    seconds: float | None = None,
    request: dict[str, Any] | None = None,
    outcomes: int = 0,
    checks: tuple[Check, ...] = (),
    **config: Any,
) -> tuple[Session, list[Call], float]:
    """Draw these answers at once, with a judge; return the session, the judge's calls and the seconds it all took."""
    numbers = iter(texts)

    def script(call: Call) -> Line:
        if call.role != "judge":
            return answer(next(numbers))
        return judge(call) if callable(judge) else judge

    async def scenario() -> tuple[Session, list[Call], float]:
        provider = ScriptedProvider(script, delay=1.0)
        state = AnswerState(weights={"judge:judge": OpinionWeight(b=weight, outcomes=outcomes)})
        parts = replace(some_parts(provider, deadline=seconds), memory=Forgetful(state=state))
        problem = Problem(task="2 + 2?", request=request or {}, checks=checks)
        ended = await solve(a_session(config={**ONCE, **config}, problem=problem), parts)
        return ended, [call for call in provider.calls if call.role == "judge"], asyncio.get_running_loop().time()

    return run_virtual(scenario)


def claim(session: Session) -> tuple[str | None, str]:
    assert session.conclusion is not None
    return session.conclusion.answer, session.conclusion.answer_status


def report(session: Session) -> dict[str, Any]:
    """Return what the result says of the judge."""
    draw = session.history[0].draw
    assert isinstance(draw, Draw)
    return dict(draw.judge)


def test_a_judge_that_prefers_the_rival_in_both_orders_decides_a_tie() -> None:
    ended, calls, _ = judged(["4", "5", "4", "5"], prefers("5"))

    assert [call.step_key for call in calls] == ["it1/s2/judge", "it1/s2/judge/swapped"]
    assert {call.model for call in calls} == {"judge"}
    assert claim(ended) == ("5", "judged")
    assert ended.steps[0].answer == "5"


def test_a_judge_that_prefers_the_leader_is_asked_once_and_claims_nothing() -> None:
    """One order alone may be the preference for a place."""
    ended, calls, _ = judged(["4", "5", "4", "5"], prefers("4"))

    assert (len(calls), claim(ended)) == (1, ("4", "unverified"))


@pytest.mark.parametrize("word", ["A", "B"])
def test_a_judge_that_always_prefers_the_same_place_changes_nothing(word: str) -> None:
    ended, _, _ = judged(["4", "5", "4", "5"], verdict(word))

    assert claim(ended) == ("4", "unverified")


@pytest.mark.parametrize(
    ("judge", "said"),
    [
        ("Both have merit.", "no verdict in the judge's reply"),
        ("", "no verdict in the judge's reply"),
        (FAILING, "the judge failed"),
        (None, "the judge did not answer within 60 seconds"),
    ],
    ids=["prose", "blank", "failing", "hanging"],
)
def test_a_judge_without_a_verdict_loses_no_candidate_and_is_said(judge: Line, said: str) -> None:
    ended, _, _ = judged(["4", "5", "4", "5"], judge)

    assert claim(ended) == ("4", "unverified")
    assert len(ended.answers) == 4
    assert report(ended)["verdict"] is None
    assert said in report(ended)["failures"][0]


def test_a_judge_that_hangs_does_not_outlive_the_deadline() -> None:
    ended, _, took = judged(["4", "5", "4", "5"], None, seconds=5.0)

    assert (claim(ended), took) == (("4", "unverified"), 5.0)
    assert "did not answer within 4 s" in report(ended)["failures"][0]


@pytest.mark.parametrize(
    ("texts", "weight", "asked"),
    [
        (["4", "4", "4", "5"], 5.0, 0),  # agreed: an opinion never outranks agreement
        (["4", "4", "5", "6"], 0.35, 0),  # 1.25 ln 2 = .87 > .70
        (["4", "4", "5", "6"], 0.5, 2),
        (["4", "4"], 5.0, 0),  # nobody to compare with
    ],
)
def test_a_judge_is_asked_only_where_it_can_change_the_winner(texts: list[str], weight: float, asked: int) -> None:
    ended, calls, _ = judged(texts, prefers("5"), weight=weight, numCandidates=len(texts))

    assert len(calls) == asked
    assert claim(ended)[0] == ("5" if asked else "4")


@pytest.mark.parametrize(
    ("request_", "asked"),
    [
        ({"temperature": 0}, 2),
        ({"temperature": 0.3}, 2),
        ({"temperature": 0.31}, 0),
        ({}, 0),
        ({"temperature": None}, 0),
    ],
)
def test_near_copies_count_less_than_votes_so_that_a_judge_can_overturn_them(
    request_: dict[str, Any], asked: int
) -> None:
    """2:1:1 votes are .87 apart where samples are independent, .17 where they are near-copies of each other."""
    ended, calls, _ = judged(["4", "4", "5", "6"], prefers("5"), request=request_)

    assert len(calls) == asked
    assert claim(ended) == (("5", "judged") if asked else ("4", "unverified"))


def test_a_low_temperature_shows_in_the_term_of_the_votes() -> None:
    ended, _, _ = judged(["4", "4", "5"], verdict("tie"), request={"temperature": 0.2}, numCandidates=3)

    assert ended.conclusion is not None
    (evidence,) = ended.conclusion.evidence
    assert evidence.detail["groups"][0]["terms"]["votes"] == pytest.approx(0.25 * math.log(2))


def test_opinions_of_several_scorers_stand_side_by_side() -> None:
    answers = [
        replace(
            an_answer(text, key=text),
            opinions={"process": {"z": z, "weight": 0.5}, "judge": {"z": -z, "weight": 0.25}},
        )
        for text, z in (("4", -1.0), ("5", 1.0))
    ]

    (evidence,) = standing_of(tuple(answers)).evidence

    assert [(group["terms"]["process"], group["terms"]["judge"]) for group in evidence.detail["groups"]] == [
        (-0.5, 0.25), (0.5, -0.25),
    ]  # fmt: skip


def test_without_a_judge_model_nobody_is_asked() -> None:
    ended, calls, _ = judged(["4", "5", "4", "5"], prefers("5"), judgeModel=None)

    assert (calls, claim(ended)) == ([], ("4", "unverified"))


def test_select_vote_asks_no_judge() -> None:
    _, calls, _ = judged(["4", "5", "4", "5"], prefers("5"), select="vote")

    assert calls == []


@pytest.mark.parametrize(("select", "stands"), [("vote", "4"), ("auto", "7")])
def test_by_vote_alone_the_most_frequent_answer_stands_wherever_the_steps_led(select: Any, stands: str) -> None:
    sampled = [an_answer(text, key=f"s{number}") for number, text in enumerate(("4", "5", "4", "6", "8", "9"))]
    led = replace(an_answer("7", key="step"), origin="step")

    assert standing_of((*sampled, led), select).answer == stands


def test_by_vote_alone_nothing_that_came_later_counts_for_more() -> None:
    """Two chained steps have one vote together, the strong model's answer is one among others."""
    first, second = (replace(an_answer(text, key=text), origin="step") for text in ("7", "8"))
    strong = replace(an_answer("9", key="strong"), origin="strong")
    cheap = [an_answer("4", key=f"s{number}") for number in range(2)]

    assert standing_of((first, second), "vote").answer == "8"
    assert standing_of((*cheap, strong, first, second), "vote").answer == "4"


@pytest.mark.parametrize("whole", [0, 1, 2])
def test_no_group_agrees_in_which_a_message_was_cut(whole: int) -> None:
    answers = [replace(an_answer("It is", key=f"s{number}"), cut=number >= whole) for number in range(4)]

    assert standing_of(tuple(answers)).status == "unverified"


def test_a_judge_also_speaks_after_waves() -> None:
    def for_the_second(call: Call) -> Line:
        return verdict("A" if call.step_key.endswith("swapped") else "B")

    ended, calls, _ = judged([str(number) for number in range(6)], for_the_second, numCandidates=None, samples=6)

    assert (len(ended.answers), len(calls)) == (6, 2)
    assert claim(ended) == (ended.answers[1].answer, "judged")


def test_every_term_is_visible_in_the_evidence() -> None:
    ended, _, _ = judged(["4", "5", "4", "5"], prefers("5"))

    assert ended.conclusion is not None
    (evidence,) = ended.conclusion.evidence
    first, second = evidence.detail["groups"]
    assert (first["answer"], first["votes"], first["terms"]["checks"]) == ("4", 2, None)
    assert (first["terms"]["judge"], second["terms"]["judge"]) == (-0.35, 0.35)
    assert second["share"] > first["share"]
    assert evidence.detail["draw"]["judge"]["verdict"] == "rival"
    assert evidence.detail["draw"]["samples"] == 4


def scored(values: dict[str, float]) -> Callable[[Call], Line]:
    def line(call: Call) -> Line:
        text = str(call.messages[-1]["content"])
        return next((score(value) for key, value in values.items() if f"> Answer: {key}" in text), FAILING)

    return line


def test_select_judge_scores_each_answer_as_it_lands() -> None:
    ended, calls, took = judged(["4", "5", "6", "7"], scored({"4": 2, "5": 9, "6": 3, "7": 1}), select="judge")

    assert sorted(call.step_key for call in calls) == [f"it1/s2/answer{number}/judge" for number in (1, 2, 3, 4)]
    assert took == 2.0
    assert claim(ended) == ("5", "judged")
    assert report(ended)["asked"] == 4


@pytest.mark.parametrize(("outcomes", "asked"), [(0, 3), (OPINION_OUTCOMES, 1)])
def test_answers_that_fail_a_check_are_scored_while_that_teaches_and_never_lead(outcomes: int, asked: int) -> None:
    judge = scored({"4": 9, "5": 1, "6": 2})
    checks = (Check.contains("5"),)
    ended, calls, _ = judged(["4", "5", "6"], judge, select="judge", numCandidates=3, outcomes=outcomes, checks=checks)

    assert len(calls) == asked
    assert claim(ended) == ("5", "verified")
    assert not any(one.confirmed for one in ended.answers if one.answer == "4")


def test_a_score_for_all_is_no_judgement() -> None:
    ended, _, _ = judged(["4", "5", "6", "7"], score(10), select="judge")

    assert claim(ended) == ("4", "unverified")


def test_agreement_is_not_overturned_by_scores() -> None:
    ended, _, _ = judged(["4", "4", "4", "7"], scored({"4": 1, "7": 9}), select="judge", weight=5.0)

    assert claim(ended) == ("4", "agreed")


@pytest.mark.parametrize("judge", [FAILING, "Fine.", None], ids=["failing", "prose", "hanging"])
def test_a_scoring_judge_that_is_dead_loses_no_answer(judge: Line) -> None:
    ended, _, _ = judged(["4", "5", "4", "5"], judge, select="judge")

    assert claim(ended) == ("4", "unverified")
    assert len(ended.answers) == 4
    assert report(ended)["failures"]


def test_a_model_that_judges_itself_is_said() -> None:
    ended, calls, _ = judged(["4", "5", "4", "5"], score(5), select="judge", judgeModel=None, strongModel="large")

    assert {call.model for call in calls} == {"large"}
    assert report(ended)["itself"] is True


def test_an_answer_that_failed_a_check_is_not_brought_back_by_a_judge() -> None:
    opinions = {"judge": {"z": 3.0, "weight": 5.0}}
    pool = (
        an_answer("4", key="a"),
        replace(an_answer("5", key="b", checks=[a_check("fail")]), opinions=opinions, confirmed=True),
    )

    assert standing(a_session(answers=pool)).answer == "4"
