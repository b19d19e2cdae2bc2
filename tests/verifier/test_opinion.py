"""What judges and other scorers are worth."""

import math
from random import Random
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier.opinion import (
    OpinionWeight,
    Side,
    may_change_the_winner,
    opinion_of,
    pair_score,
    second_order_may_change_the_winner,
    standardise,
)

SCORES = st.lists(st.integers(-50, 50), min_size=1, max_size=12)


def learnt(shift: float, seed: int, outcomes: int = 200) -> OpinionWeight:
    """A judge in whose units the right candidate leads the other by N(shift, 1)."""
    random, weight = Random(seed), OpinionWeight()
    for _ in range(outcomes):
        weight = weight.learn(random.gauss(shift, 1), 0.0)
    return weight


def test_scores_are_standardised_by_the_verifiers_history() -> None:
    history = [4.0, 6.0] * 5

    assert standardise([5.0, 6.0, 9.5, -100.0], history) == [0.0, 1.0, 3.0, -3.0]


def test_only_the_last_two_hundred_scores_count() -> None:
    history = [1000.0] * 300 + [4.0, 6.0] * 100

    assert standardise([6.0], history) == [1.0]


def test_without_enough_history_the_task_is_its_own_scale() -> None:
    assert standardise([1.0, 3.0], [100.0] * 9) == [-1.0, 1.0]


@pytest.mark.parametrize(("scores", "history"), [([5.0, 5.0], []), ([7.0], [5.0] * 10), ([0.0, 1e-300], []), ([], [])])
def test_scores_without_spread_say_nothing(scores: list[float], history: list[float]) -> None:
    assert standardise(scores, history) == [0.0] * len(scores)


@given(SCORES, st.lists(st.integers(-50, 50), max_size=30), st.integers(1, 9), st.integers(-99, 99))
def test_unit_and_zero_of_a_scorer_do_not_matter(scores: list[int], history: list[int], unit: int, zero: int) -> None:
    z = standardise(scores, history)
    other = standardise([unit * s + zero for s in scores], [unit * s + zero for s in history])

    assert other == pytest.approx(z)


def test_a_score_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="not finite"):
        standardise([math.nan, 1.0])


def test_a_weight_starts_at_a_scorer_that_is_right_in_60_percent_of_pairs() -> None:
    assert OpinionWeight() == OpinionWeight(b=0.35, precision=4.0, outcomes=0)


def test_one_outcome_moves_the_weight_by_one_newton_step() -> None:
    """Worked by hand: x = 1, sigmoid(.35) = .58662, curvature .24250, step .41338 / 4.24250 = .09744."""
    weight = OpinionWeight().learn(0.5, -0.5)

    assert (weight.b, weight.precision, weight.outcomes) == pytest.approx((0.44744, 4.24250, 1), abs=1e-5)


def test_the_weight_of_a_coin_flip_falls_towards_nothing() -> None:
    found = sorted(learnt(0.0, seed).b for seed in range(60))

    assert fmean(found) <= 0.15
    assert found[57] < 0.35


def test_a_good_judge_earns_more_than_the_votes_start_with() -> None:
    assert fmean(learnt(0.954, seed).b for seed in range(60)) > 1.2


def test_the_weight_is_never_negative_and_bounded_before_twenty_outcomes() -> None:
    contrary, praised = OpinionWeight(), OpinionWeight()
    for _ in range(19):
        contrary, praised = contrary.learn(-2.0, 1.0), praised.learn(0.6, 0.0)
        assert contrary.b >= 0
        assert praised.b <= 0.85

    assert learnt(2.0, 0, 40).b > 0.85


def test_a_weight_survives_being_dumped() -> None:
    weight = learnt(0.5, 1, 30)

    assert OpinionWeight.load(weight.dump()) == weight


@pytest.mark.parametrize("numbers", [[], [0.3, 4.0], [-0.1, 4.0, 1], [0.3, 0.0, 1], [0.3, 4.0, 1.5], [math.nan, 4, 1]])
def test_a_damaged_weight_is_refused(numbers: list[float]) -> None:
    with pytest.raises(ValueError, match="opinion"):
        OpinionWeight.load(numbers)


@pytest.mark.parametrize(
    ("first", "second", "score"),
    [
        (1, 1, 1),
        (1, 0, 0.5),
        (1, -1, 0),
        (0, 1, 0.5),
        (0, 0, 0),
        (0, -1, -0.5),
        (-1, 1, 0),
        (-1, 0, -0.5),
        (-1, -1, -1),
    ],
)
def test_the_verdicts_of_both_orders_are_summed(first: Side, second: Side, score: float) -> None:
    assert pair_score(first, second) == score


def test_one_order_alone_counts_half() -> None:
    assert (pair_score(1), pair_score(-1)) == (0.5, -0.5)


def test_the_opinion_of_a_pairwise_judge_is_the_mean_over_the_opponents_met() -> None:
    assert opinion_of([1.0, 0.5, 0.0]) == 0.5
    assert opinion_of([]) is None


@pytest.mark.parametrize(
    ("weight", "gap", "asks"),
    [(0.35, 0.0, True), (0.35, 0.69, True), (0.35, 0.7, False), (0.85, 1.25 * math.log(8), False), (0.85, 6.0, False),
     (0.35, math.inf, False)],
)  # fmt: skip
def test_a_judge_is_asked_only_where_it_can_change_the_winner(weight: float, gap: float, asks: bool) -> None:
    """Not after a pass of a check, and not after a vote of eight to one."""
    assert may_change_the_winner(weight, gap) is asks


@pytest.mark.parametrize(
    ("gap", "first", "asks"), [(0.5, -1, True), (0.5, 0, False), (0.5, 1, False), (0.7, -1, False), (0.9, -1, False)]
)
def test_the_second_order_is_asked_only_where_the_first_would_overturn_the_winner(
    gap: float, first: Side, asks: bool
) -> None:
    assert second_order_may_change_the_winner(0.35, gap, first) is asks
