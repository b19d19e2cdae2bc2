"""The MCP client's own model, reached by sampling.

The server knows how to speak to its client and hands over one callable; this module turns it into a `Provider`. Calls
of the same moment travel in one round, because a client of the 2026-07-28 protocol answers a round as a whole and
allows few of them. Sampling is deprecated there (SEP-2577), so nothing else depends on it.
"""

import asyncio
import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from providers.errors import BadReplyError, ProviderError, RejectedError
from providers.reading import estimated_usage, source_of
from providers.types import Call, Reply, Sampler, Source

_Waiting = tuple[Call, asyncio.Future[Reply]]


class SamplingProvider:
    """A `Provider` over a `Sampler`, with at most one round under way."""

    name = "mcp"
    default_model = "client"
    slots = None
    """The number of calls is bounded by the round, not by connections."""

    def __init__(self, sampler: Sampler) -> None:
        self._sampler = sampler
        self._waiting: list[_Waiting] = []
        self._rounds: asyncio.Task[None] | None = None

    async def send(self, call: Call) -> Reply:
        """Put the call into the next round and wait for its reply.

        Raises:
            RejectedError: kind `sampling`; the client refused the round.
            BadReplyError: kind `sampling_count`; the client answered another number of calls.
        """
        reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting.append((call, reply))
        if self._rounds is None or self._rounds.done():
            # A task begins on the next turn of the loop: by then all calls of this turn are waiting.
            self._rounds = asyncio.create_task(self._run_rounds(), name="sampling rounds")
        return await reply

    async def aclose(self) -> None:
        """Withdraw the round under way and all calls that wait."""
        if self._rounds is not None:
            self._rounds.cancel()
            await asyncio.wait([self._rounds])
        for _, reply in self._waiting:
            reply.cancel()
        self._waiting.clear()

    async def _run_rounds(self) -> None:
        while self._waiting:
            batch = [(call, reply) for call, reply in self._waiting if not reply.done()]
            self._waiting.clear()
            if batch:
                await self._run_round(batch)

    async def _run_round(self, batch: Sequence[_Waiting]) -> None:
        """Carry one round; withdraw it when nobody waits for any of its replies any more."""
        calls = [call for call, _ in batch]
        carrying = asyncio.ensure_future(self._sampler(calls))
        answered = asyncio.gather(*(reply for _, reply in batch), return_exceptions=True)
        first: list[asyncio.Future[Any]] = [carrying, answered]
        try:
            await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            answered.cancel()
            raise
        finally:
            carrying.cancel()
            await asyncio.wait([carrying])
            outcome = _outcome(carrying, len(batch))
        for index, (call, reply) in enumerate(batch):
            if reply.done():
                continue
            if isinstance(outcome, ProviderError):
                reply.set_exception(copy.copy(outcome))
            else:
                reply.set_result(_as_ours(outcome[index], call))


def _outcome(carried: "asyncio.Future[Sequence[Reply]]", wanted: int) -> Sequence[Reply] | ProviderError:
    """Return the replies of a finished round, or the error that befell all of it."""
    if carried.cancelled():
        return RejectedError("the MCP client went away", kind="sampling", provider="mcp", model="client")
    error = carried.exception()
    if isinstance(error, ProviderError):
        return error
    if error is not None:
        return RejectedError(
            f"the MCP client refused to sample: {error}", kind="sampling", provider="mcp", model="client"
        )
    replies = carried.result()
    if len(replies) != wanted:
        return BadReplyError(
            f"the MCP client answered {len(replies)} of {wanted} calls", kind="sampling_count", provider="mcp"
        )
    return replies


def _as_ours(reply: Reply, call: Call) -> Reply:
    """Return the reply under this provider's name; what no usage was reported for is estimated."""
    usage = reply.usage if reply.usage.tokens else estimated_usage(call, reply.text)
    source: Source = "simulated" if source_of(reply.model) == "simulated" else "client"
    return replace(reply, provider="mcp", source=source, usage=usage)
