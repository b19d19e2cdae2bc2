"""Choosing among programs by generated tests."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier.behaviour import best_behaviour, settled, winning_behaviour

GROUPS = st.dictionaries(st.frozensets(st.integers(0, 8)), st.integers(1, 30), min_size=1, max_size=8)


def test_the_scores_of_four_groups_are_those_of_the_formula() -> None:
    """Nine of twelve programs are live; tests 1 to 4 are passed by 7, 7, 3 and 2 of them; the first two overlap by 14/17."""
    scores = best_behaviour([4, 3, 2, 3], [{1, 2}, {1, 2, 3}, {4}, set()])

    overlap = (14 / 17) ** 1.5
    assert scores[:3] == pytest.approx(
        [
            math.log(4 + 3 * overlap) + math.log(14 / 9),
            math.log(3 + 4 * overlap) + math.log(17 / 9),
            math.log(2) + math.log(2 / 9),
        ]
    )
    assert scores[3] == -math.inf


def test_similar_groups_support_each_other_against_a_larger_one() -> None:
    """The largest group passes one test that nobody else does; three small ones agree on nearly everything."""
    sizes = [5, 3, 3, 3]
    passed = [{9}, {1, 2, 3, 4}, {1, 2, 3, 5}, {1, 2, 3}]

    assert winning_behaviour(sizes, best_behaviour(sizes, passed)) == 1


def test_the_program_that_passes_most_tests_is_not_the_winner() -> None:
    sizes = [1, 12]
    passed = [set(range(100, 130)), set(range(10))]

    assert winning_behaviour(sizes, best_behaviour(sizes, passed)) == 1


def test_few_programs_are_chosen_by_size_and_tests_passed() -> None:
    assert best_behaviour([4, 1, 2], [{1}, {1, 2, 3}, set()]) == pytest.approx([math.log(2), math.log(3), -math.inf])


@pytest.mark.parametrize("sizes", [[2, 3], [20, 30]])
def test_the_largest_group_wins_where_nothing_passes(sizes: list[int]) -> None:
    assert winning_behaviour(sizes, best_behaviour(sizes, [set(), set()])) == 1


def test_a_group_that_passes_nothing_comes_last() -> None:
    sizes = [30, 1]

    assert winning_behaviour(sizes, best_behaviour(sizes, [set(), {1}])) == 1


@pytest.mark.parametrize(("sizes", "winner"), [([2, 3], 1), ([3, 3], 0)])
def test_equal_scores_go_to_the_larger_group_then_to_the_first_seen(sizes: list[int], winner: int) -> None:
    assert winning_behaviour(sizes, [1.0, 1.0]) == winner


@given(GROUPS, st.randoms(use_true_random=False))
def test_the_order_of_groups_and_the_names_of_tests_change_no_score(groups: dict[frozenset[int], int], random) -> None:  # type: ignore[no-untyped-def]
    order = list(groups)
    random.shuffle(order)

    scores = best_behaviour(list(groups.values()), list(groups))
    shuffled = best_behaviour([groups[tests] for tests in order], [{f"t{t}" for t in tests} for tests in order])

    assert dict(zip(order, shuffled, strict=True)) == dict(zip(groups, scores, strict=True))


@pytest.mark.parametrize(
    ("same", "programs", "stops"),
    [
        ([False], 10, False),
        ([False, True], 20, False),
        ([False, True, True], 30, True),
        ([False, True, False], 30, False),
        ([False, True, True, False, True], 50, False),
        ([False, True, True], 15, False),
        ([False, False], 100, True),
    ],
)
def test_rounds_end_when_the_same_behaviour_has_won_three_times(same: list[bool], programs: int, stops: bool) -> None:
    assert settled(same, programs) is stops
