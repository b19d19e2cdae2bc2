"""The command line of the sandbox, and what stands in for bubblewrap where it is missing: nothing."""

import sys
from pathlib import Path

import pytest

from verifier.sandbox import run_in_sandbox
from verifier.sandbox_command import Descriptors, SandboxLimits, interpreter, sandbox_command

INHERITED = Descriptors(status=5, syscall_filter=6, files={"answer.txt": 7})


async def test_without_bubblewrap_nothing_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    trace = tmp_path / "ran"

    result = await run_in_sandbox([sys.executable, "-c", f"open({str(trace)!r}, 'w')"])

    assert result.outcome == "refused"
    assert "bubblewrap is not installed" in result.reason
    assert not trace.exists()


async def test_on_a_machine_without_a_known_filter_nothing_is_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "bwrap").write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("platform.machine", lambda: "pdp11")

    result = await run_in_sandbox(["true"])

    assert (result.outcome, result.reason) == ("refused", "no system call filter is known for pdp11")


@pytest.mark.parametrize("user", [None, 61_500])
def test_every_wall_is_asked_for(user: int | None) -> None:
    command = sandbox_command("/usr/bin/bwrap", ["true"], SandboxLimits(), INHERITED, user=user)

    walls = {"--clearenv", "--die-with-parent", "--seccomp"}
    walls |= {"--unshare-all"} if user is None else {"--unshare-net", "--unshare-pid", "--unshare-ipc", "--cap-drop"}
    assert walls < set(command)
    assert not {"--bind", "--dev-bind", "--share-net", "--unshare-user"} & set(command)


def test_root_becomes_somebody_else_and_others_stay_themselves() -> None:
    as_root = sandbox_command("bwrap", ["true"], SandboxLimits(), INHERITED, user=61_500)
    as_user = sandbox_command("bwrap", ["true"], SandboxLimits(), INHERITED, user=None)

    assert '"user": 61500' in as_root[-1]
    assert '"user": null' in as_user[-1]


def test_arguments_cannot_become_options_of_the_sandbox() -> None:
    command = sandbox_command("bwrap", ["--bind", "/", "/"], SandboxLimits(), INHERITED, user=None)

    assert "--bind" not in command
    assert command.index("--") < command.index(str(interpreter()))


@pytest.mark.parametrize("field", ["seconds", "memory", "processes", "output_bytes"])
def test_a_limit_of_nothing_is_refused(field: str) -> None:
    with pytest.raises(ValueError, match=field):
        SandboxLimits(**{field: 0})


def test_the_worst_case_counts_every_process() -> None:
    limits = SandboxLimits(memory=100, processes=3, work_bytes=10)

    assert limits.worst_memory == 310 + 2**20
