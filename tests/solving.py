"""Solves over scripts: what the tests of the loop share."""

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from booster.app import Booster
from booster.config import Config
from booster.events import advance
from booster.parts import Parts
from booster.session import Decision, Session
from booster.settings import Settings
from providers.chain import Chain
from providers.counting import CountingLedger
from providers.retry import RetryPolicy
from providers.scripted import Line, ScriptedProvider
from providers.types import Call, Message, Provider
from scheduler.types import Costs, Outcome, Signals
from tests.builders import DEEP
from verifier.checks import CheckVerifier
from verifier.heuristic import HeuristicVerifier

Script = Sequence[Line] | Callable[[Call], Line]

ONE_ATTEMPT = RetryPolicy(attempts=1)

DISTINCT = (
    "Measure the corridor with a tape", "Draw every door as a dashed line", "Paint one panel green",
    "Order seven hinges by post", "Read the gas meter twice", "Stack bricks behind the shed",
    "Boil two litres of water", "Label each cable with its room", "Phone the plumber about Monday",
    "Sharpen four pencils", "Sweep broken glass into a box", "Weigh the parcel for Oslo",
    "Fold paper into thirds", "Copy page nineteen by hand", "Lower the shelf by a finger", "Count blue tiles near the sink",
)  # fmt: skip
"""Steps that share no words: none is a repetition of another."""


def steps(*texts: str, answer: str | None = None) -> str:
    """Return a reply that proposes steps; the last one carries the answer."""
    items: list[dict[str, str]] = [{"text": text, "rationale": "because"} for text in texts]
    if answer is not None:
        items[-1]["answer"] = answer
    return json.dumps(items)


def answer(text: str, rationale: str = "worked out") -> str:
    """Return a reply that gives a whole answer."""
    return json.dumps({"rationale": rationale, "answer": text})


def kind_of(call: Call) -> str:
    """Return what a call asks for: `answer`, `steps`, `beam`, `final` or `judge`."""
    if call.role == "judge":
        return "judge"
    name = call.step_key.rsplit("/", maxsplit=1)[-1] if "again" not in call.step_key else "steps"
    return next(kind for kind in ("answer", "steps", "beam", "final") if name.startswith(kind))


def scripted(**lines: Line | Callable[[Call], Line]) -> Callable[[Call], Line]:
    """Return a script that answers by what is asked for: `answer=`, `steps=`, `beam=`, `final=`."""

    def line(call: Call) -> Line:
        found = lines[kind_of(call)]
        return found(call) if callable(found) else found

    return line


def fresh_steps(call: Call) -> str:
    """Return a step that no other iteration proposes."""
    return steps(DISTINCT[int(call.step_key.partition("/")[0][2:]) - 1])


def said(messages: Sequence[Message]) -> str:
    """Return all text of a conversation."""
    return "\n".join(str(message["content"]) for message in messages)


@asynccontextmanager
async def a_booster(
    script: Script | None = None,
    *,
    delay: float = 0.0,
    providers: Sequence[Provider] | None = None,
    config: Mapping[str, Any] | None = None,
    home: Path | None = None,
    **settings: Any,
) -> AsyncIterator[Booster]:
    """Open a booster whose only model is a script; without one there is no model. With `home` the journal is a file."""
    if providers is None:
        providers = [] if script is None else [ScriptedProvider(script, delay=delay)]
    url = "memory:" if home is None else f"sqlite:///{home / 'booster.db'}"
    effective = Settings(home=home or Path("unused"), journal_url=url, config=Config.parse(config or {})[0], **settings)
    async with Booster.open(effective, providers=providers) as booster:
        yield booster


class APurse:
    """What may be spent, on a counting ledger."""

    def __init__(self, ledger: CountingLedger, deadline: float | None = None) -> None:
        self._ledger, self.deadline = ledger, deadline
        self.limit: str | None = None

    def affordable(self) -> int | None:
        """See `booster.parts.Purse`."""
        return None if self._ledger.calls is None else self._ledger.calls - self._ledger.attempts

    def recorded(self, step_key: str) -> bool:
        """See `booster.parts.Purse`."""
        return False

    def exhausted(self) -> str | None:
        """See `booster.parts.Purse`."""
        return self.limit or ("calls" if self.affordable() == 0 else None)

    def used_share(self) -> float:
        """See `booster.parts.Purse`."""
        return 0.0


class AJudgement:
    """A scheduler that always decides the same and remembers what it was told."""

    def __init__(self, decision: Decision = DEEP) -> None:
        self.decision = decision
        self.reported: list[tuple[str, bool]] = []
        self.successes: list[bool] = []

    def decide(self, signals: Signals, costs: Costs) -> Decision:
        """See `booster.parts.Judgement`."""
        return self.decision

    def report(self, decision: Decision, outcome: Outcome, *, rework: bool = False) -> Mapping[str, Any]:
        """See `booster.parts.Judgement`."""
        self.reported.append((outcome, rework))
        return {}

    def end_task(self, *, success: bool) -> bool:
        """See `booster.parts.Judgement`."""
        self.successes.append(success)
        return False

    async def save(self) -> Sequence[tuple[str, Mapping[str, Any]]]:
        """See `booster.parts.Judgement`."""
        return ()


def some_parts(
    provider: Provider | None,
    *,
    calls: int | None = None,
    deadline: float | None = None,
    judgement: AJudgement | None = None,
    events: list[tuple[str, Mapping[str, Any]]] | None = None,
) -> Parts:
    """Return parts over one provider without a journal; `events` collects what is recorded."""
    ledger = CountingLedger(calls)
    chain = Chain([] if provider is None else [provider], ledger, policy=ONE_ATTEMPT)
    told = events if events is not None else []

    async def record(session: Session, *entries: tuple[str, Mapping[str, Any]]) -> Session:
        for kind, data in entries:
            session = advance(session, kind, data)
        told.extend(entries)
        return session

    return Parts(
        ask=chain.ask,
        purse=APurse(ledger, deadline),
        judgement=judgement or AJudgement(),
        verifiers=(HeuristicVerifier(), CheckVerifier()),
        record=record,
        now=lambda: "2026-01-01T00:00:00.000Z",
        fallbacks=list,
        request_timeout=60.0,
    )
