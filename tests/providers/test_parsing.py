r"""Replies to proposals: laws that hold for every reply, and the decisions behind single cases."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers import parse_proposals
from providers.latex_escapes import decode_escapes
from providers.lenient_json import LenientReader
from providers.reply_text import normalise
from providers.thinking import without_thinking
from providers.types import Proposal

REASONS = {"empty", "thinking_truncated", "refusal", "not_a_list"}
PIECES = st.sampled_from(
    '[ ] { } ( ) " \' ` , : ; \\ \\n \\" \\\\ \n \t - * # | < > / 1. 2) (1) a) • ** ``` ```json ~~~ <think> </think> [THINK] '
    '[/THINK] <|channel|> <|message|> <|im_end|> final text rationale answer "text": "rationale": {"text":"a b"} [{ }] '
    "steps <step> </step> <li> 第一步： ① 一、 Step 1: Krok null true 42 1.5e9 NaN .. … // /* */ \\frac \\nu C:\\temp \\u00e1 \\ud83d "
    "data| |---| text,rationale - text: <answer> </answer> http://x analysis assistantfinal \x1b[0m \ufeff".split(" ")
)
PLAIN = st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs", "Zl", "Zp", "Co", "Cn"]), min_size=1, max_size=60)


def texts(reply: object, finish_reason: str | None = None, limit: int | None = None) -> list[str]:
    """Return only the texts of the proposals."""
    return [proposal.text for proposal in parse_proposals(reply, finish_reason, limit)[0]]


def worth_keeping(text: str) -> bool:
    """Tell whether a text survives cleaning by its own content, whatever surrounds it."""
    return (
        text[:1] not in "[{<`\"'"
        and any(char.isalnum() for char in text)
        and text.lower() not in ("text", "str", "string")
    )


@settings(max_examples=400, deadline=None)
@given(
    st.one_of(st.text(), st.lists(PIECES, max_size=60).map(" ".join), st.lists(PIECES, max_size=60).map("".join)),
    st.sampled_from([None, "stop", "length", "content_filter", "tool_calls"]),
    st.sampled_from([None, 0, 1, 3]),
)
def test_no_reply_raises_and_a_reason_stands_exactly_where_nothing_was_read(
    reply: str, finish_reason: str | None, limit: int | None
) -> None:
    """Any text, any finish reason: clean proposals or a typed reason, never both, never an exception."""
    proposals, reason = parse_proposals(reply, finish_reason, limit)

    assert (reason in REASONS) if not proposals else reason is None
    assert len(proposals) <= (len(proposals) if limit is None else limit)
    assert len({" ".join(proposal.text.split()) for proposal in proposals}) == len(proposals)
    for proposal in proposals:
        assert proposal.text == proposal.text.strip() != ""
        assert len(proposal.text) <= 2000
        assert proposal.answer is None or proposal.answer.strip()
        json.dumps([proposal.text, proposal.rationale, proposal.answer]).encode()
        (proposal.text + proposal.rationale).encode()


KEYS = st.sampled_from(
    "text step action title name content type role error rationale answer steps items 1 step_2 output parts x".split()
)
VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.sampled_from(["a b", "", "[1]", '{"text":"c d"}', "1. a b"]),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=20,
)


@settings(max_examples=400, deadline=None)
@given(VALUES)
def test_no_json_value_raises_whatever_stands_under_the_known_keys(value: object) -> None:
    """Lists where a string belongs, objects where a list belongs, NaN: read or dropped."""
    proposals, reason = parse_proposals(json.dumps(value))

    assert (reason is None) == bool(proposals)


@pytest.mark.parametrize("reply", [None, 42, b"[]", ["a"], {"text": "a"}, True, float("nan")])
def test_anything_but_a_string_counts_as_empty(reply: object) -> None:
    """Servers deliver null and lists as content."""
    assert parse_proposals(reply) == ([], "empty")


@settings(deadline=None)
@given(
    st.lists(
        PLAIN.map(str.strip).filter(worth_keeping),
        min_size=1,
        max_size=5,
        unique_by=lambda text: " ".join(text.split()),
    )
)
def test_valid_json_gives_back_exactly_the_texts_it_was_made_of(written: list[str]) -> None:
    """Backslashes, quotes, brackets and tags inside a string are data, also with a reason and ASCII escapes."""
    reply = json.dumps([{"text": text, "rationale": "why not"} for text in written])

    assert texts(reply) == written
    assert texts(f"Here you go:\n```json\n{reply}\n```\nDone.") == written
    assert texts(f"<think>\n1. guess it\n2. lift it\n</think>\n{reply}") == written


@settings(deadline=None)
@given(
    st.lists(
        PLAIN.map(str.strip).filter(worth_keeping),
        min_size=2,
        max_size=4,
        unique_by=lambda text: " ".join(text.split()),
    )
)
def test_a_cut_reply_keeps_a_prefix_of_whole_items(written: list[str]) -> None:
    """Wherever the server cut, each item read is one that was written, in order."""
    reply = json.dumps([{"text": text, "rationale": "why not"} for text in written], ensure_ascii=False)

    for end in range(0, len(reply), 7):
        read = texts(reply[:end], "length")
        assert read == written[: len(read)]


@given(st.lists(st.sampled_from(["Weigh it.", "Load it.", "Lift it up.", "Note it."]), max_size=8), st.integers(0, 6))
def test_the_limit_takes_the_first_distinct_items(written: list[str], limit: int) -> None:
    """Repeats do not use up the limit."""
    reply = json.dumps([{"text": text} for text in written])

    assert texts(reply, limit=limit) == list(dict.fromkeys(written))[:limit]


@pytest.mark.parametrize(
    "unit", ["[", "{", '"', "[{", '{"a":', '["', "<think>", "</think>", "(1) ", "1. a\n", "\\", "`", "| a |\n"]
)
def test_a_reply_of_one_repeated_mark_ends_and_proposes_nothing_false(unit: str) -> None:
    """Sixty thousand characters of brackets or quotes are read like any other reply."""
    read = texts(unit * (60_000 // len(unit)))

    assert read in ([], ["a"])


def test_the_work_of_the_reader_is_bounded_by_the_length_of_the_text() -> None:
    """After its allowance is used up the reader gives up instead of going on."""
    reader = LenientReader("[" * 60_000)

    reads = 0
    at = 0
    while not reader.exhausted and at < 60_000:
        assert reader.read(at) is None
        at = reader.next_start(at)
        reads += 1

    assert reads < 5_000


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (r"\frac{1}{2} \beta \binom{a}{b}", r"\frac{1}{2} \beta \binom{a}{b}"),
        (
            r"\theta \text{x} \times \rightarrow \rho \nabla \neq",
            r"\theta \text{x} \times \rightarrow \rho \nabla \neq",
        ),
        (r"E = h\nu", r"E = h\nu"),
        (r"x \in A, y \ni b", r"x \in A, y \ni b"),
        (r"line one.\nSecond line", "line one.\nSecond line"),
        (r"one.\nuntil then\tstop", "one.\nuntil then\tstop"),
        (r"vezmi pohár\ni vedro", "vezmi pohár\ni vedro"),
        (r"done.\nu is next", "done.\nu is next"),
        (r"a\r\nb", "a\nb"),
        (r"Option A:\nFill it", "Option A:\nFill it"),
        (r"C:\Users\new\table.csv", r"C:\Users\new\table.csv"),
        (r"C:\\Users\\new", r"C:\Users\new"),
        (r"%TEMP%\new\run", r"%TEMP%\new\run"),
        (r"\\server\new\data", r"\\server\new\data"),
        (r"say \"hi\" \/ it\'s", 'say "hi" / it\'s'),
        (r"\u00e1 \ud83d\ude00 \underline{x}", "á 😀 \\underline{x}"),
        (r"lone \ud83d here", "lone \ufffd here"),
        (r"C:\u00e1", "C:á"),
    ],
)
def test_an_escape_stands_for_what_the_model_meant(written: str, meant: str) -> None:
    """LaTeX and paths keep their backslashes; line breaks, tabs and code points are decoded."""
    assert decode_escapes(written) == meant


def test_an_item_is_whole_only_if_its_object_was_closed_before_the_cut() -> None:
    """The same text: without a report of a cut the forgotten brackets are forgiven."""
    reply = '[{"text":"Weigh it.","rationale":"tare"},{"text":"Load it.","rationale":"full"'

    assert texts(reply, "length") == ["Weigh it."]
    assert texts(reply, "stop") == ["Weigh it.", "Load it."]


def test_the_last_of_two_alternatives_counts_and_neighbours_are_merged() -> None:
    """Prose between two arrays makes them alternatives; white space does not."""
    first, second = '[{"text":"Weigh it."}]', '[{"text":"Load it."}]'

    assert texts(f"{first}\nOn second thought:\n{second}") == ["Load it."]
    assert texts(f"{first}\n\n{second}") == ["Weigh it.", "Load it."]


def test_the_answer_of_an_item_outranks_the_answer_beside_the_list() -> None:
    """The one beside the list goes to the last item, unless that item has its own."""
    own, _ = parse_proposals('{"steps":[{"text":"Weigh it.","answer":"3"}],"answer":"4"}')
    beside, _ = parse_proposals('{"steps":[{"text":"Weigh it."}],"answer":4.0}')

    assert own == [Proposal(text="Weigh it.", answer="3")]
    assert beside == [Proposal(text="Weigh it.", answer="4.0")]


def test_title_and_description_become_text_and_rationale() -> None:
    """Nothing is lost: beside a rationale the description is the fuller text."""
    bare, _ = parse_proposals('[{"title":"Weigh it.","description":"The tare is needed."}]')
    full, _ = parse_proposals('[{"title":"Tare","description":"Weigh it.","reason":"The tare is needed."}]')

    assert bare == full == [Proposal(text="Weigh it.", rationale="The tare is needed.")]


@pytest.mark.parametrize(
    ("reply", "finish_reason", "reason"),
    [
        ("", None, "empty"),
        (" \n", "stop", "empty"),
        ("<think>a plan</think>", "stop", "empty"),
        ("", "length", "thinking_truncated"),
        ("<think>1. a plan\n2. more", "stop", "thinking_truncated"),
        ("", "content_filter", "refusal"),
        ('{"refusal":"That I will not do."}', "stop", "refusal"),
        ("That I will not do.", "stop", "not_a_list"),
        ("null", "stop", "not_a_list"),
    ],
)
def test_an_empty_list_says_why(reply: str, finish_reason: str | None, reason: str) -> None:
    """The caller re-asks, raises the cap or gives up by this word."""
    assert parse_proposals(reply, finish_reason) == ([], reason)


def test_thinking_is_removed_and_quoted_tags_stay() -> None:
    """A tag in code marks or in the middle of a list item is text."""
    visible = without_thinking("<think>plan</think>\n1. Remove `</think>` from <think> and </think> pairs.", cut=False)

    assert visible.text.strip() == "1. Remove `</think>` from <think> and </think> pairs."
    assert not visible.truncated


def test_a_block_opened_twice_is_closed_once_unless_the_reply_was_cut() -> None:
    """Some templates open the block for the model, and the model opens it again."""
    reply = "<think>\n<think>\nplan\n</think>\nrest"

    assert without_thinking(reply, cut=False).text.strip() == "rest"
    assert without_thinking(reply, cut=True).truncated


@given(st.text())
def test_normalising_twice_changes_nothing_more(text: str) -> None:
    """What is removed stays removed, unless the removal itself joins a new sequence."""
    once = normalise(text)

    assert "\r" not in once
    assert "\ufeff" not in once
    assert "\x1b" not in once
    assert normalise(once) == once
