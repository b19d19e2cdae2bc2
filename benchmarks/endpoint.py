"""The OpenAI-compatible endpoint as its clients meet it: `booster serve --http` in a process of its own, asked by plain HTTP."""

import asyncio
import json
import os
import signal
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import aiohttp

from benchmarks.demo import SIMULATED
from benchmarks.timing import Arm
from providers.simulated import LARGE

DIRECT: Final = "the model itself"
PASSED_ON: Final = "booster, one call passed on"
BOOSTED: Final = "booster, best-of-4 and 4 judge calls"

_OPTIONS: Final[Mapping[str, Mapping[str, Any]]] = {
    PASSED_ON: {"scheduler": "system1"},
    BOOSTED: {"candidates": 4, "scheduler": "seed", "select": "judge", "judgeModel": LARGE},
}
_SOURCES: Final = str(Path(__file__).resolve().parent.parent)
"""Where this program runs from its sources, so does the server, whatever directory it starts in."""

STARTUP_SECONDS: Final = 60
"""Longest wait for the server."""


@asynccontextmanager
async def endpoint_arms(model_url: str) -> AsyncIterator[list[Arm]]:
    """Start the server in front of a model and give three ways to ask: direct, passed on, boosted."""
    with tempfile.TemporaryDirectory(prefix="booster-bench-") as home:
        async with (
            serving(model_url, Path(home)) as (url, token),
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=128)) as http,
        ):
            headers = {"Authorization": f"Bearer {token}"}
            yield [
                _arm(DIRECT, http, f"{model_url}/chat/completions", {}, {"model": SIMULATED}),
                *(
                    _arm(name, http, f"{url}/v1/chat/completions", headers, {"model": "booster", "booster": options})
                    for name, options in _OPTIONS.items()
                ),
            ]


@asynccontextmanager
async def serving(model_url: str, home: Path) -> AsyncIterator[tuple[str, str]]:
    """Run `booster serve --http` over a model and give its address and token; it ends with the block.

    Raises:
        RuntimeError: it did not answer; what it wrote to stderr is in the text.
    """
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    environment |= {"BOOSTER_HOME": str(home), "LOCAL_BASE_URL": model_url, "LOCAL_MODEL": SIMULATED}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (_SOURCES, environment.get("PYTHONPATH"))))
    port = _free_port()
    command = ("-m", "booster", "serve", "--http", "--port", str(port))
    log = home / "log"  # not a pipe, which would be full one day
    with log.open("wb") as written:
        process = await asyncio.create_subprocess_exec(
            sys.executable, *command, env=environment, cwd=home, stderr=written
        )
    try:
        await _serves(process, log)
        yield f"http://127.0.0.1:{port}", (home / "token").read_text(encoding="utf-8").strip()
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        await process.wait()


async def _serves(process: asyncio.subprocess.Process, log: Path) -> None:
    for _ in range(10 * STARTUP_SECONDS):
        said = await asyncio.to_thread(log.read_text, encoding="utf-8", errors="replace")
        if "serving on" in said:
            return
        if process.returncode is not None:
            break
        await asyncio.sleep(0.1)
    raise RuntimeError(f"the server did not start: {said}")


def _arm(name: str, http: aiohttp.ClientSession, url: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> Arm:
    async def run(task: str) -> None:
        request = {**body, "messages": [{"role": "user", "content": task}]}
        async with http.post(url, json=request, headers=headers) as response:
            document = json.loads(await response.read())
            if response.status != 200 or not document["choices"][0]["message"]["content"]:
                raise RuntimeError(f"{name}: HTTP {response.status}: {str(document)[:500]}")

    return Arm(name=name, run=run)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
