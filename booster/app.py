"""The composition root: settings in, a wired `Booster` out. Every door calls the same few methods.

Solves run as tasks of the booster, never inside a request: a client that leaves and a tool call that times out change
nothing about them.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from booster.answer import summary
from booster.errors import BusyError, EndingError, UsageError
from booster.events import spec_of
from booster.journal import Event, Journal, JournalError, Listener, SessionRecord, open_journal
from booster.opening import new_session, refuse_no_count
from booster.parts import Parts, RunTests
from booster.proposals import caller_candidates, read_proposals
from booster.redact import Redactor
from booster.result import SolveResult
from booster.scheduler_store import scheduler_tools
from booster.session import Session
from booster.settings import MEMORY_JOURNAL, Settings
from booster.solve import exhausted, finalize, give_up, iterate
from booster.solve import solve as run_loop  # `solve` in the class body is the method
from booster.standing import standing
from booster.telemetry import Telemetry
from booster.wiring import Wiring
from booster.work import Body, Events, Run, Worker, fold, overridden
from providers.chain import how_to_configure
from providers.types import Provider, Sampler
from scheduler.persistence import PersistentService
from verifier.checks import CheckVerifier
from verifier.heuristic import HeuristicVerifier
from verifier.types import Candidate, Verifier

log = logging.getLogger("booster")


@dataclass(frozen=True, kw_only=True, slots=True)
class StepResult:
    """What one iteration on request brought."""

    chosen: Candidate | None
    candidates: tuple[Candidate, ...]
    """All of them, best first."""
    session: Session
    result: SolveResult


MOST_RUNNING: Final = 1000
"""Running sessions that are looked through for orphaned ones."""


BEGINNING: Final = 4
"""Solves that are begun in the same turns of the event loop: of many that come together the first have asked their models before
the last begin. All at once would take as long, ask late, get their answers all at once, and hold much more memory meanwhile."""

TURNS: Final = 3
"""Turns of the event loop until a solve that has begun wants its first calls to be journalled."""


class Booster:
    """The engine behind every door; open it with `async with Booster.open(settings) as booster`."""

    def __init__(self, settings: Settings, journal: Journal, wiring: Wiring, run_tests: RunTests | None = None) -> None:
        self.settings = settings
        self.journal = journal
        self._wiring = wiring
        self.telemetry = Telemetry(wiring.redact, content=settings.trace_content)
        checks, sandboxed = _checks(settings.allow_code)
        self._worker = Worker(journal, wiring, (HeuristicVerifier(), checks), self.telemetry, run_tests or sandboxed)
        self._runs: dict[str, Run] = {}
        self._beginning = asyncio.Semaphore(BEGINNING)
        self._interruptions = 0
        self.observers: list[Callable[[str], None]] = []
        """Each is called with the id of a session whenever an event of it, written by this process, became durable."""

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        settings: Settings | None = None,
        *,
        providers: Sequence[Provider] | None = None,
        run_tests: RunTests | None = None,
    ) -> AsyncIterator["Booster"]:
        """Open journal and providers; when the block ends, leave unfinished solves resumable and close both.

        Args:
            settings: As `Settings.load()` gathers them; None = load them now.
            providers: Use exactly these, in this order, instead of the configured endpoints.
            run_tests: Runs the tests that models write, instead of the sandbox; what was recorded of them, for example.
        """
        settings = settings or Settings.load()
        redact = Redactor(settings.secrets)
        async with AsyncExitStack() as stack:
            journal = await stack.enter_async_context(
                open_journal(settings.journal_url, owner_dir=settings.home / "owners", redact=redact)
            )
            wiring = await stack.enter_async_context(Wiring.open(settings, redact, providers))
            booster = cls(settings, journal, wiring, run_tests)
            stack.push_async_callback(booster.interrupt)
            yield booster

    # Whole solves

    async def solve(self, task: str, **options: Any) -> SolveResult:
        """Solve a task and return the result; takes what `begin` takes.

        Cancelling the awaiting task cancels the solve; its state is kept.
        """
        return await self._awaited(await self.begin(task, **options))

    async def begin(
        self, task: str, *, listener: Listener | None = None, sampler: Sampler | None = None, **options: Any
    ) -> str:
        """Start a solve in the background and return its session id.

        Args:
            task: The question; never blank.
            listener: Called with every event once it is durable.
            sampler: Carries calls to an MCP client's own model.
            options: `checks`, `budget`, `messages`, `request`, `expected_answer_format`, `verbatim`, `config` (a mapping),
                and every option of `Config` by keyword.

        Raises:
            UsageError: an option is wrong; the text names it. Nothing was started.
            EndingError: the process is about to end. Nothing was started.
        """
        session = new_session(self.settings, task, **options)
        self._wiring.refuse_unusable(session.config, session.budget, sampler)
        interruptions = self._interruptions
        await self._beginning.acquire()
        self._let_begin(TURNS)
        if interruptions != self._interruptions:
            raise EndingError
        return await self._begun(session, listener, sampler)

    async def wait(self, session_id: str, seconds: float | None = None) -> SolveResult:
        """Return the result; after `seconds`, what there is of it while the solve goes on.

        Raises:
            JournalError: the solve ended because its journal could not be written.
        """
        run = self._runs.get(session_id)
        if run is None or run.task is None:
            return await self.result(session_id)
        done, _ = await asyncio.wait({run.task}, timeout=seconds)
        if done and run.error is not None:
            raise run.error
        return run.result if done and run.result else await self.result(session_id)

    async def stream(self, task: str, **options: Any) -> AsyncIterator[Event]:
        """Solve a task and yield its events as they become durable; leaving the loop early cancels the solve."""
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        session_id = await self.begin(task, listener=queue.put_nowait, **options)
        waiting = asyncio.create_task(self.wait(session_id))
        waiting.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while (event := await queue.get()) is not None:
                yield event
            await waiting
        finally:
            if not waiting.done():
                waiting.cancel()
                await self.cancel(session_id)

    async def resume(
        self, session_id: str, *, listener: Listener | None = None, sampler: Sampler | None = None
    ) -> SolveResult:
        """Go on with an unfinished session and return its result; no finished call is paid again.

        A session that has ended by itself just returns its result; a cancelled or failed one goes on.
        """
        session = await self.session(session_id)
        ending = session.conclusion
        if ending is None:
            await self._go_on(session_id, sampler, listener, ())
        elif ending.stop_reason in ("cancelled", "error"):
            await self._go_on(session_id, sampler, listener, [("extended", {"iterations": session.iterations})])
        return await self._awaited(session_id)

    async def multi_step(
        self,
        session_id: str,
        iterations: int,
        *,
        override_num_candidates: int | None = None,
        listener: Listener | None = None,
        sampler: Sampler | None = None,
    ) -> None:
        """Run further iterations of a session in the background; takes over a session whose process is gone.

        Args:
            session_id: Handle from `start` or `begin`.
            iterations: How many more, 1 or more; those for which `maxSteps` leaves no room are cut.
            override_num_candidates: Candidates of these iterations only, 1..16.
            listener: Called with every event once it is durable.
            sampler: Carries calls to an MCP client's own model.

        Raises:
            UsageError: the session is being worked on, or a value is out of range.
        """
        refuse_no_count(iterations)
        session = await self.session(session_id)
        room = session.config.max_steps - len(session.steps)
        extended = {"iterations": session.iteration + min(iterations, room), "cut": iterations > room}
        body = overridden(session, override_num_candidates, run_loop)
        await self._go_on(session_id, sampler, listener, [("extended", extended)], body)

    async def cancel(self, session_id: str) -> None:
        """Stop a session; when this returns nothing of it runs in this process and its state is kept.

        Where another process works on it, that one is told to stop, and does so within a second.
        """
        run = self._runs.get(session_id)
        if run is not None and run.task is not None:
            if not run.task.cancelling():
                run.task.cancel()
            await asyncio.wait({run.task})
            if run.result is not None:
                return
        never_began = run is not None and run.error is None
        record = await self.journal.load(session_id)
        if self.journal.is_alive(record.owner) and not never_began:
            await self.journal.request_cancel(session_id)
        elif record.status == "running":  # nobody works on it: what is left is to say so
            run = Run(record, fold(record))
            self._launch(run, give_up)
            await asyncio.wait({run.task})  # type: ignore[type-var]  # launched just now

    async def interrupt(self) -> None:
        """Stop everything and leave it resumable: what a process does before it ends. What waits to be begun never is."""
        self._interruptions += 1
        running = [run for run in self._runs.values() if run.task is not None]
        for run in running:
            run.interrupted = True
            run.task.cancel()  # type: ignore[union-attr]  # filtered above
        await asyncio.gather(*(run.task for run in running if run.task), return_exceptions=True)

    # Step by step

    async def start(self, task: str, **options: Any) -> Session:
        """Open a session without running anything; takes what `begin` takes. Its iterations ask for steps by default."""
        session = new_session(self.settings, task, **options)
        if session.config.granularity == "auto":
            session = replace(session, config=session.config.override({"granularity": "step"})[0])
        record = await self.journal.create(session.id, spec_of(session), task=session.problem.task)
        return fold(record)

    async def step(
        self,
        session_id: str,
        *,
        proposals: Sequence[Mapping[str, Any]] = (),
        override_num_candidates: int | None = None,
        sampler: Sampler | None = None,
    ) -> StepResult:
        """Run one iteration.

        Args:
            session_id: Handle from `start`.
            proposals: Candidates of the caller (`text`, `rationale`, `answer`, `checks`); no model is asked then.
            override_num_candidates: Candidates of this iteration only, 1..16.
            sampler: Carries calls to an MCP client's own model.

        Raises:
            UsageError: the session is full or being worked on, or a proposal is malformed.
        """
        given = read_proposals(proposals)
        before = await self.session(session_id)
        if len(before.steps) >= before.config.max_steps:
            raise UsageError(
                f"the session holds {len(before.steps)} steps, as many as maxSteps allows; start another one"
            )

        async def one(session: Session, parts: Parts) -> Session:
            limit = None if given else exhausted(session, parts)
            if limit is not None:
                return await finalize(session, limit, parts)
            return await iterate(session, parts, await caller_candidates(session, given, parts))

        needs_room = before.conclusion is not None or before.stagnant or before.iteration >= before.iterations
        target = max(before.iterations, before.iteration + 1)
        extended = [("extended", {"iterations": target})] if needs_room else []
        await self._go_on(session_id, sampler, None, extended, overridden(before, override_num_candidates, one))
        result = await self._awaited(session_id)
        session = await self.session(session_id)
        closed = session.history[-1] if session.iteration > before.iteration else None
        candidates = closed.candidates if closed else ()
        chosen = next((one for one in candidates if closed and one.key == closed.chosen), None)
        return StepResult(chosen=chosen, candidates=candidates, session=session, result=result)

    async def summarize(self, session_id: str) -> str:
        """Return task, last distinct steps and answer of a session as text."""
        session = await self.session(session_id)
        return summary(session, standing(session))

    # Looking

    async def session(self, session_id: str) -> Session:
        """Return the state of a session as its journal has it.

        Raises:
            UnknownSession: there is none; the text says how to list them.
        """
        return fold(await self.journal.load(session_id))

    async def result(self, session_id: str, *, full: bool = False) -> SolveResult:
        """Return the result of a session as its journal has it, finished or not; `full` adds raw samples."""
        record = await self.journal.load(session_id)
        ledger = await self.journal.ledger(record, epoch=record.epoch)
        session = fold(record)
        # One whose journal refused a write was given up amid an iteration, without an owner that could be dead.
        left = session.opened is not None and record.owner is None and record.status == "running"
        return self._worker.result(session, ledger, full=full, orphaned=left or self._orphaned(record))

    def is_running(self, session_id: str) -> bool:
        """Say whether this process works on the session now."""
        return session_id in self._runs

    async def sessions(self, *, status: str | None = None, limit: int = 50) -> list[dict[str, Any]]:
        """Return the latest sessions, newest first, as the lists of all doors show them.

        Args:
            status: Only those of this status; `orphaned` = running, and the process that worked on them is gone.
            limit: How many.
        """
        if status == "orphaned":
            running = await self.sessions(status="running", limit=MOST_RUNNING)
            return [one for one in running if one.get("orphaned")][:limit]
        return [
            {
                "sessionId": record.id, "status": record.status, "task": record.task, "createdAt": record.created_at,
                "updatedAt": record.updated_at, "active": self.journal.is_alive(record.owner),
                **({"orphaned": True} if self._orphaned(record) else {}),
            }
            for record in await self.journal.sessions(status=status, limit=limit)
        ]  # fmt: skip

    def describe_sources(self) -> list[dict[str, Any]]:
        """Return the configured sources of model content in the order in which they are asked; no key is shown."""
        return self._wiring.describe()

    def scheduler_tools(self) -> PersistentService:
        """Return what the scheduler's own tools work on: the libraries of this journal, with sessions apart from the loop's."""
        kept = self.settings.journal_url != MEMORY_JOURNAL
        return scheduler_tools(self.journal, self.settings.home / "scheduler" if kept else None)

    def advice(self) -> str:
        """Return one line that says how to configure a model."""
        return how_to_configure()

    # Inside

    async def _begun(self, session: Session, listener: Listener | None, sampler: Sampler | None) -> str:
        """Store a new session and work on it; return its id once it is durable."""
        spec = spec_of(session)
        record, created = self.journal.create_owned(session.id, spec, task=session.problem.task)
        # Only where something was redacted does the session differ from the one that a resume would find. A client's own
        # messages reach its model as they are all the same; what the journal holds of them is redacted.
        as_given = record.spec == spec or session.problem.verbatim
        session = replace(session, created_at=record.created_at) if as_given else fold(record)
        task_of_it = self._launch(Run(record, session, sampler, listener, created), run_loop)
        try:
            await asyncio.shield(created)
        except BaseException:
            task_of_it.cancel()
            await asyncio.wait({task_of_it})
            with suppress(JournalError):
                await self.journal.release(session.id, record.epoch)
            raise
        return session.id

    def _let_begin(self, turns: int) -> None:
        """Let another solve be begun after so many turns of the event loop."""
        if turns:
            asyncio.get_running_loop().call_soon(self._let_begin, turns - 1)
        else:
            self._beginning.release()

    async def _awaited(self, session_id: str) -> SolveResult:
        try:
            return await self.wait(session_id)
        except asyncio.CancelledError:
            await self.cancel(session_id)
            raise

    async def _go_on(
        self, session_id: str, sampler: Sampler | None, listener: Listener | None, events: Events, body: Body = run_loop
    ) -> None:
        self._refuse_busy(session_id)
        record = await self.journal.load(session_id)
        if record.cancel_requested and not self.journal.is_alive(record.owner):
            await self.journal.withdraw_cancel(session_id)
        self._launch(Run(record, fold(record), sampler, listener), body, events)

    def _launch(self, run: Run, body: Body, events: Events = ()) -> "asyncio.Task[None]":
        async def guarded() -> None:
            try:
                await self._worker.work(run, body, events)
            except asyncio.CancelledError:
                pass  # asked for; the state is kept
            except Exception as error:
                run.error = error
                said = self._wiring.redact(str(error))
                log.error("session %s broke off: %s: %s", run.record.id, type(error).__name__, said)

        self._refuse_busy(run.record.id)
        run.listener = self._observed(run.record.id, run.listener)
        self._runs[run.record.id] = run
        run.task = asyncio.create_task(guarded(), name=f"session {run.record.id}")
        # Not inside the task: one that is cancelled before its first step would never get there.
        run.task.add_done_callback(lambda _: self._runs.pop(run.record.id, None))
        return run.task

    def _observed(self, session_id: str, listener: Listener | None) -> Listener:
        def tell(event: Event) -> None:
            if listener is not None:
                listener(event)
            for observer in self.observers:
                observer(session_id)

        return tell

    def _refuse_busy(self, session_id: str) -> None:
        if session_id in self._runs:
            raise BusyError(session_id)

    def _orphaned(self, record: SessionRecord) -> bool:
        return record.status == "running" and record.owner is not None and not self.journal.is_alive(record.owner)


def _checks(allow_code: bool) -> tuple[Verifier, RunTests | None]:
    """Return what runs the user's checks and generated tests: code only where the process's configuration allows it."""
    if not allow_code:
        return CheckVerifier(), None
    from verifier.code_checks import CodeCheckVerifier  # the sandbox is loaded where it may be used

    verifier = CodeCheckVerifier()
    return verifier, verifier.passed_tests
