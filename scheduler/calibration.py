"""Does it get smarter? Predictions held against labels, over a sliding window."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scheduler.errors import StateError
from scheduler.types import Mode

WINDOW = 50
"""Scored steps that are looked back upon, unless told otherwise."""
ACCURACY_SLACK = 0.02
"""Drop in accuracy that still counts as improving when the error does not grow."""
BINS = 10
"""Equal bins of predicted probability for the reliability table."""


@dataclass(frozen=True, slots=True)
class Scored:
    """One prediction and what came of it, scored before it was learnt from."""

    decision_id: str
    estimate: float
    observed: float
    mode: Mode
    threshold: float

    @property
    def error(self) -> float:
        """Absolute error in [0, 1]."""
        return abs(self.estimate - self.observed)

    @property
    def correct(self) -> bool:
        """System 2 exactly where the observed criticality is above the threshold."""
        return (self.mode == "system2") == (self.observed > self.threshold)


class Calibration:
    """A window of scored steps."""

    def __init__(self, window: int = WINDOW) -> None:
        self._steps: deque[Scored] = deque(maxlen=window)
        self.scored = 0
        """Steps scored since the beginning, superseded ones excluded."""

    def add(self, step: Scored) -> None:
        """Score one step."""
        self._steps.append(step)
        self.scored += 1

    def withdraw(self, decision_id: str) -> None:
        """Take out a step whose label was superseded."""
        for step in self._steps:
            if step.decision_id == decision_id:
                self._steps.remove(step)
                break
        self.scored -= 1

    def report(self) -> dict[str, Any]:
        """Return scored, overall, firstHalf, recentHalf, improving, brier, ece and the reliability bins."""
        steps = list(self._steps)
        half = len(steps) // 2
        first, recent = _part(steps[:half]), _part(steps[half:])
        improving = (
            half > 0 and recent["mae"] <= first["mae"] and recent["accuracy"] >= first["accuracy"] - ACCURACY_SLACK
        )
        bins = _reliability(steps)
        n = len(steps)
        return {
            "scored": self.scored,
            "overall": _part(steps),
            "firstHalf": first,
            "recentHalf": recent,
            "improving": improving,
            "brier": _rounded(sum(step.error**2 for step in steps) / n) if n else None,
            "ece": _rounded(sum(b["n"] * abs(b["predicted"] - b["observed"]) for b in bins) / n) if n else None,
            "bins": [{name: _rounded(value) for name, value in b.items()} for b in bins],
        }

    def dump(self) -> dict[str, Any]:
        """Return the window as JSON-ready values."""
        rows = [[s.decision_id, s.estimate, s.observed, s.mode, s.threshold] for s in self._steps]
        return {"window": self._steps.maxlen, "scored": self.scored, "steps": rows}

    @classmethod
    def load(cls, state: Mapping[str, Any]) -> "Calibration":
        """Return the window that was dumped.

        Raises:
            StateError: A field is missing or of the wrong kind.
        """
        try:
            calibration = cls(int(state["window"]))
            calibration._steps.extend(Scored(*row) for row in state["steps"])
            calibration.scored = int(state["scored"])
        except (KeyError, TypeError, ValueError) as error:
            raise StateError(f"damaged calibration window: {error!r}") from error
        return calibration


def _part(steps: Sequence[Scored]) -> dict[str, Any]:
    n = len(steps)
    if not n:
        return {"n": 0, "mae": None, "accuracy": None}
    return {
        "n": n,
        "mae": _rounded(sum(step.error for step in steps) / n),
        "accuracy": _rounded(sum(step.correct for step in steps) / n),
    }


def _reliability(steps: Iterable[Scored]) -> list[dict[str, float]]:
    """Return the non-empty bins, lowest prediction first, each with mean prediction, mean observation and size."""
    members: dict[int, list[Scored]] = {}
    for step in steps:
        members.setdefault(min(BINS - 1, int(step.estimate * BINS)), []).append(step)
    return [
        {
            "predicted": sum(step.estimate for step in group) / len(group),
            "observed": sum(step.observed for step in group) / len(group),
            "n": len(group),
        }
        for _, group in sorted(members.items())
    ]


def _rounded(value: float) -> float:
    return round(value, 4)
