"""One session: decision ids, pending decisions, reports in any order, the session's own estimate of its pollution.

Above: `Scheduler` for one program, `service` for many sessions of many namespaces. Below: a `Policy`. Whatever changes a
session is first made an `Experience` and then applied, so that a session can be brought back by applying them again.
"""

from collections.abc import Callable, Mapping
from typing import Any

from scheduler.calibration import WINDOW, Calibration
from scheduler.errors import InvalidInputError, StateError, UnknownDecisionError
from scheduler.experience import Decided, Experience, Label, Reported, TaskEnded, TaskStarted
from scheduler.ledger import Entry, Ledger
from scheduler.policy import Facts, Policy, Question
from scheduler.types import OUTCOMES, Costs, Decision, Mode, Outcome, ReportResult, Signals, unit, whole

POLLUTION_DELIBERATED, POLLUTION_DEEP, POLLUTION_CHEAP = 0.022, 0.010, 0.002
"""What a System 2 decision, a deep execution and a cheap execution add to the session's own estimate of pollution."""


class Session:
    """Decides and learns for one caller; several sessions may share a policy.

    Args:
        policy: The library to decide with and to teach.
        session_id: Beginning of every decision id.
        costs: What the two modes cost this caller.
        probe_rate: Share in [0, 1] of System 2 steps that ask for a shadow probe; met exactly, by counting.
        calib_window: Scored steps the calibration looks back upon, at least 2.
        on_experience: Called with everything that changed the session, after it did.

    Raises:
        InvalidInputError: A value is out of range.
    """

    def __init__(
        self,
        policy: Policy[Any],
        session_id: str = "main",
        *,
        costs: Costs | None = None,
        probe_rate: float = 0.0,
        calib_window: int = WINDOW,
        on_experience: Callable[[Experience], None] | None = None,
    ) -> None:
        self.policy = policy
        self.session_id = session_id
        self.costs = costs or Costs()
        self.probe_rate = unit("probe_rate", probe_rate)
        self.pollution = 0.0
        """The session's own estimate of context pollution, in [0, 1]."""
        self.steps = 0
        self.ignitions = 0
        """Decisions for System 2."""
        self.ledger = Ledger()
        self.calibration = Calibration(whole("calib_window", calib_window, low=2))
        self.on_experience = on_experience
        self._track = policy.track()

    def new_task(self) -> None:
        """Begin a task: the context is clean again, what was learnt stays."""
        self.apply(TaskStarted())

    def decide(self, signals: Signals) -> Decision:
        """Choose how much thought the next step gets."""
        pollution = self.pollution if signals.context_pollution is None else signals.context_pollution
        question = Question(
            decision_id=f"{self.session_id}.{self.steps + 1}",
            signals=signals,
            pollution=pollution,
            costs=self.costs,
            probe_due=int((self.ignitions + 1) * self.probe_rate) > int(self.ignitions * self.probe_rate),
        )
        decision = self.policy.decide(self._track, question)
        self.apply(
            Decided(
                decision_id=decision.decision_id,
                signals=signals,
                pollution=pollution,
                mode=decision.mode,
                estimate=decision.criticality_estimate,
                threshold=decision.threshold,
            )
        )
        return decision

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
        signals: Signals | None = None,
    ) -> ReportResult:
        """Tell what came of a step. Late, missing and repeated reports and any order are legal.

        A second report of a step is a later discovery if it says that System 1 failed where the first did not, and is
        learnt as one further observation; any other repetition teaches nothing.

        Args:
            decision_id: The decision; without it the last pending one (with the echoed `signals`, if those are given).
            outcome: What was verified.
            verifier_recall: Share of failures in [0, 1] that the verifier behind `s1_pass` notices.
            observed_criticality: The caller's own score in [0, 1].
            rework: System 2 ran, went astray and had to be redone.
            used_system2: The step counts as deliberated; default: the outcome's mode, else the decision's.
            was_deep: System 2 ran at some point; default: as `used_system2`, or System 1 failed and was escalated.
            signals: The signals of the step, from callers that keep no decision ids.

        Raises:
            InvalidInputError: A value is out of range, or the outcome is unknown.
            UnknownDecisionError: No such decision is remembered.
        """
        if outcome is not None and outcome not in OUTCOMES:
            raise InvalidInputError("outcome", f"{outcome!r} is none of {', '.join(OUTCOMES)}")
        recall = unit("verifier_recall", verifier_recall)
        observed = None if observed_criticality is None else unit("observed_criticality", observed_criticality)
        entry = self._entry(decision_id, signals, used_system2)
        if entry.label is not None:
            return self._discover(entry, entry.label, outcome)

        mode = _executed_mode(entry.mode, outcome, used_system2)
        facts = Facts(mode=mode, outcome=outcome, observed_criticality=observed, verifier_recall=recall)
        estimate = self.policy.estimate(self._track, entry.signals) if recall < 1.0 else entry.estimate
        label = self.policy.label(facts, estimate)
        used = mode == "system2" if used_system2 is None else used_system2
        self.apply(
            Reported(
                decision_id=entry.decision_id,
                signals=entry.signals,
                pollution=entry.pollution,
                mode=mode,
                label=label,
                outcome=outcome,
                used_system2=used,
                was_deep=(used or outcome == "s1_fail") if was_deep is None else was_deep,
                rework=rework,
            )
        )
        return self._result(entry.decision_id, label)

    def feedback(self, success: bool) -> None:
        """End a task: moves the shadow price mu only, never the label of a step."""
        self.apply(TaskEnded(success))

    def apply(self, experience: Experience, *, learn: bool = True) -> None:
        """Let an experience change the session and, unless it has learnt from it before, the library."""
        match experience:
            case TaskStarted():
                self.pollution = 0.0
            case Decided():
                self._decided(experience)
            case Reported():
                if not experience.late:
                    self._pollute(POLLUTION_DEEP if experience.was_deep else POLLUTION_CHEAP)
                self.ledger.settle(experience, self.calibration)
        if learn:
            self.policy.observe(self._track, experience)
        if self.on_experience is not None:
            self.on_experience(experience)

    def stats(self) -> dict[str, Any]:
        """Return counts, the labelled share per mode, and a warning when System 2 steps stay unlabelled."""
        return {
            "policy": self.policy.name,
            "nPrototypes": self.policy.n_prototypes,
            "nLabels": self.policy.n_labels,
            "mu": round(self.policy.mu, 4),
            "ignitions": self.ignitions,
            "steps": self.steps,
            "pollution": round(self.pollution, 4),
            **self.ledger.stats(system1=self.steps - self.ignitions, system2=self.ignitions),
        }

    def dump_track(self) -> dict[str, Any]:
        """Return what the session believes about the prototype at work, as JSON-ready values."""
        return self.policy.dump_track(self._track)

    def restore_track(self, state: Mapping[str, Any] | None) -> None:
        """Go back to a dumped track, or to where a new session starts."""
        self._track = self.policy.track() if state is None else self.policy.restore_track(state)

    def observe_again(self, experience: Experience) -> None:
        """Let only the library and the track learn, after the library was replaced."""
        self.policy.observe(self._track, experience)

    def dump(self) -> dict[str, Any]:
        """Return the session's own state (not the library) as JSON-ready values."""
        return {
            "sessionId": self.session_id,
            "costs": self.costs.as_dict(),
            "probeRate": self.probe_rate,
            "pollution": self.pollution,
            "steps": self.steps,
            "ignitions": self.ignitions,
            "ledger": self.ledger.dump(),
            "calibration": self.calibration.dump(),
            "track": self.dump_track(),
        }

    @classmethod
    def load(cls, policy: Policy[Any], state: Mapping[str, Any]) -> "Session":
        """Return the session that was dumped, on a policy whose library is the same.

        A `track` of None starts from what the library believes.

        Raises:
            StateError: A field is missing or of the wrong kind.
        """
        try:
            session = cls(policy, str(state["sessionId"]), costs=Costs(**state["costs"]), probe_rate=state["probeRate"])
            session.pollution = unit("pollution", state["pollution"])
            session.steps, session.ignitions = int(state["steps"]), int(state["ignitions"])
            session.ledger = Ledger.load(state["ledger"])
            session.calibration = Calibration.load(state["calibration"])
            session.restore_track(state["track"])
        except (KeyError, TypeError, ValueError) as error:
            raise StateError(f"damaged session: {error!r}") from error
        return session

    def _decided(self, decided: Decided) -> None:
        self.steps += 1
        if decided.mode == "system2":
            self.ignitions += 1
            self._pollute(POLLUTION_DELIBERATED)
        self.ledger.open(decided)

    def _pollute(self, amount: float) -> None:
        self.pollution = min(1.0, self.pollution + amount)

    def _entry(self, decision_id: str | None, signals: Signals | None, used_system2: bool | None) -> Entry:
        """Return the decision a report is about; one made up from the signals where none was given out."""
        if decision_id is not None:
            entry = self.ledger.find(decision_id)
            if entry is None:
                raise UnknownDecisionError(f"no decision {decision_id!r} is remembered in session {self.session_id!r}")
            return entry
        entry = self.ledger.last_pending(signals)
        if entry is not None:
            return entry
        if signals is None:
            raise UnknownDecisionError(
                f"no decision is pending in session {self.session_id!r}; give the decision_id or echo the hints"
            )
        return Entry(
            decision_id="",
            signals=signals,
            pollution=self.pollution,
            mode="system2" if used_system2 else "system1",
            estimate=self.policy.estimate(self._track, signals),
            threshold=1.0,
        )

    def _discover(self, entry: Entry, earlier: Label, outcome: Outcome | None) -> ReportResult:
        """Take a second report: a later discovery of a failure, or nothing."""
        if outcome != "s1_fail" or earlier.value == 1.0:
            return self._result(entry.decision_id, Label(None, 0.0, "refused" if entry.superseded else "duplicate"))
        label = Label(1.0, 1.0, "late")
        deep = entry.mode == "system2"
        self.apply(
            Reported(
                decision_id=entry.decision_id,
                signals=entry.signals,
                pollution=entry.pollution,
                mode=entry.mode,
                label=label,
                outcome=outcome,
                used_system2=deep,
                was_deep=deep,
                late=True,
            )
        )
        return self._result(entry.decision_id, label)

    def _result(self, decision_id: str, label: Label) -> ReportResult:
        return ReportResult(
            decision_id=decision_id,
            label=label.value,
            weight=label.weight,
            label_source=label.source,
            n_prototypes=self.policy.n_prototypes,
            pollution=self.pollution,
        )


def _executed_mode(decided: Mode, outcome: Outcome | None, used_system2: bool | None) -> Mode:
    """Return how the step was started: the outcome knows best, then the caller, then the decision."""
    if outcome is not None:
        return "system1" if outcome.startswith("s1") else "system2"
    if used_system2 is not None:
        return "system2" if used_system2 else "system1"
    return decided
