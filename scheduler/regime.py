"""Policy `regime`: prototypes are rules found by their prediction residual, and deliberation is bought where it pays.

A rule that reverses leaves the inputs distributed as before, so similarity of inputs cannot see it; the labels can. Each
regime holds a Bayesian read-out (`readout`), a sticky filter says which regime is at work (`hazard`), rivals on probation
make new ones (`rivals`). System 2 is chosen where it lowers the expected cost.
"""

import math
from collections.abc import Mapping
from operator import mul
from typing import Any

from scheduler import hazard
from scheduler.errors import StateError
from scheduler.experience import Decided, Experience, Label, Reported, TaskEnded, TaskStarted
from scheduler.hazard import Belief
from scheduler.policy import Facts, Question, clamp01, compact_threshold, critical_threshold, label_from_facts
from scheduler.readout import FEATURES, FIRST_MEAN, NEGLIGIBLE, Mixture, Situation, likelihood, prior_sd
from scheduler.regime_knobs import Knobs
from scheduler.regime_state import (
    Prior,
    Regime,
    RegimeTrack,
    dump_regime,
    dump_rivals,
    load_regime,
    load_rivals,
    load_rows,
    readable,
)
from scheduler.rivals import FLIP_LABELS, Rivals, promote_flip
from scheduler.types import Decision, Signals

RESPONSIBLE = 0.1
"""Posterior from which a regime learns a label."""
PROMOTED_SHARE = 0.9
"""Probability a promoted regime starts with in the session that found it."""
FOREIGN_SHARE = 0.1
"""Probability it starts with in the library's other sessions."""
USE_MEMORY = 0.998
UNLIKELY = 0.002
"""Prior below which a regime is left out of decisions."""
BOLDNESS, TIMID = 1.0, 0.02
"""Standard deviations of optimism when every step is System 2 and none is labelled; value below which there is none.

In proportion to the share of System 2, because System 1 steps bring labels anyway. Chosen on seeds of its own, where it
lowered the regret by 4 % against .5 at any share where failures are seen only in part. On the seeds of the results
`silent` has 8.5 less regret by it and `rare_partial` 6.5 more, within its ceiling.
"""
LABEL_MEMORY = 0.98
BINS = 5
"""Equal bins of pollution in the rework table."""
REWORK_FAILURES, REWORK_STEPS = 0.05, 10.0
"""Prior pseudo-counts of the rework rate per bin of pollution."""
SURPRISE_MEMORY = 0.8
MU_RATE, MU_MIN, MU_MAX = 0.15, 0.2, 20.0


class RegimeBank:
    """The regime policy; `regime_knobs.Knobs` documents the settings."""

    name = "regime"

    def __init__(self, knobs: Knobs | None = None) -> None:
        self.knobs = Knobs() if knobs is None else knobs
        self.mu = 1.0
        self._task_rates = [task for task, _ in self.knobs.pairs()]
        self._step_rates = [step for _, step in self.knobs.pairs()]
        self._regimes = [Regime(1, Mixture(FIRST_MEAN, quadratic=self.knobs.quadratic))]
        self._next_id = 2
        self._weights = [1.0 / len(self._task_rates)] * len(self._task_rates)
        """Probability of each pair of rates."""
        self._belief = [[1.0] for _ in self._task_rates]
        """Posterior of whichever session learnt last; where the next session starts."""
        self._rivals = Rivals()
        self._n_labels = 0
        self._deep_steps = self._deep_labels = 1.0
        self._deep_share = 0.0
        """Running share of System 2 among the decisions."""
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

    def decide(self, track: RegimeTrack, question: Question) -> Decision:
        """Choose the mode of lower expected cost, or try System 1 where nothing else would bring a label."""
        costs, pollution, mu = question.costs, question.pollution, self.mu
        x = self._situation(question.signals)
        prior = self._prior(track)
        best = self._regimes[prior.top]
        p = self._probability(x, prior, best)
        rework = self._rework_rate(pollution)
        threshold = self.knobs.threshold
        if threshold is None:
            threshold = critical_threshold(costs, mu, rework)
        explore = p > threshold and self._is_tried(x, prior, threshold)
        deep = p > threshold and not explore
        shifted = track.shifted or (track.last is not None and track.last != best.id)
        track.last, track.shifted = best.id, False

        at_stake, redone = mu * p * costs.failure, p * rework * costs.deep
        heaviest = best.mixture.heaviest
        head, phi = best.mixture.heads[heaviest], x.phi[heaviest]
        sd = math.sqrt(head.moments(phi, x.outer[heaviest])[1])
        rates = self._task_rates if track.fresh else self._step_rates
        return Decision(
            decision_id=question.decision_id,
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
            suggest_compact=deep and (pollution > compact_threshold(mu) or redone > self.knobs.compact_cost),
            regime_id=best.id,
            regime_posterior=prior.mean[prior.top],
            hazard=sum(map(mul, self._weights, rates)),
            sd=sd,
            contributions=dict(zip(FEATURES, map(mul, head.mean, phi), strict=False)),
            explore=explore,
            probe=deep and question.probe_due,
            n_labels=self._n_labels,
        )

    def estimate(self, track: RegimeTrack, signals: Signals) -> float:
        """Return the present probability in (0, 1) that System 1 fails on this step."""
        prior = self._prior(track)
        return self._probability(self._situation(signals), prior, self._regimes[prior.top])

    def label(self, facts: Facts, estimate: float) -> Label:
        """Derive a label from what was verified."""
        return label_from_facts(facts, estimate)

    def observe(self, track: RegimeTrack, experience: Experience) -> None:
        """Learn labels and reworks; a decision only counts for exploration."""
        match experience:
            case Decided(mode=mode):
                self._count(deep=mode == "system2")
            case TaskStarted():
                track.fresh, track.prior = True, None
            case TaskEnded(success=success):
                self._reprice(success)
            case Reported():
                self._take(track, experience)

    def _count(self, *, deep: bool) -> None:
        """Note a decision, for exploration."""
        self._deep_share = LABEL_MEMORY * self._deep_share + (1.0 - LABEL_MEMORY) * deep
        if deep:
            self._deep_steps = LABEL_MEMORY * self._deep_steps + 1.0
            self._deep_labels *= LABEL_MEMORY

    def _reprice(self, success: bool) -> None:
        target = self.knobs.miss_target
        if target is not None:
            self.mu = max(MU_MIN, min(MU_MAX, self.mu * math.exp(MU_RATE * ((not success) - target))))

    def _take(self, track: RegimeTrack, report: Reported) -> None:
        label, deep = report.label, report.mode == "system2"
        if deep and not report.late:
            cell = self._reworks[_bin(report.pollution)]
            cell[0] += report.rework
            cell[1] += 1.0
        if label.value is None:
            return
        if deep:
            self._deep_labels += label.weight
        self._learn(track, report.signals, label.value, label.weight)

    def _learn(self, track: RegimeTrack, signals: Signals, y: float, weight: float) -> None:
        """Learn one label: rivals and filter are judged by what they said before, then everyone learns."""
        x = self._situation(signals)
        prior = self._prior(track)
        best = self._regimes[prior.top]
        predictions = [regime.mixture.predict(x) for regime in self._regimes]
        expected = sum(share * likelihood(p, 1.0) for share, p in zip(prior.mean, predictions, strict=True))
        library = likelihood(expected, y)
        track.surprise = SURPRISE_MEMORY * track.surprise + (1.0 - SURPRISE_MEMORY) * (1.0 - library)
        if self.knobs.flips:
            self._rivals.learn_flips(x, best.mixture, y, weight, library)
        self._rivals.learn_challengers(x, y, weight, library)

        fits = [likelihood(p, y) ** weight for p in predictions]
        track.belief.rows, self._weights = hazard.condition(prior.rows, self._weights, fits)
        posterior = track.belief.mean(self._weights)
        for regime, share, p in zip(self._regimes, posterior, predictions, strict=True):
            regime.use = USE_MEMORY * regime.use + share
            if share > RESPONSIBLE or len(self._regimes) == 1:
                regime.learn(x, signals, y, weight * share, p)
        self._promote(track, best)
        self._rivals.refresh(self.knobs.every, quadratic=self.knobs.quadratic)
        track.fresh = False
        self._n_labels += 1
        self._version += 1
        self._belief = [list(row) for row in track.belief.rows]

    def _promote(self, track: RegimeTrack, best: Regime) -> None:
        """Make a regime of a rival whose evidence suffices."""
        flip = self._rivals.winning_flip()
        challenger = None if flip is not None else self._rivals.winning_challenger(self.knobs.tau)
        if flip is not None:
            promoted = Regime(self._next_id, promote_flip(best.mixture, flip), n=FLIP_LABELS)
        elif challenger is not None:
            promoted = Regime(self._next_id, challenger.mixture, n=challenger.n)
        else:
            return
        if len(self._regimes) >= self.knobs.max_regimes:
            index = min(range(len(self._regimes)), key=lambda i: self._regimes[i].use)
            del self._regimes[index]
            track.belief.drop(index)
        track.belief.add(PROMOTED_SHARE if self._regimes else 1.0)
        self._regimes.append(promoted)
        self._next_id += 1
        track.ids = [regime.id for regime in self._regimes]
        track.shifted = True
        self._rivals.clear()

    def _prior(self, track: RegimeTrack) -> Prior:
        """Return the probabilities of the regimes before the next label of this session."""
        prior = track.prior
        if prior is None or prior.version != self._version:
            self._align(track)
            arrivals = hazard.arrival_shares([regime.use for regime in self._regimes])
            rows = hazard.propagate(track.belief.rows, self._task_rates if track.fresh else self._step_rates, arrivals)
            prior = track.prior = Prior(self._version, Belief(rows).mean(self._weights), rows)
        return prior

    def _align(self, track: RegimeTrack) -> None:
        """Bring a session up to date with regimes that other sessions founded or pushed out."""
        ids = [regime.id for regime in self._regimes]
        if track.ids == ids:
            return
        for index in reversed([i for i, known in enumerate(track.ids) if known not in ids]):
            del track.ids[index]
            track.belief.drop(index)
        for new in ids[len(track.ids) :]:
            track.belief.add(FOREIGN_SHARE if track.ids else 1.0)
            track.ids.append(new)

    def _probability(self, x: Situation, prior: Prior, best: Regime) -> float:
        """Return the library's prediction with the rivals' votes."""
        total = probability = 0.0
        for regime, share in zip(self._regimes, prior.mean, strict=True):
            if share > UNLIKELY:
                total += share
                probability += share * likelihood(regime.mixture.predict(x, floor=NEGLIGIBLE), 1.0)
        weight, product = self._rivals.votes(x, best.mixture, floor=NEGLIGIBLE)
        return (probability / total + product) / (1.0 + weight)

    def _is_tried(self, x: Situation, prior: Prior, threshold: float) -> bool:
        """Whether System 1 is tried although it should fail: System 2 goes unlabelled and the rule is uncertain."""
        beta = BOLDNESS * self._deep_share * (1.0 - self._deep_labels / self._deep_steps)
        if self.knobs.explore == "greedy" or beta < TIMID:
            return False
        hopeful = 0.0
        for regime, share in zip(self._regimes, prior.mean, strict=True):
            if share > UNLIKELY:
                hopeful += share * regime.mixture.optimistic(x, beta)
        return hopeful <= threshold

    def _rework_rate(self, pollution: float) -> float:
        """Return the learnt probability that System 2 goes astray at this pollution."""
        if not self.knobs.rework:
            return 0.0
        failures, steps = self._reworks[_bin(pollution)]
        return (REWORK_FAILURES + failures) / (REWORK_STEPS + steps)

    def _situation(self, signals: Signals) -> Situation:
        return Situation.of(signals, quadratic=self.knobs.quadratic)

    def dump(self) -> dict[str, Any]:
        """Return the library as JSON-ready values."""
        return {
            "mu": self.mu,
            "nLabels": self._n_labels,
            "nextId": self._next_id,
            "hazards": {"taskRates": self._task_rates, "stepRates": self._step_rates, "weights": self._weights},
            "belief": self._belief,
            "regimes": [dump_regime(regime) for regime in self._regimes],
            "rivals": dump_rivals(self._rivals),
            "deep": [self._deep_steps, self._deep_labels, self._deep_share],
            "reworks": self._reworks,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Replace the library by a dumped one.

        The weights of the pairs of rates start anew where the rates are set otherwise than they were.

        Raises:
            StateError: A field is missing or of the wrong kind, or the read-outs are of another kind.
        """
        fresh = RegimeBank(self.knobs)
        try:
            fresh.mu = float(state["mu"])
            fresh._n_labels, fresh._next_id = int(state["nLabels"]), int(state["nextId"])
            fresh._regimes = [load_regime(row, quadratic=self.knobs.quadratic) for row in state["regimes"]]
            fresh._rivals = load_rivals(state["rivals"], quadratic=self.knobs.quadratic)
            fresh._deep_steps, fresh._deep_labels, fresh._deep_share = (float(value) for value in state["deep"])
            fresh._reworks = [[float(failures), float(steps)] for failures, steps in state["reworks"]]
            fresh._restore_filter(state)
        except (KeyError, TypeError, ValueError) as error:
            raise StateError(f"damaged regime library: {error!r}") from error
        if not fresh._regimes or len(fresh._reworks) != BINS:
            raise StateError("damaged regime library: no regime, or a rework table of another size")
        fresh._trim()
        fresh._version = self._version + 1
        self.__dict__.update(fresh.__dict__)

    def _restore_filter(self, state: Mapping[str, Any]) -> None:
        rates = state["hazards"]
        pairs, width = len(self._task_rates), len(self._regimes)
        if [rates["taskRates"], rates["stepRates"]] == [self._task_rates, self._step_rates]:
            self._weights = [float(weight) for weight in rates["weights"]]
            self._belief = load_rows(state["belief"], width=width, pairs=pairs)
        else:
            mean = Belief([[float(v) for v in row] for row in state["belief"]]).mean(rates["weights"])
            self._belief = [list(mean) for _ in range(pairs)]

    def _trim(self) -> None:
        """Push out the least used regimes of a library that was allowed more of them."""
        belief = Belief(self._belief)
        while len(self._regimes) > self.knobs.max_regimes:
            index = min(range(len(self._regimes)), key=lambda i: self._regimes[i].use)
            del self._regimes[index]
            belief.drop(index)

    def dump_track(self, track: RegimeTrack) -> dict[str, Any]:
        """Return the track as JSON-ready values."""
        return {
            "belief": track.belief.rows,
            "ids": track.ids,
            "fresh": track.fresh,
            "surprise": track.surprise,
            "last": track.last,
            "shifted": track.shifted,
        }

    def restore_track(self, state: Mapping[str, Any]) -> RegimeTrack:
        """Return the track that was dumped.

        Raises:
            StateError: A field is missing or of the wrong kind.
        """
        try:
            ids = [int(i) for i in state["ids"]]
            rows = load_rows(state["belief"], width=len(ids), pairs=len(self._task_rates))
            return RegimeTrack(
                belief=Belief(rows),
                ids=ids,
                fresh=bool(state["fresh"]),
                surprise=float(state["surprise"]),
                last=state["last"],
                shifted=bool(state["shifted"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise StateError(f"damaged track: {error!r}") from error

    def prototypes(self) -> list[dict[str, Any]]:
        """Return every regime: id, n, confidence, predErr, situationCentroid, readoutWeights, sd, posterior, rule, ..."""
        posterior = Belief(self._belief).mean(self._weights)
        return [readable(regime, share) for regime, share in zip(self._regimes, posterior, strict=True)]


def _bin(pollution: float) -> int:
    return min(BINS - 1, int(pollution * BINS))
