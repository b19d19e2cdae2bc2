"""The regime policy: what it learns, when it notices a change, what it keeps."""

import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.scheduler.arms import Learner
from benchmarks.scheduler.envs import ENVIRONMENTS, RARE_COSTS, stationary
from benchmarks.scheduler.run import run
from benchmarks.scheduler.streams import Stream, seed51
from scheduler import Costs, InvalidInputError, Scheduler, Signals, StateError
from scheduler.experience import Label, Reported
from scheduler.regime import RegimeBank
from scheduler.regime_knobs import Knobs
from scheduler.registry import make_policy

Rule = Callable[[float], bool]


def high(c: float) -> bool:
    return c > 0.6


def always(c: float) -> bool:
    return True


def low(c: float) -> bool:
    return c < 0.4


def teach(scheduler: Scheduler, rule: Rule, n: int, *, seed: int = 0, tasks: bool = True) -> list[bool]:
    """Run n steps with full labels; return whether each was handled as the rule wants it."""
    draw = random.Random(seed)
    right = []
    for i in range(n):
        if tasks and i % 8 == 0:
            scheduler.new_task()
        c = draw.random()
        signals = Signals(criticality_hint=c, difficulty_hint=draw.random(), progress=i % 8 / 8)
        decision = scheduler.decide(signals)
        deep = decision.mode == "system2"
        right.append(deep == rule(c))
        if deep:
            scheduler.report(decision.decision_id, "s2_probe_fail" if rule(c) else "s2_probe_pass")
        else:
            scheduler.report(decision.decision_id, "s1_fail" if rule(c) else "s1_pass")
    return right


def probability(scheduler: Scheduler, c: float) -> float:
    return scheduler.decide(Signals(criticality_hint=c, difficulty_hint=0.5, progress=0.5)).p_critical


def test_the_published_stream_costs_1372() -> None:
    stream = seed51(0)

    trace = run(Learner(make_policy("regime"), Costs()), stream)

    assert (trace.cost, trace.mishandled, trace.over_thinking) == (1372, 44, 2)


def test_two_rules_with_the_same_inputs_lead_to_opposite_behaviour() -> None:
    one, other = Scheduler(), Scheduler()
    teach(one, high, 160)
    teach(other, low, 160)

    assert probability(one, 0.95) > 0.8 > 0.2 > probability(one, 0.05)
    assert probability(other, 0.05) > 0.8 > 0.2 > probability(other, 0.95)


def test_a_reversal_founds_a_second_regime_and_the_first_is_kept() -> None:
    scheduler = Scheduler()
    teach(scheduler, high, 160)
    teach(scheduler, low, 80, seed=1)

    rules = {prototype["rule"] for prototype in scheduler.prototypes()}

    assert any("criticality_hint is high" in rule for rule in rules)
    assert any("criticality_hint is low" in rule for rule in rules)


def test_a_regime_shift_is_flagged_once_it_is_believed() -> None:
    scheduler = Scheduler()
    teach(scheduler, high, 160)
    flags = []
    draw = random.Random(3)
    for _ in range(24):
        c = draw.random()
        decision = scheduler.decide(Signals(criticality_hint=c, difficulty_hint=0.5, progress=0.5))
        flags.append(decision.regime_shift)
        failed = low(c)
        scheduler.report(decision.decision_id, "s1_fail" if failed else "s1_pass")

    assert not flags[0]
    assert any(flags)


def test_the_same_labels_give_the_same_library() -> None:
    one, other = Scheduler(), Scheduler()
    for scheduler in (one, other):
        teach(scheduler, high, 60)
        teach(scheduler, low, 60, seed=1)

    assert one.dump() == other.dump()


def test_with_every_step_labelled_nothing_is_explored() -> None:
    """Full labels: the cautious and the greedy policy decide alike, step by step."""
    auto, greedy = Scheduler(explore="auto"), Scheduler(explore="greedy")

    assert teach(auto, high, 300) == teach(greedy, high, 300)


def test_unlabelled_deliberation_does_not_lock_it_into_system_2() -> None:
    """Misses are dear and only System 1 steps are labelled: the greedy policy ends in System 2, this one does not."""

    def last_quarter(explore: str) -> float:
        learner = Learner(make_policy("regime", explore=explore), RARE_COSTS)
        deep = run(learner, ENVIRONMENTS["rare_partial"](1000)).deep
        return statistics.mean(deep[len(deep) * 3 // 4 :])

    assert last_quarter("greedy") == 1.0
    assert last_quarter("auto") < 0.95


def test_reworks_on_a_full_context_raise_the_threshold_there_only() -> None:
    scheduler = Scheduler()
    for _ in range(20):
        decision = scheduler.decide(Signals(criticality_hint=0.9, context_pollution=0.9))
        scheduler.report(decision.decision_id, "s2_done", rework=True)

    full = scheduler.decide(Signals(criticality_hint=0.9, context_pollution=0.95))
    clean = scheduler.decide(Signals(criticality_hint=0.9, context_pollution=0.1))

    assert clean.threshold == pytest.approx(4 / (5 - 0.005 * 5))
    assert full.threshold == 1.0
    assert full.expected_cost_s2 > clean.expected_cost_s2


def test_rework_never_is_a_label() -> None:
    scheduler = Scheduler()
    decision = scheduler.decide(Signals())
    result = scheduler.report(decision.decision_id, "s2_done", rework=True)

    assert (result.label, scheduler.stats()["nLabels"]) == (None, 0)


def test_mu_stays_1_without_a_target_and_follows_the_misses_with_one() -> None:
    free, bound = Scheduler(), Scheduler(miss_target=0.1)
    for scheduler in (free, bound):
        for _ in range(20):
            scheduler.feedback(success=False)

    assert free.mu == 1.0
    assert bound.mu == pytest.approx(2.718281828 ** (0.15 * 0.9 * 20))


def test_a_threshold_can_be_set_and_is_echoed() -> None:
    decision = Scheduler(threshold=0.5).decide(Signals())

    assert decision.threshold == 0.5


def test_the_library_never_exceeds_its_cap() -> None:
    scheduler = Scheduler(max_regimes=2, tau=0.1)
    draw = random.Random(0)
    for block in range(12):
        teach(scheduler, draw.choice([high, low, always]), 24, seed=block)
        assert len(scheduler.prototypes()) <= 2


def test_a_single_regime_learns_everything() -> None:
    scheduler = Scheduler(max_regimes=1)
    teach(scheduler, high, 200)

    assert len(scheduler.prototypes()) == 1
    assert probability(scheduler, 0.95) > 0.8


def test_a_stationary_stream_rarely_founds_a_regime() -> None:
    """40 streams of 480 labels with one rule and noise: at most 10 % see any promotion."""
    promoted = 0
    for seed in range(3000, 3040):
        learner = Learner(make_policy("regime"), Costs())
        run(learner, stationary(seed))
        promoted += learner.session.policy.n_prototypes > 1

    assert promoted <= 4


def second_visits(seed: int) -> tuple[float, float]:
    """Return the regret of the first 16 steps of the first and of the second visit to rule B."""
    whole = ENVIRONMENTS["recurring"](seed)
    trace = run(Learner(make_policy("regime"), Costs()), replace(whole, tasks=whole.tasks[:32]))
    return sum(trace.regret[80:96]), sum(trace.regret[240:256])


def test_a_known_rule_is_recognised_faster_when_it_comes_back() -> None:
    first, second = zip(*(second_visits(seed) for seed in range(30)), strict=True)

    assert statistics.mean(second) <= 0.75 * statistics.mean(first)


@pytest.mark.parametrize(
    ("knobs", "field"),
    [
        ({"max_regimes": 0}, "max_regimes"),
        ({"max_regimes": 17}, "max_regimes"),
        ({"max_regimes": 2.5}, "max_regimes"),
        ({"tau": 0.05}, "tau"),
        ({"tau": "high"}, "tau"),
        ({"every": 0}, "every"),
        ({"task_rates": []}, "task_rates"),
        ({"step_rates": [1.0]}, "step_rates"),
        ({"explore": "wild"}, "explore"),
        ({"threshold": 1.5}, "threshold"),
        ({"miss_target": -0.1}, "miss_target"),
        ({"compact_cost": -1}, "compact_cost"),
        ({"flips": "no"}, "flips"),
        ({"rework": 1}, "rework"),
        ({"task_rates": 0.1}, "task_rates"),
        ({"colour": 1}, "policy"),
    ],
)
def test_a_knob_out_of_range_is_refused_by_name(knobs: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        Scheduler(**knobs)

    assert caught.value.field == field


def observe(bank: RegimeBank, track: Any, c: float, y: float, weight: float) -> None:
    signals = Signals(criticality_hint=c, difficulty_hint=0.5, progress=0.5)
    bank.observe(
        track,
        Reported(
            decision_id="",
            signals=signals,
            pollution=0.0,
            mode="system1",
            label=Label(y, weight, "observed"),
            used_system2=False,
            was_deep=False,
        ),
    )


@settings(max_examples=20, deadline=None)
@given(
    labels=st.lists(
        st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.sampled_from([0, 1, 2])), max_size=120
    )
)
def test_any_labels_from_any_sessions_leave_probabilities_probable(
    labels: Sequence[tuple[float, float, float, int]],
) -> None:
    """Three sessions teach one library in any order; every belief stays a distribution over the same regimes."""
    bank = RegimeBank(Knobs(tau=0.1, every=1, max_regimes=3))
    tracks = [bank.track() for _ in range(3)]
    for c, y, weight, who in labels:
        observe(bank, tracks[who], c, y, weight)

    for track in tracks:
        p = bank.estimate(track, Signals(criticality_hint=0.3))
        assert 0.0 < p < 1.0
        assert len(track.ids) == bank.n_prototypes <= 3
        assert all(sum(row) == pytest.approx(1.0) for row in track.belief.rows)


def test_a_new_session_starts_where_the_last_one_stood() -> None:
    scheduler = Scheduler()
    teach(scheduler, high, 160)
    teach(scheduler, low, 80, seed=1)
    bank = RegimeBank()
    bank.restore(scheduler.dump()["library"])

    p = bank.estimate(bank.track(), Signals(criticality_hint=0.05, difficulty_hint=0.5, progress=0.5))

    assert p > 0.5


def test_a_saved_library_decides_identically() -> None:
    """1,000 decisions with learning in between, after a reversal, challengers alive."""
    scheduler = Scheduler(probe_rate=0.3)
    teach(scheduler, high, 130)
    teach(scheduler, low, 45, seed=1)
    copy = Scheduler.load(scheduler.dump())

    assert teach(copy, high, 1000, seed=2) == teach(scheduler, high, 1000, seed=2)
    assert copy.dump() == scheduler.dump()


@pytest.mark.parametrize("path", ["mu", "regimes", "rivals", "hazards", "belief", "deep", "reworks", "nextId"])
def test_a_damaged_library_is_refused_and_changes_nothing(path: str) -> None:
    bank = RegimeBank()
    before = bank.dump()

    with pytest.raises(StateError, match="damaged"):
        bank.restore({**before, path: "?"})

    assert bank.dump() == before


def test_other_rates_start_the_average_anew_and_keep_the_rules() -> None:
    scheduler = Scheduler()
    teach(scheduler, high, 160)
    bank = RegimeBank(Knobs(task_rates=[0.2], step_rates=[0.01]))

    bank.restore(scheduler.dump()["library"])

    assert bank.estimate(bank.track(), Signals(criticality_hint=0.95, difficulty_hint=0.5)) > 0.8


def test_a_library_with_quadratic_readouts_is_no_affine_one() -> None:
    with pytest.raises(StateError, match="read-outs"):
        RegimeBank(Knobs(quadratic=False)).restore(RegimeBank().dump())


def test_prototypes_are_readable() -> None:
    scheduler = Scheduler()
    teach(scheduler, high, 160)

    (prototype,) = scheduler.prototypes()

    assert prototype["rule"].startswith("critical when criticality_hint is high")
    assert {"id", "n", "confidence", "predErr", "situationCentroid", "readoutWeights", "sd", "posterior", "use"} <= set(
        prototype
    )
    assert prototype["n"] == 160
    assert prototype["situationCentroid"]["criticality_hint"] == pytest.approx(0.5, abs=0.05)


def mode_with_everything(stream: Stream, monkey: pytest.MonkeyPatch) -> list[bool]:
    monkey.setattr("scheduler.regime.UNLIKELY", -1.0)
    monkey.setattr("scheduler.regime.NEGLIGIBLE", -1e9)
    return run(Learner(make_policy("regime"), Costs()), stream).deep


def test_leaving_out_what_is_unlikely_hardly_ever_changes_a_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    same = total = 0
    for seed in range(1000, 1004):
        stream = ENVIRONMENTS["recurring"](seed)
        short = run(Learner(make_policy("regime"), Costs()), stream).deep
        with monkeypatch.context() as patch:
            long = mode_with_everything(stream, patch)
        same += sum(a == b for a, b in zip(short, long, strict=True))
        total += len(short)

    assert same / total >= 0.995
