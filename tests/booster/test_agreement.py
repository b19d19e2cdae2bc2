"""Said beforehand: a vote that cannot come to `agreed`, whatever the model says."""

from typing import Any

import pytest

from booster.agreement import out_of_reach
from booster.session import Budget, Problem
from providers.scripted import ScriptedProvider
from tests.builders import a_session
from tests.solving import a_booster, answer
from verifier.types import Check

VOTE = {"granularity": "answer", "iterations": 1, "scheduler": "system2"}


def warned(calls: int | None = 24, *, checks: Any = (), **config: Any) -> str:
    session = a_session(
        config=config, budget=Budget(calls=calls), problem=Problem(task="t", checks=tuple(checks))
    )  # fmt: skip
    return "".join(out_of_reach(session))


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        ({**VOTE, "samples": 2}, "samples, 2, allows"),
        ({**VOTE, "numCandidates": 2}, "numCandidates, 2, allows"),
        ({**VOTE, "calls": 2}, "budget.calls, 2, pays for"),
        ({"calls": 2}, "budget.calls, 2, pays for"),
        ({"calls": 1}, "budget.calls, 1, pays for"),
        ({**VOTE, "scheduler": "auto", "samples": 1}, "samples, 1, allows"),
        ({"scheduler": "system2", "samples": 1}, "samples, 1, allows"),
        ({"scheduler": "system2", "calls": 3}, "budget.calls, 3, pays for"),
        ({"calls": 1, "fastModel": "a", "strongModel": "b"}, "takes 2 equal answers, more than budget.calls, 1"),
    ],
)
def test_a_vote_that_cannot_agree_is_said_with_its_cause(options: dict[str, Any], cause: str) -> None:
    assert cause in warned(**options)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"calls": None},
        {**VOTE, "samples": 3},
        {**VOTE, "samples": 2, "scheduler": "auto"},  # System 1 may have answered before
        {**VOTE, "samples": 2, "iterations": 2},
        {"scheduler": "system2", "samples": 2},  # the steps lead to a third
        {"calls": 2, "fastModel": "a", "strongModel": "b"},  # two models are enough
        {"calls": 2, "checks": [Check.numeric(4)]},  # a check decides
        {"calls": 2, "granularity": "step"},  # nobody asked for a vote
        {"calls": 2, "scheduler": "seed"},
        {"scheduler": "system1"},
    ],
)
def test_where_agreement_is_possible_or_not_asked_for_nothing_is_said(options: dict[str, Any]) -> None:
    assert warned(**options) == ""


async def test_two_samples_can_agree_beside_a_cheap_answer() -> None:
    """What is not warned of does happen."""
    async with a_booster(providers=[ScriptedProvider(lambda _: answer("4"))]) as booster:
        result = await booster.solve("2 + 2?", samples=2, granularity="answer", iterations=2, scheduler="system2")

    assert (result.answer_status, result.warnings) == ("agreed", ())


async def test_the_result_carries_the_warning() -> None:
    async with a_booster(providers=[ScriptedProvider(lambda _: answer("4"))]) as booster:
        result = await booster.solve("2 + 2?", samples=2, **VOTE)

    assert result.answer_status == "unverified"
    assert result.warnings == (
        "no vote can come to 'agreed': that takes 3 equal answers, more than samples, 2, allows",
    )
