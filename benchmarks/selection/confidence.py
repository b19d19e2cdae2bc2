"""Table `confidence`: how far reported confidences are from the truth, predicted before each label is seen."""

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from benchmarks.replay_data import Sampled
from benchmarks.selection.replays import Drawn, beats, by_lead, draw, orders
from benchmarks.selection.vote import sampled_sets
from benchmarks.statistics import brier_score, calibration_error, mean
from benchmarks.table import Bar, Figure, Section
from verifier.calibration import Calibration, confidence
from verifier.tuned import LEAD

HEADER = ("set", "confidence", "ECE %", "ECE % of one order", "Brier")
LABEL_RATES = (1.0, 0.2)
"""Shares of the answers whose outcome is verified."""
TARGETS = {1.0: 6.0, 0.2: 8.0}
"""Most ECE in % of the learnt confidence on `TARGET_SET`, by label rate."""
TARGET_SET = "cruxeval input"

Predicted = list[tuple[float, bool]]
"""(confidence, right) of each answer, in the order met."""


def confidence_tables(data: Path, seeds: int) -> list[Section]:
    """Return one section over all sets."""
    rows: list[tuple[str, ...]] = []
    figures: list[Figure] = []
    for name, (problems, cap) in sampled_sets(data).items():
        runs = _replays(problems, cap, seeds)
        errors = {}
        for kind, predict in PREDICTORS.items():
            predicted = [predict(run, seed) for seed, run in enumerate(runs)]
            errors[kind] = 100 * _error([one for run in predicted for one in run])
            rows.append(
                (
                    name,
                    kind,
                    f"{errors[kind]:.1f}",
                    f"{100 * mean([_error(run) for run in predicted]):.1f}",
                    f"{mean([brier_score(*_split(run)) for run in predicted]):.3f}",
                )
            )
        figures += _figures(name, errors)
    title = f"confidence: lead {LEAD} one by one, ten bins, {seeds} orders; the learnt state starts empty in each order"
    return [Section(title=title, header=HEADER, rows=rows, figures=figures)]


def share(run: Sequence[Drawn], seed: int) -> Predicted:
    """Predict the share of the votes."""
    return [(one.votes / one.samples, one.right) for one in run]


def beta(run: Sequence[Drawn], seed: int) -> Predicted:
    """Predict the posterior that the leader beats the runner-up."""
    return [(beats(one.votes, one.runner_up), one.right) for one in run]


def plain(run: Sequence[Drawn], seed: int) -> Predicted:
    """Predict v1 / (n + 1), as reported before there are labels."""
    return [(one.votes / (one.samples + 1), one.right) for one in run]


def learnt(rate: float) -> Callable[[Sequence[Drawn], int], Predicted]:
    """Return the shipped confidence, which learns each outcome with probability `rate` after it has predicted."""

    def predict(run: Sequence[Drawn], seed: int) -> Predicted:
        generator = Random(f"labels {seed}")
        state, labels, predicted = Calibration(), 0, []
        for one in run:
            predicted.append((confidence(state, labels, one.votes, one.samples)[0], one.right))
            if generator.random() < rate:
                state, labels = state.learn(one.votes, one.samples, one.right), labels + 1
        return predicted

    return predict


PREDICTORS: dict[str, Callable[[Sequence[Drawn], int], Predicted]] = {
    "share": share,
    "Beta posterior": beta,
    "v1/(n+1)": plain,
    **{f"learnt, {rate:.0%} labels": learnt(rate) for rate in LABEL_RATES},
}


def _replays(problems: Sequence[Sampled], cap: int, seeds: int) -> list[list[Drawn]]:
    """Return the answers of each order of the samples, the problems shuffled too."""
    found = [[draw(problem, order, cap, by_lead(LEAD, 1)) for order in orders(problem, seeds)] for problem in problems]
    runs = [list(run) for run in zip(*found, strict=True)]
    for seed, run in enumerate(runs):
        Random(f"problems {seed}").shuffle(run)
    return runs


def _figures(name: str, errors: dict[str, float]) -> list[Figure]:
    rival = min(errors[kind] for kind in ("share", "Beta posterior", "v1/(n+1)"))
    figures = []
    for rate in LABEL_RATES:
        kind = f"learnt, {rate:.0%} labels"
        if name == TARGET_SET:
            figures.append(
                Figure(
                    name=f"{name}: ECE, {kind}",
                    value=errors[kind],
                    unit="%",
                    bar=Bar(relation="<=", value=TARGETS[rate]),
                    note="reference over 11 sets 4.1 and 7.2",
                )
            )
        figures.append(
            Figure(
                name=f"{name}: ECE, {kind}, below the best of the others",
                value=errors[kind],
                unit="%",
                bar=Bar(relation="<", value=round(rival, 2)),
            )
        )
    return figures


def _error(predicted: Predicted) -> float:
    return calibration_error(*_split(predicted))


def _split(predicted: Predicted) -> tuple[list[float], list[bool]]:
    return [p for p, _ in predicted], [right for _, right in predicted]
