"""The simulated model in a process of its own, so that its processor time and its memory are not ours."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

STARTUP_SECONDS = 60
"""Longest wait for the address."""


@asynccontextmanager
async def model_process(*options: str) -> AsyncIterator[str]:
    """Start `python -m providers.simulated` with these options and give its base URL; the process ends with the block.

    Raises:
        RuntimeError: it said no address; what it wrote to stderr is on ours.
    """
    process = await asyncio.create_subprocess_exec(
        *_command(options), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdin is not None  # both are pipes
    assert process.stdout is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), STARTUP_SECONDS)
        if not line:
            raise RuntimeError(f"the simulated model did not start: exit code {await process.wait()}")
        yield str(json.loads(line)["base_url"])
    finally:
        process.stdin.close()
        await process.wait()


def _command(options: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "providers.simulated", "--port", "0", "--until-stdin-closes", *options]
