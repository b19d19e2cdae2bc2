"""The scheduler as one plain object: a policy, its library and one session of it, in memory."""

from collections.abc import Mapping
from typing import Any

from scheduler.calibration import WINDOW
from scheduler.errors import StateError
from scheduler.registry import make_policy
from scheduler.session import Session
from scheduler.types import Costs, Decision, Outcome, ReportResult, Signals

STATE_VERSION = 1


class Scheduler:
    """Decides, per step, between System 1 and System 2, and learns from what came of it.

    Args:
        policy: `regime` (default), `auction`, `router`, `static`, `always-s1` or `always-s2`.
        costs: What the two modes cost.
        session_id: Beginning of every decision id.
        probe_rate: Share in [0, 1] of System 2 steps that ask for a shadow probe.
        calib_window: Scored steps the calibration looks back upon.
        knobs: Settings of the policy, as its class documents them.

    Raises:
        InvalidInputError: No such policy or knob, or a value out of range.
    """

    def __init__(
        self,
        policy: str = "regime",
        costs: Costs | None = None,
        *,
        session_id: str = "main",
        probe_rate: float = 0.0,
        calib_window: int = WINDOW,
        **knobs: Any,
    ) -> None:
        self._knobs = knobs
        self._policy = make_policy(policy, **knobs)
        self._session = Session(self._policy, session_id, costs=costs, probe_rate=probe_rate, calib_window=calib_window)

    @property
    def mu(self) -> float:
        """Shadow price of a miss; starts at 1."""
        return self._policy.mu

    def new_task(self) -> None:
        """Begin a task: the context is clean again, what was learnt stays."""
        self._session.new_task()

    def decide(self, signals: Signals) -> Decision:
        """Choose how much thought the next step gets."""
        return self._session.decide(signals)

    def report(
        self,
        decision_id: str | None = None,
        outcome: Outcome | None = None,
        verifier_recall: float = 1.0,
        observed_criticality: float | None = None,
        rework: bool = False,
        *,
        used_system2: bool | None = None,
        was_deep: bool | None = None,
    ) -> ReportResult:
        """Tell what came of a step; `Session.report` documents the arguments and errors."""
        return self._session.report(
            decision_id,
            outcome,
            verifier_recall,
            observed_criticality,
            rework,
            used_system2=used_system2,
            was_deep=was_deep,
        )

    def feedback(self, success: bool) -> None:
        """End a task: moves the shadow price mu only."""
        self._session.feedback(success)

    def stats(self) -> dict[str, Any]:
        """Return counts, the labelled share per mode, and a warning when System 2 steps stay unlabelled."""
        return self._session.stats()

    def calibration(self) -> dict[str, Any]:
        """Return how well predictions met labels lately, and whether they improve."""
        return self._session.calibration.report()

    def prototypes(self) -> list[dict[str, Any]]:
        """Return a readable account of every prototype."""
        return self._policy.prototypes()

    def dump(self) -> dict[str, Any]:
        """Return the whole state, pending decisions included, as JSON-ready values."""
        return {
            "version": STATE_VERSION,
            "policy": self._policy.name,
            "knobs": dict(self._knobs),
            "library": self._policy.dump(),
            "session": self._session.dump(),
        }

    @classmethod
    def load(cls, state: Mapping[str, Any]) -> "Scheduler":
        """Return a scheduler that goes on exactly where the dumped one stood.

        Raises:
            StateError: The state is damaged or of another version.
        """
        try:
            if state["version"] != STATE_VERSION:
                raise StateError(f"version {state['version']!r} of the state is not {STATE_VERSION}")
            scheduler = cls(state["policy"], **state["knobs"])
            scheduler._policy.restore(state["library"])
            scheduler._session = Session.load(scheduler._policy, state["session"])
        except (KeyError, TypeError) as error:
            raise StateError(f"damaged state: {error!r}") from error
        return scheduler
