"""Waiting for work that outlives the request it came with: for a time, with progress, cancellation and sampling.

Work belongs to the booster. A request that ends, times out or is asked for again changes nothing about it; only a client
that takes its request back stops it. Above: `booster.server.tools`. Below: `booster.app`.
"""

import asyncio
from collections.abc import Awaitable, Coroutine
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

import structlog
from mcp.server.mcpserver import Context
from mcp.types import InputRequiredResult

from booster.app import Booster, StepResult
from booster.errors import BusyError, OutputPathError
from booster.journal import Event
from booster.output import OutputFile, OutputFormat, rendered, write_output
from booster.redact import Redactor
from booster.result import SolveResult
from booster.server.sampling import MOST_ROUNDS, Leg, PushSampler, Rounds, can_sample, leg_of
from providers.types import Sampler

PROGRESS_SECONDS: Final = 4.0
"""Time between two progress notifications."""

WITHDRAWAL_SECONDS: Final = 0.5
"""How long a withdrawn request's work goes on: when the connection closes requests end in the same way, but then the whole
server follows at once and leaves its work resumable."""

POLL_SECONDS: Final = 1.0
"""Time between two looks at a session that another process works on."""

MOST_OUTPUTS: Final = 256
"""Output files whose fate is remembered."""

log = structlog.get_logger("booster.server")


@dataclass(slots=True)
class Work:
    """A piece of work on one session that this process does for its clients."""

    session_id: str
    rounds: Rounds | None = None
    """Where the client's model is asked by rounds."""
    push: PushSampler | None = None
    """Where it is asked by requests of ours."""
    iterations: int = 0
    """Iterations closed since it began."""
    done: "asyncio.Task[Any]" = field(init=False, repr=False)
    """Ends with the work; a `SolveResult`, or a `StepResult` for a single step."""

    def note(self, event: Event) -> None:
        """Listen to the session's events."""
        if event.type == "iteration_closed":
            self.iterations += 1


class Door:
    """What the tools share: the booster, the work under way, and the rules of waiting for it."""

    def __init__(self, booster: Booster, *, output_root: Path | None) -> None:
        self.booster = booster
        self.output_root = output_root
        """Directory that result files may be written to; None = none may."""
        self.redact = Redactor(booster.settings.secrets)
        self._work: dict[str, Work] = {}
        self._outputs: dict[str, dict[str, Any]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def solve(
        self, ctx: Context[Any, Any], task: str, output: tuple[OutputFile, OutputFormat] | None, **options: Any
    ) -> str:
        """Start a solve and return its session id; once it has ended its result is written to `output`."""
        work = Work("")
        sampler = self._sampler(ctx, work)
        work.session_id = await self.booster.begin(task, listener=work.note, sampler=sampler, **options)
        self._follow(work, self._finished(work.session_id, output))
        return work.session_id

    async def multi_step(
        self, ctx: Context[Any, Any], session_id: str, iterations: int, candidates: int | None
    ) -> None:
        """Start further iterations of a session."""
        work = Work(session_id)
        await self.booster.multi_step(
            session_id,
            iterations,
            override_num_candidates=candidates,
            listener=work.note,
            sampler=self._sampler(ctx, work),
        )
        self._follow(work, self.booster.wait(session_id))

    async def step(self, ctx: Context[Any, Any], session_id: str, **options: Any) -> None:
        """Start one iteration."""
        if session_id in self._work:
            raise BusyError(session_id)
        work = Work(session_id)
        self._follow(work, self.booster.step(session_id, sampler=self._sampler(ctx, work), **options))

    async def resume(self, ctx: Context[Any, Any], session_id: str) -> None:
        """Go on with an unfinished session; one that has ended by itself just gives its result."""
        if session_id in self._work:
            raise BusyError(session_id)
        work = Work(session_id)
        ending = self.booster.resume(session_id, listener=work.note, sampler=self._sampler(ctx, work))
        self._follow(work, ending)

    def working(self, session_id: str) -> bool:
        """Say whether this process works on the session for a client."""
        return session_id in self._work

    def output(self, session_id: str) -> dict[str, Any] | None:
        """Return what became of a session's output file; None = none was asked for, or it was long ago."""
        return self._outputs.get(session_id)

    async def attend(
        self, ctx: Context[Any, Any], leg: Leg, *, withdraws: bool
    ) -> SolveResult | StepResult | InputRequiredResult | Literal["running", "continue"]:
        """Wait for the work on a session until it has ended, the time is over, or the client's model is needed.

        Args:
            ctx: The request that waits.
            leg: State of the tool call.
            withdraws: Whether a client that takes this request back wants the work itself stopped.

        Raises:
            Exception: the one that the work ended with.
        """
        work = self._work.get(leg.session_id)
        if work is None:
            return await self.booster.result(leg.session_id)
        if work.rounds is not None and ctx.input_responses:
            work.rounds.answer(leg.asked, ctx.input_responses)
        try:
            return await self._attend(ctx, leg, work)
        except asyncio.CancelledError:
            if withdraws and not work.done.cancelled():
                self._spawn(self._withdraw(leg.session_id))
            raise
        except Exception as error:
            error.add_note(f"Session {leg.session_id}: what it has is kept; see get-state.")
            raise
        finally:
            if withdraws and work.push is not None:
                work.push.request_ended()

    async def elsewhere(self, session_id: str, seconds: float) -> None:
        """Wait, at most so long, until no other process works on the session any more."""
        end = self.now() + seconds
        while (left := end - self.now()) > 0:
            record = await self.booster.journal.load(session_id)
            if record.status != "running" or not self.booster.journal.is_alive(record.owner):
                return
            await asyncio.sleep(min(POLL_SECONDS, left))

    def leg(self, ctx: Context[Any, Any], seconds: float) -> Leg | None:
        """Return the state of a call that the client continues, with at least so many seconds in all; None for a new call."""
        leg = leg_of(ctx)
        return None if leg is None else replace(leg, until=max(leg.until, leg.began + seconds))

    def first_leg(self, session_id: str, seconds: float) -> Leg:
        """Return the state of a new call that is to be answered within so many seconds."""
        now = self.now()
        return Leg(session_id=session_id, began=now, until=now + seconds)

    @staticmethod
    def now() -> float:
        """Return the time on the running loop's clock."""
        return asyncio.get_running_loop().time()

    async def _attend(
        self, ctx: Context[Any, Any], leg: Leg, work: Work
    ) -> SolveResult | StepResult | InputRequiredResult | Literal["running", "continue"]:
        asks = work.rounds if can_sample(ctx) else None
        while not work.done.done():
            if asks is not None and (leg.rounds < MOST_ROUNDS) and (taken := asks.take()) is not None:
                return leg.asking(*taken)
            if asks is not None and leg.rounds >= MOST_ROUNDS and asks.posted.is_set():
                return "continue"
            now = self.now()
            if now >= leg.until:
                return "running"
            await ctx.report_progress(now - leg.began, None, f"{leg.session_id}: {work.iterations} iterations done")
            await self._pause(work, asks, min(PROGRESS_SECONDS, leg.until - now))
        return work.done.result()  # type: ignore[no-any-return]  # a task of either kind of result

    async def _pause(self, work: Work, asks: Rounds | None, seconds: float) -> None:
        """Wait until something happened, at most so long."""
        posted = asyncio.ensure_future(asks.posted.wait()) if asks is not None else None
        try:
            waited = {work.done} if posted is None else {work.done, posted}
            await asyncio.wait(waited, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if posted is not None:
                posted.cancel()

    def _sampler(self, ctx: Context[Any, Any], work: Work) -> Sampler | None:
        """Return how the client's own model is reached; None where it declared no sampling or cannot be asked."""
        if not can_sample(ctx):
            return None
        if ctx.session.can_send_request:
            work.push = PushSampler(ctx.session, ctx.request_id)
            return work.push
        if (ctx.protocol_version or "") < "2026-07-28":
            return None
        work.rounds = Rounds(lambda: self._spawn(self.booster.cancel(work.session_id)))
        return work.rounds

    def _follow(self, work: Work, ending: Coroutine[Any, Any, Any]) -> None:
        work.done = asyncio.create_task(ending, name=f"work on {work.session_id}")
        self._work[work.session_id] = work
        work.done.add_done_callback(lambda task: self._ended(work, task))

    def _ended(self, work: Work, task: "asyncio.Task[Any]") -> None:
        if self._work.get(work.session_id) is work:
            del self._work[work.session_id]
        if not task.cancelled():
            task.exception()  # logged where it happened and raised to whoever attends; nobody need do so

    async def _finished(self, session_id: str, output: tuple[OutputFile, OutputFormat] | None) -> SolveResult:
        result = await self.booster.wait(session_id)
        if output is not None and result.stop_reason is not None:
            file, form = output
            while len(self._outputs) >= MOST_OUTPUTS:
                del self._outputs[next(iter(self._outputs))]
            self._outputs[session_id] = await asyncio.to_thread(
                _written, file, form, self.redact(rendered(result, form))
            )
        return result

    async def _withdraw(self, session_id: str) -> None:
        await asyncio.sleep(WITHDRAWAL_SECONDS)
        if self.booster.is_running(session_id):
            await self.booster.cancel(session_id)

    def _spawn(self, job: Awaitable[None]) -> None:
        async def run() -> None:
            try:
                await job
            except Exception as error:  # nobody waits for it: say it where the operator looks
                log.warning("a background job failed", error=self.redact(str(error)), kind=type(error).__name__)

        task = asyncio.create_task(run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _written(file: OutputFile, form: OutputFormat, text: str) -> dict[str, Any]:
    """Write an output file and say how that went; the result it holds is not lost where it failed."""
    outcome: dict[str, Any] = {"path": "/".join(file.parts), "format": form}
    try:
        write_output(file, text)
    except OutputPathError as error:
        return {**outcome, "written": False, "error": str(error)}
    return {**outcome, "written": True}
