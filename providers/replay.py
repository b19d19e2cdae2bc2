"""Recordings as providers, without a network: a session's replies in the order they came, and a table of models' samples."""

import asyncio
from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import itemgetter

from providers.errors import ProviderError, RejectedError
from providers.reading import estimated_usage
from providers.types import Call, Reply

Recorded = str | Reply | ProviderError


class ReplayProvider:
    """A `Provider` that answers each call with what was recorded under its step key.

    Of the calls that wait together, the one recorded first is answered first, so that what depends on the order of
    arrival comes out as it did.

    Args:
        recording: Step key to outcome; or pairs of them in the order of arrival, where a key may occur once for each
            attempt. When a key's outcomes are used up, its last one is given again.
    """

    name = "replay"
    default_model = "replay"
    slots = None

    def __init__(self, recording: Mapping[str, Recorded] | Sequence[tuple[str, Recorded]]) -> None:
        pairs = recording.items() if isinstance(recording, Mapping) else recording
        self._left: defaultdict[str, deque[tuple[int, Recorded]]] = defaultdict(deque)
        for position, (key, outcome) in enumerate(pairs):
            self._left[key].append((position, outcome))
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []

    async def send(self, call: Call) -> Reply:
        """Return, or raise, the recorded outcome.

        Raises:
            RejectedError: kind `not_recorded`; nothing was recorded under the step key.
            ProviderError: The recorded one.
        """
        left = self._left.get(call.step_key)
        if not left:
            raise RejectedError(
                f"the recording holds nothing for {call.step_key!r}", kind="not_recorded", provider=self.name
            )
        position, outcome = left.popleft() if len(left) > 1 else left[0]
        await self._turn(position)
        if isinstance(outcome, ProviderError):
            raise outcome
        return _replayed(outcome, call)

    async def aclose(self) -> None:
        """Nothing to close."""

    async def _turn(self, position: int) -> None:
        """Wait for the calls of this moment; those answered earlier go first."""
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        if not self._waiting:
            loop.call_soon(self._release)
        self._waiting.append((position, turn))
        await turn

    def _release(self) -> None:
        waiting, self._waiting = sorted(self._waiting, key=itemgetter(0)), []
        for _, turn in waiting:
            if not turn.done():
                turn.set_result(None)


class SampledReplay:
    """A `Provider` over recorded samples: each call takes the next reply of its model to its problem.

    A call names its problem as the request parameter `user`, so that many solves may share one table.

    Args:
        samples: (problem, model), or (problem, model, role) for calls of one role alone -> replies in the order in which they are given out. When they are used up they are given
            again from the first: a model without sampling noise says the same whenever it is asked.
        default_model: The model of calls that name none.
    """

    name = "replay"
    slots = None

    def __init__(self, samples: Mapping[tuple[str, ...], Sequence[str | Reply]], *, default_model: str) -> None:
        self.default_model = default_model
        self._samples = samples
        self._given: Counter[tuple[str, ...]] = Counter()

    async def send(self, call: Call) -> Reply:
        """Return the next recorded reply.

        Raises:
            RejectedError: kind `not_recorded`; the table holds nothing of this model for the call's problem.
        """
        key: tuple[str, ...] = (str(call.request.get("user", "")), call.model or self.default_model)
        if (*key, call.role) in self._samples:
            key = (*key, call.role)
        replies = self._samples.get(key)
        if not replies:
            raise RejectedError(
                f"the recording holds nothing of {key[1]!r} for the problem {key[0]!r}",
                kind="not_recorded", provider=self.name,
            )  # fmt: skip
        place = self._given[key]
        self._given[key] += 1
        return _replayed(replies[place % len(replies)], replace(call, model=key[1]))

    def given(self, problem: str, model: str) -> int:
        """Return how many replies of a model to a problem were given out."""
        return self._given[problem, model]

    async def aclose(self) -> None:
        """Nothing to close."""


def _replayed(outcome: str | Reply, call: Call) -> Reply:
    if isinstance(outcome, str):
        return Reply(
            text=outcome,
            model=call.model or "replay",
            provider="replay",
            source="replay",
            usage=estimated_usage(call, outcome),
            problem=None if outcome.strip() else "empty",
        )
    return replace(outcome, provider="replay", source="simulated" if outcome.source == "simulated" else "replay")
