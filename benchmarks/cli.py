"""Entry points of everything that measures: `booster-demo`, `booster-quality`, `booster-bench`."""

import argparse
import asyncio
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

MEASUREMENTS: Mapping[str, tuple[str, str]] = {
    "load": ("benchmarks.load", "best-of-4 with judge calls under load, against bare calls in the same run"),
    "loop": ("benchmarks.loop", "what the learned scheduler saves in the real loop, through a change of rule"),
    "overhead": ("benchmarks.overhead", "what the product costs beside the model, against bare calls in the same run"),
    "parsing": ("benchmarks.parsing", "how many replies are read rightly, and how fast"),
    "quality": (
        "benchmarks.quality.run",
        "the shipped loop over recorded replies of models: answers, cost and honesty",
    ),
    "scheduler": ("benchmarks.scheduler", "the learned scheduler against its rivals, on published streams"),
    "selection": (
        "benchmarks.selection",
        "stopping, escalating and choosing, replayed over recorded answers of models",
    ),
    "figures": ("benchmarks.scheduler.figures", "the scheduler's figures and fig_data.json, into a folder"),
}
"""Name -> module to run as `python -m`, and what it measures."""


def demo() -> None:
    """`booster-demo`: the table plain call against booster, then one solve that writes summary.json."""
    parser = argparse.ArgumentParser(prog="booster-demo", description=demo.__doc__)
    parser.add_argument("--out", type=Path, default=Path("summary.json"), help="where the single solve is written")
    parser.add_argument("--live", action="store_true", help="use the configured model; this costs money")
    parser.add_argument("--tasks", type=int, default=20, help="tasks of the table, 1..60")
    arguments = parser.parse_args()
    from benchmarks.demo import demonstrate, report
    from booster.cli.failures import explained

    if not 1 <= arguments.tasks <= 60:
        parser.error("--tasks must lie in 1..60")
    try:
        rows, result = asyncio.run(demonstrate(arguments.out, live=arguments.live, tasks=arguments.tasks))
    except Exception as error:
        text, code = explained(error)
        print(f"booster-demo: {text}", file=sys.stderr)
        sys.exit(code)
    print(result.to_text())
    if not arguments.live:
        print("\nEverything here comes from a simulated model; the figures show the machinery, not a model's quality.")
    print(f"\n{report(rows)}\n\nsummary: {arguments.out.resolve()}")


def quality() -> None:
    """`booster-quality`: steps, answers and confidence, simulated and recorded; exits 1 below its thresholds."""
    from benchmarks.quality.quick import main

    sys.exit(main())


def bench() -> None:
    """`booster-bench`: one measurement, or all of them one after the other; exits as the worst of them did."""
    sys.exit(run_bench())


def run_bench(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line names; return the exit code."""
    lines = [f"  {name:11}{about}" for name, (_, about) in MEASUREMENTS.items()]
    parser = argparse.ArgumentParser(
        prog="booster-bench",
        description="\n".join(["Measurements:", *lines, "  all        each of them with its defaults"]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", nargs="?", choices=[*MEASUREMENTS, "all"], default="all", help="default: %(default)s")
    parser.add_argument("options", nargs=argparse.REMAINDER, help="of that measurement; `WHAT --help` lists them")
    chosen = parser.parse_args(arguments)
    if chosen.what == "all" and chosen.options:
        parser.error("options belong to one measurement: name it before them")
    names = list(MEASUREMENTS) if chosen.what == "all" else [chosen.what]
    return max(_measure(name, chosen.options) for name in names)


def _measure(name: str, options: Sequence[str]) -> int:
    # A process of its own: what one measurement leaves in memory does not show in the next.
    command = [sys.executable, "-m", MEASUREMENTS[name][0], *options]
    return subprocess.run(command, check=False).returncode  # noqa: S603  # our own modules
