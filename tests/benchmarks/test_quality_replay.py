"""The shipped loop over recorded replies: what it draws, what it costs, and what it is credited with."""

import json
from pathlib import Path

import pytest

from benchmarks.quality.arms import BOOSTER, CHECKED, FRUGAL, PLAIN, ROUTED, STRONG, Arm, arms_of, vote_name
from benchmarks.quality.outcomes import Outcome
from benchmarks.quality.recorded import Question, RecordedSet, as_reply
from benchmarks.quality.replay import asked, replayed
from benchmarks.quality.run import main
from tests.benchmarks.test_quality_recorded import CRUX, record


def samples(*answers: str | None, right: str, checkable: bool = False) -> RecordedSet:
    one = Question(
        id="q", task="What?", replies={"m": tuple(map(as_reply, answers))},
        verdicts={answer: answer == right for answer in answers if answer is not None},
        accepted=(right,) if checkable else None,
    )  # fmt: skip
    return RecordedSet(name="made up", kind="samples", questions=(one,), cheap=("m",), cap=len(answers))


def routed(first: str, second: str, strong: str, *, right: str, questions: int = 1) -> RecordedSet:
    answers = {"c1": first, "c2": second, "s": strong}
    every = tuple(
        Question(
            id=f"q{number}", task="What?", replies={model: (as_reply(answer),) for model, answer in answers.items()},
            verdicts={answer: answer == right for answer in answers.values()},
        )
        for number in range(questions)
    )  # fmt: skip
    return RecordedSet(name="made up", kind="models", questions=every, cheap=("c1", "c2"), strong="s")


def arm(recorded: RecordedSet, name: str) -> Arm:
    return next(one for one in arms_of(recorded) if one.name == name)


async def only(recorded: RecordedSet, name: str) -> Outcome:
    (found,) = await asked(recorded, arm(recorded, name), seed=0)
    return found


async def test_one_plain_call_is_one_call() -> None:
    found = await only(samples(*"aaaaaaaaaa", right="a"), PLAIN)

    assert (found.calls, found.right, found.settled) == (1, True, False)
    assert found.tokens > 0


async def test_a_vote_of_a_fixed_size_draws_all_and_the_adaptive_one_stops_at_its_lead() -> None:
    recorded = samples(*"aaaaaaaaaa", right="a")

    assert (await only(recorded, vote_name(10))).calls == 10
    assert (await only(recorded, FRUGAL)).calls == 3


async def test_a_check_finds_the_one_right_answer_among_many_that_are_wrong() -> None:
    recorded = samples(*"bbbbccddea", right="a", checkable=True)

    voted, checked = await only(recorded, BOOSTER), await only(recorded, CHECKED)

    assert not voted.right
    assert checked.right
    assert checked.settled


async def test_a_reply_without_an_answer_is_paid_for_and_not_credited() -> None:
    found = await only(samples(*[None] * 3, right="a"), vote_name(3))

    assert (found.calls, found.right, found.unscored) == (3, False, False)


async def test_what_a_strong_call_shows_is_known_to_the_next_question() -> None:
    """Nothing is known at first, so the strong model is asked; it says what the cheap ones say, so it is not asked again."""
    recorded = routed("a", "a", "a", right="a", questions=5)

    found = await asked(recorded, arm(recorded, ROUTED), seed=0)

    assert sum(one.strong for one in found) == 1
    assert all(one.right for one in found)


async def test_the_strong_model_is_asked_where_two_cheap_ones_differ() -> None:
    recorded = routed("a", "b", "c", right="c", questions=5)

    found = await asked(recorded, arm(recorded, ROUTED), seed=0)

    assert all(one.strong == 1 and one.right for one in found)
    assert (await asked(recorded, arm(recorded, STRONG), seed=0))[0].calls == 1


async def test_the_same_seed_comes_out_the_same() -> None:
    recorded = samples(*"aabbcabcab", right="a")
    own = arm(recorded, BOOSTER)

    first, again = [await asked(recorded, own, seed=4) for _ in range(2)]

    assert first == again


def test_two_processes_find_what_one_finds(tmp_path: Path) -> None:
    data = record(tmp_path, "cruxeval_cl7b/samples", *({**CRUX, "id": f"c{n}"} for n in range(3)))

    _, alone = replayed("cruxeval-output", data, seeds=2, most=None, processes=1)
    _, together = replayed("cruxeval-output", data, seeds=2, most=None, processes=2)

    assert alone == together
    assert {len(runs) for runs in alone.values()} == {2}


def test_the_command_writes_table_page_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At this size the bars are not the point."""
    data = record(tmp_path, "cruxeval_cl7b/samples", *({**CRUX, "id": f"c{n}"} for n in range(3)))
    page, document = tmp_path / "page.md", tmp_path / "found.json"

    main(["--data", str(data), "--sets", "cruxeval-input", "gsm", "--seeds", "2", "--processes", "1",
          "--tasks", "4", "--markdown", str(page), "--json", str(document)])  # fmt: skip

    said = capsys.readouterr().out
    assert "cruxeval input: 3 questions, 2 seeds" in said
    assert "gsm.text.dev.jsonl.gz is not there" in said
    assert "| one plain call |" in page.read_text("utf-8")
    found = json.loads(document.read_text("utf-8"))
    assert set(found["sets"]) == {"cruxeval-input"}
    assert len(found["sets"]["cruxeval-input"]["arms"]["booster"]["rightOfQuestion"]) == 3


def test_without_any_record_the_simulated_model_decides_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["--data", str(tmp_path), "--sets", "crux", "game24-steps", "--tasks", "4"])

    said = capsys.readouterr().out
    assert "skipped" in said
    assert "simulated" in said
    assert code == int("MISS" in said)


def test_senseless_sizes_are_refused() -> None:
    for wrong in (["--seeds", "0"], ["--problems", "-1"], ["--processes", "0"], ["--sets", "nothing"]):
        with pytest.raises(SystemExit) as refused:
            main(wrong)
        assert refused.value.code == 2
