"""Policy `auction`: prototypes are regions of input space; deliberation bids against a price that rises with pollution.

The rule of the original conscious-scheduler, parameter for parameter, so that its published tables can be reproduced.
Two variants stand under its name: `bid` (the rule its text states) and `threshold` (the rule behind its best numbers).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from scheduler.errors import InvalidInputError, StateError
from scheduler.experience import Experience, Label, Reported, TaskEnded, TaskStarted
from scheduler.policy import Facts, Question, clamp01, compact_threshold, label_as_told
from scheduler.types import Decision, Signals, flag

TAU = 0.35
"""Width of a prototype's catchment, in squared units of the three signals."""
NOVEL = 0.6
"""Similarity below which a deliberated step founds a prototype of its own."""
SHIFTED = 0.7
"""Similarity below which a change of the best match counts as a shift."""
MAX_PROTOTYPES = 12
STEP_SIZE = 0.12
CENTROID_RATE = 0.15
ERROR_MEMORY = 0.85
PRICE, POLLUTION_PRICE = 0.10, 0.6
MU_STEP, MU_TARGET, MU_MIN, MU_MAX = 0.1, 0.3, 0.3, 4.0
DEEP_MEMORY = 0.97
FEATURES = ("bias", "criticality_hint", "difficulty_hint", "progress")

Point = tuple[float, float, float]


@dataclass(slots=True)
class Prototype:
    """A skill compressed into numbers: where it applies, what it says there, how far it can be trusted."""

    id: int
    centroid: Point
    weights: list[float] = field(default_factory=lambda: [0.1, 0.6, 0.0, 0.0])
    """Affine read-out over bias, criticality_hint, difficulty_hint, progress."""
    error: float = 0.5
    """Running mean of the absolute prediction error, in [0, 1]."""
    n: int = 1
    confidence: float = 0.3

    def similarity(self, x: Point) -> float:
        """Return exp(-|x - centroid|^2 / (2 tau)), in (0, 1]."""
        a, b, c = self.centroid
        return math.exp(-((x[0] - a) ** 2 + (x[1] - b) ** 2 + (x[2] - c) ** 2) / (2 * TAU))

    def read_out(self, x: Point) -> float:
        """Return the estimated criticality in [0, 1]."""
        w = self.weights
        return clamp01(w[0] + w[1] * x[0] + w[2] * x[1] + w[3] * x[2])

    def fit(self, x: Point, y: float) -> None:
        """Take one gradient step towards the label and note the error before it."""
        error = y - self.read_out(x)
        for i, value in enumerate((1.0, *x)):
            self.weights[i] += STEP_SIZE * error * value
        self.error = ERROR_MEMORY * self.error + (1 - ERROR_MEMORY) * abs(error)

    def refine(self, x: Point) -> None:
        """Move the centroid towards a situation this prototype was the best match for."""
        a, b, c = (old + CENTROID_RATE * (new - old) for old, new in zip(self.centroid, x, strict=True))
        self.centroid = (a, b, c)
        self.n += 1
        self.confidence = min(1.0, self.confidence + 0.05)


@dataclass(slots=True)
class AuctionTrack:
    """What one session remembers: the prototype that matched its last decision in this task."""

    active: int | None = None


class Auction:
    """The auction policy. Its rule knows no costs; they only show in `expected_cost_*`.

    Args:
        decision: `bid`: deliberate iff the bid beats the price, the library is empty, or the situation shifted.
            `threshold`: deliberate iff the read-out exceeds .6 - .2 tanh(mu - 1).
        can_grow: False freezes the number of prototypes.
        can_shift: False ignores shifts.
    """

    name = "auction"

    def __init__(
        self,
        *,
        decision: Literal["bid", "threshold"] = "bid",
        can_grow: bool = True,
        can_shift: bool = True,
    ) -> None:
        if decision not in ("bid", "threshold"):
            raise InvalidInputError("decision", f"{decision!r} is neither 'bid' nor 'threshold'")
        self.rule = decision
        self.can_grow = flag("can_grow", can_grow)
        self.can_shift = flag("can_shift", can_shift)
        self.mu = 1.0
        self._deep_share = 0.5
        self._prototypes: list[Prototype] = []
        self._next_id = 1
        self._n_labels = 0

    @property
    def n_prototypes(self) -> int:
        """Prototypes in the library."""
        return len(self._prototypes)

    @property
    def n_labels(self) -> int:
        """Labels learnt from."""
        return self._n_labels

    def track(self) -> AuctionTrack:
        """Return a session that has seen nothing in its task."""
        return AuctionTrack()

    def decide(self, track: AuctionTrack, question: Question) -> Decision:
        """Let deliberation bid; the best match becomes the track's active prototype."""
        x, pollution, costs = _point(question.signals), question.pollution, question.costs
        best, similarity = self._match(x)
        estimate = best.read_out(x) if best else 0.5
        doubt = best.error * (2.0 - similarity) if best else 1.0
        rob_gain = self.mu * (0.5 + estimate) * doubt
        eco_cost = PRICE + POLLUTION_PRICE * pollution
        threshold = clamp01(0.6 - 0.2 * math.tanh(self.mu - 1.0))
        shifted = self.can_shift and _has_shifted(track, best, similarity)
        if self.rule == "threshold":
            deep = estimate > threshold
        else:
            deep = best is None or rob_gain > eco_cost or shifted
        track.active = best.id if best else None
        return Decision(
            decision_id=question.decision_id,
            mode="system2" if deep else "system1",
            policy=self.name,
            p_critical=estimate,
            criticality_estimate=estimate,
            threshold=threshold,
            familiarity=similarity,
            surprise=1.0 - similarity,
            confidence=1.0 - best.error if best else 0.0,
            mu=self.mu,
            rob_gain=rob_gain,
            eco_cost=eco_cost,
            expected_cost_s1=costs.cheap + estimate * costs.failure,
            expected_cost_s2=costs.deep,
            regime_shift=shifted,
            suggest_compact=deep and pollution > compact_threshold(self.mu),
            regime_id=best.id if best else None,
            contributions=_contributions(best, x),
            probe=deep and question.probe_due,
            n_labels=self._n_labels,
        )

    def estimate(self, track: AuctionTrack, signals: Signals) -> float:
        """Return the read-out of the best match, .5 without one."""
        x = _point(signals)
        best, _ = self._match(x)
        return best.read_out(x) if best else 0.5

    def label(self, facts: Facts, estimate: float) -> Label:
        """Take the caller's score as the original does."""
        return label_as_told(facts)

    def observe(self, track: AuctionTrack, experience: Experience) -> None:
        """Grow or refine a prototype from a report; move mu at the end of a task."""
        if isinstance(experience, TaskStarted):
            track.active = None
        elif isinstance(experience, TaskEnded):
            self._reprice(experience.success)
        elif isinstance(experience, Reported):
            if not experience.late:
                self._deep_share = DEEP_MEMORY * self._deep_share + (1 - DEEP_MEMORY) * experience.was_deep
            if experience.label.value is not None:
                self._learn(_point(experience.signals), experience.label.value, grow=experience.used_system2)

    def _match(self, x: Point) -> tuple[Prototype | None, float]:
        best, similarity = None, 0.0
        for prototype in self._prototypes:
            candidate = prototype.similarity(x)
            if candidate > similarity:
                best, similarity = prototype, candidate
        return best, similarity

    def _learn(self, x: Point, y: float, *, grow: bool) -> None:
        self._n_labels += 1
        best, similarity = self._match(x)
        if best is None or (grow and self.can_grow and similarity < NOVEL):
            best = Prototype(id=self._next_id, centroid=x)
            self._next_id += 1
            if len(self._prototypes) >= MAX_PROTOTYPES:
                self._prototypes.remove(min(self._prototypes, key=lambda prototype: prototype.n))
            self._prototypes.append(best)
        else:
            best.refine(x)
        best.fit(x, y)

    def _reprice(self, success: bool) -> None:
        if success:
            self.mu -= MU_STEP * MU_TARGET
        else:
            self.mu += MU_STEP if self._deep_share <= 0.5 else -MU_STEP
        self.mu = max(MU_MIN, min(MU_MAX, self.mu))

    def dump(self) -> dict[str, Any]:
        """Return the library as JSON-ready values."""
        return {
            "mu": self.mu,
            "deepShare": self._deep_share,
            "nLabels": self._n_labels,
            "nextId": self._next_id,
            "prototypes": [
                {"id": p.id, "centroid": list(p.centroid), "weights": list(p.weights), "error": p.error, "n": p.n,
                 "confidence": p.confidence}
                for p in self._prototypes
            ],
        }  # fmt: skip

    def restore(self, state: Mapping[str, Any]) -> None:
        """Replace the library by a dumped one.

        Raises:
            StateError: A field is missing or of the wrong kind.
        """
        try:
            prototypes = [
                Prototype(
                    id=int(p["id"]),
                    centroid=(float(p["centroid"][0]), float(p["centroid"][1]), float(p["centroid"][2])),
                    weights=[float(w) for w in p["weights"]],
                    error=float(p["error"]),
                    n=int(p["n"]),
                    confidence=float(p["confidence"]),
                )
                for p in state["prototypes"]
            ]
            mu, deep_share = float(state["mu"]), float(state["deepShare"])
            n_labels, next_id = int(state["nLabels"]), int(state["nextId"])
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise StateError(f"damaged auction library: {error!r}") from error
        self.mu, self._deep_share, self._n_labels, self._next_id = mu, deep_share, n_labels, next_id
        self._prototypes = prototypes

    def dump_track(self, track: AuctionTrack) -> dict[str, Any]:
        """Return the track as JSON-ready values."""
        return {"active": track.active}

    def restore_track(self, state: Mapping[str, Any]) -> AuctionTrack:
        """Return the track that was dumped."""
        return AuctionTrack(active=state.get("active"))

    def prototypes(self) -> list[dict[str, Any]]:
        """Return every prototype: id, n, confidence, predErr, situationCentroid, readoutWeights."""
        return [
            {
                "id": p.id,
                "n": p.n,
                "confidence": round(p.confidence, 4),
                "predErr": round(p.error, 4),
                "situationCentroid": dict(zip(FEATURES[1:], (round(v, 4) for v in p.centroid), strict=True)),
                "readoutWeights": dict(zip(FEATURES, (round(w, 4) for w in p.weights), strict=True)),
            }
            for p in self._prototypes
        ]


def _point(signals: Signals) -> Point:
    return signals.criticality_hint, signals.difficulty_hint, signals.progress


def _has_shifted(track: AuctionTrack, best: Prototype | None, similarity: float) -> bool:
    return track.active is not None and best is not None and best.id != track.active and similarity < SHIFTED


def _contributions(best: Prototype | None, x: Point) -> dict[str, float]:
    if best is None:
        return {}
    return {name: weight * value for name, weight, value in zip(FEATURES, best.weights, (1.0, *x), strict=True)}
