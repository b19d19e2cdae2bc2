"""The published mid-task reversal (seed text, section 5.3): episodes of 16 steps, as a plain stream and with its budget."""

from benchmarks.scheduler.rng import Mulberry32
from benchmarks.scheduler.streams import SEED53_SEED, Belief, Draws, Step, Stream, clamp01
from scheduler import Signals

LENGTH = 16
WARM_UP, EVALUATION = 80, 50
CUT53 = 0.6
CRITICALITY_BLUR, DIFFICULTY_BLUR = 0.25, 0.2


def draw_step(draw: Mulberry32, i: int, regime: int) -> tuple[Signals, bool, float]:
    """Draw one step; return signals, whether it is critical, and its difficulty in [.15, .85]."""
    a = draw()
    difficulty = clamp01(0.15 + 0.7 * draw())
    criticality_hint = clamp01(a + CRITICALITY_BLUR * (draw() - 0.5))
    difficulty_hint = clamp01(difficulty + DIFFICULTY_BLUR * (draw() - 0.5))
    critical = (1 - a if regime else a) > CUT53
    signals = Signals(criticality_hint=criticality_hint, difficulty_hint=difficulty_hint, progress=i / LENGTH)
    return signals, critical, difficulty


def draw_start(draw: Mulberry32, *, evaluation: bool) -> tuple[int, float]:
    """Draw the first regime of an episode and the progress at which it flips (2 = never)."""
    regime = 0 if draw() < 0.5 else 1
    return regime, 0.3 + 0.4 * draw() if evaluation else 2.0


def regime_at(start: int, flip: float, i: int) -> int:
    """Return the regime of step i."""
    return 1 - start if i / LENGTH >= flip else start


def episodes(draw: Mulberry32) -> list[list[tuple[Signals, bool, float, int]]]:
    """Draw the warm-up and the evaluation episodes; a step is (signals, critical, difficulty, regime)."""
    result = []
    for number in range(WARM_UP + EVALUATION):
        start, flip = draw_start(draw, evaluation=number >= WARM_UP)
        row = []
        for i in range(LENGTH):
            regime = regime_at(start, flip, i)
            row.append((*draw_step(draw, i, regime), regime))
        result.append(row)
    return result


def seed53_free(seed: int) -> Stream:
    """The same steps at plain costs 1 and 5 and without a budget."""
    luck = Draws("seed53_free", seed)
    tasks = []
    for number, episode in enumerate(episodes(Mulberry32(SEED53_SEED + seed))):
        chance = luck.luck(number)
        tasks.append(
            tuple(Step(signals, critical, regime, chance.random()) for signals, critical, _, regime in episode)
        )
    return Stream(
        family="seed53_free", seed=seed, tasks=tuple(tasks), rules=(_critical_a, _critical_b), transition=_transition
    )


def _transition(task: int, step: int, belief: Belief) -> Belief:
    """Even odds at the start of an episode; in the evaluation one flip, uniform over 30 % to 70 % of the episode."""
    if step == 0:
        return [0.5, 0.5]
    if task < WARM_UP:
        return belief
    return (
        belief
        if not 5 <= step <= 12
        else [belief[0] * 0.875 + belief[1] * 0.125, belief[1] * 0.875 + belief[0] * 0.125]
    )


def _critical_a(task: int, x: Signals) -> float:
    """P(a > .6 | criticality hint): a is uniform within the blur around the hint."""
    low, high = _interval(x.criticality_hint)
    return clamp01((high - max(low, CUT53)) / (high - low)) if high > CUT53 else 0.0


def _critical_b(task: int, x: Signals) -> float:
    low, high = _interval(x.criticality_hint)
    return clamp01((min(high, 1 - CUT53) - low) / (high - low)) if low < 1 - CUT53 else 0.0


def _interval(hint: float) -> tuple[float, float]:
    return max(0.0, hint - CRITICALITY_BLUR / 2), min(1.0, hint + CRITICALITY_BLUR / 2)
