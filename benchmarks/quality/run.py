"""`booster-bench quality`: the shipped loop over recorded replies of real models, beside its rivals, with intervals."""

import argparse
import asyncio
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

from benchmarks.quality.measured import Measured, measured
from benchmarks.quality.recorded import SETS
from benchmarks.quality.replay import replayed
from benchmarks.quality.report import as_json, markdown
from benchmarks.quality.simulated import Sizes, measured_simulated
from benchmarks.quality.tables import overview, set_section
from benchmarks.quality.tree import tree_section
from benchmarks.replay_data import MissingDataError, data_directory
from benchmarks.table import Section, rendered
from providers.simulated import SimulatedModel

SEEDS, QUESTIONS, PROCESSES = 20, 100, 2

STEPS = "game24-steps"
"""The set that is walked step by step."""

Say = Callable[[str], object]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, write what was asked for; return 1 where a bar is missed."""
    options = _options(arguments)
    if options.figures is not None and find_spec("matplotlib") is None:  # asked before minutes are spent
        sys.stderr.write("booster-bench quality: --figures needs matplotlib; pip install 'reasoning-booster[bench]'\n")
        return 2
    found, missing = measure(
        [name for name in options.sets if name != STEPS], options.data, seeds=options.seeds, most=options.problems or None, processes=options.processes,
        say=sys.stderr.write,
    )  # fmt: skip
    simulated = measured_simulated(Sizes(tasks=options.tasks), lambda seed: SimulatedModel(seed=seed))
    sections = [*_steps(options), *asyncio.run(simulated), *missing]
    if found:
        sections = [overview(found), *map(set_section, found), *sections]
    sys.stdout.write("\n\n".join(map(rendered, sections)) + "\n")
    for path in write(options, found, sections):
        sys.stdout.write(f"written to {path}\n")
    return int(any(section.missed for section in sections))


def measure(
    sets: Sequence[str], data: Path, *, seeds: int, most: int | None, processes: int, say: Say
) -> tuple[list[Measured], list[Section]]:
    """Return what was found on every set, and a section for each whose record is not there."""
    found, missing = [], []
    for key in sets:
        try:
            found.append(measured(key, *replayed(key, data, seeds, most, processes=processes)))
            say(f"{key}: {len(found[-1].recorded.questions)} questions, {seeds} seeds\n")
        except MissingDataError as error:
            missing.append(Section(title=key, skipped=str(error)))
    return found, missing


def _steps(options: argparse.Namespace) -> list[Section]:
    """Return the section of the search step by step where it is wanted."""
    if STEPS not in options.sets:
        return []
    try:
        return [tree_section(options.data, options.seeds, processes=options.processes)]
    except MissingDataError as error:
        return [Section(title=STEPS, skipped=str(error))]


def write(options: argparse.Namespace, found: Sequence[Measured], sections: Sequence[Section]) -> list[Path]:
    """Write the files that were asked for; return their paths."""
    paths = []
    if options.json is not None:
        text = as_json(found, sections, seeds=options.seeds, problems=options.problems, sets=list(options.sets))
        options.json.write_text(text, encoding="utf-8")
        paths.append(options.json)
    if options.markdown is not None:
        options.markdown.write_text(markdown(sections), encoding="utf-8")
        paths.append(options.markdown)
    if options.figures is not None and found:
        from benchmarks.quality.figures import draw

        paths += draw(found, options.figures)
    return paths


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    names = [*SETS, STEPS]
    parser = argparse.ArgumentParser(prog="booster-bench quality", description=(__doc__ or "").partition(": ")[2])
    parser.add_argument("--sets", nargs="+", choices=names, default=names, metavar="SET", help=f"of {', '.join(names)}")
    parser.add_argument(
        "--seeds", type=int, default=SEEDS, help="orders of samples and questions (default: %(default)s)"
    )
    parser.add_argument(
        "--problems", type=int, default=QUESTIONS, help="of a set, always the same; 0 = all (default: %(default)s)"
    )
    parser.add_argument(
        "--tasks", type=int, default=Sizes().tasks, help="of the simulated model, 1..60 (default: %(default)s)"
    )
    parser.add_argument("--processes", type=int, default=PROCESSES, help="side by side (default: %(default)s)")
    parser.add_argument(
        "--data", type=Path, default=data_directory(), help="directory of the recorded sets (default: %(default)s)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure, and every question's, there")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the page there")
    parser.add_argument("--figures", type=Path, metavar="DIR", help="draw quality over cost there, PNG at 300 dpi")
    options = parser.parse_args(arguments)
    if options.seeds < 1 or options.problems < 0 or options.processes < 1:
        parser.error("--seeds and --processes must be at least 1, --problems at least 0")
    if not 1 <= options.tasks <= 60:
        parser.error("--tasks must lie in 1..60")
    return options


if __name__ == "__main__":
    sys.exit(main())
