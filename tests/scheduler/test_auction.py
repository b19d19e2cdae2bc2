"""The auction's formulas, by hand."""

import math
from typing import Any

import pytest

from scheduler import Costs, Decision, InvalidInputError, Signals, StateError
from scheduler.auction import MAX_PROTOTYPES, Auction, AuctionTrack
from scheduler.experience import Label, Reported, TaskEnded, TaskStarted
from scheduler.policy import Question


def question(c: float, d: float = 0.0, p: float = 0.0, pollution: float = 0.0) -> Question:
    signals = Signals(criticality_hint=c, difficulty_hint=d, progress=p)
    return Question(decision_id="t.1", signals=signals, pollution=pollution, costs=Costs())


def reported(c: float, y: float | None, *, grow: bool = True, deep: bool = True, d: float = 0.0) -> Reported:
    return Reported(
        decision_id="t.1",
        signals=Signals(criticality_hint=c, difficulty_hint=d),
        pollution=0.0,
        mode="system2" if deep else "system1",
        label=Label(y, 1.0, "observed"),
        used_system2=grow,
        was_deep=deep,
    )


def taught(*reports: Reported, **knobs: Any) -> tuple[Auction, AuctionTrack]:
    policy = Auction(**knobs)
    track = policy.track()
    for report in reports:
        policy.observe(track, report)
    return policy, track


def numbers(decision: Decision) -> tuple[float, float, float, float]:
    return decision.familiarity, decision.criticality_estimate, decision.rob_gain, decision.eco_cost


def test_an_empty_library_deliberates() -> None:
    policy = Auction()

    decision = policy.decide(policy.track(), question(0.1, pollution=0.5))

    assert (decision.mode, decision.regime_id) == ("system2", None)
    assert numbers(decision) == pytest.approx((0.0, 0.5, 1.0, 0.4))


def test_the_first_label_founds_a_prototype_and_takes_one_gradient_step() -> None:
    """x = (.5, 0, 0): c = .1 + .6 * .5 = .4, e = .6, w = [.1 + .072, .6 + .036], error = .425 + .09 = .515."""
    policy, track = taught(reported(0.5, 1.0))

    decision = policy.decide(track, question(0.5))

    estimate = 0.172 + 0.636 * 0.5
    assert numbers(decision) == pytest.approx((1.0, estimate, (0.5 + estimate) * 0.515, 0.1))
    assert decision.confidence == pytest.approx(0.485)
    assert decision.contributions == pytest.approx(
        {"bias": 0.172, "criticality_hint": 0.318, "difficulty_hint": 0.0, "progress": 0.0}
    )


def test_similarity_falls_with_the_squared_distance() -> None:
    """Distance^2 = .5^2 + .3^2 = .34; tau = .35."""
    policy, track = taught(reported(0.5, 1.0))

    decision = policy.decide(track, question(1.0, 0.3))

    assert decision.familiarity == pytest.approx(math.exp(-0.34 / 0.7))
    assert decision.surprise == pytest.approx(1 - math.exp(-0.34 / 0.7))


def test_a_familiar_situation_refines_the_best_match() -> None:
    policy, _ = taught(reported(0.5, 1.0), reported(0.6, 1.0))

    (prototype,) = policy.prototypes()

    assert prototype["n"] == 2
    assert prototype["confidence"] == pytest.approx(0.35)
    assert prototype["situationCentroid"]["criticality_hint"] == pytest.approx(0.515)


@pytest.mark.parametrize(
    ("second", "knobs", "size"),
    [
        (reported(1.0, 1.0, d=1.0), {}, 2),
        (reported(1.0, 1.0, d=1.0, grow=False), {}, 1),
        (reported(1.0, 1.0, d=1.0), {"can_grow": False}, 1),
        (reported(0.3, 1.0), {}, 1),
        (reported(1.0, None, d=1.0), {}, 1),
    ],
    ids=["novel and deliberated", "novel but not deliberated", "growth off", "familiar", "no label"],
)
def test_a_novel_deliberated_situation_founds_a_prototype(second: Reported, knobs: dict[str, bool], size: int) -> None:
    policy, _ = taught(reported(0.0, 0.0), second, **knobs)

    assert policy.n_prototypes == size


def test_another_best_match_that_fits_poorly_is_a_shift() -> None:
    """The bid alone would lose: both prototypes predict well, and the price is high."""
    rehearsals = [reported(0.0, 0.1), *(reported(1.0, 0.7, d=1.0) for _ in range(30))]
    rehearsals += [reported(0.0, 0.1) for _ in range(30)]
    policy, track = taught(*rehearsals)
    calm = policy.decide(track, question(0.0, 0.0, pollution=1.0))

    shifted = policy.decide(track, question(1.0, 0.2, 0.6, pollution=1.0))

    assert (calm.mode, calm.regime_shift) == ("system1", False)
    assert (shifted.mode, shifted.regime_shift) == ("system2", True)
    assert shifted.rob_gain < shifted.eco_cost
    assert shifted.familiarity < 0.7


def test_a_new_task_forgets_the_active_prototype_only() -> None:
    policy, track = taught(reported(0.5, 1.0))
    policy.decide(track, question(0.5))
    library = policy.dump()

    policy.observe(track, TaskStarted())

    assert track.active is None
    assert policy.dump() == library


def test_the_library_never_exceeds_its_cap_and_spares_the_newest() -> None:
    policy = Auction()
    track = policy.track()
    policy._prototypes = []
    for i in range(MAX_PROTOTYPES):
        policy._learn((i * 10.0, 0.0, 0.0), 1.0, grow=True)
        policy._learn((i * 10.0, 0.0, 0.0), 1.0, grow=True)

    policy._learn((999.0, 0.0, 0.0), 1.0, grow=True)
    policy._learn((-999.0, 0.0, 0.0), 1.0, grow=True)

    kept = [prototype["id"] for prototype in policy.prototypes()]
    assert len(kept) == MAX_PROTOTYPES
    assert kept[-1] == MAX_PROTOTYPES + 2
    assert track == AuctionTrack()


@pytest.mark.parametrize(
    ("mu", "theta"),
    [(0.3, 0.6 - 0.2 * math.tanh(-0.7)), (1.0, 0.6), (4.0, 0.6 - 0.2 * math.tanh(3.0))],
)
def test_the_reported_threshold_falls_with_mu(mu: float, theta: float) -> None:
    policy = Auction()
    policy.mu = mu

    assert policy.decide(policy.track(), question(0.5)).threshold == pytest.approx(theta)


def test_mu_falls_with_success_and_follows_the_share_of_deep_steps_on_failure() -> None:
    policy = Auction()
    track = policy.track()

    policy.observe(track, TaskEnded(success=True))
    after_success = policy.mu
    policy.observe(track, TaskEnded(success=False))
    after_failure = policy.mu
    policy.observe(track, reported(0.5, None, deep=True))
    policy.observe(track, TaskEnded(success=False))

    assert (after_success, after_failure, policy.mu) == pytest.approx((0.97, 1.07, 0.97))


def test_mu_stays_within_its_bounds() -> None:
    policy = Auction()
    track = policy.track()

    for _ in range(100):
        policy.observe(track, TaskEnded(success=True))
    lowest = policy.mu
    for _ in range(100):
        policy.observe(track, TaskEnded(success=False))

    assert (lowest, policy.mu) == (0.3, 4.0)


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="decision"):
        Auction(decision="coin")  # type: ignore[arg-type]


def test_a_damaged_library_is_refused_and_changes_nothing() -> None:
    policy, _ = taught(reported(0.5, 1.0))
    before = policy.dump()

    with pytest.raises(StateError, match="damaged"):
        policy.restore({**before, "prototypes": [{"id": 1}]})

    assert policy.dump() == before
