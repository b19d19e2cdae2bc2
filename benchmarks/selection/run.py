"""Which tables there are, and running them side by side."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from benchmarks.replay_data import MissingDataError, data_directory
from benchmarks.selection.beam import beam_tables
from benchmarks.selection.cascade_tables import cascade_tables
from benchmarks.selection.confidence import confidence_tables
from benchmarks.selection.judges import judge_tables
from benchmarks.selection.latency import latency_tables
from benchmarks.selection.programs import program_tables
from benchmarks.selection.replays import QUICK_SEEDS, SEEDS
from benchmarks.selection.steps import step_tables
from benchmarks.selection.vote import vote_tables
from benchmarks.table import Section, aligned, rendered

PROCESSES = 2

TABLES: Mapping[str, Callable[[Path, int], list[Section]]] = {
    "vote": vote_tables,
    "confidence": confidence_tables,
    "cascade": cascade_tables,
    "programs": program_tables,
    "judge": judge_tables,
    "game24-beam": beam_tables,
    "step-risk": step_tables,
    "latency": latency_tables,
}
"""Name -> (directory of the recorded sets, orders of the samples) -> its sections."""


def measure(names: Sequence[str], *, quick: bool = False, data: Path | None = None) -> list[Section]:
    """Return the sections of the named tables; a table whose data is not there is a section that says so.

    Latency is measured last and alone, the others in two processes.
    """
    where = data_directory() if data is None else data
    seeds = QUICK_SEEDS if quick else SEEDS
    together = [name for name in names if name != "latency"]
    by_cost = sorted(together, key=lambda name: name not in ("cascade", "judge"))
    found: dict[str, list[Section]] = {}
    if len(by_cost) > 1:
        with ProcessPoolExecutor(PROCESSES) as pool:
            started = {name: pool.submit(_table, name, where, seeds) for name in by_cost}
            found = {name: future.result() for name, future in started.items()}
    elif by_cost:
        found[by_cost[0]] = _table(by_cost[0], where, seeds)
    if "latency" in names:
        found["latency"] = _table("latency", where, seeds)
    return [section for name in names for section in found[name]]


def report(sections: Sequence[Section]) -> str:
    """Return all tables, and below them every target with `ok` or `MISS`."""
    figures = [figure for section in sections for figure in section.figures if figure.bar is not None]
    skipped = [section.title for section in sections if section.skipped]
    missed = sum(figure.missed for figure in figures)
    rows = [
        (
            figure.name,
            f"{figure.value:.4g}",
            f"{figure.bar.relation} {figure.bar.value:g}",
            "MISS" if figure.missed else "ok",
        )
        for figure in figures
        if figure.bar is not None
    ]
    parts = [*map(rendered, sections)]
    if rows:
        parts.append(aligned(("target", "ours", "bar", ""), rows))
    parts.append(f"{len(figures)} targets, {missed} missed" + (f"; skipped: {', '.join(skipped)}" if skipped else ""))
    return "\n\n".join(parts)


def _table(name: str, data: Path, seeds: int) -> list[Section]:
    try:
        return TABLES[name](data, seeds)
    except MissingDataError as error:
        return [Section(title=name, skipped=str(error))]
