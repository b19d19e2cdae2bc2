"""Working on one session: own it, wire the loop's parts, run, and keep the state whatever ends it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from booster.answer import conclude
from booster.codec import encode
from booster.events import advance, session_from_spec
from booster.journal import Journal, Listener, Recorder, SessionLedger, SessionRecord, now
from booster.journal.errors import JournalError
from booster.judgement import ForcedJudgement, LearnedJudgement, SharedScheduler
from booster.learnt import Memories
from booster.parts import Parts, RunTests
from booster.result import SolveResult, session_result
from booster.session import Budget, Session, StopReason
from booster.standing import standing
from booster.telemetry import Telemetry, Trace
from booster.wiring import Wiring
from providers.errors import CallCancelled
from providers.types import Ask, Call, Reply, Sampler
from verifier.types import Verifier

Body = Callable[[Session, Parts], Awaitable[Session]]
"""What to do with the session: the whole loop, or one iteration of it."""

Events = Sequence[tuple[str, Mapping[str, Any]]]

CANCEL_CHECK = 0.5
"""Seconds between two looks at whether another process has asked for the end of a session."""


def fold(record: SessionRecord) -> Session:
    """Return the state that a journalled session is in."""
    session = session_from_spec(record.id, record.spec, record.created_at)
    for event in record.events:
        session = advance(session, event.type, event.data)
    return session


@dataclass(slots=True)
class Run:
    """A session that this process works on."""

    record: SessionRecord
    session: Session
    sampler: Sampler | None = None
    listener: Listener | None = None
    created: asyncio.Future[None] | None = None
    """Of a session that was made for this run and is owned already: ends when it is stored."""
    stopping: bool = False
    """Another process asked for the end, and the task was told."""
    interrupted: bool = False
    """The process is ending: leave the session unfinished, so that it can be resumed."""
    result: SolveResult | None = None
    error: Exception | None = None
    epoch: int = 0
    trace: Trace = field(init=False, repr=False)
    task: "asyncio.Task[None] | None" = field(default=None, repr=False)


class Worker:
    """Works on sessions, one call of `work` each."""

    def __init__(
        self,
        journal: Journal,
        wiring: Wiring,
        verifiers: Sequence[Verifier],
        telemetry: Telemetry,
        run_tests: RunTests | None = None,
    ) -> None:
        self._journal, self._wiring, self._telemetry = journal, wiring, telemetry
        self._verifiers, self._run_tests = verifiers, run_tests
        self._scheduler = SharedScheduler(journal)
        self._memories = Memories(journal)
        self._watch = Watch(journal)

    async def work(self, run: Run, body: Body, events: Events = ()) -> None:
        """Take the session over, run `body` on it, and leave `run.result` behind; what it records is durable then.

        A cancelled session is concluded as cancelled, a broken one as failed, an interrupted one is left as it is.

        Raises:
            JournalError: the session belongs to another live process, or nothing can be written any more.
        """
        with self._telemetry.run(run.record) as run.trace:
            await self._work(run, body, events)

    async def _work(self, run: Run, body: Body, events: Events) -> None:
        await self._wiring.prepare()
        run.epoch = run.record.epoch if run.created else await self._take_over(run)
        try:
            recorder, ledger = await self._opened(run)
            self._watch.begin(run)
            try:
                await self._run(run, body, events, ledger, recorder)
            except asyncio.CancelledError:
                if not run.interrupted:
                    self._conclude(run, ledger, recorder, "cancelled")
                raise
            except JournalError:
                raise
            except Exception as error:
                self._conclude(run, ledger, recorder, "error", f"{type(error).__name__}: {error}")
                raise
            finally:
                self._watch.end(run)
                run.result = self.result(run.session, ledger)
        finally:
            if not run.interrupted:  # else it stays this process's, and is seen as orphaned when that has ended
                with suppress(JournalError):
                    await self._journal.release(run.record.id, run.epoch)
        await recorder.settled()
        await (await self._memories.of(run.session.config.namespace)).saved()

    async def _take_over(self, run: Run) -> int:
        # `again`: the booster runs a session at most once at a time, so an ownership of its own is a leftover.
        return await self._journal.take_over(run.record.id, again=True)

    def result(
        self, session: Session, ledger: SessionLedger, *, full: bool = False, orphaned: bool = False
    ) -> SolveResult:
        """Return the result of a session with what its calls cost."""
        spent = ledger.spent
        usage = {
            "calls": spent.calls, "promptTokens": spent.prompt_tokens, "completionTokens": spent.completion_tokens,
            "reasoningTokens": spent.reasoning_tokens, "costUsd": spent.cost_usd if spent.calls else 0.0,
            "estimated": spent.estimated, "seconds": round(spent.seconds, 3), "byRole": spent.by_role,
        }  # fmt: skip
        document = ledger.diagnostics(full=full)
        document["provider"] = (document.get("lastProvider") if session.has_content else None) or _provider(session)
        key = standing(session).key
        reply = ledger.reply(key) if key else None
        return session_result(session, usage=usage, diagnostics=document, orphaned=orphaned, reply=reply)

    async def _opened(self, run: Run) -> tuple[Recorder, SessionLedger]:
        """Bring the run to the journalled state of its session and open what records its events and calls."""
        if run.created is None:
            run.record = await self._journal.load(run.record.id)
            run.session = fold(run.record)
        last = run.record.events[-1].seq if run.record.events else 0
        recorder = Recorder(self._journal, run.record.id, run.epoch, last=last, listener=run.listener)
        if run.created is not None:
            recorder.expect(run.created)
        ledger = await self._journal.ledger(
            run.record, epoch=run.epoch, fresh=run.created is not None, expect=recorder.expect, **_limits(run.session)
        )
        return recorder, ledger

    async def _run(self, run: Run, body: Body, events: Events, ledger: SessionLedger, recorder: Recorder) -> None:
        async def record(session: Session, *entries: tuple[str, Mapping[str, Any]]) -> Session:
            return self._record(run, session, entries, ledger, recorder)

        def paid(send: Ask) -> Ask:
            async def ask(call: Call) -> Reply:
                reply = await purse.ask(send, call, lambda: self._journal.cancel_requested(run.record.id))
                recorder.check()
                return reply

            return ask

        trace = run.trace
        traced = trace.ledger(ledger)
        chain = await self._wiring.chain(run.session, traced, run.sampler)
        purse = Purse(ledger, run.session.budget)
        memory = await self._memories.of(run.session.config.namespace)
        judgement = await self._judgement(run)
        parts = Parts(
            ask=trace.asking(paid(chain.ask)),
            purse=purse,
            judgement=judgement,
            verifiers=self._verifiers,
            run_tests=self._run_tests,
            record=record,
            now=now,
            fallbacks=lambda: self._wiring.fallbacks(chain),
            request_timeout=self._wiring.request_timeout,
            memory=memory,
            reward=self._wiring.reward(run.session.config, traced, purse, memory, paid),
            prices=self._wiring.prices,
        )
        events = [*trace.begun(), *events]
        session = await record(run.session, *events) if events else run.session
        if run.record.events and session.opened is not None:
            session = await record(session, ("resumed", {"epoch": run.epoch}))
        try:
            run.session = await body(session, parts)
        finally:
            if learnt := await judgement.save():
                self._record(run, run.session, learnt, ledger, recorder)
            judgement.close()

    def _record(
        self, run: Run, session: Session, entries: Events, ledger: SessionLedger, recorder: Recorder
    ) -> Session:
        plain = [(kind, dict(data)) for kind, data in entries]
        for kind, data in plain:
            session = advance(session, kind, data)
        run.trace.told(plain)
        recorder.add(plain, status=session.status, seconds=ledger.seconds)
        run.session = session
        return session

    def _conclude(
        self, run: Run, ledger: SessionLedger, recorder: Recorder, reason: StopReason, said: str = ""
    ) -> None:
        conclusion = conclude(run.session, reason, degraded_by=[said] if said else [])
        with suppress(JournalError):
            self._record(run, run.session, [("concluded", encode(conclusion))], ledger, recorder)

    async def _judgement(self, run: Run) -> LearnedJudgement | ForcedJudgement:
        if run.session.config.scheduler != "auto":
            return ForcedJudgement()
        return await self._scheduler.judgement(run.session, [(event.type, event.data) for event in run.record.events])


def overridden(session: Session, candidates: int | None, body: Body) -> Body:
    """Return `body` under another `numCandidates`, for one call only; None = as it is.

    Raises:
        UsageError: the number is out of range; nothing was done.
    """
    if candidates is None:
        return body
    config, _ = session.config.override({"numCandidates": candidates})

    async def with_other_count(session: Session, parts: Parts) -> Session:
        after = await body(replace(session, config=config, at_once=True), parts)
        return replace(after, config=session.config, at_once=session.at_once)

    return with_other_count


class Watch:
    """Stops runs, also amid a call that hangs, once another process has asked for their end; one look is for all of them."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._runs: dict[str, Run] = {}
        self._task: asyncio.Task[None] | None = None

    def begin(self, run: Run) -> None:
        """Watch over one more run."""
        self._runs[run.record.id] = run
        if self._task is None:
            self._task = asyncio.create_task(self._look(), name="watch over cancellations")

    def end(self, run: Run) -> None:
        """Leave a run alone; when it was the last, nothing goes on here."""
        self._runs.pop(run.record.id, None)
        if not self._runs and self._task is not None:
            self._task.cancel()
            self._task = None

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(CANCEL_CHECK)
            with suppress(JournalError):  # whoever works on a session meets it too, and says it
                for session_id in await self._journal.cancelled_among(list(self._runs)):
                    run = self._runs.get(session_id)
                    if run is not None and run.task is not None and not run.stopping:
                        run.stopping = True
                        run.task.cancel()


class Purse:
    """The ledger as the loop sees it; also notices that another process asked for the session's end."""

    def __init__(self, ledger: SessionLedger, budget: Budget) -> None:
        self._ledger, self._budget = ledger, budget
        self._cancelled = False
        self.deadline = ledger.deadline

    def affordable(self) -> int | None:
        """Return how many calls may still be opened; None = any number."""
        return self._ledger.affordable()

    def recorded(self, step_key: str) -> bool:
        """Say whether a call of this key was answered before the process was stopped, so that it costs nothing now."""
        return self._ledger.recorded(step_key)

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

    async def ask(self, ask: Ask, call: Call, cancel_requested: Callable[[], Awaitable[bool]]) -> Reply:
        """Ask, and remember a cancellation of the session that this runs into.

        A call may also be recalled as withdrawn because its siblings had landed: that ends nothing.
        """
        try:
            return await ask(call)
        except CallCancelled:
            self._cancelled = self._cancelled or await cancel_requested()
            raise


def _limits(session: Session) -> dict[str, Any]:
    budget = session.budget
    return {"calls": budget.calls, "tokens": budget.tokens, "seconds": budget.seconds, "cost_usd": budget.cost_usd}


def _provider(session: Session) -> str | None:
    for closed in reversed(session.history):
        for candidate in closed.candidates:
            return candidate.provider
    return None
