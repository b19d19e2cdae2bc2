"""Run one arm over one stream and keep every step: what was chosen, what it cost by the truth, what the arm was told."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

from benchmarks.scheduler.streams import Step, Stream
from scheduler import Costs, Outcome

POLLUTION_DEEP, POLLUTION_CHEAP = 0.12, 0.03
"""What a step with System 2 (escalation included) and one without add to the environment's pollution, up to 1."""
ASTRAY = 0.6
"""Pollution from which System 2 may have to be redone."""
DELAY, LOST = 16, 0.3
"""`delayed`: steps until a report arrives, and the share that never does."""
FLIPPED, SEEN = 0.15, 0.6
"""`noisy`: share of wrong labels. `silent`: share of System 1 failures that are noticed."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a caller reports of one step."""

    outcome: Outcome | None
    observed: float | None = None
    """The caller's own score; beside a verified outcome only the auction heeds it, as it was published."""
    rework: bool = False
    failed: bool = False
    """The step was seen to fail under System 1 and was escalated."""


class Arm(Protocol):
    """Whatever is compared."""

    def new_task(self) -> None:
        """Begin a task."""
        ...

    def choose(self, step: Step, pollution: float) -> tuple[bool, float, str]:
        """Return whether System 2 is used, the estimated probability of failure, and a handle for the report."""
        ...

    def learn(self, handle: str, deep: bool, told: Told) -> None:
        """Take a report."""
        ...

    def end_task(self, success: bool) -> None:
        """End the task."""
        ...


@dataclass(slots=True)
class Trace:
    """One run, step by step."""

    deep: list[bool] = field(default_factory=list)
    critical: list[bool] = field(default_factory=list)
    estimate: list[float] = field(default_factory=list)
    regret: list[float] = field(default_factory=list)
    """Cost above the oracle's, which uses System 2 exactly on critical steps and never has to redo one."""
    cost: float = 0.0

    @property
    def total_regret(self) -> float:
        """Sum over all steps."""
        return sum(self.regret)

    @property
    def mishandled(self) -> int:
        """Critical steps left to System 1."""
        return sum(critical and not deep for deep, critical in zip(self.deep, self.critical, strict=True))

    @property
    def over_thinking(self) -> int:
        """System 2 on steps that were not critical."""
        return sum(deep and not critical for deep, critical in zip(self.deep, self.critical, strict=True))

    def add(self, costs: Costs, *, deep: bool, critical: bool, rework: bool, estimate: float) -> None:
        """Account one step by the truth."""
        spent = costs.deep * (1 + rework) if deep else costs.cheap + critical * costs.failure
        self.cost += spent
        self.regret.append(spent - (costs.deep if critical else costs.cheap))
        self.deep.append(deep)
        self.critical.append(critical)
        self.estimate.append(estimate)


def run(arm: Arm, stream: Stream) -> Trace:
    """Run an arm over a stream."""
    trace = Trace()
    report = TELLERS[stream.labels]
    waiting: list[tuple[int, str, bool, Told]] = []
    clock = 0
    for task in stream.tasks:
        arm.new_task()
        pollution, success = 0.0, True
        for step in task:
            deep, estimate, handle = arm.choose(step, pollution)
            rework = stream.reworks and deep and step.critical and step.luck < max(0.0, pollution - ASTRAY)
            trace.add(stream.costs, deep=deep, critical=step.critical, rework=rework, estimate=estimate)
            failed = step.critical and not deep
            success &= not failed
            pollution = min(1.0, pollution + (POLLUTION_DEEP if deep or failed else POLLUTION_CHEAP))
            told = report(step, deep, rework)
            if stream.labels != "delayed":
                arm.learn(handle, deep, told)
            elif step.luck >= LOST:
                waiting.append((clock + DELAY, handle, deep, told))
            while waiting and waiting[0][0] <= clock:
                arm.learn(*waiting.pop(0)[1:])
            clock += 1
        arm.end_task(success)
    return trace


def _truth(step: Step, deep: bool, rework: bool = False) -> Told:
    """A verified System 1 step, or a System 2 step with a probe beside it."""
    if deep:
        return Told("s2_probe_fail" if step.critical else "s2_probe_pass", observed=step.value, rework=rework)
    return Told("s1_fail" if step.critical else "s1_pass", observed=step.value, failed=step.critical)


def _full(step: Step, deep: bool, rework: bool) -> Told:
    return _truth(step, deep, rework)


def _noisy(step: Step, deep: bool, rework: bool) -> Told:
    wrong = step.luck < FLIPPED
    return _truth(replace(step, critical=not step.critical, value=1 - step.value) if wrong else step, deep)


def _partial_s1(step: Step, deep: bool, rework: bool) -> Told:
    return Told("s2_done") if deep else _truth(step, deep)


def _partial_s2fail(step: Step, deep: bool, rework: bool) -> Told:
    return _truth(step, deep) if deep or step.critical else Told("s1_unchecked")


def _silent(step: Step, deep: bool, rework: bool) -> Told:
    if deep:
        return Told("s2_done")
    seen = not step.critical or step.luck < SEEN
    return _truth(step, deep) if seen else Told("s1_pass")


def _selfreport(step: Step, deep: bool, rework: bool) -> Told:
    return Told(None, observed=1.0) if deep else _truth(step, deep)


TELLERS: dict[str, Callable[[Step, bool, bool], Told]] = {
    "full": _full,
    "delayed": _full,
    "noisy": _noisy,
    "partial_s1": _partial_s1,
    "partial_s2fail": _partial_s2fail,
    "silent": _silent,
    "selfreport": _selfreport,
}
"""Who says what, by the name of the labels."""
