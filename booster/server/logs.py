"""Logs of a serving process: one JSON object a line on standard error, without secrets. Standard output is the protocol's."""

import logging
import sys
from collections.abc import Mapping, MutableMapping
from typing import Any, TextIO

import structlog

from booster.redact import Redactor


def configure_logs(redact: Redactor, *, level: int = logging.INFO, stream: TextIO | None = None) -> None:
    """Send the logs of this program and of every library to one stream, standard error unless given."""
    stream = stream or sys.stderr
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    finishing: list[Any] = [
        structlog.processors.format_exc_info,
        _redaction(redact),
        structlog.processors.JSONRenderer(ensure_ascii=False),
    ]
    structlog.configure(
        processors=[*shared, *finishing],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(stream),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.add_logger_name],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *finishing],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(max(level, logging.WARNING))


def _redaction(redact: Redactor) -> Any:
    def processor(_: Any, __: str, event: MutableMapping[str, Any]) -> Mapping[str, Any]:
        return {key: redact.redact_value(_plain(value)) for key, value in event.items()}

    return processor


def _plain(value: Any) -> Any:
    """Return the value as JSON has it, so that nothing is turned into text after the redaction."""
    return value if isinstance(value, str | int | float | bool | dict | list | tuple | None) else repr(value)
