"""The published stream (seed text, section 5.1) and its cost table.

60 tasks of 8 steps; both hints show the same h. In the first 30 tasks a step is critical when h is high, in the last 30
when h is low. Cheap costs 1, deep 5; a critical step left to System 1 is redone by System 2, so it costs 1 + 5.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from benchmarks.scheduler.rng import Mulberry32
from scheduler import Costs, Scheduler, Signals

PUBLISHED_SEED = 20260607
TASKS, STEPS, SHIFT = 60, 8, 30
CUT = 0.55
CHEAP, DEEP = 1, 5
POLLUTION_DEEP, POLLUTION_CHEAP = 0.12, 0.03


@dataclass(frozen=True, slots=True)
class PublishedStep:
    """One step: what the scheduler sees, and the truth."""

    hint: float
    progress: float
    criticality: float
    critical: bool


@dataclass(slots=True)
class Row:
    """One line of the published table."""

    cost: int = 0
    mishandled: int = 0
    """Critical steps left to System 1."""
    over_thinking: int = 0
    """System 2 on steps that were not critical."""
    shift_flags: list[tuple[int, bool]] = field(default_factory=list)
    """(task, flag) of every step."""
    mu_trace: list[float] = field(default_factory=list)
    """mu after every task."""

    def add(self, *, deep: bool, critical: bool) -> bool:
        """Account one step; return whether it was mishandled."""
        self.cost += DEEP if deep else CHEAP + DEEP * critical
        self.mishandled += critical and not deep
        self.over_thinking += deep and not critical
        return critical and not deep


def round3(value: float) -> float:
    """Round half up to 3 decimals, as the published code does."""
    return math.floor(value * 1000 + 0.5) / 1000


def published_stream(k: int = 0) -> list[list[PublishedStep]]:
    """Return the tasks of replication k; k = 0 is the published one."""
    draw = Mulberry32(PUBLISHED_SEED + k)
    return [[_step(draw, task, i) for i in range(STEPS)] for task in range(TASKS)]


def _step(draw: Mulberry32, task: int, i: int) -> PublishedStep:
    hint, noise = draw(), draw()
    base = hint if task < SHIFT else 1 - hint
    criticality = round3(max(0.0, min(1.0, base + 0.25 * (noise - 0.5))))
    return PublishedStep(round3(hint), round3(i / STEPS), criticality, criticality > CUT)


def run_rule(tasks: list[list[PublishedStep]], rule: Callable[[int, PublishedStep], bool]) -> Row:
    """Account a rule (task, step) -> System 2 that learns nothing."""
    row = Row()
    for number, task in enumerate(tasks):
        for step in task:
            row.add(deep=rule(number, step), critical=step.critical)
    return row


def run_auction_bid(tasks: list[list[PublishedStep]]) -> Row:
    """Run policy auction, rule bid: own estimate of pollution, label = true criticality."""
    scheduler = Scheduler(policy="auction", costs=Costs(), decision="bid")
    row = Row()
    for number, task in enumerate(tasks):
        scheduler.new_task()
        missed = False
        for step in task:
            decision = scheduler.decide(
                Signals(criticality_hint=step.hint, difficulty_hint=step.hint, progress=step.progress)
            )
            deep = decision.mode == "system2"
            failed = row.add(deep=deep, critical=step.critical)
            missed |= failed
            scheduler.report(
                decision.decision_id,
                observed_criticality=step.criticality,
                used_system2=deep,
                was_deep=deep or failed,
            )
            row.shift_flags.append((number, decision.regime_shift))
        scheduler.feedback(success=not missed)
        row.mu_trace.append(scheduler.mu)
    return row


def run_auction_threshold(tasks: list[list[PublishedStep]]) -> Row:
    """Run policy auction, rule threshold: pollution told by the environment, escalated steps count as deliberated."""
    scheduler = Scheduler(policy="auction", costs=Costs(), decision="threshold")
    row = Row()
    for number, task in enumerate(tasks):
        scheduler.new_task()
        missed, pollution = False, 0.0
        for step in task:
            decision = scheduler.decide(
                Signals(
                    criticality_hint=step.hint,
                    difficulty_hint=step.hint,
                    progress=step.progress,
                    context_pollution=pollution,
                )
            )
            failed = row.add(deep=decision.mode == "system2", critical=step.critical)
            missed |= failed
            used = decision.mode == "system2" or failed
            pollution = min(1.0, pollution + (POLLUTION_DEEP if used else POLLUTION_CHEAP))
            scheduler.report(
                decision.decision_id, observed_criticality=step.criticality, used_system2=used, was_deep=used
            )
            row.shift_flags.append((number, decision.regime_shift))
        scheduler.feedback(success=not missed)
        row.mu_trace.append(scheduler.mu)
    return row
