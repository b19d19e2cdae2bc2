"""What a solve came to, and what many of them show: accuracy, cost, calibration. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.statistics import bootstrap_interval, brier_score, calibration_error, mean

RESAMPLES = 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What one solve came to."""

    task: int
    """Place of the question in its set."""
    right: bool
    confidence: float
    calls: int
    tokens: int
    strong: int = 0
    """Calls of the strong model."""
    checked: bool = False
    """The question came with the user's executable check."""
    calibrated: bool = False
    """The confidence was learnt from verified outcomes, and the result says so."""
    settled: bool = False
    """The booster itself calls the answer verified or agreed."""
    unscored: bool = False
    """The answer is none that the record holds, so it was misread; counted as wrong."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    """One way of asking, over all questions and seeds."""

    right: float
    """Share in [0, 1]."""
    low: float
    high: float
    """Ends of the 95 % interval of `right`, over questions."""
    spread: float
    """Standard deviation of `right` over seeds."""
    calls: float
    tokens: float
    strong: float
    """Calls a question, of all models and of the strong one; tokens of prompt and reply."""
    calibration: float
    """Expected calibration error of the confidence."""
    brier: float
    settled: float
    """Share of answers called verified or agreed."""
    settled_right: float | None
    """Share of those that are right; None where there are none."""
    unscored: int


def by_task(outcomes: Sequence[Outcome], what: Callable[[Outcome], float] = lambda one: one.right) -> list[float]:
    """Return the mean over the seeds of each question, in the order of the questions.

    Seeds of one question are no independent questions, so intervals are taken over these means.
    """
    found: dict[int, list[float]] = {}
    for outcome in outcomes:
        found.setdefault(outcome.task, []).append(what(outcome))
    return [mean(found[task]) for task in sorted(found)]


def summed_up(seeds: Sequence[Sequence[Outcome]]) -> Summary:
    """Return what the outcomes of all seeds show; one sequence a seed, over the same questions."""
    every = [one for outcomes in seeds for one in outcomes]
    accuracy = by_task(every)
    low, high = bootstrap_interval(accuracy, resamples=RESAMPLES)
    confidences, right = [one.confidence for one in every], [one.right for one in every]
    by_seed = [mean([one.right for one in outcomes]) for outcomes in seeds]
    settled = [one.right for one in every if one.settled]
    return Summary(
        right=mean(accuracy), low=low, high=high,
        spread=mean([(value - mean(by_seed)) ** 2 for value in by_seed]) ** 0.5,
        calls=mean([one.calls for one in every]), tokens=mean([one.tokens for one in every]),
        strong=mean([one.strong for one in every]),
        calibration=calibration_error(confidences, right), brier=brier_score(confidences, right),
        settled=len(settled) / len(every), settled_right=mean(settled) if settled else None,
        unscored=sum(one.unscored for one in every),
    )  # fmt: skip


def difference(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, float, float]:
    """Return mean and 95 % interval of the paired difference, over questions."""
    gaps = [a - b for a, b in zip(ours, theirs, strict=True)]
    return (mean(gaps), *bootstrap_interval(gaps, resamples=RESAMPLES))
