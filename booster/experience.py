"""A session's events as the scheduler lived through them: what a resume teaches it again, and what its figures rest on. Pure.

Everything that the scheduler learns from a solve is journalled in the same breath, before its library can be saved. So a
saved library knows nothing that the journal does not know, and what it lacks can be counted.

Above: `booster.judgement` writes what this reads. Below: `scheduler.experience`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from scheduler.experience import Decided, Experience, Label, Reported, TaskEnded, TaskStarted, label_from
from scheduler.registry import make_policy
from scheduler.session import Session as SchedulerSession
from scheduler.types import ReportResult, Signals, unit

Event = tuple[str, Mapping[str, Any]]
"""Type and data."""


def seen(signals: Signals) -> dict[str, Any]:
    """Return what a decision was made on, as its audit keeps it: exact, for it may have to be learnt from again."""
    return asdict(signals)


def taught(result: ReportResult) -> dict[str, Any]:
    """Return what a report taught, as its event keeps it; nothing of one that was no experience."""
    if result.label_source in ("duplicate", "refused"):
        return {}
    return {"label": result.label, "weight": result.weight, "labelSource": result.label_source}


def lived_through(events: Iterable[Event]) -> list[Experience]:
    """Return what the scheduler's session of a solve was told so far, oldest first; forced decisions are none of it."""
    lived: list[Experience] = []
    decided: dict[str, Decided] = {}
    for kind, data in events:
        match kind:
            case "iteration_opened" if data["decision"].get("audit", {}).get("signals"):
                decision = _decided(data["decision"])
                if begins_a_task(lived):
                    lived.append(TaskStarted())
                decided[decision.decision_id] = decision
                lived.append(decision)
            case "reported" if "labelSource" in data and data["decisionId"] in decided:
                lived.append(_reported(decided[data["decisionId"]], data))
            case "task_ended":
                lived.append(TaskEnded(bool(data["success"])))
    return lived


def begins_a_task(lived: Sequence[Experience]) -> bool:
    """Say whether the next decision is the first of a task."""
    return not lived or isinstance(lived[-1], TaskEnded)


def relived(sessions: Iterable[Iterable[Event]]) -> SchedulerSession:
    """Return a session that has been through all of these, for its statistics and its calibration; it has learnt nothing."""
    session = SchedulerSession(make_policy("always-s1"))
    for events in sessions:
        for experience in lived_through(events):
            session.apply(experience, learn=False)
    return session


def kept_count(events: Iterable[Event]) -> int:
    """Return how many of the experiences are known to be in the saved library."""
    return max((int(data["experiences"]) for kind, data in events if kind == "learnt"), default=0)


def _decided(decision: Mapping[str, Any]) -> Decided:
    audit = decision["audit"]
    signals = Signals(**audit["signals"])
    return Decided(
        decision_id=decision["decisionId"], signals=signals, pollution=signals.context_pollution or 0.0,
        mode=decision["mode"], estimate=unit("estimate", audit["criticality_estimate"]),
        threshold=unit("threshold", audit["threshold"]),
    )  # fmt: skip


def _reported(decided: Decided, data: Mapping[str, Any]) -> Reported:
    outcome = data["outcome"]
    deliberated = outcome.startswith("s2")
    label: Label = label_from([data["label"], data["weight"], data["labelSource"]])
    return Reported(
        decision_id=decided.decision_id, signals=decided.signals, pollution=decided.pollution,
        mode="system2" if deliberated else "system1", label=label, outcome=outcome, used_system2=deliberated,
        was_deep=deliberated or outcome == "s1_fail", rework=data["rework"],
    )  # fmt: skip
