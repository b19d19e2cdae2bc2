"""Errors of the booster: exit codes and texts for people."""

from pathlib import Path

import pytest

from booster.errors import (
    BoosterError,
    ConfigFileError,
    OutputPathError,
    SecretsFileError,
    UnknownSessionError,
    UsageError,
)


@pytest.mark.parametrize(
    ("error", "exit_code"),
    [
        (UsageError("iterations: 0 is not allowed", field="iterations"), 2),
        (UnknownSessionError("ses_x"), 2),
        (OutputPathError("outside"), 1),
        (ConfigFileError(Path("config.json"), "line 1, column 2: not valid JSON"), 1),
        (SecretsFileError(Path("secrets.txt"), "can be changed by others"), 1),
    ],
)
def test_every_error_is_a_booster_error_with_its_exit_code(error: BoosterError, exit_code: int) -> None:
    """Commands end with the code of the error, so callers can tell a wrong call from a failure."""
    assert isinstance(error, BoosterError)
    assert error.exit_code == exit_code


def test_an_unknown_session_says_how_to_find_the_known_ones() -> None:
    """The text names the tool and the command, and cuts a hostile id."""
    error = UnknownSessionError("\x1b[31m" + "x" * 1000)

    assert "booster sessions list" in str(error)
    assert "\x1b" not in str(error)
    assert len(str(error)) < 300


def test_a_file_error_begins_with_the_path() -> None:
    """Someone with five configuration files must see which one it is."""
    assert str(ConfigFileError(Path("/etc/x/config.json"), "is not UTF-8 text")).startswith("/etc/x/config.json: ")
