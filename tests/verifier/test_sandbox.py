"""What a program in the sandbox can and cannot do, by programs that try. Nothing here is simulated."""

import asyncio
import gc
import os
import signal
import socket
import sys
import textwrap
import threading
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.processes import ROOT
from tests.verifier.bubblewrap_here import needs_bubblewrap
from verifier.sandbox import Sandbox, SandboxResult, run_in_sandbox
from verifier.sandbox_command import USERS, SandboxLimits, interpreter

pytestmark = needs_bubblewrap

QUICK = SandboxLimits(seconds=2)
ENOUGH = SandboxLimits(seconds=30)
CANARY = "canary-7f3a9c"
C_CALL = """
import ctypes, os
if ctypes.CDLL(None, use_errno=True).{} < 0:
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
"""


async def run(code: str, limits: SandboxLimits = ENOUGH, *, stdin: str | bytes = b"") -> SandboxResult:
    """Run Python code in the sandbox."""
    return await run_in_sandbox([str(interpreter()), "-c", textwrap.dedent(code)], limits=limits, stdin=stdin)


def running(mark: str) -> list[int]:
    """Return the processes of the whole machine with this word on their command line, this one left out."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes()
        except OSError:
            continue
        if mark.encode() in words and int(path.parent.name) != os.getpid():
            found.append(int(path.parent.name))
    return found


async def until(condition: Callable[[], object]) -> None:
    """Wait for what another process is about to do."""
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.02)


async def test_an_honest_program_runs_and_is_heard() -> None:
    result = await run("import sys; print('heard', sys.stdin.read()); print('aside', file=sys.stderr)", stdin="über")

    assert (result.outcome, result.exit_code, result.reason) == ("ok", 0, "")
    assert (result.stdout, result.stderr) == ("heard über\n", "aside\n")


async def test_a_program_that_fails_says_with_what() -> None:
    result = await run("raise SystemExit('no luck')")

    assert (result.outcome, result.exit_code) == ("failed", 1)
    assert result.reason == "ended with exit code 1: no luck"


async def test_a_program_that_crashes_is_told_by_its_signal() -> None:
    result = await run("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")

    assert (result.outcome, result.exit_code) == ("failed", 128 + signal.SIGSEGV)
    assert "signal 11" in result.reason


async def test_it_runs_without_root_and_without_any_capability() -> None:
    """The kernel's own number decides: root inside a user namespace would still be root to it."""
    code = """
        import os
        status = dict(line.split(":", 1) for line in open("/proc/self/status"))
        print(os.getuid(), os.geteuid(), os.getgroups(), *(status[name].strip() for name in ("CapEff", "CapPrm", "CapAmb")))
        print(status["NoNewPrivs"].strip(), status["Seccomp"].strip())
    """

    result = await run(code)

    who, *capabilities = result.stdout.splitlines()[0].split(" ", 1)
    assert int(who) in USERS if os.geteuid() == 0 else int(who) == os.geteuid()
    assert {int(word, 16) for word in capabilities[0].split()[-3:]} == {0}
    assert result.stdout.splitlines()[1] == "1 2"


async def test_root_cannot_be_had_back() -> None:
    result = await run("import os; os.setuid(0)")

    assert result.outcome == "failed"
    assert "Operation not permitted" in result.reason or "Invalid argument" in result.reason


async def test_a_fork_bomb_meets_the_limit_on_processes() -> None:
    code = """
        import os, time
        made = 0
        try:
            while True:
                if os.fork() == 0:
                    time.sleep(60)
                made += 1
        except BlockingIOError:
            print(made)
    """

    result = await run(code, SandboxLimits(seconds=30, processes=5))

    assert (result.outcome, result.stdout) == ("ok", "4\n")


async def test_a_fork_bomb_that_does_not_give_up_is_stopped_with_all_its_children() -> None:
    mark = f"bomb-{uuid.uuid4()}"
    code = f"""
        import os  # {mark}
        while True:
            try:
                os.fork()
            except OSError:
                pass
    """

    result = await run(code, QUICK)

    assert (result.outcome, result.reason) == ("timeout", "stopped after 2 seconds")
    await until(lambda: not running(mark))


async def test_two_sandboxes_do_not_share_their_limit_on_processes() -> None:
    code = """
        import threading
        threads = [threading.Thread(target=threading.Event().wait, args=(1,)) for _ in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
    """
    limits = SandboxLimits(seconds=30, processes=6)

    results = await asyncio.gather(run(code, limits), run(code, limits), run(code, limits))

    assert [result.outcome for result in results] == ["ok"] * 3


@pytest.mark.parametrize(
    "code",
    [
        "bytearray(10 << 30)",
        "import mmap; mmap.mmap(-1, 10 << 30)",
        "held = []\nwhile True: held.append(bytearray(1 << 20))",
    ],
)
async def test_ten_gigabytes_are_not_given(code: str) -> None:
    result = await run(code)

    assert result.outcome == "memory"
    assert result.reason == "wanted more than 512 MiB of memory"


@pytest.mark.parametrize(
    "code",
    [
        "import os; os.memfd_create('x')",
        C_CALL.format("shmget(0, 1 << 20, 0o1600)"),
        C_CALL.format("unshare(0x10020000)"),
    ],
    ids=["anonymous files", "System V segments", "mounts in a namespace of its own"],
)
async def test_memory_that_no_limit_counts_is_not_to_be_had(code: str) -> None:
    result = await run(code)

    assert result.outcome == "failed"
    assert "Operation not permitted" in result.reason


async def test_an_endless_loop_ends_at_the_wall_clock() -> None:
    result = await run("while True: pass", QUICK)

    assert (result.outcome, result.exit_code, result.reason) == ("timeout", None, "stopped after 2 seconds")


async def test_an_endless_loop_ends_at_its_processor_time() -> None:
    result = await run("while True: pass", SandboxLimits(seconds=60, cpu_seconds=1))

    assert result.outcome == "timeout"
    assert result.reason == "used 1 seconds of processor time"


async def test_a_program_that_ignores_signals_ends_all_the_same() -> None:
    code = """
        import signal
        for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_IGN)
        while True: pass
    """

    result = await run(code, SandboxLimits(seconds=60, cpu_seconds=1))

    assert result.outcome == "timeout"


async def test_a_catastrophic_pattern_stalls_neither_the_loop_nor_its_siblings() -> None:
    slow = asyncio.create_task(run("import re; re.match(r'(a+)+$', 'a' * 40 + 'b')", QUICK))

    quick = await run("print('meanwhile')", QUICK)

    assert quick.stdout == "meanwhile\n"
    assert not slow.done()
    assert (await slow).outcome == "timeout"


async def test_the_loopback_of_this_machine_cannot_be_reached() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
        socket.create_connection(address).close()  # it is there

        result = await run(f"import socket; socket.create_connection({address!r}, timeout=5)")

    assert result.outcome == "failed"
    assert "Connection refused" in result.reason


async def test_nothing_outside_can_be_reached() -> None:
    result = await run("import socket; socket.create_connection(('192.0.2.1', 80), timeout=5)")

    assert result.outcome == "failed"
    assert "Network is unreachable" in result.reason


async def test_abstract_sockets_of_this_machine_cannot_be_reached() -> None:
    """They have no file and no address: only a network namespace hides them."""
    name = f"\0{uuid.uuid4()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(name)
        server.listen()

        result = await run(f"import socket; socket.socket(socket.AF_UNIX).connect({name!r})")

    assert "Connection refused" in result.reason


async def test_a_secret_file_is_not_there(tmp_path: Path) -> None:
    secrets = [tmp_path / "secrets.txt", Path.home() / f".canary-{uuid.uuid4()}"]
    try:
        for secret in secrets:
            secret.write_text(CANARY)
        code = f"""
            import os
            for path in {[str(secret) for secret in secrets]} + ["/etc/passwd", "/etc/shadow", {str(ROOT / "pyproject.toml")!r}]:
                try:
                    print(open(path).read())
                except OSError as error:
                    print(type(error).__name__)
            print(sorted(os.listdir("/home")) if os.path.exists("/home") else "no home")
        """

        result = await run(code)
    finally:
        secrets[1].unlink(missing_ok=True)

    assert CANARY not in result.stdout
    assert set(result.stdout.splitlines()[:-1]) <= {"FileNotFoundError", "PermissionError"}
    assert result.stdout.splitlines()[-1] == "no home"


async def test_the_environment_holds_nothing_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    code = """
        import os, glob
        print(sorted(os.environ))
        for path in glob.glob("/proc/[0-9]*/environ"):
            try:
                print(path, open(path).read())
            except OSError as error:
                print(path, type(error).__name__)
    """

    result = await run(code)

    assert result.stdout.splitlines()[0] == "['HOME', 'LANG', 'PATH', 'PWD']"
    assert "/proc/1/environ" in result.stdout
    assert CANARY not in result.stdout


async def test_no_open_file_of_ours_is_inherited(tmp_path: Path) -> None:
    secret = tmp_path / "open.txt"
    secret.write_text(CANARY)
    with secret.open() as file:
        os.set_inheritable(file.fileno(), True)

        result = await run("import os; print(sorted(int(n) for n in os.listdir('/proc/self/fd')))")

    assert result.stdout == "[0, 1, 2, 3]\n"  # the last is the listing itself


async def test_other_processes_cannot_be_seen() -> None:
    result = await run("import os; print(len([n for n in os.listdir('/proc') if n.isdigit()]))")

    assert result.stdout == "2\n"  # the first process inside, and the program


@pytest.mark.parametrize(
    "path", ["/x", "/usr/x", "/etc/x", "/dev/x", "/home/x", "/driver.py", "/proc/sys/kernel/hostname"]
)
async def test_nothing_outside_the_working_directory_can_be_written(path: str) -> None:
    result = await run(f"open({path!r}, 'w').write('x')")

    assert result.outcome == "failed"
    assert any(word in result.reason for word in ("Read-only", "Permission", "No such file"))


async def test_what_is_written_inside_is_gone_afterwards() -> None:
    first = await run("open('left', 'w').write('x'); import os; print(os.getcwd(), os.listdir())")
    second = await run("import os; print(os.listdir())")

    assert first.stdout == "/tmp ['left']\n"
    assert second.stdout == "[]\n"
    assert "left" not in os.listdir("/tmp")


async def test_files_are_laid_into_the_working_directory() -> None:
    result = await run_in_sandbox(["cat", "a", "b"], files={"a": "ä", "b": b"\xff" * 2})

    assert result.stdout == "ä��"


async def test_a_file_cannot_grow_beyond_its_limit() -> None:
    result = await run("open('big', 'wb').write(bytes(100 << 20))")

    assert result.outcome == "failed"
    assert "File too large" in result.reason


async def test_the_working_directory_cannot_grow_beyond_its_limit() -> None:
    code = """
        for number in range(100):
            open(f"part{number}", "wb").write(bytes(10 << 20))
    """

    result = await run(code)

    assert "No space left on device" in result.reason


async def test_open_files_are_limited() -> None:
    result = await run("held = [open('/dev/null') for _ in range(100)]")

    assert "Too many open files" in result.reason


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
async def test_a_flood_of_output_is_cut_and_ends_the_program(stream: str) -> None:
    result = await run(f"import sys\nwhile True: sys.{stream}.write('x' * 10_000)")

    assert result.outcome == "output"
    assert len(getattr(result, stream)) == ENOUGH.output_bytes
    assert "wrote more than 65536 bytes" in result.reason


async def test_output_up_to_the_limit_is_no_flood() -> None:
    result = await run("print('x' * 65535)")

    assert (result.outcome, len(result.stdout)) == ("ok", 65536)


async def test_output_that_is_no_text_is_shown_as_far_as_it_is() -> None:
    result = await run(r"import os; os.write(1, b'a\xff\xfeb\x00')")

    assert (result.outcome, result.stdout) == ("ok", "a��b\0")


async def test_a_child_that_outlives_its_parent_dies_too() -> None:
    mark = f"daemon-{uuid.uuid4()}"
    code = f"""
        import os, time  # {mark}
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(600)
            os._exit(0)
        print("gone")
    """

    result = await run(code)

    assert (result.outcome, result.stdout) == ("ok", "gone\n")
    await until(lambda: not running(mark))


async def test_cancelling_kills_what_runs() -> None:
    mark = f"cancelled-{uuid.uuid4()}"
    task = asyncio.create_task(run(f"import time; time.sleep(600)  # {mark}"))
    await until(lambda: running(mark))

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    await until(lambda: not running(mark))


async def test_cancelling_at_any_moment_of_the_start_leaves_nothing_behind() -> None:
    mark = f"early-{uuid.uuid4()}"
    for delay in range(12):
        task = asyncio.create_task(run(f"import time; time.sleep(600)  # {mark}"))
        await asyncio.sleep(delay / 500)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    await until(lambda: not running(mark))


async def test_cancelling_amid_a_flood_collects_the_process() -> None:
    task = asyncio.create_task(run("while True: print('x' * 1000, flush=True)", SandboxLimits(output_bytes=1 << 40)))
    await asyncio.sleep(0.3)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    gc.collect()  # an open transport would warn here


async def test_killing_us_kills_what_we_run() -> None:
    """The parent has no chance to clean up: the kernel does."""
    mark = f"orphan-{uuid.uuid4()}"
    parent = f"""
import asyncio
from verifier.sandbox import run_in_sandbox
from verifier.sandbox_command import interpreter
asyncio.run(run_in_sandbox([str(interpreter()), "-c", "import time; time.sleep(600)  # " + "{mark[:8]}" + "{mark[8:]}"]))
"""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", parent, cwd=ROOT)
    await until(lambda: running(mark))

    process.kill()
    await process.wait()
    await until(lambda: not running(mark))

    assert process.returncode == -signal.SIGKILL
    assert not running(mark)


async def test_the_parent_is_unharmed() -> None:
    """After all of that: the same threads, descriptors and limits as before."""

    async def left() -> tuple[int, int, int]:
        # asyncio has a thread wait for each process, and it ends a moment after that.
        await until(lambda: not [one for one in threading.enumerate() if "waitpid" in one.name])
        return threading.active_count(), len(os.listdir("/proc/self/fd")), os.getuid()

    await run("pass")
    before = await left()

    for code in ("bytearray(10 << 30)", "while True: print('x' * 9999)", "import os; os.kill(1, 9); os.kill(-1, 9)"):
        await run(code)

    assert await left() == before


async def test_no_more_run_at_once_than_there_are_places() -> None:
    """Each run says when it began and ended by the machine's one clock."""
    sandbox = Sandbox(ENOUGH, places=2)
    code = "import time; print(time.monotonic()); time.sleep(0.2); print(time.monotonic())"

    results = await asyncio.gather(*[sandbox.run([str(interpreter()), "-c", code]) for _ in range(6)])

    spans = [tuple(map(float, result.stdout.split())) for result in results]
    assert max(sum(start <= moment < end for start, end in spans) for moment, _ in spans) == 2


def test_there_are_no_more_places_than_memory_for_their_worst_case() -> None:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")

    assert 1 <= Sandbox().places <= (os.cpu_count() or 1)
    assert Sandbox(SandboxLimits(memory=memory)).places == 1


async def test_a_program_that_is_not_there_was_not_run() -> None:
    result = await run_in_sandbox(["no-such-program"])

    assert (result.outcome, result.exit_code) == ("refused", None)
    assert result.reason == "cannot run 'no-such-program': [Errno 2] No such file or directory"


async def test_a_sandbox_that_cannot_be_built_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that forbids namespaces: bubblewrap is there and says why it cannot work."""
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: No permissions to create a new namespace' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    result = await run("print('ran')")

    assert (result.outcome, result.stdout) == ("refused", "")
    assert result.reason == "the sandbox cannot be set up: bwrap: No permissions to create a new namespace"


@pytest.mark.parametrize("argv", [[], ["a\0b"]])
async def test_a_command_that_is_none_is_an_error_of_the_caller(argv: list[str]) -> None:
    with pytest.raises(ValueError, match="argv"):
        await run_in_sandbox(argv)


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/b", "", ".", "..", "a\0"])
async def test_a_file_lies_in_the_working_directory_or_nowhere(name: str) -> None:
    with pytest.raises(ValueError, match="plain file name"):
        await run_in_sandbox(["true"], files={name: "x"})
