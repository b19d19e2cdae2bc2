"""Policies without a library worth the name: fixed rules and a logistic router, as safe fallbacks and as baselines."""

import math
from collections.abc import Mapping
from typing import Any

from scheduler.errors import StateError
from scheduler.experience import Experience, Label, Reported
from scheduler.policy import Facts, Question, compact_threshold, critical_threshold, label_from_facts
from scheduler.types import Decision, Signals, number, unit

STATIC_CUT = 0.6
"""Difficulty hint from which the policy `static` deliberates."""


class Fixed:
    """Always System 1, always System 2, or System 2 from a fixed difficulty on. Learns nothing.

    Args:
        name: `always-s1`, `always-s2` or `static`.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.mu = 1.0

    @property
    def n_prototypes(self) -> int:
        """None are kept."""
        return 0

    @property
    def n_labels(self) -> int:
        """Nothing is learnt."""
        return 0

    def track(self) -> None:
        """Sessions leave no trace."""

    def decide(self, track: None, question: Question) -> Decision:
        """Apply the rule."""
        estimate, threshold = self._rule(question.signals)
        return linear_decision(self.name, question, estimate, threshold)

    def estimate(self, track: None, signals: Signals) -> float:
        """Return the value the rule compares."""
        return self._rule(signals)[0]

    def label(self, facts: Facts, estimate: float) -> Label:
        """Derive a label, for the calibration only."""
        return label_from_facts(facts, estimate)

    def observe(self, track: None, experience: Experience) -> None:
        """Learn nothing."""

    def dump(self) -> dict[str, Any]:
        """Return an empty library."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """There is nothing to restore."""

    def dump_track(self, track: None) -> dict[str, Any]:
        """Return an empty track."""
        return {}

    def restore_track(self, state: Mapping[str, Any]) -> None:
        """There is nothing to restore."""

    def prototypes(self) -> list[dict[str, Any]]:
        """None are kept."""
        return []

    def _rule(self, signals: Signals) -> tuple[float, float]:
        if self.name == "static":
            # The rule says "from the cut on"; a decision compares "above", so the cut lies one step of a float below.
            return signals.difficulty_hint, math.nextafter(STATIC_CUT, 0.0)
        return (0.0, 1.0) if self.name == "always-s1" else (1.0, 0.0)


class Router:
    """Logistic regression on bias and both hints, by stochastic gradient descent.

    Args:
        learning_rate: Step of the gradient.
        cut: Cut in [0, 1] that replaces the probability where System 2 pays.
    """

    name = "router"

    def __init__(self, *, learning_rate: float = 0.15, cut: float | None = None) -> None:
        self.mu = 1.0
        self._rate = number("learning_rate", learning_rate)
        self._cut = None if cut is None else unit("cut", cut)
        self._weights = [0.0, 0.0, 0.0]
        self._n_labels = 0

    @property
    def n_prototypes(self) -> int:
        """One set of weights for everything."""
        return 1

    @property
    def n_labels(self) -> int:
        """Labels learnt from."""
        return self._n_labels

    def track(self) -> None:
        """Sessions leave no trace."""

    def decide(self, track: None, question: Question) -> Decision:
        """Take System 2 above the cut."""
        w, signals = self._weights, question.signals
        parts = {
            "bias": w[0],
            "criticality_hint": w[1] * signals.criticality_hint,
            "difficulty_hint": w[2] * signals.difficulty_hint,
        }
        cut = critical_threshold(question.costs, self.mu, 0.0) if self._cut is None else self._cut
        return linear_decision(
            self.name, question, self.estimate(track, signals), cut, contributions=parts, n_labels=self._n_labels
        )

    def estimate(self, track: None, signals: Signals) -> float:
        """Return the probability in (0, 1) that the step is critical."""
        w = self._weights
        score = w[0] + w[1] * signals.criticality_hint + w[2] * signals.difficulty_hint
        return 1.0 / (1.0 + math.exp(-score))

    def label(self, facts: Facts, estimate: float) -> Label:
        """Derive a label from what was verified."""
        return label_from_facts(facts, estimate)

    def observe(self, track: None, experience: Experience) -> None:
        """Take one gradient step on a label."""
        if not isinstance(experience, Reported) or experience.label.value is None:
            return
        x = experience.signals
        error = experience.label.value - self.estimate(track, x)
        step = self._rate * experience.label.weight * error
        for i, value in enumerate((1.0, x.criticality_hint, x.difficulty_hint)):
            self._weights[i] += step * value
        self._n_labels += 1

    def dump(self) -> dict[str, Any]:
        """Return the weights as JSON-ready values."""
        return {"weights": list(self._weights), "nLabels": self._n_labels}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Replace the weights by dumped ones.

        Raises:
            StateError: A field is missing or of the wrong kind.
        """
        try:
            bias, criticality, difficulty = (float(w) for w in state["weights"])
            n_labels = int(state["nLabels"])
        except (KeyError, TypeError, ValueError) as error:
            raise StateError(f"damaged router library: {error!r}") from error
        self._weights, self._n_labels = [bias, criticality, difficulty], n_labels

    def dump_track(self, track: None) -> dict[str, Any]:
        """Return an empty track."""
        return {}

    def restore_track(self, state: Mapping[str, Any]) -> None:
        """There is nothing to restore."""

    def prototypes(self) -> list[dict[str, Any]]:
        """Return the one set of weights."""
        names = ("bias", "criticality_hint", "difficulty_hint")
        weights = {name: round(w, 4) for name, w in zip(names, self._weights, strict=True)}
        return [{"id": 1, "n": self._n_labels, "readoutWeights": weights}]


def linear_decision(
    policy: str,
    question: Question,
    estimate: float,
    threshold: float,
    *,
    contributions: Mapping[str, float] | None = None,
    n_labels: int = 0,
) -> Decision:
    """Return the decision of a policy that compares one estimate in [0, 1] with one threshold in [0, 1]."""
    costs, deep = question.costs, estimate > threshold
    at_stake = estimate * costs.failure
    return Decision(
        decision_id=question.decision_id,
        mode="system2" if deep else "system1",
        policy=policy,
        p_critical=estimate,
        criticality_estimate=estimate,
        threshold=threshold,
        familiarity=1.0,
        surprise=0.0,
        confidence=1.0,
        mu=1.0,
        rob_gain=at_stake,
        eco_cost=costs.deep - costs.cheap,
        expected_cost_s1=costs.cheap + at_stake,
        expected_cost_s2=costs.deep,
        suggest_compact=deep and question.pollution > compact_threshold(1.0),
        contributions=contributions or {},
        probe=deep and question.probe_due,
        n_labels=n_labels,
    )
