"""Which process works on a session, and does it live?

Every open journal holds an exclusive `flock` on a file of its own. The kernel frees it when the process ends, however
it ends, so a file whose lock is free belongs to nobody. The files must lie on a local disk. Whoever only looks takes a
shared lock, so that two who look never mistake each other for the owner.
"""

import fcntl
import os
import secrets
from contextlib import suppress
from pathlib import Path

from booster.journal.files import private_directory

_SUFFIX = ".owner"


class Owner:
    """This process as an owner of sessions.

    Args:
        directory: Shared by all processes that share the journal; made with mode 0700 if missing.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        private_directory(directory)
        self.name = f"process-{os.getpid()}-{secrets.token_hex(8)}"
        """As stored in sessions; unique."""
        self._descriptor: int | None = _claim(self._path(self.name))
        for path in directory.glob(f"*{_SUFFIX}"):
            if path != self._path(self.name):
                _is_held(path)

    def close(self) -> None:
        """Stop being alive; idempotent."""
        if self._descriptor is not None:
            self._path(self.name).unlink(missing_ok=True)
            os.close(self._descriptor)
            self._descriptor = None

    def is_alive(self, name: str | None) -> bool:
        """Tell whether the process of that name still runs; None is nobody."""
        if name is None:
            return False
        if name == self.name:
            return self._descriptor is not None
        return _is_held(self._path(name))

    def _path(self, name: str) -> Path:
        return self._directory / f"{Path(name).name}{_SUFFIX}"


def _claim(path: Path) -> int:
    """Create the file, lock it for as long as the returned descriptor is open, and return that."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        with suppress(BlockingIOError, FileNotFoundError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        os.close(descriptor)  # somebody looked, and perhaps swept the file, between creating and locking it


def _is_held(path: Path) -> bool:
    """Tell whether a living process holds the file; remove the file if none does."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    except PermissionError:
        return True  # another user's: nothing can be learnt, so nothing is taken
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        path.unlink(missing_ok=True)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
