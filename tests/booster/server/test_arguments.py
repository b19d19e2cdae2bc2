"""What the tools read, refuse and publish."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from booster.errors import UsageError
from booster.server.arguments import (
    Arguments,
    GetStateArguments,
    MultiStepArguments,
    SessionArguments,
    SessionsArguments,
    SolveArguments,
    StartArguments,
    StepArguments,
    input_schema,
    read_budget,
)
from booster.session import Budget
from verifier.errors import CheckError

TOOLS: tuple[type[Arguments], ...] = (
    SolveArguments, StartArguments, StepArguments, MultiStepArguments, GetStateArguments, SessionArguments, SessionsArguments,
)  # fmt: skip


@pytest.mark.parametrize(
    ("tool", "sent", "name", "read"),
    [
        (SolveArguments, {"task": "t", "iterations": "8"}, "iterations", 8),
        (SolveArguments, {"task": "t", "iterations": 8.0}, "iterations", 8),
        (SolveArguments, {"task": "t", "iterations": None}, "iterations", None),
        (SolveArguments, {"task": "t", "overwrite": "true"}, "overwrite", True),
        (SolveArguments, {"task": "t", "overwrite": " False "}, "overwrite", False),
        (SolveArguments, {"task": "t", "waitSeconds": "1.5"}, "wait_seconds", 1.5),
        (SolveArguments, {"task": "t", "waitSeconds": None}, "wait_seconds", 45),
        (SolveArguments, {"task": "t", "config": '{"numCandidates": 3}'}, "config", {"numCandidates": 3}),
        (SolveArguments, {"task": "t", "checks": '[{"kind": "numeric"}]'}, "checks", ({"kind": "numeric"},)),
        (SolveArguments, {"task": "t", "checks": ['{"kind": "numeric"}']}, "checks", ({"kind": "numeric"},)),
        (SolveArguments, {"task": "t", "outputFormat": None}, "output_format", "json"),
        (SolveArguments, {"task": '{"not": "parsed"}'}, "task", '{"not": "parsed"}'),
        (SolveArguments, {"task": "t", "detail": "full"}, "detail", "full"),
        (StartArguments, {"task": "t", "config": "{}"}, "config", {}),
        (StepArguments, {"sessionId": "s", "overrideNumCandidates": "3"}, "override_num_candidates", 3),
        (StepArguments, {"sessionId": "s", "proposals": '[{"text": "a"}]'}, "proposals", ({"text": "a"},)),
        (MultiStepArguments, {"sessionId": "s", "iterations": "2"}, "iterations", 2),
        (GetStateArguments, {"sessionId": "s", "waitSeconds": "0"}, "wait_seconds", 0),
        (GetStateArguments, {"session_id": "s"}, "session_id", "s"),
        (SessionsArguments, {"limit": "5"}, "limit", 5),
        (SessionsArguments, {"status": None}, "status", None),
    ],
)
def test_what_sloppy_clients_send_is_read(tool: type[Arguments], sent: dict[str, Any], name: str, read: object) -> None:
    arguments, warnings = tool.read(sent)

    assert getattr(arguments, name) == read
    assert warnings == []


@pytest.mark.parametrize(
    ("tool", "sent", "reason"),
    [
        (SolveArguments, {}, "task: is missing; use the text of the problem"),
        (SolveArguments, {"task": 5}, "task: 5 is not allowed; use the text of the problem"),
        (
            SolveArguments,
            {"task": "t", "iterations": "many"},
            'iterations: "many" is not allowed; use a whole number from 1 to 64',
        ),
        (
            SolveArguments,
            {"task": "t", "iterations": True},
            "iterations: true is not allowed; use a whole number from 1 to 64",
        ),
        (
            SolveArguments,
            {"task": "t", "iterations": 65},
            "iterations: 65 is not allowed; use a whole number from 1 to 64",
        ),
        (SolveArguments, {"task": "t", "waitSeconds": 0}, "waitSeconds: 0 is not allowed; use a number from 1 to 600"),
        (
            SolveArguments,
            {"task": "t", "waitSeconds": 601},
            "waitSeconds: 601 is not allowed; use a number from 1 to 600",
        ),
        (SolveArguments, {"task": "t", "overwrite": "yes"}, 'overwrite: "yes" is not allowed; use true or false'),
        (SolveArguments, {"task": "t", "config": "[1]"}, "config: [1] is not allowed; use an object with options"),
        (
            SolveArguments,
            {"task": "t", "checks": [1]},
            "checks.0: 1 is not allowed; use a list of objects {kind, value}",
        ),
        (SolveArguments, {"task": "t", "detail": "some"}, 'detail: "some" is not allowed; use "brief" or "full"'),
        (MultiStepArguments, {"sessionId": "s"}, "iterations: is missing; use a whole number from 1 to 64"),
        (
            MultiStepArguments,
            {"sessionId": "s", "iterations": 0},
            "iterations: 0 is not allowed; use a whole number from 1 to 64",
        ),
        (
            MultiStepArguments,
            {"sessionId": "s", "iterations": -3},
            "iterations: -3 is not allowed; use a whole number from 1 to 64",
        ),
        (StepArguments, {"sessionId": ""}, 'sessionId: "" is not allowed; use the id of a session, ses_…'),
        (StepArguments, {"sessionId": "s", "overrideNumCandidates": 17}, "overrideNumCandidates: 17 is not allowed"),
        (GetStateArguments, {}, "sessionId: is missing; use the id of a session, ses_…"),
        (SessionsArguments, {"limit": 0}, "limit: 0 is not allowed; use a whole number from 1 to 200"),
    ],
)
def test_what_does_not_fit_is_refused_with_field_and_reason(
    tool: type[Arguments], sent: dict[str, Any], reason: str
) -> None:
    with pytest.raises(UsageError) as refused:
        tool.read(sent)

    assert str(refused.value).startswith(reason)


def test_an_unknown_argument_is_a_warning_that_names_the_nearest_known_one() -> None:
    arguments, warnings = SolveArguments.read({"task": "t", "iteration": 3})

    assert arguments.iterations is None
    assert warnings == ["unknown option \"iteration\" is ignored; did you mean 'iterations'?"]


@given(st.integers(1, 64))
def test_a_number_reads_the_same_in_every_spelling(number: int) -> None:
    spellings: list[object] = [number, str(number), float(number), f" {number} "]

    read = {SolveArguments.read({"task": "t", "iterations": spelling})[0].iterations for spelling in spellings}

    assert read == {number}


def test_inside_a_budget_null_means_no_limit_and_silence_means_the_default() -> None:
    budget, warnings = read_budget({"calls": None, "tokens": "1000", "hours": 3})

    assert budget == Budget(calls=None, tokens=1000, seconds=300, cost_usd=None)
    assert len(warnings) == 1
    assert "hours" in warnings[0]


def test_a_wrong_limit_is_named_with_its_place_in_the_budget() -> None:
    with pytest.raises(UsageError, match=r"^budget\.calls: 0 is not allowed"):
        read_budget({"calls": 0})


def test_a_wrong_check_is_named_by_its_place() -> None:
    arguments, _ = SolveArguments.read(
        {"task": "t", "checks": [{"kind": "numeric", "value": 1}, {"kind": "colour", "value": 2}]}
    )

    with pytest.raises(CheckError, match=r"checks\[1\]"):
        arguments.parsed_checks()


@pytest.mark.parametrize(
    ("proposals", "reason"),
    [
        ([{"rationale": "no text"}], r"proposals\[0\]\.text is missing"),
        ([{"text": "a", "checks": [{"kind": "regex", "value": "("}]}], r"^proposals\[0\]\.checks: "),
        ([], "proposals is empty"),
    ],
)
def test_a_malformed_proposal_is_refused_before_anything_runs(proposals: list[Any], reason: str) -> None:
    arguments, _ = StepArguments.read({"sessionId": "s", "proposals": proposals})

    with pytest.raises(UsageError, match=reason):
        arguments.parsed_proposals()


@pytest.mark.parametrize("tool", TOOLS)
def test_the_published_schema_is_compact_and_as_wide_as_what_is_read(tool: type[Arguments]) -> None:
    schema = input_schema(tool)

    assert len(json.dumps(schema)) < 2048
    assert "$defs" not in json.dumps(schema)
    for name, published in schema["properties"].items():
        kinds = {option.get("type") for option in published.get("anyOf", [published])}
        assert published["description"]
        assert "string" in kinds, "everything may come as text"
        assert ("null" in kinds) == (name not in schema["required"]), "what may be left out may be null"
