"""A request to stop holds until somebody takes it back."""

import pytest

from booster.journal import UnknownSession
from tests.booster.journal.journal_samples import opened


async def test_a_withdrawn_cancellation_no_longer_stops_the_session(url: str) -> None:
    async with opened(url) as journal:
        await journal.create("ses_1", {}, task="t")

        await journal.request_cancel("ses_1")
        assert await journal.cancel_requested("ses_1")
        await journal.withdraw_cancel("ses_1")
        assert not await journal.cancel_requested("ses_1")

        with pytest.raises(UnknownSession):
            await journal.withdraw_cancel("ses_2")
