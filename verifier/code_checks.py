"""Checks that run code: `python` checks, commands, and unit tests of model-written programs, all in the sandbox.

A fact like any other check, and as cheap to believe: what crashes, runs too long or wants too much has failed that one check
and nothing else. Whether code may run is not decided here: the configuration of the process chooses between `CodeCheckVerifier`
and `verifier.checks.CheckVerifier`, where these checks say that they are off.

Above: `booster`. Below: `verifier.sandbox` runs, `verifier.sandbox_driver` is what runs inside.
"""

import asyncio
import hashlib
import json
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from verifier.checks import NO_ANSWER, Finding, check_result, compile_check, default_id, run_checks, target_text
from verifier.code_spec import CODE_KINDS, command_words
from verifier.errors import CheckError, SandboxRefused
from verifier.sandbox import Sandbox, SandboxResult
from verifier.sandbox_command import DRIVER_INSIDE, WORK, SandboxLimits, interpreter
from verifier.types import Candidate, Check, CheckOutcome, CheckResult, Context

REMEMBERED: Final = 4096
"""Findings that are kept, so that equal programs are run once."""

ANSWER_FILE: Final = "answer.txt"
"""File in the working directory that holds the target of a command; `{answer}` in its words becomes its path."""


class CodeCheckVerifier:
    """Adds the results of the user's checks to a candidate, those that run code among them.

    Each runs once for a distinct target, however many candidates share it. Belongs to one event loop.
    """

    name = "checks"

    def __init__(self, limits: SandboxLimits | None = None, *, sandbox: Sandbox | None = None) -> None:
        self._sandbox = sandbox or Sandbox(limits)
        self._findings = _Once()

    async def verify(self, candidate: Candidate, context: Context) -> Candidate:
        """Return the candidate with a result for every check of the context, in their order."""
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._result(candidate, check, check.id or default_id(index)))
                for index, check in enumerate(context.checks)
            ]
        return replace(candidate, checks=(*candidate.checks, *[task.result() for task in tasks]))

    async def passed_tests(self, programs: Sequence[str], tests: Sequence[str]) -> list[frozenset[int]]:
        """Return, for every program, the indices of the tests that it passes; see the function of that name."""
        return await passed_tests(programs, tests, self._sandbox)

    async def _result(self, candidate: Candidate, check: Check, check_id: str) -> CheckResult:
        if check.kind not in CODE_KINDS:
            return run_checks(candidate, [replace(check, id=check_id)])[0]
        text, expected = target_text(candidate, check), ""
        try:
            expected = compile_check(check).expected
            finding = NO_ANSWER if text is None else await self._once(check, text)
        except CheckError as error:
            finding = Finding(outcome="error", message=str(error))
        return check_result(check, check_id, expected, finding)

    async def _once(self, check: Check, text: str) -> Finding:
        asked = json.dumps([check.kind, check.value, check.target, dict(check.options), text])
        key = hashlib.sha256(asked.encode()).digest()
        return await self._findings.get(key, lambda: run_code_check(check, text, self._sandbox))


async def run_code_check(check: Check, text: str, sandbox: Sandbox) -> Finding:
    """Run one `python` or `command` check that has been read by `parse_check`.

    The outcome is `error` only where nothing was run: there is no sandbox, or no such command.

    Args:
        check: What is wanted.
        text: What it is held against.
        sandbox: Where to run.
    """
    if check.kind == "command":
        path = f"{WORK}/{ANSWER_FILE}"
        argv = [word.replace("{answer}", path) for word in command_words(check)]
        run = await sandbox.run(argv, stdin=text, files={ANSWER_FILE: text})
        return Finding(outcome=_outcome(run.outcome == "ok", run), observed=text, message=run.reason)
    program = bool(check.options.get("program", False))
    return await _run_python(check.value, text, "answer" if check.target == "answer" else "text", program, sandbox)


async def passed_tests(programs: Sequence[str], tests: Sequence[str], sandbox: Sandbox) -> list[frozenset[int]]:
    """Return, for every program, the indices of the tests that it passes; every distinct pair is run once.

    Programs and tests may both be model-written: neither is parsed outside the sandbox. A test holds as in a `python` check
    with `program`; one that is no Python, crashes or runs too long has failed for that program only.

    Raises:
        SandboxRefused: nothing can be run here.
    """
    pairs = dict.fromkeys((program, test) for program in programs for test in tests)
    async with asyncio.TaskGroup() as group:
        tasks = {pair: group.create_task(_run_python(pair[1], pair[0], "answer", True, sandbox)) for pair in pairs}
    found = {pair: task.result() for pair, task in tasks.items()}
    for finding in found.values():
        if finding.outcome == "error":
            raise SandboxRefused(finding.message)
    return [
        frozenset(index for index, test in enumerate(tests) if found[program, test].outcome == "pass")
        for program in programs
    ]


async def _run_python(code: str, text: str, name: str, program: bool, sandbox: Sandbox) -> Finding:
    token = secrets.token_hex(16)
    task = {"token": token, "code": code, "name": name, "text": text, "program": program}
    # The standard library alone: what else lies beside the interpreter differs from machine to machine, and costs time.
    argv = [str(interpreter()), "-I", "-S", "-B", "-X", "utf8", DRIVER_INSIDE]
    run = await sandbox.run(argv, stdin=json.dumps(task))
    holds, message = _verdict(run, token)
    return Finding(outcome=_outcome(holds, run), observed=text, message=message)


def _outcome(holds: bool, run: SandboxResult) -> CheckOutcome:
    if run.outcome == "refused":
        return "error"
    return "pass" if holds else "fail"


def _verdict(run: SandboxResult, token: str) -> tuple[bool, str]:
    """Return whether the driver said that the check holds, and the reason where it does not."""
    if run.outcome != "ok":
        return False, run.reason
    for line in reversed(run.stdout.splitlines()):
        if line.startswith(token):
            said = json.loads(line.removeprefix(token))
            return bool(said["holds"]), str(said["message"])
    return False, "ended before the check was through"


@dataclass(kw_only=True, slots=True)
class _Slot:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    finding: Finding | None = None


class _Once:
    """Findings by what was asked. Who asks for the same at the same time waits for the first; if that is cancelled, runs it."""

    def __init__(self) -> None:
        self._slots: OrderedDict[bytes, _Slot] = OrderedDict()

    async def get(self, key: bytes, run: Callable[[], Awaitable[Finding]]) -> Finding:
        """Return the finding, run for now or before; an `error` is not kept, because it says nothing of the target."""
        slot = self._slots.setdefault(key, _Slot())
        self._slots.move_to_end(key)
        while len(self._slots) > REMEMBERED:
            self._slots.popitem(last=False)
        async with slot.lock:
            finding = slot.finding or await run()
            if finding.outcome != "error":
                slot.finding = finding
            return finding
