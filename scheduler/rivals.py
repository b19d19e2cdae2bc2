"""Prototypes on probation: they vote as their evidence grows, and are promoted when it is strong.

Challengers learn the rule of the last few labels from nothing. Flips learn nothing: they read the most probable regime
with its main signals reversed, so that a reversal of a known rule is recognised within a few labels. The ratio of a
rival's likelihood to the library's is a test martingale where the library is right, so a challenger is promoted by
mistake with probability at most e^-3.5 (Ville 1939).
"""

import math
from dataclasses import dataclass, field

from scheduler.readout import Mixture, Situation, likelihood

EVERY = 4
"""Labels between two fresh challengers."""
ALIVE = 4
"""Challengers alive at most; the worst makes room."""
HOPELESS = -4.0
"""Log evidence at which a challenger is dropped."""
LIFETIME = 40
"""Labels after which a challenger without promotion is dropped."""
PROMOTED_LABELS = 5
"""Labels that a challenger must have seen to be promoted."""
VOTE = 0.02
"""Weight of a challenger's vote without evidence; rivals of this weight or less stay silent."""
LOUDEST = 9.0
"""Log evidence above which a challenger's vote grows no more."""
FLIP_SEED, FLIP_LIMIT, FLIP_PROMOTED = 0.002, 1e6, 4.0
FLIP_LABELS = 5
"""Labels a promoted flip is taken to have seen."""
FLIP_WIDEN = 0.1
"""Share of the prior variance that a promoted flip is given back."""
SIGNS = (
    (1.0, -1.0, 1.0, 1.0, 1.0, 1.0, 1.0, -1.0, -1.0, 1.0),
    (1.0, -1.0, -1.0, 1.0, 1.0, 1.0, 1.0, 1.0, -1.0, -1.0),
)
"""Features negated by reversing the criticality hint, and by reversing both hints."""


@dataclass(slots=True)
class Challenger:
    """A prototype that starts from nothing and has to beat the library."""

    mixture: Mixture
    evidence: float = 0.0
    """Log of its likelihood over the library's, summed over the labels it has seen."""
    n: int = 0

    @property
    def vote(self) -> float:
        """Weight beside the library's 1."""
        return VOTE * math.exp(min(LOUDEST, self.evidence))


@dataclass(slots=True)
class Rivals:
    """All rivals of one library."""

    challengers: list[Challenger] = field(default_factory=list)
    flips: list[float] = field(default_factory=lambda: [0.0, 0.0])
    """Evidence ratio of the two flips."""
    labels: int = 0
    """Labels seen; sets the rhythm of fresh challengers."""

    def clear(self) -> None:
        """Start anew after a promotion."""
        self.challengers = []
        self.flips = [0.0, 0.0]

    def votes(self, x: Situation, best: Mixture, *, floor: float) -> tuple[float, float]:
        """Return the sum of the votes' weights and of weight times predicted probability."""
        weight = product = 0.0
        for challenger in self.challengers:
            vote = challenger.vote
            if vote > VOTE:
                weight += vote
                product += vote * challenger.mixture.predict(x, floor=floor)
        for omega, signs in zip(self.flips, SIGNS, strict=True):
            if omega > VOTE:
                weight += omega
                product += omega * best.predict(x.signed(signs), floor=floor)
        return weight, product

    def learn_flips(self, x: Situation, best: Mixture, y: float, weight: float, library: float) -> None:
        """Hold what the flips of the most probable regime said against a label; `library`: the library's likelihood."""
        for i, signs in enumerate(SIGNS):
            ratio = likelihood(best.predict(x.signed(signs)), y) / library
            self.flips[i] = min(FLIP_LIMIT, (self.flips[i] + FLIP_SEED) * ratio**weight)

    def learn_challengers(self, x: Situation, y: float, weight: float, library: float) -> None:
        """Weigh the challengers against the library, drop the hopeless and the old, teach the others."""
        baseline = math.log(library)
        alive = []
        for challenger in self.challengers:
            fit = math.log(likelihood(challenger.mixture.predict(x), y))
            challenger.evidence += weight * (fit - baseline)
            challenger.n += 1
            if challenger.evidence > HOPELESS and challenger.n < LIFETIME:
                challenger.mixture.learn(x, y, weight)
                alive.append(challenger)
        self.challengers = alive

    def winning_flip(self) -> int | None:
        """Return the index of a flip strong enough to be promoted."""
        best = max(range(len(SIGNS)), key=self.flips.__getitem__)
        return best if self.flips[best] > FLIP_PROMOTED else None

    def winning_challenger(self, tau: float) -> Challenger | None:
        """Return the strongest challenger with log evidence above `tau`, if it has seen enough labels."""
        ready = [c for c in self.challengers if c.evidence > tau and c.n >= PROMOTED_LABELS]
        return max(ready, key=lambda challenger: challenger.evidence, default=None)

    def refresh(self, every: int, *, quadratic: bool) -> None:
        """After each label: in its turn, let a fresh challenger in."""
        self.labels += 1
        if self.labels % every:
            return
        if len(self.challengers) >= ALIVE:
            self.challengers.remove(min(self.challengers, key=lambda challenger: challenger.evidence))
        self.challengers.append(Challenger(Mixture(quadratic=quadratic)))


def promote_flip(best: Mixture, index: int) -> Mixture:
    """Return the regime that a winning flip stands for."""
    mixture = best.signed(SIGNS[index])
    for head in mixture.heads:
        head.widen(FLIP_WIDEN)
    return mixture
