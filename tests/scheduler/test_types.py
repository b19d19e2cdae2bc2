"""What goes in is checked, what comes out can be recomputed."""

import dataclasses
import json
import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler import Costs, Decision, InvalidInputError, Outcome, Scheduler, SchedulerError, Signals

FIELDS = ["criticality_hint", "difficulty_hint", "progress", "context_pollution"]
NOT_NUMBERS = [
    "abc",
    "",
    " ",
    "1_0",
    "0x1",
    "NaN",
    "inf",
    "-inf",
    "1.5",
    "-0.01",
    math.nan,
    math.inf,
    1.01,
    -1,
    True,
    [],
    {},
]


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("value", NOT_NUMBERS, ids=repr)
def test_a_signal_that_is_no_number_in_the_unit_interval_is_refused_by_name(field: str, value: object) -> None:
    with pytest.raises(InvalidInputError, match=field) as caught:
        Signals(**{field: value})  # type: ignore[arg-type]

    assert caught.value.field == field


@pytest.mark.parametrize("field", FIELDS)
@given(value=st.floats(0, 1))
def test_numeric_strings_and_numbers_are_the_same_signal(field: str, value: float) -> None:
    assert Signals(**{field: repr(value)}) == Signals(**{field: value})  # type: ignore[arg-type]


def test_integers_become_floats() -> None:
    signals = Signals(criticality_hint=1, progress=0)

    assert (signals.criticality_hint, type(signals.criticality_hint)) == (1.0, float)
    assert type(signals.progress) is float


def test_unset_hints_are_0_and_unset_pollution_stays_unset() -> None:
    assert Signals() == Signals(criticality_hint=0.0, difficulty_hint=0.0, progress=0.0, context_pollution=None)


@pytest.mark.parametrize(
    ("costs", "field"),
    [({"cheap": -1}, "cheap"), ({"deep": "x"}, "deep"), ({"damage": math.nan}, "damage"), ({"cheap": 6}, "deep")],
)
def test_costs_that_make_no_sense_are_refused_by_name(costs: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        Costs(**costs)  # type: ignore[arg-type]

    assert caught.value.field == field


def test_every_error_has_one_base() -> None:
    assert issubclass(InvalidInputError, SchedulerError)
    assert issubclass(InvalidInputError, ValueError)


def recomputed(decision: Decision, *, rule: str) -> str:
    """Return the mode that the decision's own numbers imply."""
    if rule == "bid":
        deep = decision.regime_id is None or decision.rob_gain > decision.eco_cost or decision.regime_shift
    else:
        deep = decision.criticality_estimate > decision.threshold and not decision.explore
    return "system2" if deep else "system1"


@pytest.mark.parametrize(
    ("policy", "rule", "knobs"),
    [
        ("regime", "p", {}),
        ("regime", "p", {"threshold": 0.5}),
        ("regime", "p", {"miss_target": 0.2}),
        ("auction", "bid", {"decision": "bid"}),
        ("auction", "p", {"decision": "threshold"}),
        ("router", "p", {}),
        ("static", "p", {}),
        ("always-s1", "p", {}),
        ("always-s2", "p", {}),
    ],
)
@given(seed=st.integers(0, 10_000), full=st.booleans())
def test_the_mode_follows_from_the_returned_numbers(
    policy: str, rule: str, knobs: dict[str, Any], seed: int, full: bool
) -> None:
    """Every decision is auditable, with and without labels on System 2 steps."""
    draw = random.Random(seed)
    scheduler = Scheduler(policy=policy, costs=Costs(cheap=1, deep=5, damage=draw.choice([0, 5])), **knobs)
    for step in range(40):
        if step % 8 == 0:
            scheduler.new_task()
        c = draw.random()
        decision = scheduler.decide(
            Signals(
                criticality_hint=c,
                difficulty_hint=draw.random(),
                progress=step % 8 / 8,
                context_pollution=draw.random(),
            )
        )
        assert decision.mode == recomputed(decision, rule=rule)
        if policy == "regime" and not knobs.get("threshold"):
            assert (decision.rob_gain > decision.eco_cost) == (decision.p_critical > decision.threshold)
            assert (decision.expected_cost_s1 > decision.expected_cost_s2) == (decision.rob_gain > decision.eco_cost)
        outcome: Outcome = "s1_fail" if c > 0.5 else "s1_pass"
        if decision.mode == "system2":
            outcome = ("s2_probe_fail" if c > 0.5 else "s2_probe_pass") if full else "s2_done"
        scheduler.report(decision.decision_id, outcome)
        if step % 8 == 7:
            scheduler.feedback(success=draw.random() < 0.5)


@pytest.mark.parametrize("policy", ["regime", "auction", "router", "static", "always-s1", "always-s2"])
def test_every_policy_returns_the_whole_decision_as_json_with_4_decimals(policy: str) -> None:
    scheduler = Scheduler(policy=policy)
    scheduler.report(scheduler.decide(Signals(criticality_hint=1 / 3)).decision_id, "s1_fail")
    decision = scheduler.decide(Signals(criticality_hint=1 / 3))

    document = json.loads(json.dumps(decision.as_dict(), allow_nan=False))

    assert set(document) == {field.name for field in dataclasses.fields(Decision)} | {"reason"}
    assert document["reason"].endswith(".")
    assert all(round(value, 4) == value for value in document.values() if isinstance(value, float))
