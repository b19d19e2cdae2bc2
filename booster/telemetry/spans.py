"""Spans: how each is called, what it says, and that no secret is in it.

`invoke_workflow solve` (one run of a session) > `invoke_agent iteration` > `chat {model}` (one paid call with its retries).
Without an OpenTelemetry SDK, and for a trace that is not sampled, a span records nothing and its attributes are not built.
What was asked and answered is left out unless the settings ask for it.
"""

import json
from asyncio import CancelledError
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from opentelemetry.context import Context
from opentelemetry.trace import (
    Link,
    Span,
    SpanKind,
    Status,
    StatusCode,
    get_current_span,
    get_tracer,
    set_span_in_context,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from booster.redact import Redactor
from booster.telemetry import names
from booster.version import DISTRIBUTION, installed_version
from providers.errors import CallCancelled, ProviderError
from providers.types import Call, Message, Reply, Usage

WORKFLOW: Final = "solve"
AGENT: Final = "iteration"

_PASSED_ON: Final = ("temperature", "top_p", "seed", "frequency_penalty", "presence_penalty")
"""Parameters of a client's request that are attributes of the same name."""

_PROVIDERS: Final = {"direct-openai": "openai"}
"""Our names of providers for which the conventions have another."""

_TRACE_CONTEXT: Final = TraceContextTextMapPropagator()


class Spans:
    """Starts, describes and ends the spans of a process.

    Args:
        redact: Applied to every text on a span.
        content: Whether spans carry tasks, prompts, replies and answers.
    """

    def __init__(self, redact: Redactor, *, content: bool = False) -> None:
        self._redact, self._content = redact, content
        self._tracer = get_tracer(DISTRIBUTION, installed_version())

    def solve(self, session_id: str, task: str, *, before: str | None = None) -> Span:
        """Start the span of one run of a session: a child of the span it begins in, where there is one.

        Args:
            session_id: Whose run it is.
            task: What is to be solved.
            before: `traceparent` of an earlier run, which this one is linked to.
        """
        span = self._tracer.start_span(f"invoke_workflow {WORKFLOW}", links=_links(before))
        if span.is_recording():
            said = {names.INPUT_MESSAGES: input_messages([{"role": "user", "content": task}])} if self._content else {}
            self._describe(span, "invoke_workflow", session_id, {names.WORKFLOW_NAME: WORKFLOW, **said})
        return span

    def iteration(self, session_id: str, parent: Span, opened: Mapping[str, Any], *, resumed: bool) -> Span:
        """Start the span of an iteration; `opened` is the data of its `iteration_opened` event."""
        span = self._tracer.start_span(f"invoke_agent {AGENT}", context=set_span_in_context(parent))
        if span.is_recording():
            own = {names.AGENT_NAME: AGENT, names.RESUMED: resumed or None, **opening(opened)}
            self._describe(span, "invoke_agent", session_id, own)
        return span

    def chat(self, session_id: str, parent: Span, call: Call) -> Span:
        """Start the span of a paid call."""
        span = self._tracer.start_span(
            _chat_name(self._redact(call.model or "")), context=set_span_in_context(parent), kind=SpanKind.CLIENT
        )
        if span.is_recording():
            said = {names.INPUT_MESSAGES: input_messages(call.messages)} if self._content else {}
            self._describe(span, "chat", session_id, asking(call) | said)
        return span

    def answered(self, span: Span, call: Call, reply: Reply) -> None:
        """Say what a call brought."""
        if not span.is_recording():
            return
        if call.model is None:
            span.update_name(_chat_name(self._redact(reply.model)))
        said = {names.OUTPUT_MESSAGES: output_messages(reply.text, reply.finish_reason)} if self._content else {}
        self.add(span, answering(reply) | said)

    def concluded(self, span: Span, conclusion: Mapping[str, Any]) -> None:
        """Say how a solve ended; `conclusion` is the data of its `concluded` event."""
        if span.is_recording():
            answer = conclusion.get("answer") if self._content else None
            said = {names.OUTPUT_MESSAGES: output_messages(answer, None)} if answer is not None else {}
            self.add(span, ending(conclusion) | said)

    def broken(self, span: Span, error: BaseException) -> None:
        """Say what broke the work off: a withdrawal is no failure. What errors say may quote prompts, so it is content."""
        if not span.is_recording():
            return
        if isinstance(error, CancelledError | CallCancelled):
            span.set_attribute(names.CANCELLED, True)
            return
        kind = error.kind if isinstance(error, ProviderError) else type(error).__qualname__
        self.add(span, {names.ERROR_TYPE: kind})
        span.set_status(Status(StatusCode.ERROR, self._redact(str(error) if self._content else kind)))

    def add(self, span: Span, attributes: Mapping[str, Any]) -> None:
        """Add attributes without secrets; those that are None are left out."""
        if span.is_recording():
            span.set_attributes({name: self._clean(value) for name, value in attributes.items() if value is not None})

    def _describe(self, span: Span, operation: str, session_id: str, attributes: Mapping[str, Any]) -> None:
        self.add(span, {names.OPERATION: operation, names.CONVERSATION: session_id, **attributes})

    def _clean(self, value: Any) -> Any:
        """Return what an attribute may be: a text, number, flag or a list of texts; structures as JSON."""
        clean = self._redact.redact_value(value)
        is_plain = isinstance(clean, str | int | float) or (
            isinstance(clean, list) and all(isinstance(item, str) for item in clean)
        )
        return clean if is_plain else json.dumps(clean, ensure_ascii=False, default=str)


def traceparent(span: Span) -> str | None:
    """Return the W3C form of a span's identity, for a later run to link to; None where nothing is recorded."""
    if not span.is_recording():
        return None
    carrier: dict[str, str] = {}
    _TRACE_CONTEXT.inject(carrier, set_span_in_context(span, Context()))
    return carrier.get("traceparent")


def _links(before: str | None) -> list[Link]:
    """Return the link to the span of a `traceparent`; none where it is not one."""
    if before is None:
        return []
    context = get_current_span(_TRACE_CONTEXT.extract({"traceparent": before}, Context())).get_span_context()
    return [Link(context)] if context.is_valid else []


def asking(call: Call) -> dict[str, Any]:
    """Return the attributes of a question."""
    passed_on = {names.REQUEST_PREFIX + name: call.request[name] for name in _PASSED_ON if name in call.request}
    return {
        names.ROLE: call.role,
        names.STEP_KEY: call.step_key,
        names.REQUEST_MODEL: call.model,
        names.REQUEST_MAX_TOKENS: call.max_tokens,
        **passed_on,
    }


def answering(reply: Reply) -> dict[str, Any]:
    """Return the attributes of a reply; what it cost is said by `spending`, over all attempts."""
    return {
        names.PROVIDER: _PROVIDERS.get(reply.provider, reply.provider),
        names.RESPONSE_MODEL: reply.model,
        names.FINISH_REASONS: None if reply.finish_reason is None else [reply.finish_reason],
    }


def spending(usages: Sequence[Usage], attempts: int) -> dict[str, Any]:
    """Return the attributes of what attempts consumed; without any reply nothing is known, and nothing said."""
    if not usages:
        return {names.ATTEMPTS: attempts}
    costs = [usage.cost_usd for usage in usages]
    known = [cost for cost in costs if cost is not None]
    return {
        names.ATTEMPTS: attempts,
        names.INPUT_TOKENS: sum(usage.prompt_tokens for usage in usages),
        names.OUTPUT_TOKENS: sum(usage.completion_tokens for usage in usages),
        names.CACHED_TOKENS: sum(usage.cached_tokens for usage in usages) or None,
        names.REASONING_TOKENS: sum(usage.reasoning_tokens for usage in usages) or None,
        names.ESTIMATED: any(usage.estimated for usage in usages) or None,
        names.COST: sum(known) if len(known) == len(costs) else None,
    }


def opening(opened: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of an iteration that begins, or escalates."""
    return {
        names.ITERATION: opened.get("iteration"),
        names.GRANULARITY: opened.get("granularity"),
        names.MODE: (opened.get("decision") or {}).get("mode"),
        names.ESCALATED: opened.get("escalated"),
    }


def closing(iteration: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of an iteration that ended."""
    return {
        names.CANDIDATES: len(iteration.get("candidates") or ()),
        names.CHOSEN: iteration.get("chosen"),
        names.PROBLEMS: list(iteration.get("problems") or ()) or None,
    }


def ending(conclusion: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a solve that ended."""
    return {
        names.STATUS: conclusion.get("status"),
        names.STOP_REASON: conclusion.get("stopReason"),
        names.ANSWER_STATUS: conclusion.get("answerStatus"),
        names.CONFIDENCE: conclusion.get("confidence"),
        names.DEGRADED: conclusion.get("degraded"),
    }


def input_messages(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Return a conversation in the form that the conventions have for it."""
    return [{"role": message.get("role"), "parts": _parts(message.get("content"))} for message in messages]


def output_messages(text: str, finish_reason: str | None) -> list[dict[str, Any]]:
    """Return a reply in the same form."""
    return [{"role": "assistant", "parts": _parts(text), "finish_reason": finish_reason or "stop"}]


def _parts(content: Any) -> list[Any]:
    """Return the parts of a message; those that are no text stay as the client sent them."""
    if not isinstance(content, list):
        return [{"type": "text", "content": content}]
    return [
        {"type": "text", "content": part["text"]} if isinstance(part, dict) and "text" in part else part
        for part in content
    ]


def _chat_name(model: str) -> str:
    return f"chat {model}" if model else "chat"
