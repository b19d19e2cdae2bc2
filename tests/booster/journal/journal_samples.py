"""Journals, calls and replies for the journal's tests."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from sqlalchemy import make_url

from booster.journal import Journal, SessionLedger, open_journal
from providers.types import Call, Reply, Usage


def opened(url: str, **options: Any) -> AbstractAsyncContextManager[Journal]:
    """Open a journal; the owners of one on a server show that they live beside its socket."""
    if url.startswith("postgresql"):
        options["owner_dir"] = Path(str(make_url(url).query["host"])) / "owners"
    return open_journal(url, **options)


def a_call(step_key: str = "it1/candidate1", content: str = "6 * 7?", **fields: Any) -> Call:
    """Return a call with one user message."""
    fields.setdefault("role", "generate")
    return Call(step_key=step_key, messages=({"role": "user", "content": content},), **fields)


def a_reply(text: str = "42", *, tokens: int = 10, cost: float | None = 0.001, **fields: Any) -> Reply:
    """Return a reply that used `tokens` tokens, prompt and completion in equal parts."""
    usage = Usage(prompt_tokens=tokens // 2, completion_tokens=tokens - tokens // 2, cost_usd=cost)
    return Reply(**{"text": text, "model": "m-1", "provider": "local", "source": "model", "usage": usage, **fields})


async def pay(ledger: SessionLedger, call: Call, outcome: Any = None) -> Any:
    """Open and close one attempt; return what a caller would use: the recalled outcome or the new one."""
    ticket = await ledger.open(call)
    if ticket.recalled is not None:
        return ticket.recalled
    outcome = outcome or a_reply(f"reply to {call.step_key}")
    await ledger.close(ticket, outcome)
    return outcome


async def started(journal: Journal, session_id: str = "ses_a", **limits: Any) -> tuple[int, SessionLedger]:
    """Create a session, own it and return its epoch and ledger."""
    record = await journal.create(session_id, {"task": "6 * 7?"}, task="6 * 7?")
    epoch = await journal.take_over(session_id)
    return epoch, await journal.ledger(record, epoch=epoch, **limits)


async def resumed(journal: Journal, session_id: str = "ses_a", **limits: Any) -> tuple[int, SessionLedger]:
    """Take the session over again, as a restarted process would, and return its epoch and ledger."""
    epoch = await journal.take_over(session_id, again=True)
    return epoch, await journal.ledger(await journal.load(session_id), epoch=epoch, **limits)
