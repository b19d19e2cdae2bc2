"""Every journal keeps the same promises: tests that take `url` run on each."""

from pathlib import Path

import pytest


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """A SQLite file that does not exist yet, in a directory that does not exist yet."""
    return f"sqlite:///{tmp_path}/home/booster.db"


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    """A journal in memory, then one in a file, then one on a server."""
    return "memory:" if request.param == "memory" else str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture(params=["sqlite", "postgres"])
def lasting_url(request: pytest.FixtureRequest) -> str:
    """A journal that outlives its process."""
    return str(request.getfixturevalue(f"{request.param}_url"))
