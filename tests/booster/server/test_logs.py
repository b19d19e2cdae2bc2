"""Logs are JSON lines without secrets, from our loggers and from those of libraries, that say what they belong to."""

import io
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import structlog

from booster.redact import Redactor
from booster.server.logs import OURS, configure_logs
from providers.errors import RejectedError
from tests.solving import a_booster, answer
from tests.tracing import recorded

SECRET = "hunter2-hunter2"

ONE_CALL = {"scheduler": "system1", "iterations": 1}

TOUCHED = ("", *OURS, "uvicorn", "uvicorn.error", "uvicorn.access", "mcp")
"""Loggers that the set-up of logs changes."""


class Terminal(io.StringIO):
    """A stream at whose end is a person."""

    def isatty(self) -> bool:
        """Yes."""
        return True


@pytest.fixture
def configured() -> Iterator[Callable[..., io.StringIO]]:
    """Configure the logs of one test: returns the stream that takes them."""
    before = [(logger, list(logger.handlers), logger.level) for logger in map(logging.getLogger, TOUCHED)]

    def configure(stream: io.StringIO | None = None, **options: Any) -> io.StringIO:
        stream = stream or io.StringIO()
        configure_logs(Redactor([SECRET]), stream=stream, **options)
        return stream

    yield configure
    structlog.reset_defaults()
    for logger, handlers, level in before:
        logger.handlers[:] = handlers
        logger.setLevel(level)


def read(stream: io.StringIO) -> list[dict[str, Any]]:
    """Return the lines so far."""
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_every_line_is_one_json_object_without_secrets(configured: Callable[..., io.StringIO]) -> None:
    lines = configured()
    structlog.get_logger("test").warning(
        "sent", key=SECRET, where={"deep": [SECRET, (SECRET,)], SECRET: 1}, error=KeyError(SECRET), size=3, none=None
    )
    logging.getLogger("some.library").error("failed with %s", SECRET, extra={"header": SECRET})

    ours, theirs = read(lines)
    assert (ours["event"], ours["level"], ours["key"]) == ("sent", "warning", "[redacted]")
    assert ours["where"] == {"deep": ["[redacted]", ["[redacted]"]], "[redacted]": 1}
    assert (ours["error"], ours["size"], ours["none"]) == ("KeyError('[redacted]')", 3, None)
    assert (theirs["event"], theirs["logger"]) == ("failed with [redacted]", "some.library")
    assert theirs["header"] == "[redacted]"
    assert SECRET not in lines.getvalue()


def test_a_stack_trace_is_text_of_one_line_without_secrets(configured: Callable[..., io.StringIO]) -> None:
    lines = configured()
    for logger in (structlog.get_logger("test"), logging.getLogger("some.library")):
        try:
            raise ValueError(SECRET)
        except ValueError as error:
            logger.error("broke", exc_info=error)

    assert ["ValueError: [redacted]" in line["exception"] for line in read(lines)] == [True, True]


async def test_lines_of_a_solve_name_its_session_and_its_trace(configured: Callable[..., io.StringIO]) -> None:
    lines = configured(level="debug")
    with recorded() as trace:
        async with a_booster([answer("42")], config=ONE_CALL) as booster:
            result = await booster.solve("6 * 7?")
    logging.getLogger("booster").info("outside")

    call, run, outside = read(lines)
    root, chat = trace.one("invoke_workflow"), trace.one("chat")
    assert [line["session_id"] for line in (call, run)] == [result.session_id] * 2
    assert [int(line["trace_id"], 16) for line in (call, run)] == [root.context.trace_id] * 2
    assert [int(line["span_id"], 16) for line in (call, run)] == [chat.context.span_id, root.context.span_id]
    assert (call["event"], call["step_key"], call["attempts"]) == ("call ended", "it1/s1/answer1", 1)
    assert (run["event"], run["status"], run["calls"]) == ("session worked on", "done", 1)
    assert not {"session_id", "trace_id", "span_id"} & set(outside)


async def test_a_solve_that_breaks_off_is_logged_without_the_secret_in_its_error(
    configured: Callable[..., io.StringIO],
) -> None:
    lines = configured()

    def broken(_: object) -> RejectedError:
        raise ArithmeticError(SECRET)

    async with a_booster(broken, config=ONE_CALL, secrets=frozenset({SECRET})) as booster:
        with pytest.raises(ArithmeticError):
            await booster.wait(await booster.begin("6 * 7?"))

    run, error = read(lines)
    assert (run["status"], error["level"]) == ("failed", "error")
    assert "[redacted]" in error["event"]
    assert SECRET not in lines.getvalue()


@pytest.mark.parametrize(("level", "heard"), [("debug", "diwe"), ("info", "iwe"), ("warning", "we"), ("error", "e")])
def test_the_level_is_for_our_own_lines(configured: Callable[..., io.StringIO], level: str, heard: str) -> None:
    lines = configured(level=level)
    for logger in (structlog.get_logger("test"), logging.getLogger("booster"), logging.getLogger("providers.x")):
        for name in ("debug", "info", "warning", "error"):
            getattr(logger, name)(name[0])

    assert "".join(line["event"] for line in read(lines)) == heard * 3


@pytest.mark.parametrize(("level", "heard"), [("debug", "we"), ("info", "we"), ("error", "e")])
def test_libraries_are_heard_from_warnings_on(configured: Callable[..., io.StringIO], level: str, heard: str) -> None:
    lines = configured(level=level)
    for name in ("debug", "info", "warning", "error"):
        getattr(logging.getLogger("some.library"), name)(name[0])

    assert "".join(line["event"] for line in read(lines)) == heard


def test_libraries_with_handlers_of_their_own_use_ours(configured: Callable[..., io.StringIO]) -> None:
    elsewhere = io.StringIO()
    for name in ("uvicorn.error", "mcp"):
        logging.getLogger(name).addHandler(logging.StreamHandler(elsewhere))
    lines = configured()
    for name in ("uvicorn.error", "mcp"):
        logging.getLogger(name).warning("heard")

    assert [(line["event"], line["logger"]) for line in read(lines)] == [("heard", "uvicorn.error"), ("heard", "mcp")]
    assert elsewhere.getvalue() == ""


def test_a_person_at_a_terminal_reads_text_that_obeys_nobody(configured: Callable[..., io.StringIO]) -> None:
    lines = configured(Terminal())
    logging.getLogger("some.library").error("said \x1b]0;owned\x07%s", SECRET, extra={"what": "a\x1b[2Jb"})
    try:
        raise ValueError("inner \x1b[8m")
    except ValueError as error:
        structlog.get_logger("test").error("broke", exc_info=error)

    shown = lines.getvalue()
    assert "said [redacted]" in shown
    assert "ValueError: inner" in shown
    assert not shown.startswith("{")
    assert not any(danger in shown for danger in ("\x1b]0", "\x1b[2J", "\x1b[8m", SECRET))
