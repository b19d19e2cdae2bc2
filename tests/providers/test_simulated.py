"""The simulated model as a process of its own, and the faults' text form."""

import asyncio
import json
import signal
import subprocess
import sys
from typing import Any

import aiohttp
import pytest

from providers.simulated import Fault, main


async def launch(*options: str) -> tuple[asyncio.subprocess.Process, dict[str, Any]]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "providers.simulated", *options),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    return process, json.loads(await process.stdout.readline())


async def test_the_process_prints_one_line_serves_and_ends_on_sigterm() -> None:
    process, said = await launch("--accuracy", "1", "--seed", "5", "--fault", "http_500:first=1")

    async with aiohttp.ClientSession() as client:
        body = {"model": "simulated/large", "messages": [{"role": "user", "content": "Hello. Give the final answer."}]}
        statuses = []
        for _ in range(2):
            async with client.post(said["base_url"] + "/chat/completions", json=body) as response:
                statuses.append(response.status)
        async with client.get(said["base_url"].removesuffix("/v1") + "/control/count") as response:
            counted = await response.json()
    process.send_signal(signal.SIGTERM)
    rest, errors = await process.communicate()

    assert said["simulated"] is True
    assert said["pid"] == process.pid
    assert statuses == [500, 200]
    assert counted["requests"] == 2
    assert (process.returncode, rest, errors) == (0, b"", b"")


async def test_the_process_ends_when_its_standard_input_closes() -> None:
    process, _ = await launch("--until-stdin-closes")
    running = process.returncode is None

    assert process.stdin is not None
    process.stdin.close()
    rest, errors = await process.communicate()

    assert running
    assert (process.returncode, rest, errors) == (0, b"", b"")


async def test_the_process_ends_on_sigterm_while_its_standard_input_stays_open() -> None:
    process, _ = await launch("--until-stdin-closes")

    process.send_signal(signal.SIGTERM)
    code = await process.wait()
    await process.communicate()

    assert code == 0


@pytest.mark.parametrize(
    "options",
    [["--accuracy", "2"], ["--fault", "flood"], ["--shape", "verse"], ["--tasks", "-1"], ["--fault", "hang:a=1"]],
)
def test_a_wrong_option_is_a_usage_error(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(options)

    assert caught.value.code == 2
    assert "usage:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("hang", Fault(kind="hang")),
        ("http_429:every=3,seconds=0.5", Fault(kind="http_429", every=3, seconds=0.5)),
        ("http_500:first=2,roles=judge+steps", Fault(kind="http_500", first=2, roles=("judge", "steps"))),
        ("drop:indices=0+4,probability=0.25", Fault(kind="drop", indices=(0, 4), probability=0.25)),
        ("unsupported_parameter:parameter=top_k", Fault(kind="unsupported_parameter", parameter="top_k")),
    ],
)
def test_a_fault_is_read_from_its_text(text: str, fault: Fault) -> None:
    assert Fault.parse(text) == fault


@pytest.mark.parametrize(
    "text",
    [
        "flood",
        "hang:every",
        "hang:every=0",
        "hang:probability=2",
        "hang:roles=king",
        "hang:kind=drop",
        "hang:indices=-1",
    ],
)
def test_a_fault_that_makes_no_sense_is_an_error(text: str) -> None:
    with pytest.raises(ValueError):
        Fault.parse(text)
