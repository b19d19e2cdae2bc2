"""Predictions against labels, by hand."""

import pytest

from scheduler.calibration import Calibration, Scored
from scheduler.types import Mode


def scored(estimate: float, observed: float, mode: Mode = "system1", name: str = "s.1") -> Scored:
    return Scored(name, estimate, observed, mode, 0.8)


def test_four_steps_by_hand() -> None:
    """Errors .5, .2 | .1, .1; right are steps 2, 3 and 4."""
    calibration = Calibration()
    for step in (scored(0.5, 1.0), scored(0.2, 0.0), scored(0.9, 1.0, "system2"), scored(0.1, 0.0)):
        calibration.add(step)

    report = calibration.report()

    assert report["scored"] == 4
    assert report["overall"] == {"n": 4, "mae": 0.225, "accuracy": 0.75}
    assert report["firstHalf"] == {"n": 2, "mae": 0.35, "accuracy": 0.5}
    assert report["recentHalf"] == {"n": 2, "mae": 0.1, "accuracy": 1.0}
    assert report["improving"] is True
    assert report["brier"] == pytest.approx((0.25 + 0.04 + 0.01 + 0.01) / 4, abs=1e-4)
    assert report["ece"] == pytest.approx(0.225)


def test_growing_errors_are_no_improvement() -> None:
    calibration = Calibration()
    for step in (scored(0.1, 0.0), scored(0.4, 0.0)):
        calibration.add(step)

    assert calibration.report()["improving"] is False


def test_accuracy_may_drop_by_2_points_but_not_by_more() -> None:
    kept, lost = Calibration(200), Calibration(200)
    for calibration, wrong in ((kept, 1), (lost, 2)):
        for _ in range(50):
            calibration.add(scored(0.5, 1.0, "system2"))
        for i in range(50):
            calibration.add(scored(0.5, 1.0, "system1" if i < wrong else "system2"))

    assert kept.report()["improving"] is True
    assert lost.report()["improving"] is False


def test_only_the_window_counts_but_all_are_counted() -> None:
    calibration = Calibration(2)
    for estimate in (1.0, 0.1, 0.3):
        calibration.add(scored(estimate, 0.0))

    report = calibration.report()

    assert (report["scored"], report["overall"]["n"], report["overall"]["mae"]) == (3, 2, 0.2)


def test_bins_hold_predictions_and_what_came_of_them() -> None:
    calibration = Calibration()
    for observed in (1.0, 0.0):
        calibration.add(scored(0.25, observed))
    calibration.add(scored(1.0, 1.0))

    assert calibration.report()["bins"] == [
        {"predicted": 0.25, "observed": 0.5, "n": 2},
        {"predicted": 1.0, "observed": 1.0, "n": 1},
    ]


def test_nothing_scored_yet_is_no_improvement_and_no_error() -> None:
    report = Calibration().report()

    assert report["overall"] == {"n": 0, "mae": None, "accuracy": None}
    assert (report["improving"], report["brier"], report["ece"]) == (False, None, None)


def test_a_withdrawn_step_is_gone() -> None:
    calibration = Calibration()
    calibration.add(scored(0.5, 1.0, name="s.1"))
    calibration.add(scored(0.2, 0.0, name="s.2"))

    calibration.withdraw("s.1")

    assert calibration.report()["overall"] == {"n": 1, "mae": 0.2, "accuracy": 1.0}
    assert calibration.scored == 1
