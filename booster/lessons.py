"""What a solve that has ended teaches about answers. Pure.

Only facts are labels: outcomes of executable checks, and whether two models gave the same answer. An opinion, a judge's or a
reward model's, leaves everything as it was but the scale on which its scores are read. Above: `booster.learnt`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from booster.answer_state import AnswerState
from booster.ballots import Ballot, ballots_of, right, sum_of
from booster.cascade_state import CascadeState
from booster.session import Draw, PooledAnswer, Session
from verifier.answers import vote_key
from verifier.calibration import log_odds
from verifier.consensus import vote
from verifier.errors import NoCandidatesError


def learn(state: AnswerState, session: Session) -> AnswerState:
    """Return the state after a session; the very same one where it has taught before or has nothing to teach."""
    draws = [closed.draw for closed in session.history if closed.draw is not None]
    if session.id in state.sessions or not draws:
        return state
    taught = state
    for draw in draws:
        if draw.rule == "cascade" and draw.move:
            taught = _from_cascade(taught, draw, session.answers)
    for kind, said in {kind: said for draw in draws for kind, said in _asked(draw).items()}.items():
        if scores := _scores(kind, said, session.answers):
            taught = taught.with_scores(said["scorer"], scores)
    taught = _from_checks(taught, draws, session.answers)
    return state if taught is state else taught.with_session(session.id)


def _from_checks(state: AnswerState, draws: Sequence[Draw], answers: Sequence[PooledAnswer]) -> AnswerState:
    """Learn how far the leader of the vote can be trusted, from what the checks said of it."""
    drawn = [one for one in answers if one.origin == "sample"]
    try:
        ballots = ballots_of(vote([(one.key, one.answer) for one in drawn]), drawn)
    except NoCandidatesError:
        return state
    if ballots[0].check is not None:
        taught = state.correctness.learn(len(ballots[0].keys), len(drawn), ballots[0].check)
        state = replace(state, correctness=taught, labels=state.labels + 1)
    if len(ballots) > 1 and any(ballot.opinions for ballot in ballots):
        return _from_opinions(_from_sum(state, ballots), draws, ballots, drawn)
    return state


def _from_sum(state: AnswerState, ballots: Sequence[Ballot]) -> AnswerState:
    """Learn how far the winner of votes and opinions, had there been no check, can be trusted."""
    found = sum_of(ballots, checks=False)
    winner = found.winner or 0
    outcome = ballots[winner].check
    if outcome is None:
        return state
    taught = state.combined.learn_at(log_odds(found.probabilities[winner]), outcome)
    return replace(state, combined=taught, combined_labels=state.combined_labels + 1)


def _from_opinions(
    state: AnswerState, draws: Sequence[Draw], ballots: Sequence[Ballot], drawn: Sequence[PooledAnswer]
) -> AnswerState:
    """Let weights follow an outcome: one step towards having put the right group before the best other by the whole sum."""
    place = next((at for at, ballot in enumerate(ballots) if ballot.check), None)
    if place is None:
        return state
    terms = sum_of(ballots, checks=False).terms
    others = sorted((at for at in range(len(ballots)) if at != place), key=lambda at: -terms[at].total)
    members = {one.key: one for one in drawn}
    for kind, scorer in {kind: said["scorer"] for draw in draws for kind, said in _asked(draw).items()}.items():
        z = [_z(kind, [members[key] for key in ballot.keys]) for ballot in ballots]
        ours, other = z[place], next((value for at in others if (value := z[at]) is not None), None)
        if ours is not None and other is not None:
            state = replace(state, weights={**state.weights, scorer: state.weight(scorer).learn(ours, other)})
    return state


def _from_cascade(state: AnswerState, draw: Draw, answers: Sequence[PooledAnswer]) -> AnswerState:
    pair = draw.move["pair"]
    learnt = state.cascade(pair)
    cheap = [one for one in answers if one.origin == "sample"][: draw.samples]
    strong = next((one for one in answers if one.origin == "strong" and one.answer is not None), None)
    keys = [None if one.answer is None else vote_key(one.answer) for one in cheap]
    for drawn in range(1, len(keys)):
        if keys[0] is not None:
            learnt = learnt.saw_next(drawn, keys[drawn] == keys[0])
    if draw.move["why"] in ("plan", "audit") and (draw.move["action"] == "stop" or draw.move["why"] == "audit"):
        learnt, _ = learnt.saw_stop()
    if strong is not None and draw.move["state"] is not None and keys and keys[0] is not None:
        learnt = _from_strong(learnt, draw, cheap, strong)
    return replace(state, cascades={**state.cascades, pair: learnt})


def _from_strong(learnt: CascadeState, draw: Draw, cheap: Sequence[PooledAnswer], strong: PooledAnswer) -> CascadeState:
    leader = cheap[0]
    same = vote_key(strong.answer or "") == vote_key(leader.answer or "")
    if draw.move["why"] in ("plan", "audit"):
        at = draw.move["state"]
        learnt = learnt.saw_strong((at[0],) if len(at) == 1 else (at[0], at[1]), same)
    strong_right, cheap_right = right([strong]), right([leader])
    if not same and strong_right is not None and cheap_right is not None:
        learnt = learnt.saw_outcome(strong_right=strong_right, cheap_right=cheap_right)
    return learnt


def _asked(draw: Draw) -> dict[str, Mapping[str, Any]]:
    """Return what the draw says of each kind of scorer that was asked."""
    return {kind: said for kind, said in (("judge", draw.judge), ("process", draw.process)) if said}


def _scores(kind: str, said: Mapping[str, Any], answers: Sequence[PooledAnswer]) -> tuple[float, ...]:
    """Return the scores of a scorer that looks at one answer at a time, in its own unit."""
    if kind == "judge" and said.get("verdict") != "scores":
        return ()
    return tuple(one.opinions[kind]["score"] for one in answers if "score" in one.opinions.get(kind, {}))


def _z(kind: str, group: Sequence[PooledAnswer]) -> float | None:
    """Return the mean of a scorer's z over the members that it spoke of; None where it spoke of none."""
    said = [one.opinions[kind]["z"] for one in group if kind in one.opinions]
    return sum(said) / len(said) if said else None
