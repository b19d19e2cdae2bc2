"""The client's own model, in both protocol eras, behind the one callable that the providers know.

Up to 2025-11-25 the server pushes `sampling/createMessage` to the client (`PushSampler`). From 2026-07-28 on it may not: a
tool answers with the questions it has, the client calls the tool again with the replies, and the solve waits between the
two (`Rounds`). Sampling is deprecated there (SEP-2577), so nothing but this module speaks it, and only the capability that
a client declares counts, never its name.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from mcp.server.mcpserver import Context
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp.types import (
    ClientCapabilities,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    InputRequiredResult,
    ModelHint,
    ModelPreferences,
    SamplingCapability,
    SamplingMessage,
    TextContent,
)

from booster.errors import UsageError
from providers.errors import RejectedError
from providers.reading import estimated_usage
from providers.types import MAX_TOKENS, Call, Message, Reply

MOST_ROUNDS: Final = 8
"""Rounds of questions in one tool call; clients give up after 10."""

PATIENCE: Final = 600.0
"""Seconds that a suspended solve waits for a client that does not come back."""

HANDED_OUT: Final = 60.0
"""Seconds that a round belongs to the request that took it; then another may take it."""

_FINISH_REASONS = {"endTurn": "stop", "stopSequence": "stop", "maxTokens": "length", "toolUse": "tool_calls"}


def can_sample(ctx: Context[Any, Any]) -> bool:
    """Say whether the client declared that it samples."""
    return bool(ctx.session.check_client_capability(ClientCapabilities(sampling=SamplingCapability())))


def sampling_params(call: Call) -> CreateMessageRequestParams:
    """Return a call in the form in which a client is asked."""
    messages = [
        SamplingMessage(
            role="assistant" if message.get("role") == "assistant" else "user",
            content=TextContent(type="text", text=_text(message)),
        )
        for message in call.messages
        if not _is_system(message)
    ]
    system = "\n\n".join(_text(message) for message in call.messages if _is_system(message))
    stop = call.request.get("stop")
    return CreateMessageRequestParams(
        messages=messages,
        system_prompt=system or None,
        max_tokens=call.max_tokens or MAX_TOKENS,
        temperature=call.request.get("temperature"),
        stop_sequences=[stop] if isinstance(stop, str) else stop,
        model_preferences=ModelPreferences(hints=[ModelHint(name=call.model)]) if call.model else None,
    )


def reply_of(call: Call, answer: object) -> Reply:
    """Return what the client answered; whatever is no message counts as a refusal of this one call."""
    content = getattr(answer, "content", None)
    blocks = content if isinstance(content, list) else [content]
    text = "".join(block.text for block in blocks if isinstance(block, TextContent))
    stopped = getattr(answer, "stop_reason", None)
    return Reply(
        text=text,
        model=getattr(answer, "model", "client"),
        provider="mcp",
        source="client",
        finish_reason=_FINISH_REASONS.get(stopped, stopped) if stopped else None,
        usage=estimated_usage(call, text),
        problem=None if text.strip() else "refusal" if content is None else "empty",
    )


class PushSampler:
    """A `Sampler` over a connection on which the server may ask the client.

    Args:
        session: Of the request that began the work.
        request_id: Its id; questions belong to it for as long as it lasts.
    """

    def __init__(self, session: ServerSession, request_id: str) -> None:
        self._session = session
        self._request_id: str | None = request_id

    def request_ended(self) -> None:
        """From now on questions travel on their own: the request that they belonged to has been answered."""
        self._request_id = None

    async def __call__(self, calls: Sequence[Call]) -> list[Reply]:
        """Ask all side by side; one refused costs the others nothing.

        Raises:
            RejectedError: kind `sampling`; the client refused every one of them.
        """
        answers = await asyncio.gather(*(self._ask(call) for call in calls))
        refusals = [answer for answer in answers if isinstance(answer, MCPError)]
        if len(refusals) == len(answers):
            raise refused(refusals[0].error.message)
        return [reply_of(call, answer) for call, answer in zip(calls, answers, strict=True)]

    async def _ask(self, call: Call) -> CreateMessageResult | MCPError:
        request = CreateMessageRequest(params=sampling_params(call))
        metadata = ServerMessageMetadata(related_request_id=self._request_id)
        try:
            return await self._session.send_request(request, CreateMessageResult, metadata=metadata)
        except MCPError as error:
            return error


@dataclass(slots=True)
class _Round:
    number: int
    calls: Sequence[Call]
    replies: "asyncio.Future[list[Reply]]"
    taken_at: float | None = None
    """Time on the loop's clock at which a request took it; None = it waits to be taken."""


class Rounds:
    """A `Sampler` that waits, between two requests of the client, for the replies to one round of questions.

    Args:
        expired: Called once when nobody came for a round in `patience` seconds.
    """

    def __init__(self, expired: Callable[[], None], patience: float = PATIENCE) -> None:
        self.posted = asyncio.Event()
        """Set while a round waits to be taken."""
        self._expired, self._patience = expired, patience
        self._open: _Round | None = None
        self._timeout: asyncio.Timeout | None = None
        self._count = 0

    async def __call__(self, calls: Sequence[Call]) -> list[Reply]:
        """Post a round and wait for its replies.

        Raises:
            RejectedError: kind `sampling`; the client refused all of it, or did not come back.
        """
        self._count += 1
        this = _Round(self._count, calls, asyncio.get_running_loop().create_future())
        self._open = this
        self.posted.set()
        try:
            async with asyncio.timeout(self._patience) as self._timeout:
                return await this.replies
        except TimeoutError:
            self._expired()
            raise refused(f"it did not come back within {self._patience:g} s") from None
        finally:
            self._open = None
            self.posted.clear()

    def take(self) -> tuple[int, dict[str, CreateMessageRequest]] | None:
        """Return number and questions of the open round for one request to hand out; None where there is none to take."""
        now = asyncio.get_running_loop().time()
        this = self._open
        if this is None or (this.taken_at is not None and now < this.taken_at + HANDED_OUT):
            return None
        this.taken_at = now
        self.posted.clear()
        if self._timeout is not None:
            self._timeout.reschedule(now + self._patience)
        return this.number, {
            f"q{place}": CreateMessageRequest(params=sampling_params(call)) for place, call in enumerate(this.calls)
        }

    def answer(self, number: int, answers: Mapping[str, object]) -> None:
        """Hand over the client's replies; those to a round that is closed by now are dropped."""
        this = self._open
        if this is None or this.number != number or this.replies.done():
            return
        replies = [reply_of(call, answers.get(f"q{place}")) for place, call in enumerate(this.calls)]
        if all(reply.problem == "refusal" for reply in replies):
            this.replies.set_exception(refused("it answered none of the questions"))
        else:
            this.replies.set_result(replies)


@dataclass(frozen=True, kw_only=True, slots=True)
class Leg:
    """Where one tool call stands: it may span several requests of the client, each carrying this state back and forth."""

    session_id: str
    began: float
    """Time on the loop's clock at which the call came."""
    until: float
    """When it is answered at the latest."""
    rounds: int = 0
    """Rounds of questions handed out so far."""
    asked: int = 0
    """Number of the round handed out last; 0 = none."""

    def asking(self, number: int, questions: dict[str, CreateMessageRequest]) -> InputRequiredResult:
        """Return the answer that puts a round of questions to the client and carries the state to the next leg."""
        state = asdict(self) | {"rounds": self.rounds + 1, "asked": number}
        return InputRequiredResult(request_state=json.dumps(state), input_requests=dict(questions))


def leg_of(ctx: Context[Any, Any]) -> Leg | None:
    """Return the state that an earlier leg of the same call left; None on a new call.

    Raises:
        UsageError: the state is not one of ours.
    """
    if ctx.request_state is None:
        return None
    try:
        return Leg(**json.loads(ctx.request_state))
    except (ValueError, TypeError) as error:
        raise UsageError("requestState is not what this server gave out; call the tool again") from error


def refused(reason: str) -> RejectedError:
    """Return the error of calls that the client did not answer."""
    return RejectedError(f"the MCP client did not sample: {reason}", kind="sampling", provider="mcp", model="client")


def _is_system(message: Message) -> bool:
    return message.get("role") in ("system", "developer")


def _text(message: Message) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part["text"]) for part in parts if isinstance(part, Mapping) and part.get("type") == "text")
