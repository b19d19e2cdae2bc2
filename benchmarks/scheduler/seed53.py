"""The published mid-task reversal (seed text, section 5.3): episodes of 16 steps whose rule flips half-way."""

from dataclasses import dataclass

from benchmarks.scheduler.rng import Mulberry32
from benchmarks.scheduler.streams import SEED53_SEED, Belief, Draws, Step, Stream, clamp01
from scheduler import Signals

LENGTH = 16
WARM_UP, EVALUATION = 80, 50
CUT53 = 0.6
CRITICALITY_BLUR, DIFFICULTY_BLUR = 0.25, 0.2
NEVER = 2.0
"""Flip point of an episode that keeps its rule."""
FLIP_STEPS = range(5, 13)
"""Steps at which the rule of an evaluation episode can flip: 30 % to 70 % of 16."""


@dataclass(frozen=True, slots=True)
class EpisodeStep:
    """One step: what is seen, and the truth."""

    signals: Signals
    critical: bool
    difficulty: float
    regime: int
    value: float
    """True criticality in [0, 1]."""


@dataclass(frozen=True, slots=True)
class Episode:
    """One task."""

    flip: float
    """Progress at which the rule flips."""
    steps: tuple[EpisodeStep, ...]


def draw_episodes(draw: Mulberry32) -> list[Episode]:
    """Draw the warm-up and then the evaluation episodes."""
    return [_episode(draw, evaluation=number >= WARM_UP) for number in range(WARM_UP + EVALUATION)]


def _episode(draw: Mulberry32, *, evaluation: bool) -> Episode:
    start = 0 if draw() < 0.5 else 1
    flip = 0.3 + 0.4 * draw() if evaluation else NEVER
    steps = tuple(_step(draw, i, 1 - start if i / LENGTH >= flip else start) for i in range(LENGTH))
    return Episode(flip, steps)


def _step(draw: Mulberry32, i: int, regime: int) -> EpisodeStep:
    a = draw()
    difficulty = clamp01(0.15 + 0.7 * draw())
    criticality_hint = clamp01(a + CRITICALITY_BLUR * (draw() - 0.5))
    difficulty_hint = clamp01(difficulty + DIFFICULTY_BLUR * (draw() - 0.5))
    signals = Signals(criticality_hint=criticality_hint, difficulty_hint=difficulty_hint, progress=i / LENGTH)
    value = 1 - a if regime else a
    return EpisodeStep(signals, value > CUT53, difficulty, regime, value)


def seed53_free(seed: int) -> Stream:
    """The same steps at plain costs 1 and 5 and without a budget."""
    luck = Draws("seed53_free", seed)
    tasks = []
    for number, episode in enumerate(draw_episodes(Mulberry32(SEED53_SEED + seed))):
        chance = luck.luck(number)
        tasks.append(tuple(Step(s.signals, s.critical, s.regime, chance.random(), s.value) for s in episode.steps))
    return Stream(
        family="seed53_free",
        seed=seed,
        tasks=tuple(tasks),
        rules=(lambda task, x: critical_probability(x)[0], lambda task, x: critical_probability(x)[1]),
        transition=flip_belief,
    )


def flip_belief(task: int, step: int, belief: Belief) -> Belief:
    """Transition: even odds at the start of an episode; in the evaluation one flip somewhere in the middle."""
    if step == 0:
        return [0.5, 0.5]
    if task < WARM_UP or step not in FLIP_STEPS:
        return belief
    rate = 1 / len(FLIP_STEPS)
    return [own * (1 - rate) + other * rate for own, other in zip(belief, reversed(belief), strict=True)]


def critical_probability(x: Signals) -> tuple[float, float]:
    """Return P(critical | criticality hint) under both rules: the latent a is uniform within the blur around the hint."""
    low = max(0.0, x.criticality_hint - CRITICALITY_BLUR / 2)
    high = min(1.0, x.criticality_hint + CRITICALITY_BLUR / 2)
    width = high - low
    return clamp01((high - max(low, CUT53)) / width), clamp01((min(high, 1 - CUT53) - low) / width)
