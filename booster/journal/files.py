"""Files and directories that only their user may read."""

import os
from contextlib import suppress
from pathlib import Path


def private_directory(directory: Path) -> None:
    """Make a directory, and those above it that are missing, with mode 0700; existing ones stay as they are."""
    for missing in reversed([directory, *directory.parents]):
        with suppress(FileExistsError):
            missing.mkdir(mode=0o700)


def private_database(path: Path) -> None:
    """Make an empty file with mode 0600; an existing SQLite file and its companions lose the rights of others.

    The file is not opened if it exists: closing it again would drop the locks that SQLite holds on it in this process.
    """
    private_directory(path.parent)
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        for name in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
            with suppress(FileNotFoundError, PermissionError):
                mode = name.stat().st_mode
                if mode & 0o077:
                    name.chmod(mode & 0o700)
