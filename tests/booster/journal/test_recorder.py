"""Events that nobody waits for one by one: their order, what a failure means, and sessions that are owned from the start."""

import asyncio
from typing import Any

import pytest

from booster.journal import (
    Event,
    Journal,
    JournalError,
    Recorder,
    SessionBusy,
    SessionTaken,
    UnknownSession,
    open_journal,
)
from tests.booster.journal.journal_samples import a_call, a_reply, opened, pay, started


def recorder(journal: Journal, epoch: int, **fields: Any) -> Recorder:
    return Recorder(journal, "ses_a", epoch, **{"last": 0, **fields})


async def kinds(journal: Journal) -> list[str]:
    return [event.type for event in await journal.events_after("ses_a", 0)]


async def test_events_are_durable_in_order_once_settled(url: str) -> None:
    async with opened(url) as journal:
        epoch, _ = await started(journal)
        heard: list[Event] = []
        events = recorder(journal, epoch, listener=heard.append)

        events.add([("a", {"n": 1}), ("b", {})], status="running", seconds=1.0)
        events.add([("c", {})], status="done", seconds=2.0)
        await events.settled()

        record = await journal.load("ses_a")
        assert [(event.seq, event.type) for event in record.events] == [(1, "a"), (2, "b"), (3, "c")]
        assert (record.status, record.seconds) == ("done", 2.0)
        assert heard == list(record.events)


async def test_an_event_is_durable_before_a_paid_call_that_follows_it(url: str) -> None:
    """Nobody waited for the event; the intent's commit holds it all the same."""
    async with opened(url) as journal:
        epoch, ledger = await started(journal)
        events = recorder(journal, epoch)

        events.add([("iteration_opened", {})], status="running", seconds=0.0)
        await ledger.open(a_call())

        assert await kinds(journal) == ["iteration_opened"]


async def test_nothing_is_stored_after_an_event_that_failed(url: str) -> None:
    """What comes after a gap would tell another story; and whoever asks is told each time."""
    async with opened(url) as journal:
        epoch, _ = await started(journal)
        events = recorder(journal, epoch, last=7)

        events.add([("after event 7", {})], status="running", seconds=0.0)
        events.add([("and after that", {})], status="done", seconds=0.0)

        for _ in range(2):
            with pytest.raises(JournalError, match="event 7"):
                await events.settled()
        record = await journal.load("ses_a")
        assert (record.events, record.status) == ((), "running")


async def test_an_outcome_that_could_not_be_stored_is_known_once_it_has_failed(url: str) -> None:
    async with opened(url) as journal:
        record = await journal.create("ses_a", {"task": "6 * 7?"}, task="6 * 7?")
        epoch = await journal.take_over("ses_a")
        events = recorder(journal, epoch)
        ledger = await journal.ledger(record, epoch=epoch, expect=events.expect)
        tickets = [await ledger.open(a_call(f"it1/candidate{number}")) for number in (1, 2)]
        ledger.close(tickets[0], a_reply())
        await events.settled()
        events.check()
        await journal.take_over("ses_a", again=True)

        with pytest.raises(SessionTaken):
            await ledger.close(tickets[1], a_reply())

        for _ in range(2):
            with pytest.raises(SessionTaken):
                events.check()


async def test_whoever_lost_the_session_records_nothing(url: str) -> None:
    async with opened(url) as journal:
        epoch, _ = await started(journal)
        events = recorder(journal, epoch)
        await journal.take_over("ses_a", again=True)

        events.add([("a", {})], status="done", seconds=0.0)

        with pytest.raises(SessionTaken):
            await events.settled()
        assert await kinds(journal) == []


async def test_one_that_stops_waiting_takes_no_event_with_it(sqlite_url: str) -> None:
    async with open_journal(sqlite_url) as journal:
        epoch, _ = await started(journal)
        events = recorder(journal, epoch)
        events.add([("a", {})], status="running", seconds=0.0)

        waiting = asyncio.create_task(events.settled())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, events.settled(), return_exceptions=True)

        assert waiting.cancelled()
        assert await kinds(journal) == ["a"]


async def test_a_session_can_be_owned_from_the_start(url: str) -> None:
    async with opened(url) as journal:
        record, stored = journal.create_owned("ses_a", {"task": "6 * 7?"}, task="6 * 7?")
        ledger = await journal.ledger(record, epoch=record.epoch, fresh=True)
        await pay(ledger, a_call())  # before anybody waited for the session itself
        await stored

        kept = await journal.load("ses_a")
        assert (record.epoch, kept.epoch, kept.spec) == (1, 1, {"task": "6 * 7?"})
        assert journal.is_alive(kept.owner)
        with pytest.raises(SessionBusy):
            await journal.take_over("ses_a")

        await journal.release("ses_a", record.epoch)

        assert (await journal.load("ses_a")).owner is None
        assert await journal.take_over("ses_a") == 2


async def test_an_id_that_is_taken_is_refused_and_its_session_is_left_alone(url: str) -> None:
    async with opened(url) as journal:
        await started(journal)

        _, stored = journal.create_owned("ses_a", {}, task="another")

        with pytest.raises(JournalError, match="already"):
            await stored
        assert (await journal.load("ses_a")).spec == {"task": "6 * 7?"}


async def test_what_follows_a_session_that_was_not_stored_is_not_stored_either(url: str) -> None:
    async with opened(url) as journal:
        events = recorder(journal, 1)

        events.add([("a", {})], status="running", seconds=0.0)

        with pytest.raises(UnknownSession):
            await events.settled()


async def test_a_release_counts_only_for_the_ownership_it_ends(url: str) -> None:
    async with opened(url) as journal:
        epoch, _ = await started(journal)
        await journal.take_over("ses_a", again=True)

        await journal.release("ses_a", epoch)
        await journal.release("ses_x", 1)

        assert (await journal.load("ses_a")).owner is not None


async def test_sessions_that_write_at_once_keep_their_own_numbers(sqlite_url: str) -> None:
    """Five sessions share a transaction whose statement has room for eight."""
    names = [f"ses_{number}" for number in range(5)]
    async with open_journal(sqlite_url) as journal:
        epochs = [(await started(journal, name))[0] for name in names]

        writes = [
            journal.append(name, epoch, [(name, {})])
            for _ in range(3)
            for name, epoch in zip(names, epochs, strict=True)
        ]
        await asyncio.gather(*writes)

        for name in names:
            events = await journal.events_after(name, 0)
            assert [(event.seq, event.type) for event in events] == [(1, name), (2, name), (3, name)]


async def test_a_request_to_stop_is_found_among_many_sessions(url: str) -> None:
    async with opened(url) as journal:
        for name in ("ses_a", "ses_b", "ses_c"):
            await started(journal, name)
        await journal.request_cancel("ses_b")

        assert await journal.cancelled_among(["ses_a", "ses_b", "ses_x"]) == {"ses_b"}
        assert await journal.cancelled_among([]) == set()
