"""JSON Schema behind its fences."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier.errors import CheckError
from verifier.schema import DIALECT, NotJson, compile_schema, parse_json
from verifier.schema_keywords import Exhausted


def verdict(schema: dict[str, Any], instance: Any) -> str | None:
    return compile_schema(schema).first_error(json.dumps(instance))


def doubling(keyword: str, depth: int = 40) -> dict[str, Any]:
    """A small schema that asks for 2 ** depth evaluations."""
    parts = {f"a{i}": {keyword: [{"$ref": f"#/$defs/a{i + 1}"}] * 2} for i in range(depth)}
    return {"$defs": {**parts, f"a{depth}": {"type": "string"}}, "$ref": "#/$defs/a0"}


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"$schema": DIALECT, "type": "string"}, "a", 1),
        ({"properties": {"a": {"pattern": r"^\pL+$"}}}, {"a": "é"}, {"a": "1"}),
        ({"patternProperties": {"^n": {"type": "number"}}, "additionalProperties": False}, {"n1": 1}, {"n1": "x"}),
        ({"patternProperties": {"^n": {"type": "number"}}, "additionalProperties": False}, {}, {"m": 1}),
        ({"properties": {"a": {}}, "additionalProperties": {"type": "number"}}, {"a": "x", "b": 1}, {"b": "x"}),
        ({"propertyNames": {"pattern": "^a"}}, {"ab": 1}, {"b": 1}),
        ({"uniqueItems": True}, [1, True, "1", [1], [True], {"a": 1}], [{"a": 1, "b": 2}, {"b": 2.0, "a": 1}]),
        ({"items": {"$ref": "#/$defs/n"}, "$defs": {"n": {"minimum": 2}}}, [2, 3], [1]),
        ({"items": {"$ref": "#/$defs/n"}, "$defs": {"n": {"$id": "n", "minimum": 2}}}, [2, 3], [1]),
        ({"items": {"$ref": "#n"}, "$defs": {"n": {"$anchor": "n", "minimum": 2}}}, [2, 3], [1]),
        ({"format": "date"}, "2021-05-01", "2021-13-01"),
        ({"format": "uuid"}, "2f1c0a0e-6a53-4a53-9a30-0a3a6f0f3c11", "2f1c"),
        ({"format": "regex"}, r"\pL", "(?=a)"),
        ({"format": "no-such-format"}, "a", None),
        (
            {"properties": {"pattern": {"type": "string"}, "$schema": {"type": "string"}}},
            {"pattern": "("},
            {"pattern": 1},
        ),
    ],
)
def test_the_keywords_mean_what_the_draft_says(schema: dict[str, Any], good: Any, bad: Any) -> None:
    assert verdict(schema, good) is None
    assert bad is None or verdict(schema, bad) is not None


def test_an_error_names_the_spot() -> None:
    found = verdict({"properties": {"a": {"items": {"type": "integer"}}}}, {"a": [1, "x"]})

    assert found == "$.a[1]: 'x' is not of type 'integer'"


@pytest.mark.parametrize(
    ("schema", "field"),
    [
        ({"type": "text"}, "value.type"),
        ({"properties": {"a": {"minLength": -1}}}, "value.properties.a.minLength"),
        ({"properties": {"a": {"pattern": "(?=a)"}}}, "value.properties.a.pattern"),
        ({"patternProperties": {"(?<!a)b": {}}}, "value.patternProperties"),
        ({"x-shared": {"pattern": "(?=a)"}}, "value.x-shared.pattern"),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, "value.$schema"),
        ({"$schema": 7}, "value.$schema"),
        ({"$ref": "http://127.0.0.1:9/schema.json"}, "value.$ref"),
        ({"items": {"$ref": "other.json"}}, "value.items.$ref"),
        ({"$ref": "#/$defs/missing"}, "value.$ref"),
        ({"unevaluatedProperties": False}, "value.unevaluatedProperties"),
        ({"enum": ["x" * 70_000]}, "value"),
        ({"const": {1, 2}}, "value"),
        ({"const": float("nan")}, "value"),
    ],
)
def test_a_schema_that_cannot_be_applied_safely_is_refused(schema: dict[str, Any], field: str) -> None:
    with pytest.raises(CheckError) as caught:
        compile_schema(schema)

    assert caught.value.field == field


def test_a_schema_that_nests_too_deep_is_refused() -> None:
    schema: dict[str, Any] = {}
    for _ in range(400):
        schema = {"not": schema}

    with pytest.raises(CheckError, match="too deep"):
        compile_schema(schema)


@pytest.mark.parametrize("dialect", [DIALECT, "http://json-schema.org/draft-07/schema#"])
def test_a_part_cannot_bring_its_own_dialect(dialect: str) -> None:
    """The engine would hand such a part to its stock validator, which runs patterns in `re`."""
    with pytest.raises(CheckError, match="dialect"):
        compile_schema({"properties": {"a": {"$schema": dialect, "pattern": "(a+)+$"}}})


@pytest.mark.parametrize(
    ("schema", "instance"),
    [
        ({"pattern": "^(a+)+$"}, "a" * 100_000 + "!"),
        ({"properties": {"x": {"pattern": "^(a+)+$"}}}, {"x": "a" * 100_000 + "!"}),
        ({"patternProperties": {"^(a+)+$": {}}, "additionalProperties": False}, {"a" * 100_000 + "!": 1}),
        ({"propertyNames": {"pattern": "^(a|aa)+$"}}, {"a" * 100_000 + "!": 1}),
    ],
)
def test_a_pattern_in_a_schema_is_matched_in_linear_time(schema: dict[str, Any], instance: Any) -> None:
    assert verdict(schema, instance) is not None


def test_no_pattern_of_a_schema_reaches_the_standard_engine() -> None:
    """`\\pL` is an error for `re`; in every place that holds a pattern it works, so `re` has not seen it."""
    with pytest.raises(re.error):
        re.compile(r"\pL")

    schema = {
        "properties": {"a": {"pattern": r"^\pL$"}},
        "patternProperties": {r"^\pL$": {"type": "string"}},
        "additionalProperties": {"propertyNames": {"pattern": r"^\pL$"}},
        "dependentSchemas": {"a": {"patternProperties": {r"\pL": {}}}},
    }

    assert verdict(schema, {"a": "b", "b": "c", "long": {"d": 1}}) is None


@pytest.mark.parametrize(
    ("schema", "instance"),
    [
        (doubling("allOf"), "x"),
        (doubling("anyOf"), ["x" * 100] * 1_000),
        (doubling("oneOf"), 1),
        ({"$ref": "#"}, 1),
        ({"$defs": {"t": {"items": {"$ref": "#/$defs/t"}}}, "$ref": "#/$defs/t"}, json.loads("[" * 400 + "]" * 400)),
        ({"items": {"enum": list(range(5_000))}}, [4_999] * 20_000),
        ({"items": {"pattern": "[ab]*a[ab]{900}c?"}}, ["ab" * 1_000] * 50),
        ({"multipleOf": 0.1}, 10**400),
    ],
)
def test_a_validation_that_asks_for_too_much_ends_without_a_verdict(schema: dict[str, Any], instance: Any) -> None:
    with pytest.raises(Exhausted):
        verdict(schema, instance)


def test_many_equal_objects_are_told_apart_in_linear_time() -> None:
    assert verdict({"uniqueItems": True}, [{"a": i} for i in range(15_000)]) is None


def test_work_is_counted_for_each_validation_anew() -> None:
    schema = compile_schema({"items": {"type": "integer"}})
    text = json.dumps(list(range(20_000)))

    assert [schema.first_error(text) for _ in range(5)] == [None] * 5


@pytest.mark.parametrize("text", ["", "x", "{'a': 1}", "NaN", "-Infinity", "1e999", "1" * 5_000, "1 2", "```{}```"])
def test_only_strict_json_is_read(text: str) -> None:
    with pytest.raises(NotJson):
        parse_json(text)


@pytest.mark.parametrize("text", ["[" * 100_000, " " * 200_001])
def test_texts_beyond_the_bounds_are_not_read(text: str) -> None:
    with pytest.raises(Exhausted):
        parse_json(text)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([1.0, 0.5]) | st.text(max_size=2),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=2), children, max_size=3),
    max_leaves=12,
)


@given(st.lists(json_values, max_size=6))
def test_uniqueness_agrees_with_the_reference_implementation(items: list[Any]) -> None:
    from jsonschema import Draft202012Validator

    reference = Draft202012Validator({"uniqueItems": True}).is_valid(items)

    assert (verdict({"uniqueItems": True}, items) is None) == reference


@given(json_values)
def test_additional_properties_agree_with_the_reference_implementation(value: Any) -> None:
    from jsonschema import Draft202012Validator

    schema = {
        "properties": {"a": {"type": "integer"}},
        "patternProperties": {"^b": {"type": "string"}},
        "additionalProperties": {"type": "boolean"},
    }

    assert (verdict(schema, value) is None) == Draft202012Validator(schema).is_valid(value)
