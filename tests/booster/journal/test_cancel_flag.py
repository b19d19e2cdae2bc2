"""A request to stop holds until somebody takes it back."""

import pytest

from booster.journal import UnknownSession, open_journal


@pytest.mark.parametrize("url", ["memory:", "sqlite:///{folder}/booster.db"])
async def test_a_withdrawn_cancellation_no_longer_stops_the_session(url: str, tmp_path: object) -> None:
    async with open_journal(url.format(folder=tmp_path)) as journal:
        await journal.create("ses_1", {}, task="t")

        await journal.request_cancel("ses_1")
        assert await journal.cancel_requested("ses_1")
        await journal.withdraw_cancel("ses_1")
        assert not await journal.cancel_requested("ses_1")

        with pytest.raises(UnknownSession):
            await journal.withdraw_cancel("ses_2")
