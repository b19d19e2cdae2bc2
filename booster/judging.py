"""Opinions on the answers of one attempt: what process rewards are worth among them, and a judge where it can change the winner.

An opinion enters the pool of answers with the weight that verified outcomes have earned it; what it is worth there is decided by
`booster.standing`. A scorer that fails, hangs or writes prose leaves the answers as they were and is reported.
Above: `booster.drawing`. Below: `verifier.judge` asks, `verifier.opinion` weighs; rewards came with the candidates.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from booster.asking import any_of, judge_of, key_of, matter_of, models_of, unless_withdrawn
from booster.ballots import groups_of, right, sum_of
from booster.parts import Attempt, Parts
from booster.session import Draw, Opened, PooledAnswer, Session
from booster.standing import standing_of
from verifier.judge import Duel, Judge, judges_itself
from verifier.judge_prompts import Matter
from verifier.opinion import may_change_the_winner, standardise
from verifier.tuned import OPINION_OUTCOMES
from verifier.types import Candidate

LATE: Final = "the judge had not answered when the time was up"


@dataclass(frozen=True, kw_only=True, slots=True)
class Judging:
    """The opinions of one attempt."""

    session: Session
    opened: Opened
    parts: Parts
    judge: Judge | None
    """None where no judge is wanted."""
    matter: Matter
    scores: dict[str, float] = field(default_factory=dict)
    """Key of an answer -> what the judge gave it, in [0, 1]."""
    failures: list[str] = field(default_factory=list)
    """Why the judge gave no verdict."""

    @classmethod
    def of(cls, session: Session, opened: Opened, parts: Parts) -> "Judging | None":
        """Return whoever weighs answers beside the votes; None where votes are all there is.

        With `select: "judge"` and no `judgeModel`, the model that answers judges itself, which the result says.
        """
        config, problem = session.config, session.problem
        judge = None
        if config.select == "judge" or (config.select == "auto" and config.judge_model is not None):
            judge = judge_of(session, parts)
        if judge is None and parts.reward is None and temperature_of(problem.request) is None:
            return None
        return cls(
            session=session, opened=opened, parts=parts, judge=judge,
            matter=matter_of(session),
        )  # fmt: skip

    @property
    def scorer(self) -> str:
        """Name under which the judge's weight is kept."""
        return f"judge:{(self.judge and self.judge.model) or ''}"

    async def score(self, answer: PooledAnswer, candidate: Candidate) -> None:
        """Ask for a score of one answer as it lands, and keep it for `weigh`.

        One that failed a check needs none; it is asked for only while outcomes still have to teach the judge's weight.
        """
        taught = self.parts.memory.state.weight(self.scorer).outcomes >= OPINION_OUTCOMES
        if self.judge is None or (candidate.failed_checks and taught):
            return
        asked = self.judge.score(self.matter, _shown(candidate), step_key=f"{answer.key}/judge")
        opinion = await unless_withdrawn(asked)
        if opinion is None or opinion.value is None:
            self.failures.append(opinion.reason if opinion else LATE)
        else:
            self.scores[answer.key] = opinion.value

    async def weigh(self, attempt: Attempt) -> Attempt:
        """Return the attempt with all that the sum wants to know beside its answers."""
        temperature = temperature_of(self.session.problem.request)
        if temperature is not None:
            attempt = replace(
                attempt, answers=tuple(replace(answer, temperature=temperature) for answer in attempt.answers)
            )
        attempt = self._rewarded(attempt)
        if self.judge is None:
            return attempt
        if self.session.config.select == "judge":
            return self._scored(attempt)
        return await self._compared(self.judge, attempt)

    def _rewarded(self, attempt: Attempt) -> Attempt:
        """Say beside each answer what the process reward of its path adds."""
        reward, state = self.parts.reward, self.parts.memory.state
        if reward is None:
            return attempt
        said = {one.key: one.opinions["process"]["score"] for one in attempt.candidates if "process" in one.opinions}
        scores = {answer.key: said[answer.key] for answer in attempt.answers if answer.key in said}
        z = standardise(list(scores.values()), state.scales.get(reward.scorer, ()))
        weight = state.weight(reward.scorer).b
        opinions = {
            key: {"z": value, "weight": weight, "score": scores[key]} for key, value in zip(scores, z, strict=True)
        }
        answers = tuple(replace(answer, opinions=_joined(answer, "process", opinions)) for answer in attempt.answers)
        report: dict[str, Any] = {"scorer": reward.scorer, "model": reward.model, "scored": len(scores)}
        failures = {one.key: reward.failures[one.key] for one in attempt.answers if one.key in reward.failures}
        if failures:
            report["failures"] = failures
        return replace(attempt, answers=answers, draw=replace(_drawn(attempt), process=report))

    def _scored(self, attempt: Attempt) -> Attempt:
        keys = [answer.key for answer in attempt.answers if answer.key in self.scores]
        scores = [self.scores[key] for key in keys]
        history = self.parts.memory.state.scales.get(self.scorer, ())
        z = dict(zip(keys, standardise(scores, history), strict=True))
        groups = groups_of([answer for answer in attempt.answers if right([answer]) is not False])
        best = _best([[self.scores[key] for key in group if key in z] for group in groups])
        leading = groups[best] if best is not None else ()
        opinions = {key: {"z": value, "score": self.scores[key]} for key, value in z.items()}
        verdict = "scores" if scores else None
        return self._with(attempt, opinions, leading, verdict=verdict, asked=len(scores) + len(self.failures))

    async def _compared(self, judge: Judge, attempt: Attempt) -> Attempt:
        config = self.session.config
        pool = (*self.session.answers, *attempt.answers)
        stands = standing_of(pool, config.select)
        if stands.settled or len(stands.groups) < 2:
            return attempt
        found = sum_of(stands.groups)
        order = sorted(range(len(found.terms)), key=lambda at: -found.terms[at].total)
        leader, rival = stands.groups[order[0]], stands.groups[order[1]]
        gap = found.terms[order[0]].total - found.terms[order[1]].total
        weight = self.parts.memory.state.weight(self.scorer).b
        shown = {candidate.key: _shown(candidate) for candidate in attempt.candidates}
        if not may_change_the_winner(weight, gap) or leader.keys[0] not in shown or rival.keys[0] not in shown:
            return attempt
        question = judge.duel(
            self.matter, shown[leader.keys[0]], shown[rival.keys[0]],
            step_key=key_of(self.opened, "judge"), weight=weight, gap=gap,
        )  # fmt: skip
        duels, _ = await any_of([question], self.parts)
        duel = duels[0] if duels else Duel(reason=LATE)
        opinions = {}
        if duel.score is None:
            self.failures.append(duel.reason)
        else:
            opinions = {key: {"z": duel.score} for key in leader.keys}
            opinions |= {key: {"z": -duel.score} for key in rival.keys}
        confirmed = rival.keys if (duel.first, duel.second) == (-1, -1) else ()
        return self._with(
            attempt,
            opinions,
            confirmed,
            verdict=_verdict(duel),
            asked=1 + (duel.second is not None),
            reason=duel.reason,
        )

    def _with(
        self, attempt: Attempt, opinions: Mapping[str, Mapping[str, float]], confirmed: Sequence[str], **said: Any
    ) -> Attempt:
        weight = self.parts.memory.state.weight(self.scorer).b
        weighed = {key: {**opinion, "weight": weight} for key, opinion in opinions.items()}
        answers = tuple(
            replace(answer, opinions=_joined(answer, "judge", weighed), confirmed=answer.key in confirmed)
            for answer in attempt.answers
        )
        model = self.judge.model if self.judge else None
        report = {"scorer": self.scorer, "model": model, **said}
        if self.failures:
            report["failures"] = list(dict.fromkeys(self.failures))
        if judges_itself(model, models_of(self.session, "system2")):
            report["itself"] = True
        return replace(attempt, answers=answers, draw=replace(_drawn(attempt), judge=report))


def temperature_of(request: Mapping[str, Any]) -> float | None:
    """Return the temperature that the client's request asks for; None = the server's own, which is not low."""
    value = request.get("temperature")
    return None if isinstance(value, bool) or not isinstance(value, int | float) else float(value)


def _joined(
    answer: PooledAnswer, kind: str, said: Mapping[str, Mapping[str, float]]
) -> Mapping[str, Mapping[str, float]]:
    """Return the opinions of an answer with what a scorer of this kind said of it, if anything."""
    return {**answer.opinions, kind: said[answer.key]} if answer.key in said else answer.opinions


def _drawn(attempt: Attempt) -> Draw:
    count = len(attempt.answers)
    return attempt.draw or Draw(rule="at_once", samples=count, cap=count)


def _shown(candidate: Candidate) -> str:
    """Return what a judge reads of a candidate: its reasoning and its answer."""
    proposal = candidate.proposal
    return f"{proposal.rationale}\nAnswer: {proposal.answer}" if proposal.rationale else f"Answer: {proposal.answer}"


def _best(groups: Sequence[Sequence[float]]) -> int | None:
    """Return the group whose mean score is above every other's; None where none is, or a group has no score."""
    if len(groups) < 2 or not all(groups):
        return None
    means = [sum(group) / len(group) for group in groups]
    top = max(means)
    return means.index(top) if means.count(top) == 1 else None


def _verdict(duel: Duel) -> str | None:
    if duel.score is None:
        return None
    return "leader" if duel.score > 0 else "rival" if duel.score < 0 else "tie"
