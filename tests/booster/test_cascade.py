"""Cheap answers while they agree, then stop, one more, or the strong model."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from booster.cascade import Action, Move, Prices, Quote, decide, most_cheap, plan, prices, state_of
from booster.cascade_state import CascadeState, State

P = {(1, 1): 0.5, (2, 2): 0.8, (1, 2): 0.3}
KEYS = st.lists(st.sampled_from(["a", "a", "a", "b", None]), min_size=1, max_size=6)


def planned(wrong: float, cheap: float = 1, strong: float = 20, kmax: int = 2) -> dict[State, Action]:
    return plan(lambda v, n: P[v, n], lambda j: 0.5, 0.7, wrong, cheap, strong, kmax)


def priced(wrong: float = 100) -> Prices:
    return Prices(cheap=1, strong=20, wrong=wrong)


def walk(answers: Sequence[str | None], state: CascadeState, price: Prices, kmax: int) -> tuple[list[str | None], Move]:
    """Draw as the rule says; return what was drawn and how it ended."""
    drawn = [answers[0]]
    while (move := decide(drawn, state, price, kmax=kmax)).action == "more":
        drawn.append(answers[len(drawn)])
    return drawn, move


def test_a_few_lucky_agreements_do_not_let_single_answers_stand() -> None:
    """A single answer that stands brings no label, so what it rests on would never be mended."""
    lucky = CascadeState()
    for _ in range(4):
        lucky = lucky.saw_strong((1,), same=True)
    settled = replace(lucky, stops=20)

    assert decide(["a"], settled, priced(wrong=30)).action == "stop"
    assert decide(["a"], lucky, priced(wrong=30)).action == "more"
    assert decide(["a"], lucky, priced(wrong=30), kmax=1).action == "stop"


@pytest.mark.parametrize(
    ("wrong", "actions"),
    [
        (20, {(2,): "stop", (1, 1): "stop", (1,): "stop"}),
        (50, {(2,): "stop", (1, 1): "escalate", (1,): "more"}),
        (100, {(2,): "stop", (1, 1): "escalate", (1,): "more"}),
        (400, {(2,): "escalate", (1, 1): "escalate", (1,): "escalate"}),
    ],
)
def test_the_plan_is_the_action_of_least_expected_cost(wrong: float, actions: dict[State, Action]) -> None:
    """By hand for g = .7, r = .5, prices 1 and 20. At 50: stop 17.5, strong 20, more 1 + .5 x 7 + .5 x 20 = 14.5 < 17.5."""
    assert planned(wrong) == actions


def test_a_strong_call_that_costs_hundred_is_asked_only_where_cheap_answers_split() -> None:
    assert planned(wrong=300, strong=100) == {(2,): "stop", (1, 1): "escalate", (1,): "more"}


def test_ties_go_to_stop_then_to_escalate() -> None:
    """100 x .4 x (1 - .5) = 20 = the strong call; one more would cost 20, too."""
    one = plan(lambda v, n: 0.5, lambda j: 0.5, 0.4, 100, 0, 20, 2)
    other = plan(lambda v, n: 0.4, lambda j: 0.5, 0.4, 100, 0, 20, 2)

    assert one == {(2,): "stop", (1, 1): "stop", (1,): "stop"}
    assert other == {(2,): "escalate", (1, 1): "escalate", (1,): "escalate"}


def test_with_one_cheap_answer_there_is_nothing_more_to_draw() -> None:
    assert planned(100, kmax=1) == {(1,): "escalate"}


@pytest.mark.parametrize(
    ("keys", "state"),
    [
        (["a"], (1,)),
        (["a", "a", "a"], (3,)),
        (["a", "b"], (1, 1)),
        (["a", "a", "b"], (2, 1)),
        (["a", None], (1, 1)),
        ([None], None),
        ([None, "a"], None),
    ],
)
def test_the_state_is_what_the_answers_have_led_to(keys: list[str | None], state: tuple[int, ...] | None) -> None:
    assert state_of(keys) == state


def test_a_state_needs_an_answer() -> None:
    with pytest.raises(ValueError, match="no cheap answer"):
        state_of([])


@given(KEYS, st.integers(1, 6), st.floats(0, 1000), st.integers(0, 2**32))
def test_cheap_answers_are_drawn_only_while_they_agree(
    keys: list[str | None], kmax: int, wrong: float, seed: int
) -> None:
    """All but the last are equal, and there are never more than `kmax`."""
    state, random = CascadeState(), Random(seed)
    for _ in range(10):
        state = state.saw_strong((random.randint(1, 3),), random.random() < 0.8).saw_next(1, random.random() < 0.8)

    drawn, move = walk([*keys, *[keys[0]] * kmax], state, priced(wrong), kmax)

    assert len(drawn) <= kmax
    assert len(set(drawn[:-1])) <= 1
    assert move.action in ("stop", "escalate")


def test_an_answer_that_cannot_be_read_escalates_at_once() -> None:
    move = decide([None], CascadeState(), priced(wrong=0))

    assert (move.action, move.why, move.state, move.p) == ("escalate", "no-answer", None, None)


@pytest.mark.parametrize(("check", "action"), [(True, "stop"), (False, "escalate")])
def test_a_check_decides_before_agreement_does(check: bool, action: str) -> None:
    """Whatever agreement would say: a wrong answer is dear here, or costs nothing."""
    for wrong in (0.0, 1e9):
        move = decide(["a"], CascadeState(), priced(wrong), check=check)

        assert (move.action, move.why) == (action, "check")


@pytest.mark.parametrize("keys", [[None], ["a"], ["a", "b"]])
def test_an_escalation_that_cannot_be_paid_returns_the_leader_and_says_so(keys: list[str | None]) -> None:
    move = decide(keys, CascadeState(), priced(wrong=1e9), kmax=1, can_escalate=False)

    assert (move.action, move.why) == ("stop", "unaffordable")


def test_cheap_answers_that_cannot_be_paid_are_not_planned_with() -> None:
    price = priced(wrong=60)
    state = CascadeState()

    assert decide(["a"], state, price).action == "more"
    assert decide(["a"], state, price, cheap_left=0).action == "escalate"
    assert decide(["a", "b"], state, price, cheap_left=0).action == "escalate"


def test_a_move_holds_what_it_was_weighed_by() -> None:
    move = decide(["a", "a"], CascadeState(), priced())

    assert move == Move(action="more", state=(2,), why="plan", p=move.p, g=0.7, prices=priced())
    assert move.p == pytest.approx(0.7388, abs=1e-4)


def test_prices_are_money_where_it_is_known_and_tokens_where_it_is_not() -> None:
    cheap, strong = Quote(tokens=500, usd=0.001), Quote(tokens=2000, usd=0.02)

    assert prices(cheap, strong) == Prices(cheap=0.001, strong=0.02, wrong=0.1, unit="usd")
    assert prices(cheap, Quote(tokens=2000)) == Prices(cheap=500, strong=2000, wrong=10_000, unit="tokens")
    assert prices(cheap, strong, wrong=3).wrong == 3


def test_two_models_are_asked_once_each_and_one_model_three_times() -> None:
    assert (most_cheap(1), most_cheap(2)) == (3, 2)
