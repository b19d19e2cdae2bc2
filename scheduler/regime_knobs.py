"""Settings of the regime policy, with their bounds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from scheduler.errors import InvalidInputError
from scheduler.hazard import STEP_RATES, TASK_RATES
from scheduler.types import flag, number, unit, whole


@dataclass(frozen=True, kw_only=True, slots=True)
class Knobs:
    """What may be set.

    Raises:
        InvalidInputError: A value is out of range; the text names the field.
    """

    max_regimes: int = 6
    """Cap of the library, 1 to 16; the least used regime makes room."""
    tau: float = 3.5
    """Log evidence that promotes a challenger, .1 to 20."""
    every: int = 4
    """Labels between two fresh challengers, at least 1."""
    task_rates: Sequence[float] = TASK_RATES
    """Rates of change between tasks that are averaged over, each in (0, 1)."""
    step_rates: Sequence[float] = STEP_RATES
    """Rates of change between labels that are averaged over, each in (0, 1)."""
    flips: bool = True
    """Whether reversals of the most probable regime stand as rivals."""
    quadratic: bool = True
    """Whether regimes hold a quadratic read-out beside the affine one."""
    explore: Literal["auto", "greedy"] = "auto"
    """`auto`: try System 1 more as System 2 steps go unlabelled; `greedy`: never."""
    rework: bool = True
    """Whether the learnt rework rate of System 2 enters the cost."""
    threshold: float | None = None
    """Probability in [0, 1] that replaces the one from the costs."""
    miss_target: float | None = None
    """Share of tasks in [0, 1] that may hold a miss; the shadow price mu is moved to meet it."""
    compact_cost: float = 0.5
    """Cost of shortening the context, in the unit of the costs."""

    def __post_init__(self) -> None:
        whole("max_regimes", self.max_regimes, low=1, high=16)
        whole("every", self.every, low=1)
        for field, value in (("flips", self.flips), ("quadratic", self.quadratic), ("rework", self.rework)):
            flag(field, value)
        object.__setattr__(self, "tau", _within("tau", self.tau, 0.1, 20.0))
        object.__setattr__(self, "compact_cost", _within("compact_cost", self.compact_cost, 0.0, math.inf))
        for field, rates in (("task_rates", self.task_rates), ("step_rates", self.step_rates)):
            object.__setattr__(self, field, _rates(field, rates))
        if self.explore not in ("auto", "greedy"):
            raise InvalidInputError("explore", f"{self.explore!r} is neither 'auto' nor 'greedy'")
        for field, share in (("threshold", self.threshold), ("miss_target", self.miss_target)):
            if share is not None:
                object.__setattr__(self, field, unit(field, share))

    def pairs(self) -> list[tuple[float, float]]:
        """Return every pair of a rate between tasks and a rate between labels."""
        return [(task, step) for task in self.task_rates for step in self.step_rates]


def _rates(field: str, value: object) -> tuple[float, ...]:
    if not isinstance(value, (list, tuple)) or not value:
        raise InvalidInputError(field, f"{value!r} is no list of rates")
    rates = tuple(number(field, rate) for rate in value)
    for rate in rates:
        if not 0.0 < rate < 1.0:
            raise InvalidInputError(field, f"{rate!r} is outside (0, 1)")
    return rates


def _within(field: str, value: object, low: float, high: float) -> float:
    result = number(field, value)
    if not low <= result <= high:
        raise InvalidInputError(field, f"{value!r} is outside [{low}, {high}]")
    return result
