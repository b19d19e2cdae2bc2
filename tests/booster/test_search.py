"""Which candidate wins."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from booster.config import Config
from booster.search import (
    Branch,
    at_depth,
    beam_calls,
    best_head,
    choose_answer,
    choose_step,
    distinct,
    grow,
    keep,
    open_branches,
    rank,
)
from tests.builders import a_candidate, a_check

PASS, FAIL = [a_check("pass")], [a_check("fail")]


def test_equal_scores_keep_the_order_of_generation() -> None:
    candidates = [a_candidate(text) for text in "abcde"]

    assert rank(candidates) == tuple(candidates)


@given(st.lists(st.floats(0, 1), min_size=1))
def test_ranking_sorts_by_total_score(totals: list[float]) -> None:
    ranked = rank([a_candidate(f"step {n}", total=value) for n, value in enumerate(totals)])

    assert [one.score.total for one in ranked if one.score] == sorted(totals, reverse=True)


def test_a_failed_check_outweighs_any_score() -> None:
    good, failed, proven = (
        a_candidate("a"),
        a_candidate("b", total=0.9, checks=FAIL),
        a_candidate("c", total=0.1, checks=PASS),
    )

    assert rank([good, failed, proven]) == (proven, good, failed)


def test_five_equal_candidates_are_a_tie_and_the_first_is_taken() -> None:
    candidates = [a_candidate(f"Pour jug number {n} out") for n in range(5)]

    choice = choose_step(candidates, [], [])

    assert choice.tie
    assert choice.winner is candidates[0]


def test_a_step_that_repeats_the_last_one_is_passed_over() -> None:
    repeated, fresh = a_candidate("Fill the jug", total=0.9), a_candidate("Empty the other vessel", total=0.1)

    assert choose_step([repeated, fresh], ["Fill the jug"], []).winner is fresh


def test_where_everything_repeats_the_banned_step_still_comes_last() -> None:
    banned, repeated = a_candidate("Fill the jug", total=0.9), a_candidate("Empty the other vessel", total=0.1)

    choice = choose_step([banned, repeated], ["Empty the other vessel"], ["Fill the jug"])

    assert choice.winner is repeated


def test_no_step_wins_that_fails_a_check() -> None:
    assert choose_step([a_candidate(checks=FAIL)], [], []).winner is None


def test_the_most_frequent_answer_wins_and_its_first_proposer_represents_it() -> None:
    candidates = [
        a_candidate(f"way {n}", answer=answer, key=str(n)) for n, answer in enumerate(["7", "42", "42.0", "8"])
    ]

    choice = choose_answer(candidates, "vote")

    assert choice.winner is candidates[1]
    assert not choice.tie


def test_no_majority_brings_an_answer_back_that_failed_a_check() -> None:
    wrong = [a_candidate(f"way {n}", answer="41", key=str(n), checks=FAIL) for n in range(4)]
    right = a_candidate("another way", answer="42", checks=PASS)

    assert choose_answer([*wrong, right], "auto").winner is right
    assert choose_answer(wrong, "auto").winner is None


def test_an_unchecked_majority_does_not_beat_a_verified_answer() -> None:
    unchecked = [a_candidate(f"way {n}", answer="41", key=str(n)) for n in range(4)]
    verified = a_candidate("another way", answer="42", checks=PASS)

    assert choose_answer([*unchecked, verified], "vote").winner is verified


def test_select_score_takes_the_highest_score() -> None:
    low, high = a_candidate("a", answer="1", total=0.1), a_candidate("b", answer="2", total=0.9)

    assert choose_answer([low, low, high], "score").winner is high


def test_abstentions_never_win() -> None:
    assert choose_answer([a_candidate("a"), a_candidate("b")], "vote").winner is None


def test_two_groups_of_equal_size_are_a_tie_for_the_first_seen() -> None:
    candidates = [a_candidate(f"way {n}", answer=answer, key=str(n)) for n, answer in enumerate("1221")]

    choice = choose_answer(candidates, "vote")

    assert choice.tie
    assert choice.winner is candidates[0]


def test_the_beam_finds_a_head_that_greed_would_miss() -> None:
    greedy, patient = a_candidate("greedy", total=0.30), a_candidate("patient", total=0.29)
    branches = open_branches(choose_step([greedy, patient], [], []), 2)
    dead_end, way_on = a_candidate("dead end", total=0.0), a_candidate("way on", total=0.3)

    branches = keep(grow(branches, {0: [dead_end], 1: [way_on]}), 2)

    assert best_head(branches) is patient


def test_a_branch_whose_expansion_failed_is_not_punished_for_it() -> None:
    better, worse = a_candidate("better", total=0.3), a_candidate("worse", total=0.1)

    branches = grow([Branch(path=(better,)), Branch(path=(worse,))], {1: [a_candidate("next", total=0.2)]})

    assert best_head(branches) is better


def test_continuations_that_fail_a_check_are_no_continuations() -> None:
    branches = grow([Branch(path=(a_candidate("a"),))], {0: [a_candidate("b", checks=FAIL)]})

    assert [len(branch.path) for branch in branches] == [1]


def test_equal_states_take_one_place_and_pool_their_values() -> None:
    first = Branch(path=(a_candidate("Left: 4 and 6"),), values=(0.2,))
    other = Branch(path=(a_candidate("Add two", key="b"), a_candidate("left:  4 AND 6", key="c")), values=(0.8, 0.5))
    apart = Branch(path=(a_candidate("Left: 4 and 7"),), values=(0.4,))

    found = distinct([first, apart, other])

    assert [branch.path for branch in found] == [first.path, apart.path]
    assert found[0].values == (0.2, 0.8, 0.5)


def test_values_decide_where_every_branch_has_some_and_scores_where_one_has_none() -> None:
    plain = Branch(path=(a_candidate("plain", total=0.9),), values=(0.1, 0.3))
    promising = Branch(path=(a_candidate("promising", total=0.1),), values=(0.8,))
    silent = Branch(path=(a_candidate("silent", total=0.5),))

    assert keep([plain, promising], 1) == (promising,)
    assert keep([plain, promising, silent], 2) == (plain, silent)


@pytest.mark.parametrize(("given", "levels"), [(3, [3, 3, 3, 3]), ((8, 3), [8, 3, 3, 3]), ((3, 1, 1), [3, 1, 1, 1])])
def test_a_list_holds_for_its_depths_and_its_last_entry_for_the_rest(given: Any, levels: list[int]) -> None:
    assert [at_depth(given, depth) for depth in range(1, 5)] == levels


@pytest.mark.parametrize(
    ("options", "calls"),
    [
        ({}, 0),
        ({"beamWidth": 2}, 2),
        ({"beamWidth": 2, "beamDepth": 3}, 4),
        ({"beamWidth": 2, "beamDepth": 1}, 0),
        ({"beamWidth": [2, 1], "beamDepth": 3, "valueCalls": [3, 1]}, 2 * 3 + 2 + 10 + 1 + 5),
        ({"beamWidth": 4, "topM": 2}, 2),
    ],
)
def test_what_a_beam_can_cost_is_known_before_it_starts(options: dict[str, Any], calls: int) -> None:
    assert beam_calls(Config.parse(options)[0]) == calls


def test_without_a_winner_there_is_nothing_to_expand() -> None:
    assert open_branches(choose_step([], [], []), 2) == ()
    assert best_head([]) is None


def test_a_blank_answer_is_an_abstention() -> None:
    assert choose_answer([a_candidate("a", answer="  ")], "auto").winner is None


def test_what_may_be_applied_in_place_of_the_winner_is_kept_best_first() -> None:
    failed, repeated = a_candidate("Weigh a parcel", total=0.9, checks=FAIL), a_candidate("Fill the jug", total=0.8)
    good, better = a_candidate("Boil water", total=0.1), a_candidate("Paint a door", total=0.2)

    choice = choose_step([failed, repeated, good, better], ["Fill the jug"], [])

    assert choice.contenders == (better, good)
    assert [branch.head for branch in open_branches(choice, 5)] == [better, good]
