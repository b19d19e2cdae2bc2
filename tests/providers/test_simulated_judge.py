"""The simulated model as a judge."""

import json
from collections import Counter

import pytest

from providers.simulated_model import MEDIUM, SimulatedModel
from providers.simulated_reading import TaskBank, read
from providers.simulated_reply import write
from providers.simulated_tasks import SimulatedTask, demo_tasks, slip

TASKS = demo_tasks(20)
BANK = TaskBank(TASKS)
PAIR = """Task:
{task}

Which of the two is better?
Answer A:
{a}

Answer B:
{b}

Reply with JSON: {{"verdict": "A" | "B" | "tie"}}"""
SINGLE = """Task:
{task}

Rate this candidate.
{a}

Reply with JSON: {{"score": a number from 0 to 10}}"""


def opinions(prompt: str, accuracy: float, draws: int = 40) -> list[dict[str, object]]:
    model = SimulatedModel(accuracy=accuracy)
    question = read([{"role": "user", "content": prompt}], BANK)
    assert question.wanted == "judge"
    return [json.loads(write(model, MEDIUM, question, model.draw(number)).content) for number in range(draws)]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: f"{task.family}-{task.language}")
def test_a_perfect_judge_prefers_the_right_answer_in_both_orders(task: SimulatedTask) -> None:
    right, wrong = f"Final answer: {task.answer}", f"Final answer: {task.distractors[0]}"

    first = opinions(PAIR.format(task=task.task, a=right, b=wrong), 1)
    second = opinions(PAIR.format(task=task.task, a=wrong, b=right), 1)
    same = opinions(PAIR.format(task=task.task, a=right, b=right), 1)

    assert {opinion["verdict"] for opinion in first} == {"A"}
    assert {opinion["verdict"] for opinion in second} == {"B"}
    assert {opinion["verdict"] for opinion in same} == {"tie"}


@pytest.mark.parametrize("task", TASKS, ids=lambda task: f"{task.family}-{task.language}")
def test_a_perfect_judge_prefers_a_right_step_to_a_slip(task: SimulatedTask) -> None:
    prompt = PAIR.format(task=task.task, a=slip(task.steps[0], 1), b=task.steps[0])

    assert {opinion["verdict"] for opinion in opinions(prompt, 1)} == {"B"}


def test_a_blind_judge_tosses_a_coin() -> None:
    task = TASKS[0]
    prompt = PAIR.format(task=task.task, a='{"answer": "6"}', b='{"answer": "7"}')

    verdicts = Counter(opinion["verdict"] for opinion in opinions(prompt, 0, draws=400))

    assert set(verdicts) == {"A", "B"}
    assert abs(verdicts["A"] - 200) <= 40


def test_scores_of_a_perfect_judge_keep_right_and_wrong_apart_on_the_scale_asked_for() -> None:
    task = TASKS[0]
    right = [opinion["score"] for opinion in opinions(SINGLE.format(task=task.task, a="Final answer: 6"), 1)]
    wrong = [opinion["score"] for opinion in opinions(SINGLE.format(task=task.task, a="Final answer: 7"), 1)]

    assert all(isinstance(score, float) and 6 <= score <= 10 for score in right)
    assert all(isinstance(score, float) and 0 <= score <= 4 for score in wrong)


def test_without_a_scale_scores_lie_between_0_and_1() -> None:
    prompt = f'{TASKS[0].task}\n\nFinal answer: 6\n\nReply with {{"score": number}}'

    scores = [opinion["score"] for opinion in opinions(prompt, 1)]

    assert all(isinstance(score, float) and 0.6 <= score <= 1 for score in scores)


def test_two_candidates_that_are_not_shown_are_a_tie() -> None:
    assert opinions(f'{TASKS[0].task}\nReply with {{"verdict": "A"}}', 1)[0]["verdict"] == "tie"
