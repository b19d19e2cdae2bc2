"""The scheduler benchmark.

python -m benchmarks.scheduler [all|compare|questions|endurance] [--seeds 30] [--out docs/scheduler-results.md]

`all` measures everything and writes the results page; `compare` runs the published comparison over the real MCP transport;
`questions` asks the three questions; `endurance` measures a library after a million labels, promotions on a thousand
stationary streams, and the load (ten minutes). Each exits with 1 if anything misses its target. Times are on the page, but
only `endurance` judges one: run it on a machine that is otherwise idle.
"""

import argparse
import asyncio
import sys
from collections.abc import Iterable
from pathlib import Path

from benchmarks.scheduler import budgeted, endurance, experiment
from benchmarks.scheduler.arms import ABLATIONS, BOUNDS, REGIME
from benchmarks.scheduler.arms import RIVALS as RIVAL_ARMS
from benchmarks.scheduler.compare import EXPECTED, compare
from benchmarks.scheduler.questions import answers
from benchmarks.scheduler.report import page
from benchmarks.scheduler.targets import Results, Target, families, from_rows, separately_run

MIN_SEEDS = 30
ABLATION_SEEDS = 12


def main(arguments: list[str] | None = None) -> int:
    """Run what is asked for; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scheduler", description=__doc__)
    parser.add_argument("what", nargs="?", choices=["all", "compare", "questions", "endurance"], default="all")
    parser.add_argument("--seeds", type=int, default=MIN_SEEDS, help="replications, at least 30 (default: %(default)s)")
    parser.add_argument(
        "--out", type=Path, default=Path("docs/scheduler-results.md"), help="page (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    if options.seeds < MIN_SEEDS:
        parser.error(f"--seeds must be at least {MIN_SEEDS}")
    if options.what == "compare":
        rows = asyncio.run(compare())
        return _print((row.exact, f"{row.policy} {row.measured} wanted {EXPECTED[row.policy]}") for row in rows)
    if options.what == "questions":
        return _print((a.passed, f"{a.question}, {a.policy}: {a.numbers}") for a in answers())
    if options.what == "endurance":
        return _print(map(_line, endurance.targets()))
    return run_all(range(options.seeds), options.out)


def run_all(seeds: range, out: Path) -> int:
    """Measure everything, write the page, and return the exit code."""
    results = Results(experiment.rows(families(), [*BOUNDS, *RIVAL_ARMS, *REGIME], seeds))
    targets = from_rows(results) + separately_run(results, seeds)
    asked = answers()
    ablations = Results(experiment.rows(families(), [*ABLATIONS], range(ABLATION_SEEDS)))
    published = experiment.parallel(budgeted.published, seeds)
    same_luck = experiment.parallel(budgeted.paired, seeds)
    out.parent.mkdir(parents=True, exist_ok=True)
    text = page(results, ablations, targets, asked, (published, same_luck), seeds=len(seeds))
    out.write_text(text, encoding="utf-8")
    code = _print(
        [
            *map(_line, targets),
            *((a.passed, f"{a.question}, {a.policy}: {a.numbers}") for a in asked),
        ]
    )
    print(f"written to {out}")
    return code


def _line(target: Target) -> tuple[bool, str]:
    return target.met, f"{target.name}: {target.measured}, wanted {target.wanted}"


def _print(lines: Iterable[tuple[bool, str]]) -> int:
    """Print every line with whether it passed; return 0 if all did, else 1."""
    code = 0
    for passed, text in lines:
        print("ok  " if passed else "MISS", text)
        code = code if passed else 1
    return code


if __name__ == "__main__":
    sys.exit(main())
