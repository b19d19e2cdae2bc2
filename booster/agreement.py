"""Whether a vote can come to `agreed` at all under the options of a solve. Pure.

Above: `booster.opening`, which says so before anything is paid. Below: `booster.ballots` names what agreement takes.
"""

from booster.ballots import AGREEING
from booster.pair import pair_of
from booster.session import Session

AGREEING_MODELS = 2
"""Equal answers that are enough where a cheap and a strong model gave them."""


def out_of_reach(session: Session) -> tuple[str, ...]:
    """Return a warning where a vote is asked for and no outcome of it could be `agreed`; else nothing.

    Nothing is said where nobody asked for a vote (steps, one cheap answer) or where a check of the user decides.
    """
    config, calls = session.config, session.budget.calls
    by_steps = config.granularity == "step" or (config.granularity == "auto" and config.scheduler == "seed")
    checked = any(check.target == "answer" for check in session.problem.checks)
    if by_steps or checked or config.scheduler == "system1":
        return ()
    needed = AGREEING_MODELS if pair_of(config) and config.scheduler == "auto" else AGREEING
    if most_equal(session, calls) >= needed:
        return ()
    if most_equal(session, None) >= needed:
        cause = f"budget.calls, {calls}, pays for"
    elif session.at_once:
        cause = f"numCandidates, {config.num_candidates}, allows"
    else:
        cause = f"samples, {config.samples}, allows"
    return (f"no vote can come to 'agreed': that takes {needed} equal answers, more than {cause}",)


def most_equal(session: Session, calls: int | None) -> int:
    """Return the most answers that could turn out equal, each of which is a vote of its own.

    Args:
        session: Before its first iteration.
        calls: Most calls; None = any number.
    """
    config = session.config
    drawn = config.num_candidates if session.at_once else config.samples
    steps_follow = config.granularity == "auto" and session.iterations > 1
    if steps_follow and calls is not None and not session.at_once:
        drawn = max(1, min(drawn, calls // 2))  # the rest is kept for the steps
    whole = drawn + (config.scheduler == "auto")  # System 1 may have answered before
    if config.granularity == "answer":
        whole *= session.iterations
    most = whole + steps_follow  # one chain of thought has one vote
    return most if calls is None else min(most, calls)
