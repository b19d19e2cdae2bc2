"""`booster solve`: one task from the command line."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

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
    from verifier.checks import parse_check_argument

    if task == "-":
        task = sys.stdin.read()
    settings = load_settings(config, secrets)
    given = {"calls": max_calls, "tokens": max_tokens, "seconds": max_seconds, "cost_usd": max_cost}
    options: dict[str, Any] = {
        "checks": [parse_check_argument(argument) for argument in check or ()],
        "budget": Budget(**{name: value for name, value in given.items() if value is not None}),  # type: ignore[arg-type]
        "config": {
            name: value
            for name, value in (("iterations", iterations), ("numCandidates", candidates))
            if value is not None
        },
    }
    if out is not None:
        try:
            refuse_user_file(out)
        except OutputPathError as error:
            raise UsageError(f"--out: {error}", field="--out") from error
    with progress(quiet) as listener:
        result = run_async(_solve(settings, task, listener, options))
    if out is not None:
        write_user_file(out, result.to_json() if out_format == "json" else result.to_text())
    show_result(result, as_json=as_json)
    raise typer.Exit(exit_code(result))


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
