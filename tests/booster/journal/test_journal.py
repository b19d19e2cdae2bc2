"""What every journal promises, in memory and in a file."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from booster.journal import (
    JournalError,
    SessionBusy,
    SessionTaken,
    StateConflict,
    UnknownSession,
    open_journal,
)
from tests.booster.journal.journal_samples import a_call, a_reply, opened, pay, resumed, started


async def test_a_new_session_is_running_and_owned_by_nobody(url: str) -> None:
    async with opened(url) as journal:
        record = await journal.create("ses_a", {"task": "why?", "checks": [1, None]}, task="why?")

        assert record == await journal.load("ses_a")
        assert (record.status, record.owner, record.epoch, record.events) == ("running", None, 0, ())
        assert record.spec == {"task": "why?", "checks": [1, None]}


async def test_an_id_is_given_once(url: str) -> None:
    async with opened(url) as journal:
        await journal.create("ses_a", {}, task="first")

        with pytest.raises(JournalError, match="ses_a"):
            await journal.create("ses_a", {}, task="second")

        assert (await journal.load("ses_a")).task == "first"


async def test_events_come_back_in_order_with_numbers_without_gaps(url: str) -> None:
    async with opened(url) as journal:
        epoch, _ = await started(journal)

        first = await journal.append("ses_a", epoch, [("opened", {"n": 1}), ("scored", {"n": 2})])
        second = await journal.append("ses_a", epoch, [("closed", {"n": 3})], status="done", seconds=1.5)
        record = await journal.load("ses_a")

        assert list(record.events) == first + second
        assert [(event.seq, event.type, event.data["n"]) for event in record.events] == [
            (1, "opened", 1),
            (2, "scored", 2),
            (3, "closed", 3),
        ]
        assert (record.status, record.seconds) == ("done", 1.5)
        assert await journal.events_after("ses_a", 2) == second
        assert await journal.events_after("ses_nobody", 0) == []


async def test_appends_side_by_side_lose_no_event_and_share_no_number(url: str) -> None:
    async with opened(url) as journal:
        epoch, _ = await started(journal)

        written = await asyncio.gather(
            *(journal.append("ses_a", epoch, [("a", {"n": n}), ("b", {"n": n})]) for n in range(40))
        )
        record = await journal.load("ses_a")

        assert [event.seq for event in record.events] == list(range(1, 81))
        assert sorted((event for pair in written for event in pair), key=lambda event: event.seq) == list(record.events)


async def test_an_owner_of_the_past_can_write_no_event(url: str) -> None:
    """The epoch fence: after a take-over the earlier worker is refused, and the batch it shared goes on."""
    async with opened(url) as journal:
        old, _ = await started(journal)
        new = await journal.take_over("ses_a", again=True)

        stale, fresh = await asyncio.gather(
            journal.append("ses_a", old, [("zombie", {})]),
            journal.append("ses_a", new, [("alive", {})]),
            return_exceptions=True,
        )

        assert isinstance(stale, SessionTaken)
        assert not isinstance(fresh, BaseException)
        assert [event.type for event in (await journal.load("ses_a")).events] == ["alive"]


async def test_worked_seconds_never_run_backwards(url: str) -> None:
    async with opened(url) as journal:
        epoch, _ = await started(journal)

        await journal.append("ses_a", epoch, [], seconds=8.0)
        await journal.append("ses_a", epoch, [], seconds=3.0)

        assert (await journal.load("ses_a")).seconds == 8.0


async def test_a_session_is_taken_once_and_again_only_on_purpose(url: str) -> None:
    async with opened(url) as journal:
        first, _ = await started(journal)

        with pytest.raises(SessionBusy):
            await journal.take_over("ses_a")

        assert await journal.take_over("ses_a", again=True) == first + 1


async def test_a_released_session_can_be_taken_and_a_stale_release_changes_nothing(url: str) -> None:
    async with opened(url) as journal:
        first, _ = await started(journal)
        assert journal.is_alive((await journal.load("ses_a")).owner)

        await journal.release("ses_a", first)
        second = await journal.take_over("ses_a")
        await journal.release("ses_a", first)

        assert second == first + 1
        assert (await journal.load("ses_a")).owner is not None
        assert not journal.is_alive(None)


async def test_an_unknown_session_is_named_and_the_way_to_the_known_ones_is_shown(url: str) -> None:
    async with opened(url) as journal:
        attempts: list[Any] = [
            journal.load("ses_x"),
            journal.append("ses_x", 1, [("a", {})]),
            journal.take_over("ses_x"),
            journal.delete("ses_x"),
            journal.export("ses_x"),
            journal.request_cancel("ses_x"),
            journal.cancel_requested("ses_x"),
        ]

        errors = await asyncio.gather(*attempts, return_exceptions=True)

        assert all(isinstance(error, UnknownSession) for error in errors), errors
        assert all("ses_x" in str(error) and "sessions list" in str(error) for error in errors)


async def test_lists_are_newest_first_without_events_and_can_be_narrowed(url: str) -> None:
    async with opened(url) as journal:
        for number in range(4):
            epoch, _ = await started(journal, f"ses_{number}")
            status = "done" if number % 2 else None
            await journal.append(f"ses_{number}", epoch, [("a", {})], status=status)
            await asyncio.sleep(0.002)  # creation times are kept in milliseconds

        everything = await journal.sessions()
        done = await journal.sessions(status="done", limit=1)

        assert [record.id for record in everything] == ["ses_3", "ses_2", "ses_1", "ses_0"]
        assert all(record.events == () for record in everything)
        assert [record.id for record in done] == ["ses_3"]


async def test_cancellation_is_remembered(url: str) -> None:
    async with opened(url) as journal:
        await started(journal)
        assert not await journal.cancel_requested("ses_a")

        await journal.request_cancel("ses_a")

        assert await journal.cancel_requested("ses_a")


async def test_a_deleted_session_is_gone_and_its_neighbour_is_not(url: str) -> None:
    async with opened(url) as journal:
        for session_id in ("ses_a", "ses_b"):
            epoch, ledger = await started(journal, session_id)
            await journal.append(session_id, epoch, [("a", {})])
            await pay(ledger, a_call())

        await journal.delete("ses_a")

        with pytest.raises(UnknownSession):
            await journal.load("ses_a")
        assert await journal.calls("ses_a") == []
        assert await journal.events_after("ses_a", 0) == []
        assert len(await journal.calls("ses_b")) == 1
        assert len((await journal.load("ses_b")).events) == 1


async def test_an_export_holds_spec_events_and_every_attempt(url: str) -> None:
    async with opened(url) as journal:
        epoch, ledger = await started(journal)
        await journal.append("ses_a", epoch, [("scored", {"score": 0.5})])
        await pay(ledger, a_call("it1/candidate1"))
        await ledger.open(a_call("it1/candidate2"))

        document = await journal.export("ses_a")

        assert document["session"]["spec"] == {"task": "6 * 7?"}
        assert [event["data"] for event in document["events"]] == [{"score": 0.5}]
        assert [(call["stepKey"], call["state"]) for call in document["calls"]] == [
            ("it1/candidate1", "done"),
            ("it1/candidate2", "intent"),
        ]
        assert document["calls"][0]["reply"]["text"] == "reply to it1/candidate1"


async def test_calls_are_listed_in_the_order_in_which_they_arrived(url: str) -> None:
    async with opened(url) as journal:
        _, ledger = await started(journal)
        tickets = [await ledger.open(a_call(f"it1/candidate{number}")) for number in (1, 2, 3)]

        for ticket in (tickets[2], tickets[0]):
            await ledger.close(ticket, a_reply())

        assert [call["stepKey"] for call in await journal.calls("ses_a")] == ["it1/candidate3", "it1/candidate1"]


async def test_of_two_who_change_the_same_state_one_is_told_to_repeat(url: str) -> None:
    async with opened(url) as journal:
        assert await journal.load_state("default") is None
        first = await journal.save_state("default", None, {"mu": 0.1})

        with pytest.raises(StateConflict, match="default"):
            await journal.save_state("default", None, {"mu": 0.2})
        second = await journal.save_state("default", first, {"mu": 0.3})
        with pytest.raises(StateConflict):
            await journal.save_state("default", first, {"mu": 0.4})

        assert await journal.load_state("default") == (second, {"mu": 0.3})
        assert await journal.load_state("other") is None


async def test_clients_are_shown_with_what_they_declared_last(url: str) -> None:
    async with opened(url) as journal:
        await journal.note_client("cursor", "1.0", "2025-11-25", {"roots": {}})
        await journal.note_client("claude", "2.1", "2026-07-28", {"elicitation": {}})
        await asyncio.sleep(0.002)  # times are kept in milliseconds
        await journal.note_client("cursor", "1.0", "2025-11-25", {"sampling": {}})

        clients = await journal.clients()

        assert [(client["name"], client["capabilities"]) for client in clients] == [
            ("cursor", {"sampling": {}}),
            ("claude", {"elicitation": {}}),
        ]
        assert clients[0]["seenAt"].endswith("Z")


async def test_nothing_is_stored_or_returned_before_it_is_redacted(url: str) -> None:
    canary = "sk-CANARY"

    def redact(text: str) -> str:
        return text.replace(canary, "[redacted]")

    async with opened(url, redact=redact) as journal:
        record = await journal.create("ses_a", {"task": canary, canary: [canary]}, task=canary * 90)
        epoch = await journal.take_over("ses_a")
        events = await journal.append("ses_a", epoch, [("a", {"deep": [{"text": f"key {canary}"}]})])
        ledger = await journal.ledger(record, epoch=epoch)
        await pay(ledger, a_call(content=canary), a_reply(f"you said {canary}"))
        await journal.save_state("default", None, {"note": canary})
        await journal.note_client("client", canary, "1", {"experimental": {"token": canary}})

        kept = [
            record,
            events,
            await journal.export("ses_a"),
            await journal.load_state("default"),
            await journal.clients(),
            ledger.diagnostics(full=True),
        ]

        assert canary not in repr(kept)
        assert events[0].data == {"deep": [{"text": "key [redacted]"}]}
        assert len(record.task) <= 200


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), {1, 2}, object(), b"bytes", {1: "key"}])
async def test_what_has_no_json_form_is_refused_whole(url: str, odd: object) -> None:
    async with opened(url) as journal:
        epoch, _ = await started(journal)

        with pytest.raises(JournalError):
            await journal.append("ses_a", epoch, [("fine", {}), ("odd", {"value": odd})])

        assert (await journal.load("ses_a")).events == ()


async def test_text_that_no_encoding_holds_comes_back_as_it_was(url: str) -> None:
    odd = "half an emoji \ud83d, NUL \0 and Ω"
    async with opened(url) as journal:
        await journal.create("ses_a", {"task": odd}, task=odd)
        epoch = await journal.take_over("ses_a")
        _, ledger = await resumed(journal)
        await pay(ledger, a_call(content=odd), a_reply(odd))
        await journal.append("ses_a", epoch + 1, [("a", {"text": odd})])

        record = await journal.load("ses_a")
        _, ledger = await resumed(journal)
        recalled = await pay(ledger, a_call(content=odd))

        assert record.spec["task"] == record.events[0].data["text"] == recalled.text == odd


async def test_the_store_survives_what_sql_would_execute(url: str) -> None:
    hostile = "ses_'; DROP TABLE sessions; --"
    async with opened(url) as journal:
        await started(journal, hostile)

        assert [record.id for record in await journal.sessions()] == [hostile]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
logs = st.lists(st.lists(st.tuples(st.text(min_size=1), st.dictionaries(st.text(), json_values)), max_size=3))


@given(logs)
def test_a_fold_over_the_loaded_events_equals_the_fold_over_those_returned(log: list[list[tuple[str, Any]]]) -> None:
    """Whatever a live session saw of its events, a resumed one sees the same."""

    async def scenario() -> None:
        async with open_journal("memory:") as journal:
            epoch, _ = await started(journal)

            live = [event for events in log for event in await journal.append("ses_a", epoch, events)]

            assert list((await journal.load("ses_a")).events) == live
            assert [(event.type, event.data) for event in live] == [pair for events in log for pair in events]

    asyncio.run(scenario())
