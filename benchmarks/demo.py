"""`booster-demo`: a plain call against the booster on tasks with known answers, then one solve written to a file.

Uses the simulated model, served over real HTTP on loopback, and says so; `--live` uses the configured model instead.
"""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from booster.app import Booster
from booster.result import SolveResult
from booster.settings import Endpoint, Settings
from providers.simulated import SimulatedModel, SimulatedServer, SimulatedTask, demo_tasks
from verifier.answers import vote_key

TASKS = 20
"""Tasks of the table."""

SIMULATED = "simulated/large"
"""Model of the demonstration."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One way of asking, and what it came to."""

    name: str
    right: int
    tasks: int
    calls: int
    settled: int
    """Answers that the booster itself calls verified or agreed."""


ARMS: Sequence[tuple[str, dict[str, Any]]] = (
    ("one plain call", {"scheduler": "system1", "iterations": 1}),
    ("booster", {}),
)
"""Name of the way of asking, and its options."""


async def demonstrate(out: Path, *, live: bool, tasks: int = TASKS) -> tuple[list[Row], SolveResult]:
    """Run the table and the single solve; write the latter's document to `out`."""
    from booster.output import write_user_file

    bank = demo_tasks(tasks)
    if live:
        return await _run(Settings.load(), bank, out, write_user_file)
    async with SimulatedServer(SimulatedModel()) as server:
        settings = simulated_settings(server.base_url)
        return await _run(settings, bank, out, write_user_file)


def simulated_settings(base_url: str, *, home: Path | None = None) -> Settings:
    """Return settings that know only the simulated model at this address; nothing is kept unless a home is given."""
    plain = Settings.load(environ={"HOME": os.environ.get("HOME", "/")}, cwd=Path("/"))
    url = "memory:" if home is None else f"sqlite:///{home / 'booster.db'}"
    local = Endpoint(model=SIMULATED, base_url=base_url)
    return replace(plain, endpoints={"local": local}, journal_url=url, home=home or plain.home, warnings=[])


def report(rows: Sequence[Row]) -> str:
    """Return the table as text."""
    lines = [f"{'':16}{'right':>12}{'calls':>8}{'calls/task':>12}{'settled':>9}"]
    for row in rows:
        share = f"{row.right}/{row.tasks} {100 * row.right / row.tasks:.0f} %"
        lines.append(f"{row.name:16}{share:>12}{row.calls:>8}{row.calls / row.tasks:>12.2f}{row.settled:>9}")
    return "\n".join(lines)


async def _run(
    settings: Settings, bank: Sequence[SimulatedTask], out: Path, write: Any
) -> tuple[list[Row], SolveResult]:
    async with Booster.open(settings) as booster:
        rows = [await _arm(booster, name, options, bank) for name, options in ARMS]
        result = await booster.solve(bank[0].task, granularity="step")
        write(out, result.to_json())
    return rows, result


async def _arm(booster: Booster, name: str, options: dict[str, Any], bank: Sequence[SimulatedTask]) -> Row:
    results = await asyncio.gather(*(booster.solve(task.task, **options) for task in bank))
    return Row(
        name=name,
        right=sum(is_right(result, task) for result, task in zip(results, bank, strict=True)),
        tasks=len(bank),
        calls=sum(result.usage["calls"] for result in results),
        settled=sum(result.answer_status in ("verified", "agreed") for result in results),
    )


def is_right(result: SolveResult, task: SimulatedTask) -> bool:
    """Say whether the answer equals the known one in the normal form that votes use."""
    return result.answer is not None and vote_key(result.answer) == vote_key(task.answer)
