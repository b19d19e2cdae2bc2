"""A model as judge: pairwise in both orders, or pointwise. An opinion, which never outranks a check or a vote.

A judge that fails, hangs or writes prose has no verdict; that is a result like any other, says why, and leaves the candidates
as they were. Judges prefer a place (Zheng et al. 2023, arXiv:2306.05685, section 3.3): verdicts that change with the order
cancel each other, and the second order is asked only where the first verdict would overturn the winner.

Above: `booster`, which knows when an opinion could change anything (`verifier.opinion.may_change_the_winner`) and what it
is worth. Below: `verifier.judge_prompts`; the model is reached through `ask` alone, so every question is paid and journalled.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Literal, TypeVar

from providers.errors import ProviderError
from providers.types import Ask, Call, Message
from verifier.judge_prompts import (
    Matter,
    Winner,
    again_messages,
    pair_messages,
    path_messages,
    point_messages,
    read_rationale,
    read_score,
    read_verdict,
)
from verifier.opinion import Side, pair_score, second_order_may_change_the_winner

T = TypeVar("T")

ROLE: Final = "judge"
"""Under which the calls are counted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Opinion(Generic[T]):
    """What a judge said to one question."""

    value: T | None
    """None = no verdict."""
    reason: str = ""
    """The judge's rationale; where there is no verdict, why not."""
    model: str = ""
    """Id of the model that answered, as the server reports it; empty where none did."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Duel:
    """What a judge said of the leading candidate and one rival."""

    first: Side | None = None
    """Verdict with the leader shown first, from the leader's view; None = no verdict."""
    second: Side | None = None
    """Verdict with the rival shown first, from the leader's view; None = not asked, or no verdict."""
    score: float | None = None
    """Of the leader against this rival, in [-1, 1]; of the rival it is the negative. None = the judge counts for nothing."""
    reason: str = ""
    """The rationale of the last verdict, or why there is none."""
    model: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Judge:
    """A model that compares and scores; holds no connection."""

    ask: Ask
    model: str | None = None
    """`provider/model` or a bare id; None = the provider's own model."""
    max_tokens: int = 1000
    """Bound of one reply."""
    seconds: float = 120.0
    """For one question, retries and the re-ask included; a judge that takes longer has no verdict."""
    attempt_seconds: float = 60.0
    """For one attempt at a call."""
    deadline: float | None = None
    """On the event loop's clock; nobody wants an opinion later."""
    request: Mapping[str, Any] = field(default_factory=lambda: {"temperature": 0})
    """Further parameters of the request."""

    async def score(self, matter: Matter, text: str, *, step_key: str) -> Opinion[float]:
        """Return how likely the candidate is right, in [0, 1], by the judge's own scale: fit to rank, not to believe.

        Args:
            matter: What the candidate is held against.
            text: The candidate: its answer, with its reasoning where there is any.
            step_key: Names the call in the journal; the re-ask adds `/again`.
        """
        return await self._opinion(point_messages(matter, text), read_score, "score", step_key)

    async def value(self, matter: Matter, path: Sequence[str], *, step_key: str) -> Opinion[float]:
        """Return how likely a right answer can be reached from the end of a path, in [0, 1] (Yao et al. 2023, arXiv:2305.10601).

        Args:
            matter: What the path is held against.
            path: Texts of the steps, oldest first.
            step_key: Names the call in the journal; the re-ask adds `/again`.
        """
        return await self._opinion(path_messages(matter, path), read_score, "score", step_key)

    async def compare(self, matter: Matter, a: str, b: str, *, step_key: str) -> Opinion[Winner]:
        """Return which candidate is better, shown in this order: one verdict, with the judge's preference for a place in it."""
        return await self._opinion(pair_messages(matter, a, b), read_verdict, "verdict", step_key)

    async def duel(self, matter: Matter, leader: str, rival: str, *, step_key: str, weight: float, gap: float) -> Duel:
        """Ask whether the rival should win, in both orders where the first says so.

        A first verdict for the rival that the second order does not answer counts for nothing: an upset must be confirmed.

        Args:
            matter: What both are held against.
            leader: The candidate that wins without the judge.
            rival: The one that could.
            step_key: Names the first call in the journal; that of the second order adds `/swapped`.
            weight: Weight of the judge in the sum, in log odds.
            gap: Score of the leader minus that of the rival before the judge, not negative.
        """
        there = await self.compare(matter, leader, rival, step_key=step_key)
        if there.value is None:
            return Duel(reason=there.reason, model=there.model)
        first = _side(there.value, leader="A")
        if not second_order_may_change_the_winner(weight, gap, first):
            return Duel(first=first, score=pair_score(first), reason=there.reason, model=there.model)
        back = await self.compare(matter, rival, leader, step_key=f"{step_key}/swapped")
        if back.value is None:
            return Duel(first=first, reason=f"not confirmed in the other order: {back.reason}", model=there.model)
        second = _side(back.value, leader="B")
        return Duel(first=first, second=second, score=pair_score(first, second), reason=back.reason, model=back.model)

    async def _opinion(
        self,
        messages: tuple[Message, ...],
        read: Callable[[str], T | None],
        wanted: Literal["verdict", "score"],
        step_key: str,
    ) -> Opinion[T]:
        try:
            async with asyncio.timeout(self.seconds) as late:
                return await self._asked(messages, read, wanted, step_key)
        except TimeoutError:
            if not late.expired():
                raise
            return Opinion(value=None, reason=f"the judge did not answer within {self.seconds:g} seconds")
        except ProviderError as error:
            return Opinion(value=None, reason=f"the judge failed: {error}")

    async def _asked(
        self,
        messages: tuple[Message, ...],
        read: Callable[[str], T | None],
        wanted: Literal["verdict", "score"],
        step_key: str,
    ) -> Opinion[T]:
        reply = await self.ask(self._call(messages, step_key))
        value = read(reply.text)
        if value is None and reply.problem != "refusal":
            again = again_messages(messages, reply.text, wanted)
            reply = await self.ask(self._call(again, f"{step_key}/again"))
            value = read(reply.text)
        if value is None:
            said = reply.problem or reply.text[:120].strip() or "nothing"
            return Opinion(value=None, reason=f"no {wanted} in the judge's reply: {said}", model=reply.model)
        return Opinion(value=value, reason=read_rationale(reply.text), model=reply.model)

    def _call(self, messages: tuple[Message, ...], step_key: str) -> Call:
        return Call(
            role=ROLE,
            step_key=step_key,
            model=self.model,
            messages=messages,
            max_tokens=self.max_tokens,
            request=self.request,
            timeout=self.attempt_seconds,
            deadline=self.deadline,
        )


def judges_itself(judge: str | None, generators: Collection[str | None]) -> bool:
    """Say whether the judge is one of the models that wrote the candidates; None = a provider's own model.

    A model favours its own answers (Zheng et al. 2023, section 3.3), so the settings must have said that this is wanted. Ids
    are compared without the name of the provider.
    """
    bare = judge.rpartition("/")[2] if judge else None
    return any((generator.rpartition("/")[2] if generator else None) == bare for generator in generators)


def _side(winner: Winner, *, leader: Winner) -> Side:
    return 0 if winner == "tie" else 1 if winner == leader else -1
