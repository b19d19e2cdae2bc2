"""The plain majority vote."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier.consensus import vote
from verifier.errors import NoCandidatesError


def ballots(*answers: str | None) -> list[tuple[str, str | None]]:
    return [(f"sample{index}", answer) for index, answer in enumerate(answers)]


def test_the_most_frequent_answer_wins_as_it_was_first_written() -> None:
    verdict = vote(ballots("7", "18.0", "18", "$18$"))

    assert (verdict.answer, verdict.votes, verdict.runner_up, verdict.samples) == ("18.0", 3, 1, 4)


@pytest.mark.parametrize("answers", [("b", "a", "a", "b"), ("b", "a", "c")])
def test_a_tie_goes_to_the_group_seen_first(answers: tuple[str, ...]) -> None:
    verdict = vote(ballots(*answers))

    assert verdict.answer == "b"
    assert verdict.votes == verdict.runner_up


def test_groups_name_their_members_largest_first() -> None:
    verdict = vote(ballots("1", "2", "3", "2.0", None))

    assert verdict.groups == (("2", ("sample1", "sample3")), ("1", ("sample0",)), ("3", ("sample2",)))


@pytest.mark.parametrize("abstained", [0, 1, 4])
def test_an_abstention_is_a_sample_and_no_vote(abstained: int) -> None:
    verdict = vote(ballots(*[None, " "][:abstained], *["x"] * (5 - abstained)))

    assert verdict.votes == 5 - abstained
    assert verdict.samples == 5 - abstained + len([None, " "][:abstained])


@pytest.mark.parametrize("answers", [(), (None,), (None, "", " \n")])
def test_nothing_wins_where_all_abstain(answers: tuple[str | None, ...]) -> None:
    with pytest.raises(NoCandidatesError, match=f"{len(answers)} samples"):
        vote(ballots(*answers))


def test_the_caller_says_what_counts_as_equal() -> None:
    """Two tool calls with the same arguments in another order are one; what the key cannot read abstains."""

    def same_call(text: str) -> str | None:
        try:
            return json.dumps(json.loads(text), sort_keys=True)
        except ValueError:
            return None

    verdict = vote(ballots("not a call", '{"a": 1, "b": 2}', '{"a": 3}', '{"b": 2, "a": 1}'), key=same_call)

    assert (verdict.answer, verdict.votes, verdict.samples) == ('{"a": 1, "b": 2}', 2, 4)


def test_a_bare_number_speaks_for_the_same_number_with_a_unit() -> None:
    verdict = vote(ballots("3", "4", "4 litres", "3", "4 L", "3 m²"))

    assert verdict.groups == (("3", ("sample0", "sample3", "sample5")), ("4", ("sample1", "sample2", "sample4")))


def test_a_bare_number_joins_the_largest_unit_and_never_unites_two() -> None:
    verdict = vote(ballots("4 gallons", "4 litres", "4", "4 l"))

    assert verdict.groups == (("4 litres", ("sample1", "sample2", "sample3")), ("4 gallons", ("sample0",)))


@pytest.mark.parametrize("longer", ["4 million", "4 or 5", "4 x", "4 and 4", "4, 5", "-4 litres"])
def test_a_bare_number_does_not_speak_for_another_answer(longer: str) -> None:
    assert len(vote(ballots("4", longer)).groups) == 2


def test_a_key_of_the_caller_decides_alone() -> None:
    assert len(vote(ballots("4", "4 litres"), key=str).groups) == 2


@given(st.lists(st.sampled_from("abcd") | st.none()).filter(any))
def test_the_winner_has_a_majority_of_the_votes_cast(answers: list[str | None]) -> None:
    verdict = vote(ballots(*answers))

    counts = Counter(answer for answer in answers if answer is not None)
    assert verdict.votes == counts[verdict.answer] == max(counts.values())
    assert sorted(len(members) for _, members in verdict.groups) == sorted(counts.values())


@given(st.lists(st.sampled_from("abcd") | st.none()).filter(any))
def test_members_are_complete_and_disjoint(answers: list[str | None]) -> None:
    verdict = vote(ballots(*answers))

    members = [member for _, group in verdict.groups for member in group]
    assert sorted(members) == sorted(key for key, answer in ballots(*answers) if answer is not None)


@given(st.permutations(["a", "a", "a", "b", "b", "c"]))
def test_the_order_of_arrival_never_changes_a_clear_winner(answers: list[str]) -> None:
    verdict = vote(ballots(*answers))

    assert (verdict.answer, verdict.votes, verdict.runner_up) == ("a", 3, 2)
