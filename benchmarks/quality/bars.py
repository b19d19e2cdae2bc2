"""What has to hold on the recorded sets, and the figures beside it. A bar is missed only where its interval excludes it."""

from collections.abc import Mapping, Sequence
from typing import Final

from benchmarks.quality.arms import BOOSTER, CHEAP, CHECKED, FRUGAL, PROGRAMS, ROUTED, STRONG, TAUGHT, VOTES, vote_name
from benchmarks.quality.measured import Measured
from benchmarks.quality.outcomes import difference
from benchmarks.quality.rivals import BETTER, ORACLE, STRONG_CALL, TWO_AGREE, Rival, best_of
from benchmarks.statistics import calibration_error, mean
from benchmarks.table import Bar, Figure

WRONG = 100
"""Price of a wrong answer in cheap calls: five strong ones, what the loop assumes where nothing is said."""

SAMPLES: Final[Mapping[str, tuple[float, float]]] = {
    "cruxeval-input": (5.1, -0.4),
    "cruxeval-output": (4.2, -0.5),
    "game24-io": (8.9, -0.4),
    "game24-cot": (16.6, -0.4),
}
"""Set -> most calls of the adaptive stop one by one, and the points that it may lose to the largest vote."""

UNREADABLE: Final[Mapping[str, float]] = {"game24-cot": 0.5}
"""Set -> percent of its solves whose answer may be one that the record does not hold; 0 where nothing is said. That one's
texts write, below their answer, what they think of it."""

REGRET = 1.15
"""Most that calls and wrong answers together may cost, over the best fixed rule in hindsight; mean over the routed sets."""

CALIBRATED = 0.12
"""Most calibration error of a confidence that says it was learnt, where every fifth question came with a check."""


CHOSEN = 33.5
"""Percent of the programming problems that choosing by behaviour solves at the least, in rounds."""

REACHED = 90
"""Percent of what as many samples reach, were every right one known, that the booster reaches with a check."""

ENOUGH_QUESTIONS = 100
"""Fewer teach a confidence too little: with a check on every fifth, half of them pass before ten labels are there."""


def figures_of(one: Measured) -> list[Figure]:
    """Return the figures of one set, with their bars."""
    own = _sampling_figures(one) if one.recorded.kind == "samples" else _routing_figures(one)
    return [*own, *_common_figures(one)]


def _sampling_figures(one: Measured) -> list[Figure]:
    largest = vote_name(max(size for size in VOTES if vote_name(size) in one.found))
    most, least = SAMPLES.get(one.key, (float(one.recorded.cap), -1.0))
    stopped = one.summary(FRUGAL).calls
    gap, low, high = difference(one.right(FRUGAL), one.right(largest))
    figures = [
        Figure(name="adaptive stop one by one, calls", value=stopped, unit="", bar=Bar(relation="<=", value=most)),
        Figure(name=f"adaptive stop one by one minus {largest}, upper end", value=100 * high, unit="points",
               bar=Bar(relation=">=", value=least), note=f"mean {100 * gap:+.1f}, lower end {100 * low:+.1f}"),
    ]  # fmt: skip
    if PROGRAMS in one.found:
        chosen = 100 * one.summary(PROGRAMS).right
        note = "dual agreement of 100 programs and all their tests 34.9, the rule alone in rounds 36.3"
        figures.append(Figure(name=PROGRAMS, value=chosen, unit="%", bar=Bar(relation=">=", value=CHOSEN), note=note))
    return [*figures, *_checked_figures(one)] if CHECKED in one.found else figures


def _checked_figures(one: Measured) -> list[Figure]:
    found = one.summary(CHECKED)
    equal, everything = best_of(found.calls, one.recorded, one.seeds), mean(_rival(one, ORACLE).right)
    figures = [
        Figure(name="answers called verified that are right", value=100 * (found.settled_right or 0.0), unit="%",
               bar=Bar(relation=">=", value=100)),
        Figure(name="booster with a check, share of what as many samples reach", value=100 * found.right / (equal or 1),
               unit="%", bar=Bar(relation=">=", value=REACHED), note=f"{100 * found.right:.1f} of {100 * equal:.1f}"),
        Figure(name="the same, share of what all samples reach", value=100 * found.right / (everything or 1), unit="%"),
    ]  # fmt: skip
    taught = [found for found in one.every(TAUGHT) if found.calibrated and not found.checked]
    if taught:
        error = calibration_error([found.confidence for found in taught], [found.right for found in taught])
        bar = Bar(relation="<=", value=CALIBRATED) if len(one.recorded.questions) >= ENOUGH_QUESTIONS else None
        note = f"on {len(taught)} answers without a check; never taught {one.summary(BOOSTER).calibration:.3f}"
        name = "calibration error once taught by every fifth question's check"
        figures.append(Figure(name=name, value=error, unit="", bar=bar, note=note))
    return figures


def _routing_figures(one: Measured) -> list[Figure]:
    found = one.summary(ROUTED)
    figures = [
        Figure(name="calls and wrong answers, over the best fixed rule in hindsight", value=regret(one), unit="",
               note=f"a wrong answer costs {WRONG} cheap calls, a strong one {STRONG_CALL}"),
    ]  # fmt: skip
    if one.recorded.checkable:
        best = _rival(one, BETTER)
        figures += [
            Figure(name="verified escalation minus the better of the two", unit="points",
                   value=100 * (found.right - mean(best.right)), bar=Bar(relation=">=", value=0)),
            Figure(name="strong calls, verified escalation", unit="%", value=100 * found.strong,
                   note=f"cheap answers that fail: {100 * (1 - one.summary(CHEAP).right):.1f} %"),
        ]  # fmt: skip
    return figures


def _common_figures(one: Measured) -> list[Figure]:
    every = [outcome for arm in one.found for outcome in one.every(arm)]
    share = 100 * mean([outcome.unscored for outcome in every])
    bar = Bar(relation="<=", value=UNREADABLE.get(one.key, 0.0))
    return [Figure(name="answers that the record does not hold", value=share, unit="%", bar=bar)]


def regret(one: Measured) -> float:
    """Return calls and wrong answers of the routed booster over the best of cheap, strong and two agree in hindsight."""

    def cost(calls: float, strong: float, right: float) -> float:
        return calls + (STRONG_CALL - 1) * strong + WRONG * (1 - right)

    fixed = [(1.0, 0.0, one.summary(CHEAP).right), (1.0, 1.0, one.summary(STRONG).right)]
    fixed += [(rival.calls, rival.strong, mean(rival.right)) for rival in one.rivals if rival.name == TWO_AGREE]
    found = one.summary(ROUTED)
    return cost(found.calls, found.strong, found.right) / min(cost(*rule) for rule in fixed)


def regret_figures(found: Sequence[Measured]) -> list[Figure]:
    """Return the mean regret over the routed sets, nothing where there are none."""
    ratios = {
        one.recorded.name: regret(one) for one in found if one.recorded.kind == "models" and not one.recorded.checkable
    }
    if not ratios:
        return []
    worst = max(ratios, key=lambda name: ratios[name])
    return [
        Figure(name="routing: calls and wrong answers over the best fixed rule in hindsight, mean", unit="",
               value=mean(list(ratios.values())), bar=Bar(relation="<=", value=REGRET),
               note=f"worst set {worst}: {ratios[worst]:.2f}")
    ]  # fmt: skip


def _rival(one: Measured, name: str) -> Rival:
    return next(rival for rival in one.rivals if rival.name == name)
