"""The arms: the shipped policies, baselines, and the bounds that know what no scheduler can know."""

from collections.abc import Callable
from typing import Any

from benchmarks.scheduler.baselines import BayesianLogistic
from benchmarks.scheduler.run import ASTRAY, Arm, Told
from benchmarks.scheduler.streams import Step, Stream
from scheduler import Costs, Signals
from scheduler.policy import Policy, critical_threshold
from scheduler.registry import make_policy
from scheduler.session import Session


class Learner:
    """A policy behind a session, fed as a program would feed it.

    Args:
        policy: The policy.
        costs: Costs of the two modes.
        own_pollution: Leave pollution to the session's own estimate.
        escalation_counts: An escalated System 1 step counts as deliberated, as the threshold variant has it.
        recall: Recall in [0, 1] of the verifier, told with every report.
    """

    def __init__(
        self,
        policy: Policy[Any],
        costs: Costs,
        *,
        own_pollution: bool = False,
        escalation_counts: bool = False,
        recall: float = 1.0,
    ) -> None:
        self.session = Session(policy, costs=costs)
        self._own_pollution = own_pollution
        self._escalation_counts = escalation_counts
        self._recall = recall

    def new_task(self) -> None:
        """Begin a task."""
        self.session.new_task()

    def choose(self, step: Step, pollution: float) -> tuple[bool, float, str]:
        """Decide from the signals alone."""
        x = step.signals
        signals = Signals(
            criticality_hint=x.criticality_hint,
            difficulty_hint=x.difficulty_hint,
            progress=x.progress,
            context_pollution=None if self._own_pollution else pollution,
        )
        decision = self.session.decide(signals)
        return decision.mode == "system2", decision.p_critical, decision.decision_id

    def learn(self, handle: str, deep: bool, told: Told) -> None:
        """Report what the caller was told."""
        self.session.report(
            handle,
            told.outcome,
            self._recall,
            told.observed,
            told.rework,
            used_system2=deep or (self._escalation_counts and told.failed),
        )

    def end_task(self, success: bool) -> None:
        """End the task."""
        self.session.feedback(success)


class Oracle:
    """Knows which steps are critical."""

    def new_task(self) -> None:
        """Nothing to prepare."""

    def choose(self, step: Step, pollution: float) -> tuple[bool, float, str]:
        """Use System 2 exactly where it is needed."""
        return step.critical, float(step.critical), ""

    def learn(self, handle: str, deep: bool, told: Told) -> None:
        """Nothing to learn."""

    def end_task(self, success: bool) -> None:
        """Nothing to conclude."""


class Informed(Oracle):
    """Knows the rules and which one is at work, and takes the mode of lower expected cost."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._task, self._step = -1, 0

    def new_task(self) -> None:
        """Begin a task."""
        self._task += 1
        self._step = 0

    def choose(self, step: Step, pollution: float) -> tuple[bool, float, str]:
        """Compare expected costs."""
        p = self._probability(step)
        self._step += 1
        rework = max(0.0, pollution - ASTRAY) if self._stream.reworks else 0.0
        return p > critical_threshold(self._stream.costs, 1.0, rework), p, ""

    def _probability(self, step: Step) -> float:
        return self._stream.rules[step.regime](self._task, step.signals)


class BayesFilter(Informed):
    """Knows the rules and how often they change, and infers which one is at work from the truth of every step."""

    def __init__(self, stream: Stream) -> None:
        super().__init__(stream)
        self._belief = [1.0 / len(stream.rules)] * len(stream.rules)

    def _probability(self, step: Step) -> float:
        self._belief = self._stream.transition(self._task, self._step, self._belief)
        each = [rule(self._task, step.signals) for rule in self._stream.rules]
        p = sum(share * value for share, value in zip(self._belief, each, strict=True))
        joint = [
            share * max(1e-6, value if step.critical else 1 - value)
            for share, value in zip(self._belief, each, strict=True)
        ]
        total = sum(joint)
        self._belief = [value / total for value in joint]
        return p


def learner(policy: str, *, told: dict[str, Any] | None = None, **knobs: Any) -> Callable[[Stream], Arm]:
    """Return the maker of an arm that runs a shipped policy at the costs of the stream."""
    return lambda stream: Learner(make_policy(policy, **knobs), stream.costs, **(told or {}))


def _auction(rule: str) -> Callable[[Stream], Arm]:
    bid = rule == "bid"
    return lambda stream: Learner(
        make_policy("auction", decision=rule),
        stream.costs,
        own_pollution=bid and not stream.tells_pollution,
        escalation_counts=not bid,
    )


def _bayesian(reset: bool) -> Callable[[Stream], Arm]:
    return lambda stream: Learner(BayesianLogistic(reset=reset), stream.costs)


BOUNDS: dict[str, Callable[[Stream], Arm]] = {
    "always-s1": learner("always-s1"),
    "always-s2": learner("always-s2"),
    "bayes-filter": BayesFilter,
    "knows-regime": Informed,
    "oracle": lambda stream: Oracle(),
}
"""Rows that every table carries."""

RIVALS: dict[str, Callable[[Stream], Arm]] = {
    "static": learner("static"),
    "router": learner("router"),
    "router-1.0": learner("router", learning_rate=1.0),
    "logistic-forgetting": _bayesian(reset=False),
    "logistic-reset": _bayesian(reset=True),
    "auction-bid": _auction("bid"),
    "auction-threshold": _auction("threshold"),
}

REGIME: dict[str, Callable[[Stream], Arm]] = {"regime": learner("regime")}

ABLATIONS: dict[str, Callable[[Stream], Arm]] = {
    "no-challengers": learner("regime", every=10**9),
    "no-flips": learner("regime", flips=False),
    "one-hazard-pair": learner("regime", task_rates=(0.1,), step_rates=(0.015,)),
    "affine-only": learner("regime", quadratic=False),
    "greedy": learner("regime", explore="greedy"),
    "two-regimes": learner("regime", max_regimes=2),
    "no-pollution-table": learner("regime", rework=False),
    "cut-.5": learner("regime", threshold=0.5),
}

ARMS = {**BOUNDS, **RIVALS, **REGIME, **ABLATIONS}
"""Every arm; each runs on every environment."""
