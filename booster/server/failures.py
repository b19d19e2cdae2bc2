"""From the errors of all parts to what a client's model reads: what failed, where, and what to do. The only place for it."""

import structlog
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolResult, TextContent

from booster.errors import BoosterError
from booster.journal.errors import JournalError
from booster.journal.errors import UnknownSession as NoSuchSession
from booster.redact import Redactor, printable
from providers.errors import ProviderError
from scheduler.errors import SchedulerError
from verifier.errors import VerifierError

MAX_ERROR_CHARS = 2000
"""Characters of an error's text that a client gets."""

_OURS = (BoosterError, JournalError, ProviderError, VerifierError, SchedulerError)

log = structlog.get_logger("booster.server")


def explained(error: Exception) -> str:
    """Return the text of an error for a client: never a stack trace, never a secret, never the text of a stranger.

    Raises:
        MCPError: `error` itself where it is one: an answer to the protocol, not to the model.
    """
    if isinstance(error, MCPError):
        raise error
    notes = "".join(f" {note}" for note in dict.fromkeys(getattr(error, "__notes__", ())))
    if isinstance(error, NoSuchSession):
        return f"no session has the id {error.session_id[:80]!r}; the tool `sessions` lists those there are"
    if isinstance(error, _OURS):
        return _tidy(str(error)) + notes
    log.error("a tool failed unexpectedly", kind=type(error).__name__, exc_info=error)
    return f"the server failed unexpectedly ({type(error).__name__}); its log has the details.{notes}"


def failed(text: str) -> CallToolResult:
    """Return a tool's answer that says why it failed."""
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


def _tidy(text: str) -> str:
    text = printable(Redactor()(text))
    return text if len(text) <= MAX_ERROR_CHARS else f"{text[:MAX_ERROR_CHARS]}…"
