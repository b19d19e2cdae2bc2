"""When sampling stops, and how many samples are drawn side by side."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier.consensus import enough, next_wave

VOTES = st.tuples(st.integers(0, 12), st.integers(0, 12), st.integers(0, 6)).map(
    lambda t: (max(t[:2]), min(t[:2]), sum(t))
)
"""(votes of the leader, of the runner-up, samples drawn)."""
ANSWERS = st.lists(st.sampled_from("aaabc-"), min_size=25, max_size=25)
"""`-` abstains."""


def tally(answers: list[str]) -> tuple[int, int, int]:
    counts = Counter(answer for answer in answers if answer != "-")
    top = [*sorted(counts.values(), reverse=True), 0, 0]
    return top[0], top[1], len(answers)


@pytest.mark.parametrize(
    ("v1", "v2", "n", "cap", "stops"),
    [
        (2, 0, 2, 20, False),
        (3, 0, 3, 20, True),
        (3, 1, 4, 20, False),
        (4, 1, 5, 20, True),
        (5, 2, 7, 20, False),
        (6, 2, 8, 20, True),
        (5, 4, 18, 20, True),
        (4, 4, 18, 20, False),
        (0, 0, 20, 20, True),
        (2, 0, 2, 5, True),
        (1, 1, 2, 5, False),
        (2, 1, 3, 5, True),
    ],
)
def test_sampling_stops_where_the_table_says(v1: int, v2: int, n: int, cap: int, stops: bool) -> None:
    assert enough(v1, v2, n, cap) is stops


@pytest.mark.parametrize(("lead", "stops_at"), [(2, 2), (3, 3), (4, 4)])
def test_the_lead_is_how_many_equal_answers_are_needed_at_first(lead: int, stops_at: int) -> None:
    assert next(n for n in range(1, 6) if enough(n, 0, n, 20, lead)) == stops_at


@given(VOTES, st.integers(1, 25), st.integers(1, 5))
def test_a_leader_who_is_further_ahead_never_needs_more_samples(
    votes: tuple[int, int, int], cap: int, lead: int
) -> None:
    v1, v2, n = votes

    if enough(v1, v2, n, cap, lead):
        assert enough(v1 + 1, v2, n + 1, cap, lead)


@given(VOTES, st.integers(1, 25))
def test_a_careful_lead_stops_no_sooner_than_a_quick_one(votes: tuple[int, int, int], cap: int) -> None:
    stops = [enough(*votes, cap, lead) for lead in (2, 3, 4)]

    assert stops == sorted(stops, reverse=True)


@given(VOTES, st.integers(0, 25), st.integers(-2, 25), st.integers(1, 6), st.integers(1, 5))
def test_a_wave_is_paid_for_and_stays_below_the_cap(
    votes: tuple[int, int, int], cap: int, budget: int, wave_size: int, lead: int
) -> None:
    size = next_wave(*votes, cap, budget, wave_size=wave_size, lead=lead)

    assert 0 <= size <= max(0, min(budget, cap - votes[2]))


def test_no_wave_is_started_once_the_rule_says_stop() -> None:
    assert next_wave(3, 0, 3, 20, 17) == 0


@pytest.mark.parametrize(
    ("votes", "wave_size", "size"),
    [
        ((0, 0, 0), 4, 3),
        ((2, 1, 3), 4, 4),
        ((2, 1, 3), 2, 2),
        ((0, 0, 3), 2, 3),
        ((4, 3, 18), 4, 0),
        ((4, 4, 18), 4, 2),
    ],
)
def test_waves_have_the_sizes_of_the_settings(votes: tuple[int, int, int], wave_size: int, size: int) -> None:
    """A wave is larger only where fewer samples could not settle anything: three abstentions need three more votes."""
    assert next_wave(*votes, 20, 20, wave_size=wave_size) == size


def test_a_small_budget_is_the_cap() -> None:
    """With five samples to spend, two equal answers are enough, and a sixth is never asked for."""
    assert next_wave(0, 0, 0, 20, 5, wave_size=1) == 2
    assert next_wave(2, 0, 2, 20, 3, wave_size=1) == 0
    assert next_wave(1, 1, 2, 20, 3) == 3


@given(ANSWERS, st.integers(1, 20), st.integers(2, 4))
def test_waves_of_one_draw_exactly_what_one_by_one_would_draw(answers: list[str], cap: int, lead: int) -> None:
    """Samples without which the rule cannot stop are drawn side by side: fewer rounds, not one call more."""
    one_by_one = 0
    while not enough(*tally(answers[:one_by_one]), cap, lead):
        one_by_one += 1

    drawn = 0
    while size := next_wave(*tally(answers[:drawn]), cap, cap - drawn, wave_size=1, lead=lead):
        drawn += size

    assert drawn == one_by_one
