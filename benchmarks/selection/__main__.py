"""`python -m benchmarks.selection [table ...] [--quick]`: print the tables; exit 1 where a target is missed."""

import argparse
import sys

from benchmarks.selection.run import TABLES, measure, report


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.selection", description=__doc__)
    parser.add_argument(
        "tables", nargs="*", metavar="table", help=f"one of {', '.join(TABLES)}; all where none is named"
    )
    parser.add_argument(
        "--quick", action="store_true", help="few orders of the samples: wider noise, a tenth of the time"
    )
    arguments = parser.parse_args()
    unknown = set(arguments.tables) - TABLES.keys()
    if unknown:
        parser.error(f"no table {', '.join(sorted(unknown))}; there are {', '.join(TABLES)}")
    sections = measure(arguments.tables or list(TABLES), quick=arguments.quick)
    print(report(sections))
    sys.exit(any(section.missed for section in sections))


if __name__ == "__main__":
    main()
