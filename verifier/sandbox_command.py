"""The command line that shuts a program in: what it may see, what it may use, and as whom it runs. Pure.

bubblewrap makes the walls: no network, no view of other processes, an empty environment, system files read-only, one small
directory in memory to write in. The launcher (`verifier.sandbox_launcher`) then sets the limits from inside and
drops root. Above: `verifier.sandbox`. Below: nothing.

Who runs it decides how root is dropped. Started by an ordinary user, bubblewrap makes a user namespace; every process in it
is that user, and the kernel counts processes by namespace. Started by root, no user namespace is made, because inside one
root would still be root to the kernel and the limit on processes would not bind; the launcher changes to an unprivileged
number instead, with every capability but the two for that change dropped.

Not asked for: `--new-session`. bubblewrap's first process inside would leave the process group before it asks to die with its
parent, and a kill in between would miss it. The whole runs in a session without a terminal, and the launcher gives the program
one of its own.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

WORK: Final = "/tmp"  # noqa: S108  a directory inside the sandbox, made for one run
"""Working directory inside; the only place that can be written, gone with the run."""

LAUNCHER: Final = Path(__file__).with_name("sandbox_launcher.py")
DRIVER: Final = Path(__file__).with_name("sandbox_driver.py")
DRIVER_INSIDE: Final = "/driver.py"
_LAUNCHER_INSIDE: Final = "/launcher.py"

USERS: Final = range(61_184, 65_520)
"""Numbers for the unprivileged user where root starts the sandbox: systemd's range for users that exist only while a
service runs, so no file belongs to them. Each running sandbox takes its own, since the kernel counts processes by user."""

_SEMAPHORES: Final = "/dev/shm"  # noqa: S108  inside, too
_SHARED_MEMORY: Final = 2**20
"""Bytes of `/dev/shm`: room for semaphores, not for data."""

_SYSTEM: Final = ("bin", "sbin", "lib", "lib32", "lib64")
"""Directories beside `/usr`: links into it on most systems."""

_READ_ONLY: Final = ("/etc/ld.so.cache", "/etc/alternatives")
"""All of `/etc` that a program may need in order to start."""

_ENVIRONMENT: Final = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": WORK, "LANG": "C.UTF-8"}
"""The whole environment inside."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SandboxLimits:
    """What one program may use. Every number is at least 1."""

    seconds: float = 10.0
    """Wall-clock seconds, the start of the sandbox included."""
    cpu_seconds: int = 10
    """Processor seconds of each process."""
    memory: int = 512 * 2**20
    """Bytes of address space of each process. Runtimes that reserve much more than they use (Node.js, Java, Go) need
    several GiB."""
    processes: int = 8
    """Processes and threads at once."""
    file_bytes: int = 16 * 2**20
    """Bytes of one file."""
    work_bytes: int = 64 * 2**20
    """Bytes of all files together; they lie in memory."""
    open_files: int = 64
    """Open descriptors of each process."""
    output_bytes: int = 64 * 2**10
    """Bytes read of standard output, and of standard error."""

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if not getattr(self, name) >= 1:
                raise ValueError(f"{name} is {getattr(self, name)}; give at least 1")

    @property
    def worst_memory(self) -> int:
        """Bytes that one run can take at the most: every process at its limit, and the directory full."""
        return self.memory * self.processes + self.work_bytes + _SHARED_MEMORY


@dataclass(frozen=True, kw_only=True, slots=True)
class Descriptors:
    """Numbers of the open files that bubblewrap inherits."""

    status: int
    """The launcher's reports, for writing."""
    syscall_filter: int
    files: Mapping[str, int]
    """Name in the working directory -> content, for reading."""


def interpreter() -> Path:
    """Return the Python that runs checks: the one under the virtual environment, whose packages stay outside."""
    found = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    return found if found.exists() else Path(sys.executable).resolve()


def sandbox_command(
    bubblewrap: str, argv: Sequence[str], limits: SandboxLimits, descriptors: Descriptors, *, user: int | None
) -> list[str]:
    """Return the command line.

    Args:
        bubblewrap: Path of `bwrap`.
        argv: Program and arguments, as seen inside.
        limits: What it may use.
        descriptors: Open files to be inherited under the same numbers.
        user: Number of the unprivileged user to become, where root starts it; None = somebody else does.
    """
    plan = {
        "user": user,
        "limits": _resources(limits, own_namespace=user is None),
        "argv": list(argv),
        "status": descriptors.status,
    }
    launch = [str(interpreter()), "-I", "-S", _LAUNCHER_INSIDE, json.dumps(plan)]
    return [
        *[bubblewrap, *_walls(user), "--clearenv"],
        *[word for name, value in _ENVIRONMENT.items() for word in ("--setenv", name, value)],
        *_system(),
        *_python(interpreter()),
        *["--proc", "/proc", "--dev", "/dev"],
        *["--size", str(_SHARED_MEMORY), "--perms", "1777", "--tmpfs", _SEMAPHORES, "--remount-ro", "/dev"],
        *["--size", str(limits.work_bytes), "--perms", "1777", "--tmpfs", WORK],
        *["--ro-bind", str(LAUNCHER), _LAUNCHER_INSIDE, "--ro-bind", str(DRIVER), DRIVER_INSIDE],
        *_files(descriptors.files),
        *["--remount-ro", "/", "--chdir", WORK, "--die-with-parent"],
        *["--seccomp", str(descriptors.syscall_filter), "--", *launch],
    ]


def _walls(user: int | None) -> list[str]:
    if user is None:
        return ["--unshare-all"]
    namespaces = ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    return [*namespaces, "--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]


def _system() -> list[str]:
    words = ["--ro-bind", "/usr", "/usr"]
    for name in _SYSTEM:
        path = Path("/", name)
        if path.is_symlink():
            words += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            words += ["--ro-bind", str(path), str(path)]
    return words + [word for path in _READ_ONLY for word in ("--ro-bind-try", path, path)]


def _python(executable: Path) -> list[str]:
    """Bind the interpreter's installation where `/usr` does not hold it, below directories that anybody may enter."""
    prefix = Path(sys.base_prefix)
    if prefix.is_relative_to("/usr") or not executable.is_relative_to(prefix):
        return []
    parents = [str(parent) for parent in reversed(prefix.parents) if parent != Path("/")]
    opened = [word for parent in parents for word in ("--perms", "0755", "--dir", parent)]
    return [*opened, "--ro-bind", str(prefix), str(prefix)]


def _files(files: Mapping[str, int]) -> list[str]:
    pairs = files.items()
    return [word for name, number in pairs for word in ("--perms", "0644", "--file", str(number), f"{WORK}/{name}")]


def _resources(limits: SandboxLimits, *, own_namespace: bool) -> dict[str, tuple[int, int]]:
    """Return soft and hard limit by the name that the kernel has for them."""
    # In a user namespace of its own, bubblewrap's first process counts, too.
    processes = limits.processes + (1 if own_namespace else 0)
    both = {
        "AS": limits.memory,
        "NPROC": processes,
        "FSIZE": limits.file_bytes,
        "NOFILE": limits.open_files,
        "CORE": 0,
    }
    # At the soft limit a signal tells what happened; whoever ignores it dies a second later.
    return {"CPU": (limits.cpu_seconds, limits.cpu_seconds + 1)} | {name: (most, most) for name, most in both.items()}
