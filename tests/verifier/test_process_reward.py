"""Process rewards of a path."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier.process_reward import first_wrong_step, path_reward, steps_of

REWARDS = st.lists(st.floats(0, 1), max_size=12)


@pytest.mark.parametrize(
    ("rewards", "value"), [([], 0.0), ([1.0, 1.0], 0.0), ([0.5, 0.8], math.log(0.4)), ([0.0], math.log(0.001))]
)
def test_a_path_is_worth_the_log_of_the_product_of_its_steps(rewards: list[float], value: float) -> None:
    assert path_reward(rewards) == pytest.approx(value)


def test_one_hopeless_step_sinks_a_path_that_the_last_step_would_praise() -> None:
    assert path_reward([0.9, 0.01, 0.99]) < path_reward([0.6, 0.6, 0.6])


@given(REWARDS, st.randoms(use_true_random=False))
def test_the_order_of_the_steps_does_not_matter(rewards: list[float], random) -> None:  # type: ignore[no-untyped-def]
    shuffled = list(rewards)
    random.shuffle(shuffled)

    assert path_reward(shuffled) == path_reward(rewards) <= 0


@pytest.mark.parametrize(
    ("rewards", "step"),
    [
        ([], None),
        ([0.9], 0),
        ([0.9, 0.4, 0.2], 1),
        ([0.5, 0.4, 0.3], 0),
        ([0.9, 0.8, 0.2, 0.1], 2),
        ([0.5, 0.0], 0),
        ([1.0, 1.0], 0),
    ],
)
def test_the_first_wrong_step_is_the_largest_drop_and_not_the_lowest_score(
    rewards: list[float], step: int | None
) -> None:
    assert first_wrong_step(rewards) == step


@pytest.mark.parametrize("reward", [-0.1, 1.1, math.nan])
def test_what_is_no_probability_is_refused(reward: float) -> None:
    with pytest.raises(ValueError, match="step 1"):
        path_reward([0.5, reward])
    with pytest.raises(ValueError, match="step 1"):
        first_wrong_step([0.5, reward])


@pytest.mark.parametrize(
    ("solution", "answer", "steps"),
    [
        ("Add.\n\nThe sum is 3.", "3", ("Add.", "The sum is 3.")),
        ("Add.\n \t\n\n  Halve. ", "3", ("Add.", "Halve.", "Answer: 3")),
        ("One line\nand another", None, ("One line\nand another",)),
        ("", "3", ("Answer: 3",)),
        (" \n\n ", None, ()),
    ],
)
def test_blank_lines_part_the_steps_of_a_solution(solution: str, answer: str | None, steps: tuple[str, ...]) -> None:
    assert steps_of(solution, answer) == steps
