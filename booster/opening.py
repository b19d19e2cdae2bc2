"""From what a caller asks for to a session that can be started: every option is read, and refused, before anything is paid.

Above: `booster.app`. Below: the settings that a call's own options are put on top of. Pure but for the session's id.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from booster.agreement import out_of_reach
from booster.codec import encode
from booster.config import Config
from booster.errors import UsageError
from booster.session import Budget, Problem, Session, new_session_id
from booster.settings import Settings
from providers.types import Message
from verifier.checks import parse_checks
from verifier.code_spec import CODE_KINDS, CODE_OFF
from verifier.types import Check

MAX_TASK_CHARS = 400_000
"""Longest task in characters: what no model could read anyway is refused before it is paid for."""


def new_session(
    settings: Settings,
    task: str,
    *,
    checks: Sequence[Check | Mapping[str, Any]] = (),
    budget: Budget | None = None,
    messages: Sequence[Message] = (),
    request: Mapping[str, Any] | None = None,
    expected_answer_format: str = "",
    verbatim: bool = False,
    config: Mapping[str, Any] | None = None,
    **knobs: Any,
) -> Session:
    """Return a session that nothing has happened in yet.

    Args:
        settings: What holds where the call says nothing.
        task: The question; never blank.
        checks: Executable tests of answer or steps, as `Check` or `{kind, value, target?, options?, id?}`.
        budget: None = the default one.
        messages: The client's own conversation in the OpenAI wire format.
        request: The client's own request parameters, passed on as they are.
        expected_answer_format: In words.
        verbatim: Ask whole answers with `messages` alone and take the replies as they are; needs the granularity `answer`.
        config: Options of the solve under their public names.
        knobs: The same by keyword; they win.

    Raises:
        UsageError: an option is wrong; the text names it.
        CheckError: a check is.
    """
    _refuse_task(task)
    effective, warnings = settings.config.override({**(config or {}), **knobs})
    if verbatim and (not messages or effective.granularity != "answer"):
        raise UsageError("verbatim: needs messages and the granularity 'answer'", field="verbatim")
    if not settings.allow_code:
        _refuse_code(effective)
    iterations = min(effective.iterations, effective.max_steps)
    if iterations < effective.iterations:
        warnings.append(f"iterations: {effective.iterations} was cut to maxSteps, {effective.max_steps}")
    problem = Problem(
        task=task,
        messages=tuple(_messages(messages)),
        request=_json("request", dict(request or {})),
        checks=tuple(map(_plain, parse_checks(checks))),
        expected_answer_format=expected_answer_format,
        verbatim=verbatim,
    )
    session = Session(
        id=new_session_id(),
        problem=problem,
        config=effective,
        budget=budget or Budget(),
        iterations=iterations,
        cut_iterations=iterations < effective.iterations,
        at_once="num_candidates" in effective.model_fields_set,
    )
    if not settings.allow_code:
        warnings += _not_run(problem.checks)
    return replace(session, warnings=(*settings.warnings, *warnings, *out_of_reach(session)))


def _refuse_code(config: Config) -> None:
    if config.select == "programs":
        raise UsageError(
            'select: "programs" runs programs and tests that models write; set allowCode in config.json of the process',
            field="select",
        )


def _not_run(checks: Iterable[Check]) -> list[str]:
    """Say which checks cannot be run where code may not."""
    return [f"check {one.id} ({one.kind}): {CODE_OFF}; it is not run" for one in checks if one.kind in CODE_KINDS]


def refuse_no_count(iterations: object) -> None:
    """Refuse a number of further iterations that is none.

    Raises:
        UsageError: it is no whole number from 1.
    """
    if isinstance(iterations, bool) or not isinstance(iterations, int) or iterations < 1:
        raise UsageError(f"iterations: {iterations!r} is not a whole number from 1", field="iterations")


def _refuse_task(task: object) -> None:
    if not isinstance(task, str) or not task.strip():
        raise UsageError("task: is blank; say what is to be solved", field="task")
    try:
        task.encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            f"task: character {error.start} is half of one (a lone surrogate); send whole Unicode text", field="task"
        ) from None
    if len(task) > MAX_TASK_CHARS:
        raise UsageError(f"task: has {len(task)} characters; at most {MAX_TASK_CHARS} are taken", field="task")


def _messages(messages: Sequence[Any]) -> list[Message]:
    for place, message in enumerate(messages):
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            raise UsageError(f"messages[{place}]: is no object with a role", field="messages")
    return [_json(f"messages[{place}]", dict(message)) for place, message in enumerate(messages)]


def _plain(check: Check) -> Check:
    """Return the check as it comes back from the journal: exact numbers as text, which checks read just so."""
    return replace(check, value=encode(check.value), options=encode(check.options))


def _json(name: str, value: dict[str, Any]) -> dict[str, Any]:
    """Return the value if it can be sent as JSON.

    Raises:
        UsageError: it holds something that has no JSON form, for example NaN.
    """
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"{name}: has no JSON form ({error})", field=name.partition("[")[0]) from None
    return value
