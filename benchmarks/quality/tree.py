"""Game of 24 step by step: recorded proposals are what the model replies, recorded value calls what a process-reward model says.

The records are searches of Tree of Thoughts (Yao et al. 2023, arXiv:2305.10601), so only paths that were kept there go on; elsewhere
the model has nothing to say. Whether 24 can still be reached from a state only the scorer knows.
Above: the command. Below: the shipped loop with `granularity` step, and a server of process rewards on loopback.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any, Final

from benchmarks.quality.outcomes import difference
from benchmarks.replay_data import left_over, records
from benchmarks.selection.beam import reaches_24
from benchmarks.statistics import mean
from benchmarks.table import Bar, Figure, Section
from booster.app import Booster
from booster.session import Budget
from booster.settings import MEMORY_JOURNAL, RewardServer, Settings
from providers.reading import estimated_usage
from providers.types import Call, Reply

Steps = tuple[str, ...]
"""A path: its lines, the first operation first."""

LEVELS: Final = 3
"""Operations that four numbers take."""
MOST_SEEDS: Final = 5
"""A walk takes thirty calls, two thirds of them over HTTP: further orders would take minutes and say little more."""
SURE: Final = 60.0
"""Sum of three value calls that all say `sure`: a reward of 1."""
CANDIDATES: Final = (5, 16)
"""Alternatives that are asked for at each step; 16 is the most that the options allow."""
NOTHING: Final = "Nothing follows."

FIRST, SCORED, REWARDED = "first proposal", "heuristic score", "process reward"


@dataclass(frozen=True, kw_only=True, slots=True)
class Tree:
    """One recorded search."""

    id: str
    numbers: str
    children: Mapping[Steps, tuple[str, ...]]
    """Path -> the lines that were proposed next."""
    rewards: Mapping[Steps, float]
    """Path -> what the value calls said of its end, in [0, 1]."""
    right: frozenset[str]
    """Answers that are right. The scorer's."""

    def solvable(self, path: Sequence[str]) -> bool:
        """Say whether 24 can still be reached after the last line; the scorer's."""
        left = left_over(path[-1]) if path else None
        return left is not None and len(left.split()) == LEVELS + 1 - len(path) and reaches_24(left)


@dataclass(frozen=True, kw_only=True, slots=True)
class Walk:
    """What a solve came to."""

    solvable: tuple[bool, ...]
    """Of each level: a step was applied from which 24 can be reached."""
    right: bool
    calls: int
    rewards: int
    """Calls of the process-reward model among them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Way:
    """One way of asking."""

    name: str
    candidates: int
    rewarded: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)


def ways() -> tuple[Way, ...]:
    """Return the ways that are measured, the one without any choice first."""
    scored = [Way(name=f"{SCORED} of {n}", candidates=n) for n in CANDIDATES]
    rewarded = [Way(name=f"{REWARDED} of {n}", candidates=n, rewarded=True) for n in CANDIDATES]
    beam = {"beam_width": 3, "beam_depth": 2}
    wide = Way(name=f"{REWARDED} of {CANDIDATES[-1]}, beam 3", candidates=CANDIDATES[-1], rewarded=True, options=beam)
    return (Way(name=FIRST, candidates=1), *scored, *rewarded, wide)


def trees(data: Path) -> tuple[Tree, ...]:
    """Return the recorded searches.

    Raises:
        MissingDataError: the record is not there.
    """
    return tuple(_tree(record) for record in records(data, "tot_game24/game24"))


class TreeReplay:
    """A `Provider` that proposes what was recorded as the next lines of the path that the prompt shows.

    Args:
        by_id: The searches; a call names its own as the request parameter `user`.
        count: Alternatives in a reply.
        seed: Order in which they are proposed.
    """

    name = "replay"
    default_model = "gpt-4"
    slots = None

    def __init__(self, by_id: Mapping[str, Tree], count: int, seed: int) -> None:
        self._trees, self._count, self._seed = by_id, count, seed

    async def send(self, call: Call) -> Reply:
        """Return the proposals at the end of the path that the call shows."""
        tree = self._trees[str(call.request["user"])]
        text = self._proposals(tree, _shown(str(call.messages[1]["content"])))
        return Reply(
            text=text, model=self.default_model, provider=self.name, source="replay", usage=estimated_usage(call, text)
        )

    async def aclose(self) -> None:
        """Nothing to close."""

    def _proposals(self, tree: Tree, path: Steps) -> str:
        lines = list(tree.children.get(path, ()))
        Random(f"{self._seed} {tree.id} {path}").shuffle(lines)
        items = [{"text": line, "rationale": "", **_answer(line)} for line in lines[: self._count]]
        return json.dumps(items) if items else NOTHING


@asynccontextmanager
async def reward_server(by_numbers: Mapping[str, Tree]) -> AsyncIterator[str]:
    """Serve the recorded value calls as process rewards in the form of pooling; yield the address."""

    served: list[asyncio.Task[None]] = []

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        served.append(asyncio.create_task(serve(reader, writer)))

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = head.decode("latin-1").lower().split("\r\n")
                size = next(int(line.partition(":")[2]) for line in lines if line.startswith("content-length:"))
                document = json.dumps(_rewards(by_numbers, json.loads(await reader.readexactly(size)))).encode()
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n")
                writer.write(b"content-length: %d\r\n\r\n%b" % (len(document), document))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has left
        finally:
            writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    async with server:
        host, port = server.sockets[0].getsockname()[:2]
        yield f"http://{host}:{port}"
        server.close()
        for task in served:
            task.cancel()
        await asyncio.gather(*served, return_exceptions=True)


async def walked(every: Sequence[Tree], way: Way, seed: int) -> list[Walk]:
    """Let the loop walk every tree in one way, one after the other."""
    plain = Settings.load(environ={"HOME": os.environ.get("HOME", "/")}, cwd=Path("/"))
    settings = replace(plain, journal_url=MEMORY_JOURNAL, endpoints={}, warnings=[])
    replay = TreeReplay({tree.id: tree for tree in every}, way.candidates, seed)
    async with reward_server({tree.numbers: tree for tree in every}) as url:
        if way.rewarded:
            settings = replace(settings, reward_server=RewardServer(url=url, model="gpt-4"))
        async with Booster.open(settings, providers=[replay]) as booster:
            return [await _walk(booster, tree, way) for tree in every]


def one_seed(data: Path, seed: int) -> dict[str, list[Walk]]:
    """Return where every way leads in one seed."""
    every = trees(data)
    return {way.name: asyncio.run(walked(every, way, seed)) for way in ways()}


def tree_section(data: Path, seeds: int, *, processes: int = 2) -> Section:
    """Return the table: where the steps lead, by what chooses among them.

    Raises:
        MissingDataError: the record is not there.
    """
    every, seeds = trees(data), min(seeds, MOST_SEEDS)
    with ProcessPoolExecutor(processes) as pool:
        runs = list(pool.map(one_seed, [data] * seeds, range(seeds)))
    found = {way.name: [run[way.name] for run in runs] for way in ways()}
    rows = [_row(name, runs) for name, runs in found.items()]
    rows += [
        ("published: tree search, five kept", "83.8", "75.0", "72.1", "60.3", "", ""),
        ("published: a solvable state was proposed", "95.6", "75.0", "72.1", "", "", ""),
        ("published: one sample of a whole answer (IO, CoT)", "", "", "", "6.3, 3.6", "1.00", ""),
    ]
    best, scored = (f"{what} of {CANDIDATES[-1]}" for what in (REWARDED, SCORED))
    gap, low, high = difference(_by_tree(found[best]), _by_tree(found[scored]))
    figure = Figure(
        name=f"{best} over {scored}, right, lower end", value=100 * low, unit="points", bar=Bar(relation=">=", value=0),
        note=f"mean {100 * gap:+.1f}, upper end {100 * high:+.1f}",
    )  # fmt: skip
    return Section(
        title=f"game24 step by step: {len(every)} puzzles, {seeds} seeds; recorded proposals and value calls; a path that the record dropped ends",
        header=("steps chosen by", "level 1 %", "level 2 %", "level 3 %", "right %", "calls", "of these rewards"),
        rows=rows, figures=[figure],
    )  # fmt: skip


async def _walk(booster: Booster, tree: Tree, way: Way) -> Walk:
    result = await booster.solve(
        f"Use each of {tree.numbers} once, with + - * / and brackets, to make 24.",
        request={"user": tree.id}, granularity="step", scheduler="system2", num_candidates=way.candidates,
        iterations=12, budget=Budget(calls=300, seconds=None), **way.options,
    )  # fmt: skip
    path = [step.text for step in result.steps][:LEVELS]
    rewards = result.usage["byRole"].get("process_reward", {}).get("calls", 0)
    return Walk(
        solvable=tuple(tree.solvable(path[:level]) and len(path) >= level for level in range(1, LEVELS + 1)),
        right=(result.answer or "").strip() in tree.right,
        calls=result.usage["calls"], rewards=rewards,
    )  # fmt: skip


def _by_tree(runs: Sequence[Sequence[Walk]]) -> list[float]:
    return [mean([walk.right for walk in of_tree]) for of_tree in zip(*runs, strict=True)]


def _row(name: str, runs: Sequence[Sequence[Walk]]) -> tuple[str, ...]:
    every = [walk for run in runs for walk in run]
    levels = [f"{100 * mean([walk.solvable[level] for walk in every]):.1f}" for level in range(LEVELS)]
    calls, rewards = mean([walk.calls for walk in every]), mean([walk.rewards for walk in every])
    return (name, *levels, f"{100 * mean(_by_tree(runs)):.1f}", f"{calls:.2f}", f"{rewards:.2f}")


def _tree(record: Mapping[str, Any]) -> Tree:
    children: dict[Steps, list[str]] = {}
    rewards: dict[Steps, float] = {}
    right: set[str] = set()
    for level in record["tot"]["steps"]:
        for text, value in zip(level["new_ys"], level["values"], strict=True):
            *before, last = text.strip().split("\n")
            found = children.setdefault(tuple(before), [])
            if last not in found:
                found.append(last)
            path = (*before, last)
            # A state that was proposed twice was valued once, and the second time recorded with 0.
            rewards[path] = max(rewards.get(path, 0.0), min(1.0, value / SURE))
    for text, hit in zip(record["tot"]["ys"], record["tot"]["r"], strict=True):
        if hit:
            right.add(text.strip().rpartition("Answer: ")[2])
    return Tree(
        id=record["id"], numbers=record["puzzle"], rewards=rewards, right=frozenset(right),
        children={path: tuple(lines) for path, lines in children.items()},
    )  # fmt: skip


def _shown(prompt: str) -> Steps:
    """Return the lines that the prompt numbers as the steps so far."""
    numbered = (line.partition(". ") for line in prompt.split("\n"))
    return tuple(text for number, _, text in numbered if number.isdecimal())


def _answer(line: str) -> dict[str, str]:
    label, found, answer = line.partition("Answer: ")
    return {"answer": answer} if found and not label else {}


def _rewards(by_numbers: Mapping[str, Tree], body: Mapping[str, Any]) -> dict[str, Any]:
    task, path = (str(message["content"]) for message in body["messages"])
    tree = next(tree for numbers, tree in by_numbers.items() if f"each of {numbers} once" in task)
    steps = path.split("<extra_0>")[:-1]
    rows = [tree.rewards.get(tuple(steps[: end + 1]), 0.0) for end in range(len(steps))]
    return {"model": body["model"], "data": [{"index": 0, "data": [[1 - reward, reward] for reward in rows]}]}
