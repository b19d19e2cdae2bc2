"""Writing results to files: where a client may have one written, and how a file is replaced without ever being half there.

A client of a server names a path below a root and nothing else; the user at a terminal names any path. Both are written
to a temporary file in the same directory, which then takes the place of the old one in a single step.
"""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from booster.errors import OutputPathError
from booster.options import shown
from booster.result import SolveResult

OutputFormat = Literal["json", "text"]
"""The result document, or what a person reads: answer and summary."""

MAX_PATH_CHARS = 1024
"""Characters of a client's path."""

MAX_PARTS = 32
"""Folders and the file in it: what removes or copies them later must be able to."""

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, kw_only=True, slots=True)
class OutputFile:
    """A place that a client asked for and may have."""

    root: Path
    """Absolute directory, symbolic links resolved."""
    parts: tuple[str, ...]
    """Path below the root; at least one part."""
    overwrite: bool = False
    """Whether a file that is there may be replaced."""

    @property
    def path(self) -> Path:
        """The whole path."""
        return self.root.joinpath(*self.parts)


def output_file(given: str, root: Path, *, overwrite: bool = False) -> OutputFile:
    """Return the file that a client's `outputPath` means; looks at the disk and changes nothing.

    Args:
        given: Relative path with `/` between its parts, for example `results/summary.json`.
        root: Directory that the file must lie in.
        overwrite: Whether an existing regular file may be replaced.

    Raises:
        OutputPathError: the path is not allowed; names the reason and the fix. It is never turned into another path.
    """
    file = OutputFile(root=Path(os.path.realpath(root)), parts=_parts(given), overwrite=overwrite)
    here = file.root
    for position, part in enumerate(file.parts, 1):
        here /= part
        try:
            mode = here.lstat().st_mode
        except FileNotFoundError:
            break
        except OSError as error:
            raise _refused(given, f"it cannot be looked at ({error.strerror})", "name another path") from error
        shown_path = "/".join(file.parts[:position])  # clients need not know where the root is
        _refuse_kind(given, shown_path, mode, is_leaf=position == len(file.parts), overwrite=overwrite)
    return file


def rendered(result: SolveResult, form: OutputFormat) -> str:
    """Return what stands in an output file of the given format, with a line feed at its end."""
    return (result.to_json() if form == "json" else result.to_text()).rstrip("\n") + "\n"


def write_output(file: OutputFile, text: str) -> None:
    """Write a client's output file, making missing folders; the old file stays whole until the new one is complete.

    Every folder is opened without following symbolic links, so what changes on disk after `output_file` cannot lead
    out of the root.

    Raises:
        OutputPathError: it cannot be written (not allowed, disk full, or something took its place); names the reason.
    """
    given = "/".join(file.parts)
    try:
        with _folder(file.root, file.parts[:-1]) as folder:
            _replace(folder, file.parts[-1], text, clobber=file.overwrite, mode=0o666)
    except FileExistsError as error:
        raise _refused(
            given, "something exists there by now", "set `overwrite` to true or name another path"
        ) from error
    except OSError as error:
        raise _refused(
            given, f"it cannot be written ({error.strerror or error})", "mend that or name another path"
        ) from error


def write_user_file(path: Path | str, text: str) -> None:
    """Write a file that the user named on the command line: any path, replaced in one step, symbolic links followed.

    An existing file keeps its permissions. What is no regular file (`/dev/stdout`, a pipe) is written to as it is.

    Raises:
        OutputPathError: it cannot be written; names path and reason.
    """
    target = Path(os.path.realpath(path))
    try:
        mode = target.stat().st_mode if target.exists() else None
        if mode is not None and not stat.S_ISREG(mode):
            target.write_text(text, encoding="utf-8")
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        with _folder(target.parent, ()) as folder:
            _replace(folder, target.name, text, clobber=True, mode=0o666, keep=mode)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise OutputPathError(f"{path}: cannot be written ({reason}); name another path") from error


def refuse_user_file(path: Path | str) -> None:
    """Refuse a path of the user's that can be seen not to work, before anything is paid for; leaves nothing.

    Raises:
        OutputPathError: it is a directory, or the user may not write there; names path and reason.
    """
    target = Path(os.path.realpath(path))
    nearest = next(folder for folder in (target, *target.parents) if folder.exists())
    if nearest == target and target.is_dir():
        raise OutputPathError(f"{path}: is a directory; name a file in it")
    if nearest != target and not nearest.is_dir():
        raise OutputPathError(f"{path}: {nearest} is not a directory; name another path")
    if nearest == target and not target.is_file():
        return  # a pipe or a device is written to as it is
    # A regular file is replaced, which takes leave to write its folder and not the file.
    place = nearest.parent if nearest.is_file() else nearest
    probe = place / f".booster-{secrets.token_hex(8)}.tmp"
    try:  # to try is the only way to know: root, /proc, a full or read-only disk
        os.close(os.open(probe, _CREATE, 0o600))
        probe.unlink()
    except OSError as error:
        raise OutputPathError(f"{path}: {place} cannot be written ({error.strerror}); name another path") from error


def _parts(given: str) -> tuple[str, ...]:
    if not given.strip():
        raise _refused(given, "it is empty", "name a file, or leave outputPath out")
    if not given.isprintable():
        raise _refused(given, "it holds control characters", "use a plain file name")
    if "\\" in given or given[1:2] == ":":
        raise _refused(given, "it is not a relative path with forward slashes", "write it like results/summary.json")
    path = PurePosixPath(given)
    if len(given) > MAX_PATH_CHARS or len(path.parts) > MAX_PARTS:
        raise _refused(
            given, f"it has more than {MAX_PATH_CHARS} characters or {MAX_PARTS} parts", "name a shorter one"
        )
    if path.is_absolute():
        raise _refused(given, "it is absolute", "name a path relative to the output directory")
    if ".." in path.parts or (path.parts[:1] and path.parts[0].startswith("~")):
        raise _refused(given, "it leads out of the output directory", "use no '..' and no '~'")
    if not path.parts or given.endswith("/"):
        raise _refused(given, "it names a directory", "name a file in it")
    return path.parts


def _refuse_kind(given: str, here: str, mode: int, *, is_leaf: bool, overwrite: bool) -> None:
    if stat.S_ISLNK(mode):
        raise _refused(given, f"{here} is a symbolic link", "name a path without one")
    if not is_leaf:
        if not stat.S_ISDIR(mode):
            raise _refused(given, f"{here} is not a directory", "name another path")
        return
    if stat.S_ISDIR(mode):
        raise _refused(given, "it is a directory", "name a file in it")
    if not stat.S_ISREG(mode):
        raise _refused(given, "it is not a regular file", "name another path")
    if not overwrite:
        raise _refused(given, "the file exists", "set `overwrite` to true or name another path")


def _refused(given: str, reason: str, fix: str) -> OutputPathError:
    return OutputPathError(f"outputPath: {shown(given)} is refused: {reason}; {fix}")


@contextmanager
def _folder(root: Path, parts: tuple[str, ...]) -> Iterator[int]:
    """Open the folder below `root`, making what is missing, and yield its descriptor."""
    descriptor = os.open(root, _DIRECTORY)
    try:
        for part in parts:
            with suppress(FileExistsError):
                os.mkdir(part, dir_fd=descriptor)
            inner = os.open(part, _DIRECTORY, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def _replace(folder: int, name: str, text: str, *, clobber: bool, mode: int, keep: int | None = None) -> None:
    """Write `text` beside `name` and put it in its place; with `clobber` false an existing `name` is an error."""
    temporary = f".booster-{secrets.token_hex(8)}.tmp"
    try:
        with open(os.open(temporary, _CREATE, mode, dir_fd=folder), "w", encoding="utf-8", errors="replace") as file:
            if keep is not None:
                os.fchmod(file.fileno(), stat.S_IMODE(keep))
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if clobber:
            os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        else:
            _place_new(folder, temporary, name)
        os.fsync(folder)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)


def _place_new(folder: int, temporary: str, name: str) -> None:
    """Give the temporary file its name unless that is taken; a link, unlike a rename, never replaces anything."""
    try:
        os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links: the check is then a moment older than the rename
        if _exists(folder, name):
            raise FileExistsError(name) from None
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)


def _exists(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
