"""Runs one `python` check inside the sandbox and says whether it held.

Runs as a script of its own, without site packages; it imports nothing of the project. On standard input it gets JSON:
`{token, code, name, text, program}`. What the code prints goes to standard error; the verdict, one line of the form
`TOKEN {"holds": bool, "message": str}`, is all that stands on standard output. The token keeps a program from passing by
ending early with exit code 0, or by printing a verdict of its own. It is no defence against a program that searches this
process's memory for it: code that shares a process with its tests can always cheat them.
"""

import ast
import builtins
import json
import os
import sys
import traceback
from contextlib import suppress
from types import ModuleType
from typing import Any

_CODE, _PROGRAM = "<check>", "<answer>"


def main() -> None:
    """Run the check that stands on standard input, say the verdict, and end at once, whatever threads are left."""
    task = json.load(sys.stdin)
    token, verdict = task.pop("token"), os.dup(1)
    os.dup2(2, 1)
    problem = _problem(task)
    said = {"holds": problem is None, "message": problem or ""}
    os.write(verdict, f"\n{token} {json.dumps(said)}\n".encode())
    with suppress(Exception):  # the code may have closed or replaced it
        sys.stdout.flush()
    os._exit(0)


def _problem(task: dict[str, Any]) -> str | None:
    """Return why the check does not hold; None = it holds."""
    module = ModuleType("answer" if task["program"] else "__main__")
    sys.modules[module.__name__] = module
    vars(builtins).update(exit=sys.exit, quit=sys.exit)  # there as in any other program; site packages bring them else
    names = module.__dict__
    names[task["name"]] = task["text"]
    try:
        if task["program"]:
            exec(compile(task["text"], _PROGRAM, "exec"), names)  # noqa: S102  this is what the sandbox is for
        parsed = ast.parse(task["code"], _CODE)
        last = parsed.body.pop() if parsed.body and isinstance(parsed.body[-1], ast.Expr) else None
        exec(compile(parsed, _CODE, "exec"), names)  # noqa: S102  as above
        if last is None:
            return None
        value = eval(compile(ast.Expression(last.value), _CODE, "eval"), names)  # noqa: S307  as above
        # Of tests, None is what a function of assertions returns; of an expression about a text it means "not found".
        if value or (value is None and task["program"]):
            return None
        return f"the last expression is {value!r:.200}"
    except BaseException as error:
        return _told(error, task["code"])


def _told(error: BaseException, code: str) -> str:
    """Return the error in one line, with the line of the check where it came up."""
    try:
        text = str(error)
    except Exception:
        text = "(its text cannot be shown)"
    message = f"{type(error).__name__}: {text}" if text else type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    lines = code.splitlines()
    for frame in reversed(frames):
        if frame.filename == _CODE and frame.lineno and frame.lineno <= len(lines):
            return f"line {frame.lineno}: {lines[frame.lineno - 1].strip()}: {message}"[:1000]
    return message[:1000]


if __name__ == "__main__":
    main()
