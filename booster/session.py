"""The state of one solve: frozen values, and the fold that makes them out of journalled events.

`advance` is the only way a session changes. The running loop and a resume after a kill both go through it, so the live
state equals the fold of the journal by construction. `docs/events.md` is the closed list of event types.
"""

import math
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from booster.config import Config
from booster.errors import UsageError
from providers.types import Message, Source, Usage
from verifier.types import Candidate, Check, CheckResult, Score

Mode = Literal["system1", "system2"]
Granularity = Literal["step", "answer"]
Status = Literal["done", "running", "continue", "degraded", "cancelled", "failed"]
ListedStatus = Literal["done", "running", "orphaned", "degraded", "cancelled", "failed"]
"""By which sessions can be listed; `orphaned` = running, but its process is gone."""
AnswerStatus = Literal["verified", "agreed", "judged", "unverified", "none"]
Origin = Literal["sample", "strong", "chosen", "step", "final"]
"""Of an answer: a whole-answer sample; the strong model's after cheap samples; the program that was chosen
by what it does; carried by an applied step; the finalisation."""
StopReason = Literal[
    "answered", "iterations", "max_steps", "stagnation", "budget_calls", "budget_tokens", "budget_cost", "deadline",
    "cancelled", "energy", "error",
]  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """What is asked, exactly as it was asked."""

    task: str
    """The question in one text; never blank."""
    messages: tuple[Message, ...] = ()
    """The client's own conversation, where a door has one; prompts append to it and never flatten it."""
    request: Mapping[str, Any] = field(default_factory=dict)
    """The client's own request parameters (`temperature`, `seed`, ...), passed on as they are."""
    checks: tuple[Check, ...] = ()
    """Executable checks given by the user."""
    expected_answer_format: str = ""
    """In words, for the prompt."""
    verbatim: bool = False
    """True where a whole answer is asked for with the client's `messages` alone, nothing appended, and the reply itself is wanted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """What may be spent; None = no limit."""

    calls: int | None = 24
    """Attempts at model calls, retries included."""
    tokens: int | None = None
    """Prompt and completion tokens together."""
    seconds: float | None = 300
    """Wall-clock seconds of work; time while the process was dead does not count."""
    cost_usd: float | None = None
    """US dollars."""

    def __post_init__(self) -> None:
        limits: tuple[tuple[str, object, int], ...] = (
            ("calls", self.calls, 1), ("tokens", self.tokens, 1), ("seconds", self.seconds, 0), ("costUsd", self.cost_usd, 0),
        )  # fmt: skip
        for name, value, least in limits:
            if value is None:
                continue
            if (
                isinstance(value, bool)
                or not isinstance(value, int | float)
                or not math.isfinite(value)
                or value < least
            ):
                raise UsageError(f"budget.{name}: {value!r} is not a number >= {least}; leave it out for no limit")
            if name in ("calls", "tokens") and value != int(value):
                raise UsageError(f"budget.{name}: {value!r} is not a whole number")


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """How much thought one iteration gets, and who said so."""

    mode: Mode
    decision_id: str = ""
    """The scheduler's id, to report the outcome under; empty where the setting forced the mode."""
    forced: bool = False
    """True where the `scheduler` setting decided and not the learned scheduler."""
    reason: str = ""
    audit: Mapping[str, Any] = field(default_factory=dict)
    """The scheduler's own numbers: estimate, threshold, expected costs, ..."""

    @property
    def forced_cheap(self) -> bool:
        """The user asked for exactly one call a step."""
        return self.forced and self.mode == "system1"

    def escalated(self) -> "Decision":
        """Return the decision after System 1 failed: System 2 takes the iteration up."""
        return replace(self, mode="system2", reason=f"{self.reason}; the cheap attempt failed")


@dataclass(frozen=True, kw_only=True, slots=True)
class Opened:
    """The iteration that is under way."""

    iteration: int
    """1, 2, ..."""
    granularity: Granularity
    decision: Decision
    """The one in force."""
    escalated: bool = False
    """System 1 has failed and System 2 took the iteration up."""
    probe: bool = False
    """Beside System 2 the cheap attempt is made too, for the scheduler to learn from."""

    @property
    def is_probe(self) -> bool:
        """This is the cheap attempt beside System 2."""
        return self.probe and self.decision.mode == "system1"

    def as_probe(self) -> "Opened":
        """Return the iteration as the cheap attempt beside it sees it."""
        return replace(self, decision=replace(self.decision, mode="system1"), probe=True)

    def after_failure(self) -> "Opened":
        """Return the iteration as System 2 takes it up."""
        return self if self.escalated else replace(self, decision=self.decision.escalated(), escalated=True)

    def at_first(self) -> "Opened":
        """Return the iteration as it was begun, before any escalation."""
        if not self.escalated:
            return self
        return replace(self, decision=replace(self.decision, mode="system1"), escalated=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One applied step of the scratchpad (Nye et al. 2021, arXiv:2112.00114)."""

    id: str
    """Key of the candidate it came from, for example `it3/s2/steps.2`."""
    index: int
    """0, 1, ...; contiguous, also after a backtrack."""
    text: str
    rationale: str
    score: Score
    source: Source
    iteration: int
    provider: str = ""
    model: str = ""
    answer: str | None = None
    checks: tuple[CheckResult, ...] = ()
    decision: Decision | None = None
    usage: Usage = Usage()
    at: str = ""
    """When it was applied: ISO 8601, UTC."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Draw:
    """How the whole answers of one iteration were drawn, and why no more of them."""

    rule: Literal["waves", "at_once", "cascade", "programs"]
    """Until the vote is clear; a given number side by side; cheap ones while they agree; programs and tests, in rounds."""
    samples: int
    """Answers that landed, abstentions included."""
    cap: int
    """Most that could have been drawn: the setting, or what the budget paid for if that was less."""
    waves: int = 1
    """Rounds of calls side by side."""
    lead: int | None = None
    """Votes of lead that ended the drawing (`waves` only)."""
    stopped: str = ""
    """`clear` (the lead was reached), `cap`, `check` (an answer held every check), `failed` (a whole wave brought nothing),
    `unreadable` (and never an answer), `prose` (messages that state nothing to vote on); of a cascade what decided: `plan`,
    `check`, `no-answer`, `unaffordable`, `audit`."""
    tokens: int = 0
    """Of the replies that landed, prompts included."""
    cost_usd: float | None = None
    """Of the same, in US dollars; None = some price is unknown."""
    move: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Of a cascade: `pair`, `action`, `why`, `state`, `p`, `g`, `prices`; see `booster.cascade.Move`."""
    judge: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Where a judge was asked: `model`, `asked` (questions), `verdict`, `reason`."""
    process: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Where a process-reward model was asked: `scorer`, `model`, `scored` (paths), `failures` (key of an answer -> why none)."""
    programs: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Of programs: `tests` (distinct ones that were run), `behaviours` (`programs`, `passed`, `score`, `first`; the winner first)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Iteration:
    """What one closed iteration looked at."""

    iteration: int
    chosen: str | None
    """Key of the winner; None where nothing was applied."""
    candidates: tuple[Candidate, ...]
    """All of them, best first."""
    tie: bool = False
    """True where all had the same score and the first was taken."""
    decision: Decision | None = None
    escalated: bool = False
    problems: tuple[str, ...] = ()
    """Why replies or calls brought nothing: `not_a_list`, `empty`, `refusal`, `thinking_truncated`, `timeout`, ..."""
    heard: bool = True
    """False where no call came through: nobody said anything, usable or not."""
    draw: Draw | None = None
    """How whole answers were drawn; None where none were."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PooledAnswer:
    """One answer to the whole task that somebody proposed."""

    key: str
    answer: str | None
    """None = an abstention: drawn and paid for, but no answer could be read."""
    origin: Origin
    source: Source
    checks: tuple[CheckResult, ...] = ()
    score: float = 0.0
    """`totalScore` of the candidate that brought it."""
    blank: bool = False
    """The reply held no text at all."""
    cut: bool = False
    """A message that ended at its length before it stated anything; that several begin alike is no agreement."""
    model: str = ""
    """Model that gave it."""
    opinions: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Kind of scorer (`judge`, `process`) -> `z`, its standardised score, and `weight`, what that counts in log odds."""
    confirmed: bool = False
    """A judge put it first whichever way round it was asked."""
    temperature: float | None = None
    """At which it was drawn, where the request said so; at a low one, equal answers are near-copies."""

    def __hash__(self) -> int:
        # What stands is looked up by the pool of answers, again and again; keys alone are the same in every session.
        return hash((self.key, self.answer, self.score))


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """One observation that speaks for or against the answer."""

    kind: Literal["check", "votes", "judge"]
    observed: str
    expected: str
    outcome: str
    check_id: str | None = None
    step_id: str | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)
    """Of votes: the groups with their counts and terms, and how the answers were drawn."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Conclusion:
    """How a solve ended."""

    status: Status
    stop_reason: StopReason
    answer: str | None = None
    answer_status: AnswerStatus = "none"
    confidence: float = 0.0
    """Probability in [0, 1] that the answer is right, as far as known."""
    confidence_basis: str = "uncalibrated"
    evidence: tuple[Evidence, ...] = ()
    summary: str = ""
    degraded: bool = False
    """True where no model content was obtained or a later source than the configured one had to answer."""
    degraded_reasons: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Session:
    """One solve: what is asked, under which settings, and all that has been done so far."""

    id: str
    problem: Problem
    config: Config
    budget: Budget
    iterations: int
    """Iterations that may run; at most `config.max_steps`."""
    cut_iterations: bool = False
    """True where more iterations were asked for than `maxSteps` allows."""
    at_once: bool = False
    """True where `numCandidates` was given: so many whole answers are drawn side by side, and not `samples` in waves."""
    created_at: str = ""
    status: Status = "running"
    iteration: int = 0
    """Closed iterations."""
    opened: Opened | None = None
    steps: tuple[Step, ...] = ()
    history: tuple[Iteration, ...] = ()
    answers: tuple[PooledAnswer, ...] = ()
    banned: tuple[str, ...] = ()
    """Texts that the next iteration may not propose again."""
    hints: tuple[str, ...] = ()
    """What the next prompt says beside the steps: failed checks, what to avoid."""
    family: int = 0
    """How often the search was perturbed; selects another way of asking."""
    backtracks: int = 0
    guarded: int = 0
    """Iterations in a row that neither improved nor said anything new."""
    silent: int = 0
    """Iterations in a row in which no call came through."""
    stagnant: bool = False
    """Metacontrol gave up: nothing moves any more."""
    heuristic: bool = False
    """Some iteration had to fall back to templates."""
    warnings: tuple[str, ...] = ()
    """What was not understood when the session was opened."""
    conclusion: Conclusion | None = None

    @property
    def step_texts(self) -> tuple[str, ...]:
        """Texts of the applied steps, oldest first."""
        return tuple(step.text for step in self.steps)

    @property
    def has_content(self) -> bool:
        """Anything but templates and empty replies was ever obtained."""
        proposed = (one for closed in self.history for one in closed.candidates)
        return any(not one.blank for one in self.answers) or any(one.source != "heuristic" for one in proposed)


def new_session_id() -> str:
    """Return an unguessable handle: `ses_`, 48 bits of the time in milliseconds and 80 random ones, in hex.

    Handles made in a row begin alike, as UUIDs of version 7 do (RFC 9562, section 5.7), so that the rows of sessions of today
    stand side by side in the journal's indexes and a commit writes few pages of them.
    """
    return f"ses_{time.time_ns() // 1_000_000:012x}{secrets.token_hex(10)}"


__all__ = [
    "AnswerStatus",
    "Budget",
    "Conclusion",
    "Decision",
    "Evidence",
    "Granularity",
    "Iteration",
    "Mode",
    "Opened",
    "PooledAnswer",
    "Problem",
    "Session",
    "Status",
    "Step",
    "StopReason",
    "new_session_id",
]
