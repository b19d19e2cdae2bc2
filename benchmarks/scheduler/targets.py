"""What must hold, measured and held against its limit."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import mean, median

from benchmarks.scheduler import budgeted, experiment
from benchmarks.scheduler.envs import ENVIRONMENTS, stationary
from benchmarks.scheduler.experiment import Row
from benchmarks.scheduler.load import MEMORY_LIMIT_MB, P99_LIMIT_MS, SESSIONS, Load
from benchmarks.scheduler.metrics import capture, cheapest_at, sign_test
from benchmarks.scheduler.run import run

CEILINGS = {
    "seed51": 61,
    "seed51_indep": 90,
    "seed53_free": 452,
    "stationary": 86,
    "nonlinear": 155,
    "drift": 107,
    "recurring": 200,
    "recurring3": 151,
    "domains": 150,
    "noisy": 153,
    "delayed": 123,
    "adversarial": 108,
    "pollution": 188,
    "rare": 503,
    "rare_partial": 572,
    "partial_s1": 93,
    "partial_s2fail": 139,
    "silent": 181,
    "selfreport": 106,
}
"""Mean regret of the default policy over 30 seeds, at most."""
UNCAPTURED = ("nosignal", "pollution")
"""Families without a meaningful capture: nothing to gain, or a Bayes filter that cannot plan its pollution."""
NOSIGNAL_LOSS = 10.0
PUBLISHED_COST, ACCURACY, CAPTURE = 1390, 76.0, 0.80
MISHANDLED = (
    ("seed51", "auction-bid", 4),
    ("seed51", "auction-threshold", 12),
    ("seed51_indep", "auction-bid", 5),
    ("stationary", "auction-bid", 8),
    ("recurring", "auction-bid", 18),
)
APGR = {"seed51": 0.758, "seed53_free": 0.755}
RECOVERY = (0.45, 0.30)
SILENT_GAIN = 0.10
LOCKED_IN = 0.95
FALSE_PROMOTIONS, FALSE_PROMOTION_STREAMS = 0.10, 300
SIGNIFICANT = 0.05


@dataclass(frozen=True, slots=True)
class Target:
    """One line of the list."""

    name: str
    measured: str
    wanted: str
    met: bool


def at_most(name: str, value: float, limit: float, *, digits: int = 1) -> Target:
    """Return a target with an upper limit."""
    return Target(name, f"{value:.{digits}f}", f"<= {limit:.{digits}f}", value <= limit)


def at_least(name: str, value: float, limit: float, *, digits: int = 1) -> Target:
    """Return a target with a lower limit."""
    return Target(name, f"{value:.{digits}f}", f">= {limit:.{digits}f}", value >= limit)


class Results:
    """Rows by family and arm."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows: dict[tuple[str, str], list[Row]] = {}
        for row in rows:
            self._rows.setdefault((row.family, row.arm), []).append(row)
        self.families = list(dict.fromkeys(family for family, _ in self._rows))
        self.arms = list(dict.fromkeys(arm for _, arm in self._rows))

    def of(self, family: str, arm: str) -> list[Row]:
        """Return the rows of one arm on one family, by seed."""
        return self._rows[family, arm]

    def values(self, family: str, arm: str, read: Callable[[Row], float] = lambda row: row.regret) -> list[float]:
        """Return one number per seed; the regret unless told otherwise."""
        return [read(row) for row in self.of(family, arm)]

    def mean(self, family: str, arm: str, read: Callable[[Row], float] = lambda row: row.regret) -> float:
        """Return the mean over seeds."""
        return mean(self.values(family, arm, read))

    def capture(self, family: str, arm: str) -> float:
        """Return the share of the gain over the best trivial arm that the Bayes filter would have."""
        trivial = min(self.mean(family, "always-s1"), self.mean(family, "always-s2"))
        return capture(trivial, self.mean(family, arm), self.mean(family, "bayes-filter"))

    def median_capture(self, arm: str) -> float:
        """Return the median capture over all families where it means something."""
        return median(self.capture(family, arm) for family in self.families if family not in UNCAPTURED)


def from_rows(results: Results) -> list[Target]:
    """Check what follows from the main experiment."""
    targets = [
        at_most("published stream: cost", results.of("seed51", "regime")[0].cost, PUBLISHED_COST, digits=0),
        at_least("median capture, %", 100 * results.median_capture("regime"), 100 * CAPTURE),
    ]
    targets += [
        at_most(f"regret on {family}", results.mean(family, "regime"), ceiling) for family, ceiling in CEILINGS.items()
    ]
    targets += [_beats(results, rival) for rival in ("auction-bid", "router", "always-s1")]
    loss = results.mean("nosignal", "regime") - results.mean("nosignal", "always-s1")
    targets.append(at_most("loss to always-System-1 on nosignal", loss, NOSIGNAL_LOSS))
    targets += [
        at_least(f"APGR on {family}", results.mean(family, "regime", lambda row: row.apgr), limit, digits=3)
        for family, limit in APGR.items()
    ]
    targets += [
        at_most(
            f"regret per step, {label} 16 steps after the reversal",
            mean(row.recovery[i] for row in results.of("seed51_indep", "regime")[:20]),
            limit,
            digits=2,
        )
        for i, (label, limit) in enumerate(zip(("first", "next"), RECOVERY, strict=True))
    ]
    targets += [
        Target(
            f"share of System 2 at the end of {family}, worst seed",
            f"{(worst := max(results.values(family, 'regime', lambda row: row.deep_at_end))):.2f}",
            f"< {LOCKED_IN}",
            worst < LOCKED_IN,
        )
        for family in ("rare_partial", "partial_s1")
    ]
    return targets


def _beats(results: Results, rival: str) -> Target:
    """Check that the default policy has less regret than a rival in every family, by a sign test over seeds."""
    lost = []
    for family in results.families:
        if family == "nosignal" and rival != "auction-bid":
            continue
        pairs = list(zip(results.values(family, "regime"), results.values(family, rival), strict=True))
        wins, losses = sum(a < b for a, b in pairs), sum(a > b for a, b in pairs)
        if sign_test(wins, losses) >= SIGNIFICANT:
            lost.append(f"{family} ({wins}:{losses})")
    return Target(
        f"beats {rival} (sign test)", "everywhere" if not lost else "not on " + ", ".join(lost), "everywhere", not lost
    )


def separately_run(results: Results, seeds: Sequence[int]) -> list[Target]:
    """Check what needs runs of its own: seed53 with its budget, the frontier, known recall, false promotions."""
    accuracies = [result["regime (threshold .5)"] for result in experiment.parallel(budgeted.paired, list(seeds))]
    targets = [at_least("accuracy after the flip with a budget, %", mean(accuracies), ACCURACY)]
    few = list(seeds)[:12]
    curves = {family: experiment.frontier(family, few) for family in dict.fromkeys(name for name, _, _ in MISHANDLED)}
    for family, rival, limit in MISHANDLED:
        rows = results.of(family, rival)[: len(few)]
        cost, misses = mean(row.cost for row in rows), mean(row.mishandled for row in rows)
        value = cheapest_at(curves[family], cost)
        targets.append(at_most(f"mishandled on {family} at the cost of {rival} (which has {misses:.0f})", value, limit))
    silent = experiment.silent_regrets(list(seeds)[:20])
    gain = 1 - silent["known (.6)"] / silent["unknown"]
    told = ", ".join(f"{name} {value:.0f}" for name, value in silent.items())
    targets.append(at_least(f"gain on silent from a known recall, % ({told})", 100 * gain, 100 * SILENT_GAIN))
    promoted = experiment.parallel(promotes, [3000 + i for i in range(FALSE_PROMOTION_STREAMS)])
    targets.append(at_most("stationary streams with any promotion, %", 100 * mean(promoted), 100 * FALSE_PROMOTIONS))
    return targets


def from_load(load: Load) -> list[Target]:
    """Check a decision through the protocol, and the memory of many sessions."""
    return [
        at_most("decide_step through an in-process MCP session, p99 in ms", load.p99_ms, P99_LIMIT_MS),
        at_most(f"memory of {SESSIONS} sessions, MB", load.memory_mb, MEMORY_LIMIT_MB),
    ]


def promotes(seed: int) -> bool:
    """Return whether a stationary stream makes the default policy found a second regime."""
    from benchmarks.scheduler.arms import Learner
    from scheduler.registry import make_policy

    stream = stationary(seed)
    arm = Learner(make_policy("regime"), stream.costs)
    run(arm, stream)
    return arm.session.policy.n_prototypes > 1


def families() -> list[str]:
    """Return all environments, those with a ceiling first."""
    return [*CEILINGS, *(name for name in ENVIRONMENTS if name not in CEILINGS)]
