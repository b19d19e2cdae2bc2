"""Logs are JSON lines without secrets, from our loggers and from those of libraries."""

import io
import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from booster.redact import Redactor
from booster.server.logs import configure_logs


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """A stream that takes the logs of one test."""
    root, stream = logging.getLogger(), io.StringIO()
    handlers, level = list(root.handlers), root.level
    configure_logs(Redactor(["hunter2-hunter2"]), stream=stream)
    yield stream
    structlog.reset_defaults()
    root.handlers[:], root.level = handlers, level


def test_every_line_is_one_json_object_without_secrets(lines: io.StringIO) -> None:
    structlog.get_logger("test").warning(
        "sent", key="hunter2-hunter2", where={"deep": ["hunter2-hunter2"]}, error=KeyError("x")
    )
    logging.getLogger("some.library").error("failed with %s", "hunter2-hunter2")

    ours, theirs = (json.loads(line) for line in lines.getvalue().splitlines())
    assert (ours["event"], ours["level"], ours["key"]) == ("sent", "warning", "[redacted]")
    assert (theirs["event"], theirs["logger"]) == ("failed with [redacted]", "some.library")
    assert "hunter2" not in lines.getvalue()


def test_a_stack_trace_is_text_of_one_line_without_secrets(lines: io.StringIO) -> None:
    try:
        raise ValueError("hunter2-hunter2")
    except ValueError as error:
        structlog.get_logger("test").error("broke", exc_info=error)

    (line,) = lines.getvalue().splitlines()
    assert "ValueError: [redacted]" in json.loads(line)["exception"]
