"""What the simulated model writes, without a server."""

import json
import math
import re
from collections import Counter
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.simulated_model import LARGE, MEDIUM, SMALL, SimulatedModel
from providers.simulated_reading import Question, TaskBank, read
from providers.simulated_reply import write
from providers.simulated_tasks import SimulatedTask, demo_tasks

TASKS = demo_tasks(20)
BANK = TaskBank(TASKS)
JUG = TASKS[0]
ANSWER = "Give the final answer."


def question(task: SimulatedTask, request: str, steps: int = 0) -> Question:
    listed = "\n".join(f"{number}. {step}" for number, step in enumerate(task.steps[:steps], 1))
    return read([{"role": "user", "content": f"{task.task}\n{listed}\n{request}"}], BANK)


def answers(model: SimulatedModel, asked: Question, draws: int, model_id: str = MEDIUM) -> Counter[str]:
    texts = (write(model, model_id, asked, model.draw(number)).content for number in range(draws))
    return Counter(json.loads(text)["answer"] for text in texts)


def items(model: SimulatedModel, asked: Question, key: int = 0) -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = json.loads(write(model, MEDIUM, asked, model.draw(key)).content)
    return loaded


def within_binomial(hits: int, draws: int, p: float) -> bool:
    """Four standard deviations: a right model fails one in 16,000 times, and the seeds here are fixed."""
    return abs(hits - draws * p) <= 4 * math.sqrt(draws * p * (1 - p)) + 1


@pytest.mark.parametrize("accuracy", [0.0, 0.2, 0.7, 1.0])
def test_whole_answers_are_right_as_often_as_the_knob_says(accuracy: float) -> None:
    model = SimulatedModel(accuracy=accuracy)

    right = answers(model, question(JUG, ANSWER), 400)[JUG.answer]

    assert within_binomial(right, 400, accuracy)


@pytest.mark.parametrize("model_id", [SMALL, MEDIUM, LARGE])
@pytest.mark.parametrize("steps", [0, 3, 6])
def test_whole_answers_are_right_as_often_as_the_formula_says(model_id: str, steps: int) -> None:
    model, asked = SimulatedModel(skill=0.5), question(JUG, ANSWER, steps)
    skill = {SMALL: 0.25, MEDIUM: 0.5, LARGE: 0.75}[model_id]
    p = 1 / (1 + math.exp(-8 * (skill - 0.6 * (6 - steps) / 6)))

    right = answers(model, asked, 400, model_id)[JUG.answer]

    assert model.p_right(model_id, asked, 6 - steps) == pytest.approx(p)
    assert within_binomial(right, 400, p)


@given(
    skill=st.floats(0, 1),
    more=st.floats(0, 1),
    steps=st.integers(0, 5),
    slips=st.integers(0, 3),
    at_once=st.integers(0, 5),
)
def test_skill_and_progress_never_harm_and_slips_and_leaps_never_help(
    skill: float, more: float, steps: int, slips: int, at_once: int
) -> None:
    low, high = sorted((skill, more))
    asked = Question(wanted="answer", items=1, task=JUG, done=steps, slips=slips, last_step=None, request="", digest="")
    worse = Question(
        wanted="answer", items=1, task=JUG, done=steps, slips=slips + 1, last_step=None, request="", digest=""
    )
    model = SimulatedModel(skill=low, tasks=())

    p = model.p_right(MEDIUM, asked, at_once)

    assert 0 <= p <= 1
    assert p <= SimulatedModel(skill=high, tasks=()).p_right(MEDIUM, asked, at_once)
    assert p >= model.p_right(MEDIUM, worse, at_once)
    assert p >= model.p_right(MEDIUM, asked, at_once + 1)
    assert model.p_right(SMALL, asked, at_once) <= p <= model.p_right(LARGE, asked, at_once)


def test_small_steps_reach_the_answer_more_often_than_one_leap() -> None:
    """The point of the formula: deliberation pays in the simulation as it does outside."""
    model, runs = SimulatedModel(skill=0.5), 200
    leaps = answers(model, question(JUG, ANSWER), runs)[JUG.answer]

    arrived = 0
    for run in range(runs):
        done = 0
        for turn in range(8):
            (item,) = items(model, question(JUG, "Return exactly 1 items", done), key=1000 * run + turn)
            done += JUG.steps[done] in item["text"]
            if "answer" in item:
                arrived += item["answer"] == JUG.answer
                break

    assert arrived > leaps + 20


@pytest.mark.parametrize("task", TASKS, ids=lambda task: f"{task.family}-{task.language}")
def test_a_perfect_model_gives_k_distinct_wordings_of_the_next_step(task: SimulatedTask) -> None:
    got = items(SimulatedModel(accuracy=1), question(task, "Return exactly 7 items"))

    assert len({item["text"] for item in got}) == 7
    assert all(task.steps[0] in item["text"] and item["rationale"] for item in got)
    assert all(("answer" in item) == (len(task.steps) == 1) for item in got)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: f"{task.family}-{task.language}")
def test_the_last_step_of_a_chain_carries_the_answer(task: SimulatedTask) -> None:
    last = items(SimulatedModel(accuracy=1), question(task, "Return exactly 2 items", len(task.steps) - 1))
    beyond = items(SimulatedModel(accuracy=1), question(task, "Return exactly 2 items", len(task.steps)))

    assert [item["answer"] for item in last + beyond] == [task.answer] * 4
    assert all(task.steps[-1] in item["text"] for item in last)
    assert all(task.answer in item["text"] for item in beyond)


def test_a_hopeless_model_mixes_slips_vague_talk_and_repeats() -> None:
    asked = question(JUG, "Return exactly 40 items", 2)

    got = [item["text"] for item in items(SimulatedModel(accuracy=0), asked)]

    assert not [text for text in got if JUG.steps[2] in text]
    assert [text for text in got if JUG.steps[1] in text], "repeats the last step"
    assert [text for text in got if "Move 3" in text], "a slip in the next step"
    assert [text for text in got if not re.search(r"Move \d", text)], "no step at all"
    assert not [item for item in items(SimulatedModel(accuracy=0), asked) if "answer" in item]


@pytest.mark.parametrize("spread", [1, 3])
def test_wrong_answers_spread_over_as_many_distractors_as_the_knob_says(spread: int) -> None:
    wrong = answers(SimulatedModel(accuracy=0, distractors=spread), question(JUG, ANSWER), 300)

    assert set(wrong) == set(JUG.distractors[:spread])
    assert all(within_binomial(count, 300, 1 / spread) for count in wrong.values())


def test_correlated_errors_gather_on_the_most_tempting_answer() -> None:
    apart = answers(SimulatedModel(accuracy=0, distractors=4), question(JUG, ANSWER), 400)
    together = answers(SimulatedModel(accuracy=0, distractors=4, correlation=0.8), question(JUG, ANSWER), 400)

    assert within_binomial(apart[JUG.distractors[0]], 400, 0.25)
    assert within_binomial(together[JUG.distractors[0]], 400, 0.8 + 0.2 * 0.25)


def test_an_unknown_task_gets_plausible_steps_and_an_answer_from_a_small_set() -> None:
    asked = read([{"role": "user", "content": f"Why is the sea salt? {ANSWER}"}], BANK)
    steps = read([{"role": "user", "content": "Why is the sea salt? Return exactly 3 items"}], BANK)

    assert 2 <= len(answers(SimulatedModel(), asked, 200)) <= 5
    assert len(items(SimulatedModel(), steps)) == 3


def test_the_same_reply_wears_four_dresses() -> None:
    asked = question(JUG, ANSWER)
    by_shape = {
        shape: write(SimulatedModel(accuracy=1, shape=shape), MEDIUM, asked, Random(1))
        for shape in ("json", "prose", "thinking", "fenced")
    }

    bare = by_shape["json"].content
    assert json.loads(bare)["answer"] == JUG.answer
    assert by_shape["prose"].content.endswith(f"Final answer: {JUG.answer}")
    assert by_shape["fenced"].content == f"```json\n{bare}\n```"
    assert by_shape["thinking"].content == by_shape["thinking"].thinking + bare
    assert re.fullmatch(r"<think>\n.+\n</think>\n", by_shape["thinking"].thinking)


def test_the_mixed_shape_uses_all_four() -> None:
    model, asked = SimulatedModel(shape="mixed"), question(JUG, ANSWER)

    openings = {write(model, MEDIUM, asked, model.draw(number)).content[0] for number in range(60)}

    assert openings == {"{", "`", "<", "M"}


def test_prose_steps_are_a_numbered_list_whose_last_step_says_the_answer() -> None:
    model = SimulatedModel(accuracy=1, shape="prose")

    text = write(model, MEDIUM, question(JUG, "Return exactly 2 items", 5), Random(0)).content

    lines = text.splitlines()
    assert lines[0] == f"1. {JUG.steps[5]} Final answer: 6"
    assert lines[1].startswith("2. Next: Move 6")


def test_a_solution_lists_the_steps_that_are_missing() -> None:
    text = write(SimulatedModel(accuracy=1), MEDIUM, question(JUG, f'{ANSWER} {{"steps": []}}', 4), Random(0)).content

    assert json.loads(text) == {"steps": list(JUG.steps[4:]), "answer": "6"}


def test_a_plain_question_is_answered_in_prose() -> None:
    text = write(SimulatedModel(accuracy=1), MEDIUM, question(JUG, ""), Random(0)).content

    assert text.endswith("Final answer: 6")


@pytest.mark.parametrize(
    "knobs",
    [
        {"skill": 1.1},
        {"accuracy": -0.1},
        {"accuracy": float("nan")},
        {"correlation": 2},
        {"latency": -1},
        {"jitter": float("inf")},
        {"distractors": 0},
        {"distractors": 9},
        {"shape": "verse"},
        {"n": "maybe"},
    ],
)
def test_a_knob_out_of_range_is_an_error_that_names_it(knobs: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(knobs))):
        SimulatedModel(**knobs)
