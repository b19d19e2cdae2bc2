"""Real processes for tests: the simulated model as a server of its own, and the `booster` command as a user runs it."""

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Model:
    """A simulated model that runs in a process of its own."""

    base_url: str
    process: "subprocess.Popen[str]"

    def count(self) -> int:
        """Return how many requests the server itself has counted."""
        with urllib.request.urlopen(f"{self.base_url.removesuffix('/v1')}/control/count", timeout=10) as reply:
            return int(json.load(reply)["requests"])


@contextmanager
def simulated_model(*options: str) -> Iterator[Model]:
    """Run the simulated model until the block ends."""
    command = [sys.executable, "-m", "providers.simulated", "--port", "0", "--until-stdin-closes", *options]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield Model(json.loads(process.stdout.readline())["base_url"], process)
    finally:
        process.terminate()
        process.communicate(timeout=20)


def environment(home: Path, **variables: str) -> dict[str, str]:
    """Return the environment of a user who has configured nothing but these variables."""
    plain = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "BOOSTER_HOME": str(home / "state"),
        "PYTHONPATH": str(ROOT),
    }
    return {**plain, **variables}


def configured(home: Path, base_url: str, **variables: str) -> dict[str, str]:
    """Return the environment of a user whose model is at this address."""
    return environment(home, LOCAL_BASE_URL=base_url, LOCAL_MODEL="simulated/large", **variables)


def booster(
    *arguments: str, env: Mapping[str, str], cwd: Path, stdin: str | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run the `booster` command to its end."""
    return subprocess.run(
        command(*arguments),
        env=dict(env),
        cwd=cwd,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def command(*arguments: str) -> Sequence[str]:
    """Return the command line of `booster`."""
    return [sys.executable, "-m", "booster", *arguments]


def document(done: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    """Return the one JSON document on stdout."""
    found: dict[str, Any] = json.loads(done.stdout)
    return found
