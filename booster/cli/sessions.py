"""`booster sessions`: look at journalled sessions, go on with them, stop, export or delete them."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from booster.cli.shared import (
    AsJson,
    ConfigFile,
    Quiet,
    SecretsFile,
    exit_code,
    load_settings,
    print_json,
    progress,
    run_async,
    show_result,
)
from booster.redact import printable
from booster.session import ListedStatus

app = typer.Typer(no_args_is_help=True)

SessionId = Annotated[str, typer.Argument(metavar="SESSION", help="Session id, ses_...")]


def _with_booster(config: Path | None, secrets: Path | None, work: Callable[[Any], Awaitable[Any]]) -> Any:
    async def opened() -> Any:
        from booster.app import Booster

        async with Booster.open(load_settings(config, secrets)) as booster:
            return await work(booster)

    return run_async(opened())


@app.command("list")
def list_sessions(
    status: Annotated[
        ListedStatus | None,
        typer.Option(help="Only those with this status; orphaned = running, but its process is gone."),
    ] = None,
    limit: Annotated[int, typer.Option(help="How many, newest first.", min=1, max=1000)] = 50,
    as_json: AsJson = False,
    config: ConfigFile = None,
    secrets: SecretsFile = None,
) -> None:
    """List sessions, newest first."""
    found = _with_booster(config, secrets, lambda booster: booster.sessions(status=status, limit=limit))
    if as_json:
        print_json({"sessions": found})
        return
    for item in found:
        state = "orphaned" if item.get("orphaned") else item["status"]
        print(f"{item['sessionId']}  {state:<9}  {item['createdAt']}  {printable(item['task'])[:80]!r}")
    if not found:
        print("no sessions")


@app.command()
def show(session: SessionId, as_json: AsJson = False, config: ConfigFile = None, secrets: SecretsFile = None) -> None:
    """Show what a session came to so far."""
    show_result(_with_booster(config, secrets, lambda booster: booster.result(session)), as_json=as_json)


@app.command()
def resume(
    session: SessionId,
    as_json: AsJson = False,
    quiet: Quiet = False,
    config: ConfigFile = None,
    secrets: SecretsFile = None,
) -> None:
    """Go on with an unfinished session; no finished call is paid again."""
    with progress(quiet) as listener:
        result = _with_booster(config, secrets, lambda booster: booster.resume(session, listener=listener))
    show_result(result, as_json=as_json)
    raise typer.Exit(exit_code(result))


@app.command()
def cancel(session: SessionId, config: ConfigFile = None, secrets: SecretsFile = None) -> None:
    """Stop a session, also one that another process works on; its state is kept."""

    async def stopped(booster: Any) -> bool:
        if (await booster.session(session)).conclusion is not None:
            return False
        await booster.cancel(session)
        return True

    if _with_booster(config, secrets, stopped):
        print(f"{session} is told to stop; `booster sessions resume {session}` goes on with it")
    else:
        print(f"{session} has ended; there is nothing to stop")


@app.command()
def delete(session: SessionId, config: ConfigFile = None, secrets: SecretsFile = None) -> None:
    """Delete a session with everything it holds."""
    _with_booster(config, secrets, lambda booster: booster.journal.delete(session))
    print(f"{session} is deleted")


@app.command()
def export(
    session: SessionId,
    html: Annotated[
        bool, typer.Option("--html", help="As one HTML file: it loads nothing and runs no script.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Where to write; unset = stdout.")] = None,
    config: ConfigFile = None,
    secrets: SecretsFile = None,
) -> None:
    """Print everything the journal holds of a session as JSON, or show it as a page."""

    async def document(booster: Any) -> str:
        if not html:
            return json.dumps(await booster.journal.export(session), ensure_ascii=False, indent=2, allow_nan=False)
        from booster.server.viewer.export import exported

        return await exported(booster, session)

    text = _with_booster(config, secrets, document)
    if out is None:
        print(text)
        return
    from booster.output import write_user_file

    write_user_file(out, text + "\n")
