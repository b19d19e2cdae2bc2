"""Shapes of the replies of the nine tools; a reply may carry further fields."""
# ruff: noqa: N815 - the fields are the names of the wire protocol

from typing import Any

from pydantic import BaseModel, ConfigDict

from scheduler.types import Mode


class _Reply(BaseModel):
    model_config = ConfigDict(extra="allow")


class OpenReply(_Reply):
    """Reply of open_session."""

    sessionId: str
    namespace: str
    loadedPrototypes: int
    mu: float


class TaskReply(_Reply):
    """Reply of new_task and task_feedback."""

    ok: bool
    mu: float
    nPrototypes: int


class DecisionReply(_Reply):
    """Reply of decide_step: the mode and every number it rests on, rounded to 4 decimals."""

    decision_id: str
    mode: Mode
    policy: str
    p_critical: float
    criticality_estimate: float
    threshold: float
    familiarity: float
    surprise: float
    confidence: float
    mu: float
    rob_gain: float
    eco_cost: float
    expected_cost_s1: float
    expected_cost_s2: float
    regime_shift: bool
    suggest_compact: bool
    regime_id: int | None
    regime_posterior: float | None
    hazard: float | None
    sd: float | None
    contributions: dict[str, float]
    explore: bool
    probe: bool
    n_labels: int
    reason: str


class ReportReply(_Reply):
    """Reply of report_outcome."""

    ok: bool
    decision_id: str
    label: float | None
    weight: float
    label_source: str
    nPrototypes: int
    pollution: float


class StatsReply(_Reply):
    """Reply of get_stats."""

    namespace: str
    policy: str
    nPrototypes: int
    nLabels: int
    mu: float
    ignitions: int
    steps: int
    pollution: float
    pending: int
    dropped: int
    labelledShare: dict[str, float | None]
    labelSources: dict[str, int]
    warning: str | None


class CalibrationPart(BaseModel):
    """Errors of some scored steps."""

    n: int
    mae: float | None
    accuracy: float | None


class CalibrationReply(_Reply):
    """Reply of get_calibration."""

    scored: int
    overall: CalibrationPart
    firstHalf: CalibrationPart
    recentHalf: CalibrationPart
    improving: bool
    brier: float | None
    ece: float | None


class PrototypesReply(_Reply):
    """Reply of dump_prototypes."""

    namespace: str
    policy: str
    mu: float
    prototypes: list[dict[str, Any]]


class CloseReply(_Reply):
    """Reply of close_session."""

    ok: bool
    persistedPrototypes: int
