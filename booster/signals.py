"""What the scheduler sees of a session, and what it is told afterwards. Pure.

Four scalars in [0, 1], all computed from facts that the session holds, and one outcome, a fact and never an opinion.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import median
from types import MappingProxyType

from booster.ballots import groups_of
from booster.cascade_state import CascadeState
from booster.pair import Pair, pair_of, price_of
from booster.risk import difficulty, step_risk
from booster.session import Granularity, Session
from scheduler.types import Costs, Outcome, Signals
from verifier.answers import vote_key
from verifier.heuristic import near_repeat
from verifier.tuned import FIRST_WAVE
from verifier.types import Candidate

UNNOTICED = 1e12
"""What a failure that nothing would notice costs, in System 2 steps: more than thinking can, whatever the library believes,
and so much that no try of System 1 pays, for it would bring no label."""

_CHARACTERS_PER_TOKEN = 4
"""Rule of thumb where no tokenizer is at hand."""

_SHORT_TASK, _LONG_TASK = 40, 20_000
"""Characters up to which a task counts as not difficult by its size at all, and from which as fully difficult. Half-way on
the logarithmic scale between them lie 900: the scheduler tells tasks apart best where they lie on both sides of the middle."""

_GOOD_STEP = 0.3025
"""`totalScore` of a concrete, fresh, consistent step under the default weights."""


def signals(
    session: Session, spent: float, granularity: Granularity = "step", learnt: CascadeState | None = None
) -> Signals:
    """Return what the scheduler decides on.

    - `criticality_hint`: half for checks of the user that no answer has met yet, a quarter each for how low the recent
      steps scored and how much the sampled answers disagree; at least the risk of a step of this kind and place
      (`booster.risk.step_risk`).
    - `difficulty_hint`: size of the task, logarithmic, 0 up to 40 and 1 from 20,000 characters; the more answers were drawn,
      the more the probability that the strong model would contradict their leader takes its place.
    - `progress`: the larger of the share of iterations and the share of the budget that is used.
    - `context_pollution`: scratchpad over context window.

    Args:
        session: State before the iteration.
        spent: Share of the tightest budget limit that is used, in [0, 1].
        granularity: What the iteration asks for.
        learnt: How far cheap answers that agree can be trusted; None = nothing is known yet.
    """
    size = len(session.problem.task) + sum(len(str(message.get("content"))) for message in session.problem.messages)
    unsettled = 0.5 * _open_checks(session) + 0.25 * _weakness(session) + 0.25 * disagreement(session)
    pad = sum(len(step.text) + len(step.rationale) for step in session.steps)
    return Signals(
        criticality_hint=_clamp(max(unsettled, _risk(session, granularity))),
        difficulty_hint=_difficulty(session, size, learnt or CascadeState()),
        progress=_clamp(max(session.iteration / session.iterations, spent)),
        context_pollution=_clamp(pad / _CHARACTERS_PER_TOKEN / session.config.context_window),
    )


def disagreement(session: Session) -> float:
    """Return 1 - (largest share of equal answers) over the sampled answers; 0 where fewer than two were read."""
    keys = [vote_key(pooled.answer) for pooled in session.answers if pooled.answer is not None]
    return 1 - max(keys.count(key) for key in keys) / len(keys) if len(keys) > 1 else 0.0


def outcome_of(
    session: Session,
    winner: Candidate | None,
    *,
    intuition: bool,
    heard: bool = True,
    escalated: bool = False,
    settled: str | None = None,
) -> Outcome:
    """Return the fact to report for an iteration.

    A System 1 step passed if a check ran on it and held or its answer is the one that settled the task; it failed if
    nothing usable was said, a check did not hold, it said what had been said before, or System 2 had to take it up; it went
    unchecked otherwise. A System 2 step carries no label of its own.

    Args:
        session: State before the step.
        winner: The best candidate of the first attempt; None = there was none.
        intuition: The first attempt was made by System 1.
        heard: Some model replied; a call that never came through says nothing about the step.
        escalated: System 2 takes the step up.
        settled: The answer that is verified or agreed after the first attempt; None = there is none.
    """
    if not intuition:
        return "s2_done"
    if not heard:
        return "s1_unchecked"
    if escalated or winner is None or failed(session, winner):
        return "s1_fail"
    return "s1_pass" if winner.passed_checks or _is_answer(winner, settled) else "s1_unchecked"


def probed(session: Session, candidates: Sequence[Candidate], *, heard: bool, settled: str | None) -> Outcome:
    """Return what a cheap attempt beside System 2 shows: whether it would have done.

    Args:
        session: State before the step.
        candidates: What the cheap attempt brought: at most one.
        heard: The model replied to it.
        settled: The answer that System 2 verified or agreed on; None = there is none, and only checks can tell.
    """
    if not heard:
        return "s2_done"
    if not candidates or failed(session, candidates[0]):
        return "s2_probe_fail"
    (cheap,) = candidates
    if cheap.passed_checks or _is_answer(cheap, settled):
        return "s2_probe_pass"
    return "s2_done" if settled is None or cheap.proposal.answer is None else "s2_probe_fail"


def costs_of(
    session: Session, granularity: Granularity, prices: Mapping[str, tuple[float, float]] = MappingProxyType({})
) -> Costs:
    """Return what the two modes cost for the next iteration, in calls of the cheap model.

    System 2 draws `numCandidates` where it draws all at once, else it seldom needs more than the first wave; of one alone it
    asks the strong model, which counts as two. A cascade redoes what has failed by one call of the strong model.

    Args:
        session: State before the iteration.
        granularity: What it asks for.
        prices: Model -> US dollars for a million tokens, in and out; one that is not known counts like any other model.
    """
    pair, drawn = pair_of(session.config), session.config.num_candidates if session.at_once else FIRST_WAVE
    strong = _price_ratio(pair, prices)
    deep = max(2, drawn) * strong
    redo = strong if pair and granularity == "answer" and not session.at_once else deep
    return Costs(cheap=1.0, deep=deep, redo=redo, damage=0.0 if _is_noticed(session, granularity) else UNNOTICED * deep)


def _is_noticed(session: Session, granularity: Granularity) -> bool:
    """Say whether a cheap attempt that fails can be told from one that does: by a check of the user, or by a cascade."""
    checked = any(check.target == granularity for check in session.problem.checks)
    return checked or (granularity == "answer" and pair_of(session.config) is not None)


def _price_ratio(pair: Pair | None, prices: Mapping[str, tuple[float, float]]) -> float:
    """Return what a call of the strong model costs in calls of the cheap one, at least 1; 1 where a price is not known."""
    if pair is None:
        return 1.0
    cheap, strong = price_of(prices, pair.cheap[0]), price_of(prices, pair.strong)
    return max(1.0, sum(strong) / sum(cheap)) if cheap and strong and sum(cheap) > 0 else 1.0


def failed(session: Session, winner: Candidate | None) -> bool:
    """Say whether a System 1 attempt has to be taken up by System 2."""
    if winner is None or winner.failed_checks:
        return True
    return winner.proposal.answer is None and near_repeat(winner.proposal.text, session.step_texts)


def _is_answer(candidate: Candidate, settled: str | None) -> bool:
    answer = candidate.proposal.answer
    return settled is not None and answer is not None and vote_key(answer) == vote_key(settled)


def _open_checks(session: Session) -> float:
    checks = session.problem.checks
    met = {check.check_id for pooled in session.answers for check in pooled.checks if check.outcome == "pass"}
    return sum(check.id not in met for check in checks) / len(checks) if checks else 0.0


def _risk(session: Session, granularity: Granularity) -> float:
    """Return the risk of the next step, taken to be as long as the last one."""
    lengths = [len(text) for text in session.step_texts] or [0]
    return step_risk(
        characters=lengths[-1], median=median(lengths), index=len(session.steps), answers=granularity == "answer"
    )


def _difficulty(session: Session, size: int, learnt: CascadeState) -> float:
    by_size = _clamp(math.log(max(size, _SHORT_TASK) / _SHORT_TASK) / math.log(_LONG_TASK / _SHORT_TASK))
    drawn = [one for one in session.answers if one.origin == "sample"]
    votes = len(groups_of(drawn)[0]) if groups_of(drawn) else 0
    return difficulty(by_size=by_size, p=learnt.p(votes, len(drawn)) if drawn else 0.0, drawn=len(drawn))


def _weakness(session: Session) -> float:
    recent = [step.score.total for step in session.steps[-3:]]
    return _clamp(1 - sum(recent) / len(recent) / _GOOD_STEP) if recent else 0.5


def _clamp(value: float) -> float:
    return min(1.0, max(0.0, value))
