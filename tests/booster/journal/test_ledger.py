"""Paid calls: budgets bind, the fence holds, and nothing that was paid is paid again."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from booster.journal import MemoryJournal, SessionLedger, SessionTaken, open_journal
from providers.errors import BudgetSpent, CallCancelled, TransientError
from providers.types import Call, Ledger, Reply, Ticket, Usage
from tests.booster.journal.journal_samples import a_call, a_reply, opened, pay, resumed, started
from tests.virtual_clock import run_virtual

TIMEOUT = TransientError(
    "no reply in time", kind="timeout", endpoint="http://127.0.0.1/v1", provider="local", model="m"
)


async def test_it_fulfils_the_port_of_the_providers() -> None:
    async with open_journal("memory:") as journal:
        _, ledger = await started(journal)
        port: Ledger = ledger

        ticket = await port.open(a_call())
        port.close(ticket, a_reply())

        assert ticket == Ticket(call=a_call(), attempt=1)


@pytest.mark.parametrize(("limit", "wanted"), [(7, 50), (1, 3), (0, 2)])
async def test_fifty_at_once_never_open_more_calls_than_the_budget_has(url: str, limit: int, wanted: int) -> None:
    async with opened(url) as journal:
        _, ledger = await started(journal, calls=limit)

        tried = await asyncio.gather(
            *(ledger.open(a_call(f"it1/candidate{number}")) for number in range(wanted)), return_exceptions=True
        )
        refused = [error for error in tried if isinstance(error, BudgetSpent)]

        assert len(tried) - len(refused) == limit
        assert {error.kind for error in refused} == {"calls"}
        assert len((await journal.export("ses_a"))["calls"]) == limit
        assert (ledger.affordable(), ledger.exhausted()) == (0, "calls")


async def test_failed_and_repeated_attempts_count(url: str) -> None:
    async with opened(url) as journal:
        _, ledger = await started(journal, calls=3)

        for outcome in (TIMEOUT, TIMEOUT, a_reply()):
            await pay(ledger, a_call(), outcome)
        with pytest.raises(BudgetSpent):
            await ledger.open(a_call())

        spent = ledger.spent
        assert (spent.calls, spent.successes, spent.failures, spent.in_flight) == (3, 1, 2, 0)
        assert [call["attempt"] for call in await journal.calls("ses_a")] == [1, 2, 3]


@pytest.mark.parametrize(
    ("limits", "kind"), [({"tokens": 100}, "tokens"), ({"cost_usd": 0.1}, "costUsd")], ids=["tokens", "money"]
)
async def test_tokens_and_money_overshoot_by_the_calls_in_flight_at_most(
    url: str, limits: dict[str, Any], kind: str
) -> None:
    async with opened(url) as journal:
        _, ledger = await started(journal, **limits)
        tickets = [await ledger.open(a_call(f"it1/candidate{number}")) for number in (1, 2)]

        await ledger.close(tickets[0], a_reply(tokens=99, cost=0.099))
        tickets.append(await ledger.open(a_call("it1/candidate3")))
        for ticket in tickets[1:]:
            await ledger.close(ticket, a_reply(tokens=99, cost=0.099))
        with pytest.raises(BudgetSpent) as refusal:
            await ledger.open(a_call("it1/candidate4"))

        assert refusal.value.kind == ledger.exhausted() == kind
        assert ledger.affordable() == 0


async def test_without_limits_nothing_is_ever_exhausted(url: str) -> None:
    async with opened(url) as journal:
        _, ledger = await started(journal)

        await pay(ledger, a_call(), a_reply(tokens=10**9, cost=10.0**6))

        assert (ledger.exhausted(), ledger.affordable(), ledger.deadline) == (None, None, None)


def test_seconds_end_at_the_deadline_and_time_between_two_processes_does_not_count() -> None:
    async def scenario() -> None:
        async with MemoryJournal.open() as journal:
            _, ledger = await started(journal, seconds=10)
            await asyncio.sleep(4)
            await pay(ledger, a_call("it1/candidate1"))
            await asyncio.sleep(100)  # nobody works on it; only what was written counts

            _, ledger = await resumed(journal, seconds=10)
            assert ledger.spent.seconds == 4
            assert ledger.deadline == asyncio.get_running_loop().time() + 6
            await asyncio.sleep(5.9)
            await pay(ledger, a_call("it1/candidate2"))
            await asyncio.sleep(0.1)

            with pytest.raises(BudgetSpent) as refusal:
                await ledger.open(a_call("it1/candidate3"))
            assert refusal.value.kind == ledger.exhausted() == "seconds"
            assert (await journal.load("ses_a")).seconds == pytest.approx(9.9)

    run_virtual(scenario)


def test_a_call_whose_own_deadline_has_passed_is_not_opened() -> None:
    async def scenario() -> None:
        async with MemoryJournal.open() as journal:
            _, ledger = await started(journal)
            late = a_call(deadline=asyncio.get_running_loop().time() + 1)
            await asyncio.sleep(1)

            with pytest.raises(BudgetSpent) as refusal:
                await ledger.open(late)

            assert refusal.value.kind == "seconds"
            assert ledger.spent.calls == 0

    run_virtual(scenario)


async def test_a_zombie_stops_before_it_pays_and_cannot_deliver(url: str) -> None:
    async with opened(url) as journal:
        _, zombie = await started(journal)
        in_flight = await zombie.open(a_call("it1/candidate1"))
        _, ledger = await resumed(journal)

        with pytest.raises(SessionTaken):
            await zombie.open(a_call("it1/candidate2"))
        with pytest.raises(SessionTaken):
            await zombie.close(in_flight, a_reply())

        assert [call["state"] for call in (await journal.export("ses_a"))["calls"]] == ["lost"]
        assert zombie.spent.calls == 1
        assert (await pay(ledger, a_call("it1/candidate2"))).text == "reply to it1/candidate2"


async def test_a_cancelled_session_opens_no_further_call(url: str) -> None:
    async with opened(url) as journal:
        _, ledger = await started(journal)
        running = await ledger.open(a_call("it1/candidate1"))

        await journal.request_cancel("ses_a")
        with pytest.raises(CallCancelled) as refusal:
            await ledger.open(a_call("it1/candidate2"))
        await ledger.close(running, a_reply())

        assert refusal.value.kind == "cancelled"
        assert (ledger.spent.calls, ledger.spent.successes) == (1, 1)


async def test_a_caller_that_leaves_before_its_call_is_sent_pays_nothing(sqlite_url: str) -> None:
    async with open_journal(sqlite_url) as journal:
        _, ledger = await started(journal, calls=1)

        opening = asyncio.create_task(ledger.open(a_call("it1/candidate1")))
        await asyncio.sleep(0)
        opening.cancel()
        await asyncio.gather(opening, return_exceptions=True)
        await pay(ledger, a_call("it1/candidate2"))

        assert opening.cancelled()
        assert [call["stepKey"] for call in (await journal.export("ses_a"))["calls"]] == ["it1/candidate2"]


async def test_a_caller_that_leaves_while_its_reply_is_written_does_not_unwrite_it(sqlite_url: str) -> None:
    async with open_journal(sqlite_url) as journal:
        _, ledger = await started(journal)
        ticket = await ledger.open(a_call())

        ledger.close(ticket, a_reply()).cancel()
        await journal.save_state("barrier", None, {})

        assert [call["state"] for call in await journal.calls("ses_a")] == ["done"]


async def test_closing_twice_counts_once(url: str) -> None:
    async with opened(url) as journal:
        _, ledger = await started(journal)
        ticket = await ledger.open(a_call())

        await ledger.close(ticket, a_reply("first", tokens=10))
        await ledger.close(ticket, a_reply("second", tokens=10))

        assert ledger.spent.prompt_tokens + ledger.spent.completion_tokens == 10
        assert [call["reply"]["text"] for call in await journal.calls("ses_a")] == ["first"]


FULL_REPLY = Reply(
    text="42",
    model="m-1",
    provider="cerebras",
    source="model",
    finish_reason="tool_calls",
    reasoning="six times seven",
    tool_calls=({"id": "1", "function": {"name": "f", "arguments": "{}"}},),
    usage=Usage(
        prompt_tokens=5,
        completion_tokens=7,
        reasoning_tokens=3,
        cached_tokens=2,
        cost_usd=0.000_000_123,
        estimated=True,
    ),
)


@pytest.mark.parametrize(
    "outcome",
    [FULL_REPLY, replace(FULL_REPLY, text="", problem="empty", usage=Usage()), TIMEOUT],
    ids=["reply", "problem", "error"],
)
async def test_a_finished_attempt_is_recalled_as_it_was_and_costs_nothing_more(url: str, outcome: Any) -> None:
    async with opened(url) as journal:
        _, ledger = await started(journal)
        await pay(ledger, a_call(), outcome)
        before = ledger.spent

        _, ledger = await resumed(journal, calls=0)
        ticket = await ledger.open(a_call())
        await ledger.close(ticket, a_reply("must not be written"))

        if isinstance(outcome, Reply):
            assert ticket.recalled == outcome
        else:
            assert isinstance(ticket.recalled, TransientError)
            assert ticket.recalled.to_dict() == outcome.to_dict()
        assert replace(ledger.spent, seconds=0.0) == replace(before, seconds=0.0)
        assert len(await journal.calls("ses_a")) == 1


async def test_attempts_are_recalled_in_order_and_the_lost_one_is_paid_again(url: str) -> None:
    async with opened(url) as journal:
        _, ledger = await started(journal)
        await pay(ledger, a_call(), TIMEOUT)
        await ledger.open(a_call())  # killed in flight

        _, ledger = await resumed(journal)
        first, second = await ledger.open(a_call()), await ledger.open(a_call())
        await ledger.close(second, a_reply("at last"))

        assert isinstance(first.recalled, TransientError)
        assert (second.recalled, second.attempt) == (None, 3)
        assert (ledger.spent.calls, ledger.spent.failures, ledger.spent.lost) == (3, 1, 1)
        assert ledger.diagnostics(full=False)["repaid"] == [
            {"stepKey": "it1/candidate1", "attempt": 3, "reason": "lost"}
        ]
        assert [failure["kind"] for failure in ledger.diagnostics(full=False)["failures"]] == ["timeout", "lost"]

        _, ledger = await resumed(journal)
        assert [await pay(ledger, a_call()) for _ in range(2)][1].text == "at last"


async def test_a_lost_call_counts_against_the_budget(url: str) -> None:
    async with opened(url) as journal:
        _, ledger = await started(journal, calls=1)
        await ledger.open(a_call())

        _, ledger = await resumed(journal, calls=1)

        assert ledger.exhausted() == "calls"
        with pytest.raises(BudgetSpent):
            await ledger.open(a_call())


@pytest.mark.parametrize(
    "changed",
    [
        a_call(content="6 * 8?"),
        a_call(model="another"),
        a_call(max_tokens=1),
        a_call(request={"temperature": 1}),
    ],
    ids=["messages", "model", "max_tokens", "request"],
)
async def test_a_changed_prompt_is_never_answered_with_an_old_reply(url: str, changed: Call) -> None:
    async with opened(url) as journal:
        _, ledger = await started(journal)
        await pay(ledger, a_call(), a_reply("42"))

        _, ledger = await resumed(journal)
        answer = await pay(ledger, changed, a_reply("48"))

        assert answer.text == "48"
        assert ledger.diagnostics(full=False)["repaid"] == [
            {"stepKey": "it1/candidate1", "attempt": 2, "reason": "prompt_changed"}
        ]

        _, ledger = await resumed(journal)
        assert (await pay(ledger, changed)).text == "48"
        assert ledger.spent.calls == 2


async def test_a_call_withdrawn_because_its_process_was_told_to_stop_is_paid_again(url: str) -> None:
    withdrawn = CallCancelled("withdrawn", kind="cancelled")
    async with opened(url) as journal:
        _, ledger = await started(journal)
        tickets = [await ledger.open(a_call(f"it1/candidate{number}")) for number in (1, 2, 3)]
        await ledger.close(tickets[0], withdrawn)  # by the loop: a sibling still counted afterwards
        await ledger.close(tickets[1], a_reply("the winner"))
        await ledger.close(tickets[2], withdrawn)  # by the end of the process

        _, ledger = await resumed(journal)
        outcomes = [await pay(ledger, a_call(f"it1/candidate{number}"), a_reply("new")) for number in (1, 2, 3)]

        assert isinstance(outcomes[0], CallCancelled)
        assert [outcome.text for outcome in outcomes[1:]] == ["the winner", "new"]


@given(st.permutations(range(5)))
def test_recalled_replies_come_in_the_order_in_which_they_once_arrived(order: list[int]) -> None:
    async def scenario() -> None:
        async with MemoryJournal.open() as journal:
            _, ledger = await started(journal)
            tickets = [await ledger.open(a_call(f"it1/candidate{number}")) for number in range(5)]
            for number in order:
                await ledger.close(tickets[number], a_reply())
            _, ledger = await resumed(journal)
            seen: list[int] = []

            async def ask(number: int) -> None:
                await pay(ledger, a_call(f"it1/candidate{number}"))
                seen.append(number)

            await asyncio.gather(*map(ask, range(5)))

            assert seen == order

    asyncio.run(scenario())


async def test_a_waiter_that_leaves_does_not_hold_the_recalled_ones_up() -> None:
    async with open_journal("memory:") as journal:
        _, ledger = await started(journal)
        for number in (1, 2):
            await pay(ledger, a_call(f"it1/candidate{number}"))
        _, ledger = await resumed(journal)

        leaving, staying = (asyncio.create_task(ledger.open(a_call(f"it1/candidate{number}"))) for number in (1, 2))
        await asyncio.sleep(0)
        leaving.cancel()

        assert (await staying).recalled is not None


async def test_a_redacted_session_recalls_its_replies_all_the_same(url: str) -> None:
    """A resumed solve reads its task redacted; its prompts must still count as the same."""

    def redact(text: str) -> str:
        return text.replace("sk-secret", "[redacted]")

    async with opened(url, redact=redact) as journal:
        _, ledger = await started(journal)
        await pay(ledger, a_call(content="use sk-secret"), a_reply("kept"))

        _, ledger = await resumed(journal)

        assert (await pay(ledger, a_call(content="use [redacted]"), a_reply("paid"))).text == "kept"


async def test_another_session_with_the_same_step_keys_is_another_session(url: str) -> None:
    async with opened(url) as journal:
        _, one = await started(journal, "ses_a")
        _, other = await started(journal, "ses_b")

        await pay(one, a_call(), a_reply("of a"))

        assert (await pay(other, a_call(), a_reply("of b"))).text == "of b"
        assert (one.spent.calls, other.spent.calls) == (1, 1)


async def test_a_finished_session_shows_the_same_account_to_whoever_reads_it(url: str) -> None:
    async with opened(url) as journal:
        epoch, ledger = await started(journal)
        await pay(ledger, a_call("it1/candidate1"), FULL_REPLY)
        await pay(ledger, a_call("it1/candidate2", role="judge"), TIMEOUT)
        await journal.release("ses_a", epoch)

        record = await journal.load("ses_a")
        reader: SessionLedger = await journal.ledger(record, epoch=record.epoch)

        assert replace(reader.spent, seconds=0.0) == replace(ledger.spent, seconds=0.0)
        assert reader.diagnostics(full=True) == ledger.diagnostics(full=True)


async def test_a_reply_is_found_by_its_key_in_this_and_every_later_process(url: str) -> None:
    async with opened(url) as journal:
        _, ledger = await started(journal)
        await pay(ledger, a_call("it1/candidate1"), TIMEOUT)
        await pay(ledger, a_call("it1/candidate1"), replace(a_reply(), text="the second attempt"))
        _, later = await resumed(journal)

        for one in (ledger, later):
            found = one.reply("it1/candidate1")
            assert found is not None
            assert found.text == "the second attempt"
            assert one.reply("it1/candidate2") is None


async def test_how_long_a_server_asked_to_wait_is_kept(url: str) -> None:
    async with opened(url) as journal:
        _, ledger = await started(journal)
        await pay(ledger, a_call(), TransientError("busy", kind="http_429", status=429, retry_after=7.5))
        _, later = await resumed(journal)

        for one in (ledger, later):
            assert [failure["retryAfter"] for failure in one.diagnostics(full=False)["failures"]] == [7.5]
