"""The published integers, reproduced by the shipped policies."""

import pytest

from benchmarks.scheduler.published import (
    Row,
    published_stream,
    run_auction_bid,
    run_auction_threshold,
    run_rule,
)
from benchmarks.scheduler.rng import Mulberry32


def integers(row: Row) -> tuple[int, int, int]:
    return row.cost, row.mishandled, row.over_thinking


def saved(row: Row) -> float:
    return round(100 * (1 - row.cost / 2400), 1)


def test_the_generator_is_bit_exact() -> None:
    draw = Mulberry32(20260607)

    assert [draw() for _ in range(4)] == [
        0.5305264065973461,
        0.9620698718354106,
        0.804833693196997,
        0.24060636782087386,
    ]


def test_the_stream_starts_as_published_and_has_210_critical_steps() -> None:
    tasks = published_stream()

    assert [(step.hint, step.criticality) for step in tasks[0][:3]] == [(0.531, 0.646), (0.805, 0.740), (0.999, 1.0)]
    assert sum(step.critical for task in tasks for step in task) == 210


def test_always_system_2_costs_2400() -> None:
    row = run_rule(published_stream(), lambda task, step: True)

    assert integers(row) == (2400, 0, 270)


def test_always_system_1_costs_1530() -> None:
    row = run_rule(published_stream(), lambda task, step: False)

    assert integers(row) == (1530, 210, 0)
    assert saved(row) == pytest.approx(36.3, abs=0.051)


def test_a_static_skill_costs_1813() -> None:
    row = run_rule(published_stream(), lambda task, step: step.hint >= 0.6)

    assert integers(row) == (1813, 117, 94)
    assert saved(row) == 24.5


def test_the_oracle_costs_1320() -> None:
    row = run_rule(published_stream(), lambda task, step: step.critical)

    assert integers(row) == (1320, 0, 0)


def test_knowing_rule_and_regime_costs_1363() -> None:
    """System 2 pays above p = .8, and P(base + U(-.125, .125) > .55) > .8 where base > .625."""
    row = run_rule(published_stream(), lambda task, step: (step.hint if task < 30 else 1 - step.hint) > 0.625)

    assert integers(row) == (1363, 43, 0)


def test_the_auction_that_bids_reproduces_the_published_row() -> None:
    row = run_auction_bid(published_stream())

    assert integers(row) == (1658, 102, 59)
    assert saved(row) == 30.9
    assert row.mu_trace[-1] == pytest.approx(0.77)


def test_the_auction_with_a_threshold_reproduces_the_published_row() -> None:
    row = run_auction_threshold(published_stream())

    assert integers(row) == (1462, 58, 21)
    assert saved(row) == 39.1


def test_input_similarity_does_not_see_the_reversal() -> None:
    """The shift flag fires on 1.3 % of the steps before the reversal and on .1 % after it, give or take .1 point."""
    flags = run_auction_bid(published_stream()).shift_flags

    before = [flag for task, flag in flags if task < 30]
    after = [flag for task, flag in flags if task >= 30]

    assert 1.2 <= 100 * sum(before) / len(before) <= 1.4
    assert 100 * sum(after) / len(after) <= 0.2
