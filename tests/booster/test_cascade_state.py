"""What a cascade learns of a pair of models."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from booster.cascade_state import CascadeState

EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("next"), st.integers(1, 4), st.booleans()),
        st.tuples(st.just("strong"), st.sampled_from([(1,), (2,), (1, 1), (2, 1)]), st.booleans()),
        st.tuples(st.just("outcome"), st.booleans(), st.booleans()),
        st.tuples(st.just("stop"), st.none(), st.none()),
    ),
    max_size=30,
)


def after(events: list[tuple[str, Any, Any]]) -> CascadeState:
    state = CascadeState()
    for kind, first, second in events:
        match kind:
            case "next":
                state = state.saw_next(first, second)
            case "strong":
                state = state.saw_strong(first, second)
            case "outcome":
                state = state.saw_outcome(strong_right=first, cheap_right=second)
            case _:
                state, _ = state.saw_stop()
    return state


def test_before_anything_is_seen_agreement_is_as_likely_as_among_two_draws() -> None:
    assert [CascadeState().r(j) for j in (1, 2, 3)] == [0.5, pytest.approx(2 / 3), 0.75]


def test_the_next_answer_agrees_as_often_as_it_did_after_as_many() -> None:
    state = after([("next", 2, True), ("next", 2, True), ("next", 2, False)])

    assert state.r(2) == pytest.approx((4 / 3 + 2) / 5)
    assert (state.r(1), state.r(3)) == (0.5, 0.75)


def test_the_gain_starts_at_seven_of_ten_and_halves_with_ten_ties() -> None:
    assert CascadeState().g == 0.7
    assert after([("outcome", True, True)] * 10).g == 0.35


@pytest.mark.parametrize(
    ("strong", "cheap", "gain"), [(True, False, 8 / 11), (False, True, 6 / 11), (False, False, 7 / 11)]
)
def test_one_outcome_moves_the_gain_by_its_difference(strong: bool, cheap: bool, gain: float) -> None:
    assert after([("outcome", strong, cheap)]).g == pytest.approx(gain)


def test_a_strong_model_that_always_loses_keeps_a_little_gain() -> None:
    assert after([("outcome", False, True)] * 50).g == 0.02


def test_the_label_is_learnt_at_the_state_where_it_was_decided() -> None:
    split, equal = after([("strong", (2, 1), False)]), after([("strong", (2,), False)])

    assert split.agreement.dump() == CascadeState().agreement.learn(2, 3, False).dump()
    assert equal.agreement.dump() == CascadeState().agreement.learn(2, 2, False).dump()
    assert (split.labels, equal.labels) == (1, 1)


@pytest.mark.parametrize(("rate", "audits"), [(0.0, 0), (0.01, 10), (0.05, 50), (0.29, 290), (1.0, 1000)])
def test_a_counter_audits_exactly_its_share_of_a_thousand_stops(rate: float, audits: int) -> None:
    state, due = CascadeState(), 0
    for _ in range(1000):
        state, audit = state.saw_stop(rate)
        due += audit

    assert (due, state.stops) == (audits, 1000)


@given(EVENTS)
def test_probabilities_stay_probabilities_and_states_survive_being_dumped(events: list[tuple[str, Any, Any]]) -> None:
    state = after(events)

    assert all(0 < state.r(j) < 1 for j in range(1, 6))
    assert 0.02 <= state.g <= 1
    assert CascadeState.load(state.dump()) == state


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"agreed": [3]}, "agreed"),
        ({"agreed": [1, 1]}, "agreed"),
        ({"drawn": 2}, "drawn"),
        ({"drawn": [-1]}, "drawn"),
        ({"gain": float("nan")}, "gain"),
        ({"gain": "7"}, "gain"),
        ({"stops": 1.5}, "stops"),
        ({"verified": True}, "verified"),
        ({"agreement": [0, 0, 0, 0, 0]}, "calibration"),
    ],
)
def test_a_damaged_state_is_refused_by_name(change: dict[str, Any], named: str) -> None:
    document = after([("next", 1, True), ("next", 1, False)]).dump()

    with pytest.raises(ValueError, match=named):
        CascadeState.load({**document, **change})


def test_a_state_without_a_field_is_refused() -> None:
    with pytest.raises(ValueError, match="without gain"):
        CascadeState.load({name: value for name, value in CascadeState().dump().items() if name != "gain"})
