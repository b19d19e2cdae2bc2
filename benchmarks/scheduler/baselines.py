"""The strong simple rival: one Bayesian logistic regression that forgets, or starts anew when its loss drifts up."""

import math
from collections.abc import Mapping
from typing import Any

from scheduler.experience import Experience, Label, Reported
from scheduler.fixed import linear_decision
from scheduler.policy import Facts, Question, critical_threshold, label_from_facts
from scheduler.readout import Head, Situation, squash
from scheduler.types import Decision, Signals

VARIANCE = (4.0, 25.0, 25.0, 9.0)
FORGETTING = 0.03
SLACK, LEVEL, SETTLED = 0.1, 5.0, 10


class BayesianLogistic:
    """One affine Bayesian read-out.

    Args:
        reset: True: start anew when a Page-Hinkley test (Page 1954) on the log loss fires; False: let every label widen
            the belief a little.
    """

    name = "logistic"
    n_prototypes = 1

    def __init__(self, *, reset: bool) -> None:
        self.mu = 1.0
        self._reset = reset
        self._restart()
        self._total = 0

    def _restart(self) -> None:
        self._head = Head((0.0, 0.0, 0.0, 0.0), VARIANCE)
        self._n, self._mean_loss, self._excess, self._lowest = 0, 0.0, 0.0, 0.0

    @property
    def n_labels(self) -> int:
        """Labels learnt from."""
        return self._total

    def track(self) -> None:
        """Sessions leave no trace."""

    def decide(self, track: None, question: Question) -> Decision:
        """Compare the prediction with the threshold of the costs."""
        threshold = critical_threshold(question.costs, self.mu, 0.0)
        return linear_decision(self.name, question, self.estimate(track, question.signals), threshold)

    def estimate(self, track: None, signals: Signals) -> float:
        """Return the probability in (0, 1) of a critical step."""
        x = Situation.of(signals, quadratic=False)
        return squash(*self._head.moments(x.phi[0], x.outer[0]))

    def label(self, facts: Facts, estimate: float) -> Label:
        """Derive a label from what was verified."""
        return label_from_facts(facts, estimate)

    def observe(self, track: None, experience: Experience) -> None:
        """Learn a label; start anew if the losses of late are too large."""
        if not isinstance(experience, Reported) or experience.label.value is None:
            return
        y, weight = experience.label.value, experience.label.weight
        if self._reset:
            self._watch(self.estimate(track, experience.signals), y)
        x = Situation.of(experience.signals, quadratic=False)
        self._head.learn(x.phi[0], y, weight)
        self._total += 1
        if not self._reset:
            for i, limit in enumerate(VARIANCE):
                at = i * (len(VARIANCE) + 1)
                self._head.covariance[at] = min(limit, self._head.covariance[at] + FORGETTING)

    def _watch(self, p: float, y: float) -> None:
        loss = -math.log(max(1e-6, y * p + (1 - y) * (1 - p)))
        self._n += 1
        self._mean_loss += (loss - self._mean_loss) / self._n
        self._excess += loss - self._mean_loss - SLACK
        self._lowest = min(self._lowest, self._excess)
        if self._n >= SETTLED and self._excess - self._lowest > LEVEL:
            self._restart()

    def dump(self) -> dict[str, Any]:
        """Baselines are not kept."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Baselines are not kept."""

    def dump_track(self, track: None) -> dict[str, Any]:
        """Baselines are not kept."""
        return {}

    def restore_track(self, state: Mapping[str, Any]) -> None:
        """Baselines are not kept."""

    def prototypes(self) -> list[dict[str, Any]]:
        """Baselines are not shown."""
        return []
