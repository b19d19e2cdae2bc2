"""Run arms over environments and seeds, and keep one row of raw results per run."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from statistics import mean
from typing import TypeVar

from benchmarks.scheduler.arms import ARMS, learner
from benchmarks.scheduler.envs import ENVIRONMENTS
from benchmarks.scheduler.metrics import apgr, cpt, recovery_curve
from benchmarks.scheduler.run import Trace, run

WORKERS = 2
REVERSAL = 240
"""Step at which the rule of the streams derived from the published one reverses."""
WINDOW = 16
THRESHOLDS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 0.9)
"""Settings of the frontier."""

JobT = TypeVar("JobT")
ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class Row:
    """One arm on one stream. Costs and misses are by the truth, never by the reports."""

    family: str
    arm: str
    seed: int
    cost: float
    regret: float
    mishandled: int
    over_thinking: int
    apgr: float
    cpt50: float
    cpt80: float
    deep_at_end: float
    """Share of System 2 in the last quarter."""
    recovery: tuple[float, float]
    """Regret per step in the first 16 steps after step 240, and in the next 16."""


def row(family: str, arm: str, seed: int, trace: Trace) -> Row:
    """Reduce a trace to a row."""
    curve = recovery_curve(trace.estimate, trace.critical)
    last = trace.deep[len(trace.deep) * 3 // 4 :]
    return Row(
        family=family,
        arm=arm,
        seed=seed,
        cost=trace.cost,
        regret=trace.total_regret,
        mishandled=trace.mishandled,
        over_thinking=trace.over_thinking,
        apgr=apgr(curve),
        cpt50=cpt(curve, 0.5),
        cpt80=cpt(curve, 0.8),
        deep_at_end=sum(last) / len(last),
        recovery=(
            mean(trace.regret[REVERSAL : REVERSAL + WINDOW]),
            mean(trace.regret[REVERSAL + WINDOW : REVERSAL + 2 * WINDOW]),
        ),
    )


def rows(families: Iterable[str], arms: Sequence[str], seeds: Iterable[int]) -> list[Row]:
    """Run every arm on every family and seed; sorted by family, seed and arm as given."""
    jobs = [(family, seed, tuple(arms)) for family in families for seed in seeds]
    return [result for results in parallel(_run_arms, jobs) for result in results]


def _run_arms(job: tuple[str, int, tuple[str, ...]]) -> list[Row]:
    family, seed, arms = job
    stream = ENVIRONMENTS[family](seed)
    return [row(family, arm, seed, run(ARMS[arm](stream), stream)) for arm in arms]


def frontier(family: str, seeds: Sequence[int]) -> list[tuple[float, float]]:
    """Return (mean cost, mean misses) of the default policy for each threshold."""
    jobs = [(family, seed, threshold) for threshold in THRESHOLDS for seed in seeds]
    results = parallel(_run_threshold, jobs)
    n = len(seeds)
    points = []
    for i in range(len(THRESHOLDS)):
        part = results[i * n : (i + 1) * n]
        points.append((mean(cost for cost, _ in part), mean(misses for _, misses in part)))
    return points


def _run_threshold(job: tuple[str, int, float]) -> tuple[float, float]:
    family, seed, threshold = job
    stream = ENVIRONMENTS[family](seed)
    trace = run(learner("regime", threshold=threshold)(stream), stream)
    return trace.cost, float(trace.mishandled)


def silent_regrets(seeds: Sequence[int]) -> dict[str, float]:
    """Return mean regret on `silent` with the verifier's recall unknown, known, overstated, or put into the threshold."""
    results = parallel(_run_silent, list(seeds))
    return {name: mean(result[name] for result in results) for name in results[0]}


def _run_silent(seed: int) -> dict[str, float]:
    stream = ENVIRONMENTS["silent"](seed)
    arms = {
        "unknown": learner("regime"),
        "known (.6)": learner("regime", told={"recall": 0.6}),
        "told .8": learner("regime", told={"recall": 0.8}),
        "threshold x .6": learner("regime", threshold=0.8 * 0.6),
    }
    return {name: run(make(stream), stream).total_regret for name, make in arms.items()}


def parallel(job: Callable[[JobT], ResultT], jobs: Sequence[JobT]) -> list[ResultT]:
    """Return the results of independent jobs in their order, computed by a few processes."""
    with ProcessPoolExecutor(WORKERS) as pool:
        return list(pool.map(job, jobs, chunksize=2))
