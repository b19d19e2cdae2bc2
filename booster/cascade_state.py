"""What a cascade has learnt of one pair of cheap and strong models, from what was paid for anyway. Pure.

How likely the strong model gives the same answer (`p`), how likely the next cheap answer agrees (`r`), and how often the strong
model is right where the two differ (`g`). Above: `booster.cascade`. Below: `verifier.calibration`.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Any

from verifier.calibration import Calibration
from verifier.tuned import AGREEMENT_COUNT, AUDIT_RATE, GAIN_COUNT, GAIN_SUM, LEAST_GAIN

State = tuple[int] | tuple[int, int]
"""`(j,)` after j equal answers; `(j, 1)` after j equal answers and one that differs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CascadeState:
    """What was learnt of one pair of cheap and strong models."""

    agreement: Calibration = field(default_factory=Calibration)
    """Learnt from escalations and audits only: label = the strong model gave the leader."""
    drawn: tuple[int, ...] = ()
    """Entry j - 1: how often another cheap answer was drawn after j equal ones."""
    agreed: tuple[int, ...] = ()
    """Entry j - 1: how often that answer was equal too."""
    gain: float = 0.0
    """Sum of (strong right - cheap right) over the verified disagreements."""
    verified: int = 0
    """Disagreements with a verified outcome."""
    stops: int = 0
    """Stops that the plan decided; audits are counted off from them."""
    labels: int = 0
    """Labels that `agreement` has learnt from."""

    def p(self, votes: int, n: int) -> float:
        """Return the probability in (0, 1) that the strong model gives the leader."""
        return self.agreement.p(votes, n)

    def r(self, j: int) -> float:
        """Return the probability in (0, 1) that the next cheap answer is equal to the j equal ones before it."""
        drawn, agreed = (counts[j - 1] if j <= len(counts) else 0 for counts in (self.drawn, self.agreed))
        return (AGREEMENT_COUNT * j / (j + 1) + agreed) / (AGREEMENT_COUNT + drawn)

    @property
    def g(self) -> float:
        """Expected (strong right - cheap right) where the two differ, at least `LEAST_GAIN`."""
        return max(LEAST_GAIN, (GAIN_SUM + self.gain) / (GAIN_COUNT + self.verified))

    def saw_next(self, j: int, same: bool) -> "CascadeState":
        """Return the state after another cheap answer was drawn behind `j` equal ones."""
        drawn, agreed = (counts + (0,) * (j - len(counts)) for counts in (self.drawn, self.agreed))
        return replace(
            self,
            drawn=(*drawn[: j - 1], drawn[j - 1] + 1, *drawn[j:]),
            agreed=(*agreed[: j - 1], agreed[j - 1] + same, *agreed[j:]),
        )

    def saw_strong(self, at: State, same: bool) -> "CascadeState":
        """Return the state after the strong model was asked at `at`, where it was decided, and gave the leader or not."""
        return replace(self, agreement=self.agreement.learn(at[0], sum(at), same), labels=self.labels + 1)

    def saw_outcome(self, *, strong_right: bool, cheap_right: bool) -> "CascadeState":
        """Return the state after the outcome of a disagreement was verified; opinions do not count."""
        return replace(self, gain=self.gain + strong_right - cheap_right, verified=self.verified + 1)

    def saw_stop(self, audit_rate: float = AUDIT_RATE) -> tuple["CascadeState", bool]:
        """Return the state after a stop that the plan decided, and whether to audit it: to ask the strong model all the same.

        A counter decides, so exactly the share `audit_rate` of the stops is audited, rounded down.
        """
        stops = self.stops + 1
        due = math.floor(stops * audit_rate + 1e-9) > math.floor(self.stops * audit_rate + 1e-9)
        return replace(self, stops=stops), due

    def dump(self) -> dict[str, Any]:
        """Return the state as JSON values; `load` takes it back without loss."""
        return {
            "agreement": self.agreement.dump(),
            "drawn": list(self.drawn),
            "agreed": list(self.agreed),
            "gain": self.gain,
            "verified": self.verified,
            "stops": self.stops,
            "labels": self.labels,
        }

    @classmethod
    def load(cls, document: dict[str, Any]) -> "CascadeState":
        """Return the state that was dumped.

        Raises:
            ValueError: A field is missing or holds what `dump` cannot have written; the text names it.
        """
        missing = {"agreement", "drawn", "agreed", "gain", "verified", "stops", "labels"} - document.keys()
        if missing:
            raise ValueError(f"a cascade state without {', '.join(sorted(missing))}")
        drawn, agreed = _counts(document, "drawn"), _counts(document, "agreed")
        if len(drawn) != len(agreed) or any(hits > draws for hits, draws in zip(agreed, drawn, strict=True)):
            raise ValueError("agreed: more agreements than draws")
        gain = document["gain"]
        if isinstance(gain, bool) or not isinstance(gain, (int, float)) or not math.isfinite(gain):
            raise ValueError(f"gain: {gain!r} is no finite number")
        verified, stops, labels = (_count(name, document[name]) for name in ("verified", "stops", "labels"))
        agreement = Calibration.load(document["agreement"])
        return cls(
            agreement=agreement, drawn=drawn, agreed=agreed, gain=gain, verified=verified, stops=stops, labels=labels
        )


def _counts(document: dict[str, Any], name: str) -> tuple[int, ...]:
    values = document[name]
    if not isinstance(values, (list, tuple)):
        raise ValueError(f"{name}: no list of counts")
    return tuple(_count(name, value) for value in values)


def _count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{name}: {value!r} is no count")
    return value
