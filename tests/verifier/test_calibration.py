"""From agreement to a probability that learns."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier.calibration import Calibration, confidence, evidence, log_odds, sigmoid

COUNTS = st.integers(1, 20).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
LABELS = st.lists(st.tuples(COUNTS, st.booleans()), max_size=30)


def taught(labels: list[tuple[tuple[int, int], bool]]) -> Calibration:
    state = Calibration()
    for (v1, n), right in labels:
        state = state.learn(v1, n, right)
    return state


def test_before_any_label_the_curve_is_the_prior() -> None:
    assert Calibration().p(1, 1) == 0.5
    assert Calibration().p(3, 3) == pytest.approx(0.8386, abs=5e-5)


def test_one_label_moves_the_curve_by_one_newton_step() -> None:
    """Worked by hand: x = ln 3, z = .83861, weight z (1 - z) = .13534, gradient -.83861 (1, x)."""
    state = Calibration().learn(3, 3, False)

    assert state.h_aa == pytest.approx(1.13534, abs=1e-5)
    assert state.h_ab == pytest.approx(0.14869, abs=1e-5)
    assert state.h_bb == pytest.approx(1.16335, abs=1e-5)
    assert state.a == pytest.approx(-0.64573, abs=1e-5)
    assert state.b == pytest.approx(0.79059, abs=1e-5)


def test_the_order_of_two_labels_hardly_matters() -> None:
    one = Calibration().learn(3, 3, False).learn(2, 4, True)
    other = Calibration().learn(2, 4, True).learn(3, 3, False)

    assert all(abs(one.p(v1, n) - other.p(v1, n)) < 0.1 for n in range(1, 8) for v1 in range(1, n + 1))


def test_it_finds_how_often_agreement_is_right() -> None:
    """Three of three are right in nine of ten cases, one of three in one of ten."""
    state = taught([((3, 3), i % 10 != 0) for i in range(200)] + [((1, 3), i % 10 == 0) for i in range(200)])

    assert state.p(3, 3) == pytest.approx(0.9, abs=0.03)
    assert state.p(1, 3) == pytest.approx(0.1, abs=0.03)


def test_a_label_without_weight_teaches_nothing() -> None:
    assert Calibration().learn(3, 3, False, w=0) == Calibration()


@given(LABELS)
def test_more_agreement_never_means_less_confidence(labels: list[tuple[tuple[int, int], bool]]) -> None:
    state = taught(labels)

    assert state.b >= 0.1
    assert [state.p(v1, 8) for v1 in range(9)] == sorted(state.p(v1, 8) for v1 in range(9))


@given(LABELS)
def test_a_state_survives_being_dumped(labels: list[tuple[tuple[int, int], bool]]) -> None:
    state = taught(labels)

    assert Calibration.load(state.dump()) == state


@pytest.mark.parametrize(
    "numbers",
    [
        [],
        [0, 1.5, 1, 0],
        [0, 1.5, 1, 0, math.nan],
        [0, 0.01, 1, 0, 1],
        [0, 1.5, 1, 2, 1],
        [0, 1.5, True, 0, 1],
        "abcde",
    ],
)
def test_a_damaged_state_is_refused(numbers: list[float]) -> None:
    with pytest.raises(ValueError, match="calibration"):
        Calibration.load(numbers)


@pytest.mark.parametrize(("labels", "reported"), [(9, (0.75, False)), (10, (Calibration().p(3, 3), True))])
def test_the_learnt_confidence_is_reported_from_ten_labels_on(labels: int, reported: tuple[float, bool]) -> None:
    assert confidence(Calibration(), labels, 3, 3) == reported


def test_shares_at_the_ends_stay_finite() -> None:
    assert log_odds(0) == pytest.approx(-log_odds(1)) == pytest.approx(math.log(1e-4), abs=1e-3)
    assert evidence(0, 0) == log_odds(0)
    assert (sigmoid(-1000), sigmoid(1000)) == (0, 1)


@pytest.mark.parametrize(("v1", "n"), [(3, 2), (-1, 2)])
def test_impossible_counts_are_refused(v1: int, n: int) -> None:
    with pytest.raises(ValueError, match="votes among"):
        evidence(v1, n)
