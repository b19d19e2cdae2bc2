"""How the end of an attempt is counted."""

import pytest

from booster.telemetry.meter import outcome_of
from providers.errors import (
    BadReplyError,
    CallCancelled,
    ConfigurationError,
    ProviderError,
    RejectedError,
    TransientError,
)
from providers.types import Reply


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (ConfigurationError, "configuration"),
        (RejectedError, "rejected"),
        (TransientError, "transient"),
        (BadReplyError, "bad_reply"),
        (CallCancelled, "cancelled"),
        (ProviderError, "error"),
    ],
)
def test_an_error_is_counted_by_its_class_and_not_by_what_it_says(error: type[ProviderError], outcome: str) -> None:
    assert outcome_of(error("anything", kind="http_418")) == outcome


def test_a_reply_without_text_is_a_reply() -> None:
    reply = Reply(text="", model="m", provider="local", source="model", problem="refusal")

    assert outcome_of(reply) == "ok"
