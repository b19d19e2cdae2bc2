"""One session: decision ids, pending decisions, reports in any order, the session's own estimate of its pollution.

Above: `Scheduler` for one program, `service` for many sessions of many namespaces. Below: a `Policy`.
"""

from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from scheduler.calibration import WINDOW, Calibration, Scored
from scheduler.errors import InvalidInputError, StateError, UnknownDecisionError
from scheduler.policy import (
    Decided,
    Experience,
    Facts,
    Label,
    Policy,
    Reported,
    TaskEnded,
    TaskStarted,
)
from scheduler.types import OUTCOMES, Decision, Mode, Outcome, ReportResult, Signals, unit

PENDING_CAP = 10_000
"""Decisions without a report that one session remembers; the oldest is dropped and counted."""
REPORTED_CAP = 1_000
"""Reported decisions that one session remembers, for later discoveries."""
POLLUTION_DELIBERATED, POLLUTION_DEEP, POLLUTION_CHEAP = 0.022, 0.010, 0.002
"""What a System 2 decision, a deep execution and a cheap execution add to the session's own estimate of pollution."""
HEALTH_STEPS, HEALTH_UNLABELLED = 100, 0.9
"""A warning is due when more than this share of the last so many System 2 steps brought no label."""


@dataclass(slots=True)
class Entry:
    """One decision in the ledger, and what was learnt about it."""

    decision_id: str
    signals: Signals
    pollution: float
    mode: Mode
    estimate: float
    threshold: float
    label: Label | None = None
    outcome: Outcome | None = None
    superseded: Label | None = None
    """The earlier label, where a later discovery replaced it."""


class Session:
    """Decides and learns for one caller; several sessions may share a policy.

    Args:
        policy: The library to decide with and to teach.
        session_id: Beginning of every decision id.
        probe_rate: Share in [0, 1] of System 2 steps that ask for a shadow probe; met exactly, by counting.
        calib_window: Scored steps the calibration looks back upon.
        pending_cap: Decisions without a report that are remembered.
        on_experience: Called with everything the policy learnt from, after it learnt.
    """

    def __init__(
        self,
        policy: Policy[Any],
        session_id: str = "main",
        *,
        probe_rate: float = 0.0,
        calib_window: int = WINDOW,
        pending_cap: int = PENDING_CAP,
        on_experience: Callable[[Experience], None] | None = None,
    ) -> None:
        if not isinstance(calib_window, int) or calib_window < 2:
            raise InvalidInputError("calib_window", f"{calib_window!r} is no whole number above 1")
        self.policy = policy
        self.session_id = session_id
        self.probe_rate = unit("probe_rate", probe_rate)
        self.pollution = 0.0
        """The session's own estimate of context pollution, in [0, 1]."""
        self.steps = 0
        self.ignitions = 0
        """Decisions for System 2."""
        self.dropped = 0
        """Pending decisions that were forgotten for want of room."""
        self.calibration = Calibration(calib_window)
        self._track = policy.track()
        self._pending_cap = pending_cap
        self._pending: dict[str, Entry] = {}
        self._reported: dict[str, Entry] = {}
        self._sources: Counter[str] = Counter()
        self._labelled: Counter[str] = Counter()
        self._recent_deep: deque[bool] = deque(maxlen=HEALTH_STEPS)
        self._on_experience = on_experience

    def new_task(self) -> None:
        """Begin a task: the context is clean again, what was learnt stays."""
        self.pollution = 0.0
        self._learn(TaskStarted())

    def decide(self, signals: Signals) -> Decision:
        """Choose how much thought the next step gets."""
        pollution = self.pollution if signals.context_pollution is None else signals.context_pollution
        self.steps += 1
        decision = self.policy.decide(
            self._track,
            signals,
            pollution,
            decision_id=f"{self.session_id}.{self.steps}",
            probe_due=int((self.ignitions + 1) * self.probe_rate) > int(self.ignitions * self.probe_rate),
        )
        if decision.mode == "system2":
            self.ignitions += 1
            self.pollution = min(1.0, self.pollution + POLLUTION_DELIBERATED)
        self._learn(Decided(decision.mode))
        self._pending[decision.decision_id] = Entry(
            decision.decision_id, signals, pollution, decision.mode, decision.criticality_estimate, decision.threshold
        )
        if len(self._pending) > self._pending_cap:
            del self._pending[next(iter(self._pending))]
            self.dropped += 1
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
            used_system2: The step counts as deliberated; default: the decision was System 2.
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
            return self._discover(entry, outcome)

        mode = _executed_mode(entry.mode, outcome, used_system2)
        facts = Facts(mode=mode, outcome=outcome, observed_criticality=observed, verifier_recall=recall)
        estimate = self.policy.estimate(self._track, entry.signals) if recall < 1.0 else entry.estimate
        label = self.policy.label(facts, estimate)
        deep = was_deep if was_deep is not None else mode == "system2" or outcome == "s1_fail"
        entry.label, entry.outcome = label, outcome
        self._settle(entry, mode, label, deep)
        self._learn(
            Reported(
                signals=entry.signals,
                pollution=entry.pollution,
                label=label,
                mode=mode,
                used_system2=mode == "system2" if used_system2 is None else used_system2,
                was_deep=deep,
                rework=rework,
            )
        )
        return self._result(entry.decision_id, label)

    def feedback(self, success: bool) -> None:
        """End a task: moves the shadow price mu only, never the label of a step."""
        self._learn(TaskEnded(success))

    def stats(self) -> dict[str, Any]:
        """Return counts, the labelled share per mode, and a warning when System 2 steps stay unlabelled."""
        decided = {"system1": self.steps - self.ignitions, "system2": self.ignitions}
        unlabelled = self._recent_deep.count(False)
        warn = len(self._recent_deep) == HEALTH_STEPS and unlabelled > HEALTH_UNLABELLED * HEALTH_STEPS
        return {
            "policy": self.policy.name,
            "nPrototypes": self.policy.n_prototypes,
            "nLabels": self.policy.n_labels,
            "mu": round(self.policy.mu, 4),
            "ignitions": self.ignitions,
            "steps": self.steps,
            "pollution": round(self.pollution, 4),
            "pending": len(self._pending),
            "dropped": self.dropped,
            "labelledShare": {mode: round(self._labelled[mode] / n, 4) if n else None for mode, n in decided.items()},
            "labelSources": dict(sorted(self._sources.items())),
            "warning": f"{unlabelled} of the last {HEALTH_STEPS} System 2 steps brought no label" if warn else None,
        }

    def ledger(self) -> list[Entry]:
        """Return every remembered decision, reported ones first, each group oldest first."""
        return [*self._reported.values(), *self._pending.values()]

    def dump(self) -> dict[str, Any]:
        """Return the session's own state (not the library) as JSON-ready values."""
        return {
            "sessionId": self.session_id,
            "probeRate": self.probe_rate,
            "pendingCap": self._pending_cap,
            "pollution": self.pollution,
            "steps": self.steps,
            "ignitions": self.ignitions,
            "dropped": self.dropped,
            "calibration": self.calibration.dump(),
            "track": self.policy.dump_track(self._track),
            "pending": [_entry_row(entry) for entry in self._pending.values()],
            "reported": [_entry_row(entry) for entry in self._reported.values()],
            "sources": dict(self._sources),
            "labelled": dict(self._labelled),
            "recentDeep": list(self._recent_deep),
        }

    @classmethod
    def load(
        cls,
        policy: Policy[Any],
        state: Mapping[str, Any],
        *,
        on_experience: Callable[[Experience], None] | None = None,
    ) -> "Session":
        """Return the session that was dumped, on a policy whose library is the same.

        Raises:
            StateError: A field is missing or of the wrong kind.
        """
        try:
            session = cls(
                policy,
                str(state["sessionId"]),
                probe_rate=state["probeRate"],
                pending_cap=int(state["pendingCap"]),
                on_experience=on_experience,
            )
            session.pollution = float(state["pollution"])
            session.steps, session.ignitions = int(state["steps"]), int(state["ignitions"])
            session.dropped = int(state["dropped"])
            session.calibration = Calibration.load(state["calibration"])
            session._track = policy.restore_track(state["track"])
            session._pending = {row[0]: _entry(row) for row in state["pending"]}
            session._reported = {row[0]: _entry(row) for row in state["reported"]}
            session._sources.update(state["sources"])
            session._labelled.update(state["labelled"])
            session._recent_deep.extend(state["recentDeep"])
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise StateError(f"damaged session: {error!r}") from error
        return session

    def _learn(self, experience: Experience) -> None:
        self.policy.observe(self._track, experience)
        if self._on_experience is not None:
            self._on_experience(experience)

    def _entry(self, decision_id: str | None, signals: Signals | None, used_system2: bool | None) -> Entry:
        if decision_id is not None:
            entry = self._pending.get(decision_id) or self._reported.get(decision_id)
            if entry is None:
                raise UnknownDecisionError(f"no decision {decision_id!r} is remembered in session {self.session_id!r}")
            return entry
        for entry in reversed(self._pending.values()):
            if signals is None or _same_hints(entry.signals, signals):
                return entry
        if signals is None:
            raise UnknownDecisionError(
                f"no decision is pending in session {self.session_id!r}; give the decision_id or echo the hints"
            )
        mode: Mode = "system2" if used_system2 else "system1"
        return Entry("", signals, self.pollution, mode, self.policy.estimate(self._track, signals), 1.0)

    def _settle(self, entry: Entry, mode: Mode, label: Label, deep: bool) -> None:
        """Move a decision from pending to reported and keep the books."""
        self.pollution = min(1.0, self.pollution + (POLLUTION_DEEP if deep else POLLUTION_CHEAP))
        self._sources[label.source] += 1
        known = label.value is not None
        if mode == "system2":
            self._recent_deep.append(known)
        if not entry.decision_id:
            return
        if known:
            self._labelled[entry.mode] += 1
        self._score(entry, label)
        del self._pending[entry.decision_id]
        self._reported[entry.decision_id] = entry
        if len(self._reported) > REPORTED_CAP:
            del self._reported[next(iter(self._reported))]

    def _score(self, entry: Entry, label: Label) -> None:
        """Hold the prediction of the decision against its label; opinions score nothing."""
        if label.value is not None and label.weight >= 1.0:
            self.calibration.add(
                Scored(entry.decision_id, entry.estimate, label.value, entry.mode, entry.threshold)
            )

    def _discover(self, entry: Entry, outcome: Outcome | None) -> ReportResult:
        """Take a second report: a later discovery of a failure, or nothing."""
        earlier = entry.label
        assert earlier is not None
        if outcome != "s1_fail" or entry.outcome == "s1_fail":
            return self._result(entry.decision_id, Label(None, 0.0, "duplicate"))
        if entry.superseded is not None:
            return self._result(entry.decision_id, Label(None, 0.0, "refused"))
        if earlier.value is not None and earlier.weight >= 1.0:
            self.calibration.withdraw(entry.decision_id)
        label = Label(1.0, 1.0, "late")
        entry.superseded, entry.label = earlier, label
        if earlier.value is None:
            self._labelled[entry.mode] += 1
        self._sources[label.source] += 1
        self._score(entry, label)
        self._learn(
            Reported(
                signals=entry.signals,
                pollution=entry.pollution,
                label=label,
                mode=entry.mode,
                used_system2=entry.mode == "system2",
                was_deep=entry.mode == "system2",
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


def _same_hints(a: Signals, b: Signals) -> bool:
    return (a.criticality_hint, a.difficulty_hint, a.progress) == (b.criticality_hint, b.difficulty_hint, b.progress)


def _label_row(label: Label | None) -> list[Any] | None:
    return None if label is None else [label.value, label.weight, label.source]


def _entry_row(entry: Entry) -> list[Any]:
    x = entry.signals
    return [
        entry.decision_id,
        [x.criticality_hint, x.difficulty_hint, x.progress, x.context_pollution],
        entry.pollution,
        entry.mode,
        entry.estimate,
        entry.threshold,
        _label_row(entry.label),
        entry.outcome,
        _label_row(entry.superseded),
    ]


def _entry(row: list[Any]) -> Entry:
    criticality, difficulty, progress, pollution = row[1]
    label, superseded = (None if part is None else Label(*part) for part in (row[6], row[8]))
    return Entry(
        decision_id=row[0],
        signals=Signals(
            criticality_hint=criticality, difficulty_hint=difficulty, progress=progress, context_pollution=pollution
        ),
        pollution=row[2],
        mode=row[3],
        estimate=row[4],
        threshold=row[5],
        label=label,
        outcome=row[7],
        superseded=superseded,
    )
