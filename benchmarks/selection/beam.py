"""Table `game24-beam`: where to spend value calls in a tree search, in width or in repeats.

Recorded searches of Tree of Thoughts (Yao et al. 2023, arXiv:2305.10601). A state is solvable if 24 can still be reached from the
numbers that it says are left over; only the scorer knows.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from random import Random

from benchmarks.replay_data import Depth, Puzzle, game24_trees
from benchmarks.selection.replays import bounds, paired
from benchmarks.statistics import mean
from benchmarks.table import Bar, Figure, Section
from booster.search import Branch, distinct, keep
from providers.types import Proposal
from verifier.types import Candidate


@dataclass(frozen=True, slots=True)
class Width:
    """One way to spend calls at a depth."""

    calls: int
    keep: int
    distinct: bool
    """States with the same numbers left over take one place and pool their calls."""

    @property
    def name(self) -> str:
        """As the table says it."""
        return f"{self.calls} call{'s' * (self.calls > 1)}, keep {self.keep}{' distinct' * self.distinct}"


USUAL = Width(3, 5, False)
"""What the records were searched with: three calls a state, five kept."""
ROWS: Sequence[Sequence[tuple[Width, str]]] = (
    (
        (USUAL, "84.6"),
        (Width(6, 5, False), "84.7"),
        (Width(9, 5, False), "84.5"),
        (Width(3, 5, True), "85.8; +1.2 [.3, 2.3]"),
        (Width(1, 5, False), ""),
        (Width(1, 5, True), ""),
        (Width(1, 8, True), "92.7; +8.1 [4.2, 12.7]"),
        (Width(3, 8, True), ""),
    ),
    ((USUAL, "75.0"), (Width(1, 3, True), "74.2"), (Width(1, 3, False), "")),
    ((USUAL, "72.1"), (Width(1, 3, True), "72.1"), (Width(1, 1, True), "")),
)
"""Widths with their reference values, by depth."""
WIDE = Width(1, 8, True)
NARROW = Width(1, 3, True)
PROFILE = (Width(3, 8, True), Width(1, 3, True), Width(1, 3, True))
"""The example of the documentation: width 8, 3, 3 with 3, 1, 1 calls."""


def beam_tables(data: Path, seeds: int) -> list[Section]:
    """Return the table over all depths."""
    puzzles = game24_trees(data, reaches_24)
    rows: list[tuple[str, ...]] = []
    kept: dict[tuple[int, Width], list[float]] = {}
    for depth, widths in enumerate(ROWS):
        for width, reference in widths:
            kept[depth, width] = [_keeps(puzzle, depth, width, seeds) for puzzle in puzzles]
            difference = "" if width == USUAL else paired(kept[depth, width], kept[depth, USUAL])
            rows.append(
                (
                    f"level {depth + 1}: {width.name}",
                    f"{100 * mean(kept[depth, width]):.1f}",
                    difference,
                    f"{_calls(puzzles, depth, width):.1f}",
                    reference,
                )
            )
    texts = mean([len(puzzle.depths[0].left) for puzzle in puzzles])
    states = mean([len(set(puzzle.depths[0].left)) for puzzle in puzzles])
    title = f"game24-beam: share of {len(puzzles)} puzzles whose beam keeps a solvable state, {seeds} orders; level 1: {texts:.1f} states, {states:.1f} distinct"
    header = ("beam", "keeps one %", "minus 3 calls, keep 5 [95 %]", "value calls", "reference")
    return [Section(title=title, header=header, rows=rows, figures=[*_figures(kept), *_price(puzzles)])]


def _figures(kept: dict[tuple[int, Width], list[float]]) -> list[Figure]:
    low, high = bounds(kept[0, WIDE], kept[0, USUAL])
    gain = 100 * (mean(kept[0, WIDE]) - mean(kept[0, USUAL]))
    second = 100 * (mean(kept[1, NARROW]) - mean(kept[1, USUAL]))
    return [
        Figure(
            name=f"game24-beam: level 1, {WIDE.name}",
            value=100 * mean(kept[0, WIDE]),
            unit="%",
            bar=Bar(relation=">=", value=90.0),
            note=f"reference 92.7; {gain:+.1f} over 3 calls, keep 5 [{100 * low:+.1f}, {100 * high:+.1f}]",
        ),
        Figure(
            name="game24-beam: lower end of that interval",
            value=100 * low,
            unit="points",
            bar=Bar(relation=">=", value=0.1),
            note="reference 4.2",
        ),
        Figure(
            name=f"game24-beam: level 2, {NARROW.name} minus 3 calls, keep 5",
            value=second,
            unit="points",
            bar=Bar(relation=">=", value=-1.5),
            note="reference -.8",
        ),
    ]


def _price(puzzles: Sequence[Puzzle]) -> list[Figure]:
    """Value calls of a whole search: level after level as recorded, and with the profile of the documentation.

    The states proposed at a level grow with the states kept at the one before, so the recorded numbers are scaled by that.
    """
    usual = math.fsum(_calls(puzzles, depth, USUAL) for depth in range(len(ROWS)))
    kept = (USUAL.keep, *(width.keep for width in PROFILE))
    profile = math.fsum(_calls(puzzles, depth, width) * kept[depth] / USUAL.keep for depth, width in enumerate(PROFILE))
    return [
        Figure(name="game24-beam: value calls a puzzle, 3 calls, keep 5", value=usual, unit="", note="reference 185"),
        Figure(
            name="game24-beam: value calls a puzzle, widths 8, 3, 3 with 3, 1, 1 calls",
            value=profile,
            unit="",
            bar=Bar(relation="<=", value=85),
            note="reference 79",
        ),
    ]


def _keeps(puzzle: Puzzle, depth: int, width: Width, seeds: int) -> float:
    """Return how often the beam holds a solvable state, over orders of ties and draws of the recorded calls."""
    if depth >= len(puzzle.depths):
        return 0.0
    level = puzzle.depths[depth]
    return mean([_kept_one(level, width, Random(f"{seed} {depth} {puzzle.id}")) for seed in range(seeds)])


def _kept_one(level: Depth, width: Width, generator: Random) -> bool:
    """Say whether one beam holds a solvable state. Calls beyond the recorded three are drawn from them with replacement."""
    order = list(range(len(level.left)))
    generator.shuffle(order)
    branches: list[Branch] = []
    for at in order:
        recorded = level.calls[at]
        if not recorded:
            continue  # proposed before, word for word: never valued again
        if width.calls <= len(recorded):
            drawn = generator.sample(recorded, width.calls)
        else:
            drawn = generator.choices(recorded, k=width.calls)
        head = Candidate(proposal=Proposal(text=str(at)), source="replay", key=str(at))
        branches.append(Branch(path=(head,), values=tuple(drawn)))

    def state(branch: Branch) -> Hashable:
        left = level.left[int(branch.head.key)]
        return branch.head.key if left is None or not width.distinct else left

    return any(level.solvable[int(one.head.key)] for one in keep(distinct(branches, state), width.keep))


def _calls(puzzles: Sequence[Puzzle], depth: int, width: Width) -> float:
    """Return the value calls a puzzle at one depth: each distinct text, or state, is valued so often."""
    counts = []
    for puzzle in puzzles:
        if depth < len(puzzle.depths):
            level = puzzle.depths[depth]
            keys = {level.left[at] if width.distinct else at for at, calls in enumerate(level.calls) if calls}
            counts.append(width.calls * len(keys))
    return mean(counts) if counts else 0.0


def reaches_24(left: str) -> bool:
    """Say whether 24 can be reached exactly from numbers as written, using each once."""
    try:
        numbers = tuple(sorted(Fraction(word) for word in left.split()))
    except (ValueError, ZeroDivisionError):
        return False
    return bool(numbers) and _reaches(numbers)


@cache
def _reaches(numbers: tuple[Fraction, ...]) -> bool:
    if len(numbers) == 1:
        return numbers[0] == 24
    for i, a in enumerate(numbers):
        for j, b in enumerate(numbers):
            if i == j:
                continue
            rest = [number for at, number in enumerate(numbers) if at not in (i, j)]
            results = [a - b] + ([a + b, a * b] if i < j else []) + ([a / b] if b else [])
            if any(_reaches(tuple(sorted((*rest, result)))) for result in results):
                return True
    return False
