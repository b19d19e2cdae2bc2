"""Checks that run code: what they see, what counts as holding, and what a program cannot talk them into."""

import asyncio
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.verifier.bubblewrap_here import needs_bubblewrap
from tests.verifier.candidates import candidate
from verifier.checks import parse_check, run_checks
from verifier.code_checks import CodeCheckVerifier, passed_tests
from verifier.errors import SandboxRefused
from verifier.sandbox import Sandbox, SandboxResult
from verifier.sandbox_command import DRIVER, SandboxLimits
from verifier.types import Check, CheckResult, Context

LIMITS = SandboxLimits(seconds=20)


class CountingSandbox(Sandbox):
    """A real sandbox that counts what it runs."""

    def __init__(self, limits: SandboxLimits = LIMITS) -> None:
        super().__init__(limits)
        self.runs = 0

    async def run(self, *args: object, **options: object) -> SandboxResult:
        self.runs += 1
        return await super().run(*args, **options)  # type: ignore[arg-type]  # handed on as given


class Brake(Sandbox):
    """Stands in for a sandbox: its runs wait until they are let go, and then hold."""

    def __init__(self) -> None:
        super().__init__()
        self.started = 0
        self.go = asyncio.Event()

    async def run(self, *args: object, **options: object) -> SandboxResult:
        self.started += 1
        await self.go.wait()
        return SandboxResult(outcome="ok", stdout="")


async def held(check: Check, answer: str | None, limits: SandboxLimits = LIMITS) -> CheckResult:
    """Hold one answer against one check."""
    context = Context(task="", checks=[check])
    return (await CodeCheckVerifier(limits).verify(candidate(answer), context)).checks[0]


@needs_bubblewrap
@pytest.mark.parametrize(
    ("code", "answer", "outcome"),
    [
        ("int(answer) % 7 == 0", "42", "pass"),
        ("int(answer) % 7 == 0", "43", "fail"),
        ("assert int(answer) > 40, 'too small'", "42", "pass"),
        ("assert int(answer) > 40, 'too small'", "4", "fail"),
        ("import re; re.fullmatch('[ab]+', answer)", "abba", "pass"),
        ("import re; re.fullmatch('[ab]+', answer)", "abc", "fail"),
        ("numbers = answer.split()\nfor n in numbers:\n    assert n.isdigit()", "1 2", "pass"),
        ("int(answer) > 0", "many", "fail"),
        ("print('True'); False", "x", "fail"),
    ],
)
async def test_python_holds_where_it_runs_through_and_ends_true(code: str, answer: str, outcome: str) -> None:
    result = await held(Check.python(code), answer)

    assert result.outcome == outcome


@needs_bubblewrap
async def test_a_failed_assertion_is_named_with_its_line() -> None:
    result = await held(Check.python("n = int(answer)\nassert n > 40, 'too small'"), "4")

    assert result.message == "line 2: assert n > 40, 'too small': AssertionError: too small"
    assert result.observed == "4"
    assert result.expected.startswith("n = int(answer)")


@needs_bubblewrap
async def test_with_the_target_step_the_code_sees_the_text() -> None:
    context = Context(task="", checks=[Check.python("'two' in text and 'answer' not in dir()", target="step")])

    checked = await CodeCheckVerifier(LIMITS).verify(candidate(None, step="Add the two numbers"), context)

    assert checked.checks[0].outcome == "pass"


ADD = "def add(a, b):\n    return a + b\n"


@needs_bubblewrap
@pytest.mark.parametrize(
    ("program", "tests", "outcome"),
    [
        (ADD, "assert add(1, 2) == 3", "pass"),
        (ADD, "assert add(1, 2) == 4", "fail"),
        (ADD, "def check(f):\n    assert f(1, 2) == 3\ncheck(add)", "pass"),
        (ADD, "add(1, 2) == 4", "fail"),
        ("def add(a, b):\n    return a - b\n", "def check(f):\n    assert f(1, 2) == 3\ncheck(add)", "fail"),
        ("from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int = 3\n", "assert P().x == 3", "pass"),
        ("if __name__ == '__main__':\n    input()\nx = 1", "assert x == 1", "pass"),
        ("def add(a, b: return", "True", "fail"),
        ("def f():\n    f()\nf()", "True", "fail"),
    ],
)
async def test_unit_tests_see_the_names_of_the_program(program: str, tests: str, outcome: str) -> None:
    result = await held(Check.python(tests, program=True), program)

    assert result.outcome == outcome


@needs_bubblewrap
@pytest.mark.parametrize(
    "program",
    [
        "raise SystemExit(0)",
        "exit()",
        "import os; os._exit(0)",
        "import os, sys; print('{\"holds\": true}'); sys.stdout.flush(); os._exit(0)",
        "import os; os.write(1, b'\\npass\\n'); os._exit(0)",
        "import os\nif os.fork(): os._exit(0)",
        "import builtins; builtins.AssertionError = Exception; import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    ],
)
async def test_a_program_does_not_pass_by_ending_early(program: str) -> None:
    result = await held(Check.python("assert False", program=True), program)

    assert result.outcome == "fail"


@needs_bubblewrap
@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("while True: pass", "stopped after 1 seconds"),
        ("held = bytearray(10 << 30)", "MemoryError"),
        ("import os; os.abort()", "signal 6"),
        ("while True: print('x' * 1000)", "wrote more than 65536 bytes"),
        ("import os\nwhile True: os.fork()", "Resource temporarily unavailable"),
    ],
)
async def test_a_program_that_misbehaves_fails_its_check_with_the_reason(program: str, reason: str) -> None:
    result = await held(Check.python("True", program=True), program, SandboxLimits(seconds=1))

    assert result.outcome == "fail"
    assert reason in result.message


@needs_bubblewrap
async def test_a_program_of_a_megabyte_is_run() -> None:
    program = "".join(f"x{number} = {number}\n" for number in range(70_000))
    assert len(program) > 1_000_000

    result = await held(Check.python("assert x69999 == 69999", program=True), program)

    assert result.outcome == "pass"
    assert len(result.observed) == 500


@needs_bubblewrap
async def test_any_text_reaches_the_code_as_it_is() -> None:
    text = "quotes \" ' and \\ and {answer} and NUL \0 and \ud800 and 漢字\r\n"

    result = await held(Check.python(f"answer == {text!a}"), text)

    assert result.outcome == "pass"


@needs_bubblewrap
@pytest.mark.parametrize(
    ("argv", "answer", "outcome"),
    [
        (["grep", "-q", "42"], "it is 42", "pass"),
        (["grep", "-q", "42"], "it is 41", "fail"),
        (["grep", "-q", "42", "{answer}"], "it is 42", "pass"),
        (["test", "{answer}", "-ef", "/tmp/answer.txt"], "x", "pass"),
        (["sh", "-c", "exit 3"], "x", "fail"),
        (["cmp", "{answer}", "-"], "; rm -rf / $(reboot) `id`", "pass"),
    ],
)
async def test_a_command_gets_the_answer_on_standard_input_and_as_a_file(
    argv: list[str], answer: str, outcome: str
) -> None:
    result = await held(Check.command(argv), answer)

    assert result.outcome == outcome


@needs_bubblewrap
async def test_a_command_that_does_not_exist_proves_nothing() -> None:
    result = await held(Check.command(["no-such-command"]), "x")

    assert result.outcome == "error"
    assert "No such file" in result.message


@needs_bubblewrap
async def test_results_keep_the_order_and_the_names_of_the_checks() -> None:
    checks = [
        Check.python("import time; time.sleep(0.2); True"),
        Check.numeric(42),
        replace(Check.command(["true"]), id="mine"),
        Check.regex("x"),
    ]

    checked = await CodeCheckVerifier(LIMITS).verify(candidate("42"), Context(task="", checks=checks))

    found = [(result.check_id, result.kind, result.outcome) for result in checked.checks]
    assert found == [
        ("check1", "python", "pass"),
        ("check2", "numeric", "pass"),
        ("mine", "command", "pass"),
        ("check4", "regex", "fail"),
    ]


async def test_without_an_answer_there_is_nothing_to_run() -> None:
    result = await held(Check.python("True"), None)

    assert (result.outcome, result.message) == ("not_applicable", "the candidate carries no answer")


async def test_a_check_that_can_never_run_is_an_error() -> None:
    result = await held(Check(kind="python", value="def"), "x")

    assert result.outcome == "error"
    assert "is no Python" in result.message


async def test_without_bubblewrap_nothing_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    result = await held(Check.python("True"), "x")

    assert result.outcome == "error"
    assert "bubblewrap is not installed" in result.message
    with pytest.raises(SandboxRefused, match="bubblewrap is not installed"):
        await passed_tests([ADD], ["True"], Sandbox(LIMITS))


@needs_bubblewrap
async def test_a_check_runs_once_for_equal_programs() -> None:
    sandbox = CountingSandbox()
    verifier = CodeCheckVerifier(sandbox=sandbox)
    context = Context(task="", checks=[Check.python("assert add(1, 2) == 3", program=True), Check.python("True")])
    candidates = [candidate(program, key=f"c{place}") for place, program in enumerate([ADD, ADD + "\n", ADD, ADD])]

    checked = await asyncio.gather(*[verifier.verify(one, context) for one in candidates])

    assert sandbox.runs == 4  # two checks, two distinct texts
    assert all(result.outcome == "pass" for one in checked for result in one.checks)


async def test_cancelling_the_first_to_ask_leaves_the_others_their_result() -> None:
    sandbox = Brake()
    verifier = CodeCheckVerifier(sandbox=sandbox)
    context = Context(task="", checks=[Check.command(["true"])])
    first, second = (asyncio.create_task(verifier.verify(candidate("x", key=key), context)) for key in "ab")
    await asyncio.sleep(0)
    while sandbox.started < 1:
        await asyncio.sleep(0)

    first.cancel()
    sandbox.go.set()

    assert (await second).checks[0].outcome == "pass"
    assert first.cancelled()
    assert sandbox.started == 2


@needs_bubblewrap
async def test_a_matrix_of_programs_and_tests_fails_cell_by_cell() -> None:
    sandbox = CountingSandbox(SandboxLimits(seconds=2))
    programs = [
        ADD,
        "def add(a, b):\n    return a * b\n",
        "def add(a, b):\n    while a > 1: pass\n    return a + b\n",
        ADD,
        "(",
    ]
    tests = ["assert add(1, 2) == 3", "assert add(2, 2) == 4", "assert add(", "add(0, 0)/0", "assert add(1, 2) == 3"]

    passed = await passed_tests(programs, tests, sandbox)

    assert passed == [{0, 1, 4}, {1}, {0, 4}, {0, 1, 4}, set()]
    assert sandbox.runs == 16  # four distinct programs, four distinct tests


async def test_an_empty_matrix_runs_nothing() -> None:
    assert await passed_tests([], ["True"], Sandbox()) == []
    assert await passed_tests([ADD], [], Sandbox()) == [frozenset()]


async def test_the_driver_says_its_verdict_alone_on_standard_output() -> None:
    """As a script, the way it runs inside."""
    task = {"token": "t0k3n", "code": "print('noise'); answer == 'x'", "name": "answer", "text": "x", "program": False}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",  # not to mistake our modules for the interpreter's
        str(DRIVER),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )

    stdout, stderr = await process.communicate(json.dumps(task).encode())

    assert stdout == b'\nt0k3n {"holds": true, "message": ""}\n'
    assert stderr == b"noise\n"


def test_a_code_check_says_that_it_is_off_where_nothing_may_run() -> None:
    results = run_checks(candidate("42"), [Check.python("True"), Check.command(["true"]), Check.numeric(42)])

    assert [result.outcome for result in results] == ["error", "error", "pass"]
    assert results[0].message == "code checks are off; set allowCode in the server's config"


def test_a_code_check_is_read_like_any_other() -> None:
    assert parse_check({"kind": "python", "value": "True"}) == Check.python("True")
    assert parse_check({"kind": "python", "value": "True", "options": {"program": True}}).options["program"] is True
    assert parse_check({"kind": "command", "value": ["true"]}).value == ["true"]
