"""Policies by name."""

from typing import Any

from scheduler.auction import Auction
from scheduler.errors import InvalidInputError
from scheduler.fixed import Fixed, Router
from scheduler.policy import Policy
from scheduler.regime import RegimeBank
from scheduler.regime_knobs import Knobs

FIXED = ("always-s1", "always-s2", "static")
POLICIES = ("regime", "auction", "router", *FIXED)
"""Names of all policies, the default first."""


def make_policy(name: str, **knobs: Any) -> Policy[Any]:
    """Return a fresh policy with an empty library.

    Args:
        name: One of `POLICIES`.
        knobs: Settings of that policy, as its class documents them.

    Raises:
        InvalidInputError: No such policy, or no such knob.
    """
    if name not in POLICIES:
        raise InvalidInputError("policy", f"{name!r} is none of {', '.join(POLICIES)}")
    try:
        if name == "regime":
            return RegimeBank(Knobs(**knobs))
        if name == "auction":
            return Auction(**knobs)
        if name == "router":
            return Router(**knobs)
        return Fixed(name, **knobs)
    except TypeError as error:
        raise InvalidInputError("policy", f"{name} does not take these settings: {error}") from error
