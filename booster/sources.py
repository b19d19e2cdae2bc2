"""The files that settings come from: where they are looked for, and what is read out of them.

Above: `booster.settings` puts the layers on top of each other. Below: `booster.options`, `booster.errors`. Nothing is
written here, and no error repeats a line of a secrets file.
"""

import json
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from booster.errors import ConfigFileError, SecretsFileError, UsageError
from booster.options import parse_json

CONFIG_FILES: Final = ("config.json", "config.local.json")
SECRETS_FILES: Final = ("secrets.txt", "secrets.local.txt")
"""File names looked for in each directory, the one that wins last."""

APPLICATION: Final = "reasoning-booster"
"""Name of our directory inside the user's configuration and state directories."""

MAX_FILE_BYTES: Final = 1 << 20
"""No sensible configuration is larger than a MiB."""

_JSON_HINT: Final = "JSON has no comments, no trailing commas, and double quotes only; mend it or move the file away"
_ASSIGNMENT: Final = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)")
_QUOTED: Final = re.compile(r"""(?:"([^"]*)"|'([^']*)')(?:\s+#.*)?""")


def user_directory(environ: Mapping[str, str], variable: str, fallback: str) -> Path:
    """Return our directory under an XDG base directory (`$XDG_CONFIG_HOME`, `$XDG_STATE_HOME`) or under its default.

    A relative path in the variable is ignored, as the XDG specification asks.
    """
    given = Path(environ.get(variable, ""))
    base = given if given.is_absolute() else home_directory(environ) / fallback
    return base / APPLICATION


def home_directory(environ: Mapping[str, str]) -> Path:
    """Return the user's home directory."""
    return Path(environ["HOME"]) if environ.get("HOME") else Path.home()


def find(
    explicit: Path | None, names: tuple[str, ...], option: str, cwd: Path, environ: Mapping[str, str]
) -> list[Path]:
    """Return the files to read, the one that wins last.

    An explicit file is read alone. Otherwise those of the working directory stand over those of the user's configuration
    directory.

    Raises:
        UsageError: the explicit file does not exist.
    """
    if explicit is not None:
        path = cwd / explicit.expanduser()
        if not path.exists():
            raise UsageError(f"{option}: there is no file {path}", field=option)
        return [path]
    directories = (user_directory(environ, "XDG_CONFIG_HOME", ".config"), cwd)
    return [
        path
        for path in dict.fromkeys(folder / name for folder in directories for name in names)
        if os.path.isfile(path)
    ]


def read_config(path: Path) -> dict[str, Any]:
    """Read one JSON configuration file; `{"journal": {"url": …}}` comes back as `{"journal.url": …}`.

    Raises:
        ConfigFileError: it cannot be read, is not JSON, or is not an object.
    """
    try:
        text = _read(path)[0].decode("utf-8-sig")
        found = parse_json(text)
    except OSError as error:
        raise ConfigFileError(path, f"cannot be read ({error.strerror or error})") from error
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise ConfigFileError(path, f"{where}: not valid JSON ({error.msg}); {_JSON_HINT}") from None
    except UnicodeDecodeError:
        raise ConfigFileError(path, "is not UTF-8 text; save it as UTF-8") from None
    except ValueError as error:
        raise ConfigFileError(path, f"not valid JSON: {error}; {_JSON_HINT}") from None
    if not isinstance(found, dict):
        raise ConfigFileError(path, 'holds no JSON object; write options as {"numCandidates": 5}')
    journal = found.get("journal")
    if isinstance(journal, dict):
        del found["journal"]
        found.update({f"journal.{key}": value for key, value in journal.items()})
    return found


def read_secrets(path: Path) -> tuple[dict[str, str], list[str]]:
    """Read `KEY=VALUE` lines and return them with warnings; empty values count as not given.

    Blank lines, `#` comments, `export`, quotes, CRLF and a byte order mark are fine. A line that is none of this is
    reported by its number alone.

    Raises:
        SecretsFileError: others than the owner can change the file, or it cannot be read as text.
    """
    try:
        data, mode = _read(path)
        if mode & 0o022:
            raise SecretsFileError(
                path, f"can be changed by others and is not used; check it, then run: chmod 600 {path}"
            )
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise SecretsFileError(path, f"cannot be read ({error.strerror or error})") from error
    except UnicodeDecodeError:
        raise SecretsFileError(path, "is not UTF-8 text; save it as UTF-8") from None
    warnings = [f"{path} can be read by others; run: chmod 600 {path}"] if mode & 0o044 else []
    found: dict[str, str] = {}
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        pair = _assignment(line.strip())
        if pair is None:
            warnings.append(f"{path}, line {number}: is not KEY=VALUE and is ignored")
        elif pair[1]:
            found[pair[0]] = pair[1]
    return found, warnings


def _assignment(line: str) -> tuple[str, str] | None:
    match = _ASSIGNMENT.fullmatch(line)
    if match is None or not line.isprintable():
        return None
    name, value = match.groups()
    if value[:1] in ('"', "'"):
        quoted = _QUOTED.fullmatch(value)
        return (name, quoted[1] if quoted[1] is not None else quoted[2]) if quoted else None
    return name, "" if value.startswith("#") else re.split(r"\s#", value, maxsplit=1)[0].strip()


def _read(path: Path) -> tuple[bytes, int]:
    """Return content and permission bits of a regular file; the bits are 0 where the system has none."""
    # Not blocking: a FIFO with no writer must not hang the start of a server.
    with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(None, "not a regular file")
        data = file.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise OSError(None, f"larger than {MAX_FILE_BYTES} bytes")
    return data, stat.S_IMODE(status.st_mode) if os.name == "posix" else 0
