"""What is paid for and what comes back: the values and the one seam of every paid call.

Above: `booster` builds calls and keeps the ledger. Below: nothing. A `Provider` performs one attempt; `providers.retry`
alone sends, and opens one `Ticket` an attempt, so that retries, re-asks, judges and probes all count against the budget.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from providers.errors import ProviderError

Source = Literal["model", "client", "caller", "heuristic", "replay", "simulated"]
"""Who produced a text: a model over HTTP, the MCP client by sampling, the calling program, our templates, a recording,
or the simulated model. Only `model`, `client` and `replay` are content of a real model."""

Message = Mapping[str, Any]
"""One chat message in the OpenAI wire format, kept exactly as its author wrote it."""

MAX_TOKENS = 2000
"""Upper bound of a reply in tokens where nobody sets another one."""

SIMULATED_PREFIX = "simulated/"
"""A model id that starts so is the simulated model, by whichever URL it is reached."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """What one call, or a sum of calls, consumed."""

    prompt_tokens: int = 0
    """Tokens of the prompt, cached ones included."""
    completion_tokens: int = 0
    """Tokens of the reply, reasoning included."""
    reasoning_tokens: int = 0
    """Part of `completion_tokens` that was spent on hidden reasoning."""
    cached_tokens: int = 0
    """Part of `prompt_tokens` that the server had cached."""
    cost_usd: float | None = None
    """US dollars; None = unknown, never 0 for want of a price."""
    estimated: bool = False
    """True where the server reported nothing and tokens were counted as characters / 4."""

    @property
    def tokens(self) -> int:
        """Prompt and completion together: what a token budget counts."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One paid question to a model, before it is sent."""

    role: str
    """What it is for: `generate`, `finalize`, `judge`, `process_reward`, `probe`. Usage is reported by role."""
    step_key: str
    """Logical name inside a session, for example `it3/candidate2`; never a position in a log. A resumed solve finds
    the finished call by it."""
    messages: tuple[Message, ...]
    """The whole conversation, oldest first."""
    model: str | None = None
    """`provider/model` or a bare model id; None = the default model of whichever provider answers."""
    max_tokens: int | None = MAX_TOKENS
    """Upper bound of the reply in tokens, hidden reasoning included; None = the one that `request` has, if any."""
    request: Mapping[str, Any] = field(default_factory=dict)
    """Further request parameters as the client sent them (`temperature`, `seed`, `stop`, `tools`, ...)."""
    timeout: float = 120.0
    """Seconds that one attempt may take."""
    deadline: float | None = None
    """Time on the running event loop's clock (`loop.time()`, seconds) after which nobody wants the reply."""

    def with_max_tokens(self, max_tokens: int) -> "Call":
        """Return the same call with another cap on the reply."""
        return replace(self, max_tokens=max_tokens)


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """What came back for a call: always content of some kind, or the reason why there is none."""

    text: str
    """The message content; empty where `problem` says why."""
    model: str
    """The id that the server reports, else the one asked for."""
    provider: str
    """`cerebras`, `direct-openai`, `local`, `mcp`, `replay`, `simulated`."""
    source: Source
    finish_reason: str | None = None
    """As reported: `stop`, `length`, `tool_calls`, `content_filter`, ..."""
    reasoning: str = ""
    """Text of the separate reasoning fields; for diagnostics, never an answer."""
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    """Tool calls in the OpenAI wire format."""
    usage: Usage = Usage()
    problem: Literal["empty", "refusal", "thinking_truncated"] | None = None
    """Why `text` is empty, where it is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposal:
    """A small verifiable step before it is scored."""

    text: str
    """What to do, one local action; 1..2000 characters."""
    rationale: str = ""
    """Why, in a sentence."""
    answer: str | None = None
    """The final answer to the whole task, where this step carries one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ticket:
    """Leave to make one attempt at a call."""

    call: Call
    attempt: int
    """1 for the first attempt at this step key."""
    recalled: Reply | ProviderError | None = None
    """How this very attempt ended before the process was killed; set only on resume. Nothing may be sent then."""


class Ledger(Protocol):
    """Port: says whether a call may be paid, and remembers it durably."""

    async def open(self, call: Call) -> Ticket:
        """Check budget, deadline and ownership and make the intent durable.

        Raises:
            BudgetSpent: a limit is reached; nothing was written and nothing may be sent.
        """

    def close(self, ticket: Ticket, outcome: Reply | ProviderError) -> object:
        """Take the outcome, at once and whatever happens to the caller; it is durable before any attempt opened later."""


class Provider(Protocol):
    """Port: one source of model text."""

    name: str
    """As shown in diagnostics: `cerebras`, `direct-openai`, `local`, `mcp`, `replay`, `simulated`."""
    default_model: str
    """The model it asks when a call names none."""

    @property
    def slots(self) -> asyncio.Semaphore | None:
        """Its places for concurrent calls; None = any number."""

    async def send(self, call: Call) -> Reply:
        """Make exactly one attempt.

        Raises:
            ProviderError: with kind, status, endpoint and whether another attempt can help; never holding a key.
        """

    async def aclose(self) -> None:
        """Close connections; idempotent."""


Ask = Callable[[Call], Awaitable[Reply]]
"""A paid call with retries, ledger and fallbacks behind it: all that a verifier ever gets of a model."""

Sampler = Callable[[Sequence[Call]], Awaitable[Sequence[Reply]]]
"""Carries calls to an MCP client's own model (`sampling/createMessage`); replies in the order of the calls."""
