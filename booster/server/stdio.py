"""MCP on standard input and output: one process for one client, from its first byte to end of file or a signal."""

import os
import signal
import sys
from pathlib import Path

import anyio

from booster.app import Booster
from booster.process import settle_memory
from booster.redact import Redactor
from booster.server.logs import configure_logs
from booster.server.mcp import Profile, build_server
from booster.settings import Settings
from booster.telemetry.export import Export, exporting

CLEANUP_SECONDS = 1.5
"""How long open work may take to come to rest after a signal; every finished call is durable without it."""


async def serve_stdio(settings: Settings, tools: Profile = "core") -> None:
    """Serve until the client closes standard input; unfinished solves are left resumable.

    Nothing but protocol messages is written to standard output. SIGINT and SIGTERM end the process with exit code 0.

    Args:
        settings: Of the process; result files go below `output_root`, else below the working directory.
        tools: Which tools are offered.
    """
    configure_logs(Redactor(settings.secrets), level=settings.log_level)
    async with exporting() as export, Booster.open(settings) as booster:
        server = build_server(booster, output_root=settings.output_root or Path.cwd(), profile=tools)
        settle_memory()
        async with anyio.create_task_group() as group:
            group.start_soon(_end_on_signal, booster, export)
            await server.run_stdio_async()
            group.cancel_scope.cancel()


async def _end_on_signal(booster: Booster, export: Export) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            with anyio.move_on_after(CLEANUP_SECONDS):
                await booster.interrupt()
            export.close()
            sys.stderr.flush()
            os._exit(0)  # the thread that reads standard input cannot be stopped and would hold the process
