"""Every shape of a status 200: what is read, and what is named as a failure."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.errors import BadReplyError
from providers.faults import said_by_server
from providers.reading import QUOTED, decoded, estimated_usage, read_reply, read_usage, text_or_json
from providers.types import Call, Reply, Usage

CALL = Call(role="generate", step_key="k", messages=({"role": "user", "content": "12345678"},))


def body(content: object = None, *, finish_reason: object = "stop", **message: object) -> dict[str, object]:
    return {
        "model": "m",
        "choices": [{"finish_reason": finish_reason, "message": {"content": content, **message}}],
    }


def read(data: object) -> Reply:
    return read_reply(data, CALL, model="asked", provider="local")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (body("42"), "42"),
        (body(" 42\n"), " 42\n"),
        (body([{"type": "text", "text": "4"}, {"type": "text", "text": "2"}]), "42"),
        (body([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "42"}]), "42"),
        (body([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"text": "42"}]), "42"),
        (body(["4", "2"]), "42"),
        (body("42", tool_calls=None, refusal=None), "42"),
        ({**body("42"), "error": {"message": "a warning"}}, "42"),
    ],
)
def test_the_text_is_found_in_every_shape_of_content(data: object, text: str) -> None:
    reply = read(data)

    assert (reply.text, reply.problem, reply.model) == (text, None, "m")


@pytest.mark.parametrize(
    "data",
    [
        body("42", reasoning="because"),
        body("42", reasoning_content="because"),
        body("42", reasoning_details=[{"type": "reasoning.text", "text": "be"}, {"summary": "cause"}]),
        body([{"type": "thinking", "thinking": "because"}, {"type": "text", "text": "42"}]),
        body("42", reasoning="because", reasoning_details=[{"text": "because"}]),
    ],
)
def test_reasoning_is_kept_apart_from_the_answer(data: object) -> None:
    reply = read(data)

    assert (reply.text, reply.reasoning) == ("42", "because")


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (body(None), "empty"),
        (body(""), "empty"),
        (body(" \n"), "empty"),
        (body([]), "empty"),
        (body({"text": "no"}), "empty"),
        (body(None, reasoning="only thought"), "empty"),
        (body(None, refusal="I can't"), "refusal"),
        (body([{"type": "refusal", "refusal": "I can't"}]), "refusal"),
        (body("", finish_reason="content_filter"), "refusal"),
        (body(None, finish_reason="length"), "thinking_truncated"),
        (body("", finish_reason="length", reasoning="so then"), "thinking_truncated"),
        (body("<think>so then we", finish_reason="length"), "thinking_truncated"),
    ],
)
def test_a_reply_without_a_text_says_why_and_never_shows_reasoning_as_text(data: object, problem: str) -> None:
    reply = read(data)

    assert (reply.text, reply.problem) == ("", problem)


def test_what_a_refusal_says_is_kept_for_diagnostics() -> None:
    assert read(body(None, refusal="I can't")).reasoning == "I can't"


@pytest.mark.parametrize("text", ["<think>a</think>42", "so <think>", "42"])
def test_a_text_cut_off_after_its_thinking_is_a_text(text: str) -> None:
    assert read(body(text, finish_reason="length")).text == text


def test_tool_calls_are_content() -> None:
    reply = read(body(None, finish_reason="tool_calls", tool_calls=[{"id": "1", "type": "function"}, "junk"]))

    assert (reply.problem, reply.tool_calls) == (None, ({"id": "1", "type": "function"},))


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ("<html>sign in</html>", "html"),
        ("\n <!doctype html>", "html"),
        ("busy", "not_json"),
        ("", "not_json"),
        ("[" * 100_000, "not_json"),
        (None, "not_an_object"),
        ([], "not_an_object"),
        (42, "not_an_object"),
        ({"error": "down"}, "error_in_200"),
        ({"error": {"message": "down"}, "choices": None}, "error_in_200"),
        ([{"error": {"message": "down"}}], "error_in_200"),
        ({"choices": [{"error": {"message": "down"}, "message": {"content": "4"}}]}, "error_in_200"),
        ({}, "no_choices"),
        ({"choices": []}, "no_choices"),
        ({"choices": "x"}, "no_choices"),
        ({"choices": [{"text": "old api"}]}, "no_choices"),
    ],
)
def test_what_is_no_reply_is_named(data: object, kind: str) -> None:
    with pytest.raises(BadReplyError) as caught:
        read(data)

    assert caught.value.kind == kind


def test_a_bad_reply_is_quoted_only_in_part() -> None:
    with pytest.raises(BadReplyError) as caught:
        read("x" * 100_000)

    assert len(str(caught.value)) < 6_000


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 3, "completion_tokens": 2}, Usage(prompt_tokens=3, completion_tokens=2)),
        (
            {
                "prompt_tokens": 3,
                "completion_tokens": 9,
                "completion_tokens_details": {"reasoning_tokens": 7},
                "prompt_tokens_details": {"cached_tokens": 2},
                "cost": 0.0125,
            },
            Usage(prompt_tokens=3, completion_tokens=9, reasoning_tokens=7, cached_tokens=2, cost_usd=0.0125),
        ),
        ({"prompt_tokens": 3, "completion_tokens": None, "completion_tokens_details": None}, Usage(prompt_tokens=3)),
        ({"prompt_tokens": -1, "completion_tokens": True}, None),
        ({"prompt_tokens": 1, "cost": float("nan")}, Usage(prompt_tokens=1)),
        ({}, None),
        (None, None),
        ([], None),
    ],
)
def test_usage_is_read_field_by_field(usage: object, expected: Usage | None) -> None:
    assert read_usage(usage) == expected


def test_missing_usage_is_estimated_and_says_so() -> None:
    """Eight characters asked, five written: a token is four characters, rounded up; the price stays unknown."""
    reply = read(body("abc", reasoning="de"))

    assert reply.usage == Usage(prompt_tokens=2, completion_tokens=2, estimated=True)
    assert reply.usage.cost_usd is None


def test_the_estimate_counts_content_parts() -> None:
    parts = [{"type": "text", "text": "1234"}, {"type": "image_url", "image_url": {"url": "data:..."}}]
    asked = Call(role="generate", step_key="k", messages=({"role": "user", "content": parts},))

    assert estimated_usage(asked, "").prompt_tokens == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "message", "content", "type", "text", "usage", "error", "refusal", "reasoning_details"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_any_json_is_a_reply_or_a_bad_reply(data: object) -> None:
    """No shape of JSON raises anything else, and a reply without content always says why."""
    try:
        reply = read(data)
    except BadReplyError:
        return

    assert bool(reply.text.strip()) or reply.problem is not None or bool(reply.tool_calls)


@pytest.mark.parametrize(
    ("content", "content_type", "charset", "data"),
    [
        (b'{"a": "\xc3\xa4"}', "application/json", None, {"a": "ä"}),
        (b'\xef\xbb\xbf{"a": 1}', "application/json", "utf-8", {"a": 1}),
        ('{"a": "ä"}'.encode("utf-16"), "application/json", None, {"a": "ä"}),
        (b'{"a": "\xc3\xa4"}', "application/problem+json", "latin-1", {"a": "ä"}),
        (b"\xe4", "text/plain", "latin-1", "ä"),
        (b"\xe4", "text/plain", None, "\ufffd"),
        (b"\xc3\xa4", "text/html", "no-such-charset", "ä"),
        (b"\xc3\xa4", "text/html", "hex", "ä"),
        (b"\xc3\xa4", "text/html", "undefined", "ä"),
        (b"", "application/octet-stream", None, ""),
    ],
)
def test_a_body_is_json_where_the_server_says_so_and_text_elsewhere(
    content: bytes, content_type: str, charset: str | None, data: object
) -> None:
    assert decoded(content, content_type, charset) == data


@pytest.mark.parametrize("content", [b"", b"{", b'"\xff"', b"[" * 100_000, b"9" * 5000])
def test_what_is_called_json_and_is_none_is_a_broken_reply(content: bytes) -> None:
    with pytest.raises(BadReplyError) as caught:
        decoded(content, "application/json", None)

    assert caught.value.kind == "broken_json"


@given(st.binary(), st.sampled_from([None, "utf-8", "utf-7", "utf-16", "idna", "punycode", "rot13"]))
def test_no_refusal_is_too_odd_to_be_shown(content: bytes, charset: str | None) -> None:
    message, codes = said_by_server(text_or_json(content, charset))

    assert len(message) <= QUOTED
    assert {code.lower() for code in codes} == codes
