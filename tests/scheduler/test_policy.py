"""Costs, labels and suggestions that the policies share."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler import Costs, Mode, Outcome
from scheduler.policy import Facts, compact_threshold, critical_threshold, label_as_told, label_from_facts


def test_costs_of_1_and_5_make_80_percent_the_threshold() -> None:
    assert critical_threshold(Costs(cheap=1, deep=5, damage=0), 1.0, 0.0) == pytest.approx(0.8)


def test_damage_of_25_makes_13_percent_the_threshold() -> None:
    assert critical_threshold(Costs(cheap=1, deep=5, damage=25), 1.0, 0.0) == pytest.approx(4 / 30)


def test_no_probability_makes_system_2_pay_when_it_saves_less_than_it_costs() -> None:
    assert critical_threshold(Costs(cheap=1, deep=5, damage=0), 1.0, 0.5) == 1.0


@given(
    cheap=st.floats(0, 5),
    premium=st.floats(0.01, 10),
    damage=st.floats(0, 50),
    mu=st.floats(0.2, 20),
    rework=st.floats(0, 1),
    p=st.floats(0, 1),
)
def test_the_threshold_is_where_the_expected_costs_cross(
    cheap: float, premium: float, damage: float, mu: float, rework: float, p: float
) -> None:
    costs = Costs(cheap=cheap, deep=cheap + premium, damage=damage)
    threshold = critical_threshold(costs, mu, rework)
    gap = (cheap + mu * p * (costs.deep + damage)) - (costs.deep + p * rework * costs.deep)

    if abs(gap) > 1e-9 * (1 + costs.deep + damage) * mu:
        assert (p > threshold) == (gap > 0)


TABLE: list[tuple[Mode, Outcome | None, float | None, tuple[float | None, float, str]]] = [
    ("system1", "s1_fail", None, (1.0, 1.0, "s1_fail")),
    ("system1", "s1_pass", None, (0.0, 1.0, "s1_pass")),
    ("system1", "s1_unchecked", None, (None, 0.0, "s1_unchecked")),
    ("system1", "s1_unchecked", 0.0, (None, 0.0, "s1_unchecked")),
    ("system2", "s2_done", None, (None, 0.0, "s2_done")),
    ("system2", "s2_done", 0.9, (0.9, 0.3, "opinion")),
    ("system2", "s2_done", 1.0, (1.0, 0.3, "opinion")),
    ("system2", "s2_probe_pass", None, (0.0, 1.0, "s2_probe_pass")),
    ("system2", "s2_probe_fail", None, (1.0, 1.0, "s2_probe_fail")),
    ("system1", None, 0.7, (0.7, 1.0, "observed")),
    ("system2", None, 0.7, (0.7, 0.3, "opinion")),
    ("system2", None, 0.0, (0.0, 0.3, "opinion")),
    ("system2", None, 1.0, (None, 0.0, "refused")),
    ("system1", None, None, (None, 0.0, "none")),
    ("system2", None, None, (None, 0.0, "none")),
]


@pytest.mark.parametrize(("mode", "outcome", "observed", "label"), TABLE)
def test_labels_are_derived_from_facts(
    mode: Mode, outcome: Outcome | None, observed: float | None, label: tuple[float | None, float, str]
) -> None:
    facts = Facts(mode=mode, outcome=outcome, observed_criticality=observed)

    result = label_from_facts(facts, estimate=0.6)

    assert (result.value, result.weight, result.source) == label


@pytest.mark.parametrize(
    ("outcome", "observed", "value"),
    [
        ("s1_fail", 0.3, 0.3),
        (None, 1.0, 1.0),
        ("s1_fail", None, 1.0),
        ("s2_probe_fail", None, 1.0),
        ("s1_pass", None, 0.0),
        ("s2_probe_pass", None, 0.0),
        ("s1_unchecked", None, None),
        ("s2_done", None, None),
        (None, None, None),
    ],
)
def test_the_auction_takes_the_callers_score_as_it_is(
    outcome: Outcome | None, observed: float | None, value: float | None
) -> None:
    facts = Facts(mode="system2", outcome=outcome, observed_criticality=observed)

    assert label_as_told(facts).value == value


def test_a_pass_of_a_verifier_that_misses_40_percent_leaves_a_doubt() -> None:
    """p = .5, r = .6: P(failure | pass) = .5 * .4 / (1 - .5 * .6) = 2/7."""
    facts = Facts(mode="system1", outcome="s1_pass", verifier_recall=0.6)

    assert label_from_facts(facts, estimate=0.5).value == pytest.approx(2 / 7)


@given(p=st.floats(0, 1), recall=st.floats(0, 1))
def test_a_pass_never_raises_the_suspicion(p: float, recall: float) -> None:
    value = label_from_facts(Facts(mode="system1", outcome="s1_pass", verifier_recall=recall), estimate=p).value

    assert value is not None
    assert 0.0 <= value <= p + 1e-12


def test_a_higher_price_of_misses_suggests_compaction_earlier() -> None:
    assert [compact_threshold(mu) for mu in (0.3, 1.0, 4.0, 20.0)] == pytest.approx([0.67, 0.6, 0.3, 0.0])
