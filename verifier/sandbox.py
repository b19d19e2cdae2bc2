"""Runs code that nobody trusts: shut in by bubblewrap, bounded in everything, and killed as a whole.

There is no second way: where bubblewrap or one of the walls is missing, the outcome is `refused` and nothing was run.
This contains mistakes and ordinary malice of model-written code; it is no boundary between hostile tenants, who share the
kernel. Whether code may run at all is decided by the process's configuration, above this module.

Above: `verifier.code_checks`. Below: `verifier.sandbox_command` (what the walls are), `verifier.syscall_filter`.
"""

import asyncio
import os
import platform
import random
import shutil
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from verifier.sandbox_command import USERS, Descriptors, SandboxLimits, sandbox_command
from verifier.sandbox_launcher import READY
from verifier.syscall_filter import syscall_filter

SandboxOutcome = Literal["ok", "failed", "timeout", "memory", "output", "refused"]
"""Ended with exit code 0; ended otherwise; ran too long; wanted too much memory; wrote too much; was not run at all."""

_CHUNK = 2**16
_OUT_OF_MEMORY = ("MemoryError", "Cannot allocate memory", "std::bad_alloc", "out of memory")
"""How runtimes say that they were given no more memory, in the last line of standard error."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SandboxResult:
    """What became of one program."""

    outcome: SandboxOutcome
    exit_code: int | None = None
    """As a shell has it, so 128 + the number of the signal that ended it; None where it was stopped or not run."""
    stdout: str = ""
    """What was read of it, as UTF-8; bytes that are none are replaced."""
    stderr: str = ""
    seconds: float = 0.0
    """Wall-clock seconds from start to end."""
    reason: str = ""
    """Why the outcome is not `ok`, for people."""


class Sandbox:
    """Runs programs, some at a time; belongs to one event loop.

    Args:
        limits: What each program may use.
        places: Programs at once; None = one for each processor, and fewer where their worst cases together would take
            more than half of the memory.
    """

    def __init__(self, limits: SandboxLimits | None = None, *, places: int | None = None) -> None:
        self.limits = limits or SandboxLimits()
        self.places = places or _places(self.limits)
        self._free = asyncio.Semaphore(self.places)

    async def run(
        self, argv: Sequence[str], *, stdin: str | bytes = b"", files: Mapping[str, str | bytes] | None = None
    ) -> SandboxResult:
        """Wait for a place and run the program; see `run_in_sandbox`."""
        async with self._free:
            return await run_in_sandbox(argv, stdin=stdin, files=files, limits=self.limits)


async def run_in_sandbox(
    argv: Sequence[str],
    *,
    stdin: str | bytes = b"",
    files: Mapping[str, str | bytes] | None = None,
    limits: SandboxLimits | None = None,
) -> SandboxResult:
    """Run one program to its end, or to the first limit that it hits; cancelling kills it and all that it started.

    Args:
        argv: Program and arguments, never read by a shell. The program is looked for in `/usr` and beside the interpreter.
        stdin: Its standard input.
        files: Name -> content, to lie in its working directory; plain names only.
        limits: What it may use.

    Raises:
        ValueError: `argv` is empty or holds a NUL, or a file has no plain name.
    """
    limits = limits or SandboxLimits()
    if not argv or any("\0" in word for word in argv):
        raise ValueError("argv is empty or holds a NUL")
    if any(not name or PurePosixPath(name).name != name or name == ".." or "\0" in name for name in files or {}):
        raise ValueError(f"among {sorted(files or {})} is no plain file name")
    bubblewrap, syscalls = shutil.which("bwrap"), syscall_filter(platform.machine())
    if bubblewrap is None:
        return _refused("bubblewrap is not installed; install it, for example with `apt-get install bubblewrap`")
    if syscalls is None:
        return _refused(f"no system call filter is known for {platform.machine()}")
    run = _Run(bubblewrap, syscalls, argv, limits)
    # In a task of its own, which nobody cancels: a process may not get lost between its start and the one who waits for it.
    task = asyncio.create_task(run.whole(stdin, files or {}))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        run.stop("failed", "cancelled")
        await asyncio.shield(task)
        raise


class _Run:
    """One process of bubblewrap and what is read from it."""

    def __init__(self, bubblewrap: str, syscalls: bytes, argv: Sequence[str], limits: SandboxLimits) -> None:
        self._bubblewrap, self._syscalls, self._argv, self._limits = bubblewrap, syscalls, argv, limits
        self._loop = asyncio.get_running_loop()
        self._started = self._loop.time()
        self._process: asyncio.subprocess.Process | None = None
        self._stopped: tuple[SandboxOutcome, str] | None = None
        self._stdout, self._stderr = bytearray(), bytearray()

    def stop(self, outcome: SandboxOutcome, reason: str) -> None:
        """Kill bubblewrap and its first process inside; with that one the kernel kills every other."""
        self._stopped = self._stopped or (outcome, reason)
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    async def whole(self, stdin: str | bytes, files: Mapping[str, str | bytes]) -> SandboxResult:
        """Start the program, feed and read it until everything that it started is gone, and say what became of it."""
        with _descriptors(files, self._syscalls) as (descriptors, status):
            user = random.choice(USERS) if os.geteuid() == 0 else None
            command = sandbox_command(self._bubblewrap, self._argv, self._limits, descriptors, user=user)
            try:
                process = await asyncio.create_subprocess_exec(
                    *command,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.PIPE,
                    env={},
                    start_new_session=True,
                    pass_fds=(descriptors.status, descriptors.syscall_filter, *descriptors.files.values()),
                )
            except OSError as error:
                return _refused(f"bubblewrap cannot be started: {error}")
            await self._to_end(process, _bytes(stdin))
            return self._result(process, _written(status))

    async def _to_end(self, process: asyncio.subprocess.Process, stdin: bytes) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._process = process
        if self._stopped is not None:
            self.stop(*self._stopped)
        seconds = self._limits.seconds
        late = self._loop.call_later(seconds, self.stop, "timeout", f"stopped after {seconds:g} seconds")
        await asyncio.gather(
            _feed(process.stdin, stdin),
            self._read(process.stdout, self._stdout, "standard output"),
            self._read(process.stderr, self._stderr, "standard error"),
            process.wait(),
        )
        late.cancel()

    async def _read(self, stream: asyncio.StreamReader, into: bytearray, name: str) -> None:
        """Read to the end, which a kill brings about; what is beyond the limit is thrown away."""
        limit = self._limits.output_bytes
        while chunk := await stream.read(_CHUNK):
            if len(into) + len(chunk) > limit:
                self.stop("output", f"wrote more than {limit} bytes to {name}")
            into += chunk[: limit - len(into)]

    def _result(self, process: asyncio.subprocess.Process, status: bytes) -> SandboxResult:
        """Return what became of the program, given what the launcher reported."""
        _, ready, problem = status.partition(READY)
        stdout, stderr = (bytes(read).decode(errors="replace") for read in (self._stdout, self._stderr))
        if self._stopped is None and (problem or not ready):
            if problem:
                return _refused(problem.decode(errors="replace"))
            told = status.decode(errors="replace") or _last_line(stderr) or "it ended without a word"
            return _refused(f"the sandbox cannot be set up: {told}")
        seconds = self._loop.time() - self._started
        exit_code = None if self._stopped else process.returncode
        outcome, reason = self._stopped or _ending(exit_code or 0, seconds, stderr, self._limits)
        return SandboxResult(
            outcome=outcome, exit_code=exit_code, stdout=stdout, stderr=stderr, seconds=seconds, reason=reason
        )


def _refused(reason: str) -> SandboxResult:
    return SandboxResult(outcome="refused", reason=reason)


def _ending(exit_code: int, seconds: float, stderr: str, limits: SandboxLimits) -> tuple[SandboxOutcome, str]:
    """Return outcome and reason of a program that ended by itself or by a limit of the kernel's."""
    ended_by = exit_code - 128
    if exit_code == 0:
        return "ok", ""
    if ended_by == signal.SIGXCPU or (ended_by == signal.SIGKILL and seconds >= limits.cpu_seconds):
        return "timeout", f"used {limits.cpu_seconds} seconds of processor time"
    if ended_by == signal.SIGKILL:
        return "memory", "killed, most likely because memory ran out"
    if any(sign in _last_line(stderr) for sign in _OUT_OF_MEMORY):
        return "memory", f"wanted more than {limits.memory // 2**20} MiB of memory"
    if ended_by == signal.SIGXFSZ:
        return "failed", f"wrote more than {limits.file_bytes} bytes to a file"
    told = f"ended by signal {ended_by}" if ended_by > 0 else f"ended with exit code {exit_code}"
    return "failed", f"{told}: {_last_line(stderr)[:300]}".removesuffix(": ")


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


async def _feed(stream: asyncio.StreamWriter, content: bytes) -> None:
    with suppress(BrokenPipeError, ConnectionResetError):  # it need not read to its end
        stream.write(content)
        await stream.drain()
    stream.close()


@contextmanager
def _descriptors(files: Mapping[str, str | bytes], syscalls: bytes) -> Iterator[tuple[Descriptors, int]]:
    """Open what bubblewrap inherits, and the end of the launcher's pipe that stays here."""
    with ExitStack() as opened:

        def open_with(name: str, content: bytes) -> int:
            descriptor = os.memfd_create(name)
            opened.callback(os.close, descriptor)
            with os.fdopen(os.dup(descriptor), "wb") as file:
                file.write(content)
            os.lseek(descriptor, 0, os.SEEK_SET)
            return descriptor

        status, launcher = os.pipe()
        opened.callback(os.close, status)
        opened.callback(os.close, launcher)
        yield (
            Descriptors(
                status=launcher,
                syscall_filter=open_with("filter", syscalls),
                files={name: open_with("file", _bytes(content)) for name, content in files.items()},
            ),
            status,
        )


def _written(status: int) -> bytes:
    """Return what the launcher wrote; everybody who could write more is gone."""
    os.set_blocking(status, False)
    try:
        return os.read(status, _CHUNK)
    except BlockingIOError:  # nothing; this process holds the other end still
        return b""


def _bytes(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode(errors="replace")


def _places(limits: SandboxLimits) -> int:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(1, min(os.cpu_count() or 1, memory // 2 // limits.worst_memory))
