"""The life of a challenger and of a flip."""

import math
import random

import pytest

from scheduler import Signals
from scheduler.readout import FIRST_MEAN, NEGLIGIBLE, Mixture, Situation
from scheduler.rivals import ALIVE, FLIP_LIMIT, HOPELESS, LIFETIME, VOTE, Challenger, Rivals, promote_flip


def situation(c: float) -> Situation:
    return Situation.of(Signals(criticality_hint=c, difficulty_hint=0.5, progress=0.5))


def trained(rule: float) -> Mixture:
    """Return a mixture that has learnt "critical above .5" (rule 1) or "below .5" (rule -1)."""
    mixture, draw = Mixture(FIRST_MEAN), random.Random(0)
    for _ in range(80):
        c = draw.random()
        mixture.learn(situation(c), float((c - 0.5) * rule > 0), 1.0)
    return mixture


def test_a_fresh_challenger_joins_every_fourth_label_and_at_most_four_are_alive() -> None:
    rivals = Rivals()
    sizes = []

    for _ in range(24):
        rivals.refresh(4, quadratic=True)
        sizes.append(len(rivals.challengers))

    assert sizes[:8] == [0, 0, 0, 1, 1, 1, 1, 2]
    assert max(sizes) == ALIVE


def test_the_worst_challenger_makes_room() -> None:
    rivals = Rivals(challengers=[Challenger(Mixture(), evidence=e) for e in (1.0, -3.0, 0.5, 2.0)])

    rivals.refresh(1, quadratic=True)

    assert [challenger.evidence for challenger in rivals.challengers] == [1.0, 0.5, 2.0, 0.0]


def test_evidence_is_the_log_ratio_of_what_both_said_before_learning() -> None:
    """A fresh challenger at the centre: m = -.5; library .5."""
    challenger = Challenger(Mixture())
    rivals = Rivals(challengers=[challenger])
    x = situation(0.5)
    said = challenger.mixture.predict(x)

    rivals.learn_challengers(x, 1.0, 0.5, library=0.5)

    assert challenger.evidence == pytest.approx(0.5 * (math.log(said) - math.log(0.5)))
    assert challenger.n == 1
    assert challenger.mixture.predict(x) > said


@pytest.mark.parametrize(
    ("evidence", "n", "stays"), [(HOPELESS + 0.01, 5, False), (3.0, LIFETIME - 1, False), (0.0, 5, True)]
)
def test_the_hopeless_and_the_old_are_dropped(evidence: float, n: int, stays: bool) -> None:
    rivals = Rivals(challengers=[Challenger(Mixture(), evidence=evidence, n=n)])

    rivals.learn_challengers(situation(0.5), 1.0, 1.0, library=0.9)

    assert bool(rivals.challengers) is stays


@pytest.mark.parametrize(("evidence", "n", "wins"), [(3.6, 5, True), (3.6, 4, False), (3.5, 9, False)])
def test_promotion_needs_evidence_and_labels(evidence: float, n: int, wins: bool) -> None:
    rivals = Rivals(challengers=[Challenger(Mixture(), evidence=evidence, n=n)])

    assert (rivals.winning_challenger(3.5) is not None) is wins


def test_rivals_without_evidence_are_silent_and_with_it_they_vote() -> None:
    silent = Rivals(challengers=[Challenger(Mixture(), evidence=0.0)], flips=[VOTE, 0.0])
    heard = Rivals(challengers=[Challenger(Mixture(), evidence=2.0)], flips=[0.5, 0.0])
    best, x = trained(1), situation(0.9)

    flip_says = best.predict(situation(0.1))
    weight, product = heard.votes(x, best, floor=NEGLIGIBLE)

    assert silent.votes(x, best, floor=NEGLIGIBLE) == (0.0, 0.0)
    assert weight == pytest.approx(VOTE * math.exp(2.0) + 0.5)
    assert product == pytest.approx(VOTE * math.exp(2.0) * Mixture().predict(x) + 0.5 * flip_says, abs=1e-3)


def test_the_loudest_vote_is_bounded() -> None:
    assert Challenger(Mixture(), evidence=99.0).vote == pytest.approx(VOTE * math.exp(9.0))


def test_a_flip_of_a_reversed_rule_wins_within_a_few_labels() -> None:
    rivals, best, draw = Rivals(), trained(1), random.Random(1)
    labels = 0
    while rivals.winning_flip() is None:
        c = draw.random()
        x = situation(c)
        y = float(c < 0.5)
        p = min(0.98, max(0.02, best.predict(x)))
        rivals.learn_flips(x, best, y, 1.0, y * p + (1 - y) * (1 - p))
        labels += 1

    assert labels <= 8


def test_the_evidence_of_a_flip_is_bounded() -> None:
    rivals = Rivals(flips=[FLIP_LIMIT, 0.0])

    rivals.learn_flips(situation(0.9), trained(1), 0.0, 1.0, library=0.02)

    assert rivals.flips[0] == FLIP_LIMIT


def test_a_promoted_flip_says_the_opposite_and_is_less_sure() -> None:
    best = trained(1)

    flipped = promote_flip(best, 0)

    assert flipped.predict(situation(0.05)) > 0.7 > 0.3 > flipped.predict(situation(0.95))
    for before, after in zip(best.heads, flipped.heads, strict=True):
        size = len(before.mean)
        assert all(after.covariance[i * (size + 1)] >= before.covariance[i * (size + 1)] for i in range(size))
        assert after.covariance[0] <= after.variance[0]
