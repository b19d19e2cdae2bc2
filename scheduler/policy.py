"""The seam between a session and whatever decides for it, and what every policy shares: costs, labels, suggestions.

A policy is a library of prototypes that learns from experience and may serve many sessions; what belongs to one session
(which prototype it believes is at work) is a `track`. A policy changes only through `observe`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from scheduler.experience import Experience, Label
from scheduler.types import Costs, Decision, Mode, Outcome, Signals

TrackT = TypeVar("TrackT")

OPINION_WEIGHT = 0.3
"""Weight of what a caller says of a System 2 step that nobody verified with System 1."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """What a session asks its policy."""

    decision_id: str
    signals: Signals
    pollution: float
    """Context pollution in [0, 1]: the caller's, or the session's own estimate."""
    costs: Costs
    probe_due: bool = False
    """If this becomes a System 2 step, ask for a shadow probe."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """What a caller says about one executed step."""

    mode: Mode
    """How the step was started."""
    outcome: Outcome | None = None
    observed_criticality: float | None = None
    """The caller's own score in [0, 1]."""
    verifier_recall: float = 1.0
    """Share of failures in [0, 1] that the verifier of System 1 steps notices."""


class Policy(Protocol[TrackT]):
    """Decides from signals, learns from experience. Deterministic; no clock, no randomness."""

    name: str
    mu: float
    """Shadow price of a miss; starts at 1."""

    @property
    def n_prototypes(self) -> int:
        """Prototypes in the library."""
        ...

    @property
    def n_labels(self) -> int:
        """Labels the library has learnt from."""
        ...

    def track(self) -> TrackT:
        """Return the starting point of a new session of this library."""
        ...

    def decide(self, track: TrackT, question: Question) -> Decision:
        """Choose a mode; changes nothing in the library."""
        ...

    def estimate(self, track: TrackT, signals: Signals) -> float:
        """Return the present probability in [0, 1] that System 1 fails on this step."""
        ...

    def label(self, facts: Facts, estimate: float) -> Label:
        """Turn facts into a label; `estimate` is the present probability of failure in [0, 1]."""
        ...

    def observe(self, track: TrackT, experience: Experience) -> None:
        """Learn."""
        ...

    def dump(self) -> dict[str, Any]:
        """Return the library as JSON-ready values."""
        ...

    def restore(self, state: Mapping[str, Any]) -> None:
        """Replace the library by a dumped one; raises StateError and changes nothing if it is damaged."""
        ...

    def dump_track(self, track: TrackT) -> dict[str, Any]:
        """Return a track as JSON-ready values."""
        ...

    def restore_track(self, state: Mapping[str, Any]) -> TrackT:
        """Return the track that was dumped."""
        ...

    def prototypes(self) -> list[dict[str, Any]]:
        """Return a readable account of every prototype."""
        ...


def clamp01(value: float) -> float:
    """Return the value limited to [0, 1]."""
    return 0.0 if value < 0.0 else min(value, 1.0)


def critical_threshold(costs: Costs, mu: float, rework: float) -> float:
    """Return the probability of failure above which System 2 is cheaper.

    Solves `cheap + mu p (redo + damage) = deep + p rework deep` for p: a failed System 1 step is redone and does damage, a System 2 step has to be redone with probability `rework` where System 1 would have failed.

    Args:
        costs: Costs of the two modes.
        mu: Shadow price of a miss, above 0.
        rework: Probability in [0, 1] that System 2 goes astray on a critical step.
    """
    premium = costs.deep - costs.cheap
    saved = mu * costs.failure - rework * costs.deep
    return premium / saved if saved > premium else 1.0


def label_from_facts(facts: Facts, estimate: float) -> Label:
    """Derive a label from what was verified, and take opinions for what they are.

    A failed or passed System 1 step is a label of full weight; a pass of a verifier with recall r < 1 leaves the
    probability that a failure went unnoticed. A System 2 step says nothing about System 1 unless a probe ran beside it:
    the caller's own score then counts little, and "System 2 was used, so it was critical" counts nothing, because a
    scheduler that believes it locks itself into System 2.

    Args:
        facts: The report.
        estimate: Present probability in [0, 1] that System 1 fails on this step.
    """
    outcome, observed = facts.outcome, facts.observed_criticality
    if outcome == "s1_fail" or outcome == "s2_probe_fail":
        return Label(1.0, 1.0, outcome)
    if outcome == "s1_pass":
        missed = estimate * (1.0 - facts.verifier_recall)
        return Label(missed / (1.0 - estimate * facts.verifier_recall) if missed > 0.0 else 0.0, 1.0, outcome)
    if outcome == "s2_probe_pass":
        return Label(0.0, 1.0, outcome)
    if outcome == "s1_unchecked" or observed is None:
        return Label(None, 0.0, outcome or "none")
    if facts.mode == "system1" and outcome is None:
        return Label(observed, 1.0, "observed")
    if outcome is None and observed == 1.0:
        return Label(None, 0.0, "refused")
    return Label(observed, OPINION_WEIGHT, "opinion")


def label_as_told(facts: Facts) -> Label:
    """Take the caller's score as it is; without one, a failure counts 1, a pass 0, and anything else nothing."""
    if facts.observed_criticality is not None:
        return Label(facts.observed_criticality, 1.0, "observed")
    if facts.outcome == "s1_fail" or facts.outcome == "s2_probe_fail":
        return Label(1.0, 1.0, facts.outcome)
    if facts.outcome == "s1_pass" or facts.outcome == "s2_probe_pass":
        return Label(0.0, 1.0, facts.outcome)
    return Label(None, 0.0, facts.outcome or "none")


def compact_threshold(mu: float) -> float:
    """Return the context pollution in [0, 1] above which a System 2 step should be preceded by compaction."""
    return clamp01(0.6 - 0.1 * (mu - 1.0))
