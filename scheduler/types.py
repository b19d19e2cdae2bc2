"""What goes into a decision and what comes out of it.

No type here holds the text of a step: the scheduler decides how much thought a step deserves from four scalars, never
what to do.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from scheduler.errors import InvalidInputError

Mode = Literal["system1", "system2"]
"""System 1: cheap, one shot. System 2: strong model, best-of-N, deep reasoning."""

Outcome = Literal["s1_fail", "s1_pass", "s1_unchecked", "s2_done", "s2_probe_pass", "s2_probe_fail"]
"""What was verified about a step. `s1_*`: System 1 was used and failed its verification (or was escalated or redone),
passed it, or nothing looked at it. `s2_done`: System 2 was used and nobody knows whether System 1 would have done.
`s2_probe_*`: beside System 2 the cheap answer was produced too, and passed or failed."""

OUTCOMES: tuple[Outcome, ...] = ("s1_fail", "s1_pass", "s1_unchecked", "s2_done", "s2_probe_pass", "s2_probe_fail")


def number(field: str, value: object) -> float:
    """Return a finite float from a number or a numeric string.

    Raises:
        InvalidInputError: Anything else, NaN and infinities included; the text names `field`.
    """
    if isinstance(value, str) and value.isascii() and "_" not in value:
        try:
            value = float(value)
        except ValueError:
            raise InvalidInputError(field, f"{value!r} is not a number") from None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InvalidInputError(field, f"{value!r} is not a number")
    if not math.isfinite(value):
        raise InvalidInputError(field, f"{value!r} is not finite")
    return float(value)


def unit(field: str, value: object) -> float:
    """Return a float in [0, 1] from a number or a numeric string.

    Raises:
        InvalidInputError: Not a number, or outside [0, 1]; the text names `field`.
    """
    result = number(field, value)
    if not 0.0 <= result <= 1.0:
        raise InvalidInputError(field, f"{value!r} is outside [0, 1]")
    return result


def whole(field: str, value: object, *, low: int, high: int | None = None) -> int:
    """Return an integer within bounds.

    Raises:
        InvalidInputError: Not an integer, or out of bounds; the text names `field`.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInputError(field, f"{value!r} is no whole number")
    if value < low or (high is not None and value > high):
        raise InvalidInputError(field, f"{value!r} is outside [{low}, {'any' if high is None else high}]")
    return value


def flag(field: str, value: object) -> bool:
    """Return a truth value.

    Raises:
        InvalidInputError: It is none; the text names `field`.
    """
    if not isinstance(value, bool):
        raise InvalidInputError(field, f"{value!r} is neither true nor false")
    return value


@dataclass(frozen=True, kw_only=True, slots=True)
class Signals:
    """Four task-agnostic scalars in [0, 1]. Numeric strings are accepted.

    Raises:
        InvalidInputError: A value is no number, NaN, infinite or outside [0, 1]; the text names the field.
    """

    criticality_hint: float = 0.0
    """How much hangs on this step, as the planner's heuristic sees it."""
    difficulty_hint: float = 0.0
    """How hard the step looks, for example from the size of its input."""
    progress: float = 0.0
    """Index of the step over the expected number of steps."""
    context_pollution: float | None = None
    """Used tokens over the context window; None = the session's own estimate."""

    def __post_init__(self) -> None:
        for name in ("criticality_hint", "difficulty_hint", "progress"):
            value = getattr(self, name)
            if type(value) is not float or not 0.0 <= value <= 1.0:
                object.__setattr__(self, name, unit(name, value))
        value = self.context_pollution
        if value is not None and (type(value) is not float or not 0.0 <= value <= 1.0):
            object.__setattr__(self, "context_pollution", unit("context_pollution", value))


@dataclass(frozen=True, kw_only=True, slots=True)
class Costs:
    """What the two modes cost, in any one unit.

    Raises:
        InvalidInputError: A cost is no finite number, negative, or `deep` is below `cheap`.
    """

    cheap: float = 1.0
    """One System 1 step."""
    deep: float = 5.0
    """One System 2 step."""
    damage: float = 0.0
    """What a failed System 1 step costs beyond its redoing."""
    redo: float | None = None
    """What it costs to redo a failed System 1 step, where that is not `deep`, another System 2 step."""

    def __post_init__(self) -> None:
        for name, given in self.as_dict().items():
            value = number(name, given)
            if value < 0:
                raise InvalidInputError(name, f"{value!r} is negative")
            object.__setattr__(self, name, value)
        if self.deep < self.cheap:
            raise InvalidInputError("deep", f"{self.deep!r} is below cheap ({self.cheap!r})")

    @property
    def failure(self) -> float:
        """What a failed System 1 step costs beyond itself."""
        return (self.deep if self.redo is None else self.redo) + self.damage

    def as_dict(self) -> dict[str, float]:
        """Return the costs that are set, by name."""
        named = {"cheap": self.cheap, "deep": self.deep, "damage": self.damage}
        return named if self.redo is None else {**named, "redo": self.redo}


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """How much thought one step gets, with every number the choice rests on.

    The mode can be recomputed: policy `regime` takes System 2 iff `p_critical > threshold` and not `explore` (without an
    overridden threshold that is the same as `rob_gain > eco_cost`); `auction` with rule `bid` iff `rob_gain > eco_cost`,
    `regime_shift`, or `regime_id` is None; with rule `threshold` iff `criticality_estimate > threshold`.
    """

    decision_id: str
    """`{sessionId}.{counter}`; what a report refers to."""
    mode: Mode
    policy: str
    p_critical: float
    """Probability in [0, 1] that System 1 would fail here."""
    criticality_estimate: float
    """The policy's read-out in [0, 1]; equal to `p_critical` in every policy shipped here."""
    threshold: float
    """Value of `criticality_estimate` in [0, 1] above which System 2 pays."""
    familiarity: float
    """In [0, 1]: how well the library explains this situation."""
    surprise: float
    """1 - familiarity."""
    confidence: float
    """In [0, 1]: how well the read-out is calibrated."""
    mu: float
    """Shadow price of a miss: multiplies the expected cost of a failure; starts at 1."""
    rob_gain: float
    """Bid of deliberation for the workspace, in units of cost (`auction`: without unit)."""
    eco_cost: float
    """What deliberation must outbid, in the same unit."""
    expected_cost_s1: float
    """Expected cost of System 1, its failures included."""
    expected_cost_s2: float
    """Expected cost of System 2, its rework included."""
    regime_shift: bool = False
    """The situation stopped being explained by the prototype that explained the last one."""
    suggest_compact: bool = False
    """The context is so full that shortening it before deliberating should pay."""
    regime_id: int | None = None
    """The most probable prototype; None = the library holds none."""
    regime_posterior: float | None = None
    """Its probability in [0, 1] before this step; None where the policy has no such notion."""
    hazard: float | None = None
    """Expected probability in [0, 1] that the rule has changed since the last label."""
    sd: float | None = None
    """Standard deviation of the read-out before its squashing."""
    contributions: Mapping[str, float]
    """Feature -> weight times value, of the most probable prototype."""
    explore: bool = False
    """System 1 was chosen against the odds because System 2 steps go unlabelled and nothing would be learnt."""
    probe: bool = False
    """The caller is asked to produce the cheap answer too and to report `s2_probe_pass` or `s2_probe_fail`."""
    n_labels: int = 0
    """Labels the library has learnt from."""

    @property
    def is_intuition(self) -> bool:
        """True for System 1."""
        return self.mode == "system1"

    @property
    def reason(self) -> str:
        """One sentence for people."""
        if self.policy == "auction" and self.regime_id is None:
            return "Nothing has been learnt yet, so the first steps are deliberated."
        if self.explore:
            return (
                f"System 1 is tried although p={self.p_critical:.2f} is above {self.threshold:.2f}: "
                "System 2 steps bring no labels, and only a try shows whether the rule still holds."
            )
        if self.policy == "auction" and self.regime_shift and self.rob_gain <= self.eco_cost:
            return "Another prototype explains this situation, and poorly: it is deliberated."
        side = "above" if self.mode == "system2" else "not above"
        if self.policy == "auction":
            return f"Bid {self.rob_gain:.2f} against {self.eco_cost:.2f}, read-out {self.p_critical:.2f}: {self.mode}."
        return (
            f"System 1 would fail with p={self.p_critical:.2f}, {side} the threshold {self.threshold:.2f} "
            f"(expected cost {self.expected_cost_s1:.2f} against {self.expected_cost_s2:.2f})."
        )

    def as_dict(self) -> dict[str, Any]:
        """Return every field as JSON-ready values, floats rounded to 4 decimals, and the `reason`."""
        document: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, float):
                value = round(value, 4)
            elif isinstance(value, Mapping):
                value = {name: round(part, 4) for name, part in value.items()}
            document[field.name] = value
        document["reason"] = self.reason
        return document


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportResult:
    """What a report taught."""

    decision_id: str
    label: float | None
    """Learnt criticality in [0, 1]; None = nothing was learnt."""
    weight: float
    """Weight of the label in [0, 1]; 0 without a label."""
    label_source: str
    """The outcome, or `observed`, `opinion`, `late`, `refused`, `duplicate`, `none`."""
    n_prototypes: int
    pollution: float
    """The session's own estimate of context pollution in [0, 1]."""
