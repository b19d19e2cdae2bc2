"""The Bayesian read-outs, against hand computation and numerical integration."""

import math
import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler import Signals
from scheduler.readout import (
    DRIFT,
    FIRST_MEAN,
    PRIOR_VARIANCE,
    Head,
    Mixture,
    Situation,
    likelihood,
    normal_cdf,
    squash,
)


def situation(c: float, d: float, p: float) -> Situation:
    return Situation.of(Signals(criticality_hint=c, difficulty_hint=d, progress=p))


def integrate(f: Callable[[float], float], mean: float, variance: float) -> float:
    """Integrate f against a normal density by the trapezoid rule over 12 standard deviations."""
    sd, n = math.sqrt(variance), 20_000
    step = 24 * sd / n
    total = 0.0
    for i in range(n + 1):
        s = mean - 12 * sd + i * step
        total += f(s) * math.exp(-((s - mean) ** 2) / (2 * variance)) * step
    return total / math.sqrt(2 * math.pi * variance)


def test_features_are_centred_and_the_squares_have_mean_0() -> None:
    """c' = .5, d' = -1, p' = 0."""
    affine, quadratic = situation(0.75, 0.0, 0.5).phi

    assert affine == [1.0, 0.5, -1.0, 0.0]
    assert quadratic[4:] == pytest.approx([1.5 * (0.25 - 1 / 3), 1.0, -0.5, -0.5, 0.0, 0.0])


def test_the_prediction_is_the_expected_probability() -> None:
    scale = math.sqrt(math.pi / 8)

    expected = integrate(lambda s: normal_cdf(scale * s), 0.7, 5.0)

    assert squash(0.7, 5.0) == pytest.approx(expected, abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), y=st.sampled_from([0.0, 0.3, 1.0]))
def test_mean_and_variance_after_a_label_equal_numerical_integration(seed: int, y: float) -> None:
    """Moment matching of the likelihood with 2 % wrong labels; before the drift, and where the label sharpens."""
    draw = random.Random(seed)
    phi = [1.0, *(draw.choice([-1, 1]) * draw.uniform(0.3, 1.0) for _ in range(3))]
    outer = [a * b for a in phi for b in phi]
    head = Head([draw.gauss(0, 1) for _ in range(4)], PRIOR_VARIANCE[:4])
    mean, variance = head.moments(phi, outer)
    before = list(head.covariance)
    scale = math.sqrt(math.pi / 8)

    def evidence(s: float) -> float:
        return 0.02 * y + 0.98 * (1 - y) + 0.96 * (2 * y - 1) * normal_cdf(scale * s)

    z = integrate(evidence, mean, variance)
    new_mean = integrate(lambda s: s * evidence(s), mean, variance) / z
    new_variance = integrate(lambda s: (s - new_mean) ** 2 * evidence(s), mean, variance) / z

    head.learn(phi, y, 1.0)

    learnt_mean, learnt_variance = head.moments(phi, outer)
    assert learnt_mean == pytest.approx(new_mean, abs=1e-6)
    diagonal = range(0, 16, 5)
    if new_variance < variance - 0.1 and all(head.covariance[i] < before[i] for i in diagonal):
        drift = DRIFT * sum(f * f for f in phi)
        assert learnt_variance - drift == pytest.approx(new_variance, abs=1e-6)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_the_covariance_stays_symmetric_and_positive_definite(seed: int) -> None:
    draw = random.Random(seed)
    mixture = Mixture()
    for _ in range(400):
        x = situation(draw.random(), draw.random(), draw.random())
        mixture.learn(x, draw.choice([0.0, 1.0, draw.random()]), draw.choice([1.0, 0.3, draw.random()]))

    for head in mixture.heads:
        size = len(head.mean)
        rows = [head.covariance[i * size : (i + 1) * size] for i in range(size)]
        assert all(rows[i][j] == rows[j][i] for i in range(size) for j in range(size))
        assert_positive_definite(rows)


def assert_positive_definite(rows: list[list[float]]) -> None:
    """Cholesky succeeds."""
    size = len(rows)
    lower = [[0.0] * size for _ in range(size)]
    for i in range(size):
        for j in range(i + 1):
            rest = rows[i][j] - sum(lower[i][k] * lower[j][k] for k in range(j))
            if i == j:
                assert rest > 0
                lower[i][i] = math.sqrt(rest)
            else:
                lower[i][j] = rest / lower[j][j]


def test_variances_never_exceed_their_prior() -> None:
    head = Head(FIRST_MEAN, PRIOR_VARIANCE[:4])

    for _ in range(50):
        head.learn([1.0, 0.0, 0.0, 0.0], 1.0, 1.0)

    assert [head.covariance[i * 5] for i in range(1, 4)] == [16.0, 16.0, 2.0]
    assert head.covariance[0] < 2.0


def test_a_label_of_weight_0_changes_nothing_but_time() -> None:
    head = Head(FIRST_MEAN, PRIOR_VARIANCE[:4])

    head.learn([1.0, 0.5, 0.5, 0.5], 1.0, 0.0)

    assert head.mean == list(FIRST_MEAN)
    assert [head.covariance[i * 5] for i in range(4)] == list(PRIOR_VARIANCE[:4])


def test_two_labels_by_hand() -> None:
    """A head of one weight: m = 0, P = 2; y = 1 twice, following the update rule with a pocket calculator's steps."""
    head = Head([0.0], [2.0])
    m, p = 0.0, 2.0
    for _ in range(2):
        k = math.sqrt((math.pi / 8) / (1 + math.pi * p / 8))
        t = k * m
        z = 0.02 + 0.96 * normal_cdf(t)
        g = 0.96 * math.exp(-t * t / 2) / math.sqrt(2 * math.pi) * k / z
        b = min(0.0, -g * (t * k + g))
        m, p = m + g * p, min(2.0, p + b * p * p + 0.002)
        head.learn([1.0], 1.0, 1.0)

    assert head.mean == pytest.approx([m])
    assert head.covariance == pytest.approx([p])
    assert m > 0.9


def test_the_heads_start_at_82_to_18_and_the_better_predictor_gains_weight() -> None:
    mixture = Mixture()
    start = mixture.shares[1] / sum(mixture.shares)

    for i in range(200):
        c = i % 10 / 9
        mixture.learn(situation(c, 0.5, 0.5), float(0.25 < c < 0.75), 1.0)

    assert start == pytest.approx(1 / (1 + math.exp(1.5)))
    assert mixture.heaviest == 1
    assert mixture.log_weights[1] == 0.0
    assert mixture.log_weights[0] >= -6.0


@given(p=st.floats(0, 1), y=st.floats(0, 1))
def test_no_prediction_is_ever_ruled_out(p: float, y: float) -> None:
    assert 0.02 - 1e-12 <= likelihood(p, y) <= 0.98 + 1e-12


@given(c=st.floats(0, 1), d=st.floats(0, 1), p=st.floats(0, 1))
def test_a_reversed_mixture_says_of_a_situation_what_the_original_says_of_the_mirrored_one(
    c: float, d: float, p: float
) -> None:
    from scheduler.rivals import SIGNS

    mixture = Mixture(FIRST_MEAN)
    draw = random.Random(5)
    for _ in range(30):
        a = draw.random()
        mixture.learn(situation(a, draw.random(), draw.random()), float(a > 0.6), 1.0)

    assert mixture.signed(SIGNS[0]).predict(situation(c, d, p)) == pytest.approx(
        mixture.predict(situation(1 - c, d, p))
    )
    assert mixture.signed(SIGNS[1]).predict(situation(c, d, p)) == pytest.approx(
        mixture.predict(situation(1 - c, 1 - d, p))
    )
