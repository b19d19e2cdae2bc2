"""Which servers are configured, at which address, under which model id."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.endpoints import (
    PROFILES,
    Endpoint,
    addresses,
    configured_endpoints,
    endpoint,
    normal_base_url,
    profile_for,
    spellings,
)

KEYS = {"CEREBRAS_API_KEY": "c-key", "OPENAI_API_KEY": "o-key"}


@pytest.mark.parametrize(
    ("given_url", "normal"),
    [
        ("https://api.openai.com/v1", "https://api.openai.com/v1"),
        ("https://api.openai.com/v1/", "https://api.openai.com/v1"),
        ("https://api.openai.com", "https://api.openai.com/v1"),
        ("https://api.openai.com/v1/chat/completions", "https://api.openai.com/v1"),
        ("https://api.openai.com/v1/chat/completions/", "https://api.openai.com/v1"),
        ("http://localhost:1234", "http://localhost:1234/v1"),
        ("http://localhost:1234/", "http://localhost:1234/v1"),
        ("localhost:1234", "http://localhost:1234/v1"),
        ("127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"),
        ("api.example.com", "https://api.example.com/v1"),
        ("https://h/custom/path", "https://h/custom/path"),
        ("https://h/chat/completions", "https://h/v1"),
        ("  https://h/v1\n", "https://h/v1"),
        ("https://openrouter.ai", "https://openrouter.ai/api/v1"),
        ("https://generativelanguage.googleapis.com", "https://generativelanguage.googleapis.com/v1beta/openai"),
        ("https://h/v1?api-version=1#x", "https://h/v1"),
        ("http://[::1]:8080", "http://[::1]:8080/v1"),
    ],
)
def test_every_usual_way_to_write_a_base_url_means_the_same(given_url: str, normal: str) -> None:
    assert normal_base_url(given_url) == normal


@given(
    st.sampled_from(["http://", "https://", ""]),
    st.sampled_from(["localhost", "127.0.0.1:8000", "api.example.com", "api.groq.com", "user:pass@h:1"]),
    st.sampled_from(["", "/", "/v1", "/v1/", "/a/b", "/v1/chat/completions", "/chat/completions/chat/completions/"]),
)
def test_normalising_twice_changes_nothing(scheme: str, host: str, path: str) -> None:
    once = normal_base_url(scheme + host + path)

    assert normal_base_url(once) == once
    assert not once.endswith(("/", "/chat/completions"))


@pytest.mark.parametrize("text", ["", "ftp://h/v1", "http://", "http://[half", "file:///etc/passwd", "http://h:99999"])
def test_what_is_no_url_is_refused_without_repeating_it(text: str) -> None:
    with pytest.raises(ValueError, match="not an http") as caught:
        normal_base_url(text)

    assert not text or text not in str(caught.value)


def test_a_bad_base_url_names_its_setting() -> None:
    with pytest.raises(ValueError, match="OPENAI_BASE_URL"):
        endpoint("openai", key="k", base_url="ftp://h")


def test_the_shown_address_holds_no_password() -> None:
    shown = endpoint("local", base_url="http://user:secret@h:8000/v1")

    assert shown.url == "http://h:8000/v1/chat/completions"


def test_keys_configure_cerebras_before_openai_with_their_defaults() -> None:
    cerebras, openai = configured_endpoints(KEYS)

    assert cerebras == Endpoint(
        name="cerebras", base_url="https://api.cerebras.ai/v1", model="gpt-oss-120b", key="c-key"
    )
    assert openai == Endpoint(
        name="direct-openai", base_url="https://api.openai.com/v1", model="gpt-4o-mini", key="o-key"
    )


def test_every_default_can_be_replaced() -> None:
    (only,) = configured_endpoints(
        {"OPENAI_API_KEY": " o-key\n", "OPENAI_MODEL": "other", "OPENAI_BASE_URL": "https://api.groq.com"}
    )

    assert (only.name, only.model, only.base_url, only.key) == (
        "direct-openai",
        "other",
        "https://api.groq.com/openai/v1",
        "o-key",
    )
    assert only.profile.name == "groq"


def test_who_pays_is_known_for_openais_own_host_alone() -> None:
    account = {"OPENAI_ORG_ID": " org ", "OPENAI_PROJECT_ID": "pro"}

    cerebras, openai = configured_endpoints(KEYS | account)
    (elsewhere,) = configured_endpoints({"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "https://api.groq.com", **account})

    assert (openai.organization, openai.project) == ("org", "pro")
    assert [(one.organization, one.project) for one in (cerebras, elsewhere)] == [(None, None)] * 2


def test_a_local_server_is_configured_by_its_url_and_comes_last() -> None:
    names = [found.name for found in configured_endpoints({**KEYS, "LOCAL_BASE_URL": "http://localhost:11434"})]

    assert names == ["cerebras", "direct-openai", "local"]


@pytest.mark.parametrize(
    "values",
    [{}, {"OPENAI_API_KEY": "  "}, {"OPENAI_API_KEY": None}, {"OPENAI_BASE_URL": "http://h"}, {"LOCAL_API_KEY": "k"}],
)
def test_nothing_is_configured_without_a_key_or_a_local_url(values: dict[str, str | None]) -> None:
    assert configured_endpoints(values) == ()


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_a_profile_is_found_by_its_host_alone(profile: object) -> None:
    assert profile_for(f"https://{profile.host}/any/path") is profile  # type: ignore[attr-defined]  # a Profile


def test_an_unknown_host_gets_the_plain_protocol() -> None:
    assert profile_for("https://api.openai.com.evil.example").name == "openai-compatible"


@pytest.mark.parametrize(
    ("name", "base_url", "asked", "sent"),
    [
        ("cerebras", "", None, "gpt-oss-120b"),
        ("cerebras", "", "", "gpt-oss-120b"),
        ("cerebras", "", "cerebras/gemma", "gemma"),
        ("cerebras", "", "cerebras/", "cerebras/"),
        ("openai", "", "openai/gpt-4o", "gpt-4o"),
        ("openai", "", "simulated/small", "simulated/small"),
        ("openai", "https://openrouter.ai", "openai/gpt-4o", "openai/gpt-4o"),
        ("openai", "https://openrouter.ai", "direct-openai/openai/gpt-4o", "openai/gpt-4o"),
        ("local", "http://localhost:8000", "openai/gpt-oss-20b", "openai/gpt-oss-20b"),
        ("local", "http://localhost:8000", "local/openai/gpt-oss-20b", "openai/gpt-oss-20b"),
    ],
)
def test_only_a_prefix_that_names_the_endpoint_is_taken_off(
    name: str, base_url: str, asked: str | None, sent: str
) -> None:
    assert endpoint(name, key="k", base_url=base_url).own_model_id(asked) == sent


def test_a_simulated_id_stays_whole_even_at_an_endpoint_of_that_name() -> None:
    simulated = Endpoint(name="simulated", base_url="http://h/v1", model="simulated/large")

    assert simulated.own_model_id("simulated/small") == "simulated/small"


def test_a_model_has_one_spelling_for_each_name_of_its_provider() -> None:
    assert spellings("openai/gpt-4o", "direct-openai") == (
        "openai/gpt-4o",
        "gpt-4o",
        "direct-openai/gpt-4o",
        "openai/gpt-4o",
    )
    assert spellings("meta/llama", "local") == ("meta/llama", "meta/llama", "local/meta/llama")
    assert spellings("claude", "mcp") == ("claude", "claude", "mcp/claude")


def test_openai_is_a_second_name_of_direct_openai() -> None:
    assert addresses("openai", "direct-openai")
    assert addresses("direct-openai", "direct-openai")
    assert not addresses("openai", "local")


def test_an_unknown_endpoint_name_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"cerebras.*direct-openai.*local"):
        endpoint("claude")


def test_a_local_endpoint_without_an_address_names_its_setting() -> None:
    with pytest.raises(ValueError, match="LOCAL_BASE_URL is not set"):
        endpoint("local")
