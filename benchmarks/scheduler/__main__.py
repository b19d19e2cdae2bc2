"""Run the scheduler benchmark, write its page, and exit with 1 if a target is missed.

python -m benchmarks.scheduler [--seeds 30] [--out docs/scheduler-results.md]
"""

import argparse
import sys
from pathlib import Path

from benchmarks.scheduler import budgeted, experiment
from benchmarks.scheduler.arms import ABLATIONS, BOUNDS, REGIME
from benchmarks.scheduler.arms import RIVALS as RIVAL_ARMS
from benchmarks.scheduler.questions import answers
from benchmarks.scheduler.report import page
from benchmarks.scheduler.targets import Results, families, from_rows, separately_run

MIN_SEEDS = 30
ABLATION_SEEDS = 12


def main(arguments: list[str] | None = None) -> int:
    """Run everything; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scheduler", description=__doc__)
    parser.add_argument("--seeds", type=int, default=MIN_SEEDS, help="replications, at least 30 (default: %(default)s)")
    parser.add_argument(
        "--out", type=Path, default=Path("docs/scheduler-results.md"), help="page (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    if options.seeds < MIN_SEEDS:
        parser.error(f"--seeds must be at least {MIN_SEEDS}")
    seeds = range(options.seeds)

    results = Results(experiment.rows(families(), [*BOUNDS, *RIVAL_ARMS, *REGIME], seeds))
    targets = from_rows(results) + separately_run(results, seeds)
    asked = answers()
    ablations = Results(experiment.rows(families(), [*ABLATIONS], range(ABLATION_SEEDS)))
    seed53 = tuple(experiment.parallel(job, list(seeds)) for job in (budgeted.published, budgeted.paired))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    text = page(results, ablations, targets, asked, (seed53[0], seed53[1]), seeds=options.seeds)
    options.out.write_text(text, encoding="utf-8")

    for target in targets:
        print("ok  " if target.met else "MISS", target.name, target.measured, target.wanted)
    for answer in asked:
        print("ok  " if answer.passed else "MISS", answer.question, answer.policy, answer.numbers)
    print(f"written to {options.out}")
    return 0 if all(t.met for t in targets) and all(a.passed for a in asked) else 1


if __name__ == "__main__":
    sys.exit(main())
