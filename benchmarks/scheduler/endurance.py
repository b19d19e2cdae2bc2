"""What takes too long for every run: a library after a million labels, and promotions on a thousand stationary streams."""

import asyncio
import random
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.scheduler import experiment, load
from benchmarks.scheduler.targets import FALSE_PROMOTIONS, Target, at_most, from_load, promotes
from scheduler import Outcome, Signals
from scheduler.persistence import PersistentService
from scheduler.store import FileStore

LABELS, STREAMS = 1_000_000, 1000
FIRST_STREAM = 3000
DWELL, TASK, SAVE = 240, 8, 2000
"""Labels until the rule changes, labels per task, and labels between two saves."""
SIZE_LIMIT = 16 * 1024
"""Bytes a namespace may take on disk."""

RULES: tuple[Callable[[float, float], bool], ...] = (
    lambda c, d: c > 0.6,
    lambda c, d: d < 0.4,
    lambda c, d: c + d > 1.2,
    lambda c, d: d > 0.6,
    lambda c, d: c < 0.4,
    lambda c, d: c > d,
    lambda c, d: (c > 0.5) != (d > 0.5),
)
"""More rules than the library may hold, so that it stays at its cap and has to push regimes out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Size:
    """A namespace file over many labels."""

    largest: int
    """Bytes, at the largest of all saves."""
    last: int
    """Bytes at the end."""
    regimes: int
    """In the library at the end."""


async def grow(directory: Path, labels: int) -> Size:
    """Teach one namespace this many labels, saving as it goes, and return how large its file became."""
    tools = PersistentService(FileStore(directory))
    await tools.open_session("long", "long")
    draw, sizes, path = random.Random("endurance"), [0], directory / "long.json"
    for i in range(labels):
        if i % TASK == 0:
            tools.service.new_task("long")
        c, d = draw.random(), draw.random()
        reply = tools.service.decide_step(
            "long", Signals(criticality_hint=c, difficulty_hint=d, progress=i % TASK / TASK)
        )
        failed = RULES[i // DWELL % len(RULES)](c, d)
        outcome: Outcome = "s1_fail" if failed else "s1_pass"
        if reply["mode"] == "system2":
            outcome = "s2_probe_fail" if failed else "s2_probe_pass"
        tools.service.report_outcome("long", outcome=outcome, decision_id=reply["decision_id"])
        if (i + 1) % SAVE == 0 or i + 1 == labels:
            await tools.save("long")
            sizes.append(path.stat().st_size)
    regimes = len(tools.service.dump_prototypes("long")["prototypes"])
    return Size(largest=max(sizes), last=sizes[-1], regimes=regimes)


def targets(labels: int = LABELS, streams: int = STREAMS) -> list[Target]:
    """Run all of it."""
    with tempfile.TemporaryDirectory() as directory:
        size = asyncio.run(grow(Path(directory), labels))
    promoted = experiment.parallel(promotes, [FIRST_STREAM + i for i in range(streams)])
    return [
        at_most(
            f"largest namespace file over {labels} labels, bytes ({size.last} at the end, {size.regimes} regimes)",
            size.largest,
            SIZE_LIMIT,
            digits=0,
        ),
        at_most(
            f"stationary streams with any promotion, % ({sum(promoted)} of {streams})",
            100 * sum(promoted) / streams,
            100 * FALSE_PROMOTIONS,
        ),
        *from_load(load.measure()),
    ]
