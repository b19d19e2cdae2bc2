"""The ledger in memory."""

import pytest

from providers.counting import CountingLedger
from providers.errors import BudgetSpent, TransientError
from providers.types import Call, Reply

CALL = Call(role="generate", step_key="it1/candidate1", messages=())
REPLY = Reply(text="42", model="m", provider="local", source="model")


async def test_attempts_are_numbered_by_step_key() -> None:
    ledger = CountingLedger()

    numbers = [(await ledger.open(CALL)).attempt for _ in range(2)]
    other = await ledger.open(Call(role="judge", step_key="it1/judge", messages=()))

    assert (numbers, other.attempt) == ([1, 2], 1)


async def test_successes_and_failures_are_counted_apart() -> None:
    ledger = CountingLedger()

    ledger.close(await ledger.open(CALL), TransientError("no"))
    ledger.close(await ledger.open(CALL), REPLY)
    await ledger.open(CALL)

    assert (ledger.attempts, ledger.successes, ledger.failures) == (3, 1, 1)
    assert [outcome for _, outcome in ledger.outcomes][-1] is REPLY


async def test_a_spent_budget_refuses_without_counting() -> None:
    ledger = CountingLedger(calls=1)
    await ledger.open(CALL)

    with pytest.raises(BudgetSpent) as caught:
        await ledger.open(CALL)

    assert (caught.value.kind, ledger.attempts) == ("calls", 1)


async def test_a_budget_of_nothing_allows_nothing() -> None:
    with pytest.raises(BudgetSpent):
        await CountingLedger(calls=0).open(CALL)
