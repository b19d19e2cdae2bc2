"""Attributes as plain values: what they add up, and the form of content."""

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from booster.telemetry import names
from booster.telemetry.spans import asking, input_messages, output_messages, spending
from providers.types import Call, Usage

ROOT = Path(__file__).resolve().parents[3]

USAGES = st.lists(
    st.builds(
        Usage,
        prompt_tokens=st.integers(0, 10**6),
        completion_tokens=st.integers(0, 10**6),
        cost_usd=st.none() | st.floats(0, 10),
        estimated=st.booleans(),
    ),
    max_size=5,
)


@given(USAGES)
def test_a_cost_is_said_only_where_every_part_of_it_is_known(usages: list[Usage]) -> None:
    said = spending(usages, attempts=len(usages))

    known = [usage.cost_usd for usage in usages if usage.cost_usd is not None]
    assert said.get(names.COST) == (sum(known) if usages and len(known) == len(usages) else None)


@given(USAGES)
def test_tokens_of_all_attempts_are_summed_and_guesses_marked(usages: list[Usage]) -> None:
    said = spending(usages, attempts=7)

    assert said[names.ATTEMPTS] == 7
    assert said.get(names.INPUT_TOKENS, 0) == sum(usage.prompt_tokens for usage in usages)
    assert said.get(names.OUTPUT_TOKENS, 0) == sum(usage.completion_tokens for usage in usages)
    assert bool(said.get(names.ESTIMATED)) == any(usage.estimated for usage in usages)


def test_the_page_on_observability_lists_every_attribute() -> None:
    page = (ROOT / "docs" / "observability.md").read_text(encoding="utf-8")
    ours = {value for name, value in vars(names).items() if name.isupper() and not value.endswith(".")}

    documented = set(re.findall(r"`((?:gen_ai|booster|error)\.[\w.]+)`", page))
    assert documented == ours


def test_only_known_parameters_of_a_request_are_attributes() -> None:
    """Others may hold anything, prompts included."""
    call = Call(role="judge", step_key="it1/judge", messages=(), request={"top_p": 0.5, "user": "me", "tools": [{}]})

    assert {name for name in asking(call) if name.startswith("gen_ai.request.")} == {
        "gen_ai.request.model",
        "gen_ai.request.max_tokens",
        "gen_ai.request.top_p",
    }


def test_messages_are_in_the_form_of_the_conventions() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:"}}
    parts = [{"type": "text", "text": "what is this?"}, image]

    assert input_messages([{"role": "system", "content": "be brief"}, {"role": "user", "content": parts}]) == [
        {"role": "system", "parts": [{"type": "text", "content": "be brief"}]},
        {"role": "user", "parts": [{"type": "text", "content": "what is this?"}, image]},
    ]
    assert output_messages("a cat", "length") == [
        {"role": "assistant", "parts": [{"type": "text", "content": "a cat"}], "finish_reason": "length"}
    ]
