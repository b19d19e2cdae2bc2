"""The reply corpus: replies of every form that models and servers are known to print, with what they propose."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from providers.parsing import parse_proposals

CORPUS = Path(__file__).with_name("reply_corpus.jsonl")
DATA = Path(os.environ.get("BOOSTER_BENCH_DATA", Path(__file__).parents[2].parent / "shared" / "data"))
DEVELOPMENT_SET = DATA / "replies" / "replies.dev.jsonl"


def cases(path: Path) -> list[dict[str, Any]]:
    """Return the cases of a JSON lines file; none where it is absent."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line] if path.exists() else []


def text_of(reply: Any) -> Any:
    """Return the reply of a case: a list stands for its parts joined, `{"repeat": [text, n]}` for n times a text."""
    if not isinstance(reply, list):
        return reply
    return "".join(part if isinstance(part, str) else part["repeat"][0] * part["repeat"][1] for part in reply)


@pytest.mark.parametrize("case", cases(CORPUS), ids=lambda case: str(case["id"]))
def test_a_reply_gives_exactly_the_expected_texts(case: dict[str, Any]) -> None:
    """Texts in order and unharmed; answers and the reason for an empty list where the case states them."""
    proposals, reason = parse_proposals(text_of(case["reply"]), case.get("finish_reason"), case.get("limit"))

    assert [proposal.text for proposal in proposals] == case["expected_texts"]
    assert (reason is None) == bool(proposals)
    assert reason == case.get("expected_reason", reason)
    if "expected_answers" in case:
        assert [proposal.answer for proposal in proposals] == case["expected_answers"]


def test_the_corpus_is_large_and_its_names_are_unique() -> None:
    """At least 110 cases, 25 of them without a step."""
    corpus = cases(CORPUS)

    assert len(corpus) >= 110
    assert len({case["id"] for case in corpus}) == len(corpus)
    assert sum(not case["expected_texts"] for case in corpus) >= 25
    assert all(case["notes"] for case in corpus)


@pytest.mark.skipif(not DEVELOPMENT_SET.exists(), reason=f"no development set at {DEVELOPMENT_SET}")
def test_every_case_of_the_development_set_is_right() -> None:
    """The count of every case, and the first text where it is given."""
    wrong = []
    for case in cases(DEVELOPMENT_SET):
        proposals, _ = parse_proposals(case["reply"], case.get("finish_reason"), case.get("n"))
        first = proposals[0].text if proposals else None
        if len(proposals) != case["expected"] or case.get("first_text", first) != first:
            wrong.append(case["id"])

    assert wrong == []
