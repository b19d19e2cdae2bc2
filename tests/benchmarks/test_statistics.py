"""The statistics of the measurements, on values that can be worked out by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.statistics import (
    bootstrap_interval,
    brier_score,
    calibration_error,
    mean,
    median,
    percentile,
)

FINITE = st.floats(min_value=-1e6, max_value=1e6)
SHARES = st.floats(min_value=0, max_value=1)


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [
        ([5.0], 0.95, 5.0),
        ([3.0, 1.0, 2.0], 0.5, 2.0),
        ([1.0, 2.0], 0.5, 1.5),
        ([0.0, 10.0], 0.95, 9.5),
        ([4.0, 1.0], 0, 1.0),
    ],
)
def test_a_percentile_lies_between_its_neighbours(values: list[float], share: float, expected: float) -> None:
    assert percentile(values, share) == pytest.approx(expected)


@given(st.lists(FINITE, min_size=1), SHARES, SHARES)
def test_percentiles_rise_with_the_share_and_stay_inside(values: list[float], a: float, b: float) -> None:
    low, high = sorted((a, b))

    assert min(values) <= percentile(values, low) <= percentile(values, high) + 1e-6
    assert percentile(values, high) <= max(values)


def test_statistics_of_nothing_are_errors() -> None:
    for statistic in (median, mean):
        with pytest.raises(ValueError, match="nothing"):
            statistic([])
    with pytest.raises(ValueError, match="share"):
        percentile([1.0], 1.5)
    with pytest.raises(ValueError, match="0 confidences"):
        calibration_error([], [])


def test_a_bootstrap_of_equal_values_has_no_width() -> None:
    assert bootstrap_interval([2.5] * 10) == (2.5, 2.5)


def test_a_bootstrap_of_a_coin_agrees_with_the_binomial() -> None:
    """100 throws, half of them heads: the mean has the standard error 0.05, so 95 % lie within 0.1 of 0.5."""
    low, high = bootstrap_interval([0.0, 1.0] * 50)

    assert low == pytest.approx(0.4, abs=0.02)
    assert high == pytest.approx(0.6, abs=0.02)


def test_a_bootstrap_is_reproducible() -> None:
    values = [1.0, 4.0, 2.0, 8.0]

    assert bootstrap_interval(values, seed=3) == bootstrap_interval(values, seed=3)
    assert bootstrap_interval(values, statistic=median, resamples=50) != bootstrap_interval(values, resamples=50)


def test_calibration_error_weighs_the_gap_of_each_bin_by_what_it_holds() -> None:
    """Three at 0.9, two of them right: gap 0.7 / 3. One at 0.15, wrong: gap 0.15. Together (3 * 0.7 / 3 + 0.15) / 4."""
    confidences, right = [0.9, 0.9, 0.9, 0.15], [True, True, False, False]

    assert calibration_error(confidences, right) == pytest.approx((0.7 + 0.15) / 4)


def test_errors_in_opposite_directions_cancel_within_a_bin_only() -> None:
    assert calibration_error([0.52, 0.58], [True, False]) == pytest.approx(0.05)
    assert calibration_error([0.42, 0.58], [True, False]) == pytest.approx((0.58 + 0.58) / 2)


def test_certainty_belongs_to_the_last_bin() -> None:
    assert calibration_error([1.0, 0.0], [True, False]) == 0


def test_the_brier_score_is_the_mean_squared_error() -> None:
    assert brier_score([1.0, 0.5, 0.2], [True, True, False]) == pytest.approx((0 + 0.25 + 0.04) / 3)


def test_confidences_that_are_no_probabilities_are_refused() -> None:
    for score in (calibration_error, brier_score):
        with pytest.raises(ValueError, match="outside"):
            score([1.2], [True])
        with pytest.raises(ValueError, match="2 confidences for 1"):
            score([0.1, 0.2], [True])
