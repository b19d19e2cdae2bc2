"""What only a database server can do to a journal."""

import asyncio

import psycopg

from booster.journal import JournalError
from booster.journal.schema import MIGRATION_LOCK
from tests.booster.journal.journal_samples import a_call, opened, pay, resumed, started


def lose_connections(url: str) -> None:
    """End every connection to the database but this one, as a server that restarts does."""
    with psycopg.connect(url, autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


async def test_a_connection_that_was_lost_between_two_writes_costs_nothing(postgres_url: str) -> None:
    async with opened(postgres_url) as journal:
        epoch, ledger = await started(journal)
        lose_connections(postgres_url)
        await pay(ledger, a_call())
        lose_connections(postgres_url)
        await journal.append("ses_a", epoch, [("told", {"n": 1})])
        lose_connections(postgres_url)
        _, again = await resumed(journal)

        assert (await again.open(a_call())).recalled is not None
        assert [event.type for event in (await journal.load("ses_a")).events] == ["told"]


async def test_a_server_that_stays_away_is_said_and_used_again_when_it_is_back(postgres_url: str) -> None:
    name = postgres_url.partition("?")[0].rpartition("/")[2]
    async with opened(postgres_url) as journal:
        epoch, _ = await started(journal)
        with psycopg.connect(postgres_url.replace(name, "postgres"), autocommit=True) as other:
            other.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
            other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))
            refused = await asyncio.gather(
                journal.append("ses_a", epoch, [("lost", {})]), journal.take_over("ses_a", again=True),
                journal.load("ses_a"), return_exceptions=True,
            )  # fmt: skip
            other.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
        first, *_ = await journal.append("ses_a", epoch, [("kept", {})])

        assert [type(error) for error in refused] == [JournalError] * 3
        assert all("postgresql" in str(error) for error in refused)
        assert first.seq == 1


async def test_one_process_at_a_time_makes_the_tables(postgres_url: str) -> None:
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(%s)", (MIGRATION_LOCK,))
        async with asyncio.timeout(20):
            opening = asyncio.create_task(_opened_once(postgres_url))
            while other.execute(waiting).fetchone() != (1,):
                assert not opening.done()
                await asyncio.sleep(0.01)
            other.execute("SELECT pg_advisory_unlock(%s)", (MIGRATION_LOCK,))
            await opening


async def _opened_once(url: str) -> None:
    async with opened(url):
        pass
