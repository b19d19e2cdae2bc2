"""Three questions the seed text asks of its scheduler: does it get smarter, is what it learns knowledge, does a clean
context pay?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.scheduler.envs import coding, ops
from benchmarks.scheduler.rng import Mulberry32
from benchmarks.scheduler.run import ASTRAY, POLLUTION_CHEAP, POLLUTION_DEEP
from benchmarks.scheduler.streams import CUT, Rule, clamp01
from scheduler import Costs, Signals
from scheduler.experience import Reported
from scheduler.policy import Policy
from scheduler.registry import make_policy
from scheduler.session import Session

NOISE = 0.2
BATCHES, BATCH_TASKS, STEPS = 6, 20, 8
SHIFT_BATCH = 4
RELIEF, COMPACTION = 0.45, 0.5
"""What compacting the context takes off its pollution, and what it costs."""
CHEAP, DEEP = 1.0, 5.0


@dataclass(frozen=True, slots=True)
class Answer:
    """One question, asked of one policy."""

    question: str
    policy: str
    numbers: str
    """What was measured, for people."""
    passed: bool


@dataclass(slots=True)
class Tally:
    """Cost and misses of a run."""

    cost: float = 0.0
    mishandled: int = 0


class Subject:
    """A policy as these questions run it.

    Args:
        name: `regime` or `auction` (rule threshold, growth from escalated steps too).
        policy: The library, fresh unless given.
        frozen: Decide, but learn nothing.
        compacts: Follow `suggest_compact`.
    """

    def __init__(
        self, name: str, *, policy: Policy[Any] | None = None, frozen: bool = False, compacts: bool = False
    ) -> None:
        self.policy = policy or make_policy(name, **({"decision": "threshold"} if name == "auction" else {}))
        self._session = Session(self.policy, costs=Costs(cheap=CHEAP, deep=DEEP))
        self._scored = name == "auction"
        self._frozen, self._compacts = frozen, compacts

    def run(
        self, rule: Rule, draw: Mulberry32, *, tasks: int, steps: int = STEPS, dice: Mulberry32 | None = None
    ) -> Tally:
        """Run tasks of one rule; with `dice`, a polluted context makes System 2 go astray on critical steps."""
        tally = Tally()
        for _ in range(tasks):
            self._session.new_task()
            pollution, success = 0.0, True
            for i in range(steps):
                d, blur = draw(), draw()
                value = clamp01(rule(d, d, i / steps) + NOISE * (blur - 0.5))
                signals = Signals(
                    criticality_hint=d, difficulty_hint=d, progress=i / steps, context_pollution=pollution
                )
                chance = dice() if dice else 1.0
                pollution, failed = self._step(signals, value, chance, tally)
                success &= not failed
            if not self._frozen:
                self._session.feedback(success)
        return tally

    def _step(self, signals: Signals, value: float, chance: float, tally: Tally) -> tuple[float, bool]:
        """Decide, execute and report one step; return the pollution after it and whether it was mishandled."""
        decision = self._session.decide(signals)
        pollution = signals.context_pollution or 0.0
        deep, critical = decision.mode == "system2", value > CUT
        if decision.suggest_compact and self._compacts:
            pollution = max(0.0, pollution - RELIEF)
            tally.cost += COMPACTION
        rework = deep and critical and chance < max(0.0, pollution - ASTRAY)
        tally.cost += DEEP * (1 + rework) if deep else CHEAP + DEEP * critical
        failed = rework or (critical and not deep)
        tally.mishandled += failed
        used = deep or critical
        if not self._frozen:
            self._report(decision.decision_id, value, deep=deep, critical=critical, used=used, rework=rework)
        return min(1.0, pollution + (POLLUTION_DEEP if used else POLLUTION_CHEAP)), failed

    def _report(self, decision_id: str, value: float, *, deep: bool, critical: bool, used: bool, rework: bool) -> None:
        if self._scored:
            self._session.report(decision_id, observed_criticality=value, used_system2=used, was_deep=used)
        elif deep:
            self._session.report(decision_id, "s2_probe_fail" if critical else "s2_probe_pass", rework=rework)
        else:
            self._session.report(decision_id, "s1_fail" if critical else "s1_pass")


def smarter(name: str) -> Answer:
    """Cost per batch: four batches of coding, two of ops; later batches of a domain must cost less than its first."""
    subject, draw = Subject(name), Mulberry32(11111)
    costs = [
        subject.run(coding if batch < SHIFT_BATCH else ops, draw, tasks=BATCH_TASKS).cost for batch in range(BATCHES)
    ]
    passed = all(cost < costs[0] for cost in costs[1:SHIFT_BATCH]) and costs[5] < costs[4]
    first, second = (" ".join(f"{cost:.0f}" for cost in part) for part in (costs[:SHIFT_BATCH], costs[SHIFT_BATCH:]))
    return Answer("A smarter: cost per batch", name, f"{first} / {second}", passed)


def knowledge(name: str) -> Answer:
    """A library trained on one domain must miss at least twice as much in a foreign one as in its own.

    The regime library is frozen; the auction's may refine its prototypes, but neither grow nor flag shifts.
    """
    native = [
        Subject(name).run(rule, Mulberry32(seed), tasks=60).mishandled for rule, seed in ((coding, 2201), (ops, 2202))
    ]
    trained = Subject(name)
    trained.run(coding, Mulberry32(2210), tasks=80)
    own, foreign = (
        _held(name, trained.policy).run(rule, Mulberry32(2211), tasks=60).mishandled for rule in (coding, ops)
    )
    numbers = f"own domain {own}, foreign {foreign} (learnt natively: {native[0]}, {native[1]})"
    return Answer("B knowledge: mishandled with a frozen library", name, numbers, foreign >= 2 * own)


def clean_context(name: str) -> Answer:
    """Following the suggestion to compact must lower both cost and misses."""
    ignoring, following = (
        Subject(name, compacts=compacts).run(coding, Mulberry32(33333), tasks=40, steps=24, dice=Mulberry32(99999))
        for compacts in (False, True)
    )
    numbers = f"{ignoring.cost:.0f} / {ignoring.mishandled} -> {following.cost:.0f} / {following.mishandled}"
    passed = following.cost < ignoring.cost and following.mishandled < ignoring.mishandled
    return Answer("C clean context: cost / mishandled, ignoring -> compacting", name, numbers, passed)


def answers(names: Sequence[str] = ("regime", "auction")) -> list[Answer]:
    """Ask all questions of all policies."""
    return [question(name) for question in (smarter, knowledge, clean_context) for name in names]


def _held(name: str, trained: Policy[Any]) -> Subject:
    """Return a subject on a copy of a trained library that can found no new prototype."""
    if name == "auction":
        policy = make_policy(name, decision="threshold", can_grow=False, can_shift=False)
        policy.restore(trained.dump())
        return Subject(name, policy=policy)
    policy = make_policy(name)
    policy.restore(trained.dump())
    return Subject(name, policy=_Frozen(policy), frozen=True)


class _Frozen:
    """A policy that decides and does not learn, not even that a decision was given out."""

    def __init__(self, policy: Policy[Any]) -> None:
        self._policy = policy

    def __getattr__(self, name: str) -> Any:
        return getattr(self._policy, name)

    def observe(self, track: Any, experience: Any) -> None:
        """Only the track may notice that a task began."""
        if not isinstance(experience, Reported):
            self._policy.observe(track, experience)
