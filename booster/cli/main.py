"""The `booster` command: every group, and the one place where an error becomes a line and an exit code."""

import logging
import sys
from typing import NoReturn

import typer

from booster.cli import doctor, scheduler, serve, sessions, solve

EXIT_ANSWERED, EXIT_ERROR, EXIT_USAGE, EXIT_DEGRADED, EXIT_NO_ANSWER, EXIT_INTERRUPTED = 0, 1, 2, 3, 4, 130

app = typer.Typer(
    name="booster",
    help="Solve tasks with a language model by spending compute where it pays.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("solve")(solve.solve)
app.command("serve")(serve.serve)
app.command("doctor")(doctor.doctor)
app.add_typer(sessions.app, name="sessions", help="Look at journalled sessions, go on with them, or delete them.")
app.add_typer(
    scheduler.app, name="scheduler", help="Look at what the scheduler has learnt, move it, or serve it alone."
)


@app.callback(invoke_without_command=True)
def version(
    show: bool = typer.Option(False, "--version", help="Print the version and exit."),
) -> None:
    """Solve tasks with a language model by spending compute where it pays."""
    if show:
        from booster.version import installed_version

        print(f"booster {installed_version()}")
        raise typer.Exit


def run() -> NoReturn:
    """Run the command; errors that a user can mend end as one line on stderr, without a stack trace."""
    from booster.cli.failures import explained

    # What breaks off ends the command with a line of its own; only `serve` keeps a log beside it.
    logging.getLogger("booster").addHandler(logging.NullHandler())
    try:
        app(standalone_mode=True)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(EXIT_ERROR)
    except Exception as error:
        text, code = explained(error)
        print(f"booster: {text}", file=sys.stderr)
        sys.exit(code)
    sys.exit(EXIT_ANSWERED)
