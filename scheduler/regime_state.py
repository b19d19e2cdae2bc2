"""What the regime policy remembers, and its two written forms: exact for files, readable for people."""

import base64
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from scheduler.hazard import Belief
from scheduler.readout import FEATURES, Head, Mixture, Situation
from scheduler.rivals import Challenger, Rivals
from scheduler.types import Signals

ERROR_MEMORY = 0.85
TELLING = 0.25
"""Weight of a signal, as a share of the largest, from which it appears in the readable rule."""


@dataclass(slots=True)
class Regime:
    """One rule: a read-out, how much it has been at work, and where."""

    id: int
    mixture: Mixture
    n: int = 0
    """Labels learnt."""
    use: float = 0.0
    """Probability of being at work, summed over labels and slowly forgotten."""
    mass: float = 0.0
    """Label weight behind `centroid`."""
    centroid: list[float] = field(default_factory=lambda: [0.5, 0.5, 0.5])
    """Label-weighted mean of the three signals."""
    error: float = 0.5
    """Running mean of the absolute prediction error, in [0, 1]."""

    def learn(self, x: Situation, signals: Signals, y: float, weight: float, predicted: float) -> None:
        """Learn a label in [0, 1] of this weight, where `predicted` was expected."""
        self.mixture.learn(x, y, weight)
        self.n += 1
        self.error = ERROR_MEMORY * self.error + (1.0 - ERROR_MEMORY) * abs(y - predicted)
        self.mass += weight
        pull = weight / self.mass if self.mass > 0.0 else 0.0
        point = (signals.criticality_hint, signals.difficulty_hint, signals.progress)
        self.centroid = [old + pull * (new - old) for old, new in zip(self.centroid, point, strict=True)]


@dataclass(slots=True)
class RegimeTrack:
    """What one session believes about the regime at work."""

    belief: Belief
    ids: list[int]
    """Regimes behind the columns of `belief`."""
    fresh: bool = True
    """No label has arrived since the task began, so the hazard of a new task holds."""
    surprise: float = 0.0
    """Running mean of how unexpected labels were, in [0, 1]."""
    last: int | None = None
    """Most probable regime at the last decision."""
    shifted: bool = False
    """A regime was promoted since the last decision."""
    prior: "Prior | None" = None
    """Computed on demand."""


@dataclass(frozen=True, slots=True)
class Prior:
    """Probabilities of the regimes before the next label."""

    version: int
    """Of the library they were computed for."""
    mean: list[float]
    """Averaged over the pairs of rates; sums to 1."""
    rows: list[list[float]]
    """Per pair of rates."""

    @property
    def top(self) -> int:
        """Index of the most probable regime."""
        return max(range(len(self.mean)), key=self.mean.__getitem__)


def dump_regime(regime: Regime) -> dict[str, Any]:
    """Return a regime as JSON-ready values."""
    return {
        "id": regime.id,
        "n": regime.n,
        "use": regime.use,
        "mass": regime.mass,
        "centroid": regime.centroid,
        "error": regime.error,
        **_dump_mixture(regime.mixture),
    }


def load_regime(row: Mapping[str, Any], *, quadratic: bool) -> Regime:
    """Return the regime that was dumped; raises KeyError, TypeError or ValueError if it is damaged."""
    c, d, p = (float(value) for value in row["centroid"])
    return Regime(
        id=int(row["id"]),
        mixture=_load_mixture(row, quadratic=quadratic),
        n=int(row["n"]),
        use=float(row["use"]),
        mass=float(row["mass"]),
        centroid=[c, d, p],
        error=float(row["error"]),
    )


def dump_rivals(rivals: Rivals) -> dict[str, Any]:
    """Return the rivals as JSON-ready values."""
    return {
        "labels": rivals.labels,
        "flips": list(rivals.flips),
        "challengers": [
            {"evidence": challenger.evidence, "n": challenger.n, **_dump_mixture(challenger.mixture)}
            for challenger in rivals.challengers
        ],
    }


def load_rivals(state: Mapping[str, Any], *, quadratic: bool) -> Rivals:
    """Return the rivals that were dumped; raises KeyError, TypeError or ValueError if they are damaged."""
    one, two = (float(value) for value in state["flips"])
    challengers = [
        Challenger(_load_mixture(row, quadratic=quadratic), evidence=float(row["evidence"]), n=int(row["n"]))
        for row in state["challengers"]
    ]
    return Rivals(challengers=challengers, flips=[one, two], labels=int(state["labels"]))


def load_rows(rows: Sequence[Sequence[float]], *, width: int, pairs: int) -> list[list[float]]:
    """Return posterior rows.

    Raises:
        ValueError: They do not fit the number of regimes and of pairs of rates.
    """
    loaded = [[float(value) for value in row] for row in rows]
    if len(loaded) != pairs or any(len(row) != width for row in loaded):
        raise ValueError(f"the posterior is not {pairs} rows of {width}")
    return loaded


def readable(regime: Regime, posterior: float) -> dict[str, Any]:
    """Return a regime for people: what it says, where, how sure, how well it predicted."""
    mixture = regime.mixture
    heaviest = mixture.heaviest
    head = mixture.heads[heaviest]
    size = len(head.mean)
    total = sum(mixture.shares)
    return {
        "id": regime.id,
        "n": regime.n,
        "confidence": round(1.0 - regime.error, 4),
        "predErr": round(regime.error, 4),
        "situationCentroid": dict(zip(FEATURES[1:4], (round(value, 4) for value in regime.centroid), strict=True)),
        "readoutWeights": dict(zip(FEATURES, (round(value, 4) for value in head.mean), strict=False)),
        "sd": dict(
            zip(FEATURES, (round(head.covariance[i * (size + 1)] ** 0.5, 4) for i in range(size)), strict=False)
        ),
        "posterior": round(posterior, 4),
        "use": round(regime.use, 4),
        "headWeights": dict(
            zip(("affine", "quadratic"), (round(share / total, 4) for share in mixture.shares), strict=False)
        ),
        "rule": _rule(head.mean),
    }


def _rule(mean: Sequence[float]) -> str:
    """Return one clause such as "critical when criticality_hint is low"."""
    slopes = list(zip(FEATURES[1:4], mean[1:4], strict=True))
    largest = max(abs(slope) for _, slope in slopes)
    if largest == 0.0:
        return "nothing learnt yet"
    telling = [(name, slope) for name, slope in slopes if abs(slope) >= TELLING * largest]
    telling.sort(key=lambda part: -abs(part[1]))
    return "critical when " + " and ".join(f"{name} is {'high' if slope > 0 else 'low'}" for name, slope in telling)


def _dump_mixture(mixture: Mixture) -> dict[str, Any]:
    return {
        "logWeights": list(mixture.log_weights),
        "means": [list(head.mean) for head in mixture.heads],
        "covariances": [_pack(head) for head in mixture.heads],
    }


def _load_mixture(row: Mapping[str, Any], *, quadratic: bool) -> Mixture:
    mixture = Mixture(quadratic=quadratic)
    if not len(row["means"]) == len(row["covariances"]) == len(row["logWeights"]) == len(mixture.heads):
        raise ValueError("the read-outs are of another kind (affine only, or affine and quadratic)")
    for head, mean, packed in zip(mixture.heads, row["means"], row["covariances"], strict=True):
        if len(mean) != len(head.mean):
            raise ValueError(f"{len(mean)} weights in place of {len(head.mean)}")
        head.mean = [float(value) for value in mean]
        _unpack(head, packed)
    mixture.log_weights = [float(value) for value in row["logWeights"]]
    return mixture


def _pack(head: Head) -> str:
    """Return the upper triangle of a covariance, row by row, as base64 of little-endian doubles: exact and short."""
    size = len(head.mean)
    triangle = [head.covariance[i * size + j] for i in range(size) for j in range(i, size)]
    return base64.b64encode(struct.pack(f"<{len(triangle)}d", *triangle)).decode("ascii")


def _unpack(head: Head, packed: str) -> None:
    size = len(head.mean)
    count = size * (size + 1) // 2
    data = base64.b64decode(packed, validate=True)
    if len(data) != 8 * count:
        raise ValueError(f"a covariance of {len(data)} bytes in place of {8 * count}")
    values = iter(struct.unpack(f"<{count}d", data))
    for i in range(size):
        for j in range(i, size):
            head.covariance[i * size + j] = head.covariance[j * size + i] = next(values)
