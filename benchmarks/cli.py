"""Entry points of everything that measures: `booster-demo`, `booster-quality`, `booster-bench`."""

import argparse
import asyncio
import sys
from pathlib import Path


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
