"""What the loop needs of the outside world, and what one attempt at a step brings: ports and values.

Above: `booster.attempt`, `booster.drawing`, the loop. `booster.work` wires the ports.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from booster.answer_state import AnswerState
from booster.session import Decision, Draw, PooledAnswer, Session
from providers.types import Ask
from scheduler.types import Costs, Outcome, Signals
from verifier.types import Candidate, Context, Verifier


class Purse(Protocol):
    """What the loop needs to know of the money: the journal's ledger fulfils it."""

    deadline: float | None

    def affordable(self) -> int | None:
        """Return how many calls may still be opened; None = any number."""

    def recorded(self, step_key: str) -> bool:
        """Say whether the call of this key was answered before the process was stopped, so that it costs nothing now."""

    def exhausted(self) -> str | None:
        """Return what forbids a further call: `calls`, `tokens`, `costUsd`, `seconds`, `cancelled`; None = nothing."""

    def used_share(self) -> float:
        """Return the used share of the tightest limit, in [0, 1]."""


class Judgement(Protocol):
    """What the loop needs of the scheduler."""

    def decide(self, signals: Signals, costs: Costs) -> Decision:
        """Return how much thought the step deserves, given what the two modes cost."""

    def report(self, decision: Decision, outcome: Outcome, *, rework: bool = False) -> Mapping[str, Any]:
        """Learn from a verified fact; return what it taught, for the journal."""

    def end_task(self, *, success: bool) -> bool:
        """Say how the task ended; return whether there was one to end."""

    async def save(self) -> Sequence[tuple[str, Mapping[str, Any]]]:
        """Make what was learnt durable; return the events to journal of it."""


class Memory(Protocol):
    """What earlier solves of the namespace have taught about answers."""

    @property
    def state(self) -> AnswerState:
        """As known now."""

    def learn(self, session: Session) -> None:
        """Learn from a session that has ended; from each only once."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Forgetful:
    """A memory that starts empty and learns nothing."""

    state: AnswerState = field(default_factory=AnswerState)

    def learn(self, session: Session) -> None:
        """Nothing is kept."""


class Reward(Protocol):
    """What the loop needs of a process-reward model: opinions of paths, which never cost a candidate."""

    @property
    def scorer(self) -> str:
        """Name under which its weight and scale are kept."""

    @property
    def model(self) -> str:
        """Id of the model."""

    @property
    def failures(self) -> Mapping[str, str]:
        """Key of a candidate -> why it has no reward."""

    async def of_answer(self, candidate: Candidate, context: Context) -> Candidate:
        """Return a whole answer with the reward of its path, or as it is."""

    async def of_step(self, candidate: Candidate, context: Context) -> Candidate:
        """Return a step with the reward of the path that ends in it, or as it is."""


RunTests = Callable[[Sequence[str], Sequence[str]], Awaitable[list[frozenset[int]]]]
"""(programs, tests) -> for each program the places of the tests that it passes; each pair is run once."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Parts:
    """Everything outside the loop that a solve needs; wired in `booster.work`."""

    ask: Ask
    purse: Purse
    judgement: Judgement
    verifiers: Sequence[Verifier]
    """Cheapest first."""
    record: Callable[..., Awaitable[Session]]
    """`await record(session, (type, data), ...)`: hand events to the journal, in one transaction, and return the session after
    them. They are durable before any call that is asked for later is paid, and before the solve ends."""
    now: Callable[[], str]
    """The present time, ISO 8601 UTC."""
    fallbacks: Callable[[], Sequence[str]]
    """Reasons, in words, why a later source than the configured one had to answer."""
    request_timeout: float = 120.0
    """Seconds that one call may take."""
    memory: Memory = field(default_factory=Forgetful)
    reward: Reward | None = None
    """None where no process-reward model is configured or wanted."""
    run_tests: RunTests | None = None
    """None where no code may be run."""
    prices: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Model id -> US dollars per million prompt and completion tokens; a model that is missing has no known price."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """What one attempt brought."""

    candidates: tuple[Candidate, ...] = ()
    answers: tuple[PooledAnswer, ...] = ()
    """Whole answers that were sampled, abstentions included."""
    unusable: tuple[str, ...] = ()
    """Why replies held no step: `not_a_list`, `empty`, `refusal`, `thinking_truncated`."""
    failed: tuple[str, ...] = ()
    """Kinds of the errors that calls ended with: `timeout`, `http_500`, `no_provider`, ..."""
    draw: Draw | None = None
    """How whole answers were drawn."""

    @property
    def escalates(self) -> bool:
        """Cheap answers were drawn, and asking the strong model is expected to cost less than stopping."""
        return self.draw is not None and self.draw.move.get("action") == "escalate"

    @property
    def heard(self) -> bool:
        """Somebody said something, usable or not."""
        return bool(self.candidates or self.answers or self.unusable)

    def with_earlier(self, earlier: "Attempt") -> "Attempt":
        """Join the attempt that this one escalated from: what was paid for is never thrown away."""
        return Attempt(
            candidates=(*earlier.candidates, *self.candidates),
            answers=(*earlier.answers, *self.answers),
            unusable=(*earlier.unusable, *self.unusable),
            failed=(*earlier.failed, *self.failed),
            draw=self.draw or earlier.draw,
        )

    def with_proven(self, probe: "Attempt | None") -> "Attempt":
        """Take over what a cheap attempt beside this one brought, where it held a check: else it only taught the scheduler."""
        proven = probe and any(one.passed_checks and not one.failed_checks for one in probe.candidates)
        return probe.with_earlier(self) if probe and proven else self
