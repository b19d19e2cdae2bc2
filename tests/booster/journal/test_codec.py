"""Text in, text out: redaction, hashes and cuts."""

import json
from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from booster.journal.codec import Codec, cut, dumps, prompt_chars
from booster.journal.errors import JournalError
from booster.redact import Redactor
from providers.types import Call
from tests.booster.journal.journal_samples import a_call

any_text = st.text(st.characters(exclude_categories=()))  # lone surrogates included


@given(st.dictionaries(any_text, st.lists(any_text | st.integers() | st.none())))
def test_json_text_can_be_stored_and_reads_back_as_it_was(value: dict[str, Any]) -> None:
    text = dumps(Codec().plain(value))

    assert json.loads(text.encode().decode()) == value
    assert "\0" not in text


@given(any_text, st.integers(40, 200))
def test_a_cut_text_keeps_its_beginning_and_its_bound(text: str, limit: int) -> None:
    short = cut(text, limit)

    assert len(short) <= limit
    assert short == text or (len(text) > limit and str(len(text)) in short and text.startswith(short[: limit - 40]))


SECRET = 'sk-Kn0wn/"key"\n1234567890'
pieces = st.sampled_from([SECRET, SECRET[:9], "sk-abcdefghijklmnop1234", "a", "\n", "Bearer ", "-", '"']) | any_text
documents = st.recursive(
    st.none() | st.integers() | st.lists(pieces, max_size=3).map("".join),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(pieces, inner, max_size=3),
)


def one_by_one(value: Any, redact: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {redact(key): one_by_one(item, redact) for key, item in value.items()}
    return [one_by_one(item, redact) for item in value] if isinstance(value, list) else value


@given(documents)
def test_looking_through_a_whole_document_at_once_misses_no_secret(value: Any) -> None:
    redact = Redactor([SECRET])

    assert Codec(redact).plain(value) == one_by_one(value, redact)


def test_every_string_is_redacted_before_it_becomes_json() -> None:
    """A pattern that eats quotes and commas cannot break the document."""
    codec = Codec(lambda text: "[redacted]" if "secret" in text else text)

    plain = codec.plain({"secret key": ("a", ['secret\n"quoted", ']), "n": 1, "yes": True})

    assert plain == {"[redacted]": ["a", ["[redacted]"]], "n": 1, "yes": True}


@pytest.mark.parametrize("odd", [float("nan"), float("-inf"), {1}, b"", {None: 1}, object()])
def test_what_is_no_json_is_refused(odd: object) -> None:
    with pytest.raises(JournalError, match=r"plain JSON|strings can be keys"):
        Codec().plain([odd])


@given(st.dictionaries(st.sampled_from(["stop", "seed", "top_p", "tools"]), st.lists(st.integers() | any_text)))
def test_the_hash_of_a_request_survives_a_round_through_json_and_another_order_of_keys(request: dict[str, Any]) -> None:
    codec = Codec()
    again = json.loads(json.dumps(dict(reversed(request.items()))))

    assert hash_of(codec, a_call(request=request)) == hash_of(codec, a_call(request=MappingProxyType(again)))


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": "the secret"},
        {"content": "6 * 7?", "role": "user"},
        {"role": "user", "content": "6 * 7?", "name": "secret"},
        {"role": "user", "content": [{"type": "text", "text": "secret"}]},
        MappingProxyType({"role": "secret", "content": "6 * 7?"}),
    ],
)
def test_the_hash_is_that_of_the_redacted_request_whatever_form_a_message_has(message: Any) -> None:
    codec = Codec(lambda text: text.replace("secret", "[redacted]"))
    call = replace(a_call(), messages=(message,))

    hidden = replace(call, messages=tuple(codec.plain(call.messages)))

    assert hash_of(codec, call) == hash_of(codec, hidden) == hash_of(Codec(), hidden)


def hash_of(codec: Codec, call: Call) -> str:
    return codec.asked(call).request_hash


def test_the_hash_knows_the_question_and_not_who_asks() -> None:
    codec = Codec()
    one = hash_of(codec, a_call())

    assert one == hash_of(codec, a_call("it9/other", role="judge", timeout=1.0, deadline=5.0))
    assert one != hash_of(codec, a_call(content="6 * 8?"))


def test_the_hash_is_the_same_before_and_after_redaction() -> None:
    codec = Codec(lambda text: text.replace("sk-secret", "[redacted]"))

    assert hash_of(codec, a_call(content="sk-secret")) == hash_of(codec, a_call(content="[redacted]"))
    assert hash_of(codec, a_call(model="sk-secret/m")) == hash_of(codec, a_call(model="[redacted]/m"))


def test_a_prompt_shows_roles_and_all_kinds_of_content() -> None:
    call = a_call()
    parts = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:"}}]
    messages = ({"role": "system", "content": "Be brief."}, {"role": "user", "content": parts}, {"role": "assistant"})
    call = type(call)(role="generate", step_key="it1", messages=messages)

    assert Codec().asked(call).prompt.startswith("[system]\nBe brief.\n\n[user]\nlook")
    assert prompt_chars(call) == len("Be brief.") + len("look\n")


def test_calls_that_ask_the_same_share_what_is_kept_of_their_request() -> None:
    codec = Codec(lambda text: text.replace("secret", "***"))
    call = a_call(content="a secret")
    sibling = replace(call, step_key="it1/answer2")

    asked = codec.asked(call)

    assert (asked.prompt, asked.prompt_chars) == ("[user]\na ***", 8)
    assert codec.asked(sibling, asked) is asked


@pytest.mark.parametrize(
    "other",
    [{"model": "m-2"}, {"max_tokens": 7}, {"request": {"seed": 1}}, {"messages": ({"role": "user", "content": "b"},)}],
)
def test_calls_that_ask_something_else_share_nothing(other: dict[str, Any]) -> None:
    codec, call = Codec(), a_call()
    first = codec.asked(call)

    assert codec.asked(replace(call, **other), first).request_hash != first.request_hash


def test_a_secret_in_the_parts_of_a_message_is_hidden_also_where_it_stands_in_two() -> None:
    codec = Codec(lambda text: text.replace("top\nsecret", "***").replace("secret", "*"))
    parts = [{"type": "text", "text": "a top"}, {"type": "text", "text": "secret"}]

    assert codec.asked(replace(a_call(), messages=({"role": "user", "content": parts},))).prompt == "[user]\na ***"
