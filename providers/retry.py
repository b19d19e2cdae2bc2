"""The only place that sends: one policy of retries, one ledger ticket an attempt.

Above: `providers.chain`, and whoever needs a paid call. Below: a `Provider`, which makes single attempts, and a
`Ledger`, which says whether an attempt may be paid and remembers how it ended. When to try again is decided by
`wait_before_next`, a plain function.
"""

import asyncio
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from providers.endpoints import spellings
from providers.errors import BadReplyError, CallCancelled, ProviderError, TransientError
from providers.parameters import PARAMETER_REFUSED
from providers.types import Call, Ledger, Provider, Reply, Ticket, Usage

Prices = Mapping[str, tuple[float, float]]
"""Model id, bare or `provider/model`, to US dollars a million tokens of (prompt, completion)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RetryPolicy:
    """How often, and after how long, a failed attempt is followed by another."""

    attempts: int = 3
    """Attempts at most while they fail; 1 = no retry. What is learnt about a parameter or a cap is not counted here."""
    bad_replies: int = 1
    """Further attempts after replies with status 200 that could not be read."""
    first_wait: float = 0.5
    """Seconds before the second attempt; doubled for each further one."""
    longest_wait: float = 8.0
    """Seconds; bound of our own waiting."""
    longest_asked: float = 120.0
    """Seconds; a server that asks for more is not waited for."""
    jitter: float = 0.25
    """Part of our own waiting, in [0, 1], that is taken off at random, so that siblings do not come back together."""
    most_tokens: int = 16_000
    """Bound of the cap on a reply, when it is doubled for thinking that was cut off."""
    generator: random.Random = field(default_factory=random.Random, compare=False, repr=False)
    """Source of the jitter; a seeded one makes waits reproducible."""

    def backoff(self, failures: int) -> float:
        """Return the seconds to wait after so many failures (1 or more) where the server asks for nothing."""
        wait = min(self.longest_wait, self.first_wait * 2.0 ** (failures - 1))
        return wait * (1 - self.jitter * self.generator.random())


DEFAULT_POLICY = RetryPolicy()
"""Three attempts, at most 1.5 s of our own waiting between them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Past:
    """What happened to a call so far."""

    failures: int = 0
    """Attempts that failed, unreadable replies included; refused parameters are not counted."""
    bad_replies: int = 0
    """Those of them that were unreadable replies."""
    parameters: int = 0
    """Attempts that only taught which parameter the server refuses."""
    cap_doubled: bool = False
    """Whether the call was sent again with a larger cap."""


MOST_PARAMETERS = 8
"""Refused parameters a call; far above what any server refuses, it only ends what a broken one would not."""


def wait_before_next(
    outcome: Reply | BaseException, past: Past, call: Call, policy: RetryPolicy, now: float
) -> tuple[float, Past] | None:
    """Return (seconds to wait before another attempt, the past with this outcome); None = leave it at that.

    Nothing is tried again that could only start after the call's deadline. A reply whose thinking was cut off is worth
    one more attempt under twice the cap; of errors, transient ones are tried again, and an unreadable reply once.

    Args:
        outcome: How the last attempt ended.
        past: What happened before it.
        now: Time on the clock of `call.deadline`.
    """
    wait = 0.0
    if isinstance(outcome, Reply):
        cap = call.max_tokens
        if outcome.problem != "thinking_truncated" or past.cap_doubled or cap is None or cap >= policy.most_tokens:
            return None
        past = replace(past, cap_doubled=True)
    elif isinstance(outcome, TransientError) and outcome.kind == PARAMETER_REFUSED:
        past = replace(past, parameters=past.parameters + 1)
        if past.parameters > MOST_PARAMETERS:
            return None
    elif isinstance(outcome, TransientError | BadReplyError):
        unreadable = isinstance(outcome, BadReplyError)
        past = replace(past, failures=past.failures + 1, bad_replies=past.bad_replies + unreadable)
        asked = outcome.retry_after
        if (
            past.failures >= policy.attempts
            or past.bad_replies > policy.bad_replies
            or (asked or 0) > policy.longest_asked
        ):
            return None
        wait = policy.backoff(past.failures) if asked is None else asked
    else:
        return None
    late = call.deadline is not None and now + wait >= call.deadline
    return None if late else (wait, past)


async def ask(
    call: Call,
    provider: Provider,
    ledger: Ledger,
    *,
    policy: RetryPolicy = DEFAULT_POLICY,
    prices: Prices | None = None,
    clean: Callable[[str], str] = str,
) -> Reply:
    """Return the provider's reply to a call; at most one attempt at a time is under way.

    Each attempt waits for one of the provider's slots, opens a ticket, is sent, and closes the ticket with its reply or
    its error, also where it is cancelled. It takes at most `call.timeout` seconds and ends at the deadline. A ticket that
    recalls how the attempt ended before a restart is not sent.

    Args:
        policy: When to try again.
        prices: For the cost of replies that bring none.
        clean: Redacts what the ledger and the caller get to see: text and reasoning of replies, messages of errors.

    Raises:
        ProviderError: The last one; `BudgetSpent` where the ledger refuses an attempt.
        asyncio.CancelledError: The caller withdrew; the ticket was closed with `CallCancelled`.
    """
    course, past = _Course(call, provider, ledger, policy, prices or {}, clean), Past()
    while True:
        outcome, recalled = await course.attempt()
        following = wait_before_next(outcome, past, course.call, policy, asyncio.get_running_loop().time())
        if following is None:
            break
        wait, known = following
        if known.cap_doubled and not past.cap_doubled:
            course.double_cap()
        past = known
        if not recalled:  # the wait after a recalled attempt has long passed
            await asyncio.sleep(wait)
    if isinstance(outcome, ProviderError):
        raise outcome
    return outcome


class _Course:
    """One `ask` under way: what each attempt needs."""

    def __init__(
        self,
        call: Call,
        provider: Provider,
        ledger: Ledger,
        policy: RetryPolicy,
        prices: Prices,
        clean: Callable[[str], str],
    ) -> None:
        self.call = call
        self._provider, self._ledger = provider, ledger
        self._policy, self._prices, self._clean = policy, prices, clean

    def double_cap(self) -> None:
        """Allow the next attempt a reply twice as long."""
        if self.call.max_tokens is not None:
            self.call = self.call.with_max_tokens(min(2 * self.call.max_tokens, self._policy.most_tokens))

    async def attempt(self) -> tuple[Reply | ProviderError, bool]:
        """Make one attempt; return how it ended, and whether that was recalled instead of paid."""
        slots = self._provider.slots
        if slots is None:
            return await self._at_its_place()
        await self._entered(slots)
        try:
            return await self._at_its_place()
        finally:
            slots.release()

    async def _at_its_place(self) -> tuple[Reply | ProviderError, bool]:
        ticket = await self._ledger.open(self.call)
        if ticket.recalled is not None:
            return ticket.recalled, True
        return await self._paid(ticket), False

    async def _entered(self, slots: asyncio.Semaphore) -> None:
        """Wait for a place, until the deadline; one that is free takes no clock."""
        if not slots.locked():
            await slots.acquire()
            return
        try:
            async with asyncio.timeout_at(self.call.deadline):
                await slots.acquire()
        except TimeoutError:
            raise self._error(
                TransientError, f"the deadline passed while the call waited for {self._provider.name}", "deadline"
            ) from None

    async def _paid(self, ticket: Ticket) -> Reply | ProviderError:
        """Send and close the ticket, whatever happens."""
        outcome: Reply | ProviderError
        try:
            outcome = self._cleaned(await self._sent())
        except ProviderError as error:
            error.args = (self._clean(str(error)),)
            outcome = error
        except BaseException as error:
            name, cancelled = type(error).__name__, isinstance(error, asyncio.CancelledError)
            kind, cls = ("cancelled", CallCancelled) if cancelled else ("internal", ProviderError)
            lost = self._error(cls, f"the call to {self._provider.name} ended with {name}", kind)
            self._ledger.close(ticket, lost)
            raise
        self._ledger.close(ticket, outcome)
        return outcome

    async def _sent(self) -> Reply:
        """Send, within the time of one attempt."""
        now = asyncio.get_running_loop().time()
        end = now + self.call.timeout
        if self.call.deadline is not None:
            end = min(end, self.call.deadline)
        try:
            async with asyncio.timeout_at(end):
                return await self._provider.send(self.call)
        except TimeoutError:
            raise self._error(
                TransientError, f"{self._provider.name} did not answer within {end - now:.3g} s", "timeout"
            ) from None

    def _cleaned(self, reply: Reply) -> Reply:
        text, reasoning = self._clean(reply.text), self._clean(reply.reasoning)
        usage = priced(reply.usage, self._prices, *self._spellings(reply)) if self._prices else reply.usage
        if text is reply.text and reasoning is reply.reasoning and usage is reply.usage:
            return reply
        return replace(reply, text=text, reasoning=reasoning, usage=usage)

    def _spellings(self, reply: Reply) -> tuple[str, ...]:
        """Return every id under which the model may have a price: as reported, and as asked for.

        Servers report a more exact id than the one asked for: `gpt-4o-2024-08-06` for `gpt-4o`.
        """
        asked = self.call.model or self._provider.default_model
        return spellings(reply.model, self._provider.name) + spellings(asked, self._provider.name)

    def _error(self, cls: type[ProviderError], message: str, kind: str) -> ProviderError:
        return cls(
            message,
            kind=kind,
            # Only providers over HTTP have an address; the port does not ask for one.
            endpoint=str(getattr(self._provider, "url", "")),
            model=self.call.model or self._provider.default_model,
            provider=self._provider.name,
        )


def priced(usage: Usage, prices: Prices, *models: str) -> Usage:
    """Return the usage with its cost: the server's own, else by the price of the first model that has one."""
    price = next((prices[model] for model in models if model in prices), None)
    if usage.cost_usd is not None or price is None:
        return usage
    per_prompt, per_completion = price
    return replace(
        usage, cost_usd=(usage.prompt_tokens * per_prompt + usage.completion_tokens * per_completion) / 1_000_000
    )
