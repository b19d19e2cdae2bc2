"""Process rewards at work: each path is one paid call to the configured server, and an opinion that can cost no candidate.

A whole answer is scored when it lands, steps side by side when their reply has been read. A server that is dead, slow or lies
leaves its own term empty and says why; after `FAILURES_BORNE` paths without a reward in a row it is left alone for the rest of
the run. Above: `booster.attempt`, `booster.work`. Below: `verifier.process_reward_http` asks, `verifier.opinion` standardises.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from booster.asking import any_of, unless_withdrawn
from booster.parts import Memory, Parts, Purse
from booster.search import total
from providers.types import Ask
from verifier.opinion import OpinionWeight, standardise
from verifier.process_reward import path_reward, steps_of
from verifier.process_reward_http import StepRewards, step_rewards
from verifier.tuned import OPINION_OUTCOMES
from verifier.types import Candidate, Context

REWARD_SECONDS: Final = 30.0
"""For one attempt at a path: such models read and write nothing, so a slow one is an ill one."""

FAILURES_BORNE: Final = 2
"""Paths in a row without a reward after which nothing more is spent on the server."""


class ProcessReward:
    """Fulfils `booster.parts.Reward` for one run of one solve.

    Args:
        ask: Paid calls to the server.
        model: Id of its model.
        purse: Whose last call is not spent on an opinion.
        memory: Knows what earlier outcomes have made of its weight.
        seconds: For one attempt.
    """

    def __init__(self, ask: Ask, model: str, purse: Purse, memory: Memory, *, seconds: float = REWARD_SECONDS) -> None:
        self.scorer = f"process:{model}"
        self.model = model
        self.failures: dict[str, str] = {}
        self._ask, self._purse, self._memory, self._seconds = ask, purse, memory, seconds
        self._missed = 0

    async def of_answer(self, candidate: Candidate, context: Context) -> Candidate:
        """Score a whole answer: the steps it rests on, then its own reasoning.

        Where a check has spoken the opinion changes nothing; it is asked for only while outcomes still have to teach its weight.
        """
        ran = candidate.passed_checks or candidate.failed_checks
        if ran and self._memory.state.weight(self.scorer).outcomes >= OPINION_OUTCOMES:
            return candidate
        proposal = candidate.proposal
        own = steps_of(proposal.rationale, proposal.answer)
        return await self._scored(candidate, context.task, (*context.steps, *own))

    async def of_step(self, candidate: Candidate, context: Context) -> Candidate:
        """Score a partial path: the applied steps and this one."""
        proposal = candidate.proposal
        own = "\n".join(part for part in (proposal.text, proposal.rationale) if part)
        if proposal.answer is not None and proposal.answer not in own:
            own = f"{own}\nAnswer: {proposal.answer}"
        return await self._scored(candidate, context.task, (*context.steps, own))

    async def _scored(self, candidate: Candidate, task: str, path: Sequence[str]) -> Candidate:
        key = f"{candidate.key}/process"
        found = await unless_withdrawn(self._asked(key, task, path)) or StepRewards(
            rewards=None, reason="no reward: the server had not answered when the time was up"
        )
        if found.rewards is None:
            self.failures[candidate.key] = found.reason
            return candidate
        score = {"score": path_reward(found.rewards)}
        return replace(candidate, opinions={**candidate.opinions, "process": score})

    async def _asked(self, key: str, task: str, path: Sequence[str]) -> StepRewards:
        paid = self._purse.recorded(key)
        left = self._purse.affordable()
        if not paid and left is not None and left <= 1:
            return StepRewards(rewards=None, reason="no reward: the last call of the budget is kept for an answer")
        if not paid and self._missed >= FAILURES_BORNE:
            return StepRewards(rewards=None, reason="no reward: the server failed before and is left alone")
        found = await step_rewards(
            self._ask, task, path, step_key=key, model=self.model, seconds=self._seconds, deadline=self._purse.deadline
        )
        self._missed = self._missed + 1 if found.rewards is None else 0
        return found


async def rewarded(candidates: Sequence[Candidate], context: Context, parts: Parts) -> tuple[Candidate, ...]:
    """Return steps of one reply with their opinions; where there is nothing to choose, nothing is asked."""
    reward = parts.reward
    sound = [one for one in candidates if not one.failed_checks and one.source != "heuristic"]
    if reward is None or len(sound) < 2:
        return tuple(candidates)
    landed, _ = await any_of([reward.of_step(one, context) for one in sound], parts)
    found = {one.key: one for one in landed if "process" in one.opinions}
    every = [found.get(one.key, one) for one in candidates]
    state = parts.memory.state
    weights = {"process": state.weight(reward.scorer), "heuristic": state.weight("heuristic")}
    return compared(every, {one.key for one in sound}, weights)


def compared(
    candidates: Sequence[Candidate], sound: set[str], weights: Mapping[str, OpinionWeight]
) -> tuple[Candidate, ...]:
    """Return steps with what each scorer's opinion of them adds, in log odds. Pure.

    Rewards of partial paths are standardised among siblings only: paths of other lengths are no measure for them. With fewer
    than two rewards there is nothing to compare, and `totalScore` alone orders the steps.
    """
    scores = {one.key: one.opinions["process"]["score"] for one in candidates if "process" in one.opinions}
    if len(scores) < 2:
        return tuple(candidates)
    process = dict(zip(scores, standardise(list(scores.values())), strict=True))
    siblings = [one for one in candidates if one.key in sound]
    heuristic = dict(zip([one.key for one in siblings], standardise([total(one) for one in siblings]), strict=True))

    def with_opinions(one: Candidate) -> Candidate:
        said = {"process": process, "heuristic": heuristic}
        return replace(
            one,
            opinions={
                kind: {**one.opinions.get(kind, {}), "z": z[one.key], "weight": weights[kind].b}
                for kind, z in said.items()
                if one.key in z
            },
        )

    return tuple(map(with_opinions, candidates))
