"""Answers that are programs: rounds of programs and tests, chosen by what they do, paid for within the budget."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from booster.app import Booster
from booster.attempt import attempt_step
from booster.config import Config
from booster.drawing import Landed
from booster.errors import UsageError
from booster.parts import Attempt
from booster.programs import Matrix, behaviours
from booster.session import Budget, PooledAnswer
from booster.settings import Settings
from providers.errors import RejectedError
from providers.scripted import Line, ScriptedProvider
from providers.types import Call, Usage
from tests.builders import a_session, opened
from tests.solving import answer, some_parts
from verifier.types import Check


class Lab:
    """Runs tests by a table: a program passes the tests whose text occurs in it; remembers every pair."""

    def __init__(self) -> None:
        self.ran: Counter[tuple[str, str]] = Counter()

    async def __call__(self, programs: Sequence[str], tests: Sequence[str]) -> list[frozenset[int]]:
        self.ran.update((program, test) for program in programs for test in tests)
        return [frozenset(at for at, test in enumerate(tests) if test in program) for program in programs]


TESTS = json.dumps(["t1", "t2", "t3"])


def written(*programs: str, tests: str = TESTS) -> Any:
    """Return a script: lists of tests where tests are asked for, the programs in turn, the last one again and again."""

    def line(call: Call) -> Line:
        if call.role == "tests":
            return tests
        number = int(call.step_key.rpartition("answer")[2])
        return answer(programs[min(number, len(programs)) - 1])

    return line


async def drawn(
    script: Any, lab: Lab | None = None, *, calls: int | None = None, checks: Sequence[Check] = ()
) -> tuple[Attempt, list[Call]]:
    provider = ScriptedProvider(script)
    parts = replace(some_parts(provider, calls=calls), run_tests=lab or Lab())
    session = a_session(config={"select": "programs"})
    session = replace(session, problem=replace(session.problem, checks=tuple(checks)))
    return await attempt_step(session, opened("answer"), parts), provider.calls


def chosen(attempt: Attempt) -> str | None:
    (one,) = [pooled.answer for pooled in attempt.answers if pooled.origin == "chosen"]
    return one


def landed(number: int, text: str) -> Landed:
    pooled = PooledAnswer(key=str(number), answer=text, origin="sample", source="replay")
    return Landed(answer=pooled, candidate=None, usage=Usage())


async def test_the_same_winner_three_rounds_running_ends_the_drawing() -> None:
    attempt, calls = await drawn(written("t1 t2 t3"))

    assert attempt.draw is not None
    assert (attempt.draw.rule, attempt.draw.waves, attempt.draw.stopped) == ("programs", 3, "clear")
    assert Counter(call.role for call in calls) == {"generate": 30, "tests": 3}


async def test_the_behaviour_that_others_share_beats_the_program_that_passes_most() -> None:
    """The outlier passes a test more than the others, as a program that fits a wrong test does."""
    attempt, _ = await drawn(written("t1 t2 t3 outlier", *(f"t1 t2 spelling {n}" for n in range(40))))

    assert chosen(attempt) == "t1 t2 spelling 0"


async def test_each_test_runs_once_on_each_program() -> None:
    lab = Lab()

    await drawn(written("t1 a", "t1 b", "t2 c"), lab)

    assert set(lab.ran.values()) == {1}


async def test_no_more_is_asked_for_than_can_be_paid() -> None:
    attempt, calls = await drawn(written("t1"), calls=15)

    assert len(calls) == 15
    assert attempt.draw is not None
    assert attempt.draw.stopped == "cap"
    assert chosen(attempt) == "t1"


async def test_a_program_that_fails_a_check_of_the_user_never_wins_however_many_do_alike() -> None:
    script = written("t1 t2 good", *(f"t1 t2 t3 bad {n}" for n in range(99)))

    attempt, _ = await drawn(script, checks=[Check.regex("good", target="answer")])

    assert attempt.draw is not None
    assert attempt.draw.stopped == "check"
    assert attempt.draw.waves == 1
    assert chosen(attempt) == "t1 t2 good"


async def test_where_every_program_fails_a_check_none_is_chosen_and_the_drawing_ends_at_the_budget() -> None:
    attempt, calls = await drawn(written("t1"), calls=22, checks=[Check.regex("good", target="answer")])

    assert [pooled for pooled in attempt.answers if pooled.origin == "chosen"] == []
    assert len(calls) == 22


async def test_a_model_that_writes_no_tests_still_gives_an_answer() -> None:
    attempt, _ = await drawn(written("t1 a", "t2 b", tests="I would rather not."))

    assert chosen(attempt) == "t1 a"


async def test_programs_that_cannot_be_had_end_it() -> None:
    def line(call: Call) -> Line:
        return TESTS if call.role == "tests" else RejectedError("400", kind="http_400")

    attempt, calls = await drawn(line)

    assert attempt.answers == ()
    assert set(attempt.failed) == {"http_400"}
    assert len(calls) == 11


async def test_a_test_sees_no_program_and_asks_for_none() -> None:
    _, calls = await drawn(written("SECRET t1"))

    asked = [str(call.messages) for call in calls if call.role == "tests"]

    assert all("SECRET" not in text and "Do not solve the task" in text for text in asked)


async def test_the_chosen_program_stands_in_the_result_and_is_not_called_verified() -> None:
    provider = ScriptedProvider(written("t1 t2 t3 odd", *(f"t1 t2 twin {n}" for n in range(40))))
    config, _ = Config.parse({"select": "programs", "scheduler": "system2", "granularity": "answer", "iterations": 1})
    settings = Settings(home=Path("unused"), journal_url="memory:", config=config, allow_code=True)

    async with Booster.open(settings, providers=[provider], run_tests=Lab()) as booster:
        result = await booster.solve("Write it.", budget=Budget(calls=60))

    assert result.answer == "t1 t2 twin 0"
    assert result.answer_status == "unverified"
    assert result.confidence == 0.6  # of many that do the same, however differently they are written; capped by status
    (votes,) = [item for item in result.evidence if item.kind == "votes"]
    assert votes.detail["draw"]["programs"]["tests"] == 3
    assert votes.detail["draw"]["programs"]["behaviours"][0]["passed"] == 2


async def test_nobody_runs_programs_where_the_process_does_not_allow_it() -> None:
    settings = Settings(home=Path("unused"), journal_url="memory:")

    async with Booster.open(settings, providers=[ScriptedProvider([])]) as booster:
        with pytest.raises(UsageError, match="allowCode"):
            await booster.solve("Write it.", select="programs")


@given(st.lists(st.sets(st.sampled_from(["t1", "t2", "t3"])).map(lambda tests: " ".join(sorted(tests))), min_size=1))
async def test_every_program_is_in_one_behaviour_and_the_winner_comes_first(programs: list[str]) -> None:
    matrix = Matrix(run=Lab())
    await matrix.extend(programs, ["t1", "t2", "t3"])

    found = behaviours([landed(number, text) for number, text in enumerate(programs)], matrix)

    members = [one.answer.key for behaviour in found for one in behaviour.members]
    assert sorted(members) == sorted(map(str, range(len(programs))))
    assert len({behaviour.passed for behaviour in found}) == len(found)
    assert found[0].score == max(behaviour.score for behaviour in found)
