"""Streams of steps with known truth: everything an environment draws before any arm is asked.

A stream depends on (family, seed) only. What an arm's choice may trigger (rework, an unseen failure, a lost report) hangs
on one number per step, drawn beforehand, so that every arm meets the same luck.
"""

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.scheduler.rng import Mulberry32
from scheduler import Costs, Signals

CUT = 0.55
NOISE = 0.25
"""Width of the uniform noise around a rule's value."""
SEED51_SEED, SEED53_SEED = 20260607, 2000

Rule = Callable[[float, float, float], float]
"""(criticality hint, difficulty hint, progress) -> probability in [0, 1] that the step is critical."""
Belief = list[float]
Transition = Callable[[int, int, Belief], Belief]
"""(task, step, belief before) -> belief over the rules at that step, for whoever knows how rules change."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step: what the scheduler may see, and the truth."""

    signals: Signals
    critical: bool
    regime: int
    """Index of the rule at work."""
    luck: float
    """Uniform in [0, 1); decides whatever may happen once the step is executed."""
    value: float
    """True criticality in [0, 1], of which `critical` is the upper part."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stream:
    """The steps of one environment and seed, and what a Bayesian may know of them."""

    family: str
    seed: int
    tasks: tuple[tuple[Step, ...], ...]
    rules: tuple[Callable[[int, Signals], float], ...]
    """(task, signals) -> probability in [0, 1] of a critical step, one per regime."""
    transition: Transition
    costs: Costs = Costs()
    labels: str = "full"
    """Who says what: see `feedback.py`."""
    reworks: bool = False
    """System 2 on a critical step is redone with probability max(0, pollution - .6)."""
    tells_pollution: bool = False
    """The environment's own measure of pollution reaches every arm, the bidding auction included."""

    def steps(self) -> Iterator[Step]:
        """Return all steps in order."""
        for task in self.tasks:
            yield from task


def clamp01(value: float) -> float:
    """Return the value limited to [0, 1]."""
    return max(0.0, min(1.0, value))


def round3(value: float) -> float:
    """Round half up to 3 decimals, as the published code does."""
    return math.floor(value * 1000 + 0.5) / 1000


def noisy(base: Rule, *, noise: float = NOISE, cut: float = CUT) -> Callable[[int, Signals], float]:
    """Return the probability that a rule's value plus uniform noise of this width exceeds the cut."""

    def probability(task: int, x: Signals) -> float:
        value = base(x.criticality_hint, x.difficulty_hint, x.progress)
        return clamp01((value + noise / 2 - cut) / noise)

    return probability


def constant(task: int, step: int, belief: Belief) -> Belief:
    """Transition where nothing changes."""
    return belief


def change_between_tasks(rate: float) -> Transition:
    """Return the transition that changes to another rule with this probability at the start of every task but the first."""

    def transition(task: int, step: int, belief: Belief) -> Belief:
        return _mixed(belief, rate) if step == 0 and task > 0 else belief

    return transition


def change_between_steps(rate: float) -> Transition:
    """Return the transition that changes to another rule with this probability at every step but the first."""

    def transition(task: int, step: int, belief: Belief) -> Belief:
        return _mixed(belief, rate) if task or step else belief

    return transition


def _mixed(belief: Belief, rate: float) -> Belief:
    others = len(belief) - 1
    return [(1 - rate) * own + rate * (1 - own) / others for own in belief]


class Draws:
    """Mersenne Twister draws of one (family, seed): the situation, and the luck of each task."""

    def __init__(self, family: str, seed: int) -> None:
        self.family, self.seed = family, seed
        self.situation = random.Random(f"gen/{family}/{seed}")

    def luck(self, task: int) -> random.Random:
        """Return the generator of what happens when the steps of a task are executed."""
        return random.Random(f"{self.family}/{self.seed}/{task}")


def drawn(
    family: str,
    seed: int,
    *,
    rules: Sequence[Rule],
    regime: Callable[[int, int], int],
    transition: Transition,
    tasks: int = 60,
    steps: int = 8,
    noise: float = NOISE,
    cut: float = CUT,
    single_hint: bool = False,
    costs: Costs | None = None,
    labels: str = "full",
    reworks: bool = False,
) -> Stream:
    """Return a stream whose hints are uniform and independent and whose rule value is blurred by uniform noise.

    Args:
        family: Name of the environment.
        seed: Replication.
        rules: Value in [0, 1] per regime; the step is critical where value plus noise exceeds the cut.
        regime: (task, step) -> index of the rule at work.
        transition: How the rules change, for the Bayes filter.
        tasks: Number of tasks.
        steps: Steps per task.
        noise: Width of the noise.
        cut: Value above which a step is critical.
        single_hint: Both hints show the difficulty.
        costs: Costs of the two modes.
        labels: Who says what.
        reworks: Whether System 2 may have to be redone.
    """
    draws = Draws(family, seed)
    built = []
    for task in range(tasks):
        luck = draws.luck(task)
        row = []
        for i in range(steps):
            c, d, blur = draws.situation.random(), draws.situation.random(), draws.situation.random()
            c = d if single_hint else c
            index = regime(task, i)
            value = clamp01(rules[index](c, d, i / steps) + noise * (blur - 0.5))
            signals = Signals(criticality_hint=c, difficulty_hint=d, progress=i / steps)
            row.append(Step(signals, value > cut, index, luck.random(), value))
        built.append(tuple(row))
    return Stream(
        family=family,
        seed=seed,
        tasks=tuple(built),
        rules=tuple(noisy(rule, noise=noise, cut=cut) for rule in rules),
        transition=transition,
        costs=costs or Costs(),
        labels=labels,
        reworks=reworks,
        tells_pollution=reworks,
    )


def seed51(seed: int) -> Stream:
    """The published stream: 60 tasks of 8 steps, both hints equal, the rule reversed after task 30."""
    draw = Mulberry32(SEED51_SEED + seed)
    luck = Draws("seed51", seed)
    tasks = []
    for task in range(60):
        chance, row = luck.luck(task), []
        for i in range(8):
            hint, blur = draw(), draw()
            value = round3(clamp01((hint if task < 30 else 1 - hint) + NOISE * (blur - 0.5)))
            shown = round3(hint)
            signals = Signals(criticality_hint=shown, difficulty_hint=shown, progress=round3(i / 8))
            row.append(Step(signals, value > CUT, int(task >= 30), chance.random(), value))
        tasks.append(tuple(row))
    return Stream(
        family="seed51",
        seed=seed,
        tasks=tuple(tasks),
        rules=(noisy(lambda c, d, p: c), noisy(lambda c, d, p: 1 - c)),
        transition=change_between_tasks(1 / 60),
    )


def rule_a(c: float, d: float, p: float) -> float:
    """Rule A of the streams with independent hints."""
    return 0.7 * c + 0.3 * d


def rule_b(c: float, d: float, p: float) -> float:
    """Rule B: rule A with both hints reversed."""
    return 0.7 * (1 - c) + 0.3 * (1 - d)


def seed51_indep(seed: int, *, family: str = "seed51_indep", labels: str = "full") -> Stream:
    """The published stream with independent hints; `family` and `labels` name its variants with poorer labels."""
    draw = Mulberry32(SEED51_SEED + seed)
    luck = Draws(family, seed)
    tasks = []
    for task in range(60):
        chance, row = luck.luck(task), []
        rule = rule_a if task < 30 else rule_b
        for i in range(8):
            d, c, blur = draw(), draw(), draw()
            value = round3(clamp01(rule(c, d, 0.0) + NOISE * (blur - 0.5)))
            signals = Signals(criticality_hint=round3(c), difficulty_hint=round3(d), progress=round3(i / 8))
            row.append(Step(signals, value > CUT, int(task >= 30), chance.random(), value))
        tasks.append(tuple(row))
    return Stream(
        family=family,
        seed=seed,
        tasks=tuple(tasks),
        rules=(noisy(rule_a), noisy(rule_b)),
        transition=change_between_tasks(1 / 60),
        labels=labels,
    )
