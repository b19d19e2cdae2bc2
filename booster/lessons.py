"""What a solve that has ended teaches about answers. Pure.

Only facts are labels: outcomes of executable checks, and whether two models gave the same answer. A judge's opinion leaves
everything as it was but the scale on which its scores are read. Above: `booster.learnt`.
"""

from collections.abc import Sequence
from dataclasses import replace

from booster.answer_state import AnswerState
from booster.ballots import groups_of
from booster.cascade_state import CascadeState
from booster.session import Draw, PooledAnswer, Session
from verifier.answers import vote_key


def learn(state: AnswerState, session: Session) -> AnswerState:
    """Return the state after a session; the very same one where it has taught before or has nothing to teach."""
    draws = [closed.draw for closed in session.history if closed.draw is not None]
    if session.id in state.sessions or not draws:
        return state
    taught = state
    for draw in draws:
        if draw.rule == "cascade" and draw.move:
            taught = _from_cascade(taught, draw, session.answers)
        if scores := _scores(draw, session.answers):
            taught = taught.with_scores(draw.judge["scorer"], scores)
    taught = _from_checks(taught, draws, session.answers)
    return state if taught is state else taught.with_session(session.id)


def right(answers: Sequence[PooledAnswer]) -> bool | None:
    """Say whether equal answers are right: all checks that ran on them held; None where none ran."""
    ran = [check.outcome for one in answers for check in one.checks if check.target == "answer"]
    if "fail" in ran:
        return False
    return True if "pass" in ran else None


def _from_checks(state: AnswerState, draws: Sequence[Draw], answers: Sequence[PooledAnswer]) -> AnswerState:
    """Learn how far the leader of the vote can be trusted, from what the checks said of it."""
    drawn = [one for one in answers if one.origin == "sample"]
    groups = groups_of(drawn)
    if not groups:
        return state
    members = {one.key: one for one in drawn}
    verdicts = [right([members[key] for key in group]) for group in groups]
    if verdicts[0] is not None:
        taught = state.correctness.learn(len(groups[0]), len(drawn), verdicts[0])
        state = replace(state, correctness=taught, labels=state.labels + 1)
    return _from_opinions(state, draws, [[members[key] for key in group] for group in groups], verdicts)


def _from_opinions(
    state: AnswerState, draws: Sequence[Draw], groups: Sequence[Sequence[PooledAnswer]], verdicts: Sequence[bool | None]
) -> AnswerState:
    """Let a judge's weight follow an outcome: it is one step towards having put the right group before the best other."""
    scorer = next((draw.judge["scorer"] for draw in draws if draw.judge), None)
    if scorer is None or True not in verdicts:
        return state
    z = [_mean([one.opinions["judge"]["z"] for one in group if "judge" in one.opinions]) for group in groups]
    place = verdicts.index(True)
    ours, other = z[place], next((value for at, value in enumerate(z) if at != place and value is not None), None)
    if ours is None or other is None:
        return state
    return replace(state, weights={**state.weights, scorer: state.weight(scorer).learn(ours, other)})


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


def _scores(draw: Draw, answers: Sequence[PooledAnswer]) -> tuple[float, ...]:
    """Return the scores of a judge that scores one by one, in its own unit."""
    if draw.judge.get("verdict") != "scores":
        return ()
    return tuple(one.opinions["judge"]["score"] for one in answers if "judge" in one.opinions)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
