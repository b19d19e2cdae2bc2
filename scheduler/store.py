"""Where namespaces are kept: the protocol, and a directory of JSON files for use without a database."""

import contextlib
import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from scheduler.errors import InvalidInputError, SetAsideError, StoreConflictError
from scheduler.library import Stored

NAME_LIMIT = 200
"""Characters a namespace or session name must stay below."""
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")


class Store(Protocol):
    """Port: keeps the libraries of namespaces. Writing compares the revision and swaps."""

    async def read(self, namespace: str) -> Stored | None:
        """Return what was saved, or None; raises SetAsideError if it was unreadable and is out of the way now."""
        ...

    async def write(self, namespace: str, document: Mapping[str, Any], *, rev: int) -> int:
        """Save on top of revision `rev` (0 = nothing) and return the new one; raises StoreConflictError."""
        ...

    async def delete(self, namespace: str) -> bool:
        """Forget a namespace; return whether there was one."""
        ...


class SessionLog(Protocol):
    """Port: keeps what happened in open sessions, so that a killed process loses nothing."""

    def read_log(self, namespace: str, session_id: str) -> list[dict[str, Any]]:
        """Return the rows of a session, oldest first; none if there is no such session."""
        ...

    def append_log(self, namespace: str, session_id: str, row: Mapping[str, Any]) -> None:
        """Add a row."""
        ...

    def replace_log(self, namespace: str, session_id: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Put these rows in place of what was there, atomically."""
        ...

    def delete_log(self, namespace: str, session_id: str) -> None:
        """Forget a session."""
        ...


class FileStore:
    """A directory with one JSON file per namespace and one line-by-line log per open session.

    Files are replaced atomically and have mode 0600. Writers of one namespace exclude each other with a lock file, and
    each write checks the revision, so that two processes never overwrite one another.

    Args:
        directory: Where; made when needed.
    """

    def __init__(self, directory: Path | str) -> None:
        self._directory = Path(directory)

    async def read(self, namespace: str) -> Stored | None:
        """Return what was saved, or None.

        Raises:
            InvalidInputError: The name cannot be used.
            SetAsideError: The file was unreadable; it is kept under the name in the message.
        """
        path = self._path(namespace)
        with self._locked(path):
            return self._load(path)

    async def write(self, namespace: str, document: Mapping[str, Any], *, rev: int) -> int:
        """Save on top of revision `rev` (0 = nothing) and return the new one.

        Raises:
            InvalidInputError: The name cannot be used.
            StoreConflictError: Another revision is stored.
        """
        path = self._path(namespace)
        with self._locked(path):
            stored = self._load(path)
            found = stored.rev if stored else 0
            if found != rev:
                raise StoreConflictError(f"namespace {namespace!r} is at revision {found}, not {rev}")
            _replace(path, json.dumps({"rev": rev + 1, **document}, separators=(",", ":"), allow_nan=False))
        return rev + 1

    async def delete(self, namespace: str) -> bool:
        """Forget a namespace; return whether there was one."""
        path = self._path(namespace)
        with self._locked(path):
            existed = path.exists()
            path.unlink(missing_ok=True)
        return existed

    def read_log(self, namespace: str, session_id: str) -> list[dict[str, Any]]:
        """Return the rows of a session, oldest first; a last row that was cut off while it was written is left out."""
        path = self._log_path(namespace, session_id)
        try:
            lines = path.read_text(encoding="utf-8").split("\n")
        except FileNotFoundError:
            return []
        rows = []
        for line in lines[:-1]:
            try:
                rows.append(json.loads(line))
            except ValueError as error:
                raise SetAsideError(_set_aside(path, error)) from error
        return rows

    def append_log(self, namespace: str, session_id: str, row: Mapping[str, Any]) -> None:
        """Add a row. It survives the death of the process, not of the machine."""
        path = self._log_path(namespace, session_id)
        data = (json.dumps(row, separators=(",", ":"), allow_nan=False) + "\n").encode()
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, data)
        finally:
            os.close(descriptor)

    def replace_log(self, namespace: str, session_id: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Put these rows in place of what was there, atomically."""
        path = self._log_path(namespace, session_id)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        text = "".join(json.dumps(row, separators=(",", ":"), allow_nan=False) + "\n" for row in rows)
        _replace(path, text)

    def delete_log(self, namespace: str, session_id: str) -> None:
        """Forget a session."""
        self._log_path(namespace, session_id).unlink(missing_ok=True)

    def _path(self, namespace: str) -> Path:
        return self._directory / f"{file_name('namespace', namespace)}.json"

    def _log_path(self, namespace: str, session_id: str) -> Path:
        folder = f"{file_name('namespace', namespace)}.sessions"
        return self._directory / folder / f"{file_name('sessionId', session_id)}.jsonl"

    def _load(self, path: Path) -> Stored | None:
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except UnicodeDecodeError as error:
            raise SetAsideError(_set_aside(path, error)) from error
        try:
            document = json.loads(text)
            return Stored(int(document.pop("rev")), document)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise SetAsideError(_set_aside(path, error)) from error

    @contextlib.contextmanager
    def _locked(self, path: Path) -> Iterator[None]:
        """Hold the lock of one namespace; the lock file stays, for a removed one could be locked twice."""
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _lock(descriptor)
            yield
        finally:
            os.close(descriptor)


def file_name(field: str, name: str) -> str:
    """Return a name that is safe as a file name and different for different names.

    Characters outside [A-Za-z0-9_.-] become `_`, and a short hash is added when there were any.

    Raises:
        InvalidInputError: Empty, `.` or `..` at the start of a path, or too long.
    """
    if not name or name in (".", "..") or len(name) >= NAME_LIMIT:
        raise InvalidInputError(
            field, f"{name[:40]!r} cannot be a name (empty, '..', or {NAME_LIMIT} characters and more)"
        )
    safe = _UNSAFE.sub("_", name)
    if safe == name:
        return name
    return f"{safe}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def _replace(path: Path, text: str) -> None:
    """Write a file so that readers see the old or the new one, never a part."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def _set_aside(path: Path, error: Exception) -> str:
    """Rename an unreadable file; return what to tell people."""
    aside = path.with_name(path.name + ".bak")
    number = 1
    while aside.exists():
        aside = path.with_name(f"{path.name}.{number}.bak")
        number += 1
    path.rename(aside)
    return f"{path.name} is unreadable ({error}); it was set aside as {aside.name}"


def _lock(descriptor: int) -> None:
    """Wait for the exclusive lock of an open file; closing the file releases it."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX)
