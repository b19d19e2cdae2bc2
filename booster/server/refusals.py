"""What HTTP clients are told when something is refused or fails: one JSON form, the one that OpenAI's clients read. Pure.

`{"error": {"message", "type", "param", "code"}}`: `param` names the field at fault, `code` is for programs.
"""

import json
from typing import Any, Final

from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse

from booster.errors import BoosterError, BusyError, EndingError, OutputPathError, UnknownSessionError, UsageError
from booster.journal.errors import JournalError, SessionBusy, SessionTaken, StateConflict, UnknownSession
from providers.errors import BudgetSpent, NoProviderError, ProviderError
from scheduler.errors import InvalidInputError
from verifier.errors import VerifierError

_KINDS: Final = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}

_STATUS: Final[tuple[tuple[type[Exception], int, str], ...]] = (
    (UnknownSession, 404, "unknown_session"),
    (UnknownSessionError, 404, "unknown_session"),
    (BusyError, 409, "session_busy"),
    (SessionBusy, 409, "session_busy"),
    (SessionTaken, 409, "session_taken"),
    (StateConflict, 409, "state_conflict"),
    (EndingError, 503, "stopping"),
    (UsageError, 400, "invalid_value"),
    (OutputPathError, 400, "output_path"),
    (VerifierError, 400, "invalid_check"),
    (InvalidInputError, 400, "invalid_value"),
    (NoProviderError, 503, "no_model"),
    (BudgetSpent, 422, "budget_spent"),
    (JournalError, 503, "journal"),
)
"""Error class -> status and code; the first that fits counts."""


class Json(JSONResponse):
    """JSON in plain ASCII: models write halves of characters, too, which have no form in UTF-8."""

    def render(self, content: Any) -> bytes:
        """Return the body."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


def error_document(status: int, message: str, *, code: str, param: str | None = None) -> dict[str, Any]:
    """Return the body of a response that refuses."""
    kind = _KINDS.get(status, "invalid_request_error" if status < 500 else "server_error")
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def error_response(
    status: int, message: str, *, code: str, param: str | None = None, headers: dict[str, str] | None = None
) -> Json:
    """Return a response that refuses.

    Args:
        status: HTTP status, 400 or higher.
        message: What is wrong and what to do; for people.
        code: The same for programs.
        param: Name of the field at fault.
        headers: Further headers.
    """
    response = Json(error_document(status, message, code=code, param=param), status_code=status)
    MutableHeaders(raw=response.raw_headers).update(headers or {})
    return response


def status_of(error: Exception) -> tuple[int, str]:
    """Return status and code of an error of ours; 500 for all others."""
    if isinstance(error, ProviderError) and not isinstance(error, NoProviderError | BudgetSpent):
        return passed_on(error.status), error.kind
    for kind, status, code in _STATUS:
        if isinstance(error, kind):
            return status, code
    return 500, "failed" if isinstance(error, BoosterError) else "internal"


def passed_on(status: int | None) -> int:
    """Return the status that a model's refusal is passed on with.

    A key that the model does not accept is this server's trouble, not its client's: 401 and 403 become 502, as does what
    is broken there. Overload (503, 529) stays 503, and 504 what it is.
    """
    if status is None or status in (401, 403):
        return 502
    if status == 529:
        return 503
    return status if 400 <= status < 500 or status in (503, 504) else 502


def ending_status(document: dict[str, Any]) -> int:
    """Return the status of a solve's document: 200 for an answer, 202 while it runs; no answer is never 200."""
    if document.get("status") in ("running", "continue"):
        return 202
    if document.get("answer") is not None:
        return 200
    if document.get("stopReason") == "deadline":
        return 504
    if document.get("stopReason") == "cancelled":
        return 409
    if document.get("status") in ("degraded", "failed"):
        failures = document.get("diagnostics", {}).get("failures") or [{"status": 503}]
        return passed_on(failures[-1].get("status"))
    return 422
