"""Table `programs`: choosing one of many programs by generated tests, of which many are wrong."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random

from benchmarks.replay_data import Programs, programs
from benchmarks.selection.replays import bounds, paired
from benchmarks.statistics import mean
from benchmarks.table import Bar, Figure, Section
from verifier.behaviour import best_behaviour, settled, winning_behaviour
from verifier.tuned import MASS_POWER, MOST_PROGRAMS, OVERLAP_POWER, ROUND

Groups = dict[frozenset[int], list[int]]
"""Tests passed -> the programs that pass exactly these, in the order drawn."""
Chooser = Callable[[Groups, Programs], int]
"""Returns the program to answer with."""

NEIGHBOURS = ((1.0, 0.5), (1.5, 0.75), (2.0, 1.25))
"""Other exponents of overlap and weight, to show how flat the choice is."""
SHIPPED, RIVAL = "best_behaviour", "dual agreement"
REFERENCE = {
    "random": "22.7",
    "most tests passed": "18.8",
    "largest group": "32.9",
    RIVAL: "34.9",
    SHIPPED: "39.8",
    "exponents 1, 0.5": "40.3",
    "exponents 1.5, 0.75": "39.5",
    "exponents 2, 1.25": "38.6",
    "oracle": "75.9",
}
TARGET = 38.5
ROUND_RULES = (2, 3)
"""Rounds in a row; the shipped rule has three."""


def program_tables(data: Path, seeds: int) -> list[Section]:
    """Return the table over all programs, the one over fewer, and the one over rounds."""
    problems = programs(data)
    return [_all_programs(problems, seeds), _fewer(problems, seeds), _rounds(problems, seeds)]


def by_behaviour(groups: Groups, problem: Programs, *, overlap: float, mass: float) -> int:
    """Choose by the shipped scores."""
    passed, sizes = list(groups), [len(members) for members in groups.values()]
    scores = best_behaviour(sizes, passed, overlap_power=overlap, mass_power=mass)
    return groups[passed[winning_behaviour(sizes, scores)]][0]


def dual_agreement(groups: Groups, problem: Programs) -> int:
    """Choose by sqrt(size) x tests passed, each counted as often as it was generated, as CodeT does."""
    return max(groups.items(), key=lambda item: math.sqrt(len(item[1])) * _weight(item[0], problem))[1][0]


def largest(groups: Groups, problem: Programs) -> int:
    """Choose the largest group that passes anything."""
    return max(groups.items(), key=lambda item: len(item[1]) if item[0] else 0)[1][0]


def most_passed(groups: Groups, problem: Programs) -> int:
    """Choose by the number of passed tests, each counted as often as it was generated."""
    return max(groups.items(), key=lambda item: _weight(item[0], problem))[1][0]


def first_drawn(groups: Groups, problem: Programs) -> int:
    """Take the first program: one at random."""
    return next(iter(groups.values()))[0]


CHOOSERS: dict[str, Chooser] = {
    "random": first_drawn,
    "most tests passed": most_passed,
    "largest group": largest,
    RIVAL: dual_agreement,
    SHIPPED: partial(by_behaviour, overlap=OVERLAP_POWER, mass=MASS_POWER),
    **{f"exponents {a:g}, {b:g}": partial(by_behaviour, overlap=a, mass=b) for a, b in NEIGHBOURS},
}


def grouped(problem: Programs, drawn: Sequence[int], mask: int) -> Groups:
    """Return the behaviours of the drawn programs on the tests of a mask, in the order first seen."""
    by_mask: dict[int, list[int]] = {}
    for program in drawn:
        by_mask.setdefault(problem.passed[program] & mask, []).append(program)
    return {frozenset(_bits(pattern)): members for pattern, members in by_mask.items()}


def _weight(tests: frozenset[int], problem: Programs) -> int:
    return sum(problem.test_counts[test] for test in tests)


def _all_programs(problems: Sequence[Programs], seeds: int) -> Section:
    right = {
        name: [mean([problem.right[choose(groups, problem)] for groups in _orders(problem, seeds, MOST_PROGRAMS)])
               for problem in problems]
        for name, choose in CHOOSERS.items()
    }  # fmt: skip
    right["oracle"] = [float(any(problem.right[program] for program in problem.samples)) for problem in problems]
    rows = [
        (
            name,
            f"{100 * mean(found):.1f}",
            "" if name == RIVAL else paired(found, right[RIVAL]),
            REFERENCE.get(name, ""),
        )
        for name, found in right.items()
    ]
    low, high = bounds(right[SHIPPED], right[RIVAL])
    figures = [
        Figure(
            name=f"programs: {SHIPPED} of 100",
            value=100 * mean(right[SHIPPED]),
            unit="%",
            bar=Bar(relation=">=", value=TARGET),
            note=f"reference {REFERENCE[SHIPPED]}",
        ),
        Figure(
            name=f"programs: {SHIPPED} minus {RIVAL}",
            value=100 * (mean(right[SHIPPED]) - mean(right[RIVAL])),
            unit="points",
            bar=Bar(relation=">=", value=0.1),
            note=f"[{100 * low:+.1f}, {100 * high:+.1f}]; reference +4.8 [.9, 9.5]; exponents chosen on one half of the "
            "problems and tested on the other gain only 2",
        ),
    ]
    title = f"programs: {len(problems)} problems, 100 programs and all generated tests, {seeds} orders"
    header = ("chosen by", "right %", f"minus {RIVAL} [95 %]", "reference")
    return Section(title=title, header=header, rows=rows, figures=figures)


def _fewer(problems: Sequence[Programs], seeds: int) -> Section:
    """The same with fewer programs: choosing by most tests passed gets worse the more there are."""
    seeds = max(1, seeds // 4)
    rows = []
    for count in (5, 10, 25):
        right = {
            name: mean([problem.right[CHOOSERS[name](groups, problem)] for problem in problems
                        for groups in _orders(problem, seeds, count)])
            for name in ("random", "most tests passed", "largest group", RIVAL, SHIPPED)
        }  # fmt: skip
        rows.append((str(count), *(f"{100 * value:.1f}" for value in right.values())))
    header = ("programs", *right)
    return Section(title=f"programs: fewer programs, all tests, right %, {seeds} orders", header=header, rows=rows)


def _rounds(problems: Sequence[Programs], seeds: int) -> Section:
    rows, shipped = [], 0.0
    for steady in ROUND_RULES:
        found = [_in_rounds(problem, seed, steady) for problem in problems for seed in range(seeds)]
        right, drawn, tests = (mean([one[at] for one in found]) for at in range(3))
        rows.append((f"{steady} rounds running", f"{100 * right:.1f}", f"{drawn:.0f}", f"{tests:.0f}"))
        shipped = right
    rival = mean(
        [problem.right[dual_agreement(groups, problem)] for problem in problems
         for groups in _orders(problem, seeds, MOST_PROGRAMS)]
    )  # fmt: skip
    rows.append(
        (f"{RIVAL}, everything", f"{100 * rival:.1f}", "100", f"{mean([len(p.test_counts) for p in problems]):.0f}")
    )
    figure = Figure(
        name="programs: rounds of 10 + 10 until the same behaviour wins three running",
        value=100 * shipped,
        unit="%",
        bar=Bar(relation=">=", value=round(100 * rival, 1)),
        note="reference 36.3 with 39 programs and 29 tests; 34.8 with 24 and 20 at two running; the bar: dual agreement with all",
    )
    title = f"programs: rounds of {ROUND} programs and {ROUND} tests, {seeds} orders"
    return Section(title=title, header=("stops after", "right %", "programs", "tests"), rows=rows, figures=[figure])


def _in_rounds(problem: Programs, seed: int, steady: int) -> tuple[bool, int, int]:
    """Return whether the answer is right, and the programs and distinct tests paid for."""
    order = _shuffled(problem, seed)
    generator = Random(f"tests {seed} {problem.id}")
    tests = [test for test, count in enumerate(problem.test_counts) for _ in range(count)]
    generator.shuffle(tests)
    mask, steadies, chosen = 0, list[bool](), -1
    for drawn in range(ROUND, MOST_PROGRAMS + 1, ROUND):
        for test in tests[drawn - ROUND : drawn]:
            mask |= 1 << test
        groups = grouped(problem, order[:drawn], mask)
        winner = CHOOSERS[SHIPPED](groups, problem)
        same = chosen >= 0 and problem.passed[winner] & mask == problem.passed[chosen] & mask
        steadies.append(same)
        chosen = winner
        if settled(steadies, drawn, rounds=steady):
            break
    return problem.right[chosen], drawn, mask.bit_count()


def _orders(problem: Programs, seeds: int, count: int) -> Iterator[Groups]:
    everything = (1 << len(problem.test_counts)) - 1
    for seed in range(seeds):
        yield grouped(problem, _shuffled(problem, seed)[:count], everything)


def _shuffled(problem: Programs, seed: int) -> list[int]:
    order = list(problem.samples)
    Random(f"{seed} {problem.id}").shuffle(order)
    return order


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
