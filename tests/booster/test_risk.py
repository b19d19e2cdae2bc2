"""How much hangs on a step, and how hard it looks."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from booster.risk import (
    READS,
    UNKNOWN,
    WRITES,
    difficulty,
    scalar_values,
    step_risk,
    tool_call_risk,
)

FACTS = st.fixed_dictionaries(
    {
        "write": st.sampled_from([READS, UNKNOWN, WRITES]),
        "values": st.integers(0, 200),
        "errors": st.integers(0, 9),
        "first_use": st.booleans(),
        "outside": st.booleans(),
        "index": st.integers(0, 100),
    }
)


@pytest.mark.parametrize(
    ("facts", "risk"),
    [
        ({"write": READS, "values": 0}, 0.05),
        ({"write": WRITES, "values": 0}, 0.55),
        ({"write": UNKNOWN, "values": 0}, 0.30),
        ({"write": READS, "values": 4}, 0.05 + 0.2 * (1 - math.exp(-1))),
        ({"write": READS, "values": 0, "errors": 1}, 0.10),
        ({"write": READS, "values": 0, "errors": 5}, 0.15),
        ({"write": READS, "values": 0, "first_use": True}, 0.10),
        ({"write": READS, "values": 0, "outside": True}, 0.10),
        ({"write": READS, "values": 0, "index": 6}, 0.075),
        ({"write": READS, "values": 0, "index": 40}, 0.10),
        (
            {"write": WRITES, "values": 10**6, "errors": 9, "first_use": True, "outside": True, "index": 99},
            1.0,
        ),
    ],
)
def test_each_fact_adds_its_term(facts: dict[str, Any], risk: float) -> None:
    assert tool_call_risk(**facts) == pytest.approx(risk)


@given(FACTS)
def test_a_write_is_riskier_than_the_same_call_that_only_reads(facts: dict[str, Any]) -> None:
    risks = [tool_call_risk(**{**facts, "write": write}) for write in (READS, UNKNOWN, WRITES)]

    assert 0 <= risks[0] < risks[1] < risks[2] <= 1


@pytest.mark.parametrize(
    ("arguments", "values"),
    [({}, 0), (None, 0), ("raw", 1), ({"a": 1, "b": [1, "x", None], "c": {"d": True, "e": {"f": 0}}}, 5), ([[[7]]], 1)],
)
def test_scalars_are_counted_at_any_depth(arguments: Any, values: int) -> None:
    assert scalar_values(arguments) == values


@pytest.mark.parametrize(
    ("step", "risk"),
    [
        ({"characters": 0, "median": 0}, 0.05),
        ({"characters": 300, "median": 300}, 0.15),
        ({"characters": 900, "median": 300, "index": 12}, 0.25),
        ({"characters": 300, "median": 300, "answers": True}, 0.40),
    ],
)
def test_a_step_without_a_tool_counts_by_its_length(step: dict[str, Any], risk: float) -> None:
    assert step_risk(**step) == pytest.approx(risk)


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.floats(1, 10**6))
def test_a_longer_step_is_never_less_risky(short: int, more: int, median: float) -> None:
    assert step_risk(characters=short + more, median=median) >= step_risk(characters=short, median=median)


@pytest.mark.parametrize(("drawn", "hint"), [(0, 0.8), (1, 0.5 * 0.8 + 0.5 * 0.1), (3, 0.25 * 0.8 + 0.75 * 0.1)])
def test_difficulty_trusts_agreement_ever_more_than_size(drawn: int, hint: float) -> None:
    assert difficulty(by_size=0.8, p=0.9, drawn=drawn) == pytest.approx(hint)
