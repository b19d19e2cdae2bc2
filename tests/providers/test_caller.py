"""Proposals that the calling program brings itself."""

import re

import pytest

from providers.caller import LONGEST_TEXT, caller_proposals
from providers.types import Proposal


def test_a_proposal_keeps_its_text_reason_and_answer() -> None:
    (found,) = caller_proposals([{"text": " Add 2 and 3. ", "rationale": "both are given", "answer": "5"}])

    assert found.proposal == Proposal(text="Add 2 and 3.", rationale="both are given", answer="5")
    assert found.checks == ()


@pytest.mark.parametrize(
    ("answer", "text"), [(None, None), ("", None), (" ", None), ("0", "0"), (0, "0"), (42, "42"), (1.5, "1.5")]
)
def test_an_answer_may_be_a_number_or_missing(answer: object, text: str | None) -> None:
    assert caller_proposals([{"text": "x", "answer": answer}])[0].proposal.answer == text


def test_checks_come_along_as_given() -> None:
    one, two = {"kind": "numeric", "value": 5}, {"kind": "regex", "value": "5"}

    (found,) = caller_proposals([{"text": "x", "checks": [one], "check": two, "mood": "good"}])

    assert found.checks == (one, two)


@pytest.mark.parametrize(
    ("items", "said"),
    [
        (None, "proposals must be a list of objects, not null"),
        ({}, "proposals must be a list of objects, not an object"),
        ("x", "proposals must be a list of objects, not a string"),
        ([], "proposals is empty"),
        (["x"], "proposals[0] must be an object with a text, not a string"),
        ([{"text": "x"}, {}], "proposals[1].text is missing"),
        ([{"text": " "}], "proposals[0].text is empty"),
        ([{"text": None}], "proposals[0].text is empty"),
        ([{"text": 5}], "proposals[0].text must be a string, not a number"),
        ([{"text": "x" * (LONGEST_TEXT + 1)}], "proposals[0].text has 2001 characters; at most 2000 are allowed"),
        ([{"text": "x", "rationale": []}], "proposals[0].rationale must be a string, not a list"),
        ([{"text": "x", "answer": True}], "proposals[0].answer must be a string, not a boolean"),
        ([{"text": "x", "checks": {}}], "proposals[0].checks must be a list of objects, not an object"),
        ([{"text": "x", "checks": [{}, 1]}], "proposals[0].checks[1] must be an object, not a number"),
        ([{"text": "x", "check": "regex:5"}], "proposals[0].check must be an object, not a string"),
    ],
)
def test_an_error_names_the_field_and_what_is_wrong_with_it(items: object, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said) + "$"):
        caller_proposals(items)


def test_the_longest_text_is_allowed() -> None:
    assert len(caller_proposals([{"text": "x" * LONGEST_TEXT}])[0].proposal.text) == LONGEST_TEXT
