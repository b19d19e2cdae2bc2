"""Checks: how they are given, what they say, and that hostile ones do no harm."""

import json
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.verifier.candidates import candidate
from verifier.checks import CheckVerifier, compile_check, parse_check, parse_check_argument, parse_checks, run_checks
from verifier.errors import CheckError
from verifier.types import Check, CheckResult, Context


def outcome(check: Check, answer: str) -> str:
    return run_checks(candidate(answer), [check])[0].outcome


@pytest.mark.parametrize(
    ("check", "answer", "expected"),
    [
        (Check.regex(r"^\d+$"), "42", "pass"),
        (Check.regex(r"\d"), "about 42", "pass"),
        (Check.regex(r"^\d+$"), "42 ", "fail"),
        (Check.regex("é"), "caf\udce9", "fail"),  # half a surrogate pair is no letter
        (Check.contains("Paris"), "in Paris.", "pass"),
        (Check.contains("paris"), "in Paris.", "fail"),
        (Check.contains("é"), "cafe\u0301", "pass"),
        (Check.equals("Paris"), " paris ", "pass"),
        (Check.equals("1,018"), "1018.0", "pass"),
        (Check.equals("0.5"), "1/2", "fail"),
        (Check(kind="equals", value=42), "42.0", "pass"),
        (Check(kind="equals", value=True), "True", "pass"),
        (Check.numeric(42), "42", "pass"),
        (Check.numeric(42), "4.2e1", "pass"),
        (Check.numeric("3/4"), "0.75", "pass"),
        (Check.numeric(0.1), "1/10", "pass"),
        (Check.numeric(Decimal("0.30")), "0.3", "pass"),
        (Check.numeric(Fraction(1, 3)), "0.3333333333333333", "fail"),
        (Check.numeric(Fraction(1, 3), abs=1e-6), "0.3333333", "pass"),
        (Check.numeric(1234567), "1234568", "fail"),
        (Check.numeric(0.5), "50%", "pass"),
        (Check.numeric("50%"), "50 percent", "pass"),
        (Check.numeric(50), "50%", "fail"),  # a percent is a hundredth
        (Check.numeric(42), "42 litres", "pass"),
        (Check.numeric(42), "x = 42", "pass"),
        (Check.numeric(42), r"\boxed{42}", "pass"),
        (Check.numeric(42), "42 million", "fail"),
        (Check.numeric(42), "41 or 42", "fail"),
        (Check.numeric(42), "nan", "fail"),
        (Check.numeric(42), "1e999999999", "fail"),
        (Check.numeric(100, rel=0.1), "110", "pass"),
        (Check.numeric(100, rel=0.1), "110.0001", "fail"),
        (Check.numeric(100, rel=0.1, abs=20), "81", "pass"),
        (Check.numeric(-100, rel=0.1), "-90", "pass"),
        (Check.json_schema({"type": "object", "required": ["a"]}), '{"a": 1}', "pass"),
        (Check.json_schema({"type": "object", "required": ["a"]}), '{"b": 1}', "fail"),
        (Check.json_schema({"type": "number"}), "forty-two", "fail"),
        (Check.json_schema({"type": "number"}), "NaN", "fail"),
        (Check.json_schema({}), "```json\n{}\n```", "fail"),
    ],
)
def test_a_check_holds_or_does_not(check: Check, answer: str, expected: str) -> None:
    assert outcome(check, answer) == expected


def test_a_check_of_the_answer_does_not_apply_where_there_is_none() -> None:
    (result,) = run_checks(candidate(None), [Check.numeric(42)])

    assert (result.outcome, result.observed, result.expected) == ("not_applicable", "", "42")
    assert "no answer" in result.message


def test_a_check_of_the_step_reads_the_step() -> None:
    results = run_checks(
        candidate(None, step="Pour 3 litres"), [Check.contains("3", target="step"), Check.contains("4", target="step")]
    )

    assert [(result.outcome, result.observed, result.target) for result in results] == [
        ("pass", "Pour 3 litres", "step"),
        ("fail", "Pour 3 litres", "step"),
    ]


def test_evidence_is_named_and_kept_short() -> None:
    checks = [Check.contains("y" * 600), Check(kind="regex", value="x{3}", id="three"), Check.contains("x")]

    first, second, third = run_checks(candidate("x" * 600), checks)

    assert (first.check_id, second.check_id, third.check_id) == ("check1", "three", "check3")
    assert len(first.observed) == len(first.expected) == 500
    assert first.observed.endswith("…")
    assert (second.observed, second.expected) == ("xxx", "matches x{3}")


def test_a_check_that_cannot_run_is_an_error_and_stops_no_other() -> None:
    results = run_checks(candidate("42"), [Check.regex("("), Check.numeric(42)])

    assert [result.outcome for result in results] == ["error", "pass"]
    assert results[0].message.startswith("value: RE2 refuses the pattern")


async def test_the_verifier_adds_the_results_and_keeps_earlier_ones() -> None:
    earlier = CheckResult(check_id="old", kind="regex", target="answer", outcome="pass")
    context = Context(task="?", checks=(Check.numeric(42), Check.numeric(43)))

    after = await CheckVerifier().verify(replace(candidate("42"), checks=(earlier,)), context)

    assert [check.check_id for check in after.passed_checks] == ["old", "check1"]
    assert [check.check_id for check in after.failed_checks] == ["check2"]


def test_a_validation_without_a_verdict_is_an_error() -> None:
    (result,) = run_checks(candidate("[" * 100_000), [Check.json_schema({})])

    assert result.outcome == "error"
    assert "nests too deep" in result.message


@pytest.mark.parametrize(
    ("spec", "field", "hint"),
    [
        ({"kind": "regexp", "value": "a"}, "kind", "regex, equals, contains, numeric, json_schema"),
        ({"kind": ["regex"], "value": "a"}, "kind", "unknown"),
        ({"kind": "python", "value": "if"}, "value", "no Python"),
        ({"kind": "python", "value": " # nothing"}, "value", "empty"),
        ({"kind": "python", "value": 1}, "value", "code as text"),
        ({"kind": "python", "value": "\ud800"}, "value", "no Python"),
        ({"kind": "python", "value": "(" * 5_000}, "value", "no Python"),
        ({"kind": "python", "value": "1\n" * 150_000}, "value", "longer than"),
        ({"kind": "python", "value": "1", "options": {"program": "yes"}}, "options.program", "true nor false"),
        ({"kind": "python", "value": "1", "options": {"seconds": 9}}, "options.seconds", "use program"),
        ({"kind": "command", "value": "ls"}, "value", "list of words"),
        ({"kind": "command", "value": []}, "value", "empty"),
        ({"kind": "command", "value": [""]}, "value", "empty"),
        ({"kind": "command", "value": ["a\0"]}, "value", "list of words"),
        ({"kind": "command", "value": ["a" * 30_000]}, "value", "longer than"),
        ({"kind": "command", "value": ["ls"], "options": {"shell": True}}, "options.shell", "takes none"),
        ({"value": "a"}, "kind", "missing"),
        ({"kind": "regex"}, "value", "missing"),
        ({"kind": "regex", "value": "a", "pattern": "b"}, "pattern", "a check has the fields"),
        ({"kind": "regex", "value": "a", "target": "text"}, "target", "answer or step"),
        ({"kind": "regex", "value": "a", "id": 5}, "id", "short name"),
        ({"kind": "regex", "value": "a", "options": {"rel": 1}}, "options.rel", "takes none"),
        ({"kind": "regex", "value": "a", "options": []}, "options", "object"),
        ({"kind": "regex", "value": 5}, "value", "takes text"),
        ({"kind": "regex", "value": ""}, "value", "empty"),
        ({"kind": "equals", "value": " "}, "value", "empty"),
        ({"kind": "regex", "value": "(?=a)b"}, "value", "RE2 refuses"),
        ({"kind": "regex", "value": r"(a)\1"}, "value", "RE2 refuses"),
        ({"kind": "regex", "value": "a" * 5_000}, "value", "longer than"),
        ({"kind": "regex", "value": "\ud800"}, "value", "surrogate"),
        ({"kind": "numeric", "value": "many"}, "value", "no finite number"),
        ({"kind": "numeric", "value": True}, "value", "no finite number"),
        ({"kind": "numeric", "value": float("nan")}, "value", "no finite number"),
        ({"kind": "numeric", "value": float("inf")}, "value", "no finite number"),
        ({"kind": "numeric", "value": Decimal("1e999999999")}, "value", "no finite number"),
        ({"kind": "numeric", "value": "1e999999999"}, "value", "no finite number"),
        ({"kind": "numeric", "value": 10**5_000}, "value", "digits"),
        ({"kind": "numeric", "value": 1, "options": {"tolerance": 1}}, "options.tolerance", "rel or abs"),
        ({"kind": "numeric", "value": 1, "options": {"abs": -1}}, "options.abs", "negative"),
        ({"kind": "numeric", "value": 1, "options": {"rel": "x"}}, "options.rel", "no finite number"),
        ({"kind": "json_schema", "value": "object"}, "value", "JSON Schema"),
        ("numeric:42", "check", "object with kind and value"),
    ],
)
def test_a_bad_check_is_refused_with_the_field_and_the_fix(spec: Any, field: str, hint: str) -> None:
    with pytest.raises(CheckError) as caught:
        parse_check(spec)

    assert caught.value.field == field
    assert str(caught.value).startswith(f"{field}: ")
    assert hint in str(caught.value)


def test_a_check_is_read_from_json() -> None:
    spec = json.loads('{"kind": "numeric", "value": 4.2, "target": null, "options": {"abs": 0.1}, "id": "sum"}')

    check = parse_check(spec)

    assert check == Check(kind="numeric", value=4.2, options={"abs": 0.1}, id="sum")
    assert parse_check(check) is check


def test_checks_of_a_list_are_named_by_their_place() -> None:
    checks = parse_checks(
        [{"kind": "numeric", "value": 1}, {"kind": "regex", "value": "a", "id": "x"}, Check.equals("b")]
    )

    assert [check.id for check in checks] == ["check1", "x", "check3"]


@pytest.mark.parametrize(
    ("specs", "field"),
    [
        ([{"kind": "numeric", "value": 1}, {"kind": "regex", "value": "("}], "checks[1].value"),
        ([{"kind": "numeric", "value": 1}, {"kind": "regex", "value": "a", "id": "check1"}], "checks[1].id"),
    ],
)
def test_the_wrong_check_of_a_list_is_pointed_at(specs: list[dict[str, Any]], field: str) -> None:
    with pytest.raises(CheckError) as caught:
        parse_checks(specs)

    assert caught.value.field == field


@pytest.mark.parametrize(
    ("argument", "check"),
    [
        ("numeric:42", Check(kind="numeric", value="42")),
        ("regex:^a:b$", Check(kind="regex", value="^a:b$")),
        ("equals: x ", Check(kind="equals", value=" x ")),
        ("python:answer == 'a:b'", Check(kind="python", value="answer == 'a:b'")),
        ("command:grep -q 'a b' {answer}", Check(kind="command", value=["grep", "-q", "a b", "{answer}"])),
        ('command: ["true"]', Check(kind="command", value=["true"])),
        ('json_schema: {"type": "number"}', Check(kind="json_schema", value={"type": "number"})),
    ],
)
def test_a_check_is_read_from_the_command_line(argument: str, check: Check) -> None:
    assert parse_check_argument(argument) == check


def test_a_schema_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "schema.json"
    file.write_text('{"type": "integer"}', encoding="utf-8")

    check = parse_check_argument(f"json_schema:@{file}")

    assert check.value == {"type": "integer"}


@pytest.mark.parametrize(
    ("argument", "hint"),
    [
        ("42", "KIND:VALUE"),
        ("python:(", "no Python"),
        ("command:'", "no list of words"),
        ("command:[1]", "no list of words"),
        ("command:", "empty"),
        ("json_schema:{", "no JSON"),
        ("json_schema:@/no/such/file.json", "cannot read"),
        ("json_schema:@a\0b", "cannot read"),
        ("json_schema:[1]", "JSON Schema"),
    ],
)
def test_a_bad_argument_is_refused_with_the_fix(argument: str, hint: str) -> None:
    with pytest.raises(CheckError, match=hint):
        parse_check_argument(argument)


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(.*a){20}$"])
def test_a_pattern_that_explodes_elsewhere_is_matched_in_linear_time(pattern: str) -> None:
    """A backtracking engine would not end before the universe does."""
    assert outcome(Check.regex(pattern), "a" * 100_000 + "!") == "fail"


def test_a_match_that_would_take_too_long_is_an_error() -> None:
    result = run_checks(candidate("ab" * 100_000), [Check.regex("[ab]*a[ab]{900}c")])[0]

    assert result.outcome == "error"
    assert "too large" in result.message


@given(st.text(), st.text(min_size=1))
def test_no_text_makes_a_check_raise(answer: str, value: str) -> None:
    checks = [Check(kind=kind, value=value) for kind in ("regex", "equals", "contains", "numeric")]

    results = run_checks(candidate(answer), [*checks, Check.json_schema({"type": "object"})])

    assert len(results) == 5


@given(st.text())
def test_every_text_equals_and_contains_itself(text: str) -> None:
    if text.strip():
        assert outcome(Check.equals(text), text) == "pass"
        assert outcome(Check.contains(text), text) == "pass"


numbers = st.fractions(-1000, 1000, max_denominator=50)
shares = st.fractions(0, 2, max_denominator=50)


@given(numbers, numbers, shares)
def test_an_absolute_tolerance_is_symmetric(a: Fraction, b: Fraction, tolerance: Fraction) -> None:
    def within(wanted: Fraction, found: Fraction) -> str:
        return outcome(Check(kind="numeric", value=wanted, options={"abs": tolerance}), str(found))

    assert within(a, b) == within(b, a) == ("pass" if abs(a - b) <= tolerance else "fail")


@given(numbers, shares, shares)
def test_a_relative_tolerance_reaches_as_far_up_as_down(value: Fraction, rel: Fraction, step: Fraction) -> None:
    check = Check(kind="numeric", value=value, options={"rel": rel})

    assert outcome(check, str(value + step * value)) == outcome(check, str(value - step * value))


def test_a_check_says_what_it_expects() -> None:
    assert compile_check(Check.numeric(42, rel=0.1)).expected == "42 ± 4.2"
    assert compile_check(Check.json_schema({"type": "null"})).expected == '{"type": "null"}'
