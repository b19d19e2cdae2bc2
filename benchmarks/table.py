"""How measurements are shown: aligned tables, and figures beside their bars."""

import operator
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

_RELATIONS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">=": operator.ge,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Bar:
    """What a figure has to reach."""

    relation: str
    """`<`, `<=` or `>=`."""
    value: float

    def holds(self, figure: float) -> bool:
        """Say whether the figure reaches the bar; one that is no number does not."""
        return _RELATIONS[self.relation](figure, self.value)


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """One measured number."""

    name: str
    value: float
    unit: str
    bar: Bar | None = None
    note: str = ""
    """What a reader has to know beside it."""

    @property
    def missed(self) -> bool:
        """Whether there is a bar and the figure does not reach it."""
        return self.bar is not None and not self.bar.holds(self.value)


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """One table with the figures drawn from it, or the reason why it was left out."""

    title: str
    header: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    figures: Sequence[Figure] = ()
    skipped: str = ""

    @property
    def missed(self) -> bool:
        """Whether one of the figures misses its bar."""
        return any(figure.missed for figure in self.figures)


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as text: the first column left, the others right; a row may be shorter than the header."""
    table = [list(header), *map(list, rows)]
    widths = [max(len(row[at]) for row in table if at < len(row)) for at in range(len(header))]
    return "\n".join(
        "  ".join(cell.rjust(width) if at else cell.ljust(width) for at, (cell, width) in enumerate(zip(row, widths, strict=False)))
        .rstrip()
        for row in table
    )  # fmt: skip


def rendered(section: Section) -> str:
    """Return a section as text: title, table, and each figure with its bar and `ok` or `MISS`."""
    parts = [f"== {section.title} =="]
    if section.skipped:
        parts.append(f"skipped: {section.skipped}")
    if section.rows:
        parts.append(aligned(section.header, section.rows))
    if section.figures:
        parts.append(aligned(("figure", "", "bar", ""), [_judged(figure) for figure in section.figures]))
    return "\n".join(parts)


def machine() -> str:
    """Return what the figures depend on: cores that this process may use, interpreter, system, load at the moment."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"{cores} cores, {platform.python_implementation()} {platform.python_version()}, {platform.platform()}{load}"


def _judged(figure: Figure) -> list[str]:
    value = f"{figure.value:.3g}" if abs(figure.value) < 100 else f"{figure.value:.0f}"
    row = [figure.name + (f" ({figure.note})" if figure.note else ""), f"{value} {figure.unit}".rstrip()]
    if figure.bar is None:
        return row
    return [
        *row,
        f"{figure.bar.relation} {figure.bar.value:g} {figure.unit}".rstrip(),
        "MISS" if figure.missed else "ok",
    ]
