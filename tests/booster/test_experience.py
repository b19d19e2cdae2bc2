"""From a session's events to what the scheduler lived through."""

from typing import Any

from booster.experience import begins_a_task, kept_count, lived_through, relived
from scheduler.experience import Decided, Reported, TaskEnded, TaskStarted
from scheduler.types import Signals

SIGNALS = {"criticality_hint": 0.1234567891234, "difficulty_hint": 0.2, "progress": 0.3, "context_pollution": 0.4}


def decided(number: int, mode: str = "system1", **audit: Any) -> tuple[str, dict[str, Any]]:
    """Return the event of an iteration that the scheduler decided on."""
    numbers = {"criticality_estimate": 0.3, "threshold": 0.8, "signals": SIGNALS, **audit}
    return "iteration_opened", {"decision": {"mode": mode, "decisionId": f"ses.{number}", "audit": numbers}}


def reported(number: int, outcome: str = "s1_fail", label: float | None = 1.0) -> tuple[str, dict[str, Any]]:
    """Return the event of a report."""
    taught = {"label": label, "weight": 0.0 if label is None else 1.0, "labelSource": outcome}
    return "reported", {"decisionId": f"ses.{number}", "outcome": outcome, "rework": False, **taught}


def test_a_task_begins_with_its_first_decision_and_after_the_one_before_has_ended() -> None:
    events = [decided(1), reported(1), decided(2), ("task_ended", {"success": True}), decided(3), ("concluded", {})]

    kinds = [type(one) for one in lived_through(events)]

    assert kinds == [TaskStarted, Decided, Reported, Decided, TaskEnded, TaskStarted, Decided]


def test_the_signals_come_back_exactly() -> None:
    _, decision, report = lived_through([decided(1), reported(1)])

    assert isinstance(decision, Decided)
    assert isinstance(report, Reported)
    assert decision.signals == report.signals == Signals(**SIGNALS)
    assert decision.pollution == 0.4
    assert (report.mode, report.used_system2, report.was_deep) == ("system1", False, True)


def test_forced_decisions_and_reports_that_taught_nothing_are_no_experience() -> None:
    forced = "iteration_opened", {"decision": {"mode": "system2", "decisionId": "", "audit": {}}}
    unknown = "reported", {"decisionId": "ses.9", "outcome": "s1_fail", "rework": False}

    assert lived_through([forced, unknown, reported(9), ("improved", {})]) == []


def test_the_last_saved_count_stands() -> None:
    assert kept_count([decided(1)]) == 0
    assert kept_count([("learnt", {"experiences": 3}), decided(2), ("learnt", {"experiences": 6})]) == 6


def test_only_an_ended_task_lets_another_begin() -> None:
    assert begins_a_task([])
    assert begins_a_task([TaskEnded(True)])
    assert not begins_a_task([TaskStarted(), TaskEnded(True), TaskStarted()])


def test_figures_are_drawn_from_all_sessions_together() -> None:
    first = [decided(1), reported(1), decided(2, "system2"), reported(2, "s2_done", None)]
    second = [decided(3), reported(3, "s1_pass", 0.0)]

    lived = relived([first, second])

    stats = lived.stats()
    assert (stats["steps"], stats["ignitions"], stats["pending"]) == (3, 1, 0)
    assert stats["labelledShare"] == {"system1": 1.0, "system2": 0.0}
    assert stats["labelSources"] == {"s1_fail": 1, "s1_pass": 1, "s2_done": 1}
    assert lived.calibration.report()["scored"] == 2
