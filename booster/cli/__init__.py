"""The command line: one module a command group, wired in `booster.cli.main`."""


def main() -> None:
    """Entry point of the `booster` command."""
    from booster.cli.main import run

    run()
