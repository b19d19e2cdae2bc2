"""Recorded questions as the loop is asked them, and as the scorer reads the answers."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.quality.recorded import SETS, Question, as_reply
from benchmarks.replay_data import MissingDataError
from verifier.answers import extract_answer


def record(data: Path, name: str, *records: dict[str, Any]) -> Path:
    path = data / f"{name}.dev.jsonl.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as lines:
        lines.writelines(json.dumps(one) + "\n" for one in records)
    return data


CRUX = {
    "id": "c1", "code": "def f(x): return x + 1", "input": "1", "output": "2",
    "input_samples": ["f(1)", "f(2)"], "input_correct": [1, 0],
    "output_samples": ["2", "3"], "output_correct": [1, 0],
}  # fmt: skip


def question(**changes: Any) -> Question:
    fields: dict[str, Any] = {"id": "q", "task": "?", "replies": {"m": ("a", "b", "c", "d")}, "verdicts": {}}
    return Question(**{**fields, **changes})


def test_a_set_that_is_not_there_is_named(tmp_path: Path) -> None:
    for read in SETS.values():
        with pytest.raises(MissingDataError, match="BOOSTER_BENCH_DATA"):
            read(tmp_path)


def test_no_gold_answer_reaches_the_task_or_the_replies(tmp_path: Path) -> None:
    data = record(tmp_path, "cruxeval_cl7b/samples", {**CRUX, "output": "GOLD", "output_samples": ["3", "4"]})

    (asked,) = SETS["cruxeval-output"](data).questions

    assert "GOLD" not in asked.task
    assert all("GOLD" not in reply for replies in asked.replies.values() for reply in replies)


def test_a_guessed_input_can_be_run_and_a_guessed_output_cannot(tmp_path: Path) -> None:
    data = record(tmp_path, "cruxeval_cl7b/samples", CRUX)

    assert SETS["cruxeval-input"](data).checkable
    assert SETS["cruxeval-input"](data).questions[0].accepted == ("f(1)",)
    assert not SETS["cruxeval-output"](data).checkable


def test_a_recorded_answer_is_read_from_its_reply_as_it_stands() -> None:
    for answer in ("[1, 'a\"b']", "f(\n  2)", "'5'", "ß"):
        assert extract_answer(as_reply(answer)) == answer
    assert extract_answer(as_reply(None)) is None


def test_answers_of_other_spelling_are_scored_by_the_key_that_groups_them(tmp_path: Path) -> None:
    models = {
        "gpt-4o-mini-2024-07-18": [0, 9, "7"],
        "gemini-1.5-flash": [1, 9, "18"],
        "o1-mini-2024-09-12": [1, 9, "18.0"],
    }
    record(tmp_path, "zeroeval/gsm", {"id": "g", "question": "?", "gold": "18", "models": models})
    data = record(tmp_path, "zeroeval/gsm.text", {"id": "g", "text": {"gpt-4o-mini-2024-07-18": "Hm.\nAnswer: 7"}})

    (asked,) = SETS["gsm"](data).questions

    assert asked.replies["gpt-4o-mini-2024-07-18"] == ("Hm.\nAnswer: 7",)
    assert asked.right("18.00") is True
    assert asked.right("7") is False


def test_an_answer_that_nobody_gave_is_no_verdict_and_none_is_wrong() -> None:
    asked = question(verdicts={"42": True})

    assert asked.right("43") is None
    assert asked.right(None) is False


def test_seeds_shuffle_samples_and_the_same_seed_shuffles_alike() -> None:
    orders = {question().shuffled(seed)["q", "m"] for seed in range(20)}

    assert question().shuffled(3) == question().shuffled(3)
    assert len(orders) > 5
    assert all(sorted(order) == ["a", "b", "c", "d"] for order in orders)


def test_a_smaller_set_is_always_the_same_one(tmp_path: Path) -> None:
    data = record(tmp_path, "cruxeval_cl7b/samples", *({**CRUX, "id": f"c{n}"} for n in range(9)))
    whole = SETS["cruxeval-input"](data)

    assert whole.sampled(4) == whole.sampled(4)
    assert len(whole.sampled(4).questions) == 4
    assert whole.sampled(None) is whole.sampled(9) is whole
