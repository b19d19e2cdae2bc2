"""Everything the booster itself can refuse or fail at, with the exit code it has on the command line.

BoosterError               1  base: the text says what failed, where, and what to do
├── UsageError             2  a value given by a person or a client is wrong; names the field and the fix
│   └── BusyError          2  the session is being worked on by this process
├── EndingError            1  the process is about to end and takes nothing on
├── UnknownSessionError    2  no session has this id
├── OutputPathError        1  a result may not be written to the path asked for
├── ConfigFileError        1  a configuration file cannot be read as what it should be
└── SecretsFileError       1  a secrets file is unsafe or cannot be read

The libraries keep their own trees (`providers.errors`, `verifier.errors`, `scheduler.errors`).
"""

from pathlib import Path
from typing import ClassVar


class BoosterError(Exception):
    """Base of the errors of this package; `str(error)` is one plain text for people, without secrets."""

    exit_code: ClassVar[int] = 1
    """What a command that ends with this error returns to its shell."""


class UsageError(BoosterError):
    """A given value is not allowed.

    Args:
        message: What was given and what would be right, in one line.
        field: Name of the field as its users write it (`numCandidates`, `--config`); empty where no single one is at fault.
    """

    exit_code: ClassVar[int] = 2

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class BusyError(UsageError):
    """The session is being worked on by this process; the text says how to wait for it or to stop it."""

    def __init__(self, session_id: str) -> None:
        super().__init__(f"session {session_id} is being worked on; wait for it with get-state, or cancel it")
        self.session_id = session_id


class EndingError(BoosterError):
    """This process is about to end; nothing was started."""

    def __init__(self) -> None:
        super().__init__("this process is about to end; nothing was started, ask again")


class UnknownSessionError(BoosterError):
    """No session has the id asked for; the text says how to find the ones that exist."""

    exit_code: ClassVar[int] = 2

    def __init__(self, session_id: str) -> None:
        super().__init__(
            f"no session has the id {session_id[:80]!r}; list the sessions with the tool `sessions` or `booster sessions list`"
        )
        self.session_id = session_id


class OutputPathError(BoosterError):
    """The path asked for is outside the allowed root, exists already, or cannot be written; nothing was written."""


class ConfigFileError(BoosterError):
    """A configuration file is not readable, not JSON, or not an object; the text names file, line and column."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path


class SecretsFileError(BoosterError):
    """A secrets file cannot be read or others could change it; the text never holds its content."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
