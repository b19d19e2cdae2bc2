"""Notices when the search is stuck and says what to do about it: perturb, backtrack, or give up. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from booster.session import Session, Step
from verifier.heuristic import near_repeat
from verifier.types import Candidate

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
    - Two iterations in a row whose every candidate failed its checks drop the step they started from.
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
    rejected = [one for one in session.history[-2:] if one.chosen is None and _steps_failed(one.candidates)]
    can = session.config.allow_backtrack and session.backtracks < session.config.max_backtracks
    if len(rejected) < 2 or not session.steps or not can:
        return ()
    banned = [session.steps[-1].text]
    return (("backtracked", {"reason": "repeated failure", "banned": banned, "guarded": 0, "stagnant": False}),)


def _steps_failed(candidates: Sequence[Candidate]) -> bool:
    return bool(candidates) and all(
        any(check.target == "step" for check in candidate.failed_checks) for candidate in candidates
    )
