"""The bank of tasks: every answer is checked by a way of its own, not by the generator's."""

import contextlib
import io
import re
from datetime import date, timedelta
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.simulated_tasks import HANDWRITTEN, SimulatedTask, demo_tasks, slip

BANK = demo_tasks(150, seed=3)


def numbers(text: str) -> list[int]:
    return [int(found) for found in re.findall(r"\d+", text, re.ASCII)]


def of_family(family: str) -> list[SimulatedTask]:
    return [task for task in BANK if task.family == family]


def fewest_moves(sizes: tuple[int, int], goal: int) -> int:
    """Grow the set of reachable levels move by move, with no path kept."""
    a, b = sizes
    reached, moves = {(0, 0)}, 0
    while not any(goal in levels for levels in reached):
        grown = set(reached)
        for x, y in reached:
            right, left = min(x, b - y), min(y, a - x)
            grown |= {(a, y), (x, b), (0, y), (x, 0), (x - right, y + right), (x + left, y - left)}
        assert grown != reached, "the goal cannot be reached"
        reached, moves = grown, moves + 1
    return moves


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10**6), short=st.integers(0, 60), more=st.integers(0, 60))
def test_a_longer_bank_begins_with_the_shorter_one_and_repeats_no_text(seed: int, short: int, more: int) -> None:
    bank = demo_tasks(short + more, seed)

    assert bank[:short] == demo_tasks(short, seed)
    assert len({task.task for task in bank}) == short + more


@pytest.mark.parametrize("task", BANK, ids=lambda task: f"{task.family}-{task.language}")
def test_a_task_is_well_formed(task: SimulatedTask) -> None:
    assert 0 <= task.difficulty <= 1
    assert 1 <= len(task.steps) <= 10
    assert all(0 < len(step) <= 200 for step in task.steps)
    assert task.answer not in task.distractors
    assert len(set(task.distractors)) == len(task.distractors) >= 3


@pytest.mark.parametrize("task", BANK, ids=lambda task: f"{task.family}-{task.language}")
def test_right_and_wrong_steps_of_a_chain_cannot_be_confused(task: SimulatedTask) -> None:
    """The scratchpad is read by looking texts up, so none may contain another."""
    slips = [slip(step, variant) for step in task.steps for variant in range(8)]
    texts = [*task.steps, *slips]

    assert None not in slips
    assert len(set(texts)) == len(texts)
    assert not [(one, other) for one in texts for other in task.steps if one != other and str(one) in other]
    assert not [(one, other) for one in task.steps for other in texts if one != other and one in str(other)]


@pytest.mark.parametrize("task", [task for task in BANK if task.family not in ("order", "handwritten")])
def test_the_last_step_states_the_answer_or_reaches_the_goal(task: SimulatedTask) -> None:
    stated = numbers(task.steps[-1])

    if task.family == "jugs":
        assert len(task.steps) == int(task.answer)
        assert numbers(task.task)[-1] in stated[-2:]
    else:
        assert stated[-len(numbers(task.answer)) :] == numbers(task.answer)


def test_three_languages_and_six_families_are_there() -> None:
    assert {task.language for task in BANK} == {"en", "sk", "zh"}
    assert {task.family for task in BANK} == {"handwritten", "arithmetic", "shop", "tank", "order", "calendar", "jugs"}


def test_arithmetic_answers_equal_the_value_of_the_expression() -> None:
    for task in of_family("arithmetic"):
        expression = re.search(r"\(.*\d", task.task)

        assert expression is not None
        assert str(eval(expression[0])) == task.answer  # digits and operators only, made by us


def test_change_is_what_was_paid_less_the_two_products() -> None:
    for task in of_family("shop"):
        a, b, m, n, paid = numbers(task.task)

        assert int(task.answer) == paid - m * a - n * b >= 0


def test_a_tank_is_full_to_the_litre_at_the_minute_given() -> None:
    for task in of_family("tank"):
        volume, pump, leak, until = numbers(task.task)
        minute, level = 0, 0
        while level < volume:
            minute += 1
            level += pump - (leak if minute <= until else 0)

        assert (minute, level) == (int(task.answer), volume)


def test_only_one_result_of_a_race_fits_all_facts() -> None:
    for task in of_family("order"):
        letters = re.findall(r"(?:runner |bežec |bežcom |选手)([A-Z])", task.task)
        facts = list(zip(letters[::2], letters[1::2], strict=True))
        runners = sorted(set(letters))
        fitting = [
            result for result in permutations(runners) if all(result.index(x) + 1 == result.index(y) for x, y in facts)
        ]

        assert [result[numbers(task.task)[-1] - 1] for result in fitting] == [task.answer]


def test_calendar_answers_agree_with_the_calendar() -> None:
    for task in of_family("calendar"):
        start = re.search(r"\d{4}-\d\d-\d\d", task.task)
        assert start is not None
        (days,) = numbers(task.task.replace(start[0], ""))

        assert task.answer == str(date.fromisoformat(start[0]) + timedelta(days=days))


def test_jug_answers_are_the_fewest_moves() -> None:
    for task in of_family("jugs"):
        a, b, goal = numbers(task.task)

        assert int(task.answer) == fewest_moves((a, b), goal)


def test_the_handwritten_answers_are_right() -> None:
    jug, schedule, program, cage, train = HANDWRITTEN
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(program.task.partition("\n")[2], {})  # the program under the question, written by us

    assert jug.answer == str(fewest_moves((3, 5), 4))
    assert schedule.answer == str(max(30 + 40, 20 + 25) + 15)
    assert program.answer == printed.getvalue().strip()
    assert [rabbits for rabbits in range(21) if 4 * rabbits + 2 * (20 - rabbits) == 56] == [int(cage.answer)]
    assert divmod(14 * 60 + 5 - 25 - 10 - 5, 60) == tuple(numbers(train.answer))


def test_a_slip_changes_the_last_number_and_keeps_its_width() -> None:
    assert slip("From 2024-03-09 to 2024-04-09.", 0) == "From 2024-03-09 to 2024-04-10."
    assert slip("Total: 9 litres.", 1) == "Total: 11 litres."
    assert slip("On 2024-03-01.", 2) == "On 2024-03-04."
    assert slip("Name the rule.", 0) is None


def test_a_bank_of_a_negative_size_is_an_error() -> None:
    with pytest.raises(ValueError, match="-1"):
        demo_tasks(-1)
