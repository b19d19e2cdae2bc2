"""`booster solve`: one task from the command line."""

import asyncio
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from booster.cli.shared import (
    AsJson,
    ConfigFile,
    Quiet,
    SecretsFile,
    exit_code,
    load_settings,
    progress,
    run_async,
    show_result,
)

if TYPE_CHECKING:
    from verifier.types import Check


def solve(
    task: Annotated[str, typer.Argument(help="The task; - reads it from stdin.")],
    iterations: Annotated[int | None, typer.Option("-n", "--iterations", help="Iterations at most, 1..64.")] = None,
    candidates: Annotated[
        int | None, typer.Option("-k", "--candidates", help="Candidates an iteration, 1..16.")
    ] = None,
    check: Annotated[
        list[str] | None,
        typer.Option(
            "--check",
            metavar="KIND:VALUE",
            help="Check the answer: regex, equals, contains, numeric or json_schema (JSON or @FILE). May be repeated.",
        ),
    ] = None,
    max_calls: Annotated[int | None, typer.Option(help="Model calls at most, retries included.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Tokens at most, prompts included.")] = None,
    max_seconds: Annotated[float | None, typer.Option(help="Seconds at most.")] = None,
    max_cost: Annotated[float | None, typer.Option(help="US dollars at most.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Also write the result to this file.")] = None,
    out_format: Annotated[Literal["json", "text"], typer.Option("--format", help="Form of that file.")] = "json",
    config: ConfigFile = None,
    secrets: SecretsFile = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Solve TASK and print the answer.

    Exit codes: 0 answered, 1 error, 2 usage, 3 no model could be asked, 4 ended without an answer.
    """
    from booster.errors import OutputPathError, UsageError
    from booster.output import refuse_user_file, write_user_file
    from booster.session import Budget

    if task == "-":
        task = sys.stdin.read().rstrip("\r\n")
    settings = load_settings(config, secrets)
    given = {"calls": max_calls, "tokens": max_tokens, "seconds": max_seconds, "cost_usd": max_cost}
    with _in_options():
        budget = Budget(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]
    named = {"iterations": iterations, "numCandidates": candidates}
    options = {
        "checks": _checks(check or ()),
        "budget": budget,
        "config": {name: value for name, value in named.items() if value is not None},
    }
    if out is not None:
        try:
            refuse_user_file(out)
        except OutputPathError as error:
            raise UsageError(f"--out: {error}", field="--out") from error
    with progress(quiet) as listener, _in_options():
        result = run_async(_solve(settings, task, listener, options))
    if out is not None:
        write_user_file(out, result.to_json() if out_format == "json" else result.to_text())
    show_result(result, as_json=as_json)
    raise typer.Exit(exit_code(result))


_OPTIONS = {
    "budget.calls": "--max-calls", "budget.tokens": "--max-tokens", "budget.seconds": "--max-seconds",
    "budget.costUsd": "--max-cost", "iterations": "--iterations", "numCandidates": "--candidates", "value": "--check",
}  # fmt: skip
"""What the fields of a solve are called here."""


@contextmanager
def _in_options() -> Iterator[None]:
    """Name the option in the place of the field that a value was given for."""
    from booster.errors import UsageError
    from verifier.errors import VerifierError

    try:
        yield
    except (UsageError, VerifierError) as error:
        field, _, said = str(error).partition(": ")
        if field not in _OPTIONS:
            raise
        raise UsageError(f"{_OPTIONS[field]}: {said}", field=_OPTIONS[field]) from error


def _checks(given: Sequence[str]) -> "list[Check]":
    from booster.errors import UsageError
    from verifier.checks import parse_check_argument
    from verifier.errors import VerifierError

    try:
        return [parse_check_argument(argument) for argument in given]
    except VerifierError as error:
        raise UsageError(f"--check: {str(error).partition(': ')[2]}", field="--check") from error


async def _solve(settings: Any, task: str, listener: Any, options: dict[str, Any]) -> Any:
    from booster.app import Booster
    from booster.journal.errors import JournalError

    async with Booster.open(settings) as booster:
        session_id = await booster.begin(task, listener=listener, **options)
        try:
            return await booster.wait(session_id)
        except asyncio.CancelledError:
            await booster.cancel(session_id)
            print(f"booster: stopped; `booster sessions resume {session_id}` goes on with it", file=sys.stderr)
            raise
        except JournalError as error:
            raise JournalError(f"{error}; then `booster sessions resume {session_id}` goes on") from error
