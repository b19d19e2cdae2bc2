"""The decisions a session remembers, and what was learnt about each."""

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from scheduler.calibration import Calibration, Scored
from scheduler.errors import StateError
from scheduler.experience import (
    Decided,
    Label,
    Reported,
    label_from,
    label_row,
    mode_from,
    outcome_from,
    signals_from,
    signals_row,
)
from scheduler.types import Mode, Outcome, Signals

PENDING_CAP = 10_000
"""Decisions without a report that are remembered; the oldest is dropped and counted."""
REPORTED_CAP = 1_000
"""Reported decisions that are remembered, for later discoveries."""
HEALTH_STEPS, HEALTH_UNLABELLED = 100, 0.9
"""A warning is due when more than this share of the last so many System 2 steps brought no label."""


@dataclass(slots=True)
class Entry:
    """One decision and what was learnt about it."""

    decision_id: str
    signals: Signals
    pollution: float
    """Context pollution in [0, 1] it was made with."""
    mode: Mode
    estimate: float
    """Criticality in [0, 1] as estimated then."""
    threshold: float
    label: Label | None = None
    """None = not reported yet."""
    outcome: Outcome | None = None
    superseded: Label | None = None
    """The earlier label, where a later discovery replaced it."""


class Ledger:
    """Pending and reported decisions, oldest first, and the books of where labels came from."""

    def __init__(self) -> None:
        self.dropped = 0
        """Pending decisions that were forgotten for want of room."""
        self._pending: dict[str, Entry] = {}
        self._reported: dict[str, Entry] = {}
        self._sources: Counter[str] = Counter()
        self._labelled: Counter[str] = Counter()
        self._recent_deep: deque[bool] = deque(maxlen=HEALTH_STEPS)

    def __iter__(self) -> Iterator[Entry]:
        """Iterate over all remembered decisions, the reported ones first."""
        yield from self._reported.values()
        yield from self._pending.values()

    def find(self, decision_id: str) -> Entry | None:
        """Return a remembered decision."""
        return self._pending.get(decision_id) or self._reported.get(decision_id)

    def last_pending(self, signals: Signals | None) -> Entry | None:
        """Return the latest decision without a report, the latest one with these hints if hints are given."""
        for entry in reversed(self._pending.values()):
            if signals is None or _same_hints(entry.signals, signals):
                return entry
        return None

    def open(self, decided: Decided) -> None:
        """Remember a decision."""
        self._pending[decided.decision_id] = Entry(
            decision_id=decided.decision_id,
            signals=decided.signals,
            pollution=decided.pollution,
            mode=decided.mode,
            estimate=decided.estimate,
            threshold=decided.threshold,
        )
        if len(self._pending) > PENDING_CAP:
            del self._pending[next(iter(self._pending))]
            self.dropped += 1

    def settle(self, report: Reported, calibration: Calibration) -> None:
        """Enter a report: score the decision's own prediction, move it to the reported ones, keep the books."""
        label = report.label
        self._sources[label.source] += 1
        if report.mode == "system2" and not report.late:
            self._recent_deep.append(label.value is not None)
        entry = self.find(report.decision_id)
        if entry is None:
            return
        earlier = entry.label
        if earlier is not None:
            entry.superseded = earlier
            if _scores(earlier):
                calibration.withdraw(entry.decision_id)
        entry.label, entry.outcome = label, report.outcome
        if label.value is not None and (earlier is None or earlier.value is None):
            self._labelled[entry.mode] += 1
        if label.value is not None and _scores(label):
            calibration.add(Scored(entry.decision_id, entry.estimate, label.value, entry.mode, entry.threshold))
        if self._pending.pop(entry.decision_id, None) is not None:
            self._reported[entry.decision_id] = entry
            if len(self._reported) > REPORTED_CAP:
                del self._reported[next(iter(self._reported))]

    def stats(self, **decided: int) -> dict[str, Any]:
        """Return the books; `decided`: number of decisions per mode."""
        unlabelled = self._recent_deep.count(False)
        warn = len(self._recent_deep) == HEALTH_STEPS and unlabelled > HEALTH_UNLABELLED * HEALTH_STEPS
        return {
            "pending": len(self._pending),
            "dropped": self.dropped,
            "labelledShare": {mode: round(self._labelled[mode] / n, 4) if n else None for mode, n in decided.items()},
            "labelSources": dict(sorted(self._sources.items())),
            "warning": (
                f"{unlabelled} of the last {HEALTH_STEPS} System 2 steps brought no label, so nothing can be learnt from them: "
                "give checks, or probe more often"
                if warn
                else None
            ),
        }

    def dump(self) -> dict[str, Any]:
        """Return the ledger as JSON-ready values."""
        return {
            "dropped": self.dropped,
            "pending": [_row(entry) for entry in self._pending.values()],
            "reported": [_row(entry) for entry in self._reported.values()],
            "sources": dict(self._sources),
            "labelled": dict(self._labelled),
            "recentDeep": list(self._recent_deep),
        }

    @classmethod
    def load(cls, state: Mapping[str, Any]) -> "Ledger":
        """Return the ledger that was dumped.

        Raises:
            StateError: A field is missing or of the wrong kind.
        """
        ledger = cls()
        try:
            ledger.dropped = int(state["dropped"])
            ledger._pending = {row[0]: _entry(row) for row in state["pending"]}
            ledger._reported = {row[0]: _entry(row) for row in state["reported"]}
            ledger._sources.update({str(source): int(n) for source, n in state["sources"].items()})
            ledger._labelled.update({str(mode): int(n) for mode, n in state["labelled"].items()})
            ledger._recent_deep.extend(bool(known) for known in state["recentDeep"])
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise StateError(f"damaged ledger: {error!r}") from error
        return ledger


def _scores(label: Label) -> bool:
    """Whether a label scores the calibration: facts do, opinions do not."""
    return label.value is not None and label.weight >= 1.0


def _same_hints(a: Signals, b: Signals) -> bool:
    return (a.criticality_hint, a.difficulty_hint, a.progress) == (b.criticality_hint, b.difficulty_hint, b.progress)


def _row(entry: Entry) -> list[Any]:
    return [
        entry.decision_id,
        signals_row(entry.signals),
        entry.pollution,
        entry.mode,
        entry.estimate,
        entry.threshold,
        None if entry.label is None else label_row(entry.label),
        entry.outcome,
        None if entry.superseded is None else label_row(entry.superseded),
    ]


def _entry(row: list[Any]) -> Entry:
    return Entry(
        decision_id=str(row[0]),
        signals=signals_from(row[1]),
        pollution=float(row[2]),
        mode=mode_from(row[3]),
        estimate=float(row[4]),
        threshold=float(row[5]),
        label=None if row[6] is None else label_from(row[6]),
        outcome=outcome_from(row[7]),
        superseded=None if row[8] is None else label_from(row[8]),
    )
