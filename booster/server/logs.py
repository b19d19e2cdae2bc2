"""Logs of a serving process on standard error, without secrets: a JSON object a line, or text for a person at a terminal.

One chain for all: our own loggers and those of libraries alike get time, level, the session that is being worked on and the
trace they belong to. Secrets are taken out last, when everything is text. Standard output is the protocol's.
"""

import logging
import sys
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, Final, TextIO

import structlog
from opentelemetry.trace import format_span_id, format_trace_id, get_current_span

from booster.config import LogLevel
from booster.redact import Redactor, printable
from booster.telemetry import current_session

OURS: Final = ("booster", "providers", "verifier", "scheduler")
"""Loggers that speak at the level asked for; libraries speak from warnings on."""

_WITH_HANDLERS: Final = ("uvicorn", "uvicorn.access", "uvicorn.error", "mcp")
"""Loggers of libraries that bring handlers of their own."""

Event = MutableMapping[str, Any]


def configure_logs(redact: Redactor, *, level: LogLevel = "info", stream: TextIO | None = None) -> None:
    """Send the logs of this program and of every library to one stream, standard error unless given.

    Call it before a server is made, and keep servers from configuring logs themselves (`uvicorn`: `log_config=None`).

    Args:
        redact: Takes secrets out of every value.
        level: From which on our own loggers speak.
        stream: Where a terminal is at its end, lines are for people.
    """
    stream, threshold = stream or sys.stderr, logging.getLevelNamesMapping()[level.upper()]
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _place,
    ]
    finishing = [structlog.processors.format_exc_info, *_rendering(redact, for_people=stream.isatty())]
    structlog.configure(
        processors=[*shared, *finishing],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.WriteLoggerFactory(stream),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.add_logger_name, structlog.stdlib.ExtraAdder()],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *finishing],
        )
    )
    _install(handler, threshold)


def _install(handler: logging.Handler, threshold: int) -> None:
    """Make `handler` the only one of the process."""
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(max(threshold, logging.WARNING))
    for name in OURS:
        logging.getLogger(name).setLevel(threshold)
    for name in _WITH_HANDLERS:
        library = logging.getLogger(name)
        library.handlers.clear()
        library.propagate = True


def _place(_: Any, __: str, event: Event) -> Event:
    """Say which session and which span a line belongs to."""
    session, span = current_session.get(), get_current_span().get_span_context()
    if session is not None:
        event.setdefault("session_id", session)
    if span.is_valid:
        event["trace_id"], event["span_id"] = format_trace_id(span.trace_id), format_span_id(span.span_id)
    return event


def _rendering(redact: Redactor, *, for_people: bool) -> list[Any]:
    if not for_people:
        return [_redaction(redact), structlog.processors.JSONRenderer(ensure_ascii=False)]
    renderer = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    return [_redaction(lambda text: printable(redact(text))), renderer]


def _redaction(clean: Callable[[str], str]) -> Any:
    def processor(_: Any, __: str, event: Event) -> Mapping[str, Any]:
        return {_cleaned(clean, key): _cleaned(clean, value) for key, value in event.items()}

    return processor


def _cleaned(clean: Callable[[str], str], value: Any) -> Any:
    """Return a value as JSON has it, every text in it clean, so that nothing turns into text afterwards."""
    match value:
        case str():
            return clean(value)
        case bool() | int() | float() | None:
            return value
        case Mapping():
            return {_cleaned(clean, str(key)): _cleaned(clean, item) for key, item in value.items()}
        case list() | tuple():
            return [_cleaned(clean, item) for item in value]
        case _:
            return clean(repr(value))
