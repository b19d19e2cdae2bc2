"""Table `latency`: what a decision costs, on this machine."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from time import perf_counter

from benchmarks.statistics import median, percentile
from benchmarks.table import Bar, Figure, Section, machine
from booster.cascade import Quote, decide, plan, prices
from booster.cascade_state import CascadeState
from verifier.behaviour import best_behaviour
from verifier.calibration import Calibration
from verifier.combine import Group, combine
from verifier.consensus import enough, next_wave
from verifier.tuned import CAP, KMAX_ONE_MODEL

PROGRAMS, CHECKS = 100, 150
REPEATS = 200


def latency_tables(data: Path, seeds: int) -> list[Section]:
    """Return one section; it needs no recorded data."""
    state = CascadeState()
    price = prices(Quote(tokens=500), Quote(tokens=2000))
    calibration = Calibration()
    generator = Random(0)
    passed = [frozenset(t for t in range(CHECKS) if generator.random() < 0.5) for _ in range(PROGRAMS)]
    sizes = [1] * PROGRAMS
    groups = [Group(votes=votes, opinions={"judge": 0.1 * votes}) for votes in range(1, 6)]
    rows = (
        ("enough", partial(enough, 5, 2, 7, CAP), 50.0, 1000),
        ("plan", partial(plan, state.p, state.r, state.g, 60.0, 1.0, 20.0, KMAX_ONE_MODEL), 50.0, 100),
        ("decide", partial(decide, ["a", "a"], state, price), None, 100),
        ("next_wave", partial(next_wave, 0, 0, 0, CAP, CAP), None, 100),
        ("Calibration.learn", partial(calibration.learn, 3, 3, True), None, 100),
        ("combine, 5 groups", partial(combine, groups, {"judge": 0.35}), None, 100),
    )
    table, figures = [], []
    for name, call, bar, batch in rows:
        times = [_microseconds(call, batch) for _ in range(REPEATS)]
        table.append((name, f"{median(times):.1f} µs", f"{percentile(times, 0.95):.1f} µs"))
        if bar is not None:
            figures.append(_figure(name, median(times), "µs", bar))
    slow = [_microseconds(partial(best_behaviour, sizes, passed), 1) / 1000 for _ in range(10)]
    name = f"best_behaviour, {PROGRAMS} programs that all differ x {CHECKS} checks"
    table.append((name, f"{median(slow):.1f} ms", f"{percentile(slow, 0.95):.1f} ms"))
    figures.append(_figure(name, median(slow), "ms", 50.0))
    return [Section(title=f"latency: {machine()}", header=("decision", "median", "95 %"), rows=table, figures=figures)]


def _figure(name: str, value: float, unit: str, bar: float) -> Figure:
    return Figure(name=f"latency: {name}", value=value, unit=unit, bar=Bar(relation="<", value=bar))


def _microseconds(call: Callable[[], object], batch: int) -> float:
    started = perf_counter()
    for _ in range(batch):
        call()
    return (perf_counter() - started) / batch * 1e6
