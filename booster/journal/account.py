"""What a session has spent and what its calls tell: pure folds over call records."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from booster.journal.calls import CallRecord
from booster.journal.codec import cut
from providers.types import Usage
from verifier.process_reward_http import ROLE as PROCESS_REWARD

LimitKind = Literal["calls", "tokens", "costUsd", "seconds"]

MAX_FAILURES = 50
"""Failures listed in diagnostics, the latest ones; all are counted."""

MAX_SAMPLES = 20
"""Raw samples in full diagnostics, the latest ones."""

_PICO = 10**12
"""Costs are added as integers of 1e-12 USD: no rounding, and the order of arrival does not show in the sum."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """A budget; None = no limit."""

    calls: int | None = None
    """Attempts, failed and repeated ones included."""
    tokens: int | None = None
    """Prompt and completion tokens together."""
    seconds: float | None = None
    """Wall-clock seconds while some process works on the session."""
    cost_usd: float | None = None
    """US dollars."""

    def of(self, kind: LimitKind) -> float | None:
        """Return one limit by its public name."""
        return {"calls": self.calls, "tokens": self.tokens, "seconds": self.seconds, "costUsd": self.cost_usd}[kind]


@dataclass(frozen=True, kw_only=True, slots=True)
class Spend:
    """What was spent so far."""

    calls: int = 0
    """Every attempt: successes, failures, those in flight and those lost with a process."""
    successes: int = 0
    failures: int = 0
    lost: int = 0
    """In flight when their process ended; counted in `calls`, and perhaps charged."""
    in_flight: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    cached_tokens: int = 0
    estimated: bool = False
    """True where some tokens were counted as characters / 4."""
    cost_usd: float | None = 0.0
    """US dollars; None = the cost of a successful call is unknown."""
    seconds: float = 0.0
    """Wall-clock seconds worked on the session, time while no process did excluded."""
    by_role: dict[str, dict[str, Any]] = field(default_factory=dict)
    """`{role: {calls, promptTokens, completionTokens, costUsd}}`."""


@dataclass(slots=True)
class Tally:
    """Running sums over usages."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    cached_tokens: int = 0
    picos: int = 0
    """Known cost in 1e-12 USD."""
    unknown_cost: bool = False
    estimated: bool = False
    calls: int = 0

    def add(self, usage: Usage) -> None:
        """Count one reply."""
        self.prompt_tokens += usage.prompt_tokens
        self.completion_tokens += usage.completion_tokens
        self.reasoning_tokens += usage.reasoning_tokens
        self.cached_tokens += usage.cached_tokens
        self.estimated |= usage.estimated
        if usage.cost_usd is None:
            self.unknown_cost = True
        else:
            self.picos += round(usage.cost_usd * _PICO)

    @property
    def tokens(self) -> int:
        """Prompt and completion together."""
        return self.prompt_tokens + self.completion_tokens

    @property
    def known_cost(self) -> float:
        """US dollars of the replies whose cost is known."""
        return self.picos / _PICO

    @property
    def cost_usd(self) -> float | None:
        """US dollars, or None where some reply's cost is unknown."""
        return None if self.unknown_cost else self.known_cost


def reached(limits: Limits, *, calls: int, tally: Tally, overdue: bool) -> LimitKind | None:
    """Return the first limit that leaves no room for one more call, or None.

    Args:
        limits: The budget.
        calls: Attempts made, those in flight included.
        tally: Sums over the replies that arrived.
        overdue: The deadline that `limits.seconds` stands for has passed.
    """
    if limits.calls is not None and calls >= limits.calls:
        return "calls"
    if limits.tokens is not None and tally.tokens >= limits.tokens:
        return "tokens"
    if limits.cost_usd is not None and tally.known_cost >= limits.cost_usd:
        return "costUsd"
    return "seconds" if overdue else None


def spend(records: Iterable[CallRecord], *, seconds: float) -> Spend:
    """Add up every attempt of a session."""
    states: Counter[str] = Counter()
    total = Tally()
    roles: defaultdict[str, Tally] = defaultdict(Tally)
    for record in records:
        states[record.state] += 1
        roles[record.role].calls += 1
        if record.reply is not None:
            total.add(record.reply.usage)
            roles[record.role].add(record.reply.usage)
    return Spend(
        calls=states.total(),
        successes=states["done"],
        failures=states["failed"],
        lost=states["lost"],
        in_flight=states["intent"],
        prompt_tokens=total.prompt_tokens,
        completion_tokens=total.completion_tokens,
        reasoning_tokens=total.reasoning_tokens,
        cached_tokens=total.cached_tokens,
        estimated=total.estimated,
        cost_usd=total.cost_usd,
        seconds=seconds,
        by_role={
            role: {
                "calls": tally.calls,
                "promptTokens": tally.prompt_tokens,
                "completionTokens": tally.completion_tokens,
                "costUsd": tally.cost_usd,
            }
            for role, tally in roles.items()
        },
    )


def diagnostics(records: Sequence[CallRecord], *, full: bool) -> dict[str, Any]:
    """Return what the calls tell, in camelCase; `last…` describe the latest success and the latest failure to arrive.

    Listed among the failures are also calls that were lost with their process (kind `lost`) and replies that held
    nothing (kind `empty`, `refusal` or `thinking_truncated`); `failureCount` counts the attempts that ended in an error.
    With `full`, `rawSamples` holds the latest prompts and replies.
    """
    arrived = sorted(records, key=lambda record: record.arrived or 0)
    done = [record for record in arrived if record.reply is not None]
    failed = [record for record in arrived if record.error is not None]
    bad = sorted((record for record in records if _brought_nothing(record)), key=lambda r: r.arrived or r.opened)
    said = [record for record in done if record.role != PROCESS_REWARD]  # rewards are no content of a model
    last = said[-1] if said else None
    reply = last.reply if last is not None else None
    document: dict[str, Any] = {
        "totalCalls": len(records),
        "successes": len(done),
        "failureCount": len(failed),
        "lost": sum(record.state == "lost" for record in records),
        "failures": [_failure(record) for record in bad[-MAX_FAILURES:]],
        "repaid": [_repaid(record) for record in records if record.repaid],
        "lastModel": reply.model if reply is not None else None,
        "lastProvider": reply.provider if reply is not None else None,
        "lastPromptChars": last.prompt_chars if last is not None else None,
        "lastResponseChars": len(reply.text) if reply is not None else None,
        "lastOkAt": last.closed_at if last is not None else None,
        "lastErrorAt": failed[-1].closed_at if failed else None,
        "lastError": str(failed[-1].error) if failed else None,
        "byProvider": _by_provider(arrived),
    }
    if full:
        document["rawSamples"] = [_sample(record) for record in done[-MAX_SAMPLES:]]
    return document


def _brought_nothing(record: CallRecord) -> bool:
    return record.state in ("failed", "lost") or (record.reply is not None and record.reply.problem is not None)


def _failure(record: CallRecord) -> dict[str, Any]:
    """Return one line of the list of failures."""
    error, reply = record.error, record.reply
    if error is not None:
        message, kind, status = str(error), error.kind, error.status
        model, provider, endpoint = error.model or record.model, error.provider, error.endpoint
    elif reply is not None:
        message, kind, status = "the reply held no content", str(reply.problem), 200
        model, provider, endpoint = reply.model, reply.provider, ""
    else:
        message = "the process ended while this call was in flight; it may have been charged"
        kind, status, model, provider, endpoint = "lost", None, record.model, "", ""
    return {
        "stepKey": record.step_key,
        "attempt": record.attempt,
        "kind": kind,
        "status": status,
        "message": message,
        "provider": provider,
        "model": model,
        "endpoint": endpoint,
        **({"retryAfter": error.retry_after} if error is not None and error.retry_after is not None else {}),
        "at": record.closed_at or record.opened_at,
    }


def _repaid(record: CallRecord) -> dict[str, Any]:
    return {"stepKey": record.step_key, "attempt": record.attempt, "reason": record.repaid}


def _sample(record: CallRecord) -> dict[str, Any]:
    """Return one raw sample; the prompt was cut when it was recorded."""
    assert record.reply is not None  # the caller chose finished calls
    return {
        "prompt": record.prompt,
        "response": cut(record.reply.text),
        "model": record.reply.model,
        "provider": record.reply.provider,
        "at": record.closed_at,
    }


def _by_provider(arrived: Iterable[CallRecord]) -> dict[str, dict[str, int]]:
    """Return `{provider: {calls, successes, failures}}` of the attempts whose provider is known."""
    counts: dict[str, dict[str, int]] = {}
    for record in arrived:
        outcome = record.reply or record.error
        if outcome is None or not outcome.provider:
            continue
        count = counts.setdefault(outcome.provider, {"calls": 0, "successes": 0, "failures": 0})
        count["calls"] += 1
        count["successes" if record.reply is not None else "failures"] += 1
    return counts
