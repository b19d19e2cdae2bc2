"""`booster scheduler`: look at what the scheduler has learnt, take it elsewhere, begin anew, or serve it without the rest."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from booster.answer_state import AnswerState
from booster.cli.shared import AsJson, ConfigFile, SecretsFile, load_settings, print_json, run_async
from booster.errors import UsageError
from booster.learnt import read, replace_state
from booster.redact import Redactor, printable
from booster.settings import MEMORY_JOURNAL, Settings

app = typer.Typer(no_args_is_help=True)

Namespace = Annotated[str | None, typer.Option(help="Library to look at; unset = that of the settings.")]
Sessions = Annotated[int, typer.Option(help="Latest sessions to look through.", min=1, max=100_000)]

ANSWERS = "answers"
"""Where an exported document holds what was learnt about answers."""

SESSIONS = 200
"""Sessions that figures are drawn from, unless told otherwise."""


@app.command()
def serve(config: ConfigFile = None, secrets: SecretsFile = None) -> None:
    """Serve the nine scheduler tools over MCP on stdin and stdout, on the libraries of the journal."""
    from booster.scheduler_store import scheduler_tools
    from scheduler.server import serve_stdio

    settings = load_settings(config, secrets)
    logs = None if settings.journal_url == MEMORY_JOURNAL else settings.home / "scheduler"
    asyncio.run(_with_journal(settings, lambda journal: serve_stdio(scheduler_tools(journal, logs))))


@app.command()
def stats(
    namespace: Namespace = None,
    sessions: Sessions = SESSIONS,
    as_json: AsJson = False,
    config: ConfigFile = None,
    secrets: SecretsFile = None,
) -> None:
    """Show what a namespace has learnt, and which share of the decisions was labelled, by what."""
    settings = load_settings(config, secrets)
    name = namespace or settings.config.namespace
    found = run_async(_with_journal(settings, lambda journal: _stats(journal, name, sessions)))
    _show(found, as_json)


@app.command()
def calibration(
    namespace: Namespace = None,
    sessions: Sessions = SESSIONS,
    as_json: AsJson = False,
    config: ConfigFile = None,
    secrets: SecretsFile = None,
) -> None:
    """Show how well predictions met labels lately, and what votes, cheap models and opinions have proved to be worth."""
    settings = load_settings(config, secrets)
    name = namespace or settings.config.namespace

    async def report(journal: Any) -> dict[str, Any]:
        lived = await _relived(journal, name, sessions)
        answers = await _answers(journal, name) or AnswerState()
        return {"namespace": name, **lived.calibration.report(), "answers": answers.table()}

    _show(run_async(_with_journal(settings, report)), as_json)


@app.command()
def prototypes(
    namespace: Namespace = None, as_json: AsJson = False, config: ConfigFile = None, secrets: SecretsFile = None
) -> None:
    """Show every learnt prototype in words and numbers."""
    settings = load_settings(config, secrets)
    name = namespace or settings.config.namespace

    async def report(journal: Any) -> dict[str, Any]:
        policy = (await _library(journal, name)).policy
        return {"namespace": name, "policy": policy.name, "mu": policy.mu, "prototypes": policy.prototypes()}

    found = run_async(_with_journal(settings, report))
    if as_json:
        print_json(found)
        return
    for prototype in found["prototypes"]:
        print(f"{prototype['id']}: {prototype.get('rule', '')}  ({prototype['n']} labels, {_plain(prototype)})")
    if not found["prototypes"]:
        print(f"{printable(name)}: no prototypes")


@app.command("export")
def export_(
    file: Annotated[Path | None, typer.Argument(help="Where to write; unset = stdout.")] = None,
    namespace: Namespace = None,
    config: ConfigFile = None,
    secrets: SecretsFile = None,
) -> None:
    """Write what a namespace has learnt as one JSON document, for `booster scheduler import` elsewhere."""
    settings = load_settings(config, secrets)
    name = namespace or settings.config.namespace
    document = run_async(_with_journal(settings, lambda journal: _export(journal, name)))
    if file is None:
        print_json(document)
        return
    from booster.output import write_user_file

    write_user_file(file, json.dumps(document, allow_nan=False) + "\n")


@app.command("import")
def import_(
    file: Annotated[str, typer.Argument(help="What `export` wrote; - = stdin.")],
    namespace: Annotated[str | None, typer.Option(help="Where to put it; unset = the namespace it came from.")] = None,
    as_json: AsJson = False,
    config: ConfigFile = None,
    secrets: SecretsFile = None,
) -> None:
    """Put what was exported in place of what a namespace holds."""
    document = _exported(file)
    settings = load_settings(config, secrets)
    name = namespace or document.get("namespace") or settings.config.namespace
    found = run_async(_with_journal(settings, lambda journal: _import(journal, str(name), document)))
    _show(found, as_json)


@app.command()
def reset(
    namespace: Namespace = None, as_json: AsJson = False, config: ConfigFile = None, secrets: SecretsFile = None
) -> None:
    """Forget what a namespace has learnt."""
    settings = load_settings(config, secrets)
    name = namespace or settings.config.namespace

    async def forget(journal: Any) -> bool:
        library = await _tools(journal).reset(name)
        return await replace_state(journal, name, None) or library

    there_was = run_async(_with_journal(settings, forget))
    if as_json:
        print_json({"namespace": name, "reset": there_was})
    else:
        print(f"{printable(name)}: {'forgotten' if there_was else 'there was nothing to forget'}")


async def _with_journal(settings: Settings, work: Callable[[Any], Awaitable[Any]]) -> Any:
    from booster.journal import open_journal

    owners, redact = settings.home / "owners", Redactor(settings.secrets)
    async with open_journal(settings.journal_url, owner_dir=owners, redact=redact) as journal:
        return await work(journal)


def _tools(journal: Any) -> Any:
    from booster.scheduler_store import scheduler_tools

    return scheduler_tools(journal, None)


async def _export(journal: Any, namespace: str) -> dict[str, Any]:
    """Return library and what was learnt about answers, whichever there is.

    Raises:
        InvalidInputError: There is neither.
    """
    from scheduler.errors import InvalidInputError

    answers = await _answers(journal, namespace)
    learnt = {} if answers is None else {ANSWERS: answers.dump()}
    try:
        return {**await _tools(journal).export(namespace), **learnt}
    except InvalidInputError:
        if answers is None:
            raise
        return {"namespace": namespace, **learnt}


async def _import(journal: Any, namespace: str, document: dict[str, Any]) -> dict[str, Any]:
    """Put both parts in place, or the one there is; nothing is written where one cannot be read."""
    answers = None
    if ANSWERS in document:
        try:
            answers = AnswerState.load(document[ANSWERS])
        except ValueError as error:
            raise UsageError(f"FILE: {ANSWERS}: {error}", field="FILE") from None
    alone = answers is not None and "library" not in document
    found = {"namespace": namespace} if alone else await _tools(journal).restore(namespace, document)
    if answers is None:
        return dict(found)
    await replace_state(journal, namespace, answers)
    return {**found, "answerLabels": answers.labels}


async def _answers(journal: Any, namespace: str) -> AnswerState | None:
    """Return what was learnt about answers; None where nothing was.

    Raises:
        UsageError: It cannot be read.
    """
    try:
        return await read(journal, namespace)
    except ValueError as error:
        again = f"`booster scheduler reset --namespace {namespace}` begins anew"
        raise UsageError(f"what was learnt about answers cannot be read: {error}; {again}") from None


async def _library(journal: Any, namespace: str) -> Any:
    """Return the saved library, or a new one where nothing was saved."""
    from booster.scheduler_store import JournalStore

    stored = await JournalStore(journal).read(namespace)
    return _tools(journal).service.load(namespace, stored=stored)


async def _stats(journal: Any, namespace: str, sessions: int) -> dict[str, Any]:
    library = await _library(journal, namespace)
    lived = (await _relived(journal, namespace, sessions)).stats()
    policy = library.policy
    return {
        "namespace": namespace, "policy": policy.name, "revision": library.rev, "nPrototypes": policy.n_prototypes,
        "nLabels": policy.n_labels, "mu": round(policy.mu, 4), "decisions": lived["steps"], "system2": lived["ignitions"],
        **{name: lived[name] for name in ("pending", "labelledShare", "labelSources", "warning")},
    }  # fmt: skip


async def _relived(journal: Any, namespace: str, sessions: int) -> Any:
    """Return the scheduler's view of the latest solves of the namespace, oldest first."""
    from booster.experience import relived

    records = [
        one for one in await journal.sessions(limit=sessions) if one.spec["config"].get("namespace") == namespace
    ]
    loaded = [await journal.load(one.id) for one in reversed(records)]
    return relived([(event.type, event.data) for event in record.events] for record in loaded)


def _exported(file: str) -> dict[str, Any]:
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
        document = json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"FILE: {printable(file)} cannot be read as JSON: {error}", field="FILE") from error
    if not isinstance(document, dict):
        raise UsageError(
            f"FILE: {printable(file)} holds no library that `booster scheduler export` wrote", field="FILE"
        )
    return document


def _show(document: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(document)
        return
    width = max(map(len, document))
    for name, value in document.items():
        print(f"{name:<{width}}  {printable(_text(value))}")


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else str(value)


def _plain(prototype: dict[str, Any]) -> str:
    shown = {name: prototype[name] for name in ("confidence", "predErr", "posterior") if name in prototype}
    return ", ".join(f"{name} {value:.2f}" for name, value in shown.items())
