"""One run of a session as operators see it: spans, metrics, log lines. All that the engine has to call.

Above: `booster.work`, which opens a `Trace` a run and passes the run's events, calls and ledger through it. Below: `spans` and
`meter`. Nothing here decides anything, and a run goes the same way whoever watches. Most is read off the journal's own
events; paid calls are seen from two sides: `ask` is one question with its retries, the ledger knows each attempt.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Final

from opentelemetry.trace import Span, use_span

from booster.journal import SessionRecord
from booster.redact import Redactor
from booster.telemetry import names
from booster.telemetry.meter import Meter, Unmetered, outcome_of
from booster.telemetry.spans import Spans, closing, opening, spending, traceparent
from providers.errors import ProviderError
from providers.types import Ask, Call, Ledger, Reply, Ticket, Usage

log = logging.getLogger("booster")

TRACED: Final = "traced"
"""The event that keeps the identity of a run's span, for a resumed run to link to."""

current_session: ContextVar[str | None] = ContextVar("current_session", default=None)
"""Id of the session that the running task works on, for log lines."""

Entries = Iterable[tuple[str, Mapping[str, Any]]]


class Telemetry:
    """What watches the sessions of a process.

    Args:
        redact: Applied to everything that leaves on a span.
        content: Whether spans carry tasks, prompts, replies and answers.
    """

    def __init__(self, redact: Redactor, *, content: bool = False) -> None:
        self._spans = Spans(redact, content=content)
        self.meter: Meter = Unmetered()
        """Told of every run and call; a door that shows metrics puts its own here."""

    @contextmanager
    def run(self, record: SessionRecord) -> Iterator["Trace"]:
        """Watch one run of a session, up to the end of the block and whatever ends it."""
        meter = self.meter  # the same to the end, whichever comes next
        trace = Trace(record, self._spans, meter)
        token = current_session.set(record.id)
        meter.run_began()
        with use_span(trace.span, record_exception=False, set_status_on_exception=False):
            try:
                yield trace
            except BaseException as error:
                trace.end(error)
                raise
            else:
                trace.end()
            finally:
                meter.run_ended()
                current_session.reset(token)


@dataclass(slots=True)
class _Chat:
    """A question under way."""

    span: Span
    attempts: int = 0
    usages: list[Usage] = field(default_factory=list)


class Trace:
    """The spans and numbers of one run. Made by `Telemetry.run`."""

    def __init__(self, record: SessionRecord, spans: Spans, meter: Meter) -> None:
        self._session_id, self._spans, self._meter = record.id, spans, meter
        self._left_open = _left_open(record)
        self.span = spans.solve(record.id, str(record.spec["problem"]["task"]), before=_traced(record))
        self._iteration: Span | None = None
        self._chats: dict[str, _Chat] = {}
        self._attempts = self._recalled = 0
        self._usages: list[Usage] = []
        self._began = perf_counter()
        self._status = "running"

    def begun(self) -> Entries:
        """Return the event to journal at the beginning of the run; none where nobody records the trace."""
        identity = traceparent(self.span)
        return [] if identity is None else [(TRACED, {"traceparent": identity})]

    def told(self, entries: Entries) -> None:
        """Follow the session's events as they are handed to the journal."""
        for kind, data in entries:
            match kind:
                case "iteration_opened":
                    self._open(data)
                case "resumed" if self._left_open is not None:
                    self._open(self._left_open, resumed=True)
                case "escalated" if self._iteration is not None:
                    self._spans.add(self._iteration, opening(data))
                case "iteration_closed":
                    self._close(closing(data["iteration"]))
                case "concluded":
                    self._status = data["status"]
                    self._meter.concluded(self._status)
                    self._spans.concluded(self.span, data)

    def asking(self, ask: Ask) -> Ask:
        """Return `ask` with one span a question, retries and fallbacks included; as it is where nobody would see them."""
        if not self.span.is_recording() and not log.isEnabledFor(logging.DEBUG):
            return ask

        async def traced(call: Call) -> Reply:
            with self._chat(call) as chat:
                reply = await ask(call)
                self._spans.answered(chat.span, call, reply)
            return reply

        return traced

    def ledger(self, ledger: Ledger) -> Ledger:
        """Return the ledger with every attempt counted."""
        return _Counted(ledger, self, self._meter)

    def attempt_began(self, call: Call) -> None:
        """An attempt is paid."""
        self._attempts += 1
        if (chat := self._chats.get(call.step_key)) is not None:
            chat.attempts += 1

    def attempt_ended(self, call: Call, usage: Usage | None) -> None:
        """It came back; `usage` where there is a reply."""
        if usage is None:
            return
        self._usages.append(usage)
        if (chat := self._chats.get(call.step_key)) is not None:
            chat.usages.append(usage)

    def attempt_recalled(self) -> None:
        """An attempt was found in the journal."""
        self._recalled += 1

    def end(self, error: BaseException | None = None) -> None:
        """End the spans of the run, with what broke it off."""
        if error is not None:
            for span in filter(None, (self._iteration, self.span)):
                self._spans.broken(span, error)
        self._close()
        spent = spending(self._usages, self._attempts)
        self._spans.add(self.span, {names.STATUS: self._status, names.RECALLED: self._recalled or None, **spent})
        self.span.end()
        counted = {"status": self._status, "calls": self._attempts, "recalled": self._recalled}
        log.info("session worked on", extra={**counted, "seconds": _since(self._began)})

    def _open(self, opened: Mapping[str, Any], *, resumed: bool = False) -> None:
        self._close()  # a caller's own candidates open an interrupted iteration anew
        self._left_open = None
        self._iteration = self._spans.iteration(self._session_id, self.span, opened, resumed=resumed)

    def _close(self, attributes: Mapping[str, Any] | None = None) -> None:
        if self._iteration is not None:
            self._spans.add(self._iteration, attributes or {})
            self._iteration.end()
            self._iteration = None

    @contextmanager
    def _chat(self, call: Call) -> Iterator[_Chat]:
        """Hold the span of a question; drop it where no attempt was paid, since all were recalled or the budget is spent.

        To drop is not to end: a span that does not end is exported nowhere.
        """
        chat = _Chat(self._spans.chat(self._session_id, self._iteration or self.span, call))
        self._chats[call.step_key] = chat
        began = perf_counter()
        with use_span(chat.span, record_exception=False, set_status_on_exception=False):
            try:
                yield chat
            except BaseException as error:
                self._spans.broken(chat.span, error)
                raise
            finally:
                self._chats.pop(call.step_key, None)
                if chat.attempts:
                    self._ended(chat, call, _since(began))

    def _ended(self, chat: _Chat, call: Call, seconds: float) -> None:
        self._spans.add(chat.span, spending(chat.usages, chat.attempts))
        chat.span.end()
        counted = {"step_key": call.step_key, "role": call.role, "attempts": chat.attempts, "seconds": seconds}
        log.debug("call ended", extra=counted)


class _Counted:
    """A ledger that also says what it sees. See `providers.types.Ledger`."""

    def __init__(self, ledger: Ledger, trace: Trace, meter: Meter) -> None:
        self._ledger, self._trace, self._meter = ledger, trace, meter
        self._sent: dict[tuple[str, int], float] = {}

    async def open(self, call: Call) -> Ticket:
        asked = perf_counter()
        ticket = await self._ledger.open(call)
        if ticket.recalled is not None:
            self._meter.recalled()
            self._trace.attempt_recalled()
            return ticket
        sent = self._sent[call.step_key, ticket.attempt] = perf_counter()
        self._meter.durable(sent - asked)
        self._meter.attempt_began()
        self._trace.attempt_began(call)
        return ticket

    def close(self, ticket: Ticket, outcome: Reply | ProviderError) -> None:
        call, back = ticket.call, perf_counter()
        sent = self._sent.pop((call.step_key, ticket.attempt), None)
        if sent is not None:  # else recalled, or closed before
            usage = outcome.usage if isinstance(outcome, Reply) else None
            self._meter.attempt_ended(call.role, outcome_of(outcome), back - sent, usage)
            self._trace.attempt_ended(call, usage)
        self._ledger.close(ticket, outcome)


def _traced(record: SessionRecord) -> str | None:
    """Return the identity of the last run whose trace was recorded."""
    found = (event.data.get("traceparent") for event in reversed(record.events) if event.type == TRACED)
    return next(found, None)


def _left_open(record: SessionRecord) -> Mapping[str, Any] | None:
    """Return what the journal says of the iteration that an earlier run left open."""
    last = next((event for event in reversed(record.events) if event.type in _MARKS), None)
    return None if last is None or last.type == "iteration_closed" else last.data


def _since(began: float) -> float:
    return round(perf_counter() - began, 3)


_MARKS = frozenset({"iteration_opened", "escalated", "iteration_closed"})
