"""Prometheus metrics of one process, in a registry of their own. Needs the extra `metrics`.

Labels take a few values that the code fixes: never a session, a task, an endpoint's text or a model id.
"""

from functools import partial
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import choose_encoder

from booster.telemetry.meter import Outcome
from providers.types import Usage

CALL_SECONDS: Final = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0)
"""Upper bounds of the buckets for model calls."""

JOURNAL_SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)
"""The same for the journal, whose commits take milliseconds."""

_STATUSES: Final = ("done", "degraded", "cancelled", "failed")


class PrometheusMeter:
    """Implements `booster.telemetry.Meter`; `page` is what `/metrics` shows."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        counter = partial(Counter, namespace="booster", registry=self.registry)
        gauge = partial(Gauge, namespace="booster", registry=self.registry)
        histogram = partial(Histogram, namespace="booster", registry=self.registry)
        self._solves = counter("solves", "Solves that ended, by status.", ["status"])
        self._calls = counter("llm_calls", "Attempts at model calls that ended, retries included.", ["role", "outcome"])
        self._tokens = counter("llm_tokens", "Tokens of model calls; cached and reasoning included.", ["kind"])
        self._cost = counter("llm_cost_usd", "US dollars, of the replies whose price is known.")
        self._unpriced = counter(
            "llm_unpriced_calls", "Replies whose price nobody knows; llm_cost_usd leaves them out."
        )
        self._latency = histogram(
            "llm_latency_seconds", "Duration of one attempt at a model call.", buckets=CALL_SECONDS
        )
        self._inflight = gauge("inflight", "Model calls and solves under way.", ["kind"])
        self._durable = histogram(
            "journal_commit_seconds",
            "Time that a model call waited for its intent to be durable.",
            buckets=JOURNAL_SECONDS,
        )
        self._replayed = counter(
            "replayed_steps", "Attempts that a resumed solve found in the journal and did not pay again."
        )
        self._show_zeros()

    def _show_zeros(self) -> None:
        """Let series begin at 0: a rate over one that appears with its first event misses that event."""
        for status in _STATUSES:
            self._solves.labels(status)
        for kind in ("prompt", "completion"):
            self._tokens.labels(kind)
        for kind in ("calls", "solves"):
            self._inflight.labels(kind)

    def page(self, accept: str = "") -> tuple[bytes, str]:
        """Return all numbers and their media type, in the form that an `Accept` header asks for."""
        encode, media_type = choose_encoder(accept)
        return encode(self.registry), media_type

    def run_began(self) -> None:
        """See `Meter`."""
        self._inflight.labels("solves").inc()

    def run_ended(self) -> None:
        """See `Meter`."""
        self._inflight.labels("solves").dec()

    def concluded(self, status: str) -> None:
        """See `Meter`."""
        self._solves.labels(status).inc()

    def attempt_began(self) -> None:
        """See `Meter`."""
        self._inflight.labels("calls").inc()

    def attempt_ended(self, role: str, outcome: Outcome, seconds: float, usage: Usage | None) -> None:
        """See `Meter`."""
        self._inflight.labels("calls").dec()
        self._calls.labels(role, outcome).inc()
        self._latency.observe(seconds)
        if usage is None:
            return
        self._tokens.labels("prompt").inc(usage.prompt_tokens)
        self._tokens.labels("completion").inc(usage.completion_tokens)
        if usage.cost_usd is None:
            self._unpriced.inc()
        else:
            self._cost.inc(usage.cost_usd)

    def recalled(self) -> None:
        """See `Meter`."""
        self._replayed.inc()

    def durable(self, seconds: float) -> None:
        """See `Meter`."""
        self._durable.observe(seconds)
