"""The ways of asking that are measured: options of `Booster.solve`, and nothing else. No policy lives here."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.quality.recorded import RecordedSet
from booster.config import Price
from booster.session import Budget
from verifier.tuned import MOST_PROGRAMS

ONCE: Final[Mapping[str, Any]] = {"granularity": "answer", "iterations": 1}
"""The records hold whole answers and no steps, so steps are not asked for."""

PLAIN, ADAPTIVE, FRUGAL, SCORE, BOOSTER = (
    "one plain call",
    "adaptive stop, waves",
    "adaptive stop, one by one",
    "best of 5 by heuristic score",
    "booster",
)
CHECKED, CHECKED_FRUGAL = "booster with a check", "booster with a check, one by one"
PROGRAMS = "booster, programs by behaviour"
TAUGHT = "booster, every fifth question checked"
CHEAP, STRONG, ROUTED = "always cheap", "always strong", "booster, cheap and strong model"

VOTES: Final = (3, 5, 10, 16)
"""Sizes of the votes that draw all at once, where a set has as many samples; 16 is the most that the options allow."""

CHEAP_PRICE, STRONG_PRICE = 1.0, 20.0
"""US dollars per million tokens of both kinds: a strong call costs as much as twenty cheap ones."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Arm:
    """One way of asking."""

    name: str
    options: Mapping[str, Any]
    checked: float = 0.0
    """Share of the questions that come with the user's executable check."""


def arms_of(recorded: RecordedSet) -> tuple[Arm, ...]:
    """Return the arms that make sense for a set, the plain call first."""
    return _sampled(recorded) if recorded.kind == "samples" else _routed(recorded)


def vote_name(size: int) -> str:
    """Return the name of a vote of a fixed size."""
    return f"vote@{size}"


def prices(recorded: RecordedSet) -> dict[str, Price]:
    """Return the price table of a set with a cheap and a strong side; empty for one model."""
    if not recorded.strong:
        return {}
    cheap, strong = (Price(input_per_m_tok=usd, output_per_m_tok=usd) for usd in (CHEAP_PRICE, STRONG_PRICE))
    return {**dict.fromkeys(recorded.cheap, cheap), recorded.strong: strong}


def _sampled(recorded: RecordedSet) -> tuple[Arm, ...]:
    deep = {**ONCE, "scheduler": "system2"}
    waves = {**deep, "select": "vote", "samples": recorded.cap}
    arms = [Arm(name=PLAIN, options={**ONCE, "scheduler": "system1"})]
    arms += [
        Arm(name=vote_name(size), options={**deep, "select": "vote", "num_candidates": size})
        for size in VOTES
        if size <= recorded.cap
    ]
    arms += [
        Arm(name=ADAPTIVE, options=waves),
        Arm(name=FRUGAL, options={**waves, "wave_size": 1}),
        Arm(name=SCORE, options={**deep, "select": "score", "num_candidates": 5}),
        Arm(name=BOOSTER, options={**ONCE, "samples": recorded.cap}),
    ]
    if any(question.tests for question in recorded.questions):
        budget = Budget(calls=MOST_PROGRAMS * 11 // 10, seconds=None)  # a list of tests for every ten programs
        arms.append(Arm(name=PROGRAMS, options={**deep, "select": "programs", "budget": budget}))
    if recorded.checkable:
        checked = {**ONCE, "samples": recorded.cap}
        arms += [
            Arm(name=TAUGHT, options=checked, checked=0.2),
            Arm(name=CHECKED, options=checked, checked=1.0),
            Arm(name=CHECKED_FRUGAL, options={**checked, "wave_size": 1}, checked=1.0),
        ]
    return tuple(arms)


def _routed(recorded: RecordedSet) -> tuple[Arm, ...]:
    cheap: dict[str, Any] = {"models": recorded.cheap} if len(recorded.cheap) > 1 else {"fast_model": recorded.cheap[0]}
    arms = [
        Arm(name=CHEAP, options={**ONCE, "scheduler": "system1", "fast_model": recorded.cheap[0]}),
        Arm(
            name=STRONG, options={**ONCE, "scheduler": "system2", "num_candidates": 1, "strong_model": recorded.strong}
        ),
        Arm(name=ROUTED, options={**ONCE, **cheap, "strong_model": recorded.strong}, checked=float(recorded.checkable)),
    ]
    return tuple(arms)
