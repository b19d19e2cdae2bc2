"""What solves have taught about answers, for one namespace: how far to trust a vote, a cheap model, a judge. Pure.

Labels are facts: outcomes of executable checks. A judge's or a model's own opinion never is one, and no session teaches twice.
Above: `booster.learnt` keeps it, `booster.lessons` says what a session teaches. Below: `booster.cascade_state`, `verifier`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from booster.cascade_state import CascadeState
from verifier.calibration import Calibration
from verifier.opinion import OpinionWeight
from verifier.tuned import SCALE_WINDOW

REMEMBERED: Final = 200
"""Sessions whose lessons are remembered, so that none is learnt twice."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerState:
    """What one namespace has learnt."""

    correctness: Calibration = field(default_factory=Calibration)
    """Probability that the leader of a vote is right; label: it held the user's checks."""
    labels: int = 0
    """Outcomes that `correctness` has learnt from."""
    cascades: Mapping[str, CascadeState] = field(default_factory=dict)
    """`cheap>strong` -> what was learnt of that pair."""
    combined: Calibration = field(default_factory=Calibration)
    """Probability that the winner of a sum of votes and opinions is right, by the log odds of its share; label as above."""
    combined_labels: int = 0
    """Outcomes that `combined` has learnt from."""
    weights: Mapping[str, OpinionWeight] = field(default_factory=dict)
    """`judge:MODEL` or `process:MODEL` -> what its opinion counts."""
    scales: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """The same -> its latest scores, in its own unit, oldest first."""
    sessions: tuple[str, ...] = ()
    """Those that have taught, oldest first."""

    def cascade(self, pair: str) -> CascadeState:
        """Return what is known of a pair of models."""
        return self.cascades.get(pair, CascadeState())

    def weight(self, scorer: str) -> OpinionWeight:
        """Return what an opinion of this scorer counts."""
        return self.weights.get(scorer, OpinionWeight())

    def with_session(self, session_id: str) -> "AnswerState":
        """Return the state that remembers which session has taught last."""
        return replace(self, sessions=(*self.sessions, session_id)[-REMEMBERED:])

    def with_scores(self, scorer: str, scores: tuple[float, ...]) -> "AnswerState":
        """Return the state after a scorer has given these scores."""
        return replace(self, scales={**self.scales, scorer: (*self.scales.get(scorer, ()), *scores)[-SCALE_WINDOW:]})

    def table(self) -> dict[str, Any]:
        """Return what was learnt under each key, for people: labels, `a` and `b` of calibrations, `g`, `r`, weights `bV`."""
        return {
            "correctness": _curve(self.correctness, self.labels),
            "combined": _curve(self.combined, self.combined_labels),
            "cascades": {
                pair: {
                    **_curve(learnt.agreement, learnt.labels), "g": round(learnt.g, 4), "verified": learnt.verified,
                    "r": [round(learnt.r(j), 4) for j in range(1, max(1, len(learnt.drawn)) + 1)], "stops": learnt.stops,
                }
                for pair, learnt in self.cascades.items()
            },
            "opinions": {
                scorer: {
                    "labels": self.weight(scorer).outcomes, "bV": round(self.weight(scorer).b, 4),
                    "scores": len(self.scales.get(scorer, ())),
                }
                for scorer in dict.fromkeys((*self.weights, *self.scales))
            },
        }  # fmt: skip

    def dump(self) -> dict[str, Any]:
        """Return the state as JSON values; `load` takes it back without loss."""
        return {
            "correctness": self.correctness.dump(),
            "labels": self.labels,
            "combined": self.combined.dump(),
            "combinedLabels": self.combined_labels,
            "cascades": {pair: learnt.dump() for pair, learnt in self.cascades.items()},
            "weights": {scorer: weight.dump() for scorer, weight in self.weights.items()},
            "scales": {scorer: list(scores) for scorer, scores in self.scales.items()},
            "sessions": list(self.sessions),
        }

    @classmethod
    def load(cls, document: Mapping[str, Any]) -> "AnswerState":
        """Return the state that was dumped.

        Raises:
            ValueError: A part is missing or holds what `dump` cannot have written.
        """
        try:
            return cls(
                correctness=Calibration.load(document["correctness"]),
                labels=int(document["labels"]),
                # Older states know nothing of sums.
                combined=Calibration.load(document.get("combined", Calibration().dump())),
                combined_labels=int(document.get("combinedLabels", 0)),
                cascades={pair: CascadeState.load(learnt) for pair, learnt in document["cascades"].items()},
                weights={scorer: OpinionWeight.load(weight) for scorer, weight in document["weights"].items()},
                scales={scorer: tuple(map(float, scores)) for scorer, scores in document["scales"].items()},
                sessions=tuple(map(str, document["sessions"])),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"no state of answers: {error!r}") from None


def _curve(calibration: Calibration, labels: int) -> dict[str, Any]:
    return {"labels": labels, "a": round(calibration.a, 4), "b": round(calibration.b, 4)}
