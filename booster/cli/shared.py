"""What several commands need: options, settings, results on stdout, progress on stderr."""

import asyncio
import json
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from booster.redact import printable
from booster.result import SolveResult
from booster.settings import Settings

T = TypeVar("T")

EXIT_TERMINATED = 128 + signal.SIGTERM
"""What shells report of a program that SIGTERM ended."""

ConfigFile = Annotated[
    Path | None, typer.Option("--config", help="Read this configuration file instead of looking for one.")
]
SecretsFile = Annotated[
    Path | None, typer.Option("--secrets", help="Read this secrets file instead of looking for one.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")]


def load_settings(config: Path | None, secrets: Path | None) -> Settings:
    """Gather the settings and print their warnings on stderr."""
    settings = Settings.load(config_file=config, secrets_file=secrets)
    for warning in settings.warnings:
        print(f"booster: warning: {warning}", file=sys.stderr)
    return settings


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run work to its end; SIGTERM withdraws it as Ctrl-C does, so that it can save its state first.

    Raises:
        typer.Exit: SIGTERM ended it; code 143.
    """
    return asyncio.run(_terminable(work))


async def _terminable(work: Coroutine[Any, Any, T]) -> T:
    signals: list[int] = []
    task = asyncio.ensure_future(work)

    def withdraw() -> None:
        signals.append(signal.SIGTERM)
        task.cancel()

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, withdraw)
    try:
        return await task
    except asyncio.CancelledError:
        if signals:
            raise typer.Exit(EXIT_TERMINATED) from None
        raise


def print_json(document: Any) -> None:
    """Print one JSON document on stdout."""
    print(json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False))


def show_result(result: SolveResult, *, as_json: bool) -> None:
    """Print a result for people or programs; foreign text cannot command the terminal."""
    print(result.to_json() if as_json else printable(f"{result.to_text()}\n\n{_account(result)}"))


def exit_code(result: SolveResult) -> int:
    """Return 0 answered, 3 no model content, 1 failed, 4 ended without an answer."""
    if result.answer is not None:
        return 0
    return {"degraded": 3, "failed": 1}.get(result.status, 4)


@contextmanager
def progress(quiet: bool) -> Iterator[Callable[[Any], None] | None]:
    """Yield a listener that shows what happens: one live line on a terminal, else one JSON line an event, on stderr."""
    if quiet:
        yield None
    elif sys.stderr.isatty():
        from rich.console import Console

        with Console(stderr=True).status("thinking") as status:
            yield lambda event: status.update(describe(event.type, event.data))
    else:
        yield lambda event: print(json.dumps(_line(event), ensure_ascii=False), file=sys.stderr, flush=True)


def describe(kind: str, data: dict[str, Any]) -> str:
    """Return one event in a few words; model text is cut and made harmless."""
    match kind:
        case "iteration_opened" | "escalated":
            how = "thinks hard" if data["decision"]["mode"] == "system2" else "tries the cheap way"
            return f"iteration {data['iteration']} {how}"
        case "iteration_closed" if data.get("step"):
            return f"step {data['step']['index'] + 1}: {printable(data['step']['text'])[:80]}".replace("[", r"\[")
        case "iteration_closed":
            return f"iteration {data['iteration']['iteration']}: nothing applied"
        case "concluded":
            return f"done: {data['stopReason']}"
        case _:
            return kind.replace("_", " ")


def _line(event: Any) -> dict[str, Any]:
    return {"seq": event.seq, "at": event.at, "type": event.type, "what": describe(event.type, event.data)}


def _account(result: "SolveResult") -> str:
    """Return in one line which session it was and what it cost."""
    usage = result.usage
    tokens = usage["promptTokens"] + usage["completionTokens"]
    cost = "cost unknown" if usage["costUsd"] is None else f"{usage['costUsd']:.4f} USD"
    return f"Session {result.session_id}: {usage['calls']} calls, {tokens} tokens, {cost}"
