"""What durability costs: rows of the journal on SQLite, written one after the other and by many at the same time."""

import asyncio
import time
from pathlib import Path
from typing import Any

from benchmarks.table import Bar, Figure, Section
from booster.journal import Journal, Recorder, SessionLedger, open_journal
from providers.types import Call, Reply, Usage

WRITERS = (1, 50)

_TEXT = "The tank holds 120 litres and loses 5 litres a minute, so after 10 minutes 70 litres are left in it. " * 6
"""About as long as a reply; an event and a call carry one each."""


async def journal_section(home: Path, *, rows: int) -> Section:
    """Measure milliseconds per event and per paid call (two rows: intent and outcome), each awaited until durable.

    Args:
        home: An empty directory on the disk that counts.
        rows: Written by each writer; ten times as many where there is only one.
    """
    lines: list[tuple[str, ...]] = []
    figures = []
    async with open_journal(f"sqlite:///{home / 'booster.db'}", owner_dir=home / "owners") as journal:
        for writers in WRITERS:
            count = rows * 10 if writers == 1 else rows
            event = await _per_item(journal, f"events{writers}", writers, count, _events)
            call = await _per_item(journal, f"calls{writers}", writers, count, _calls)
            lines.append((f"{writers:>3}", *(f"{1000 * value:.3f}" for value in (*event, *call))))
            bar = Bar(relation="<", value=1) if writers > 1 else None
            figures.append(Figure(name=f"a paid call, {writers} at once", value=1000 * call[0], unit="ms", bar=bar))
    header = ("writers", "ms/event", "CPU ms/event", "ms/call", "CPU ms/call")
    return Section(title="journal on SQLite, durable rows", header=header, rows=lines, figures=figures)


async def _per_item(journal: Journal, name: str, writers: int, rows: int, write: Any) -> tuple[float, float]:
    """Return wall and processor seconds of an item."""
    opened = []
    for writer in range(writers):
        record = await journal.create(f"{name}-{writer}", {}, task=name)
        epoch = await journal.take_over(record.id)
        recorder = Recorder(journal, record.id, epoch, last=0)
        opened.append((recorder, await journal.ledger(record, epoch=epoch, expect=recorder.expect)))
    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(write(*one, rows) for one in opened))
    items = writers * rows
    return (time.perf_counter() - wall) / items, (time.process_time() - cpu) / items


async def _events(recorder: Recorder, _: SessionLedger, rows: int) -> None:
    """Hand events over as a solve does, and wait for all of them."""
    for number in range(rows):
        recorder.add([("reported", {"decisionId": str(number), "outcome": _TEXT})], status="running", seconds=0.0)
    await recorder.settled()


async def _calls(recorder: Recorder, ledger: SessionLedger, rows: int) -> None:
    """Wait for each intent, as a solve does, and for the outcomes in the end."""
    messages = ({"role": "user", "content": _TEXT},)
    usage = Usage(prompt_tokens=200, completion_tokens=150)
    for number in range(rows):
        ticket = await ledger.open(Call(role="generate", step_key=f"it{number}/answer1", messages=messages))
        ledger.close(ticket, Reply(text=_TEXT, model="m", provider="local", source="simulated", usage=usage))
    await recorder.settled()
