"""The gate through which recalled replies come back."""

import asyncio

from booster.journal.arrivals import ArrivalGate


async def test_a_follow_up_that_once_came_earlier_still_goes_first() -> None:
    """The judge's recorded reply (2) overtakes a sibling (3) that was already waiting when the judge was asked."""
    gate = ArrivalGate()
    seen: list[int] = []

    async def candidate(arrived: int, judged: int | None = None) -> None:
        await gate.wait(arrived)
        seen.append(arrived)
        if judged is not None:
            await gate.wait(judged)
            seen.append(judged)

    await asyncio.gather(candidate(3), candidate(1, judged=2))

    assert seen == [1, 2, 3]


async def test_the_gate_opens_again_after_it_was_idle() -> None:
    gate = ArrivalGate()
    seen = []

    for arrived in (5, 1):
        async with asyncio.timeout(5):
            await gate.wait(arrived)
        seen.append(arrived)

    assert seen == [5, 1]


async def test_a_gate_whose_waiters_all_left_is_not_stuck() -> None:
    gate = ArrivalGate()
    leaving = asyncio.create_task(gate.wait(1))
    await asyncio.sleep(0)
    leaving.cancel()

    await gate.wait(2)

    assert leaving.cancelled()
