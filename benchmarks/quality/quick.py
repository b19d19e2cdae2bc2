"""`booster-quality`: steps, answers and confidence, on the simulated model and, where they are, on recorded replies.

Small samples: minutes become seconds, and intervals wide. `booster-bench quality` is the measurement.
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.quality.run import PROCESSES, measure
from benchmarks.quality.simulated import MakeModel, Sizes, measured_simulated
from benchmarks.quality.tables import overview, set_section
from benchmarks.replay_data import data_directory
from benchmarks.table import rendered
from providers.simulated import SimulatedModel

QUICK: Final = ("cruxeval-input", "cruxeval-output", "crux", "gsm", "blocksworld")
"""Sets of the recorded part."""
SEEDS, QUESTIONS = 3, 100


def main(arguments: Sequence[str] | None = None, *, make_model: MakeModel | None = None) -> int:
    """Ask, print the report and return the exit code: 0, or 1 where a threshold is missed.

    Args:
        arguments: Of the command line.
        make_model: Another simulated model than the default one.
    """
    sizes = Sizes()
    parser = argparse.ArgumentParser(prog="booster-quality", description=(__doc__ or "").partition(": ")[2])
    parser.add_argument("--tasks", type=int, default=sizes.tasks, help="simulated ones, 1..60 (default: %(default)s)")
    parser.add_argument("--seeds", type=int, default=sizes.seeds, help="of the simulated model (default: %(default)s)")
    parser.add_argument(
        "--candidates", type=int, default=sizes.candidates, help="of the vote, 1..16 (default: %(default)s)"
    )
    parser.add_argument("--data", type=Path, default=data_directory(), help="recorded sets (default: %(default)s)")
    options = parser.parse_args(arguments)
    if not (1 <= options.tasks <= 60 and options.seeds >= 1 and 1 <= options.candidates <= 16):
        parser.error("--tasks must lie in 1..60, --candidates in 1..16, --seeds from 1")
    sizes = Sizes(tasks=options.tasks, seeds=options.seeds, candidates=options.candidates)
    sections = asyncio.run(measured_simulated(sizes, make_model or (lambda seed: SimulatedModel(seed=seed))))
    found, missing = measure(
        QUICK, options.data, seeds=SEEDS, most=QUESTIONS, processes=PROCESSES, say=lambda text: None
    )
    sys.stdout.write("model: simulated; the figures show the machinery, not a model's quality\n")
    recorded = [overview(found), *map(set_section, found)] if found else []
    for section in [*sections, *recorded, *missing]:
        sys.stdout.write(f"\n{rendered(section)}\n")
    return int(any(section.missed for section in [*sections, *recorded]))


if __name__ == "__main__":
    sys.exit(main())
