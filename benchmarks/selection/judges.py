"""Table `judge`: what a judge adds to a vote by how good it is, and whether its weight is learnt rightly. The judge is simulated.

A simulated judge scores a right answer d higher than a wrong one, under noise of standard deviation 1; its AUC is the normal
distribution function of d / sqrt(2). The answers are recorded, so what a vote gains from it is not simulated.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import NormalDist

from benchmarks.replay_data import Sampled
from benchmarks.selection.replays import SEEDS, bounds, orders
from benchmarks.selection.vote import sampled_sets
from benchmarks.statistics import mean
from benchmarks.table import Bar, Figure, Section
from verifier.combine import Group, combine
from verifier.opinion import OpinionWeight

SETS = {"cruxeval input": (5, 10), "cruxeval output": (5, 10), "codet": (5, 10, 20)}
"""Sets with the numbers of samples that vote."""
AUCS = (0.5, 0.6, 0.68, 0.75, 0.82)
QUICK_AUCS = (0.5, 0.75)
FINE = tuple(0.5 + 0.02 * step for step in range(21))
"""AUCs among which the crossing of judge and vote is looked for."""
TRUSTED = (0.6, 0.75)
"""AUCs that a weight may stand for without being learnt."""
MOST_LOST = {0.6: 0.5, 0.75: 2.5}
"""Most percentage points that a useless judge may cost when trusted as if it had this AUC."""
NEVER_LOSES = -0.2
"""Percentage points: what counts as no loss, given the noise of the simulation."""
REFERENCE_CROSSING = {5: ".68", 10: ".74", 20: ".82"}
OUTCOMES, LEARNERS = 200, 200


@dataclass(frozen=True, slots=True)
class Poll:
    """The answers of one draw, in groups."""

    votes: tuple[int, ...]
    right: tuple[bool, ...]
    noise: tuple[float, ...]
    """Of the judge, one a group; the same at every quality, so that qualities are compared in pairs."""


def judge_tables(data: Path, seeds: int) -> list[Section]:
    """Return the tables of sum against vote, and of the learnt weight.

    What is simulated needs all orders for its bars to mean anything; with fewer, only two qualities are shown.
    """
    sampled = sampled_sets(data)
    aucs = AUCS if seeds >= SEEDS else QUICK_AUCS
    found = [
        _gains(name, counted, _polls(sampled[name][0], counted, SEEDS), aucs)
        for name, counts in SETS.items()
        for counted in counts
    ]
    rows = [row for rows, _ in found for row in rows]
    losses = [loss for _, loss in found]
    figures = [
        Figure(
            name="judge: worst gain of the sum with calibrated weight over the vote",
            value=min(loss["calibrated"] for loss in losses),
            unit="points",
            bar=Bar(relation=">=", value=NEVER_LOSES),
            note="it never loses",
        ),
        *(
            Figure(
                name=f"judge: most lost by a useless judge trusted as AUC {auc:g}",
                value=max(-loss[f"{auc:g}"] for loss in losses),
                unit="points",
                bar=Bar(relation="<=", value=MOST_LOST[auc]),
            )
            for auc in TRUSTED
        ),
    ]
    header = (
        "set, samples",
        "vote %",
        "judge's AUC",
        "judge alone",
        "calibrated sum",
        "as AUC .6",
        "as AUC .75",
        "alone overtakes at",
    )
    title = f"judge: simulated judge, points over the vote, {SEEDS} orders"
    return [Section(title=title, header=header, rows=rows, figures=figures), _weights()]


def _polls(problems: Sequence[Sampled], count: int, seeds: int) -> list[list[Poll]]:
    polls = []
    for problem in problems:
        drawn = []
        for seed, order in enumerate(orders(problem, seeds)):
            groups: dict[str, list[int]] = {}
            for index in order[:count]:
                if (key := problem.keys[index]) is not None:
                    groups.setdefault(key, []).append(index)
            generator = Random(f"judge {seed} {problem.id}")
            drawn.append(
                Poll(
                    votes=tuple(map(len, groups.values())),
                    right=tuple(problem.right[members[0]] for members in groups.values()),
                    noise=tuple(generator.gauss(0, 1) for _ in groups),
                )
            )
        polls.append(drawn)
    return polls


def _gains(
    name: str, count: int, polls: Sequence[Sequence[Poll]], aucs: Sequence[float]
) -> tuple[list[tuple[str, ...]], dict[str, float]]:
    """Return the rows of one set and number of samples, and the figures that are judged."""
    vote = _right(polls, 0.5, 0.0)
    rows, worst = [], {"calibrated": math.inf}
    for auc in aucs:
        arms = {"alone": _right(polls, auc, None), "calibrated": _right(polls, auc, shift(auc))}
        arms |= {f"{trusted:g}": _right(polls, auc, shift(trusted)) for trusted in TRUSTED}
        gains = {arm: 100 * (mean(right) - mean(vote)) for arm, right in arms.items()}
        worst["calibrated"] = min(worst["calibrated"], gains["calibrated"])
        if auc == aucs[0]:
            worst |= {f"{trusted:g}": gains[f"{trusted:g}"] for trusted in TRUSTED}
        low, high = bounds(arms["calibrated"], vote)
        rows.append(
            (
                f"{name}, {count}" if auc == aucs[0] else "",
                f"{100 * mean(vote):.1f}" if auc == aucs[0] else "",
                f"{auc:.2f}",
                f"{gains['alone']:+.1f}",
                f"{gains['calibrated']:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]",
                *(f"{gains[f'{trusted:g}']:+.1f}" for trusted in TRUSTED),
                _crossing(polls, mean(vote), count) if auc == aucs[0] and aucs == AUCS else "",
            )
        )
    return rows, worst


def _crossing(polls: Sequence[Sequence[Poll]], vote: float, count: int) -> str:
    over = next((f"{auc:.2f}" for auc in FINE if mean(_right(polls, auc, None)) > vote), "none")
    return f"{over} ({REFERENCE_CROSSING[count]} over 11 sets)"


def _right(polls: Sequence[Sequence[Poll]], auc: float, weight: float | None) -> list[float]:
    """Return the share right of each problem; without a weight the judge decides alone."""
    d = shift(auc)
    return [mean([_picked(poll, d, weight) for poll in drawn]) for drawn in polls]


def _picked(poll: Poll, d: float, weight: float | None) -> bool:
    if not poll.votes:
        return False
    scores = [d * right + noise for right, noise in zip(poll.right, poll.noise, strict=True)]
    if weight is None:
        return poll.right[max(range(len(scores)), key=scores.__getitem__)]
    groups = [Group(votes=votes, opinions={"judge": z}) for votes, z in zip(poll.votes, scores, strict=True)]
    winner = combine(groups, {"judge": weight}).winner
    return winner is not None and poll.right[winner]


def shift(auc: float) -> float:
    """Return d of a judge of this AUC; it is also the calibrated weight, the log odds a unit of its score."""
    return NormalDist().inv_cdf(auc) * math.sqrt(2)


def _weights() -> Section:
    """Where the weight of an opinion ends after `OUTCOMES` verified outcomes.

    Half of the variance of a judge's scores lies between tasks, as with reward models, and its AUC is over all scores. So
    in units of the standard deviation of all scores, the right answer leads the best other one by N(d, 1).
    """
    rows, ends = [], {}
    for auc in (0.5, 0.6, 0.75):
        found = sorted(_learnt(auc, seed) for seed in range(LEARNERS))
        ends[auc] = found
        rows.append(
            (
                f"{auc:.2f}",
                f"{mean(found):.2f}",
                f"{found[int(0.05 * LEARNERS)]:.2f}",
                f"{found[int(0.95 * LEARNERS)]:.2f}",
            )
        )
    figures = [
        Figure(
            name="judge: weight of a coin flip, mean",
            value=mean(ends[0.5]),
            unit="",
            bar=Bar(relation="<=", value=0.15),
            note="reference .10",
        ),
        Figure(
            name="judge: weight of a coin flip, 95 % below",
            value=ends[0.5][int(0.95 * LEARNERS)],
            unit="",
            bar=Bar(relation="<", value=0.3),
            note="reference .25",
        ),
        Figure(
            name="judge: weight at AUC .75, mean",
            value=mean(ends[0.75]),
            unit="",
            bar=Bar(relation=">=", value=1.2),
            note="reference 1.46",
        ),
    ]
    title = f"judge: learnt weight after {OUTCOMES} outcomes, start {OpinionWeight().b}, {LEARNERS} seeds"
    return Section(title=title, header=("judge's AUC", "mean", "5 %", "95 %"), rows=rows, figures=figures)


def _learnt(auc: float, seed: int) -> float:
    generator = Random(f"weight {seed}")
    weight = OpinionWeight()
    for _ in range(OUTCOMES):
        weight = weight.learn(generator.gauss(shift(auc), 1), 0.0)
    return weight.b
