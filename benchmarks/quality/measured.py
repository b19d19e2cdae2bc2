"""One recorded set with everything that was found on it, and what the same money buys elsewhere."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.quality.arms import BOOSTER, CHEAP, PLAIN, ROUTED, STRONG, VOTES, vote_name
from benchmarks.quality.outcomes import Outcome, Summary, by_task, summed_up
from benchmarks.quality.recorded import RecordedSet
from benchmarks.quality.rivals import STRONG_CALL, Rival, mixture, routing_rivals, sampling_rivals, vote_at


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """One recorded set and everything that was found on it."""

    key: str
    """Name on the command line."""
    recorded: RecordedSet
    found: Mapping[str, Sequence[Sequence[Outcome]]]
    """Arm -> one list a seed."""
    rivals: Sequence[Rival]

    @property
    def seeds(self) -> int:
        """Orders that every figure is the mean of."""
        return len(next(iter(self.found.values())))

    @property
    def reference(self) -> str:
        """Name of the arm that asks once."""
        return PLAIN if self.recorded.kind == "samples" else CHEAP

    @property
    def own(self) -> str:
        """Name of the arm that is the product's default."""
        return BOOSTER if self.recorded.kind == "samples" else ROUTED

    def every(self, arm: str) -> list[Outcome]:
        """Return the outcomes of an arm in all seeds."""
        return [one for outcomes in self.found[arm] for one in outcomes]

    def right(self, arm: str) -> list[float]:
        """Return how often each question is right."""
        return by_task(self.every(arm))

    def summary(self, arm: str) -> Summary:
        """Return an arm over all questions and seeds."""
        return summed_up(self.found[arm])


def measured(key: str, recorded: RecordedSet, found: Mapping[str, Sequence[Sequence[Outcome]]]) -> Measured:
    """Return a set with its outcomes and the rivals that they are held against."""
    seeds = len(next(iter(found.values())))
    rivals = sampling_rivals(recorded, seeds) if recorded.kind == "samples" else routing_rivals(recorded)
    return Measured(key=key, recorded=recorded, found=found, rivals=rivals)


def all_rivals(one: Measured) -> list[Rival]:
    """Return the rivals of a set, those at equal cost last."""
    if one.recorded.kind == "samples":
        return [*one.rivals, equal_cost(one)]
    lengths = [len(question.task) for question in one.recorded.questions]
    return [*one.rivals, equal_cost(one), mixture(spent(one), one.every(CHEAP), one.every(STRONG), lengths)]


def equal_cost(one: Measured) -> Rival:
    """Return the rival that spends as much as the default does: votes of fixed sizes, or a random mixture of two models."""
    own = one.summary(one.own)
    if one.recorded.kind == "models":
        return mixture(spent(one), one.every(CHEAP), one.every(STRONG))
    votes = {1: one.every(PLAIN), **{n: one.every(vote_name(n)) for n in VOTES if vote_name(n) in one.found}}
    return Rival(name="votes of fixed size, at equal calls", right=vote_at(own.calls, votes), calls=own.calls)


def spent(one: Measured) -> float:
    """Return the price of the calls of the routed booster, a question, in cheap calls."""
    found = one.summary(ROUTED)
    return found.calls + (STRONG_CALL - 1) * found.strong
