"""Working on one session: own it, wire the loop's parts, run, and keep the state whatever ends it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from booster.answer import conclude
from booster.attempt import Parts
from booster.codec import encode
from booster.journal import Event, Journal, SessionLedger, SessionRecord
from booster.journal.errors import JournalError
from booster.judgement import LearnedJudgement, Library
from booster.result import SolveResult, session_result
from booster.session import Budget, Session, StopReason, advance, session_from_spec
from booster.wiring import Wiring
from providers.errors import CallCancelled
from providers.types import Ask, Call, Reply, Sampler
from verifier.types import Verifier

Listener = Callable[[Event], None]
"""Called with every event of a session once it is durable."""

Body = Callable[[Session, Parts], Awaitable[Session]]
"""What to do with the session: the whole loop, or one iteration of it."""

Events = Sequence[tuple[str, Mapping[str, Any]]]


def fold(record: SessionRecord) -> Session:
    """Return the state that a journalled session is in."""
    session = session_from_spec(record.id, record.spec, record.created_at)
    for event in record.events:
        session = advance(session, event.type, event.data)
    return session


def now() -> str:
    """Return the present time, ISO 8601 UTC in milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(slots=True)
class Run:
    """A session that this process works on."""

    record: SessionRecord
    session: Session
    sampler: Sampler | None = None
    listener: Listener | None = None
    interrupted: bool = False
    """The process is ending: leave the session unfinished, so that it can be resumed."""
    result: SolveResult | None = None
    error: Exception | None = None
    epoch: int = 0
    task: "asyncio.Task[None] | None" = field(default=None, repr=False)


class Worker:
    """Works on sessions, one call of `work` each."""

    def __init__(self, journal: Journal, wiring: Wiring, verifiers: Sequence[Verifier]) -> None:
        self._journal, self._wiring, self._verifiers = journal, wiring, verifiers
        self._libraries: dict[str, Library] = {}
        self._loading = asyncio.Lock()

    async def work(self, run: Run, body: Body, events: Events = ()) -> None:
        """Take the session over, run `body` on it, and leave `run.result` behind.

        A cancelled session is concluded as cancelled, a broken one as failed, an interrupted one is left as it is.

        Raises:
            JournalError: the session belongs to another live process, or nothing can be written any more.
        """
        run.epoch = await self._journal.take_over(run.record.id)
        try:
            run.record = await self._journal.load(run.record.id)
            run.session = fold(run.record)
            ledger = await self._journal.ledger(run.record, epoch=run.epoch, **_limits(run.session))
            try:
                await self._run(run, body, events, ledger)
            except asyncio.CancelledError:
                if not run.interrupted:
                    await self._conclude(run, ledger, "cancelled")
                raise
            except JournalError:
                raise
            except Exception as error:
                await self._conclude(run, ledger, "error", f"{type(error).__name__}: {error}")
                raise
            finally:
                run.result = self.result(run.session, ledger)
        finally:
            with suppress(JournalError):
                await self._journal.release(run.record.id, run.epoch)

    def result(self, session: Session, ledger: SessionLedger, *, full: bool = False, orphaned: bool = False) -> SolveResult:
        """Return the result of a session with what its calls cost."""
        spent = ledger.spent
        usage = {
            "calls": spent.calls, "promptTokens": spent.prompt_tokens, "completionTokens": spent.completion_tokens,
            "reasoningTokens": spent.reasoning_tokens, "costUsd": spent.cost_usd if spent.calls else 0.0,
            "estimated": spent.estimated, "seconds": round(spent.seconds, 3), "byRole": spent.by_role,
        }  # fmt: skip
        document = ledger.diagnostics(full=full)
        document["provider"] = document.get("lastProvider") or _provider(session)
        return session_result(session, usage=usage, diagnostics=document, orphaned=orphaned)

    async def _run(self, run: Run, body: Body, events: Events, ledger: SessionLedger) -> None:
        async def record(session: Session, *entries: tuple[str, Mapping[str, Any]]) -> Session:
            return await self._record(run, session, entries, ledger.spent.seconds)

        chain = await self._wiring.chain(run.session, ledger, run.sampler)
        purse = Purse(ledger, run.session.budget)
        library = await self._library(run.session.config.namespace)
        parts = Parts(
            ask=purse.watching(chain.ask),
            purse=purse,
            judgement=LearnedJudgement(library, run.session.id),
            verifiers=self._verifiers,
            record=record,
            now=now,
            fallbacks=lambda: self._wiring.fallbacks(chain),
            request_timeout=self._wiring.request_timeout,
        )
        session = await record(run.session, *events) if events else run.session
        if run.record.events and session.opened is not None:
            session = await record(session, ("resumed", {"epoch": run.epoch}))
        run.session = await body(session, parts)

    async def _record(
        self, run: Run, session: Session, entries: Events, seconds: float
    ) -> Session:
        plain = [(kind, dict(data)) for kind, data in entries]
        for kind, data in plain:
            session = advance(session, kind, data)
        written = await self._journal.append(run.record.id, run.epoch, plain, status=session.status, seconds=seconds)
        run.session = session
        if run.listener is not None:
            for event in written:
                run.listener(event)
        return session

    async def _conclude(self, run: Run, ledger: SessionLedger, reason: StopReason, said: str = "") -> None:
        conclusion = conclude(run.session, reason, degraded_by=[said] if said else [])
        with suppress(JournalError):
            await self._record(run, run.session, [("concluded", encode(conclusion))], ledger.spent.seconds)

    async def _library(self, namespace: str) -> Library:
        """Return what the namespace has learnt; loaded once a process, by whoever comes first."""

        async with self._loading:
            if namespace not in self._libraries:
                library = Library(self._journal, namespace)
                await library.load()
                self._libraries[namespace] = library
            return self._libraries[namespace]


class Purse:
    """The ledger as the loop sees it; also notices that another process asked for the session's end."""

    def __init__(self, ledger: SessionLedger, budget: Budget) -> None:
        self._ledger, self._budget = ledger, budget
        self._cancelled = False
        self.deadline = ledger.deadline

    def affordable(self) -> int | None:
        """Return how many calls may still be opened; None = any number."""
        return self._ledger.affordable()

    def exhausted(self) -> str | None:
        """Return what forbids a further call, or None."""
        return "cancelled" if self._cancelled else self._ledger.exhausted()

    def used_share(self) -> float:
        """Return the used share of the tightest limit, in [0, 1]."""
        spent, budget = self._ledger.spent, self._budget
        used = (
            (spent.calls, budget.calls),
            (spent.prompt_tokens + spent.completion_tokens, budget.tokens),
            (spent.seconds, budget.seconds),
            (spent.cost_usd or 0.0, budget.cost_usd),
        )
        return min(1.0, max((amount / limit for amount, limit in used if limit), default=0.0))

    def watching(self, ask: Ask) -> Ask:
        """Return `ask`, remembering a cancellation that it runs into."""

        async def watched(call: Call) -> Reply:
            try:
                return await ask(call)
            except CallCancelled:
                self._cancelled = True
                raise

        return watched


def _limits(session: Session) -> dict[str, Any]:
    budget = session.budget
    return {"calls": budget.calls, "tokens": budget.tokens, "seconds": budget.seconds, "cost_usd": budget.cost_usd}


def _provider(session: Session) -> str | None:
    for closed in reversed(session.history):
        for candidate in closed.candidates:
            return candidate.provider
    return None
