"""What a client of the MCP server waits for and pays: time until it answers, memory, and the size of the install."""

import asyncio
import json
import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.statistics import median
from benchmarks.table import Bar, Figure, Section

PROTOCOL = "2025-06-18"
PRODUCT = "reasoning-booster"
ANSWER_SECONDS = 30
"""Longest wait for the server."""

_SOURCES = str(Path(__file__).resolve().parent.parent)
_REQUIREMENT = re.compile(r"^([A-Za-z0-9._-]+)\s*(?:\[([^\]]*)\])?[^;]*(?:;(.*))?$")


class NotServing(Exception):
    """The server ended, or said nothing, before it answered."""


async def serving_section(home: Path, *, starts: int) -> Section:
    """Start `booster serve` some times, shake hands, and look at its memory; then add up what is installed.

    Args:
        home: An empty directory for its journal.
        starts: Times; the median counts.
    """
    title = "MCP server on stdio"
    if find_spec("booster.server.stdio") is None:
        return Section(title=title, skipped="there is no server in this version")
    try:
        found = [await _start(home) for _ in range(starts)]
    except (NotServing, TimeoutError) as error:
        return Section(title=title, skipped=f"it does not answer: {error}")
    figures = [
        Figure(name="ready: from spawn to the answer", value=median([s for s, _ in found]), unit="s", bar=_below(1.2)),
        Figure(name="its processor time until then", value=median([t for _, (t, _) in found]), unit="s"),
    ]
    memory = [m for _, (_, m) in found if m]
    if memory:
        figures.append(Figure(name="resident memory", value=median(memory) / 1e6, unit="MB", bar=_below(130)))
    try:
        size, packages = install_size(PRODUCT)
    except PackageNotFoundError:
        return Section(title=title, figures=figures)  # run from its sources
    note = "with torch" if "torch" in packages else "no torch"
    figures.append(
        Figure(name=f"install, {len(packages)} packages, {note}", value=size / 1e6, unit="MB", bar=_below(160))
    )
    return Section(title=title, figures=figures)


def install_size(name: str) -> tuple[int, Sequence[str]]:
    """Return the bytes that a distribution and all that it requires take here, and the names of these packages.

    Raises:
        PackageNotFoundError: it is not installed.
    """
    packages = dict(_closure(name, "", set(), required=True))
    return sum(map(_size, packages.values())), sorted(packages)


def _below(value: float) -> Bar:
    return Bar(relation="<", value=value)


async def _start(home: Path) -> tuple[float, tuple[float, float]]:
    """Return seconds until `initialize` was answered, and what the process had used by then."""
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    environment["BOOSTER_HOME"] = str(home)
    # Where this program runs from its sources, so does the server, whatever directory it starts in.
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (_SOURCES, environment.get("PYTHONPATH"))))
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "booster", "serve", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE, env=environment, cwd=home,
    )  # fmt: skip
    assert process.stdin is not None  # all three are pipes
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        process.stdin.write(_line("initialize", {
            "protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": {"name": "booster-bench", "version": "1"},
        }))  # fmt: skip
        answer = await asyncio.wait_for(process.stdout.readline(), ANSWER_SECONDS)
        seconds = time.perf_counter() - began
        if not answer:
            raise NotServing((await process.stderr.read()).decode(errors="replace").strip()[-300:] or "it ended")
        return seconds, _used(process.pid)
    finally:
        process.stdin.close()
        try:
            await asyncio.wait_for(process.communicate(), ANSWER_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()


def _line(method: str, params: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n"


def _used(pid: int) -> tuple[float, float]:
    """Return processor seconds and resident bytes of a process; zeros where the system has no /proc."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        times = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0, 0.0
    resident = re.search(r"VmRSS:\s+(\d+) kB", status)
    seconds = (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")
    return seconds, int(resident[1]) * 1024 if resident else 0.0


def _closure(
    name: str, extras: str, seen: set[tuple[str, str]], *, required: bool = False
) -> Iterator[tuple[str, Distribution]]:
    """Yield the installed distributions that an installation of this one with these extras brings along."""
    if (name, extras) in seen:
        return
    seen.add((name, extras))
    try:
        found = distribution(name)
    except PackageNotFoundError:
        if required:
            raise
        return  # for another platform or Python version
    yield name, found
    for requirement in found.requires or ():
        parts = _REQUIREMENT.match(requirement)
        if parts is None:
            continue
        wanted, of_it, marker = parts[1].lower().replace("_", "-"), parts[2] or "", parts[3] or ""
        if "extra" not in marker or any(
            f"'{extra}'" in marker or f'"{extra}"' in marker for extra in extras.split(",")
        ):
            yield from _closure(wanted, of_it.replace(" ", ""), seen)


def _size(package: Distribution) -> int:
    """Return the bytes of the files that a distribution installed, byte code included."""
    paths = (Path(str(package.locate_file(file))) for file in package.files or ())
    return sum(path.stat().st_size for path in paths if path.is_file())
