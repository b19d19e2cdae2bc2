"""Process rewards in the loop, over real HTTP: an opinion beside the votes that can cost no candidate and is paid once."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from booster.answer_state import AnswerState
from booster.asking import STRAGGLER, unless_withdrawn
from booster.config import Price
from booster.errors import UsageError
from booster.parts import Forgetful
from booster.rewarding import ProcessReward, compared
from booster.session import Budget
from booster.settings import RewardServer
from booster.solve import solve
from providers.scripted import Line, ScriptedProvider
from providers.types import Call, Reply
from tests.builders import a_candidate, a_check, a_session
from tests.fake_openai import BREAK_OFF, HANG, HTML, Answer, FakeOpenAI, Seen, data, refusal
from tests.solving import DISTINCT, a_booster, answer, some_parts, steps
from tests.virtual_clock import run_virtual
from verifier.opinion import OpinionWeight
from verifier.tuned import OPINION_OUTCOMES
from verifier.types import Check, Context

TASK = "How many legs have two cats?"
ONCE: dict[str, Any] = {"granularity": "answer", "iterations": 1, "scheduler": "system2"}
MARK = "<extra_0>"
GOOD, BAD = [0.1, 0.9], [0.8, 0.2]


def path_of(seen: Seen) -> list[str]:
    """Return the steps of the path that a request asks about, in either form."""
    if seen.path == "/classify":
        return str(seen.body["input"][-1]).partition("\n\n")[2].split("\n")
    return str(seen.body["messages"][1]["content"]).split(MARK)[:-1]


def likes(*wanted: str) -> Callable[[Seen], Answer]:
    """A server that holds every step right, but the last one only where it says one of these."""

    def handle(seen: Seen) -> Answer:
        *before, last = path_of(seen)
        rows = [GOOD for _ in before] + [GOOD if any(word in last for word in wanted) else BAD]
        if seen.path == "/classify":
            return data({"model": "prm", "data": [{"index": at, "probs": row} for at, row in enumerate(rows)]})
        return data({"model": "prm", "data": [{"index": 0, "data": rows}]})

    return handle


def answers(*texts: str) -> list[Line]:
    return [answer(text) for text in texts]


@asynccontextmanager
async def rewarding(
    handler: Callable[[Seen], Answer] | list[Answer], script: Any, *, form: Any = "pooling", **options: Any
) -> AsyncIterator[tuple[Any, FakeOpenAI]]:
    """A booster over a script, with a server of process rewards."""
    async with FakeOpenAI(handler) as server:
        place = RewardServer(url=server.base_url, model="prm", form=form)
        async with a_booster(script, reward_server=place, **options) as booster:
            yield booster, server


def groups(result: Any) -> dict[str, dict[str, Any]]:
    """Return the terms of each group of answers in the evidence."""
    (votes,) = (item for item in result.evidence if item.kind == "votes")
    return {group["answer"]: group["terms"] for group in votes.detail["groups"]}


def report(result: Any) -> dict[str, Any]:
    """Return what the evidence says of the server."""
    (votes,) = (item for item in result.evidence if item.kind == "votes")
    return dict(votes.detail["draw"]["process"])


@pytest.mark.parametrize("form", ["pooling", "classify"])
async def test_steps_that_hold_bring_the_answer_before_as_many_votes_for_another(form: str) -> None:
    async with rewarding(likes("5"), answers("4", "5", "4", "5"), form=form) as (booster, server):
        result = await booster.solve(TASK, numCandidates=4, **ONCE)

    assert (result.answer, result.answer_status, result.confidence_basis) == ("5", "unverified", "uncalibrated")
    assert groups(result)["4"]["process"] == pytest.approx(-0.35)
    assert groups(result)["5"]["process"] == pytest.approx(0.35)
    assert {groups(result)["5"][name] for name in ("checks", "judge", "heuristic")} == {None}
    assert report(result) == {"scorer": "process:prm", "model": "prm", "scored": 4}
    assert result.usage["byRole"]["process_reward"]["calls"] == len(server.seen) == 4
    assert result.usage["calls"] == 8
    assert result.diagnostics["provider"] == "simulated"


@pytest.mark.parametrize(
    "broken",
    [
        [HTML],
        [BREAK_OFF],
        [refusal(500)],
        [refusal(404, "no such model")],
        [data({"data": [{"index": 0, "data": [[0.1, float("nan")], GOOD]}]})],
        [data({"data": [{"index": 0, "data": [GOOD] * 7}]})],
        [data({"data": [{"index": 0, "data": [[-3.0, 9.0], GOOD]}]})],
    ],
    ids=["html", "breaks off", "500", "404", "nan", "too many", "no probabilities"],
)
async def test_a_server_that_fails_or_lies_loses_its_own_term_only_and_is_said(broken: list[Answer]) -> None:
    async with rewarding(broken, answers("4", "5", "4", "6")) as (booster, _):
        result = await booster.solve(TASK, numCandidates=4, budget=Budget(calls=40), **ONCE)

    assert (result.answer, result.answer_status) == ("4", "unverified")
    assert {name: terms["process"] for name, terms in groups(result).items()} == {"4": None, "5": None, "6": None}
    assert sorted(report(result)["failures"]) == [f"it1/s2/answer{number}" for number in (1, 2, 3, 4)]
    assert all(why.startswith("no reward") for why in report(result)["failures"].values())
    assert {failure["stepKey"] for failure in result.diagnostics["failures"]} <= {
        f"it1/s2/answer{number}/process" for number in (1, 2, 3, 4)
    }
    assert result.diagnostics["failures"]


async def test_a_server_that_is_not_there_is_no_reason_to_fail() -> None:
    place = RewardServer(url="http://127.0.0.1:9", model="prm")
    async with a_booster(answers("4", "5", "4", "6"), reward_server=place) as booster:
        result = await booster.solve(TASK, numCandidates=4, budget=Budget(calls=40), **ONCE)

    assert (result.answer, report(result)["scored"]) == ("4", 0)
    assert all("127.0.0.1:9" in why for why in report(result)["failures"].values())


async def test_a_server_that_hangs_beyond_the_deadline_loses_no_answer() -> None:
    async with rewarding([HANG], answers("4", "5", "4", "6")) as (booster, server):
        result = await booster.solve(TASK, numCandidates=4, budget=Budget(seconds=1.0), **ONCE)

    assert (result.answer, len(server.seen)) == ("4", 4)
    assert groups(result)["4"]["process"] is None
    assert len(report(result)["failures"]) == 4


def test_one_path_that_hangs_costs_its_own_term_and_no_more_time_than_a_straggler() -> None:
    async def scenario() -> tuple[Any, float]:
        async def ask(call: Call) -> Reply:
            if "answer2" in call.step_key:
                await asyncio.Event().wait()
            await asyncio.sleep(1.0)
            rewards = [0.9] * (len(call.messages) - 1)
            return Reply(text=json.dumps(rewards), model="prm", provider="process-reward", source="model")

        parts = some_parts(ScriptedProvider(answers("4", "5", "6", "7")))
        parts = replace(parts, reward=ProcessReward(ask, "prm", parts.purse, parts.memory, seconds=600.0))
        ended = await solve(a_session(config={**ONCE, "numCandidates": 4}), parts)
        return ended, asyncio.get_running_loop().time()

    ended, took = run_virtual(scenario)

    assert {one.answer for one in ended.answers} == {"4", "5", "6", "7"}
    assert [one.key for one in ended.answers if "process" not in one.opinions] == ["it1/s2/answer2"]
    assert "the time was up" in ended.history[0].draw.process["failures"]["it1/s2/answer2"]
    assert took < 10.0


async def test_a_dead_server_is_left_alone_for_the_rest_of_the_run() -> None:
    async with rewarding([refusal(401, "who are you")], answers(*"123456789")) as (booster, server):
        result = await booster.solve(TASK, samples=9, waveSize=1, budget=Budget(calls=40), **ONCE)

    assert len(server.seen) == 3  # those of the first wave were under way side by side
    assert sum("left alone" in why for why in report(result)["failures"].values()) == 6


async def test_the_budget_binds_and_its_last_call_is_kept_for_an_answer() -> None:
    async with rewarding(likes("5"), answers("4", "5", "6", "7", "8")) as (booster, server):
        result = await booster.solve(TASK, numCandidates=5, budget=Budget(calls=7), **ONCE)

    assert (result.usage["calls"], len(server.seen), len(groups(result))) == (6, 1, 5)
    assert sum("kept for an answer" in why for why in report(result)["failures"].values()) == 4


@pytest.mark.parametrize("select", ["vote", "score"])
async def test_where_opinions_are_not_wanted_none_is_paid_for(select: str) -> None:
    async with rewarding(likes("5"), answers("4", "5", "4", "5")) as (booster, server):
        result = await booster.solve(TASK, numCandidates=4, select=select, **ONCE)

    assert (result.answer, server.seen) == ("4", [])


async def test_one_cheap_call_stays_one_call() -> None:
    async with rewarding(likes("5"), answers("4")) as (booster, server):
        result = await booster.solve(TASK, scheduler="system1")

    assert (result.usage["calls"], server.seen) == (1, [])


@pytest.mark.parametrize(("handler", "asked"), [(likes("5"), 0), (likes(), 2)], ids=["apart", "level"])
async def test_a_judge_is_not_asked_where_rewards_have_put_the_leader_out_of_its_reach(
    handler: Callable[[Seen], Answer], asked: int
) -> None:
    judged: list[Call] = []

    def script(call: Call) -> Line:
        if call.role == "judge":
            judged.append(call)
            return json.dumps({"rationale": "compared", "verdict": "B" if len(judged) == 1 else "A"})
        return answer("4675"[int(call.step_key[-1]) - 1])

    async with rewarding(handler, script) as (booster, _):
        result = await booster.solve(TASK, numCandidates=4, judgeModel="judge", **ONCE)

    assert len(judged) == asked
    assert (result.answer, result.answer_status) == (("6", "judged") if asked else ("5", "unverified"))


async def test_agreement_stands_whatever_the_rewards_say() -> None:
    async with rewarding(likes("5"), answers("4", "4", "4", "5")) as (booster, _):
        result = await booster.solve(TASK, numCandidates=4, **ONCE)

    assert (result.answer, result.answer_status) == ("4", "agreed")
    assert groups(result)["5"]["process"] > 0


async def test_the_address_never_comes_from_a_call() -> None:
    """Else whoever may ask a question could have the process ask any address of its network."""
    async with FakeOpenAI(likes("5")) as other, a_booster(answers("4", "5", "4", "5")) as booster:
        mine = {"processRewardUrl": other.base_url, "processRewardModel": "m"}
        result = await booster.solve(TASK, numCandidates=4, config=mine, **ONCE)

    assert other.seen == []
    assert any("processRewardUrl" in warning and "ignored" in warning for warning in result.warnings)


async def test_money_is_not_promised_for_a_reward_model_without_a_price() -> None:
    known = {"simulated/script": Price(input_per_m_tok=1, output_per_m_tok=1)}
    async with rewarding(likes("5"), answers("4"), prices=known) as (booster, _):
        with pytest.raises(UsageError, match="'prm'"):
            await booster.solve(TASK, budget=Budget(cost_usd=1.0), **ONCE)


# Steps


STEPWISE: dict[str, Any] = {"granularity": "step", "scheduler": "system2", "numCandidates": 3}
FIRST = steps("Count the cats first", "Ask a neighbour about dogs", "Note that a cat has four legs")
SECOND = steps("Guess a big number", "Multiply two by four", "Paint the fence")


async def test_rewards_choose_among_steps_and_see_the_scratchpad() -> None:
    script = [FIRST, SECOND, answer("8")]
    async with rewarding(likes("four legs", "Multiply"), script) as (booster, server):
        result = await booster.solve(TASK, iterations=2, **STEPWISE)

    assert [step.text for step in result.steps] == ["Note that a cat has four legs", "Multiply two by four"]
    assert sorted(len(path_of(seen)) for seen in server.seen) == [1, 1, 1, 2, 2, 2]
    assert all(path_of(seen)[0].startswith("Note that") for seen in server.seen if len(path_of(seen)) == 2)
    assert result.usage["byRole"]["process_reward"]["calls"] == 6


async def test_steps_without_rewards_are_chosen_as_if_there_were_no_server() -> None:
    async with a_booster([FIRST, SECOND, answer("8")]) as booster:
        plain = await booster.solve(TASK, iterations=2, **STEPWISE)
    async with rewarding([HTML], [FIRST, SECOND, answer("8")]) as (booster, _):
        dead = await booster.solve(TASK, iterations=2, **STEPWISE)

    assert [step.text for step in dead.steps] == [step.text for step in plain.steps]


async def test_looking_ahead_buys_no_rewards() -> None:
    """A beam compares branches by the steps' own scores; rewards would be paid for and not used."""
    ahead = {"beamWidth": 2, "minImprovement": 1.0}
    asked: list[str] = []

    def script(call: Call) -> Line:
        asked.append(call.step_key)
        if "beam" in call.step_key:
            return steps(*DISTINCT[:3])
        return {"it1/s2/steps": FIRST, "it2/s2/steps": SECOND}.get(call.step_key, answer("8"))

    async with rewarding(likes("four legs"), script) as (booster, server):
        await booster.solve(TASK, iterations=2, **{**STEPWISE, **ahead})

    assert sum("beam" in key for key in asked) == 2
    assert sorted(len(path_of(seen)) for seen in server.seen) == [1, 1, 1, 2, 2, 2]


async def test_a_lone_step_is_nothing_to_choose_from() -> None:
    async with rewarding(likes("4"), [steps("Count the cats first"), answer("8")]) as (booster, server):
        await booster.solve(TASK, iterations=1, **STEPWISE)

    assert server.seen == []


def test_a_step_carries_what_each_scorer_adds() -> None:
    def scored(text: str, total: float, score: float) -> Any:
        return replace(a_candidate(text, total=total), opinions={"process": {"score": score}})

    pair = [scored("a", 0.5, -2.0), scored("b", 0.1, -1.0)]
    weights = {"process": OpinionWeight(b=0.8), "heuristic": OpinionWeight(b=0.2)}

    low, high = compared(pair, {one.key for one in pair}, weights)

    assert low.opinions == {
        "process": {"score": -2.0, "z": -1.0, "weight": 0.8}, "heuristic": {"z": 1.0, "weight": 0.2},
    }  # fmt: skip
    assert high.opinions["process"]["z"] == 1.0


def test_one_reward_alone_compares_nothing() -> None:
    pair = (replace(a_candidate("a"), opinions={"process": {"score": -2.0}}), a_candidate("b"))

    assert compared(pair, {one.key for one in pair}, {}) == pair


# What is asked, and when


async def asked(candidate: Any, *, outcomes: int = 0, context: Context | None = None) -> list[Call]:
    """Return the calls that a whole answer costs."""
    calls: list[Call] = []

    async def ask(call: Call) -> Reply:
        calls.append(call)
        return Reply(text=json.dumps([0.5] * (len(call.messages) - 1)), model="prm", provider="p", source="model")

    state = AnswerState(weights={"process:prm": OpinionWeight(outcomes=outcomes)})
    reward = ProcessReward(ask, "prm", some_parts(None).purse, Forgetful(state=state))
    await reward.of_answer(candidate, context or Context(task="t"))
    return calls


async def test_a_whole_answer_is_asked_about_step_by_step() -> None:
    candidate = a_candidate(answer="8", key="it1/s2/answer1")
    reasoned = replace(candidate, proposal=replace(candidate.proposal, rationale="Two cats.\n\nFour legs each."))

    (call,) = await asked(reasoned, context=Context(task="t", steps=["Look at them"]))

    assert (call.role, call.step_key, call.model) == ("process_reward", "it1/s2/answer1/process", "prm")
    assert [message["content"] for message in call.messages] == [
        "t", "Look at them", "Two cats.", "Four legs each.", "Answer: 8",
    ]  # fmt: skip


@pytest.mark.parametrize("outcome", ["pass", "fail"])
@pytest.mark.parametrize(("outcomes", "calls"), [(0, 1), (OPINION_OUTCOMES - 1, 1), (OPINION_OUTCOMES, 0)])
async def test_answers_that_a_check_has_judged_are_asked_about_while_that_teaches(
    outcome: str, outcomes: int, calls: int
) -> None:
    judged = a_candidate(answer="8", checks=[a_check(outcome)])

    assert len(await asked(judged, outcomes=outcomes)) == calls


async def test_outcomes_of_checks_teach_the_weight_and_the_sum() -> None:
    async with rewarding(likes("8"), answers("8", "5", "8", "5") * 2) as (booster, _):
        for _ in range(2):
            result = await booster.solve(TASK, numCandidates=4, checks=[Check.numeric(8)], **ONCE)
            assert result.answer_status == "verified"
        memory = (await booster._worker._memories.of("default")).state

    assert memory.weight("process:prm").outcomes == 2
    assert memory.weight("process:prm").b > OpinionWeight().b
    assert (memory.combined_labels, memory.labels) == (2, 2)
    assert len(memory.scales["process:prm"]) == 8
    assert groups(result)["8"]["checks"] == 6.0


async def test_a_resumed_solve_pays_no_path_twice(tmp_path: Path) -> None:
    stuck = True

    def handle(seen: Seen) -> Answer:
        return HANG if stuck and "6" in path_of(seen)[-1] else likes("5")(seen)

    def script(call: Call) -> Line:
        return answer({"1": "4", "2": "5", "3": "6"}[call.step_key[-1]])

    async with FakeOpenAI(handle) as server:
        place = RewardServer(url=server.base_url, model="prm")
        async with a_booster(script, home=tmp_path, reward_server=place) as booster:
            session_id = await booster.begin(TASK, numCandidates=3, **ONCE)
            while len(server.seen) < 3 or len(await booster.journal.calls(session_id)) < 5:
                await asyncio.sleep(0.01)
        before = len(server.seen)
        stuck = False
        async with a_booster(script, home=tmp_path, reward_server=place) as booster:
            result = await booster.resume(session_id)

    assert (before, len(server.seen)) == (3, 4)  # the one in flight is repeated, and said
    assert [again["stepKey"] for again in result.diagnostics["repaid"]] == ["it1/s2/answer3/process"]
    assert result.usage["byRole"]["process_reward"]["calls"] == 4
    assert (result.answer, report(result)["scored"]) == ("5", 3)


# Withdrawal


async def test_only_a_withdrawal_by_siblings_is_taken_for_no_opinion() -> None:
    async def opinion() -> int:
        await asyncio.Event().wait()
        return 1

    withdrawn, cancelled = (asyncio.create_task(unless_withdrawn(opinion())) for _ in range(2))
    await asyncio.sleep(0)
    withdrawn.cancel(STRAGGLER)
    cancelled.cancel()

    assert await withdrawn is None
    with pytest.raises(asyncio.CancelledError):
        await cancelled


async def test_after_a_withdrawal_no_further_opinion_is_asked_for() -> None:
    calls: list[str] = []

    async def opinion(name: str) -> str:
        calls.append(name)
        await asyncio.Event().wait()
        return name

    async def both() -> list[str | None]:
        return [await unless_withdrawn(opinion("first")), await unless_withdrawn(opinion("second"))]

    task = asyncio.create_task(both())
    await asyncio.sleep(0)
    task.cancel(STRAGGLER)

    assert (await task, calls) == ([None, None], ["first"])
