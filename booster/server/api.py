"""`/api/sessions…`: the operations of the tools as plain HTTP, with the same arguments and the same documents.

Every handler reads its arguments with the tool's own model and runs the tool's own function; what is added here is the
status. What they raise becomes a response in `booster.server.http`.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from mcp.types import CallToolResult
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from booster.errors import BusyError, UsageError
from booster.options import parse_json
from booster.server import tools
from booster.server.arguments import (
    DEFAULT_WAIT,
    Arguments,
    GetStateArguments,
    MultiStepArguments,
    SessionArguments,
    SessionsArguments,
    SolveArguments,
    StartArguments,
    StepArguments,
)
from booster.server.door import Door
from booster.server.refusals import Json, ending_status, error_document
from booster.server.results import answered, solved, unfinished

Tool = Callable[..., Any]
"""`(door, ctx, arguments, warnings) -> answer`, awaitable."""
Document = dict[str, Any]

SESSIONS: Final = "/api/sessions"
SESSION: Final = "/api/sessions/{sessionId}"


class _Caller:
    """Stands where an MCP client would: it has no model of its own, and nobody to tell of progress."""

    request_state: Final = None
    input_responses: Final = None

    @property
    def session(self) -> "_Caller":
        return self

    def check_client_capability(self, _: object) -> bool:
        return False

    async def report_progress(self, *_: object) -> None:
        return


_CALLER: Final = cast(tools.Ctx, _Caller())  # it has all that the tools use of a context


def routes(door: Door) -> list[BaseRoute]:
    """Return the routes of the API.

    Args:
        door: The rules of waiting, and the booster behind them.
    """

    def route(method: str, path: str, tool: Tool, model: type[Arguments], status: Callable[[Document], int]) -> Route:
        async def handle(request: Request) -> Response:
            given = {**await _given(request), **request.path_params}
            read, warnings = model.read(given)
            answer: CallToolResult = await tool(door, _CALLER, read, warnings)
            document: Document = answer.structured_content or {}
            return _response(document, status(document))

        return Route(path, handle, methods=[method])

    async def export(request: Request) -> Response:
        kept = await door.booster.journal.export(request.path_params["sessionId"])
        return Json(door.redact.redact_value(kept))

    async def delete(request: Request) -> Response:
        session_id: str = request.path_params["sessionId"]
        if door.booster.is_running(session_id):
            raise BusyError(session_id)
        await door.booster.journal.delete(session_id)
        return Response(status_code=204)

    return [
        route("GET", SESSIONS, tools.sessions, SessionsArguments, _ok),
        route("POST", SESSIONS, tools.solve, SolveArguments, ending_status),
        route("POST", f"{SESSIONS}/start", tools.start, StartArguments, _created),
        route("GET", SESSION, tools.get_state, GetStateArguments, _ok),
        route("GET", f"{SESSION}/summary", tools.summarize, SessionArguments, _ok),
        route("POST", f"{SESSION}/step", tools.step, StepArguments, _worked),
        route("POST", f"{SESSION}/multi-step", tools.multi_step, MultiStepArguments, _worked),
        route("POST", f"{SESSION}/resume", _resume, GetStateArguments, ending_status),
        route("POST", f"{SESSION}/cancel", tools.cancel, SessionArguments, _ok),
        Route(f"{SESSION}/export", export, methods=["GET"]),
        Route(SESSION, delete, methods=["DELETE"]),
    ]


async def _resume(door: Door, ctx: tools.Ctx, given: GetStateArguments, warnings: list[str]) -> CallToolResult:
    """Go on with an unfinished session, for as long as the caller waits; go on afterwards."""
    seconds = given.wait_seconds if "wait_seconds" in given.model_fields_set else DEFAULT_WAIT
    session_id = given.session_id.strip()
    await door.resume(ctx, session_id)
    attended = await door.attend(ctx, door.first_leg(session_id, seconds), withdraws=False)
    result = await door.booster.result(session_id, full=given.detail == "full")
    if isinstance(attended, str):
        document, _ = unfinished(result, (await door.booster.session(session_id)).iteration, attended)
    else:
        document, _ = solved(result)
    if warnings:
        document["warnings"] = [*document.get("warnings", ()), *warnings]
    redacted: Any = door.redact.redact_value(document)
    return answered(redacted, "")


async def _given(request: Request) -> Mapping[str, object]:
    """Return the arguments of a request: its query for GET, else the JSON object that its body is.

    Raises:
        UsageError: the body is something else.
    """
    if request.method in ("GET", "HEAD"):
        return dict(request.query_params)
    body = await request.body()
    try:
        found = parse_json(body.decode()) if body else {}
    except ValueError as error:
        raise UsageError(f"the body is not JSON ({error}); send an object like {{}}") from None
    if not isinstance(found, dict):
        raise UsageError("the body is not a JSON object; send one like {}")
    return found


def _response(document: Document, status: int) -> Response:
    if status >= 400:  # the document of a solve that ended without an answer says all there is to know
        failures = document.get("diagnostics", {}).get("failures") or [{}]
        reason = document.get("stopReason") or document.get("status")
        message = failures[-1].get("message") or f"the solve ended without an answer ({reason})"
        document = {**document, **error_document(status, message, code=str(reason))}
    return Json(document, status_code=status)


def _ok(_: Document) -> int:
    return 200


def _created(_: Document) -> int:
    return 201


def _worked(document: Document) -> int:
    # A session that can go on is `running`, too; only work that was not waited for says how to wait for it.
    return 202 if "next" in document else 200
