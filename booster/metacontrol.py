"""Notices when the search is stuck and says what to do about it: perturb, backtrack, or give up. Pure."""

from collections.abc import Mapping
from typing import Any

from booster.session import Iteration, Session, Step
from verifier.heuristic import near_repeat

PATIENCE = 3
"""Guarded iterations in a row that repeat earlier steps before the run counts as stagnant, where nothing can be
backtracked."""

_EPSILON = 1e-9
"""Slack in the comparison of scores, so that an improvement of exactly `minImprovement` counts."""

Event = tuple[str, Mapping[str, Any]]


def improves(total: float, last: Step | None, min_improvement: float) -> bool:
    """Say whether a score beats the step before by at least `min_improvement`; a first step always does."""
    return last is None or total - last.score.total >= min_improvement - _EPSILON


def is_cut_off(session: Session) -> bool:
    """Say whether the models that had answered no longer can: two iterations in a row in which no call came through.

    The run ends then and can be resumed; going on would spend the budget on a dead line.
    """
    return session.silent > 1 and session.has_content


def react(session: Session) -> tuple[Event, ...]:
    """Return what to do after the iteration that was closed last, as events for the journal.

    - A step that repeats an earlier one is dropped and banned (`allowBacktrack`), at most `maxBacktracks` times.
    - Two iterations in a row that brought nothing, or nothing that held its checks, drop the step they started from; where there is
      none to drop they change the way of asking.
    - A step that does not improve on its predecessor changes the way of asking.
    - Nothing of that ever ends a run by itself: only repetition that persists does.
    """
    if not session.history:
        return ()
    if session.history[-1].chosen is None:
        return _after_rejection(session)
    *earlier, last = session.steps
    if near_repeat(last.text, [step.text for step in earlier]):
        return _after_repetition(session, last.text)
    if not improves(last.score.total, earlier[-1] if earlier else None, session.config.min_improvement):
        return (("perturbed", {"reason": "no improvement", "guarded": 0, "stagnant": False}),)
    return (("improved", {}),) if session.guarded else ()


def _after_repetition(session: Session, text: str) -> tuple[Event, ...]:
    guarded = session.guarded + 1
    if not session.config.allow_backtrack:
        return (("perturbed", {"reason": "repetition", "guarded": guarded, "stagnant": guarded >= PATIENCE}),)
    stagnant = session.backtracks >= session.config.max_backtracks
    if stagnant:
        return (("perturbed", {"reason": "repetition", "guarded": guarded, "stagnant": True}),)
    return (("backtracked", {"reason": "repetition", "banned": [text], "guarded": guarded, "stagnant": False}),)


def _after_rejection(session: Session) -> tuple[Event, ...]:
    if len(session.history) < 2 or not all(map(_brought_nothing, session.history[-2:])):
        return ()
    if not session.steps or not session.config.allow_backtrack or session.backtracks >= session.config.max_backtracks:
        return (("perturbed", {"reason": "nothing usable", "guarded": session.guarded, "stagnant": False}),)
    banned = [session.steps[-1].text]
    return (("backtracked", {"reason": "repeated failure", "banned": banned, "guarded": 0, "stagnant": False}),)


def _brought_nothing(closed: Iteration) -> bool:
    """Say whether models were heard on a step and nothing could be applied: no step in it, or none that held its checks."""
    if closed.chosen is not None or not closed.heard or closed.draw is not None:
        return False
    return all(any(check.target == "step" for check in one.failed_checks) for one in closed.candidates)
