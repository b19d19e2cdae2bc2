"""How much hangs on a step, and how hard it looks: the scheduler's hints from facts known before the step is executed. Pure.

Fitted on recorded runs of agents: the 20 % of turns with the highest risk hold every wrong write where tools say what
they write, nine of ten where they do not. No name of a tool and no list of words is looked at. Among writes nothing predicts
well which one is wrong, so a check of the goal at the end stays necessary.
"""

import math
from collections.abc import Mapping
from typing import Any

from verifier.tuned import (
    ERRORS_FULL,
    INDEX_FULL,
    RISK_BASE,
    RISK_ERRORS,
    RISK_FIRST_USE,
    RISK_INDEX,
    RISK_LENGTH,
    RISK_OUTSIDE,
    RISK_VALUES,
    RISK_WRITE,
    VALUES_SCALE,
)

WRITES, UNKNOWN, READS = 1.0, 0.5, 0.0
"""`write` of a tool call: writes or destroys, by its annotations or its class of approval; no annotation; only reads."""


def tool_call_risk(
    *, write: float, values: int, errors: int = 0, first_use: bool = False, outside: bool = False, index: int = 0
) -> float:
    """Return `criticality_hint` in [0, 1] of a proposed tool call.

    Args:
        write: `WRITES`, `UNKNOWN` or `READS`.
        values: Scalar argument values at any depth (`scalar_values`).
        errors: Tool errors so far in the session.
        first_use: The session has not used this tool before.
        outside: The step follows input from outside: of the user or the client.
        index: Steps before this one.
    """
    return _clamp(
        RISK_BASE
        + RISK_WRITE * write
        + RISK_VALUES * -math.expm1(-values / VALUES_SCALE)
        + RISK_ERRORS * min(1, errors / ERRORS_FULL)
        + RISK_FIRST_USE * first_use
        + RISK_OUTSIDE * outside
        + RISK_INDEX * min(1, index / INDEX_FULL)
    )


def step_risk(*, characters: int, median: float, index: int = 0, answers: bool = False) -> float:
    """Return `criticality_hint` in [0, 1] of a step without a tool call.

    Args:
        characters: Length of the step.
        median: Running median of the lengths of the session's steps, this one included; 0 where all are empty.
        index: Steps before this one.
        answers: The step carries a final answer, which is a decision like a call of a tool without annotation.
    """
    length = characters / (characters + median) if characters > 0 else 0.0
    return _clamp(
        RISK_BASE + RISK_WRITE * UNKNOWN * answers + RISK_LENGTH * length + RISK_INDEX * min(1, index / INDEX_FULL)
    )


def scalar_values(arguments: Any) -> int:
    """Return how many scalars a JSON value holds at any depth; null and keys do not count."""
    count, stack = 0, [arguments]
    while stack:
        node = stack.pop()
        if isinstance(node, Mapping):
            stack.extend(node.values())
        elif isinstance(node, (list, tuple)):
            stack.extend(node)
        else:
            count += node is not None
    return count


def difficulty(*, by_size: float, p: float = 0.0, drawn: int = 0) -> float:
    """Return `difficulty_hint` in [0, 1]: from the task's size at first, ever more from the agreement of the answers drawn.

    Size says little of whether a model fails; two answers that agree say more, and five more still.

    Args:
        by_size: Hint in [0, 1] by the size of the task alone.
        p: Probability in [0, 1] that the strong model gives the leader of the answers.
        drawn: Answers drawn so far.
    """
    known = drawn / (drawn + 1)
    return _clamp((1 - known) * by_size + known * (1 - p))


def _clamp(value: float) -> float:
    return min(1.0, max(0.0, value))
