"""How long a decision and a report take, beside a plain function call on the same machine."""

import platform
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

from scheduler import Outcome, Signals
from scheduler.registry import make_policy
from scheduler.session import Session

REPEATS = 1500


@dataclass(frozen=True, slots=True)
class Latency:
    """Medians in microseconds."""

    regimes: int
    challengers: int
    decide: float
    report: float


def measure(regimes: int) -> Latency:
    """Measure at a library of this many regimes, none improbable, both read-outs, four challengers alive."""
    # Rates of change of .4 keep every regime probable, so that nothing is left out of a decision.
    policy = make_policy("regime", max_regimes=regimes, tau=0.1, task_rates=(0.4,), step_rates=(0.4,))
    session = Session(policy)
    draw = random.Random(0)
    rules: list[Callable[[float, float], bool]] = [
        lambda c, d: c > 0.6,
        lambda c, d: c < 0.4,
        lambda c, d: d > 0.6,
        lambda c, d: d < 0.4,
        lambda c, d: c > d,
        lambda c, d: c < d,
    ]
    for i in range(600):
        _step(session, draw, rules[i // 40 % len(rules)])
    quiet = make_policy("regime", max_regimes=regimes, tau=20.0, flips=True, task_rates=(0.4,), step_rates=(0.4,))
    quiet.restore(policy.dump())
    session = Session(quiet)
    times = [_step(session, draw, rules[0]) for _ in range(REPEATS)]
    state: Any = quiet.dump()
    return Latency(
        regimes=quiet.n_prototypes,
        challengers=len(state["rivals"]["challengers"]),
        decide=median(decide for decide, _ in times) / 1000,
        report=median(report for _, report in times) / 1000,
    )


def plain_call() -> float:
    """Return the median time of a plain function call with one argument, in microseconds."""

    def identity(value: float) -> float:
        return value

    samples = []
    for _ in range(50):
        start = time.perf_counter_ns()
        for _ in range(1000):
            identity(0.5)
        samples.append((time.perf_counter_ns() - start) / 1000)
    return median(samples) / 1000


def machine() -> str:
    """Return what the numbers were measured on."""
    return f"{platform.machine()}, {platform.system()} {platform.release()}, Python {platform.python_version()}"


def _step(session: Session, draw: random.Random, rule: Callable[[float, float], bool]) -> tuple[int, int]:
    c, d = draw.random(), draw.random()
    signals = Signals(criticality_hint=c, difficulty_hint=d, progress=draw.random(), context_pollution=0.0)
    start = time.perf_counter_ns()
    decision = session.decide(signals)
    decided = time.perf_counter_ns()
    outcome: Outcome
    if decision.mode == "system2":
        outcome = "s2_probe_fail" if rule(c, d) else "s2_probe_pass"
    else:
        outcome = "s1_fail" if rule(c, d) else "s1_pass"
    before = time.perf_counter_ns()
    session.report(decision.decision_id, outcome)
    return decided - start, time.perf_counter_ns() - before
