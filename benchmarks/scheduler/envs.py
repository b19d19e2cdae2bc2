"""All environments by name."""

import math
import random
from collections.abc import Callable

from benchmarks.scheduler.seed53 import seed53_free
from benchmarks.scheduler.streams import (
    CUT,
    Belief,
    Draws,
    Rule,
    Step,
    Stream,
    change_between_steps,
    change_between_tasks,
    clamp01,
    constant,
    drawn,
    rule_a,
    rule_b,
    seed51,
    seed51_indep,
)
from scheduler import Costs, Signals

RARE_COSTS = Costs(cheap=1, deep=5, damage=25)


def coding(c: float, d: float, p: float) -> float:
    """Late and difficult steps are critical."""
    return 0.6 * d + 0.4 * p


def ops(c: float, d: float, p: float) -> float:
    """Early and easy-looking steps are critical."""
    return 0.7 * (1 - d) + 0.3 * (1 - p)


def _only(task: int, step: int) -> int:
    return 0


def stationary(seed: int) -> Stream:
    """One rule all along."""
    return drawn("stationary", seed, rules=(rule_a,), regime=_only, transition=constant)


def nonlinear(seed: int) -> Stream:
    """Two conjunctions over 90 tasks."""

    def rule(c: float, d: float, p: float) -> float:
        return 0.30 + 0.45 * (c > 0.5 and d > 0.5) + 0.40 * (p > 0.7 and d < 0.4)

    return drawn("nonlinear", seed, rules=(rule,), regime=_only, transition=constant, tasks=90)


def nosignal(seed: int) -> Stream:
    """Hints say nothing; 40 % of the steps are critical."""
    draws = Draws("nosignal", seed)
    tasks = []
    for task in range(60):
        luck, row = draws.luck(task), []
        for i in range(8):
            c, d, u = draws.situation.random(), draws.situation.random(), draws.situation.random()
            signals = Signals(criticality_hint=c, difficulty_hint=d, progress=i / 8)
            row.append(Step(signals, u < 0.4, 0, luck.random(), float(u < 0.4)))
        tasks.append(tuple(row))
    return Stream(family="nosignal", seed=seed, tasks=tuple(tasks), rules=(lambda task, x: 0.4,), transition=constant)


def pollution(seed: int) -> Stream:
    """20 tasks of 24 steps; a full context makes System 2 go astray."""
    return drawn(
        "pollution",
        seed,
        rules=(coding,),
        regime=_only,
        transition=constant,
        tasks=20,
        steps=24,
        noise=0.2,
        reworks=True,
    )


def drift(seed: int) -> Stream:
    """The direction of the rule turns by half a circle over 60 tasks."""

    def turned(k: int) -> Rule:
        t = math.pi * k / 59
        return lambda c, d, p: 0.5 + 0.8 * (math.cos(t) * (c - 0.5) + math.sin(t) * (d - 0.5))

    return drawn("drift", seed, rules=[turned(k) for k in range(60)], regime=lambda k, i: k, transition=_on_schedule)


def _on_schedule(task: int, step: int, belief: Belief) -> Belief:
    return [float(k == task) for k in range(len(belief))]


def recurring(seed: int) -> Stream:
    """Rules A and B alternate every 10 of 120 tasks."""
    return drawn(
        "recurring",
        seed,
        rules=(rule_a, rule_b),
        regime=lambda task, i: task // 10 % 2,
        transition=change_between_tasks(0.1),
        tasks=120,
    )


def recurring3(seed: int) -> Stream:
    """Three rules in turn; each stays for 20 to 90 steps, so changes fall inside tasks."""
    dwell = random.Random(f"dwell/recurring3/{seed}")
    schedule: list[int] = []
    index = 0
    while len(schedule) < 640:
        schedule += [index] * dwell.randint(20, 90)
        index = (index + 1) % 3
    return drawn(
        "recurring3",
        seed,
        rules=(rule_a, rule_b, lambda c, d, p: 0.2 * c + 0.8 * d),
        regime=lambda task, i: schedule[task * 8 + i],
        transition=change_between_steps(1 / 55),
        tasks=80,
    )


def domains(seed: int) -> Stream:
    """Coding until task 80 of 120, then ops; both hints show the difficulty."""
    return drawn(
        "domains",
        seed,
        rules=(coding, ops),
        regime=lambda task, i: int(task >= 80),
        transition=change_between_tasks(1 / 120),
        tasks=120,
        noise=0.2,
        single_hint=True,
    )


def adversarial(seed: int) -> Stream:
    """Both hints show a latent state through noise; in a quarter of the tasks the better one is inverted."""
    draws = Draws("adversarial", seed)
    tasks = []
    for task in range(60):
        luck, row = draws.luck(task), []
        inverted = draws.situation.random() < 0.25
        for i in range(8):
            s = draws.situation.random()
            d = clamp01(s + 0.6 * (draws.situation.random() - 0.5))
            c = clamp01(s + 0.3 * (draws.situation.random() - 0.5))
            signals = Signals(criticality_hint=1 - c if inverted else c, difficulty_hint=d, progress=i / 8)
            row.append(Step(signals, s > CUT, int(inverted), luck.random(), s))
        tasks.append(tuple(row))

    def straight(task: int, x: Signals) -> float:
        return _latent(x.criticality_hint, x.difficulty_hint)

    def reversed_(task: int, x: Signals) -> float:
        return _latent(1 - x.criticality_hint, x.difficulty_hint)

    return Stream(
        family="adversarial",
        seed=seed,
        tasks=tuple(tasks),
        rules=(straight, reversed_),
        transition=lambda task, step, belief: [0.75, 0.25] if step == 0 else belief,
    )


def _latent(c: float, d: float) -> float:
    """P(s > cut | both hints): s is uniform on the intersection of the hints' intervals."""
    low, high = max(0.0, c - 0.15, d - 0.3), min(1.0, c + 0.15, d + 0.3)
    if high <= low:
        return 0.5
    return clamp01((high - max(low, CUT)) / (high - low))


def rare(seed: int, *, family: str = "rare", labels: str = "full") -> Stream:
    """About 6 % of the steps are critical and a miss does damage 25."""
    return drawn(
        family,
        seed,
        rules=(
            lambda c, d, p: 0.55 * c + 0.25 * d + 0.1 * p,
            lambda c, d, p: 0.55 * (1 - c) + 0.25 * d + 0.1 * p,
        ),
        regime=lambda task, i: int(task >= 30),
        transition=change_between_tasks(1 / 60),
        noise=0.4,
        cut=0.78,
        costs=RARE_COSTS,
        labels=labels,
    )


def _variant(labels: str) -> Callable[[int], Stream]:
    return lambda seed: seed51_indep(seed, family=labels, labels=labels)


ENVIRONMENTS: dict[str, Callable[[int], Stream]] = {
    "seed51": seed51,
    "seed51_indep": seed51_indep,
    "seed53_free": seed53_free,
    "stationary": stationary,
    "nonlinear": nonlinear,
    "drift": drift,
    "recurring": recurring,
    "recurring3": recurring3,
    "domains": domains,
    "noisy": _variant("noisy"),
    "delayed": _variant("delayed"),
    "adversarial": adversarial,
    "pollution": pollution,
    "rare": rare,
    "rare_partial": lambda seed: rare(seed, family="rare_partial", labels="partial_s1"),
    "partial_s1": _variant("partial_s1"),
    "partial_s2fail": _variant("partial_s2fail"),
    "silent": _variant("silent"),
    "selfreport": _variant("selfreport"),
    "nosignal": nosignal,
}
"""Family -> stream of a seed."""
