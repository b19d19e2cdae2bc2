"""A client in memory on a server over scripted replies: what the tests of the MCP door share."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.types import CallToolResult

from booster.app import Booster
from booster.server.mcp import build_server
from booster.settings import Settings
from providers.scripted import Line, ScriptedProvider
from providers.types import Call, Provider

MODES = ("legacy", "auto")
"""The handshake of 2025-11-25 and the stateless protocol of 2026-07-28."""

STEPS = '[{"text": "Compute six times seven", "rationale": "the task asks for it"}, {"text": "Add the digits", "rationale": "check"}]'


def answering(answer: object) -> Callable[[Call], str]:
    """Return a script in which every reply ends with this answer."""
    return lambda call: f"Working it out.\nFinal answer: {answer}"


def settings(home: Path, **fields: Any) -> Settings:
    """Return settings that touch nothing outside `home`."""
    return Settings(**{"home": home, "journal_url": "memory:", **fields})


@asynccontextmanager
async def opened(
    home: Path, script: Sequence[Line] | Callable[[Call], Line] | None = None, *, delay: float = 0.0, **fields: Any
) -> AsyncIterator[Booster]:
    """Open a booster whose only model is a script; None = no model at all."""
    providers: list[Provider] = [] if script is None else [ScriptedProvider(script, delay=delay)]
    async with Booster.open(settings(home, **fields), providers=providers) as booster:
        yield booster


@asynccontextmanager
async def connected(
    booster: Booster, mode: str, *, output_root: Path | None = None, **options: Any
) -> AsyncIterator[Client]:
    """Connect one client in memory."""
    async with Client(
        build_server(booster, output_root=output_root), mode=mode, raise_exceptions=True, **options
    ) as client:
        yield client


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool that succeeds and return its document."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    document: dict[str, Any] | None = result.structured_content
    assert document is not None
    return document


async def refusal(client: Client, tool: str, **arguments: Any) -> str:
    """Call a tool that fails and return what it says."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return text_of(result)


def text_of(result: CallToolResult) -> str:
    """Return the text block."""
    (block,) = result.content
    assert block.type == "text"
    return block.text
