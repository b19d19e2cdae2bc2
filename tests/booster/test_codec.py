"""Dataclasses survive the way to JSON and back."""

import json
from dataclasses import dataclass, field
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from booster.codec import camel, decode, encode
from booster.session import PooledAnswer, Step
from tests.builders import a_check, a_step, an_answer


@dataclass(frozen=True, kw_only=True)
class Leaf:
    some_text: str
    maybe: float | None = None


@dataclass(frozen=True, kw_only=True)
class Tree:
    leaves: tuple[Leaf, ...] = ()
    groups: tuple[tuple[str, tuple[str, ...]], ...] = ()
    first_leaf: Leaf | None = None
    free_form: dict[str, object] = field(default_factory=dict)


leaves = st.builds(Leaf, some_text=st.text(), maybe=st.none() | st.floats(allow_nan=False))
trees = st.builds(
    Tree, leaves=st.lists(leaves).map(tuple), first_leaf=st.none() | leaves,
    groups=st.lists(st.tuples(st.text(), st.lists(st.text()).map(tuple))).map(tuple),
    free_form=st.dictionaries(st.text(), st.integers()),
)  # fmt: skip


@given(trees)
def test_what_was_encoded_decodes_to_the_same(tree: Tree) -> None:
    assert decode(Tree, json.loads(json.dumps(encode(tree)))) == tree


def test_field_names_become_camel_case_and_free_form_keys_do_not() -> None:
    assert encode(Tree(first_leaf=Leaf(some_text="a"), free_form={"max_tokens": 1})) == {
        "leaves": [], "groups": [], "firstLeaf": {"someText": "a", "maybe": None}, "freeForm": {"max_tokens": 1},
    }  # fmt: skip


def test_unknown_keys_are_ignored_so_that_old_programs_read_new_journals() -> None:
    assert decode(Leaf, {"someText": "a", "addedLater": 1}) == Leaf(some_text="a")


def test_a_missing_field_is_named() -> None:
    with pytest.raises(ValueError, match=r"Leaf\.some_text is missing"):
        decode(Leaf, {})


def test_steps_and_answers_of_a_session_survive_the_journal() -> None:
    step, answer = a_step(answer="42"), an_answer("42", checks=[a_check()])

    assert decode(Step, json.loads(json.dumps(encode(step)))) == step
    assert decode(PooledAnswer, json.loads(json.dumps(encode(answer)))) == answer


def test_exact_numbers_become_text() -> None:
    assert encode({"value": Fraction(1, 3)}) == {"value": "1/3"}


def test_camel() -> None:
    assert [camel(name) for name in ("text", "total_score", "cost_usd")] == ["text", "totalScore", "costUsd"]
