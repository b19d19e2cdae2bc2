"""What a check that runs code asks for, read and refused early; nothing here runs anything.

Above: `verifier.checks`, which reads checks of every kind, and `verifier.code_checks`, which runs these.
"""

import ast
import json
import shlex
import warnings
from typing import Any, Final

from verifier.errors import CheckError
from verifier.types import Check

CODE_KINDS: Final = ("python", "command")
"""Kinds that run code."""

CODE_OFF: Final = "code checks are off; set allowCode in the server's config"
"""What those find where code may not run."""

MAX_CODE_CHARS: Final = 200_000
"""Longest code of a `python` check. The target may be longer: it is not parsed in this process."""

MAX_COMMAND_CHARS: Final = 20_000
"""Longest command line; far less than a system takes."""


def python_code(check: Check) -> str:
    """Return the code of a `python` check.

    Raises:
        CheckError: it is empty, too long or no Python.
    """
    code = check.value
    if not isinstance(code, str):
        raise CheckError(f"is a {type(code).__name__}; python takes code as text", field="value")
    if not isinstance(check.options.get("program", False), bool):
        raise CheckError("is neither true nor false", field="options.program")
    if len(code) > MAX_CODE_CHARS:
        raise CheckError(f"is longer than {MAX_CODE_CHARS} characters", field="value")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the habits of the code
            statements = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise CheckError(f"is no Python: {error}", field="value") from error
    if not statements:
        raise CheckError("is empty; say what is wanted", field="value")
    return code


def command_words(check: Check) -> tuple[str, ...]:
    """Return program and arguments of a `command` check, with `{answer}` as it was written.

    Raises:
        CheckError: it is no list of words, empty or too long.
    """
    words = check.value
    if not isinstance(words, (list, tuple)) or not all(isinstance(word, str) and "\0" not in word for word in words):
        raise CheckError('is no list of words; give one such as ["python3", "{answer}"]', field="value")
    if not words or not words[0]:
        raise CheckError("is empty; say what is to run", field="value")
    if sum(map(len, words)) > MAX_COMMAND_CHARS:
        raise CheckError(f"is longer than {MAX_COMMAND_CHARS} characters", field="value")
    return tuple(words)


def read_words(value: str) -> Any:
    """Read a command from a command line's argument: a JSON list, or words quoted as for a shell (none is asked).

    Raises:
        CheckError: it can be read as neither.
    """
    try:
        return json.loads(value) if value.lstrip().startswith("[") else shlex.split(value)
    except (ValueError, RecursionError) as error:
        raise CheckError(f"is no list of words ({error})", field="value") from error
