"""Executable checks: facts about an answer or a step, never opinions.

A check is data (`verifier.types.Check`). `parse_check` reads one from JSON, `parse_check_argument` from a command line,
`compile_check` refuses early what can never run, and `run_checks` holds a candidate against a list of them. Every outcome is
one of `pass`, `fail`, `error` (the check could not run: nothing is known) and `not_applicable` (there is no answer to check).
Checks that run code are read here like the others, but run only in `verifier.code_checks`.
"""

import json
import shlex
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from pathlib import Path
from typing import Any, get_args

from verifier import pattern as regex
from verifier.answers import exact_number, normal_form
from verifier.code_spec import CODE_OFF, command_words, python_code, read_words
from verifier.errors import CheckError
from verifier.numbers import six_digits
from verifier.schema import MAX_SCHEMA_CHARS, NotJson, compile_schema
from verifier.schema_keywords import Exhausted
from verifier.types import Candidate, Check, CheckKind, CheckOutcome, CheckResult, CheckTarget, Context

SHOWN = 500
"""Characters of what was observed and expected that a result keeps."""
KINDS: tuple[CheckKind, ...] = get_args(CheckKind)
TARGETS: tuple[CheckTarget, ...] = get_args(CheckTarget)

_KEYS = ("kind", "value", "target", "options", "id")
_MAX_DIGITS = 4_000
_OPTIONS: dict[str, tuple[str, ...]] = {"numeric": ("rel", "abs"), "python": ("program",)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """What a compiled check says of one text."""

    outcome: CheckOutcome
    observed: str = ""
    message: str = ""


NO_ANSWER = Finding(outcome="not_applicable", message="the candidate carries no answer")
"""What a check of the answer says where there is none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CompiledCheck:
    """A check that can run."""

    check: Check
    expected: str
    """What is wanted, for people."""
    test: Callable[[str], Finding]
    """Pure; never raises."""


def parse_check(spec: Mapping[str, Any] | Check) -> Check:
    """Read one check from `{kind, value, target?, options?, id?}` and make sure that it can run.

    Raises:
        CheckError: naming the field and the fix.
    """
    if isinstance(spec, Check):
        check = spec
    elif isinstance(spec, Mapping):
        unknown = [str(key) for key in spec if key not in _KEYS]
        if unknown:
            raise CheckError(f"unknown; a check has the fields {', '.join(_KEYS)}", field=unknown[0])
        for field in ("kind", "value"):
            if field not in spec:
                raise CheckError("missing; a check needs at least kind and value", field=field)
        check = Check(
            kind=spec["kind"],
            value=spec["value"],
            target=_given(spec, "target", "answer"),
            options=_given(spec, "options", {}),
            id=_given(spec, "id", ""),
        )
    else:
        raise CheckError(f"is a {type(spec).__name__}; give an object with kind and value", field="check")
    compile_check(check)
    return check


def parse_checks(specs: Sequence[Mapping[str, Any] | Check]) -> tuple[Check, ...]:
    """Read a list of checks and name those without an id `check1`, `check2`, ... by their place in the list.

    Raises:
        CheckError: one of them is wrong, or two have the same id; the field begins with `checks[index]`.
    """
    checks: list[Check] = []
    for index, spec in enumerate(specs):
        try:
            check = parse_check(spec)
        except CheckError as error:
            reason = str(error).removeprefix(f"{error.field}: ")
            raise CheckError(reason, field=f"checks[{index}].{error.field}") from error
        checks.append(replace(check, id=check.id or default_id(index)))
        if checks[-1].id in {earlier.id for earlier in checks[:-1]}:
            raise CheckError(f"{checks[-1].id!r} is taken; every check needs its own id", field=f"checks[{index}].id")
    return tuple(checks)


def parse_check_argument(argument: str) -> Check:
    """Read a check from `KIND:VALUE`.

    The value of `json_schema` is JSON, or `@` and the path of a file that holds it; that of `command` is a JSON list of
    words, or words quoted as for a shell, which is never asked.

    Raises:
        CheckError: naming the field and the fix.
    """
    kind, colon, value = argument.partition(":")
    if not colon:
        raise CheckError(
            f"{argument[:80]!r} is not KIND:VALUE, as in numeric:42; kinds: {', '.join(KINDS)}", field="check"
        )
    kind = kind.strip()
    read = {"json_schema": _read_schema, "command": read_words}.get(kind)
    return parse_check({"kind": kind, "value": read(value) if read else value})


def compile_check(check: Check) -> CompiledCheck:
    """Return the check ready to run.

    Raises:
        CheckError: it can never run: unknown kind, target or option, a pattern that RE2 refuses, a schema that is not valid,
            a value that is no number. The text names the field and the fix.
    """
    if check.kind not in KINDS:
        raise CheckError(f"{check.kind!r} is unknown; use one of {', '.join(KINDS)}", field="kind")
    if check.target not in TARGETS:
        raise CheckError(f"{check.target!r} is unknown; use {' or '.join(TARGETS)}", field="target")
    if not isinstance(check.id, str):
        raise CheckError("is no text; give a short name", field="id")
    if not isinstance(check.options, Mapping):
        raise CheckError("is no object; numeric takes {rel, abs}", field="options")
    allowed = _OPTIONS.get(check.kind, ())
    for option in check.options:
        if option not in allowed:
            hint = f"use {' or '.join(allowed)}" if allowed else f"{check.kind} takes none"
            raise CheckError(f"unknown option; {hint}", field=f"options.{option}")
    expected, test = _COMPILERS[check.kind](check)
    return CompiledCheck(check=check, expected=_cut(expected), test=test)


def default_id(index: int) -> str:
    """Return the id of a check without one at this place in its list: `check1` for index 0."""
    return f"check{index + 1}"


def run_checks(candidate: Candidate, checks: Sequence[Check]) -> tuple[CheckResult, ...]:
    """Hold a candidate against every check, in their order; never raises and runs no code."""
    return tuple(_run(candidate, check, check.id or default_id(index)) for index, check in enumerate(checks))


class CheckVerifier:
    """Adds the results of the user's checks to a candidate."""

    name = "checks"

    async def verify(self, candidate: Candidate, context: Context) -> Candidate:
        """Return the candidate with a result for every check of the context."""
        if not context.checks:
            return candidate
        return replace(candidate, checks=(*candidate.checks, *run_checks(candidate, context.checks)))


def _given(spec: Mapping[str, Any], field: str, default: Any) -> Any:
    value = spec.get(field)
    return default if value is None else value


def _run(candidate: Candidate, check: Check, check_id: str) -> CheckResult:
    text = target_text(candidate, check)
    expected = ""
    try:
        compiled = compile_check(check)
        expected = compiled.expected
        finding = NO_ANSWER if text is None else compiled.test(text)
    except CheckError as error:
        finding = Finding(outcome="error", message=str(error))
    return check_result(check, check_id, expected, finding)


def target_text(candidate: Candidate, check: Check) -> str | None:
    """Return what the check is held against; None where the candidate carries no answer."""
    return candidate.proposal.answer if check.target == "answer" else candidate.proposal.text


def check_result(check: Check, check_id: str, expected: str, finding: Finding) -> CheckResult:
    """Return a finding as it is kept, its texts cut to `SHOWN` characters."""
    return CheckResult(
        check_id=check_id,
        kind=check.kind,
        target=check.target,
        outcome=finding.outcome,
        observed=_cut(finding.observed),
        expected=_cut(expected),
        message=_cut(finding.message),
    )


Compiler = Callable[[Check], tuple[str, Callable[[str], Finding]]]


def _compile_regex(check: Check) -> tuple[str, Callable[[str], Finding]]:
    pattern = _text(check)
    try:
        regex.compile_pattern(pattern)
    except regex.PatternError as error:
        raise CheckError(f"RE2 refuses the pattern: {error}", field="value") from error

    def test(text: str) -> Finding:
        try:
            found = regex.search(pattern, text)
        except regex.TooMuchWork as error:
            return Finding(outcome="error", observed=text, message=str(error))
        return _holds(found is not None, text if found is None else found)

    return f"matches {pattern}", test


def _compile_contains(check: Check) -> tuple[str, Callable[[str], Finding]]:
    wanted = unicodedata.normalize("NFC", _text(check))
    return f"contains {wanted}", lambda text: _holds(wanted in unicodedata.normalize("NFC", text), text)


def _compile_equals(check: Check) -> tuple[str, Callable[[str], Finding]]:
    value = check.value
    if isinstance(value, (bool, int, float)):
        value = json.dumps(value)  # as the value stands in JSON: 42, true
    wanted = normal_form(_text(replace(check, value=value)))
    return str(value), lambda text: _holds(normal_form(text) == wanted, text)


def _compile_numeric(check: Check) -> tuple[str, Callable[[str], Finding]]:
    wanted = _number(check.value, "value")
    rel, absolute = (_tolerance(check.options.get(name, 0), f"options.{name}") for name in ("rel", "abs"))
    tolerance = max(absolute, rel * abs(wanted))

    def test(text: str) -> Finding:
        number = exact_number(text)
        if number is None:
            return Finding(outcome="fail", observed=text, message="not one unambiguous number")
        return _holds(abs(number - wanted) <= tolerance, text)

    return f"{check.value} ± {six_digits(tolerance)}" if tolerance else str(check.value), test


def _compile_json_schema(check: Check) -> tuple[str, Callable[[str], Finding]]:
    if not isinstance(check.value, Mapping):
        raise CheckError("is no object; give the JSON Schema itself", field="value")
    schema = compile_schema(check.value)

    def test(text: str) -> Finding:
        try:
            problem = schema.first_error(text)
        except NotJson as error:
            problem = str(error)
        except Exhausted as error:
            return Finding(outcome="error", observed=text, message=str(error))
        return Finding(outcome="fail" if problem else "pass", observed=text, message=problem or "")

    return json.dumps(check.value, ensure_ascii=False), test


def _compile_python(check: Check) -> tuple[str, Callable[[str], Finding]]:
    return python_code(check), _not_run


def _compile_command(check: Check) -> tuple[str, Callable[[str], Finding]]:
    return f"{shlex.join(command_words(check))} ends with exit code 0", _not_run


def _not_run(text: str) -> Finding:
    return Finding(outcome="error", observed=text, message=CODE_OFF)


_COMPILERS: dict[CheckKind, Compiler] = {
    "regex": _compile_regex,
    "equals": _compile_equals,
    "contains": _compile_contains,
    "numeric": _compile_numeric,
    "json_schema": _compile_json_schema,
    "python": _compile_python,
    "command": _compile_command,
}


def _holds(outcome: bool, observed: str) -> Finding:
    return Finding(outcome="pass" if outcome else "fail", observed=observed)


def _text(check: Check) -> str:
    """Return the value as text; an empty one would hold of everything and prove nothing."""
    if not isinstance(check.value, str):
        raise CheckError(f"is a {type(check.value).__name__}; {check.kind} takes text", field="value")
    if not check.value.strip() and (check.kind == "equals" or not check.value):
        raise CheckError("is empty; say what is wanted", field="value")
    return check.value


def _number(value: Any, field: str) -> Fraction:
    """Return a number exactly; a float counts as the decimal that is written for it, so that 0.1 is a tenth."""
    number: Fraction | None = None
    if isinstance(value, str):
        number = exact_number(value)
    elif isinstance(value, float):
        number = Fraction(repr(value)) if isfinite(value) else None
    elif isinstance(value, Decimal):
        number = Fraction(value) if value.is_finite() and abs(value.adjusted()) <= _MAX_DIGITS else None
    elif isinstance(value, (int, Fraction)) and not isinstance(value, bool):
        number = Fraction(value)
    if number is None:
        raise CheckError(
            f"{str(value)[:80]!r} is no finite number; give one such as 42, 4.2e1, 3/4 or 50%", field=field
        )
    if max(abs(number.numerator), number.denominator) > 10**_MAX_DIGITS:
        raise CheckError(f"has more than {_MAX_DIGITS} digits; give a shorter number", field=field)
    return number


def _tolerance(value: Any, field: str) -> Fraction:
    tolerance = _number(value, field)
    if tolerance < 0:
        raise CheckError("is negative; give 0 or more", field=field)
    return tolerance


def _read_schema(value: str) -> Any:
    text = value.strip()
    if text.startswith("@"):
        path = Path(text[1:]).expanduser()
        try:
            with path.open(encoding="utf-8") as file:
                text = file.read(4 * MAX_SCHEMA_CHARS)
        except (OSError, ValueError) as error:
            raise CheckError(
                f"cannot read {path}: {error}; give the path of a JSON file after @", field="value"
            ) from error
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CheckError(f"is no JSON ({error}); give a schema or @file", field="value") from error


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
