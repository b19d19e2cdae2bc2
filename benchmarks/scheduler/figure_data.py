"""The numbers behind the figures, all computed in one run; `figures` draws them and nothing else.

Every function returns JSON-ready values. Costs are in units of one System 1 step, rates and accuracies in percent.
"""

from collections.abc import Mapping, Sequence
from statistics import mean, stdev
from typing import Any

from benchmarks.scheduler import budgeted, experiment
from benchmarks.scheduler.arms import ARMS, Learner
from benchmarks.scheduler.envs import ENVIRONMENTS
from benchmarks.scheduler.run import Trace, run
from benchmarks.scheduler.streams import Stream
from benchmarks.scheduler.targets import UNCAPTURED, Results, families
from scheduler.experience import Experience, TaskEnded
from scheduler.policy import Policy, Question
from scheduler.registry import make_policy
from scheduler.types import Decision

SHIFT, BATCH, STEPS = 30, 6, 8
"""On the published stream: task before which the rule reverses, tasks per batch of the learning curve, steps per task."""
MISS_TARGET = 0.2
FRONTIER_SEEDS = 12
FRONTIER_FAMILIES = ("seed51", "seed51_indep", "stationary", "recurring")

LABELS = {
    "always-s1": "always System 1",
    "always-s2": "always System 2",
    "bayes-filter": "Bayes filter (bound)",
    "oracle": "oracle",
    "static": "static rule",
    "router": "router",
    "router-online": "router, learning",
    "router-frozen": "router, frozen",
    "logistic-reset": "logistic with reset",
    "auction-bid": "auction, bid",
    "auction-threshold": "auction, threshold",
    "regime": "regime (default)",
}
"""How the figures call the arms."""
BARS = ("always-s2", "static", "auction-bid", "always-s1", "auction-threshold", "regime", "bayes-filter", "oracle")
CURVES = ("always-s1", "auction-bid", "auction-threshold", "logistic-reset", "regime", "bayes-filter")
POINTS = ("always-s1", "always-s2", "router", "auction-bid", "auction-threshold", "logistic-reset", "bayes-filter")
CAPTURES = ("router", "auction-bid", "auction-threshold", "logistic-reset", "regime")
SAME_LUCK = {
    "always-critical": "always-s2",
    "never-critical": "always-s1",
    "router-online": "router-online",
    "auction-bid": "auction-bid",
    "auction-threshold": "auction-threshold",
    "regime (threshold .5)": "regime",
    "bayes-filter": "bayes-filter",
}
"""Arms of the budgeted experiment where every arm meets the same luck -> arms here."""


class Watched:
    """A policy that works as it does, and whose decisions and shadow price are kept."""

    def __init__(self, policy: Policy[Any]) -> None:
        self._policy = policy
        self.decisions: list[Decision] = []
        self.mu_after_task: list[float] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._policy, name)

    def decide(self, track: Any, question: Question) -> Decision:
        """Decide, and keep the decision."""
        decision = self._policy.decide(track, question)
        self.decisions.append(decision)
        return decision

    def observe(self, track: Any, experience: Experience) -> None:
        """Learn; at the end of a task keep mu."""
        self._policy.observe(track, experience)
        if isinstance(experience, TaskEnded):
            self.mu_after_task.append(self._policy.mu)


def watch(arm: str, stream: Stream, **knobs: Any) -> tuple[Watched, Trace]:
    """Run `regime`, `auction-bid` or `auction-threshold` over a stream, watched."""
    policy, _, rule = arm.partition("-")
    watched = Watched(make_policy(policy, **({"decision": rule} if rule else {}), **knobs))
    told = {
        "own_pollution": rule == "bid" and not stream.tells_pollution,
        "escalation_counts": rule == "threshold",
    }
    return watched, run(Learner(watched, stream.costs, **told), stream)


def arm_bars(stream: Stream) -> list[dict[str, Any]]:
    """Return cost, misses and waste of every arm on one stream, dearest first as published."""
    traces = {arm: run(ARMS[arm](stream), stream) for arm in BARS}
    top = traces["always-s2"].cost
    return [
        {
            "arm": arm,
            "label": LABELS[arm],
            "cost": trace.cost,
            "savedPercent": round(100 * (1 - trace.cost / top), 1),
            "mishandled": trace.mishandled,
            "overThinking": trace.over_thinking,
        }
        for arm, trace in traces.items()
    ]


def learning_curve(streams: Sequence[Stream]) -> dict[str, Any]:
    """Return the share of critical steps left to System 1 per batch of tasks: mean and sd over the streams."""
    series = []
    for arm in CURVES:
        runs = [_batch_rates(run(ARMS[arm](stream), stream)) for stream in streams]
        batches = list(zip(*runs, strict=True))
        series.append(
            {
                "arm": arm,
                "label": LABELS[arm],
                "mean": [round(mean(rates), 2) for rates in batches],
                "sd": [round(stdev(rates), 2) if len(rates) > 1 else 0.0 for rates in batches],
            }
        )
    return {"tasksPerBatch": BATCH, "shiftAfterTask": SHIFT, "streams": len(streams), "series": series}


def _batch_rates(trace: Trace) -> list[float]:
    size, rates = BATCH * STEPS, []
    for start in range(0, len(trace.critical), size):
        critical = trace.critical[start : start + size]
        missed = [c and not d for c, d in zip(critical, trace.deep[start : start + size], strict=True)]
        rates.append(100 * sum(missed) / max(1, sum(critical)))
    return rates


def mu_trace(stream: Stream) -> dict[str, Any]:
    """Return the price of System 1 failures after every task."""
    runs = {
        "auction-bid": (LABELS["auction-bid"], watch("auction-bid", stream)),
        "auction-threshold": (LABELS["auction-threshold"], watch("auction-threshold", stream)),
        "regime": (LABELS["regime"], watch("regime", stream)),
        "regime-target": (
            f"regime, at most {100 * MISS_TARGET:.0f} % of tasks missed",
            watch("regime", stream, miss_target=MISS_TARGET),
        ),
    }
    return {
        "shiftAfterTask": SHIFT,
        "series": [
            {"arm": arm, "label": label, "mu": [round(mu, 4) for mu in watched.mu_after_task]}
            for arm, (label, (watched, _)) in runs.items()
        ],
    }


def bidding_scatter(published: Stream, polluted: Stream) -> list[dict[str, Any]]:
    """Return gain and price of System 2 at every step: the auction where it was published, the regime policy on pollution.

    A point is [price, gain, 1 if System 2 was used, 1 if the step was critical].
    """
    panels = []
    for arm, stream in (("auction-bid", published), ("regime", polluted)):
        watched, trace = watch(arm, stream)
        points = [
            [round(decision.eco_cost, 3), round(decision.rob_gain, 3), int(deep), int(critical)]
            for decision, deep, critical in zip(watched.decisions, trace.deep, trace.critical, strict=True)
        ]
        panels.append({"arm": arm, "label": LABELS[arm], "stream": stream.family, "points": points})
    return panels


def shift_bars(seeds: Sequence[int]) -> list[dict[str, Any]]:
    """Return the accuracy after the mid-task flip, per arm; static and frozen router only ran with the published luck."""
    same = experiment.parallel(budgeted.paired, seeds)
    published = experiment.parallel(budgeted.published, seeds)
    values = {arm: [result[name] for result in same] for name, arm in SAME_LUCK.items()}
    values |= {arm: [result[arm] for result in published] for arm in ("static", "router-frozen")}
    bars = [
        {
            "arm": arm,
            "label": "regime, threshold .5" if arm == "regime" else LABELS[arm],
            "mean": round(mean(each), 2),
            "sd": round(stdev(each), 2) if len(each) > 1 else 0.0,
            "seeds": len(each),
            "luck": "published" if arm in ("static", "router-frozen") else "same",
        }
        for arm, each in values.items()
    ]
    return sorted(bars, key=lambda bar: float(bar["mean"]))


def frontier(results: Results, seeds: Sequence[int]) -> list[dict[str, Any]]:
    """Return (mean cost, mean misses) of the default policy over thresholds, and of its rivals at their own settings."""
    few = list(seeds)[:FRONTIER_SEEDS]
    panels = []
    for family in FRONTIER_FAMILIES:
        curve = experiment.frontier(family, few)
        points = []
        for arm in POINTS:
            rows = results.of(family, arm)[: len(few)]
            cost, misses = mean(row.cost for row in rows), mean(row.mishandled for row in rows)
            points.append({"arm": arm, "label": LABELS[arm], "cost": round(cost, 1), "mishandled": round(misses, 2)})
        panels.append(
            {
                "family": family,
                "arm": "regime",
                "label": LABELS["regime"],
                "seeds": len(few),
                "thresholds": list(experiment.THRESHOLDS),
                "curve": [[round(cost, 1), round(misses, 2)] for cost, misses in curve],
                "rivals": points,
            }
        )
    return panels


def captures(results: Results) -> dict[str, Any]:
    """Return the share of the possible gain over the best trivial arm, per environment and arm, in percent."""
    shown = [family for family in results.families if family not in UNCAPTURED]
    return {
        "families": shown,
        "zero": "better of always System 1 and always System 2",
        "hundred": LABELS["bayes-filter"],
        "series": [
            {
                "arm": arm,
                "label": LABELS[arm],
                "percent": [round(100 * results.capture(family, arm), 1) for family in shown],
                "medianPercent": round(100 * results.median_capture(arm), 1),
            }
            for arm in CAPTURES
        ],
    }


def collect(seeds: Sequence[int]) -> Mapping[str, Any]:
    """Compute everything; minutes for 30 seeds."""
    seed51 = ENVIRONMENTS["seed51"]
    arms = list(dict.fromkeys([*POINTS, *CAPTURES]))
    results = Results(experiment.rows(families(), arms, seeds))
    first = seed51(0)
    return {
        "meta": {
            "writtenBy": "booster-bench figures",
            "seeds": len(seeds),
            "stream": "seed51, seed 0, unless a figure says otherwise",
            "tasks": len(first.tasks),
            "stepsPerTask": STEPS,
            "costs": first.costs.as_dict(),
            "units": {
                "cost": "System 1 steps",
                "rates": "%",
                "mu": "1",
                "gain and price": "auction: bids; regime: System 1 steps",
            },
        },
        "armBars": arm_bars(first),
        "learningCurve": learning_curve([seed51(seed) for seed in seeds]),
        "muTrace": mu_trace(first),
        "biddingScatter": bidding_scatter(first, ENVIRONMENTS["pollution"](0)),
        "shiftBars": shift_bars(seeds),
        "frontier": frontier(results, seeds),
        "capture": captures(results),
    }
