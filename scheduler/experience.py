"""Everything that may change a library of prototypes or a session, as plain values.

A list of experiences is all that is needed to repeat the learning on another copy of a library, or to bring a session
back after its process was killed.
"""

from dataclasses import dataclass
from typing import Any, Literal, cast

from scheduler.errors import StateError
from scheduler.types import OUTCOMES, Mode, Outcome, Signals, unit

LabelSource = Literal[
    "s1_fail",
    "s1_pass",
    "s1_unchecked",
    "s2_done",
    "s2_probe_pass",
    "s2_probe_fail",
    "observed",
    "opinion",
    "late",
    "refused",
    "duplicate",
    "none",
]
"""Where a label came from: an outcome, the caller's score of a System 1 step (`observed`) or of a System 2 step
(`opinion`), a later discovery (`late`); or why there is none."""

LABEL_SOURCES: tuple[str, ...] = (*OUTCOMES, "observed", "opinion", "late", "refused", "duplicate", "none")


@dataclass(frozen=True, slots=True)
class Label:
    """What one step taught: would System 1 have failed here, as verified?"""

    value: float | None
    """Criticality in [0, 1]; None = nothing is known."""
    weight: float
    """How much it counts, in [0, 1]."""
    source: LabelSource


@dataclass(frozen=True, slots=True)
class TaskStarted:
    """A new task began in this session."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Decided:
    """A decision was given out."""

    decision_id: str
    signals: Signals
    pollution: float
    """Context pollution in [0, 1] the decision was made with."""
    mode: Mode
    estimate: float
    """Criticality in [0, 1] as estimated."""
    threshold: float
    """What it was compared with."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reported:
    """A step was executed; with `label.value` None it teaches nothing about criticality."""

    decision_id: str
    """Empty where the caller keeps no ids and no decision of this session fits."""
    signals: Signals
    pollution: float
    """Context pollution in [0, 1] the decision was made with."""
    mode: Mode
    """How the step was started."""
    label: Label
    outcome: Outcome | None = None
    used_system2: bool
    """Counts as deliberated for the growth of the library."""
    was_deep: bool
    """System 2 ran at some point, escalation included."""
    rework: bool = False
    """System 2 ran and had to be redone."""
    late: bool = False
    """A later discovery about a step that was reported before."""


@dataclass(frozen=True, slots=True)
class TaskEnded:
    """The task ended."""

    success: bool


Experience = TaskStarted | Decided | Reported | TaskEnded
"""Everything that may change a library or a session."""


def signals_row(signals: Signals) -> list[float | None]:
    """Return the four scalars as JSON-ready values."""
    return [signals.criticality_hint, signals.difficulty_hint, signals.progress, signals.context_pollution]


def signals_from(row: list[Any]) -> Signals:
    """Return the signals of a row."""
    criticality, difficulty, progress, pollution = row
    return Signals(
        criticality_hint=criticality, difficulty_hint=difficulty, progress=progress, context_pollution=pollution
    )


def label_row(label: Label) -> list[Any]:
    """Return a label as JSON-ready values."""
    return [label.value, label.weight, label.source]


def label_from(row: list[Any]) -> Label:
    """Return the label of a row.

    Raises:
        ValueError: A number is out of range or the source is unknown.
    """
    value, weight, source = row
    if source not in LABEL_SOURCES:
        raise ValueError(f"unknown source of a label: {source!r}")
    return Label(None if value is None else unit("label", value), unit("weight", weight), cast(LabelSource, source))


def encode(experience: Experience) -> dict[str, Any]:
    """Return an experience as JSON-ready values."""
    match experience:
        case TaskStarted():
            return {"t": "task"}
        case TaskEnded():
            return {"t": "end", "ok": experience.success}
        case Decided() as e:
            return {
                "t": "decided",
                "id": e.decision_id,
                "x": signals_row(e.signals),
                "pollution": e.pollution,
                "mode": e.mode,
                "p": e.estimate,
                "cut": e.threshold,
            }
        case Reported() as e:
            return {
                "t": "reported",
                "id": e.decision_id,
                "x": signals_row(e.signals),
                "pollution": e.pollution,
                "mode": e.mode,
                "label": label_row(e.label),
                "outcome": e.outcome,
                "used": e.used_system2,
                "deep": e.was_deep,
                "rework": e.rework,
                "late": e.late,
            }


def decode(row: dict[str, Any]) -> Experience:
    """Return the experience that was encoded.

    Raises:
        StateError: The row is none.
    """
    try:
        match row["t"]:
            case "task":
                return TaskStarted()
            case "end":
                return TaskEnded(bool(row["ok"]))
            case "decided":
                return Decided(
                    decision_id=str(row["id"]),
                    signals=signals_from(row["x"]),
                    pollution=unit("pollution", row["pollution"]),
                    mode=mode_from(row["mode"]),
                    estimate=unit("p", row["p"]),
                    threshold=unit("cut", row["cut"]),
                )
            case "reported":
                return Reported(
                    decision_id=str(row["id"]),
                    signals=signals_from(row["x"]),
                    pollution=unit("pollution", row["pollution"]),
                    mode=mode_from(row["mode"]),
                    label=label_from(row["label"]),
                    outcome=outcome_from(row["outcome"]),
                    used_system2=bool(row["used"]),
                    was_deep=bool(row["deep"]),
                    rework=bool(row["rework"]),
                    late=bool(row["late"]),
                )
    except (KeyError, TypeError, ValueError) as error:
        raise StateError(f"damaged experience: {error!r}") from error
    raise StateError(f"unknown experience: {row!r}")


def mode_from(value: object) -> Mode:
    """Return a mode.

    Raises:
        ValueError: It is none.
    """
    if value == "system1":
        return "system1"
    if value == "system2":
        return "system2"
    raise ValueError(f"unknown mode: {value!r}")


def outcome_from(value: object) -> Outcome | None:
    """Return an outcome or None.

    Raises:
        ValueError: It is neither.
    """
    if value is not None and value not in OUTCOMES:
        raise ValueError(f"unknown outcome: {value!r}")
    return value
