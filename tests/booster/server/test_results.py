"""Documents stay within what clients take, whatever is in them."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from booster.server.results import MAX_DOCUMENT_CHARS, MAX_TEXT_CHARS, answered, bounded, listed

_DOCUMENTS = st.dictionaries(
    st.sampled_from(["history", "state", "steps", "answer", "checks", "result"]),
    st.recursive(
        st.none() | st.integers() | st.text(max_size=300),
        lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
        max_leaves=30,
    ),
)


def _size(document: dict[str, Any]) -> int:
    return len(json.dumps(document, ensure_ascii=False))


@given(_DOCUMENTS)
def test_what_fits_is_left_as_it_is(document: dict[str, Any]) -> None:
    assert bounded(document, limit=1_000_000) == document


@given(
    st.lists(st.dictionaries(st.sampled_from("abc"), st.text(max_size=500), min_size=1), max_size=60),
    st.integers(3000, 9000),
)
def test_a_long_document_is_cut_to_its_limit(items: list[dict[str, str]], limit: int) -> None:
    document = {"id": "ses_1", "state": {"steps": items}, "history": items}

    assert _size(bounded(document, limit)) <= limit


def test_the_oldest_items_go_first_and_are_counted() -> None:
    document = {"state": {"steps": [{"index": index, "more": list(range(40))} for index in range(1000)]}}

    short = bounded(document)

    assert _size(short) <= MAX_DOCUMENT_CHARS
    assert short["state"]["steps"][-1]["index"] == 999
    assert short["leftOut"]["state.steps"] == 1000 - len(short["state"]["steps"])


def test_the_input_is_not_changed() -> None:
    steps = [{"text": "x" * 2000} for _ in range(100)]
    document = {"state": {"steps": steps}}

    bounded(document)

    assert len(steps) == 100
    assert steps[0]["text"] == "x" * 2000


def test_the_text_beside_a_document_is_short_and_safe_on_a_terminal() -> None:
    result = answered({}, "\x1b[31mred\x07" + "x" * 100_000)

    (block,) = result.content
    assert block.type == "text"
    assert block.text.startswith("red")
    assert block.text.endswith("… [cut; the structured result has more]")
    assert len(block.text) < MAX_TEXT_CHARS + 100


def test_a_list_without_sessions_says_so() -> None:
    assert listed([]) == ({"sessions": []}, "There are no sessions.")


def test_long_texts_are_cut_and_say_so() -> None:
    short = bounded({"answer": "x" * 100_000, "steps": [("a", "y" * 20)]})

    assert short["answer"].startswith("xxxx")
    assert short["answer"].endswith("[96000 more characters; ask for the session's resource or export]")
    assert short["steps"] == [["a", "y" * 20]]
