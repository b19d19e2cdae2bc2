"""The composition root: settings in, a wired `Booster` out. Every door calls the same few methods.

Solves run as tasks of the booster, never inside a request: a client that leaves and a tool call that times out change
nothing about them.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import structlog

from booster.answer import standing, summary
from booster.attempt import Parts
from booster.errors import UsageError
from booster.journal import Event, Journal, SessionRecord, open_journal
from booster.proposals import caller_candidates
from booster.redact import Redactor
from booster.result import SolveResult
from booster.session import Budget, Problem, Session, new_session_id, spec_of
from booster.settings import Settings
from booster.solve import finalize, iterate
from booster.solve import solve as run_loop  # `solve` in the class body is the method
from booster.wiring import Wiring
from booster.work import Body, Events, Listener, Run, Worker, fold
from providers.chain import how_to_configure
from providers.types import Message, Provider, Sampler
from verifier.checks import CheckVerifier, parse_checks
from verifier.heuristic import HeuristicVerifier
from verifier.types import Candidate, Check

MAX_TASK_CHARS = 400_000
"""Longest task in characters: what no model could read anyway is refused before it is paid for."""

log = structlog.get_logger("booster")


@dataclass(frozen=True, kw_only=True, slots=True)
class StepResult:
    """What one iteration on request brought."""

    chosen: Candidate | None
    candidates: tuple[Candidate, ...]
    """All of them, best first."""
    session: Session
    result: SolveResult


class Booster:
    """The engine behind every door; open it with `async with Booster.open(settings) as booster`."""

    def __init__(self, settings: Settings, journal: Journal, wiring: Wiring) -> None:
        self.settings = settings
        self.journal = journal
        self._wiring = wiring
        self._worker = Worker(journal, wiring, (HeuristicVerifier(), CheckVerifier()))
        self._runs: dict[str, Run] = {}

    @classmethod
    @asynccontextmanager
    async def open(
        cls, settings: Settings | None = None, *, providers: Sequence[Provider] | None = None
    ) -> AsyncIterator["Booster"]:
        """Open journal and providers; when the block ends, leave unfinished solves resumable and close both.

        Args:
            settings: As `Settings.load()` gathers them; None = load them now.
            providers: Use exactly these, in this order, instead of the configured endpoints.
        """
        settings = settings or Settings.load()
        redact = Redactor(settings.secrets)
        async with AsyncExitStack() as stack:
            journal = await stack.enter_async_context(
                open_journal(settings.journal_url, owner_dir=settings.home / "owners", redact=redact)
            )
            wiring = await stack.enter_async_context(Wiring.open(settings, redact, providers))
            booster = cls(settings, journal, wiring)
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
            options: `checks`, `budget`, `messages`, `request`, `expected_answer_format`, `config` (a mapping), and every
                option of `Config` by keyword.

        Raises:
            UsageError: an option is wrong; the text names it. Nothing was started.
        """
        session = self._new_session(task, **options)
        self._wiring.refuse_unusable(session.config, session.budget, sampler)
        record = await self.journal.create(session.id, spec_of(session), task=session.problem.task)
        self._launch(Run(record, session, sampler, listener), run_loop)
        return session.id

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
        """Run further iterations of a session in the background; takes over a session whose process is gone."""
        session = await self.session(session_id)
        target = min(session.iteration + iterations, session.config.max_steps)
        body = _overridden(override_num_candidates, run_loop)
        await self._go_on(session_id, sampler, listener, [("extended", {"iterations": target})], body)

    async def cancel(self, session_id: str) -> None:
        """Stop a session; when this returns nothing of it runs in this process and its state is kept.

        Where another process works on it, that one stops before its next call.
        """
        run = self._runs.get(session_id)
        if run is not None and run.task is not None:
            run.task.cancel()
            await asyncio.wait({run.task})
            return
        record = await self.journal.load(session_id)
        if self.journal.is_alive(record.owner):
            await self.journal.request_cancel(session_id)
        elif record.status == "running":  # nobody works on it: what is left is to say so
            run = Run(record, fold(record))
            self._launch(run, _give_up)
            await asyncio.wait({run.task})  # type: ignore[type-var]  # launched just now

    async def interrupt(self) -> None:
        """Stop everything and leave it resumable: what a process does before it ends."""
        running = [run for run in self._runs.values() if run.task is not None]
        for run in running:
            run.interrupted = True
            run.task.cancel()  # type: ignore[union-attr]  # filtered above
        await asyncio.gather(*(run.task for run in running if run.task), return_exceptions=True)

    # Step by step

    async def start(self, task: str, **options: Any) -> Session:
        """Open a session without running anything; takes what `begin` takes. Its iterations ask for steps by default."""
        session = self._new_session(task, **options)
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
        session = await self.session(session_id)
        if len(session.steps) >= session.config.max_steps:
            raise UsageError(f"the session holds {len(session.steps)} steps, as many as maxSteps allows; start another one")

        async def one(session: Session, parts: Parts) -> Session:
            return await iterate(session, parts, await caller_candidates(session, proposals, parts))

        extended = [("extended", {"iterations": session.iteration + 1})]
        body = _overridden(override_num_candidates, one)
        await self._go_on(session_id, sampler, None, extended, body)
        result = await self._awaited(session_id)
        session = await self.session(session_id)
        closed = session.history[-1] if session.history else None
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
        return self._worker.result(fold(record), ledger, full=full, orphaned=self._orphaned(record))

    def is_running(self, session_id: str) -> bool:
        """Say whether this process works on the session now."""
        return session_id in self._runs

    async def sessions(self, *, status: str | None = None, limit: int = 50) -> list[dict[str, Any]]:
        """Return the latest sessions, newest first, as the lists of all doors show them."""
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

    def advice(self) -> str:
        """Return one line that says how to configure a model."""
        return how_to_configure()

    # Inside

    async def _awaited(self, session_id: str) -> SolveResult:
        try:
            return await self.wait(session_id)
        except asyncio.CancelledError:
            await self.cancel(session_id)
            raise

    async def _go_on(
        self, session_id: str, sampler: Sampler | None, listener: Listener | None, events: Events, body: Body = run_loop
    ) -> None:
        if session_id in self._runs:
            raise UsageError(f"session {session_id} is being worked on; wait for it with get-state, or cancel it")
        record = await self.journal.load(session_id)
        if record.cancel_requested and not self.journal.is_alive(record.owner):
            await self.journal.withdraw_cancel(session_id)
        self._launch(Run(record, fold(record), sampler, listener), body, events)

    def _launch(self, run: Run, body: Body, events: Events = ()) -> None:
        async def guarded() -> None:
            try:
                await self._worker.work(run, body, events)
            except asyncio.CancelledError:
                pass  # asked for; the state is kept
            except Exception as error:
                run.error = error
                log.error("a session broke off", session_id=run.record.id, error=str(error), kind=type(error).__name__)
            finally:
                self._runs.pop(run.record.id, None)

        self._runs[run.record.id] = run
        run.task = asyncio.create_task(guarded(), name=f"session {run.record.id}")

    def _orphaned(self, record: SessionRecord) -> bool:
        return record.status == "running" and record.owner is not None and not self.journal.is_alive(record.owner)

    def _new_session(
        self,
        task: str,
        *,
        checks: Sequence[Check | Mapping[str, Any]] = (),
        budget: Budget | None = None,
        messages: Sequence[Message] = (),
        request: Mapping[str, Any] | None = None,
        expected_answer_format: str = "",
        config: Mapping[str, Any] | None = None,
        **knobs: Any,
    ) -> Session:
        if not isinstance(task, str) or not task.strip():
            raise UsageError("task: is blank; say what is to be solved", field="task")
        if len(task) > MAX_TASK_CHARS:
            raise UsageError(f"task: has {len(task)} characters; at most {MAX_TASK_CHARS} are taken", field="task")
        effective, warnings = self.settings.config.override({**(config or {}), **knobs})
        iterations = min(effective.iterations, effective.max_steps)
        if iterations < effective.iterations:
            warnings.append(f"iterations: {effective.iterations} was cut to maxSteps, {effective.max_steps}")
        problem = Problem(
            task=self._wiring.redact(task),
            messages=tuple(messages),
            request=dict(request or {}),
            checks=parse_checks(checks),
            expected_answer_format=expected_answer_format,
        )
        return Session(
            id=new_session_id(),
            problem=problem,
            config=effective,
            budget=budget or Budget(),
            iterations=iterations,
            cut_iterations=iterations < effective.iterations,
            warnings=(*self.settings.warnings, *warnings),
        )


async def _give_up(session: Session, parts: Parts) -> Session:
    return await finalize(session, "cancelled", parts)


def _overridden(candidates: int | None, body: Body) -> Body:
    """Return `body` under another `numCandidates`, for this call only."""
    if candidates is None:
        return body

    async def with_other_count(session: Session, parts: Parts) -> Session:
        kept = session.config
        session = await body(replace(session, config=kept.override({"numCandidates": candidates})[0]), parts)
        return replace(session, config=kept)

    return with_other_count
