"""One visible sum for every group of answers."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier.combine import Combined, Group, Opinion, combine

WEIGHTS: dict[Opinion, float] = {"judge": 0.35, "process": 0.5, "heuristic": 0.1}
OPINIONS = st.dictionaries(st.sampled_from(["judge", "process", "heuristic"]), st.floats(-3, 3))
GROUPS = st.lists(
    st.builds(Group, votes=st.integers(1, 20), check=st.sampled_from([None, True, False]), opinions=OPINIONS),
    min_size=1,
    max_size=5,
)


def groups_of(*votes: int, **more: Any) -> list[Group]:
    return [Group(votes=n, **more) for n in votes]


def test_votes_alone_reduce_to_the_vote() -> None:
    combined = combine(groups_of(2, 5, 5, 1))

    assert combined.winner == 1
    assert combined.basis == "votes"
    assert [terms.votes for terms in combined.terms] == [1.25 * math.log(n) for n in (2, 5, 5, 1)]


def test_every_term_is_shown_and_missing_ones_are_none() -> None:
    combined = combine(
        [Group(votes=2, check=True, opinions={"judge": 1.0}), Group(votes=3, opinions={"heuristic": -1.0})], WEIGHTS
    )

    first, second = combined.terms
    assert (first.checks, first.judge, first.process, first.heuristic) == (6.0, 0.35, None, None)
    assert (second.checks, second.judge, second.heuristic) == (None, None, -0.1)
    assert first.total == pytest.approx(1.25 * math.log(2) + 6.35)


@given(GROUPS)
def test_a_total_is_the_sum_of_its_terms(groups: list[Group]) -> None:
    for terms in combine(groups, WEIGHTS).terms:
        assert terms.total == pytest.approx(
            sum(term or 0 for term in (terms.checks, terms.votes, terms.judge, terms.process, terms.heuristic))
        )


@given(GROUPS.filter(lambda groups: all("judge" in group.opinions for group in groups)), st.floats(-2, 2))
def test_a_judge_who_likes_all_a_little_more_changes_nothing(groups: list[Group], shift: float) -> None:
    shifted = [
        Group(votes=one.votes, check=one.check, opinions={**one.opinions, "judge": one.opinions["judge"] + shift})
        for one in groups
    ]

    before, after = combine(groups, WEIGHTS), combine(shifted, WEIGHTS)

    assert after.probabilities == pytest.approx(before.probabilities, abs=1e-9)


@given(GROUPS)
def test_a_dead_judge_changes_nothing_but_its_own_term(groups: list[Group]) -> None:
    """No opinion and no weight for it are the same."""
    silent = [
        Group(votes=one.votes, check=one.check, opinions={k: z for k, z in one.opinions.items() if k != "judge"})
        for one in groups
    ]
    deaf: dict[Opinion, float] = {kind: b for kind, b in WEIGHTS.items() if kind != "judge"}

    assert combine(silent, WEIGHTS) == combine(groups, deaf)


@given(GROUPS)
def test_probabilities_are_those_of_the_groups_that_are_not_out(groups: list[Group]) -> None:
    combined = combine(groups, WEIGHTS)

    out = [group.check is False for group in groups]
    assert sum(combined.probabilities) == pytest.approx(0 if all(out) else 1)
    assert all(p == 0 for p, gone in zip(combined.probabilities, out, strict=True) if gone)


def test_a_failed_check_drops_the_largest_group() -> None:
    combined = combine([Group(votes=50, check=False), Group(votes=1)])

    assert (combined.winner, combined.probabilities) == (1, (0.0, 1.0))


def test_where_every_check_failed_nobody_wins_and_the_best_is_shown_as_rejected() -> None:
    combined = combine(groups_of(1, 3, check=False))

    assert (combined.winner, combined.basis, combined.best_rejected) == (None, None, 1)


def test_no_opinion_outvotes_a_check() -> None:
    """Not even one whose weight has grown far above what a check adds."""
    combined = combine(
        [Group(votes=1, check=True, opinions={"judge": -3.0}), Group(votes=20, opinions={"judge": 3.0})], {"judge": 5.0}
    )

    assert (combined.winner, combined.basis) == (0, "checks")


@pytest.mark.parametrize(("recall", "added"), [(0.0, 0.0), (0.5, math.log(2)), (0.9, math.log(10)), (1.0, 6.0)])
def test_a_pass_of_a_check_that_finds_some_mistakes_adds_its_log_odds(recall: float, added: float) -> None:
    (terms,) = combine([Group(votes=1, check=True, recall=recall)]).terms

    assert terms.checks == pytest.approx(added)


def test_a_check_that_finds_few_mistakes_can_be_outvoted() -> None:
    assert combine([Group(votes=1, check=True, recall=0.3), Group(votes=8)]).winner == 1


@pytest.mark.parametrize(("temperature", "factor"), [(None, 1.25), (0.8, 1.25), (0.3, 0.25), (0.0, 0.25)])
def test_near_copies_count_less(temperature: float | None, factor: float) -> None:
    (terms,) = combine([Group(votes=7)], temperature=temperature).terms

    assert terms.votes == pytest.approx(factor * math.log(7))


def test_the_score_of_a_behaviour_stands_in_place_of_the_votes() -> None:
    combined = combine([Group(votes=30, behaviour=-math.inf), Group(votes=2, behaviour=0.4)])

    assert combined.winner == 1
    assert combined.terms[1].votes == 0.4
    assert combined.probabilities == (0.0, 1.0)


def test_groups_of_which_none_passes_anything_are_equally_likely() -> None:
    combined = combine(groups_of(3, 2, behaviour=-math.inf))

    assert (combined.winner, combined.probabilities, combined.basis) == (0, (0.5, 0.5), "votes")


@pytest.mark.parametrize(
    ("groups", "basis"),
    [
        ([Group(votes=8), Group(votes=1)], "votes"),
        ([Group(votes=2, opinions={"judge": 2}), Group(votes=2)], "judge"),
        ([Group(votes=2, opinions={"process": 2, "judge": 1}), Group(votes=2)], "process"),
        ([Group(votes=2, check=True), Group(votes=2)], "checks"),
        ([Group(votes=2, check=True, opinions={"judge": 3}), Group(votes=1, check=True)], "judge"),
    ],
)
def test_the_basis_is_the_term_by_which_the_winner_is_ahead(groups: list[Group], basis: str) -> None:
    assert combine(groups, WEIGHTS).basis == basis


def test_nothing_to_combine_is_an_error() -> None:
    with pytest.raises(ValueError, match="no group"):
        combine([])


@given(GROUPS, st.randoms(use_true_random=False))
def test_the_order_of_groups_decides_only_ties(groups: list[Group], random) -> None:  # type: ignore[no-untyped-def]
    order = list(range(len(groups)))
    random.shuffle(order)

    def best(combined: Combined, of: list[Group]) -> tuple[bool, float] | None:
        if combined.winner is None:
            return None
        return of[combined.winner].check is True, combined.terms[combined.winner].total

    shuffled = [groups[at] for at in order]
    assert best(combine(groups, WEIGHTS), groups) == best(combine(shuffled, WEIGHTS), shuffled)
