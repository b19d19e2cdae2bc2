"""Which clients came, and what they declared: the journal keeps it, so that reports name facts instead of reputations."""

from typing import Any

import structlog
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext

from booster.app import Booster

MOST_CLIENTS = 1000
"""Different clients that one process remembers to have noted."""

log = structlog.get_logger("booster.server")


def note_clients(booster: Booster) -> ServerMiddleware[Any]:
    """Return a middleware that journals every client once, at its first message after the introduction."""
    noted: set[tuple[str, str, str, str]] = set()

    async def middleware(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        client = ctx.session.client_params
        if client is not None and len(noted) < MOST_CLIENTS:
            declared = client.capabilities.model_dump(mode="json", by_alias=True, exclude_none=True)
            info = client.client_info
            seen = (info.name, info.version, ctx.protocol_version, repr(declared))
            if seen not in noted:
                noted.add(seen)
                await _note(booster, *seen[:3], declared)
        return await call_next(ctx)

    return middleware


async def _note(booster: Booster, name: str, version: str, protocol: str, declared: dict[str, Any]) -> None:
    try:
        await booster.journal.note_client(name, version, protocol, declared)
    except Exception as error:  # a note for reports: no reason to turn a client away
        log.warning("a client could not be noted", error=str(error), kind=type(error).__name__)
