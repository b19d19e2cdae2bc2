"""Scores, checks and candidates: the values that say how good a proposal is, and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, Protocol

from providers.types import Proposal, Source, Usage

CheckKind = Literal["regex", "equals", "contains", "numeric", "json_schema", "python", "command"]
CheckTarget = Literal["answer", "step"]
CheckOutcome = Literal["pass", "fail", "error", "not_applicable"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One executable test of an answer or of a step, given by the user."""

    kind: CheckKind
    value: Any
    """The pattern, text, number or JSON Schema to hold the target against; Python code, or the words of a command."""
    target: CheckTarget = "answer"
    options: Mapping[str, Any] = field(default_factory=dict)
    """`numeric`: `rel` and `abs` tolerance, both 0 by default. `python`: `program`, false by default."""
    id: str = ""
    """Name in the evidence; `check1`, `check2`, ... where the user gave none."""

    @classmethod
    def regex(cls, pattern: str, *, target: CheckTarget = "answer") -> "Check":
        """The RE2 pattern occurs somewhere in the target."""
        return cls(kind="regex", value=pattern, target=target)

    @classmethod
    def equals(cls, text: str, *, target: CheckTarget = "answer") -> "Check":
        """Target and text have the same normal form (`verifier.answers.normal_form`)."""
        return cls(kind="equals", value=text, target=target)

    @classmethod
    def contains(cls, text: str, *, target: CheckTarget = "answer") -> "Check":
        """The text occurs in the target, case-sensitive, both in Unicode NFC."""
        return cls(kind="contains", value=text, target=target)

    @classmethod
    def numeric(
        cls,
        value: int | float | str | Decimal | Fraction,
        *,
        rel: float = 0,
        abs: float = 0,
        target: CheckTarget = "answer",
    ) -> "Check":
        """The target is a number within `max(abs, rel * |value|)` of `value`, compared exactly as rationals."""
        return cls(kind="numeric", value=value, target=target, options={"rel": rel, "abs": abs})

    @classmethod
    def json_schema(cls, schema: Mapping[str, Any], *, target: CheckTarget = "answer") -> "Check":
        """The target is JSON text that the schema (draft 2020-12) accepts."""
        return cls(kind="json_schema", value=dict(schema), target=target)

    @classmethod
    def python(cls, code: str, *, program: bool = False, target: CheckTarget = "answer") -> "Check":
        """The code runs to its end without an error, and its last expression, where it ends in one, is true.

        It sees the target as the text `answer` (with target `step`: `text`). With `program` the target is a Python
        program: it runs first, and the code, its unit tests, sees the program's names. There is the standard library and
        nothing else. Runs only where the process's configuration allows code.
        """
        return cls(kind="python", value=code, target=target, options={"program": True} if program else {})

    @classmethod
    def command(cls, argv: Sequence[str], *, target: CheckTarget = "answer") -> "Check":
        """The command ends with exit code 0; the target is on its standard input and in the file that `{answer}` names.

        Never read by a shell. Runs only where the process's configuration allows code.
        """
        return cls(kind="command", value=tuple(argv), target=target)


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckResult:
    """What one check said of one candidate."""

    check_id: str
    kind: CheckKind
    target: CheckTarget
    outcome: CheckOutcome
    observed: str = ""
    """What was found, at most 500 characters."""
    expected: str = ""
    """What was wanted, at most 500 characters."""
    message: str = ""
    """Why it could not run, where the outcome is `error` or `not_applicable`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Weights:
    """Weights of the three heuristic sub-scores, each in [0, 1]; they need not sum to 1."""

    rules: float = 0.6
    redundancy: float = 0.25
    consistency: float = 0.15


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """The seed's heuristic scores; a ranking aid, never a claim of correctness."""

    rules: float
    redundancy: float
    consistency: float
    total: float
    """Weighted sum of the three."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """A scored proposal."""

    proposal: Proposal
    source: Source
    key: str
    """Logical name inside the session, for example `it3/candidate2`; unique."""
    provider: str = ""
    model: str = ""
    usage: Usage = Usage()
    """What its call consumed; a call that yielded several candidates is charged to the first."""
    score: Score | None = None
    checks: tuple[CheckResult, ...] = ()
    opinions: Mapping[str, Mapping[str, float]] = field(default_factory=dict, hash=False)
    """Kind of scorer (`process`, `heuristic`) -> `score`, in its own unit, and, once compared with those of its siblings, `z` and
    `weight`, what that counts in log odds."""

    @property
    def failed_checks(self) -> tuple[CheckResult, ...]:
        """The checks that ran and did not hold."""
        return tuple(check for check in self.checks if check.outcome == "fail")

    @property
    def passed_checks(self) -> tuple[CheckResult, ...]:
        """The checks that ran and held."""
        return tuple(check for check in self.checks if check.outcome == "pass")


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """What a verifier may look at beside the candidate."""

    task: str
    steps: Sequence[str] = ()
    """Texts of the applied steps, oldest first."""
    checks: Sequence[Check] = ()
    weights: Weights = Weights()


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """Outcome of a vote over answers."""

    answer: str
    """The winning answer as its first proposer wrote it."""
    votes: int
    """Members of the winning group."""
    runner_up: int
    """Members of the second largest group."""
    samples: int
    """Answers drawn, abstentions included."""
    groups: tuple[tuple[str, tuple[str, ...]], ...]
    """Every group as (answer as first written, candidate keys), largest first, ties in order of first sight."""


class Verifier(Protocol):
    """Port: anything that adds what it found to a candidate."""

    name: str

    async def verify(self, candidate: Candidate, context: Context) -> Candidate:
        """Return the candidate with this verifier's finding added; never raises for a bad candidate."""
