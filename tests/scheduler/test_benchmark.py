"""The benchmark measures what it says it measures."""

import math
import random
import statistics
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.scheduler import budgeted, questions
from benchmarks.scheduler.arms import ARMS, BayesFilter, Informed, learner
from benchmarks.scheduler.compare import compare
from benchmarks.scheduler.envs import ENVIRONMENTS
from benchmarks.scheduler.hashes import STREAM_HASHES, fingerprint
from benchmarks.scheduler.metrics import apgr, capture, cheapest_at, cpt, paired, recovery_curve, sign_test
from benchmarks.scheduler.report import REQUIRED, table
from benchmarks.scheduler.run import TELLERS, Trace, run
from benchmarks.scheduler.streams import Stream
from scheduler import Costs


@pytest.mark.parametrize("family", ENVIRONMENTS)
def test_the_streams_are_the_ones_the_results_were_measured_on(family: str) -> None:
    assert fingerprint(ENVIRONMENTS[family](0)) == STREAM_HASHES[family]


@pytest.mark.parametrize("family", ENVIRONMENTS)
def test_a_stream_depends_on_family_and_seed_only(family: str) -> None:
    one, again, other = (fingerprint(ENVIRONMENTS[family](seed)) for seed in (5, 5, 6))

    assert one == again != other


@pytest.mark.parametrize(
    ("family", "share"), [("nosignal", 0.4), ("rare", 0.065), ("seed51", 0.44), ("adversarial", 0.45)]
)
def test_the_share_of_critical_steps_is_as_described(family: str, share: float) -> None:
    steps = [step.critical for seed in range(20) for step in ENVIRONMENTS[family](seed).steps()]

    assert statistics.mean(steps) == pytest.approx(share, abs=0.02)


@pytest.mark.parametrize("family", ["seed51", "seed51_indep", "seed53_free", "drift", "recurring3", "domains", "rare"])
def test_the_rules_of_a_stream_are_calibrated(family: str) -> None:
    """What the Bayes bounds believe comes true as often as they believe it."""
    believed: list[float] = []
    came_true: list[bool] = []
    for seed in range(8):
        stream = ENVIRONMENTS[family](seed)
        for number, task in enumerate(stream.tasks):
            for step in task:
                p = stream.rules[step.regime](number, step.signals)
                if 0.2 < p < 0.8:
                    believed.append(p)
                    came_true.append(step.critical)

    assert statistics.mean(believed) == pytest.approx(statistics.mean(came_true), abs=0.06)


@given(
    steps=st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), min_size=1, max_size=50),
    damage=st.floats(0, 30),
)
def test_cost_is_the_oracles_plus_misses_plus_waste_plus_rework(
    steps: list[tuple[bool, bool, bool]], damage: float
) -> None:
    costs, trace = Costs(cheap=1, deep=5, damage=damage), Trace()
    for deep, critical, rework in steps:
        trace.add(costs, deep=deep, critical=critical, rework=rework and deep and critical, estimate=0.5)

    reworks = sum(deep and critical and rework for deep, critical, rework in steps)
    regret = (1 + damage) * trace.mishandled + 4 * trace.over_thinking + 5 * reworks
    oracle = sum(5 if critical else 1 for _, critical, _ in steps)
    assert trace.total_regret == pytest.approx(regret)
    assert trace.cost == pytest.approx(oracle + regret)


def test_the_bayes_filter_costs_1368_on_the_published_stream_and_knowing_the_regime_1363() -> None:
    stream = ENVIRONMENTS["seed51"](0)

    filtered, informed = run(BayesFilter(stream), stream), run(Informed(stream), stream)

    assert (filtered.cost, filtered.mishandled, filtered.over_thinking) == (1368, 44, 1)
    assert (informed.cost, informed.mishandled, informed.over_thinking) == (1363, 43, 0)


@pytest.mark.parametrize("arm", ARMS)
def test_every_arm_runs_every_environment(arm: str) -> None:
    for family in ENVIRONMENTS:
        stream = shortened(family)
        trace = run(ARMS[arm](stream), stream)

        assert len(trace.deep) == sum(map(len, stream.tasks)), family


@cache
def shortened(family: str) -> Stream:
    """Return the first two tasks of a stream."""
    stream = ENVIRONMENTS[family](1000)
    return replace(stream, tasks=stream.tasks[:2])


@pytest.mark.parametrize("labels", TELLERS)
def test_no_report_says_more_than_its_labels_allow(labels: str) -> None:
    stream = ENVIRONMENTS["seed51_indep"](0)

    told = {TELLERS[labels](step, deep, False).outcome for step in stream.steps() for deep in (False, True)}

    allowed = {
        "full": {"s1_fail", "s1_pass", "s2_probe_fail", "s2_probe_pass"},
        "delayed": {"s1_fail", "s1_pass", "s2_probe_fail", "s2_probe_pass"},
        "noisy": {"s1_fail", "s1_pass", "s2_probe_fail", "s2_probe_pass"},
        "partial_s1": {"s1_fail", "s1_pass", "s2_done"},
        "partial_s2fail": {"s1_fail", "s1_unchecked", "s2_probe_fail", "s2_probe_pass"},
        "silent": {"s1_fail", "s1_pass", "s2_done"},
        "selfreport": {"s1_fail", "s1_pass", None},
    }
    assert told == allowed[labels]


def test_a_random_ranking_recovers_half() -> None:
    draw = random.Random(0)
    critical = [draw.random() < 0.4 for _ in range(20_000)]

    curve = recovery_curve([draw.random() for _ in critical], critical)

    assert apgr(curve) == pytest.approx(0.5, abs=0.01)
    assert cpt(curve, 0.5) == pytest.approx(0.5, abs=0.01)
    assert cpt(curve, 0.8) == pytest.approx(0.8, abs=0.01)


def test_a_constant_ranking_recovers_half_and_a_perfect_one_all_at_once() -> None:
    """One quarter critical: a perfect ranking has area 1 - .25 / 2."""
    critical = [True, False, False, False] * 5

    constant = recovery_curve([0.3] * 20, critical)
    perfect = recovery_curve([float(c) for c in critical], critical)

    assert apgr(constant) == pytest.approx(0.5)
    assert cpt(constant, 0.8) == pytest.approx(0.8)
    assert apgr(perfect) == pytest.approx(0.875)
    assert cpt(perfect, 0.8) == pytest.approx(0.2)


def test_capture_is_0_for_the_trivial_arm_and_1_for_the_bayes_filter() -> None:
    assert [capture(200, regret, 50) for regret in (200, 50, 125)] == [0.0, 1.0, 0.5]


def test_paired_statistics_by_hand() -> None:
    """Differences -1, -2, -3: mean -2, sd 1, t = -2 sqrt(3); p from a table of Student's t with 2 degrees: .0742."""
    result = paired([1, 2, 3], [2, 4, 6])

    assert (result.mean, result.sd, result.wins, result.n) == (-2, 1, 3, 3)
    assert result.t == pytest.approx(-2 * math.sqrt(3))
    assert result.p == pytest.approx(0.0742, abs=1e-4)


def test_the_sign_test_by_hand() -> None:
    assert sign_test(3, 0) == 0.125
    assert sign_test(2, 1) == 0.5


def test_misses_at_a_cost_are_read_off_the_lower_hull() -> None:
    points = [(10.0, 8.0), (12.0, 7.9), (14.0, 4.0), (20.0, 1.0), (21.0, 3.0)]

    assert [cheapest_at(points, cost) for cost in (9.0, 10.0, 12.0, 17.0, 30.0)] == [math.inf, 8.0, 6.0, 2.5, 1.0]


@pytest.mark.parametrize("missing", REQUIRED)
def test_no_comparison_is_shown_without_the_trivial_arms_and_the_bounds(missing: str) -> None:
    with pytest.raises(ValueError, match=missing):
        table(["arm"], [], arms=[arm for arm in REQUIRED if arm != missing])


def test_the_published_accuracies_are_reproduced_to_the_printed_digit() -> None:
    """Mean and sample sd over 30 seeds, and the paired statistics with the right p-value."""
    results = [budgeted.published(seed) for seed in range(30)]

    def printed(arm: str) -> tuple[float, float]:
        values = [result[arm] for result in results]
        return round(statistics.mean(values), 1), round(statistics.stdev(values), 1)

    assert printed("static") == (52.4, 5.1)
    assert printed("router-frozen") == (55.6, 9.0)
    assert printed("router-online") == (57.3, 3.4)
    assert printed("auction-threshold") == (62.5, 2.6)
    assert printed("auction-bid") == (59.7, 3.2)
    versus = paired([r["auction-threshold"] for r in results], [r["router-online"] for r in results])
    assert (round(versus.mean, 1), round(versus.effect, 2), round(versus.t, 2)) == (5.2, 1.43, 7.84)
    assert f"{versus.p:.1e}" == "1.2e-08"
    assert versus.wins == 2


def test_the_published_batches_of_the_auction_are_reproduced() -> None:
    assert questions.smarter("auction").numbers == "476 448 438 452 / 566 517"


@pytest.mark.parametrize("name", ["regime", "auction"])
def test_the_three_questions_are_answered_with_yes(name: str) -> None:
    assert all(answer.passed for answer in questions.answers([name]))


@pytest.mark.parametrize(("target", "reference"), [(0.7, 0.70), (0.5, 0.51), (0.3, 0.34), (0.1, 0.19)])
def test_the_shadow_price_meets_a_target_for_tasks_with_misses(target: float, reference: float) -> None:
    shares = []
    for seed in range(6):
        stream = ENVIRONMENTS["recurring"](seed)
        trace = run(learner("regime", miss_target=target)(stream), stream)
        missed = [c and not d for c, d in zip(trace.critical, trace.deep, strict=True)]
        shares.append(statistics.mean(any(missed[i : i + 8]) for i in range(0, len(missed), 8)))

    assert statistics.mean(shares) == pytest.approx(reference, abs=0.03)


async def test_the_published_comparison_comes_out_exactly_over_the_protocol() -> None:
    assert all(row.exact for row in await compare())
