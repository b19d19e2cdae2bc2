"""The nine scheduler tools over MCP, in both protocol eras: standalone on stdio, or added to another server.

python -m scheduler.server --store DIRECTORY
"""

# ruff: noqa: N803 - the arguments carry the names of the wire protocol

import argparse
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Annotated, Any

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from scheduler.errors import SchedulerError
from scheduler.persistence import PersistentService
from scheduler.replies import (
    CalibrationReply,
    CloseReply,
    DecisionReply,
    OpenReply,
    PrototypesReply,
    ReportReply,
    StatsReply,
    TaskReply,
)
from scheduler.store import FileStore
from scheduler.types import Costs, Outcome, Signals

SERVER_NAME = "conscious-scheduler"
DEFAULT_STORE = "store"
SHUTDOWN_SECONDS = 5.0
"""How long a signal waits for the libraries to be saved."""

SessionId = Annotated[str, Field(description="Name of the session, as given to open_session.")]
Number = float | str
"""A number or a numeric string; what else it may be is checked by the scheduler, which names the field."""
Hint = Annotated[Number, Field(description="In [0, 1]; unset = 0.")]


@contextmanager
def _readable_errors() -> Iterator[None]:
    """Give the model the text of our own errors."""
    try:
        yield
    except SchedulerError as error:
        raise ToolError(str(error)) from error


def register(mcp: MCPServer, tools: PersistentService) -> None:
    """Add the nine tools to a server."""
    for add in (_add_session_tools, _add_step_tools, _add_reading_tools):
        add(mcp, tools)


def _add_session_tools(mcp: MCPServer, tools: PersistentService) -> None:
    @mcp.tool(title="Open a scheduling session")
    async def open_session(
        sessionId: SessionId,
        namespace: Annotated[str, Field(description="Library of experience to share; same name = shared.")] = "default",
        policy: Annotated[
            str | None, Field(description="regime (default), auction, router, static, always-s1, always-s2.")
        ] = None,
        costs: Annotated[
            dict[str, Number] | None, Field(description="cheap (1), deep (5), damage (0), redo (deep).")
        ] = None,
        opts: Annotated[
            dict[str, Any] | None, Field(description="Settings such as probeRate, calibWindow, threshold.")
        ] = None,
    ) -> OpenReply:
        """Open a session, or resume the one of this id. Sessions of one namespace share what they learn."""
        with _readable_errors():
            reply = await tools.open_session(sessionId, namespace, policy=policy, costs=_costs(costs), opts=opts)
        return OpenReply(**reply)

    @mcp.tool(title="Begin a task")
    async def new_task(sessionId: SessionId) -> TaskReply:
        """Begin a task: the context counts as clean again; what was learnt stays."""
        with _readable_errors():
            return TaskReply(**tools.service.new_task(sessionId))

    @mcp.tool(title="End a task")
    async def task_feedback(
        sessionId: SessionId, success: Annotated[bool, Field(description="Whether the task succeeded.")]
    ) -> TaskReply:
        """End a task: tunes the shadow price mu and saves what was learnt. Labels of steps are not touched."""
        with _readable_errors():
            return TaskReply(**await tools.task_feedback(sessionId, success))

    @mcp.tool(title="Close a session")
    async def close_session(sessionId: SessionId) -> CloseReply:
        """Close a session and save its namespace."""
        with _readable_errors():
            return CloseReply(**await tools.close_session(sessionId))


def _add_step_tools(mcp: MCPServer, tools: PersistentService) -> None:
    @mcp.tool(title="Decide how much thought a step gets")
    async def decide_step(
        sessionId: SessionId,
        criticality_hint: Hint = 0.0,
        difficulty_hint: Hint = 0.0,
        progress: Hint = 0.0,
        context_pollution: Annotated[
            Number | None, Field(description="Used tokens / context window; unset = own estimate.")
        ] = None,
    ) -> DecisionReply:
        """Choose System 1 (cheap, one shot) or System 2 (strong model, deep reasoning) for the next step.

        Report what came of it with report_outcome and the decision_id.
        """
        with _readable_errors():
            signals = _signals(criticality_hint, difficulty_hint, progress, context_pollution)
            return DecisionReply(**tools.service.decide_step(sessionId, signals))

    @mcp.tool(title="Report what came of a step")
    async def report_outcome(
        sessionId: SessionId,
        observed_criticality: Annotated[Number | None, Field(description="Your own score in [0, 1].")] = None,
        used_system2: bool | None = None,
        was_deep: Annotated[bool | None, Field(description="System 2 ran at some point, escalation included.")] = None,
        decision_id: Annotated[str | None, Field(description="From decide_step; unset = the last pending one.")] = None,
        outcome: Annotated[Outcome | None, Field(description="What was verified about the step.")] = None,
        verifier_recall: Annotated[
            Number, Field(description="Share of failures the verifier notices, in [0, 1].")
        ] = 1.0,
        rework: Annotated[bool, Field(description="System 2 went astray and had to be redone.")] = False,
        criticality_hint: Number | None = None,
        difficulty_hint: Number | None = None,
        progress: Number | None = None,
    ) -> ReportReply:
        """Tell what came of a step. State facts; the scheduler derives the label.

        s1_fail: System 1 failed its verification, was escalated or redone. s1_pass: it passed. s1_unchecked: nothing
        looked at it. s2_done: System 2 was used. s2_probe_pass / s2_probe_fail: beside System 2 the cheap answer was
        produced too, and passed / failed. A failure discovered later is reported as s1_fail with the same decision_id.
        """
        hints = (criticality_hint, difficulty_hint, progress)
        with _readable_errors():
            echoed = None
            if decision_id is None and any(hint is not None for hint in hints):
                c, d, p = (0.0 if hint is None else hint for hint in hints)
                echoed = _signals(c, d, p, None)
            reply = tools.service.report_outcome(
                sessionId,
                observed_criticality=observed_criticality,  # type: ignore[arg-type]  # checked inside, names the field
                used_system2=used_system2,
                was_deep=was_deep,
                decision_id=decision_id,
                outcome=outcome,
                verifier_recall=verifier_recall,  # type: ignore[arg-type]  # checked inside, names the field
                rework=rework,
                signals=echoed,
            )
        return ReportReply(**reply)


def _add_reading_tools(mcp: MCPServer, tools: PersistentService) -> None:
    @mcp.tool(title="Statistics of a session")
    async def get_stats(sessionId: SessionId) -> StatsReply:
        """Return counts, mu, and which share of the steps of each mode was labelled and from what source."""
        with _readable_errors():
            return StatsReply(**tools.service.get_stats(sessionId))

    @mcp.tool(title="Calibration of a session")
    async def get_calibration(sessionId: SessionId) -> CalibrationReply:
        """Return how well predictions met labels over the last scored steps, and whether they improve."""
        with _readable_errors():
            return CalibrationReply(**tools.service.get_calibration(sessionId))

    @mcp.tool(title="Prototypes of a namespace")
    async def dump_prototypes(sessionId: SessionId) -> PrototypesReply:
        """Return a readable account of every learnt prototype of the session's namespace."""
        with _readable_errors():
            return PrototypesReply(**tools.service.dump_prototypes(sessionId))


def build(tools: PersistentService) -> MCPServer:
    """Return a server with the nine tools that saves every library when it ends."""

    @asynccontextmanager
    async def lifespan(_: MCPServer) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await tools.save_all()

    mcp = MCPServer(SERVER_NAME, lifespan=lifespan, log_level="WARNING")
    register(mcp, tools)
    return mcp


async def serve_stdio(tools: PersistentService) -> None:
    """Serve on stdin and stdout until the client closes them or a signal arrives."""
    mcp = build(tools)

    async def on_signal() -> None:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async for _ in signals:
                with anyio.move_on_after(SHUTDOWN_SECONDS):
                    await tools.save_all()
                # The thread that waits for stdin cannot be cancelled.
                os._exit(0)

    async with anyio.create_task_group() as group:
        group.start_soon(on_signal)
        await mcp.run_stdio_async()
        group.cancel_scope.cancel()


def main(arguments: list[str] | None = None) -> None:
    """Serve the tools on stdio with a file store."""
    parser = argparse.ArgumentParser(prog="python -m scheduler.server", description=__doc__)
    parser.add_argument("--store", default=DEFAULT_STORE, help="directory of the namespaces (default: %(default)s)")
    options = parser.parse_args(arguments)
    store = FileStore(options.store)
    anyio.run(serve_stdio, PersistentService(store, store))


def _costs(costs: dict[str, Number] | None) -> Costs | None:
    if costs is None:
        return None
    unknown = sorted(set(costs) - {"cheap", "deep", "damage", "redo"})
    if unknown:
        raise ToolError(f"costs: unknown field {unknown[0]!r}; known are cheap, deep, damage, redo")
    return Costs(**costs)  # type: ignore[arg-type]  # numeric strings are accepted there


def _signals(criticality: Number, difficulty: Number, progress: Number, pollution: Number | None) -> Signals:
    return Signals(
        criticality_hint=criticality,  # type: ignore[arg-type]  # numeric strings are accepted there
        difficulty_hint=difficulty,  # type: ignore[arg-type]
        progress=progress,  # type: ignore[arg-type]
        context_pollution=pollution,  # type: ignore[arg-type]
    )


if __name__ == "__main__":
    main(sys.argv[1:])
