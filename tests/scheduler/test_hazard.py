"""The sticky filter and the average over how often rules change."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler import hazard
from scheduler.hazard import PAIRS, Belief, arrival_shares, condition, propagate


@st.composite
def beliefs(draw: st.DrawFn) -> list[float]:
    """A distribution over two to six regimes."""
    weights = draw(st.lists(st.floats(0.001, 1), min_size=2, max_size=6))
    return [weight / sum(weights) for weight in weights]


@given(belief=beliefs(), rate=st.floats(0, 1), data=st.data())
def test_a_prior_is_a_distribution(belief: list[float], rate: float, data: st.DataObject) -> None:
    use = data.draw(st.lists(st.floats(0, 500), min_size=len(belief), max_size=len(belief)))

    (prior,) = propagate([belief], [rate], arrival_shares(use))

    assert sum(prior) == pytest.approx(1.0)
    assert min(prior) >= -1e-12


def test_a_change_leads_elsewhere_in_proportion_to_use() -> None:
    """Use 0, 1, 3 gives shares 1/7, 2/7, 4/7; from regime 0 with rate .3: .3 * (2/7)/(6/7) = .1 and .3 * 4/6 = .2."""
    arrivals = arrival_shares([0.0, 1.0, 3.0])

    (prior,) = propagate([[1.0, 0.0, 0.0]], [0.3], arrivals)

    assert arrivals == pytest.approx([1 / 7, 2 / 7, 4 / 7])
    assert prior == pytest.approx([0.7, 0.1, 0.2])


def test_a_label_weighs_regimes_and_rates_by_their_predictions() -> None:
    """Two rates, two regimes: z = (.8 * .9 + .2 * .1, .5 * .9 + .5 * .1) = (.74, .5)."""
    posteriors, weights = condition([[0.8, 0.2], [0.5, 0.5]], [0.5, 0.5], [0.9, 0.1])

    assert posteriors[0] == pytest.approx([0.72 / 0.74, 0.02 / 0.74])
    assert posteriors[1] == pytest.approx([0.9, 0.1])
    assert weights == pytest.approx([0.74 / 1.24, 0.5 / 1.24])


def test_a_single_regime_says_nothing_about_rates() -> None:
    _, weights = condition([[1.0], [1.0]], [0.3, 0.7], [0.2])

    assert weights == [0.3, 0.7]


def test_the_weights_of_the_rates_stay_a_distribution_over_100_000_labels() -> None:
    weights = [1 / len(PAIRS)] * len(PAIRS)
    rows = [[0.5, 0.5] for _ in PAIRS]
    rates = [step for _, step in PAIRS]

    for i in range(100_000):
        priors = propagate(rows, rates, [0.5, 0.5])
        rows, weights = condition(priors, weights, [0.9, 0.1] if i // 40 % 2 else [0.1, 0.9])

    assert sum(weights) == pytest.approx(1.0)
    assert min(weights) > 0.0


def test_frequent_changes_make_high_rates_probable() -> None:
    weights = [1 / len(PAIRS)] * len(PAIRS)
    rows = [[0.5, 0.5] for _ in PAIRS]
    rates = [step for _, step in PAIRS]

    for i in range(400):
        rows, weights = condition(propagate(rows, rates, [0.5, 0.5]), weights, [0.9, 0.1] if i // 8 % 2 else [0.1, 0.9])

    high = sum(weight for weight, rate in zip(weights, rates, strict=True) if rate == max(hazard.STEP_RATES))
    assert high > 0.9


def test_a_dropped_regime_leaves_its_probability_to_the_others() -> None:
    belief = Belief([[0.5, 0.3, 0.2]])

    belief.drop(0)
    belief.add(0.9)

    assert belief.rows[0] == pytest.approx([0.06, 0.04, 0.9])
