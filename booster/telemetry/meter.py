"""The port through which numbers leave the engine, and what is counted of a call's end.

Above: `booster.telemetry.trace` calls it; `booster.telemetry.metrics` implements it over Prometheus.
"""

from typing import Literal, Protocol

from providers.errors import (
    BadReplyError,
    CallCancelled,
    ConfigurationError,
    ProviderError,
    RejectedError,
    TransientError,
)
from providers.types import Reply, Usage

Outcome = Literal["ok", "configuration", "rejected", "transient", "bad_reply", "cancelled", "error"]
"""How an attempt at a model call ended."""

_OUTCOMES: tuple[tuple[type[ProviderError], Outcome], ...] = (
    (ConfigurationError, "configuration"),
    (RejectedError, "rejected"),
    (TransientError, "transient"),
    (BadReplyError, "bad_reply"),
    (CallCancelled, "cancelled"),
)


def outcome_of(end: Reply | ProviderError) -> Outcome:
    """Return the class of an attempt's end; few values, whatever servers say."""
    if isinstance(end, Reply):
        return "ok"
    return next((outcome for cls, outcome in _OUTCOMES if isinstance(end, cls)), "error")


class Meter(Protocol):
    """Port: counts what happens. Methods return at once and never raise."""

    def run_began(self) -> None:
        """This process works on one more session."""

    def run_ended(self) -> None:
        """It works on one less."""

    def concluded(self, status: str) -> None:
        """A solve ended with this status."""

    def attempt_began(self) -> None:
        """A model call is in flight."""

    def attempt_ended(self, role: str, outcome: Outcome, seconds: float, usage: Usage | None) -> None:
        """It came back after so many seconds; `usage` where there is a reply."""

    def recalled(self) -> None:
        """An attempt of an earlier process was found in the journal and not paid again."""

    def durable(self, seconds: float) -> None:
        """A call waited so long for its intent to be durable."""


class Unmetered:
    """Counts nothing."""

    def run_began(self) -> None:
        """See `Meter`."""

    def run_ended(self) -> None:
        """See `Meter`."""

    def concluded(self, status: str) -> None:
        """See `Meter`."""

    def attempt_began(self) -> None:
        """See `Meter`."""

    def attempt_ended(self, role: str, outcome: Outcome, seconds: float, usage: Usage | None) -> None:
        """See `Meter`."""

    def recalled(self) -> None:
        """See `Meter`."""

    def durable(self, seconds: float) -> None:
        """See `Meter`."""
