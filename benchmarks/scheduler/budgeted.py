"""The published mid-task reversal with its budget (seed text, section 5.3): accuracy after the flip.

An episode may spend 24. A step is tried at most three times, each time one level higher; System 2 starts at the top level,
System 1 at the bottom. What is scored is whether the chosen start was the right one, at and after the flip of the rule.
"""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from benchmarks.scheduler.rng import Mulberry32
from benchmarks.scheduler.seed53 import LENGTH, WARM_UP, Episode, critical_probability, draw_episodes, flip_belief
from benchmarks.scheduler.streams import SEED53_SEED
from scheduler import Costs, Signals
from scheduler.registry import make_policy
from scheduler.session import Session

COSTS = (0.15, 0.45, 1.0, 3.0)
CAPABILITIES = tuple(0.55 + 0.45 * level / 3 for level in range(4))
STEEPNESS = 8.0
BUDGET, TOP, ATTEMPTS = 24.0, 3, 3
DEEP_LEVEL = 2
"""Level from which a step counts as deliberated."""
STATIC_CUT = 0.55
CRITICAL, HARMLESS = 0.9, 0.1
"""The labels the published auction is told."""


class Chooser(Protocol):
    """An arm of this experiment."""

    def new_task(self) -> None:
        """Begin an episode."""
        ...

    def choose(self, signals: Signals, pollution: float) -> bool:
        """Return whether System 2 starts the step."""
        ...

    def learn(self, *, critical: bool, deep: bool) -> None:
        """Learn the truth of the step; `deep`: a high level was reached."""
        ...

    def end_task(self, success: bool) -> None:
        """End the episode."""
        ...


@dataclass(slots=True)
class Router:
    """Logistic regression by stochastic gradient descent on bias and both hints, cut at one half."""

    weights: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    frozen: bool = False
    _x: tuple[float, float, float] = (1.0, 0.0, 0.0)
    _p: float = 0.5

    def new_task(self) -> None:
        """Nothing to prepare."""

    def choose(self, signals: Signals, pollution: float) -> bool:
        """Cut at one half."""
        self._x = (1.0, signals.criticality_hint, signals.difficulty_hint)
        self._p = _sigmoid(sum(w * x for w, x in zip(self.weights, self._x, strict=True)))
        return self._p > 0.5

    def learn(self, *, critical: bool, deep: bool) -> None:
        """Take a gradient step unless frozen."""
        if not self.frozen:
            error = 0.15 * (critical - self._p)
            self.weights = [w + error * x for w, x in zip(self.weights, self._x, strict=True)]

    def end_task(self, success: bool) -> None:
        """Nothing to conclude."""


class Rule(Router):
    """A fixed rule."""

    def __init__(self, deep: Callable[[Signals], bool]) -> None:
        super().__init__(frozen=True)
        self._deep = deep

    def choose(self, signals: Signals, pollution: float) -> bool:
        """Apply the rule."""
        return self._deep(signals)


class Scheduled:
    """A shipped policy; `scored`: told a score as the published auction is, else told the verified fact."""

    def __init__(self, policy: str, *, scored: bool, **knobs: Any) -> None:
        self._session = Session(make_policy(policy, **knobs), costs=Costs())
        self._scored = scored
        self._deep = False

    def new_task(self) -> None:
        """Begin an episode."""
        self._session.new_task()

    def choose(self, signals: Signals, pollution: float) -> bool:
        """Decide."""
        decision = self._session.decide(
            Signals(
                criticality_hint=signals.criticality_hint,
                difficulty_hint=signals.difficulty_hint,
                progress=signals.progress,
                context_pollution=pollution,
            )
        )
        self._deep = decision.mode == "system2"
        return self._deep

    def learn(self, *, critical: bool, deep: bool) -> None:
        """Report."""
        if self._scored:
            score = CRITICAL if critical else HARMLESS
            self._session.report(observed_criticality=score, used_system2=deep, was_deep=deep)
        elif self._deep:
            self._session.report(outcome="s2_probe_fail" if critical else "s2_probe_pass")
        else:
            self._session.report(outcome="s1_fail" if critical else "s1_pass")

    def end_task(self, success: bool) -> None:
        """End the episode."""
        self._session.feedback(success)


class Filter(Router):
    """Knows both rules and how they change, and infers which one is at work."""

    def __init__(self) -> None:
        super().__init__(frozen=True)
        self._belief = [0.5, 0.5]
        self._task, self._step = -1, 0
        self._each = (0.5, 0.5)

    def new_task(self) -> None:
        """Begin an episode."""
        self._task += 1

    def choose(self, signals: Signals, pollution: float) -> bool:
        """Cut the probability of a critical step at one half."""
        self._belief = flip_belief(self._task, round(signals.progress * LENGTH), self._belief)
        self._each = critical_probability(signals)
        return sum(share * p for share, p in zip(self._belief, self._each, strict=True)) > 0.5

    def learn(self, *, critical: bool, deep: bool) -> None:
        """Condition on the truth."""
        joint = [share * max(1e-6, p if critical else 1 - p) for share, p in zip(self._belief, self._each, strict=True)]
        self._belief = [value / sum(joint) for value in joint]


def play(arm: Chooser, episode: Episode, draw: Callable[[], float]) -> list[bool]:
    """Run one episode; return for each scored step whether the start was the right one.

    Args:
        arm: Who chooses.
        episode: Steps, drawn beforehand.
        draw: Chances of the attempts, uniform in [0, 1).
    """
    used, success, right = 0.0, True, []
    arm.new_task()
    for i, step in enumerate(episode.steps):
        remaining = BUDGET - used
        if remaining <= 0:
            success = False
            continue
        deep = arm.choose(step.signals, min(1.0, used / BUDGET))
        done, spent, level = attempt(TOP if deep else 0, step.difficulty, remaining, draw)
        used += spent
        if i / LENGTH >= episode.flip:
            right.append(deep == step.critical)
        success &= done or not step.critical
        arm.learn(critical=step.critical, deep=level >= DEEP_LEVEL)
    arm.end_task(success)
    return right


def attempt(start: int, difficulty: float, remaining: float, draw: Callable[[], float]) -> tuple[bool, float, int]:
    """Try a step, one level higher each time; return success, what was spent, and the last level."""
    level = 0 if start > 1 and remaining < COSTS[TOP] else start
    spent = 0.0
    for _ in range(ATTEMPTS):
        spent += COSTS[level]
        if draw() < _sigmoid(STEEPNESS * (CAPABILITIES[level] - difficulty)):
            return True, spent, level
        if spent >= remaining:
            break
        level = min(TOP, level + 1)
    return False, spent, level


def accuracy(arm: Chooser, episodes: Sequence[Episode], draw: Callable[[], float], *, warm_up: bool = True) -> float:
    """Return the percentage of right starts at and after the flips of the evaluation."""
    for episode in episodes[:WARM_UP] if warm_up else ():
        play(arm, episode, draw)
    right = [correct for episode in episodes[WARM_UP:] for correct in play(arm, episode, draw)]
    return 100 * sum(right) / len(right)


def published(seed: int) -> dict[str, float]:
    """Return the accuracies of one seed as published: the arms take turns on one generator, so their luck differs."""
    draw = Mulberry32(SEED53_SEED + seed)
    episodes = draw_episodes(draw)
    result = {"router-online": accuracy(Router(), episodes, draw)}
    frozen = Router()
    for episode in episodes[:WARM_UP]:
        play(frozen, episode, draw)
    frozen.frozen = True
    result["router-frozen"] = accuracy(frozen, episodes, draw, warm_up=False)
    result["static"] = accuracy(Rule(lambda x: x.criticality_hint > STATIC_CUT), episodes, draw, warm_up=False)
    state = draw.state
    result["auction-threshold"] = accuracy(_auction("threshold"), episodes, draw)
    draw.state = state
    result["auction-bid"] = accuracy(_auction("bid"), episodes, draw)
    return result


def paired(seed: int) -> dict[str, float]:
    """Return the accuracies of one seed where every arm meets the same luck, attempt by attempt."""
    episodes = draw_episodes(Mulberry32(SEED53_SEED + seed))
    arms: dict[str, Chooser] = {
        "regime (threshold .5)": Scheduled("regime", scored=False, threshold=0.5),
        "auction-threshold": _auction("threshold"),
        "auction-bid": _auction("bid"),
        "router-online": Router(),
        "never-critical": Rule(lambda x: False),
        "always-critical": Rule(lambda x: True),
        "bayes-filter": Filter(),
    }
    return {name: _paired_accuracy(arm, episodes, seed) for name, arm in arms.items()}


def _paired_accuracy(arm: Chooser, episodes: Sequence[Episode], seed: int) -> float:
    right: list[bool] = []
    for number, episode in enumerate(episodes):
        scored = play(arm, episode, random.Random(f"seed53/{seed}/{number}").random)
        right += scored if number >= WARM_UP else []
    return 100 * sum(right) / len(right)


def _auction(rule: str) -> Scheduled:
    return Scheduled("auction", scored=True, decision=rule)


def _sigmoid(value: float) -> float:
    return 1.0 / (1.0 + math.exp(-value))
