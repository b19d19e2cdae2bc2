"""What can be said of the answer at this moment: which one stands, by checks, votes and opinions, and how far. Pure.

Above: `booster.answer`, which draws the conclusion. Below: `booster.ballots` groups and adds up.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from booster.ballots import AGREEING, Ballot, ballots_of, sum_of, vote_evidence
from booster.codec import encode
from booster.session import AnswerStatus, Draw, Evidence, PooledAnswer, Session
from verifier.combine import Basis
from verifier.consensus import vote
from verifier.types import Verdict

CAPS = {"verified": 1.0, "agreed": 0.9, "judged": 0.8, "unverified": 0.6, "none": 0.0}
"""Highest confidence that each status may claim while nothing has been calibrated."""

CHECKED = 0.95
"""Confidence of an answer that held every check: a user's checks may be weaker than the truth."""

Select = Literal["auto", "score", "judge", "vote", "programs"]
"""How the winner among answers is found."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """What can be said of the answer at this moment."""

    answer: str | None = None
    status: AnswerStatus = "none"
    confidence: float = 0.0
    basis: str = "uncalibrated"
    evidence: tuple[Evidence, ...] = ()
    key: str | None = None
    """Of the pooled answer that speaks."""
    votes: int = 0
    """Answers equal to it."""
    samples: int = 0
    """Answers that were drawn, abstentions included."""
    groups: tuple[Ballot, ...] = ()
    """All groups of equal answers, the largest first; none where a check has decided."""
    share: float | None = None
    """P(winner) in [0, 1] by the sum of votes and opinions; None where votes alone, or checks, speak."""
    led_by: Basis | None = None
    """The term of that sum by which the winner is furthest ahead."""

    @property
    def settled(self) -> bool:
        """Nothing needs to be spent on the answer any more."""
        return self.status in ("verified", "agreed")


def standing(session: Session) -> Standing:
    """Return the answer that stands, and why; see `standing_of`. How answers were drawn is part of the evidence."""
    draws = tuple(closed.draw for closed in session.history if closed.draw is not None)
    return _with_draws(session.answers, session.config.select, draws)


@lru_cache(maxsize=64)
def _with_draws(answers: tuple[PooledAnswer, ...], select: Select, draws: tuple[Draw, ...]) -> Standing:
    stands = standing_of(answers, select)
    if stands.status == "none" or not draws:
        return stands
    if stands.status == "unverified" and _two_models_agree(draws[-1], stands, answers):
        evidence = tuple(replace(item, outcome="agreed") for item in stands.evidence)
        stands = replace(stands, status="agreed", evidence=evidence)
    if behaviours := draws[-1].programs.get("behaviours"):  # programs agree by what they do, however they are written
        alike = behaviours[0]["programs"]
        stands = replace(stands, votes=alike, confidence=min(CAPS[stands.status], alike / (stands.samples + 1)))
    drawn = {**encode(draws[-1]), **({"iterations": len(draws)} if len(draws) > 1 else {})}
    evidence = tuple(
        replace(item, detail={**item.detail, "draw": drawn}) if item.kind == "votes" else item
        for item in stands.evidence
    )
    return replace(stands, evidence=evidence)


@lru_cache(maxsize=64)
def standing_of(answers: tuple[PooledAnswer, ...], select: Select = "auto") -> Standing:
    """Return what can be said of a pool of answers.

    An answer that fails a check is out. One that held every check that ran on it is `verified`. Else the most frequent
    answer is `agreed` if at least three, and at least half of all drawn, say the same. Else, where a judge was asked, the
    winner of the sum of votes and opinions stands, `judged` if the judge decided and was not swayed by the order. Else the
    answer that the steps led to stands, unverified, or where there is none the first of the most frequent ones.

    Args:
        answers: In the order of arrival, abstentions included; keys are unique.
        select: `score` puts the candidate with the highest score in the place of the most frequent answer; with `vote` that one
            stands, wherever the steps led.
    """
    sound = [pooled for pooled in answers if not came_to(pooled, "fail")]
    answered = [pooled for pooled in sound if (pooled.answer or "").strip()]
    proven = [pooled for pooled in answered if came_to(pooled, "pass")]
    if proven:
        return _proven(_represent(proven, select), answers)
    if not answered:
        return Standing(evidence=tuple(item for pooled in answers for item in _check_evidence(pooled))[:10])
    pool = _independent(sound)
    verdict = vote([(pooled.key, pooled.answer) for pooled in pool])
    ballots = ballots_of(verdict, pool)
    led = [pooled for pooled in answered if pooled.origin != "sample" and select != "vote"]
    picked = [pooled for pooled in led if pooled.origin == "chosen"]
    if picked:
        return _voted(verdict, ballots, picked[-1], agreed=False)
    asked = [pooled for pooled in led if pooled.origin == "strong"]
    if asked:
        # Whoever asked the strong model wants its answer; cheap ones that say the same confirm it.
        best = led[-1]
        return _voted(verdict, ballots, best, agreed=_own(ballots, best) == _cheap_leader(ballots, answered))
    if select != "score" and _agree(verdict, verdict.votes):
        first = next(pooled for pooled in pool if pooled.key == ballots[0].keys[0])
        return _voted(verdict, ballots, first, agreed=True)
    if select != "score" and len(ballots) > 1 and any(ballot.opinions for ballot in ballots):
        weighed = _weighed(verdict, ballots, pool)
        if weighed.status == "judged" or not led:
            return weighed
    best = led[-1] if led else _represent([pooled for pooled in pool if (pooled.answer or "").strip()], select)
    return _voted(verdict, ballots, best, agreed=_agree(verdict, len(_own(ballots, best).keys)))


def _independent(pool: Sequence[PooledAnswer]) -> list[PooledAnswer]:
    """Leave out all but the last answer that steps carried: one chain of thought has one vote."""
    chained = [pooled for pooled in pool if pooled.origin == "step"]
    return [pooled for pooled in pool if pooled.origin != "step" or pooled is chained[-1]]


def _represent(pool: Sequence[PooledAnswer], select: Select) -> PooledAnswer:
    """Return the one that speaks for a pool of answers: by score, or by vote and arrival."""
    if select == "score":
        return max(pool, key=lambda pooled: pooled.score)
    winner = vote([(pooled.key, pooled.answer) for pooled in pool]).groups[0][1][0]
    return next(pooled for pooled in pool if pooled.key == winner)


def _agree(verdict: Verdict, votes: int) -> bool:
    return votes >= AGREEING and 2 * votes >= verdict.samples


def _proven(best: PooledAnswer, answers: Sequence[PooledAnswer]) -> Standing:
    """Return the standing of an answer that held its checks; where there are others, with the sum over all of them."""
    evidence = _check_evidence(best)
    pool = _independent(answers)
    if sum(1 for pooled in pool if (pooled.answer or "").strip()) > 1:
        verdict = vote([(pooled.key, pooled.answer) for pooled in pool])
        ballots = ballots_of(verdict, pool)
        votes = next((len(ballot.keys) for ballot in ballots if best.key in ballot.keys), 1)
        evidence = (*evidence, vote_evidence(verdict, votes, "verified", sum_of(ballots), ballots))
    return Standing(
        answer=best.answer, status="verified", confidence=CHECKED, basis="checks", key=best.key, evidence=evidence
    )


def _own(ballots: Sequence[Ballot], best: PooledAnswer) -> Ballot:
    """Return the group that an answer belongs to."""
    return next(ballot for ballot in ballots if best.key in ballot.keys)


def _voted(verdict: Verdict, ballots: Sequence[Ballot], best: PooledAnswer, *, agreed: bool) -> Standing:
    """Return the standing of an answer that votes alone speak for."""
    own = _own(ballots, best)
    votes = len(own.keys)
    status: AnswerStatus = "agreed" if agreed and not own.cut else "unverified"
    evidence = vote_evidence(verdict, votes, status, sum_of(ballots), ballots)
    return Standing(
        answer=best.answer, status=status, confidence=min(CAPS[status], votes / (verdict.samples + 1)), key=best.key,
        evidence=(evidence,), votes=votes, samples=verdict.samples, groups=tuple(ballots),
    )  # fmt: skip


def _weighed(verdict: Verdict, ballots: Sequence[Ballot], pool: Sequence[PooledAnswer]) -> Standing:
    """Return the standing of the winner of the sum of votes and opinions."""
    found = sum_of(ballots)
    place = found.winner or 0
    own = ballots[place]
    status: AnswerStatus = "judged" if own.confirmed and found.basis == "judge" else "unverified"
    first = next(pooled for pooled in pool if pooled.key == own.keys[0])
    share = found.probabilities[place]
    return Standing(
        answer=first.answer, status=status, confidence=min(CAPS[status], share), key=first.key,
        evidence=(vote_evidence(verdict, len(own.keys), status, found, ballots),), votes=len(own.keys),
        samples=verdict.samples, groups=tuple(ballots), share=share, led_by=found.basis,
    )  # fmt: skip


def _cheap_leader(ballots: Sequence[Ballot], answered: Sequence[PooledAnswer]) -> Ballot | None:
    """Return the group of the first cheap answer, which a cascade takes for the leader."""
    first = next((pooled.key for pooled in answered if pooled.origin == "sample"), None)
    return next((ballot for ballot in ballots if first in ballot.keys), None)


def _two_models_agree(draw: Draw, stands: Standing, answers: Sequence[PooledAnswer]) -> bool:
    """Say whether a cascade stopped at the same answer of two different models."""
    if draw.rule != "cascade" or draw.move.get("action") != "stop" or not stands.groups:
        return False
    own = next((ballot for ballot in stands.groups if stands.key in ballot.keys), None)
    return own is not None and not own.cut and len({one.model for one in answers if one.key in own.keys}) > 1


def _check_evidence(pooled: PooledAnswer) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(
            kind="check", check_id=check.check_id, step_id=pooled.key, outcome=check.outcome, expected=check.expected,
            observed=check.observed or check.message,
        )
        for check in pooled.checks
    )  # fmt: skip


def came_to(pooled: PooledAnswer, outcome: str) -> bool:
    """Say whether a check of answers found this of the answer."""
    return any(check.outcome == outcome and check.target == "answer" for check in pooled.checks)
