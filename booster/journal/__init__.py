"""The journal: every session, event and paid call, durable before it counts.

`open_journal` opens it; `Journal` is the port everything above programs against. Nothing here knows what a session
means: it keeps plain JSON. SQLAlchemy is imported when a database is opened, not before.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from booster.journal.account import Spend
from booster.journal.codec import Redact, identity, now
from booster.journal.errors import JournalError, SessionBusy, SessionTaken, StateConflict, UnknownSession
from booster.journal.ledger import SessionLedger
from booster.journal.memory import MemoryJournal
from booster.journal.recorder import Listener, Recorder
from booster.journal.types import Event, Journal, SessionRecord

__all__ = [
    "Event",
    "Journal",
    "JournalError",
    "Listener",
    "MemoryJournal",
    "Recorder",
    "SessionBusy",
    "SessionLedger",
    "SessionRecord",
    "SessionTaken",
    "Spend",
    "StateConflict",
    "UnknownSession",
    "now",
    "open_journal",
]


@asynccontextmanager
async def open_journal(url: str, *, owner_dir: Path | None = None, redact: Redact = identity) -> AsyncIterator[Journal]:
    """Open the journal that a URL names.

    Args:
        url: `sqlite:///FILE`, `postgresql+psycopg://USER@HOST/NAME`, or `memory:` for one that dies with the process.
        owner_dir: Where the processes that share the journal show that they live; `owners` beside a SQLite file unless
            given, required for a database server.
        redact: Applied to every string before it is written; must be idempotent.

    Raises:
        JournalError: it cannot be opened; the text says why and what to do.
    """
    if url == "memory:":
        async with MemoryJournal.open(redact=redact) as memory:
            yield memory
        return
    from booster.journal.journal import SqlJournal  # SQLAlchemy: 0.2 s that a journal in memory need not pay

    async with SqlJournal.open(url, owner_dir=owner_dir, redact=redact) as journal:
        yield journal
