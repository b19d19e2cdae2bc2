"""What every test run needs, however it was started."""

import signal
from collections.abc import Iterator
from itertools import count

import psycopg
import pytest

from tests.postgres import CannotRunError, postgres

_NUMBERS = count(1)


def pytest_configure() -> None:
    """Take Ctrl-C back where the shell that started us in the background ignores it: our children would ignore it, too."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The address of a PostgreSQL that was started for these tests."""
    try:
        with postgres() as address:
            yield address
    except CannotRunError as error:
        pytest.skip(str(error))


@pytest.fixture
def postgres_url(postgres_server: str) -> str:
    """An empty database on it."""
    name = f"booster_{next(_NUMBERS)}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return postgres_server.replace("/postgres?", f"/{name}?")
