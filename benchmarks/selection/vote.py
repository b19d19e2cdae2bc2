"""Table `vote`: accuracy, samples and rounds of stopping rules, against drawing all."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.replay_data import Sampled, cruxeval, game24, programs
from benchmarks.selection.replays import (
    Drawn,
    Wave,
    by_beta,
    by_lead,
    draw,
    even_waves,
    fixed,
    orders,
    paired,
    spread,
)
from benchmarks.statistics import mean
from benchmarks.table import Bar, Figure, Section
from verifier.tuned import CAP, LEAD

HEADER = ("rule", "right %", "± seeds", "samples", "rounds", "minus vote of all [95 %]")
ALL = "vote of all"
SHIPPED = f"lead {LEAD}, one by one"


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """What the shipped rule must reach on one set."""

    points: float
    """Percentage points that it may lie below the vote of all."""
    samples: float
    reference: str
    """Right % @ samples of another implementation of the same rule, then of Beta .95."""


TARGETS = {
    "cruxeval input": Target(points=0.4, samples=5.1, reference="35.7@4.87; Beta .95 35.7@7.81"),
    "cruxeval output": Target(points=0.5, samples=4.2, reference="34.9@3.97; Beta .95 35.1@6.26"),
    "game24 io": Target(points=0.4, samples=8.9, reference="7.7@8.41; Beta .95 7.8@13.17"),
    "game24 cot": Target(points=100.0, samples=16.6, reference="7.6@16.0; Beta .95 7.6@19.6"),
    "codet": Target(points=0.7, samples=9.7, reference="26.5@9.23; Beta .95 26.6@13.7; vote 26.6"),
}


def sampled_sets(data: Path) -> dict[str, tuple[list[Sampled], int]]:
    """Return every recorded set of sampled answers with the most samples that are drawn from it."""
    codet = [
        Sampled(
            id=problem.id,
            keys=tuple(_pattern(problem.passed[index]) for index in problem.samples),
            right=tuple(problem.right[index] for index in problem.samples),
        )
        for problem in programs(data)
    ]
    return {
        "cruxeval input": (cruxeval(data, "input"), 10),
        "cruxeval output": (cruxeval(data, "output"), 10),
        "game24 io": (game24(data, "io"), CAP),
        "game24 cot": (game24(data, "cot"), CAP),
        "codet": (codet, CAP),
    }


def rules(cap: int) -> dict[str, Wave]:
    """Return the rules of the table, by name."""
    return {
        "one sample": fixed(1),
        ALL: fixed(cap),
        "Beta .95": by_beta(0.95),
        "Beta .90": by_beta(0.90),
        "lead 2, one by one": by_lead(2, 1),
        "lead 3, one by one": by_lead(3, 1),
        "lead 4, one by one": by_lead(4, 1),
        "lead 3, waves 3+2": by_lead(3, 2),
        "lead 3, waves 3+4": by_lead(3, 4),
        "lead 3, waves 4": even_waves(3, 4),
    }


def vote_tables(data: Path, seeds: int) -> list[Section]:
    """Return one section a set."""
    return [_table(name, problems, cap, seeds) for name, (problems, cap) in sampled_sets(data).items()]


def _table(name: str, problems: Sequence[Sampled], cap: int, seeds: int) -> Section:
    runs = {
        rule: [[draw(problem, order, cap, wave) for order in orders(problem, seeds)] for problem in problems]
        for rule, wave in rules(cap).items()
    }
    right = {rule: [mean([one.right for one in drawn]) for drawn in found] for rule, found in runs.items()}
    rows = [
        (
            rule,
            f"{100 * mean(right[rule]):.1f}",
            f"{100 * spread(_by_seed(found)):.1f}",
            f"{_mean(found, 'samples'):.2f}",
            f"{_mean(found, 'rounds'):.2f}",
            "" if rule == ALL else paired(right[rule], right[ALL]),
        )
        for rule, found in runs.items()
    ]
    target = TARGETS[name]
    figures = [
        Figure(
            name=f"{name}: {SHIPPED}, samples",
            value=_mean(runs[SHIPPED], "samples"),
            unit="",
            bar=Bar(relation="<=", value=target.samples),
            note=f"reference {target.reference}",
        )
    ]
    if target.points < 100:
        figures.append(
            Figure(
                name=f"{name}: {SHIPPED} minus vote of {cap}",
                value=100 * (mean(right[SHIPPED]) - mean(right[ALL])),
                unit="points",
                bar=Bar(relation=">=", value=-target.points),
            )
        )
    title = f"vote: {name}, {len(problems)} problems, at most {cap} samples, {seeds} orders"
    return Section(title=title, header=HEADER, rows=rows, figures=figures)


def _by_seed(found: Sequence[Sequence[Drawn]]) -> list[float]:
    return [mean([one.right for one in of_seed]) for of_seed in zip(*found, strict=True)]


def _mean(found: Sequence[Sequence[Drawn]], what: str) -> float:
    return mean([getattr(one, what) for drawn in found for one in drawn])


def _pattern(mask: int) -> str:
    """A pattern of passed tests as a key; programs that pass nothing are one group, too: they fail alike."""
    return f"{mask:x}"
