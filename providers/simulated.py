"""The simulated model: a stand-in for a language model, for demos, tests and benchmarks that must not need one.

It is served over real HTTP in the OpenAI wire format, knows a bank of tasks with known answers, is right as often as its
knobs say, and fails on request. It calls itself simulated everywhere: model ids `simulated/…`, `owned_by`,
`system_fingerprint`, error texts. Inside a program::

    async with SimulatedServer(SimulatedModel(skill=0.5, latency=0.05)) as server:
        ...  # point an OpenAI client at server.base_url, model "simulated/medium"

As a process of its own: `python -m providers.simulated --port 0 --accuracy 0.7` prints one JSON line with the base URL
and ends on SIGTERM, or when standard input closes if `--until-stdin-closes` is given.
"""

import argparse
import asyncio
import json
import os
import signal
import sys
import threading
from collections.abc import Sequence
from typing import get_args

from providers.simulated_faults import Fault, FaultKind
from providers.simulated_model import LARGE, MEDIUM, PRICES, SMALL, ManyChoices, Shape, SimulatedModel
from providers.simulated_server import SimulatedServer
from providers.simulated_tasks import SimulatedTask, demo_tasks

__all__ = [
    "LARGE",
    "MEDIUM",
    "PRICES",
    "SMALL",
    "Fault",
    "FaultKind",
    "ManyChoices",
    "Shape",
    "SimulatedModel",
    "SimulatedServer",
    "SimulatedTask",
    "demo_tasks",
]


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until told to stop; return the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        model = SimulatedModel(
            seed=options.seed,
            skill=options.skill,
            accuracy=options.accuracy,
            latency=options.latency,
            jitter=options.jitter,
            shape=options.shape,
            distractors=options.distractors,
            correlation=options.correlation,
            n=options.n,
            usage=not options.no_usage,
            faults=tuple(map(Fault.parse, options.fault)),
            tasks=tuple(demo_tasks(options.tasks, options.task_seed)),
        )
    except ValueError as problem:
        parser.error(str(problem))
    asyncio.run(_serve(SimulatedServer(model, host=options.host, port=options.port), options.until_stdin_closes))
    return 0


def _parser() -> argparse.ArgumentParser:
    knobs = SimulatedModel(tasks=())
    parser = argparse.ArgumentParser(prog="python -m providers.simulated", description="Serve the simulated model.")
    add = parser.add_argument
    add("--host", default="127.0.0.1", help="interface to listen on")
    add("--port", type=int, default=0, help="0 = any free one")
    add("--seed", type=int, default=knobs.seed, help="of every draw")
    add("--skill", type=float, default=knobs.skill, help="of simulated/medium, in [0, 1]")
    add("--accuracy", type=float, help="fixed share of right answers, whatever task and model")
    add("--latency", type=float, default=knobs.latency, help="seconds")
    add("--jitter", type=float, default=knobs.jitter, help="seconds added at most")
    add("--shape", choices=get_args(Shape), default=knobs.shape)
    add("--distractors", type=int, default=knobs.distractors, help="distinct wrong answers to a task")
    add("--correlation", type=float, default=knobs.correlation, help="share of wrong answers that are the same one")
    add("--n", choices=get_args(ManyChoices), default=knobs.n, help="what becomes of n > 1")
    add("--no-usage", action="store_true", help="report no usage")
    add("--fault", action="append", default=[], metavar="KIND[:FIELD=VALUE,...]", help="for example http_500:every=3")
    add("--tasks", type=int, default=60, help="size of the bank")
    add("--task-seed", type=int, default=0, help="of the bank")
    add("--until-stdin-closes", action="store_true", help="end when standard input does")
    return parser


async def _serve(server: SimulatedServer, until_stdin_closes: bool) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with server:
        if until_stdin_closes:
            threading.Thread(target=_watch_stdin, args=(loop, stop), daemon=True).start()
        sys.stdout.write(json.dumps({"simulated": True, "base_url": server.base_url, "pid": os.getpid()}) + "\n")
        sys.stdout.flush()
        await stop.wait()


def _watch_stdin(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    # A thread, because not every kind of file can be polled; os.read, because a lock held on sys.stdin by a daemon
    # thread would break the interpreter's shutdown.
    while os.read(0, 65536):
        pass
    loop.call_soon_threadsafe(stop.set)


if __name__ == "__main__":
    raise SystemExit(main())
