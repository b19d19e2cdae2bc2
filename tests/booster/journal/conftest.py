"""Every journal keeps the same promises: tests that take `url` run on each."""

from pathlib import Path

import pytest


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """A SQLite file that does not exist yet, in a directory that does not exist yet."""
    return f"sqlite:///{tmp_path}/home/booster.db"


@pytest.fixture(params=["memory", "sqlite"])
def url(request: pytest.FixtureRequest, sqlite_url: str) -> str:
    """A journal in memory, then one in a file."""
    return "memory:" if request.param == "memory" else sqlite_url
