"""Readers of recorded sets, on small records of the same shape."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import replay_data
from benchmarks.replay_data import Answered, MissingDataError, Programs, Sampled


def record(data: Path, name: str, *records: dict[str, Any]) -> Path:
    path = data / f"{name}.dev.jsonl.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as lines:
        lines.writelines(json.dumps(one) + "\n" for one in records)
    return data


def test_the_directory_is_the_variables_or_beside_the_repository() -> None:
    assert replay_data.data_directory({"BOOSTER_BENCH_DATA": "elsewhere"}) == Path("elsewhere")
    assert (
        replay_data.data_directory({})
        == replay_data.data_directory({"BOOSTER_BENCH_DATA": ""})
        == Path("../shared/data")
    )


def test_a_set_that_is_not_there_is_named_with_the_variable(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"samples\.dev\.jsonl\.gz is not there; BOOSTER_BENCH_DATA"):
        replay_data.cruxeval(tmp_path, "input")


def test_samples_are_keyed_by_their_normal_form(tmp_path: Path) -> None:
    record(
        tmp_path,
        "cruxeval_cl7b/samples",
        {
            "id": "a",
            "input_samples": ["F(1)", " f(1) ", "2.0", ""],
            "input_correct": [1, 1, 0, 0],
            "output_samples": [],
        },
    )

    assert replay_data.cruxeval(tmp_path, "input") == [
        Sampled(id="a", keys=("f(1)", "f(1)", "2", None), right=(True, True, False, False))
    ]


def test_game24_answers_are_the_formulas_behind_their_label(tmp_path: Path) -> None:
    record(
        tmp_path,
        "tot_game24/game24",
        {"id": "g", "cot": {"ys": ["Steps:\n4 * 6 = 24 (left: 24)\nAnswer: 4 * 6 = 24", "Steps: none"], "r": [1, 0]}},
    )

    assert replay_data.game24(tmp_path, "cot") == [Sampled(id="g", keys=("4 * 6 = 24", None), right=(True, False))]


def test_programs_that_cannot_be_graded_are_left_out(tmp_path: Path) -> None:
    solution = {"code": "pass", "correct": 1, "tests_passed": "5"}
    gradable = {"id": "p", "gradable": 1, "samples": [0, 0], "solutions": [solution], "test_counts": [3, 1, 1]}
    record(tmp_path, "codet_humaneval/samples", gradable, {**gradable, "gradable": 0})

    assert replay_data.programs(tmp_path) == [
        Programs(id="p", samples=(0, 0), passed=(0b101,), test_counts=(3, 1, 1), right=(True,))
    ]


def test_answers_of_several_models_are_one_row(tmp_path: Path) -> None:
    record(
        tmp_path,
        "zeroeval/gsm",
        {"id": "q", "question": "how many", "models": {"a": [1, 40, "3.0"], "b": [0, 10, None]}},
    )
    record(tmp_path, "mmlu_pro/questions", {"id": "m", "question": "which", "options": ["one", "two"]})
    record(tmp_path, "mmlu_pro/outcomes", {"id": "m", "models": {"a": [1, "B", 40]}})

    assert replay_data.zeroeval(tmp_path, "gsm") == [
        Answered(id="q", characters=8, keys={"a": "3", "b": None}, right={"a": True, "b": False})
    ]
    assert replay_data.mmlu_pro(tmp_path) == [Answered(id="m", characters=11, keys={"a": "B"}, right={"a": True})]


def test_plans_pair_the_zero_shot_prompt_of_both_models(tmp_path: Path) -> None:
    def plan(model: str, prompt: str, right: int) -> dict[str, Any]:
        return {"model": model, "prompt": prompt, "correct": right}

    record(
        tmp_path,
        "planbench/plans",
        {"domain": "d", "samples": [plan("c", "one_shot", 1), plan("c", "zero_shot", 0), plan("s", "one_shot", 1)]},
        {"domain": "d", "samples": [plan("c", "zero_shot", 1)]},
        {"domain": "other", "samples": [plan("c", "zero_shot", 1), plan("s", "zero_shot", 1)]},
    )

    assert replay_data.planbench(tmp_path, "d", "c", "s") == [(False, True)]


def test_states_of_a_tree_carry_their_calls_and_what_is_left(tmp_path: Path) -> None:
    """A text proposed twice was valued once; a state with too many numbers left has gone wrong."""
    first, second = "4 + 5 = 9 (left: 6 9 10)\n", "6 + 10 = 16 (left: 4 5 16 1)\n"
    step = {"new_ys": [first, second, first, "lost\n"], "values": [21.001, 3.0, 0, 60.0]}
    record(tmp_path, "tot_game24/game24", {"id": "g", "tot": {"steps": [step]}})

    (puzzle,) = replay_data.game24_trees(tmp_path, lambda left: True)

    (depth,) = puzzle.depths
    assert depth.left == ("6 9 10", "4 5 16 1", "6 9 10", None)
    assert depth.calls == ((20.0, 1.0, 0.001), (1.0, 1.0, 1.0), (), (20.0, 20.0, 20.0))
    assert depth.solvable == (True, False, True, False)


@pytest.mark.parametrize(
    ("total", "calls"),
    [(60.0, (20, 20, 20)), (2.001, (1, 1, 0.001)), (0.002, (0.001, 0.001, 0)), (0.0, (0, 0, 0)), (21.0, (20, 1, 0))],
)
def test_three_value_calls_are_read_off_their_sum(total: float, calls: tuple[float, ...]) -> None:
    assert replay_data.value_calls(total) == calls


def test_a_turn_knows_only_what_came_before_it(tmp_path: Path) -> None:
    def call(name: str, arguments: dict[str, Any], write: int) -> dict[str, Any]:
        calls = [{"name": name, "arguments": json.dumps(arguments)}]
        return {"role": "assistant", "tool_calls": calls, "is_write": write}

    record(
        tmp_path,
        "tau_bench/airline_gpt4o",
        {
            "id": "t",
            "gold_actions": [{"name": "book", "kwargs": {"seat": 1}}],
            "steps": [
                {"role": "user", "content": "book a seat"},
                call("book", {"seat": 2}, 1),
                {"role": "tool", "content": "Error: taken"},
                call("book", {"seat": 3}, 1),
                {"role": "tool", "content": "done"},
                call("book", {"seat": 1}, 1),
                {"role": "tool", "content": "done"},
                {"role": "assistant", "content": "done"},
                call("transfer_to_human_agents", {}, 1),
                {"role": "tool"},
            ],
        },
    )

    ((run,),) = (replay_data.tau_bench(tmp_path),)

    assert [(t.tool, t.writes, t.errors, t.outside, t.wrong_write) for t in run.turns] == [
        ("book", True, 0, True, False),  # failed: it wrote nothing
        ("book", True, 1, False, True),
        ("book", True, 1, False, False),
        (None, False, 1, False, False),
        ("transfer_to_human_agents", False, 1, False, False),
    ]
    assert run.turns[0].arguments == {"seat": 2}
    assert (run.turns[0].characters, run.turns[3].characters) == (len('{"seat": 2}'), 4)


def test_arguments_that_are_no_json_stay_text(tmp_path: Path) -> None:
    step = {"role": "assistant", "tool_calls": [{"name": "f", "arguments": "{"}], "is_write": 0}
    record(tmp_path, "tau_bench/airline_gpt4o", {"id": "t", "gold_actions": [], "steps": [step]})

    assert replay_data.tau_bench(tmp_path)[0].turns[0].arguments == "{"


def test_a_failed_run_is_lengths_and_the_decisive_step(tmp_path: Path) -> None:
    record(
        tmp_path,
        "who_and_when/traces",
        {
            "id": "w",
            "subset": "hand_crafted",
            "history": [{"content": "plan"}, {"content": "An Error occurred"}],
            "mistake_step": 1,
        },
    )

    (trace,) = replay_data.who_and_when(tmp_path)

    assert (trace.lengths, trace.names_error, trace.decisive) == ((4, 17), (False, True), 1)
