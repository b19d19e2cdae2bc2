"""A judge at work on the answers of one attempt: asked only where it can change the winner, and never able to lose one.

What it says enters the pool of answers as an opinion with the weight that verified outcomes have earned it; what it is worth there
is decided by `booster.answer`. A judge that fails, hangs or writes prose leaves the answers as they were and is reported.
Above: `booster.drawing`. Below: `verifier.judge` asks, `verifier.opinion` weighs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from booster.answer import standing_of
from booster.asking import any_of, key_of, models_of
from booster.ballots import groups_of
from booster.parts import Attempt, Parts
from booster.session import Draw, Opened, PooledAnswer, Session
from verifier.combine import combine
from verifier.judge import Duel, Judge, judges_itself
from verifier.judge_prompts import Matter
from verifier.opinion import may_change_the_winner, standardise
from verifier.types import Candidate


@dataclass(frozen=True, kw_only=True, slots=True)
class Judging:
    """One judge, one attempt."""

    session: Session
    opened: Opened
    parts: Parts
    judge: Judge
    matter: Matter
    scores: dict[str, float] = field(default_factory=dict)
    """Key of an answer -> what the judge gave it, in [0, 1]."""
    failures: list[str] = field(default_factory=list)
    """Why the judge gave no verdict."""

    @classmethod
    def of(cls, session: Session, opened: Opened, parts: Parts) -> "Judging | None":
        """Return the judge that the options name; None where none is wanted.

        With `select: "judge"` and no `judgeModel`, the model that answers judges itself, which the result says.
        """
        config, problem = session.config, session.problem
        if config.select != "judge" and (config.select != "auto" or config.judge_model is None):
            return None
        judge = Judge(
            ask=parts.ask, model=config.judge_model or config.strong_model, attempt_seconds=parts.request_timeout,
            seconds=parts.request_timeout, deadline=parts.purse.deadline,
        )  # fmt: skip
        return cls(
            session=session, opened=opened, parts=parts, judge=judge,
            matter=Matter(task=problem.task, messages=problem.messages),
        )  # fmt: skip

    @property
    def scorer(self) -> str:
        """Name under which the judge's weight is kept."""
        return f"judge:{self.judge.model or ''}"

    async def score(self, answer: PooledAnswer, candidate: Candidate) -> PooledAnswer:
        """Ask for a score of one answer as it lands; an answer that failed a check needs none."""
        if candidate.failed_checks:
            return answer
        opinion = await self.judge.score(self.matter, _shown(candidate), step_key=f"{answer.key}/judge")
        if opinion.value is None:
            self.failures.append(opinion.reason)
        else:
            self.scores[answer.key] = opinion.value
        return answer

    async def weigh(self, attempt: Attempt) -> Attempt:
        """Return the attempt with the judge's opinions beside its answers."""
        return self._scored(attempt) if self.session.config.select == "judge" else await self._compared(attempt)

    def _scored(self, attempt: Attempt) -> Attempt:
        keys = [answer.key for answer in attempt.answers if answer.key in self.scores]
        scores = [self.scores[key] for key in keys]
        history = self.parts.memory.state.scales.get(self.scorer, ())
        z = dict(zip(keys, standardise(scores, history), strict=True))
        best = _best([[self.scores[key] for key in group if key in z] for group in groups_of(attempt.answers)])
        leading = groups_of(attempt.answers)[best] if best is not None else ()
        opinions = {key: {"z": value, "score": self.scores[key]} for key, value in z.items()}
        verdict = "scores" if scores else None
        return self._with(attempt, opinions, leading, verdict=verdict, asked=len(scores) + len(self.failures))

    async def _compared(self, attempt: Attempt) -> Attempt:
        config = self.session.config
        pool = (*self.session.answers, *attempt.answers)
        stands = standing_of(pool, config.select)
        if stands.settled or len(stands.groups) < 2:
            return attempt
        found = combine([group.as_group() for group in stands.groups])
        order = sorted(range(len(found.terms)), key=lambda at: -found.terms[at].total)
        leader, rival = stands.groups[order[0]], stands.groups[order[1]]
        gap = found.terms[order[0]].total - found.terms[order[1]].total
        weight = self.parts.memory.state.weight(self.scorer).b
        shown = {candidate.key: _shown(candidate) for candidate in attempt.candidates}
        if not may_change_the_winner(weight, gap) or leader.keys[0] not in shown or rival.keys[0] not in shown:
            return attempt
        question = self.judge.duel(
            self.matter, shown[leader.keys[0]], shown[rival.keys[0]],
            step_key=key_of(self.opened, "judge"), weight=weight, gap=gap,
        )  # fmt: skip
        duels, _ = await any_of([question], self.parts)
        duel = duels[0] if duels else Duel(reason="the judge had not answered when the time was up")
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
        answers = tuple(
            replace(
                answer, confirmed=answer.key in confirmed,
                opinions={"judge": {**opinions[answer.key], "weight": weight}} if answer.key in opinions else {},
            )
            for answer in attempt.answers
        )  # fmt: skip
        report = {"scorer": self.scorer, "model": self.judge.model, **said}
        if self.failures:
            report["failures"] = list(dict.fromkeys(self.failures))
        if judges_itself(self.judge.model, models_of(self.session, "system2")):
            report["itself"] = True
        draw = attempt.draw or Draw(rule="at_once", samples=len(answers), cap=len(answers))
        return replace(attempt, answers=answers, draw=replace(draw, judge=report))


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
