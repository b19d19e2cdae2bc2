"""What an OpenAI client is told where there is no answer: status, code and words, for every way in which that happens. Pure.

What a model's server refused is passed on with its own status, so that a client sees what it would have seen without us. Whoever
got no answer never gets status 200. `docs/openai.md` shows the whole table.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import structlog
from starlette.responses import Response

from booster.errors import EndingError, UsageError
from booster.journal.errors import JournalError
from booster.result import SolveResult
from booster.server.failures import explained
from booster.server.refusals import error_document
from booster.session import Budget
from verifier.errors import CheckError

_NO_RETRY: Final = {"x-should-retry": "false"}
"""OpenAI's clients send again what ended with 409 or 5xx; a whole solve, with retries of its own, is not worth that."""

_SAYS_NOTHING: Final = frozenset({"cancelled", "lost", "parameter_refused"})
"""Kinds of failed attempts that were withdrawn, or followed at once by another one."""

_UNUSABLE: Final = frozenset({"empty", "refusal", "thinking_truncated"})
"""Kinds of replies that hold no message."""

_TOP_LEVEL: Final = frozenset({"messages", "request", "task"})
"""Fields of a problem that stand in the request itself and not in its `booster` object."""

log = structlog.get_logger("booster.server")


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """Why there is no answer."""

    status: int
    """HTTP status, 400 or higher."""
    message: str
    code: str
    param: str | None = None
    """Field of the request that is at fault."""
    headers: Mapping[str, str] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)
    """What is known of the solve: its session and what it cost."""

    def document(self) -> dict[str, Any]:
        """Return the body: OpenAI's error object, and beside it what is known of the solve."""
        body = error_document(self.status, self.message, code=self.code, param=self.param)
        return {**body, "booster": dict(self.about)} if self.about else body

    def response(self) -> Response:
        """Return the whole response."""
        return json_response(self.document(), status=self.status, headers=self.headers)


def json_response(
    document: Mapping[str, Any], *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a response of plain ASCII: models write halves of characters too, which have no form in UTF-8."""
    return Response(json.dumps(document), status_code=status, headers=headers, media_type="application/json")


class RefusedError(Exception):
    """A request that cannot be served as it is."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


def bad_request(message: str, param: str | None, *, code: str = "invalid_value") -> RefusedError:
    """Return the error for a body that does not fit; `param` names the field."""
    return RefusedError(Refusal(status=400, message=message, code=code, param=param))


def no_such_model(model: str, known: str) -> Refusal:
    """Return what is said of a model that is not served."""
    return Refusal(
        status=404,
        message=f"the model {model[:200]!r} does not exist; there is {known}",
        code="model_not_found",
        param="model",
    )


def refused_start(error: Exception) -> Refusal:
    """Return why a solve could not be started."""
    match error:
        case RefusedError():
            return error.refusal
        case UsageError() | CheckError():
            own = error.field.partition("[")[0] in _TOP_LEVEL
            param = error.field if own or not error.field else f"booster.{error.field}"
            return Refusal(status=400, message=str(error), code="invalid_value", param=param or None)
        case _:
            return broken(error)


def broken(error: Exception) -> Refusal:
    """Return what is said of a failure of this server."""
    if isinstance(error, EndingError):
        return Refusal(status=503, message=str(error), code="stopping", headers=_NO_RETRY)
    if isinstance(error, JournalError):
        return Refusal(status=503, message=explained(error), code="journal", headers=_NO_RETRY)
    return Refusal(status=500, message=explained(error), code="internal", headers=_NO_RETRY)


def unanswered(result: SolveResult, budget: Budget, how_to_configure: str) -> Refusal:
    """Return why a solve that has ended has no answer.

    Args:
        result: Without an answer, or with one that is no model's.
        budget: What it might spend.
        how_to_configure: How to get a model, for a server that has none.
    """
    about = {"sessionId": result.session_id, "stopReason": result.stop_reason, "calls": result.usage["calls"]}
    found = _from_outside(result) or _from_models(result.diagnostics["failures"]) or _from_within(result, budget)
    status, code, message, headers = found or (503, "no_model", how_to_configure, _NO_RETRY)
    return Refusal(status=status, message=message, code=code, headers=headers, about=about)


_Found = tuple[int, str, str, Mapping[str, str]]


def _from_outside(result: SolveResult) -> _Found | None:
    """Return what ended the solve although it could have gone on."""
    match result.stop_reason:
        case "deadline":
            return 504, "deadline", "the time was up before there was an answer; see booster.budget.seconds", _NO_RETRY
        case "cancelled":
            return 409, "cancelled", "the solve was cancelled from outside", _NO_RETRY
        case None:
            return 503, "stopping", "the server stops; the solve can be resumed by its session", _NO_RETRY
        case _:
            return None


def _from_models(failures: list[Mapping[str, Any]]) -> _Found | None:
    """Return what a model's server said of the last attempt that it refused or failed at."""
    said = [one for one in failures if one["kind"] not in _SAYS_NOTHING | _UNUSABLE]
    if not said:
        return None
    last = said[-1]
    status = upstream_status(last["status"], last["kind"])
    waits = last.get("retryAfter")
    headers: Mapping[str, str] = {"Retry-After": str(math.ceil(waits))} if waits else {}
    return status, last["kind"], last["message"], headers if status in (429, 503) else _NO_RETRY


def upstream_status(status: int | None, kind: str) -> int:
    """Return the status with which a failed call to a model is passed on.

    Statuses from 400 to 499 stay. Of the others, 503 and 529 (overloaded) become 503, what came too late becomes 504, and all
    else, no connection and unreadable replies included, is a bad gateway: 502.
    """
    if status is not None and 400 <= status < 500:
        return status
    if status in (503, 529):
        return 503
    return 504 if status == 504 or kind in ("timeout", "deadline") else 502


def _from_within(result: SolveResult, budget: Budget) -> _Found | None:
    """Return what was wrong with the replies there were, or that the budget allowed of none."""
    kinds = {one["kind"] for one in result.diagnostics["failures"]}
    failed = [item for item in result.evidence if item.kind == "check" and item.outcome == "fail"]
    if "refusal" in kinds:
        return 400, "content_filter", "the model refused to answer", {}
    if failed:
        return 422, "checks_failed", f"every candidate failed a check: {failed[0].observed[:200]!r}", {}
    replied = result.diagnostics["successes"]
    if not replied and budget.calls is not None and result.usage["calls"] >= budget.calls:
        return 402, "budget_spent", "booster.budget.calls was spent before there was an answer", {}
    if replied:
        said = f" ({', '.join(sorted(kinds & _UNUSABLE))})" if kinds & _UNUSABLE else ""
        return 502, "no_answer", f"no reply held a message of the kind that was asked for{said}", _NO_RETRY
    return None
