"""The body of a request, and what a refusal teaches about it."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.endpoints import GENERIC, PROFILES, Profile
from providers.errors import RejectedError
from providers.parameters import CAPS, encoded, refused_parameter, request_body
from providers.types import Call


def call(**request: object) -> Call:
    return Call(
        role="generate", step_key="k", messages=({"role": "user", "content": "hi"},), max_tokens=100, request=request
    )


def profile(name: str) -> Profile:
    return next(profile for profile in PROFILES if profile.name == name)


@pytest.mark.parametrize(
    ("name", "cap"),
    [
        ("openai", "max_completion_tokens"),
        ("cerebras", "max_completion_tokens"),
        ("anthropic", "max_tokens"),
        ("gemini", "max_tokens"),
        ("openrouter", "max_tokens"),
        ("groq", "max_tokens"),
    ],
)
def test_the_cap_has_the_name_that_the_vendor_takes(name: str, cap: str) -> None:
    body = request_body(call(), "m", profile(name))

    assert body == {"model": "m", "messages": [{"role": "user", "content": "hi"}], cap: 100}


def test_the_callers_parameters_travel_as_they_are() -> None:
    body = request_body(call(temperature=1.5, seed=7, tools=[{"type": "function"}], stop=None), "m", GENERIC)

    assert (body["temperature"], body["seed"], body["tools"]) == (1.5, 7, [{"type": "function"}])
    assert "stop" not in body


def test_the_caller_cannot_replace_what_the_call_decides() -> None:
    """One attempt is one text under our cap, whatever the client's request said."""
    theirs = {"model": "x", "messages": [], "max_tokens": 9, "max_completion_tokens": 9, "n": 4, "stream": True}

    assert request_body(call(**theirs), "m", GENERIC) == request_body(call(), "m", GENERIC)


def test_a_temperature_above_the_vendors_bound_is_lowered_to_it() -> None:
    assert request_body(call(temperature=1.5), "m", profile("anthropic"))["temperature"] == 1.0


def test_what_a_vendor_is_known_to_refuse_is_not_sent() -> None:
    assert "logit_bias" not in request_body(call(logit_bias={}, seed=1), "m", profile("groq"))


@given(st.sets(st.sampled_from(["seed", "temperature", "max_tokens", "response_format"])))
def test_what_was_refused_is_never_sent_again(refused: set[str]) -> None:
    body = request_body(call(seed=1, temperature=0.1, response_format={"type": "json_object"}), "m", GENERIC, refused)

    assert refused.isdisjoint(body)
    assert ("max_tokens" in body) != ("max_completion_tokens" in body)


@pytest.mark.parametrize(
    ("param", "message", "code", "named"),
    [
        ("temperature", "Unsupported value", "unsupported_value", "temperature"),
        ("max_tokens", "Use 'max_completion_tokens' instead.", "unsupported_parameter", "max_tokens"),
        (None, "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens'.", "",
         "max_tokens"),
        (None, "[{'type': 'extra_forbidden', 'loc': ('body', 'seed'), 'msg': 'Extra inputs are not permitted'}]", "",
         "seed"),
        (None, "property 'response_format' is unsupported", "", "response_format"),
        (None, "temperature must be 1 for this model", "", "temperature"),
        (None, "`stop` is not available", "", "stop"),
        ("response_format.type", "json_schema is not available", "", "response_format"),
        ("body.seed", "no", "", "seed"),
        (None, "please stop sending such things", "", None),
        (None, "the user message is empty", "", None),
        ("messages[0].content", "temperature is mentioned here too", "", None),
        ("tools", "unsupported parameter", "", None),
        ("model", "unknown model", "", None),
        ("top_p", "it was never sent", "", None),
        ("max_tokens", "max_tokens is too large: 100. This model supports at most 64", "", None),
        (None, "This model's maximum context length is 4096 tokens", "", None),
        (None, "", "", None),
    ],
)  # fmt: skip
def test_the_refused_parameter_is_found_only_where_doing_without_it_helps(
    param: str | None, message: str, code: str, named: str | None
) -> None:
    body = request_body(call(temperature=0.5, seed=1, stop=["x"], response_format={}, user="u", tools=[]), "m", GENERIC)

    assert refused_parameter(body, param=param, message=message, code=code) == named


@pytest.mark.parametrize("name", CAPS)
def test_without_a_cap_of_ours_the_client_s_goes_out_under_its_own_name(name: str) -> None:
    uncapped = replace(call(**{name: 16}), max_tokens=None)
    (other,) = set(CAPS) - {name}

    assert request_body(uncapped, "m", profile("openai")).keys() == {"model", "messages", name}
    assert request_body(uncapped, "m", GENERIC)[name] == 16
    assert request_body(uncapped, "m", GENERIC, {name})[other] == 16  # the server knows it by its other name


def test_without_any_cap_none_is_sent() -> None:
    assert request_body(replace(call(), max_tokens=None), "m", GENERIC).keys() == {"model", "messages"}


def test_a_body_is_short_json_in_utf_8() -> None:
    assert (
        encoded({"messages": [{"content": "á, 中"}], "seed": 1})
        == '{"messages":[{"content":"á, 中"}],"seed":1}'.encode()
    )


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner)))
def test_what_json_can_say_arrives_as_it_was(value: object) -> None:
    assert json.loads(encoded({"value": value})) == {"value": value}


@pytest.mark.parametrize("value", [float("nan"), float("-inf"), b"", {1}, object()])
def test_what_json_cannot_say_is_rejected(value: object) -> None:
    with pytest.raises(RejectedError) as caught:
        encoded({"value": value})

    assert caught.value.kind == "not_json"


def test_what_holds_itself_is_rejected() -> None:
    ring: list[object] = []
    ring.append(ring)

    with pytest.raises(RejectedError) as caught:
        encoded({"value": ring})

    assert caught.value.kind == "not_json"


@pytest.mark.parametrize("text", ["\ud83d", "a\udfff"])
def test_half_a_character_is_rejected(text: str) -> None:
    with pytest.raises(RejectedError) as caught:
        encoded({"value": text})

    assert caught.value.kind == "not_unicode"
