"""JSON objects as answers: equal by their values."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier.answers import vote_key
from verifier.consensus import vote
from verifier.structure import canonical, spelt

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.text(max_size=5), values, max_size=4)


@given(objects, st.randoms(use_true_random=False))
def test_order_and_blanks_do_not_matter(value: dict[str, Any], rng: Any) -> None:
    shuffled = dict(rng.sample(sorted(value.items(), key=lambda item: item[0]), len(value)))

    assert canonical(json.dumps(shuffled, indent=2)) == canonical(f" {spelt(value)}\n") == spelt(value)
    assert vote_key(json.dumps(shuffled, indent=2)) == vote_key(spelt(value))


@given(objects, objects)
def test_other_values_are_another_answer(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert (vote_key(json.dumps(one)) == vote_key(json.dumps(other))) == (spelt(one) == spelt(other))


@given(objects)
def test_the_canonical_form_is_its_own(value: dict[str, Any]) -> None:
    assert canonical(spelt(value)) == spelt(value)


@pytest.mark.parametrize(
    "text", ["42", "[1, 2]", '["a"]', "{1, 2}", "[B]", "{a: 1}", '{"a": NaN}', "x {}", "", '{"a": 1} b']
)
def test_what_is_no_object_is_left_to_the_other_rules(text: str) -> None:
    assert canonical(text) is None


def test_numbers_are_compared_by_value_and_texts_exactly() -> None:
    assert canonical('{"n": 1.0}') == canonical('{"n": 1}')
    assert canonical('{"n": 1e400}') != canonical('{"n": 1}')
    assert vote_key('{"city": "Paris"}') != vote_key('{"city": "paris"}')


def test_nesting_without_end_is_no_answer_and_no_crash() -> None:
    assert canonical('[{"a":' * 100_000) is None


def test_votes_group_objects_by_value() -> None:
    verdict = vote([("1", '{"a": 1, "b": 2}'), ("2", '{"b":2,"a":1}'), ("3", '{"a": 2}')])

    assert [keys for _, keys in verdict.groups] == [("1", "2"), ("3",)]
