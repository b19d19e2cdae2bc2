"""`booster doctor`: what is configured, what works, and what MCP clients really offer."""

import asyncio
import platform
import time
from typing import Annotated, Any

import typer

from booster.cli.shared import AsJson, ConfigFile, SecretsFile, load_settings, print_json
from booster.redact import printable
from booster.version import installed_version


def doctor(
    probe: Annotated[bool, typer.Option("--probe", help="Also make one small paid call to every endpoint.")] = False,
    as_json: AsJson = False,
    config: ConfigFile = None,
    secrets: SecretsFile = None,
) -> None:
    """Show what is configured, whether the journal can be written, and what the last MCP clients declared.

    Exit codes: 0 all well, 1 something is broken, 3 no model is configured.
    """
    report = asyncio.run(_examine(load_settings(config, secrets), probe))
    if as_json:
        print_json(report)
    else:
        print("\n".join(_lines(report)))
    broken = any(source.get("probe", {}).get("ok") is False for source in report["sources"])
    raise typer.Exit(1 if broken else 0 if report["sources"] else 3)


async def _examine(settings: Any, probe: bool) -> dict[str, Any]:
    from booster.app import Booster

    async with Booster.open(settings) as booster:
        sources = booster.describe_sources()
        if probe:
            for source in sources:
                source["probe"] = await _probe(booster, source["provider"])
        return {
            "version": installed_version(),
            "python": platform.python_version(),
            "home": str(settings.home),
            "readFrom": [str(path) for path in settings.read_from],
            "warnings": list(settings.warnings),
            "sources": sources,
            "sessions": len(await booster.sessions(limit=1000)),
            "clients": await booster.journal.clients(),
            "advice": None if sources else booster.advice(),
        }


async def _probe(booster: Any, provider: str) -> dict[str, Any]:
    start = time.monotonic()
    result = await booster.solve(
        "Reply with the word ok.", provider=_knob(provider), iterations=1, scheduler="system1", sampling_max_tokens=64
    )
    failures = result.diagnostics["failures"]
    document = {"ok": result.diagnostics["successes"] > 0, "seconds": round(time.monotonic() - start, 3)}
    return {**document, "said": failures[-1]["message"]} if failures else document


def _knob(provider: str) -> str:
    return "openai" if provider == "direct-openai" else provider


def _lines(report: dict[str, Any]) -> list[str]:
    lines = [f"booster {report['version']}, Python {report['python']}", f"home: {report['home']}"]
    lines.append(f"settings read from: {', '.join(report['readFrom']) or 'environment only'}")
    for source in report["sources"]:
        lines.append(f"model: {source['provider']}, {source['model']}, {source['url']}")
        if found := source.get("probe"):
            verdict = "answers" if found["ok"] else f"FAILS: {printable(found.get('said', ''))}"
            lines.append(f"  {verdict} ({found['seconds']} s)")
    if not report["sources"]:
        lines.append(f"model: none; {report['advice']}")
    lines.append(f"journal: works, {report['sessions']} sessions")
    for client in report["clients"]:
        offers = ", ".join(sorted(client["capabilities"])) or "nothing beyond tools"
        lines.append(
            printable(
                f"MCP client: {client['name']} {client['version']} ({client['protocol']}) declared {offers}; seen {client['seenAt']}"
            )
        )
    if not report["clients"]:
        lines.append("MCP clients: none seen yet; sampling is used only where a client declares it")
    return lines
