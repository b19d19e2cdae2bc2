"""Cheap answers while they agree, then stop, one more, or the strong model: whichever is expected to cost least. Pure.

Cheap answers are drawn one by one while they are equal. After each, a state: `(j,)` after j equal answers, `(j, 1)` after the
first one that differs, which ends the drawing. What each state is expected to cost is learnt online (`booster.cascade_state`).
Agreement of cheap answers as the signal to escalate: Yue et al. 2023, arXiv:2310.03094; the expected costs, the backward
induction and the learning from what was paid for anyway are ours.

Above: the loop, which draws and pays. Below: `booster.cascade_state`.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from booster.cascade_state import CascadeState, State
from verifier.tuned import KMAX_ONE_MODEL, KMAX_TWO_MODELS, SETTLING, WRONG_TO_STRONG

Action = Literal["stop", "escalate", "more"]
"""Return the leader; ask the strong model; draw one more cheap answer."""

Why = Literal["plan", "check", "no-answer", "unaffordable", "audit"]
"""What an action was taken for: the expected costs; an executable check; a first answer that cannot be read; money that is
not there; one of the rare stops at which the strong model is asked all the same."""


class Quote(NamedTuple):
    """What one call of a model is expected to cost."""

    tokens: float
    """Prompt and completion tokens together."""
    usd: float | None = None
    """US dollars; None = the price is not known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Prices:
    """What the plan weighs, all in one unit."""

    cheap: float
    """One cheap call."""
    strong: float
    """One call of the strong model."""
    wrong: float
    """A wrong answer."""
    unit: Literal["usd", "tokens"] = "usd"
    """`tokens` where a price is not known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Move:
    """What to do, with everything it was weighed by: the evidence of the answer."""

    action: Action
    state: State | None
    """None where no answer could be read."""
    why: Why
    p: float | None
    """Probability that the strong model gives the leader too."""
    g: float
    """Gain of the strong model where the two differ."""
    prices: Prices


def plan(
    p: Callable[[int, int], float],
    r: Callable[[int], float],
    g: float,
    wrong: float,
    cheap: float,
    strong: float,
    kmax: int,
) -> dict[State, Action]:
    """Return the action of least expected cost for every state, by backward induction from `kmax` equal answers.

    Stopping costs the loss by a wrong answer that the strong model would have mended; ties go to stop, then to escalate.

    Args:
        p: (votes, samples) -> probability in [0, 1] that the strong model gives the leader.
        r: j -> probability in [0, 1] that the next answer is equal to the j before it.
        g: Expected (strong right - cheap right) where strong and cheap differ.
        wrong: Price of a wrong answer; all prices in one unit.
        cheap: Price of a cheap call.
        strong: Price of a strong call.
        kmax: Most cheap answers, at least 1.
    """
    actions: dict[State, Action] = {}
    value = 0.0
    for j in range(kmax, 0, -1):
        best, action = _cheaper(wrong * g * (1 - p(j, j)), strong)
        if j < kmax:
            split, actions[j, 1] = _cheaper(wrong * g * (1 - p(j, j + 1)), strong)
            more = cheap + r(j) * value + (1 - r(j)) * split
            if more < best:
                best, action = more, "more"
        value, actions[(j,)] = best, action
    return actions


def prices(cheap: Quote, strong: Quote, wrong: float | None = None) -> Prices:
    """Return what the plan weighs: expected money, or expected tokens where one of the prices is not known.

    Args:
        cheap: A call of the cheap model.
        strong: A call of the strong model.
        wrong: Price of a wrong answer in the unit that results; None = `WRONG_TO_STRONG` strong calls.
    """
    if cheap.usd is not None and strong.usd is not None:
        unit: Literal["usd", "tokens"] = "usd"
        cheap_price, strong_price = cheap.usd, strong.usd
    else:
        unit, cheap_price, strong_price = "tokens", cheap.tokens, strong.tokens
    loss = WRONG_TO_STRONG * strong_price if wrong is None else wrong
    return Prices(cheap=cheap_price, strong=strong_price, wrong=loss, unit=unit)


def most_cheap(models: int) -> int:
    """Return how many cheap answers to draw at most: fewer where they come from different models."""
    return KMAX_ONE_MODEL if models == 1 else KMAX_TWO_MODELS


def state_of(keys: Sequence[Hashable | None]) -> State | None:
    """Return the state that cheap answers have led to; None where the first cannot be read.

    Args:
        keys: Answers in the order drawn, by the key that groups them (`verifier.answers.vote_key`); None = cannot be read,
            which after a first answer counts as one that differs. Whatever was drawn behind a difference is not looked at.

    Raises:
        ValueError: There is no answer yet.
    """
    if not keys:
        raise ValueError("no cheap answer was drawn yet")
    if keys[0] is None:
        return None
    equal = next((j for j, key in enumerate(keys) if key != keys[0]), len(keys))
    return (equal,) if equal == len(keys) else (equal, 1)


def decide(
    keys: Sequence[Hashable | None],
    learnt: CascadeState,
    price: Prices,
    *,
    kmax: int = KMAX_ONE_MODEL,
    check: bool | None = None,
    cheap_left: int | None = None,
    can_escalate: bool = True,
) -> Move:
    """Return what to do after the cheap answers drawn so far.

    An executable check decides alone: agreement is asked only where there is none.

    Args:
        keys: As for `state_of`.
        learnt: Of this pair of models.
        price: What is weighed.
        kmax: Most cheap answers (`most_cheap`).
        check: Whether the last answer held every executable check; None = there is none.
        cheap_left: Cheap calls that can still be paid; None = any number.
        can_escalate: Whether a strong call can still be paid.
    """
    state = state_of(keys)
    p = None if state is None else learnt.p(state[0], sum(state))

    def move(action: Action, why: Why) -> Move:
        if action == "escalate" and not can_escalate:
            action, why = "stop", "unaffordable"
        return Move(action=action, state=state, why=why, p=p, g=learnt.g, prices=price)

    if state is None:
        return move("escalate", "no-answer")
    if check is not None:
        return move("stop" if check else "escalate", "check")
    payable = kmax if cheap_left is None else min(kmax, sum(state) + cheap_left)
    actions = plan(learnt.p, learnt.r, learnt.g, price.wrong, price.cheap, price.strong, kmax=max(payable, sum(state)))
    if state == (1,) and actions[state] == "stop" and learnt.labels + learnt.stops < SETTLING and payable > 1:
        # A few lucky agreements would let single answers stand for good: a stop brings no label that could prove them wrong.
        return move("more", "plan")
    return move(actions[state], "plan")


def _cheaper(stop: float, strong: float) -> tuple[float, Action]:
    return (stop, "stop") if stop <= strong else (strong, "escalate")
