"""Policy `regime`: prototypes are rules found by their prediction residual, and deliberation is bought where it pays.

A rule that reverses leaves the inputs distributed as before, so similarity of inputs cannot see it; the labels can. Each
regime holds a Bayesian read-out (`readout`), a sticky filter says which regime is at work (`hazard`), rivals on probation
make new ones (`rivals`). System 2 is chosen where it lowers the expected cost.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import mul
from typing import Any, Literal

from scheduler import hazard
from scheduler.errors import InvalidInputError
from scheduler.hazard import Belief
from scheduler.policy import (
    Decided,
    Experience,
    Facts,
    Label,
    Reported,
    TaskEnded,
    TaskStarted,
    clamp01,
    compact_threshold,
    critical_threshold,
    label_from_facts,
)
from scheduler.readout import FEATURES, FIRST_MEAN, NEGLIGIBLE, Mixture, Situation, likelihood, prior_sd
from scheduler.rivals import FLIP_LABELS, Challenger, Rivals, promote_flip
from scheduler.types import Costs, Decision, Signals, number, unit

MAX_REGIMES = 6
RESPONSIBLE = 0.1
"""Posterior from which a regime learns a label."""
PROMOTED_SHARE = 0.9
"""Probability a promoted regime starts with in the session that found it."""
FOREIGN_SHARE = 0.1
"""Probability it starts with in the library's other sessions."""
USE_MEMORY = 0.998
UNLIKELY = 0.002
"""Prior below which a regime is left out of decisions."""
BOLDNESS, TIMID = 0.5, 0.02
"""Standard deviations of optimism when no System 2 step is labelled; value below which there is none."""
LABEL_MEMORY = 0.98
BINS = 5
REWORK_FAILURES, REWORK_STEPS = 0.05, 10.0
"""Prior pseudo-counts of the rework rate per bin of pollution."""
SURPRISE_MEMORY = 0.8
ERROR_MEMORY = 0.85
MU_RATE, MU_MIN, MU_MAX = 0.15, 0.2, 20.0


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


@dataclass(slots=True)
class RegimeTrack:
    """What one session believes about the regime at work."""

    belief: Belief
    ids: list[int]
    """Regimes behind the columns of `belief`."""
    fresh: bool = True
    """No label has arrived since the task began, so the hazard of a new task holds."""
    surprise: float = 0.0
    last: int | None = None
    """Most probable regime at the last decision."""
    shifted: bool = False
    """A regime was promoted since the last decision."""
    _prior: tuple[int, list[list[float]], list[float]] | None = None


class RegimeBank:
    """The regime policy.

    Args:
        costs: What the two modes cost.
        max_regimes: Cap of the library, 1 to 16; the least used regime makes room.
        tau: Log evidence that promotes a challenger, .1 to 20.
        every: Labels between two fresh challengers, at least 1.
        task_rates: Rates of change between tasks that are averaged over, each in (0, 1).
        step_rates: Rates of change between labels that are averaged over, each in (0, 1).
        flips: Whether reversals of the most probable regime stand as rivals.
        quadratic: Whether regimes hold a quadratic read-out beside the affine one.
        explore: `auto`: try System 1 more as System 2 steps go unlabelled; `greedy`: never.
        rework: Whether the learnt rework rate of System 2 enters the cost.
        threshold: Probability in [0, 1] that replaces the one from the costs.
        miss_target: Share of tasks in [0, 1] that may hold a miss; the shadow price mu is moved to meet it.
        compact_cost: Cost of shortening the context, in the unit of the costs.
    """

    name = "regime"

    def __init__(
        self,
        costs: Costs | None = None,
        *,
        max_regimes: int = MAX_REGIMES,
        tau: float = 3.5,
        every: int = 4,
        task_rates: Sequence[float] = hazard.TASK_RATES,
        step_rates: Sequence[float] = hazard.STEP_RATES,
        flips: bool = True,
        quadratic: bool = True,
        explore: Literal["auto", "greedy"] = "auto",
        rework: bool = True,
        threshold: float | None = None,
        miss_target: float | None = None,
        compact_cost: float = 0.5,
    ) -> None:
        self.costs = costs or Costs()
        self.mu = 1.0
        self._max_regimes = int(_within("max_regimes", max_regimes, 1, 16))
        self._tau = _within("tau", tau, 0.1, 20.0)
        self._every = int(_within("every", every, 1, math.inf))
        self._task_rates = [_rate("task_rates", rate) for _ in step_rates for rate in task_rates]
        pairs = [(_rate("task_rates", task), _rate("step_rates", step)) for task in task_rates for step in step_rates]
        self._task_rates, self._step_rates = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        self._flips, self._quadratic, self._rework = flips, quadratic, rework
        if explore not in ("auto", "greedy"):
            raise InvalidInputError("explore", f"{explore!r} is neither 'auto' nor 'greedy'")
        self._explore = explore == "auto"
        self._threshold = None if threshold is None else unit("threshold", threshold)
        self._miss_target = None if miss_target is None else unit("miss_target", miss_target)
        self._compact_cost = _within("compact_cost", compact_cost, 0.0, math.inf)

        self._regimes = [Regime(1, Mixture(FIRST_MEAN, quadratic=quadratic))]
        self._next_id = 2
        self._weights = [1.0 / len(pairs)] * len(pairs)
        self._belief = [[1.0] for _ in pairs]
        self._rivals = Rivals()
        self._n_labels = 0
        self._deep_steps = self._deep_labels = 1.0
        self._reworks = [[0.0, 0.0] for _ in range(BINS)]
        self._version = 0

    @property
    def n_prototypes(self) -> int:
        """Regimes in the library."""
        return len(self._regimes)

    @property
    def n_labels(self) -> int:
        """Labels learnt from."""
        return self._n_labels

    def track(self) -> RegimeTrack:
        """Return a session that starts from what the library's last session believed."""
        return RegimeTrack(Belief([list(row) for row in self._belief]), [regime.id for regime in self._regimes])

    def decide(
        self, track: RegimeTrack, signals: Signals, pollution: float, *, decision_id: str, probe_due: bool
    ) -> Decision:
        """Choose the mode of lower expected cost, or try System 1 where nothing else would bring a label."""
        x = Situation.of(signals, quadratic=self._quadratic)
        prior = self._prior(track)[1]
        top = max(range(len(prior)), key=prior.__getitem__)
        best = self._regimes[top]
        p = self._probability(x, prior, best)
        rework = self._rework_rate(pollution)
        costs, mu = self.costs, self.mu
        threshold = critical_threshold(costs, mu, rework) if self._threshold is None else self._threshold
        worth = p > threshold
        explore = worth and self._too_timid(x, prior, threshold)
        deep = worth and not explore
        shifted = track.shifted or (track.last is not None and track.last != best.id)
        track.last, track.shifted = best.id, False
        at_stake = mu * p * (costs.deep + costs.damage)
        redone = p * rework * costs.deep
        heaviest = best.mixture.heaviest
        head = best.mixture.heads[heaviest]
        phi = x.phi[heaviest]
        sd = math.sqrt(head.moments(phi, x.outer[heaviest])[1])
        rates = self._task_rates if track.fresh else self._step_rates
        return Decision(
            decision_id=decision_id,
            mode="system2" if deep else "system1",
            policy=self.name,
            p_critical=p,
            criticality_estimate=p,
            threshold=threshold,
            familiarity=1.0 - track.surprise,
            surprise=track.surprise,
            confidence=clamp01(1.0 - sd / prior_sd(x, heaviest)),
            mu=mu,
            rob_gain=at_stake,
            eco_cost=costs.deep - costs.cheap + redone,
            expected_cost_s1=costs.cheap + at_stake,
            expected_cost_s2=costs.deep + redone,
            regime_shift=shifted,
            suggest_compact=deep and (pollution > compact_threshold(mu) or redone > self._compact_cost),
            regime_id=best.id,
            regime_posterior=prior[top],
            hazard=sum(map(mul, self._weights, rates)),
            sd=sd,
            contributions=dict(zip(FEATURES, map(mul, head.mean, phi), strict=False)),
            explore=explore,
            probe=deep and probe_due,
            n_labels=self._n_labels,
        )

    def estimate(self, track: RegimeTrack, signals: Signals) -> float:
        """Return the present probability in (0, 1) that System 1 fails on this step."""
        x = Situation.of(signals, quadratic=self._quadratic)
        prior = self._prior(track)[1]
        return self._probability(x, prior, self._regimes[max(range(len(prior)), key=prior.__getitem__)])

    def label(self, facts: Facts, estimate: float) -> Label:
        """Derive a label from what was verified."""
        return label_from_facts(facts, estimate)

    def observe(self, track: RegimeTrack, experience: Experience) -> None:
        """Learn labels and reworks; a decision for System 2 only counts for exploration."""
        if isinstance(experience, Decided):
            if experience.mode == "system2":
                self._deep_steps = LABEL_MEMORY * self._deep_steps + 1.0
                self._deep_labels *= LABEL_MEMORY
        elif isinstance(experience, TaskStarted):
            track.fresh, track._prior = True, None
        elif isinstance(experience, TaskEnded):
            if self._miss_target is not None:
                self.mu *= math.exp(MU_RATE * ((not experience.success) - self._miss_target))
                self.mu = max(MU_MIN, min(MU_MAX, self.mu))
        else:
            self._take(track, experience)

    def _take(self, track: RegimeTrack, report: Reported) -> None:
        if report.mode == "system2" and not report.late:
            cell = self._reworks[_bin(report.pollution)]
            cell[0] += report.rework
            cell[1] += 1.0
        label = report.label
        if label.value is None:
            return
        if report.mode == "system2":
            self._deep_labels += label.weight
        self._learn(track, report.signals, label.value, label.weight)

    def _learn(self, track: RegimeTrack, signals: Signals, y: float, weight: float) -> None:
        x = Situation.of(signals, quadratic=self._quadratic)
        _, mean_prior, rows = self._prior(track)
        predictions = [regime.mixture.predict(x) for regime in self._regimes]
        clipped = [likelihood(p, 1.0) for p in predictions]
        library = likelihood(sum(map(mul, mean_prior, clipped)), y)
        best = self._regimes[max(range(len(mean_prior)), key=mean_prior.__getitem__)]
        track.surprise = SURPRISE_MEMORY * track.surprise + (1.0 - SURPRISE_MEMORY) * (1.0 - library)
        if self._flips:
            self._rivals.learn_flips(x, best.mixture, y, weight, library)
        self._rivals.learn_challengers(x, y, weight, library)

        fits = [likelihood(p, y) ** weight for p in predictions]
        track.belief.rows, self._weights = hazard.condition(rows, self._weights, fits)
        posterior = track.belief.mean(self._weights)
        for regime, share, p in zip(self._regimes, posterior, predictions, strict=True):
            regime.use = USE_MEMORY * regime.use + share
            if share > RESPONSIBLE or len(self._regimes) == 1:
                _teach(regime, x, signals, y, weight * share, p)
        self._n_labels += 1
        track.fresh = False
        self._promote(track, best)
        self._rivals.refresh(self._every, quadratic=self._quadratic)
        self._version += 1
        self._belief = [list(row) for row in track.belief.rows]

    def _promote(self, track: RegimeTrack, best: Regime) -> None:
        """Make a regime of a rival whose evidence suffices."""
        flip = self._rivals.winning_flip()
        challenger = None if flip is not None else self._rivals.winning_challenger(self._tau)
        if flip is not None:
            self._admit(track, Regime(self._next_id, promote_flip(best.mixture, flip), n=FLIP_LABELS))
        elif challenger is not None:
            self._admit(track, Regime(self._next_id, challenger.mixture, n=challenger.n))

    def _admit(self, track: RegimeTrack, regime: Regime) -> None:
        if len(self._regimes) >= self._max_regimes:
            index = min(range(len(self._regimes)), key=lambda i: self._regimes[i].use)
            del self._regimes[index]
            if self._regimes:
                track.belief.drop(index)
            else:
                track.belief.rows = [[] for _ in track.belief.rows]
        self._regimes.append(regime)
        self._next_id += 1
        track.belief.add(PROMOTED_SHARE if len(self._regimes) > 1 else 1.0)
        track.ids = [r.id for r in self._regimes]
        track.shifted = True
        self._rivals.clear()

    def _prior(self, track: RegimeTrack) -> tuple[int, list[float], list[list[float]]]:
        """Return version, mean prior over the regimes and the prior per pair of rates, before the next label."""
        cached = track._prior
        if cached is None or cached[0] != self._version:
            self._align(track)
            arrivals = hazard.arrival_shares([regime.use for regime in self._regimes])
            rates = self._task_rates if track.fresh else self._step_rates
            rows = hazard.propagate(track.belief.rows, rates, arrivals)
            mean = [sum(map(mul, self._weights, column)) for column in zip(*rows, strict=True)]
            cached = track._prior = (self._version, mean, rows)
        return cached

    def _align(self, track: RegimeTrack) -> None:
        """Bring a session up to date with regimes that other sessions founded or pushed out."""
        ids = [regime.id for regime in self._regimes]
        if track.ids == ids:
            return
        for gone in [i for i in track.ids if i not in ids]:
            index = track.ids.index(gone)
            track.ids.pop(index)
            if track.ids:
                track.belief.drop(index)
            else:
                track.belief.rows = [[] for _ in track.belief.rows]
        for new in ids[len(track.ids) :]:
            track.belief.add(FOREIGN_SHARE if track.ids else 1.0)
            track.ids.append(new)

    def _probability(self, x: Situation, prior: Sequence[float], best: Regime) -> float:
        """Return the library's prediction with the rivals' votes."""
        total = probability = 0.0
        for regime, share in zip(self._regimes, prior, strict=True):
            if share > UNLIKELY:
                total += share
                probability += share * likelihood(regime.mixture.predict(x, floor=NEGLIGIBLE), 1.0)
        weight, product = self._rivals.votes(x, best.mixture, floor=NEGLIGIBLE)
        return (probability / total + product) / (1.0 + weight)

    def _too_timid(self, x: Situation, prior: Sequence[float], threshold: float) -> bool:
        """Whether System 1 should be tried: System 2 steps go unlabelled and the rule is uncertain enough."""
        beta = BOLDNESS * (1.0 - self._deep_labels / self._deep_steps)
        if not self._explore or beta < TIMID:
            return False
        hopeful = 0.0
        for regime, share in zip(self._regimes, prior, strict=True):
            if share > UNLIKELY:
                hopeful += share * regime.mixture.optimistic(x, beta)
        return hopeful <= threshold

    def _rework_rate(self, pollution: float) -> float:
        if not self._rework:
            return 0.0
        failures, steps = self._reworks[_bin(pollution)]
        return (REWORK_FAILURES + failures) / (REWORK_STEPS + steps)


def _teach(regime: Regime, x: Situation, signals: Signals, y: float, weight: float, predicted: float) -> None:
    regime.mixture.learn(x, y, weight)
    regime.n += 1
    regime.error = ERROR_MEMORY * regime.error + (1.0 - ERROR_MEMORY) * abs(y - predicted)
    regime.mass += weight
    pull = weight / regime.mass if regime.mass > 0.0 else 0.0
    point = (signals.criticality_hint, signals.difficulty_hint, signals.progress)
    regime.centroid = [old + pull * (new - old) for old, new in zip(regime.centroid, point, strict=True)]


def _bin(pollution: float) -> int:
    return min(BINS - 1, int(pollution * BINS))


def _within(field: str, value: object, low: float, high: float) -> float:
    result = number(field, value)
    if not low <= result <= high:
        raise InvalidInputError(field, f"{value!r} is outside [{low}, {high}]")
    return result


def _rate(field: str, value: object) -> float:
    result = number(field, value)
    if not 0.0 < result < 1.0:
        raise InvalidInputError(field, f"{value!r} is outside (0, 1)")
    return result
