"""The scheduler's page: what each namespace has learnt, how well it predicts, what it decided lately. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from markupsafe import Markup

from booster.server.viewer.reliability import reliability

RECENT: Final = 20
"""Decisions that are listed."""

SESSIONS: Final = 100
"""Latest sessions that figures are drawn from."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ruling:
    """One decision of the learned scheduler."""

    session_id: str
    iteration: int
    at: str
    mode: str
    p: float
    """Probability in [0, 1] that System 1 would fail."""
    threshold: float
    outcome: str
    """As it was reported; empty where it was not yet."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NamespaceView:
    """One namespace."""

    name: str
    problem: str = ""
    """Why it cannot be shown; empty where it can."""
    policy: str = ""
    revision: int = 0
    mu: float = 0.0
    labels: int = 0
    prototypes: tuple[Mapping[str, Any], ...] = ()
    decisions: int = 0
    deliberated: int = 0
    """Decisions for System 2."""
    warning: str = ""
    calibration: Mapping[str, Any] | None = None
    plot: Markup | None = None
    recent: tuple[Ruling, ...] = ()

    @property
    def share(self) -> float | None:
        """Share of System 2 in [0, 1]; None before any decision."""
        return self.deliberated / self.decisions if self.decisions else None


def namespace_view(
    name: str, *, policy: Any, revision: int, stats: Mapping[str, Any], calibration: Mapping[str, Any],
    recent: Sequence[Ruling], position: int,
) -> NamespaceView:  # fmt: skip
    """Return what is shown of a namespace; `policy` is its library's, `position` its place on the page."""
    return NamespaceView(
        name=name, policy=policy.name, revision=revision, mu=policy.mu, labels=policy.n_labels,
        prototypes=tuple(policy.prototypes()), decisions=stats["steps"], deliberated=stats["ignitions"],
        warning=stats["warning"] or "", calibration=calibration, recent=tuple(recent),
        plot=reliability(calibration["bins"], f"reliability-{position}") if calibration["bins"] else None,
    )  # fmt: skip


def rulings(session_id: str, events: Iterable[tuple[str, str, Mapping[str, Any]]]) -> list[Ruling]:
    """Return the decisions of a session, oldest first, with what was reported of each.

    Args:
        session_id: The session.
        events: Time, type and data of each.
    """
    found: dict[str, Ruling] = {}
    outcomes: dict[str, str] = {}
    for at, kind, data in events:
        if kind == "iteration_opened" and "p_critical" in data["decision"].get("audit", {}):
            decision = data["decision"]
            found[decision["decisionId"]] = Ruling(
                session_id=session_id, iteration=data["iteration"], at=at, mode=decision["mode"],
                p=decision["audit"]["p_critical"], threshold=decision["audit"]["threshold"], outcome="",
            )  # fmt: skip
        elif kind == "reported":
            outcomes[data["decisionId"]] = data["outcome"]
    return [replace(ruling, outcome=outcomes.get(key, "")) for key, ruling in found.items()]
