"""How much thought does this step deserve? A learnable scheduler between System 1 and System 2.

    from scheduler import Costs, Scheduler, Signals

    scheduler = Scheduler(policy="regime", costs=Costs(cheap=1, deep=5))
    scheduler.new_task()
    decision = scheduler.decide(Signals(criticality_hint=0.7, difficulty_hint=0.4, progress=0.1))
    scheduler.report(decision.decision_id, "s1_fail")
    scheduler.feedback(success=True)

Pure and deterministic: no clock, no network, no randomness, the standard library only.
"""

from scheduler.errors import (
    InvalidInputError,
    SchedulerError,
    StateError,
    StoreConflictError,
    UnknownDecisionError,
    UnknownSessionError,
)
from scheduler.scheduler import Scheduler
from scheduler.types import Costs, Decision, Mode, Outcome, ReportResult, Signals

__all__ = [
    "Costs",
    "Decision",
    "InvalidInputError",
    "Mode",
    "Outcome",
    "ReportResult",
    "Scheduler",
    "SchedulerError",
    "Signals",
    "StateError",
    "StoreConflictError",
    "UnknownDecisionError",
    "UnknownSessionError",
]
