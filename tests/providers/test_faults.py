"""Which error a refusal or a lost connection is, and when to try again, by the server's own words."""

from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from aiohttp import ClientOSError, ClientPayloadError, InvalidURL, ServerDisconnectedError, ServerTimeoutError
from aiohttp.http_exceptions import ContentEncodingError

from providers.endpoints import endpoint
from providers.errors import ConfigurationError, TransientError
from providers.faults import NEVER_RETRY, retry_after, status_error, transport_error

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "2", "x-ratelimit-reset-tokens-minute": "9"}, 2.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after": format_datetime(datetime.fromtimestamp(NOW + 7, UTC), usegmt=True)}, 7.0),
        ({"retry-after": format_datetime(datetime.fromtimestamp(NOW - 7, UTC), usegmt=True)}, 0.0),
        ({"x-ratelimit-reset-tokens-minute": "0.25"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "3"}, 3.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "later"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_the_first_header_that_can_be_read_is_believed(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


@pytest.mark.parametrize("code", sorted(NEVER_RETRY))
@pytest.mark.parametrize("field", ["code", "type"])
def test_an_account_without_money_is_never_tried_again(code: str, field: str) -> None:
    body = {"error": {"message": "You exceeded your quota", field: code}}

    error = status_error(429, body, {}, endpoint=endpoint("openai", key="k"), model="m", now=NOW)

    assert (type(error), error.kind) == (ConfigurationError, code)
    assert "OPENAI_API_KEY" in str(error)


def test_a_missing_key_is_said_to_be_missing() -> None:
    error = status_error(401, "", {}, endpoint=endpoint("local", base_url="http://h"), model="m", now=NOW)

    assert "LOCAL_API_KEY is not set" in str(error)


@pytest.mark.parametrize(
    "body", [{"message": "Wrong thing"}, {"detail": "Wrong thing"}, {"error": "Wrong thing"}, "Wrong thing"]
)
def test_the_servers_words_are_found_in_every_form_of_error(body: object) -> None:
    error = status_error(400, body, {}, endpoint=endpoint("cerebras", key="k"), model="m", now=NOW)

    assert str(error).endswith("It said: Wrong thing")


def test_a_wrong_method_points_to_the_base_url() -> None:
    error = status_error(405, "", {}, endpoint=endpoint("cerebras", key="k"), model="m", now=NOW)

    assert (type(error), "CEREBRAS_BASE_URL" in str(error)) == (ConfigurationError, True)


def test_the_servers_words_are_repeated_only_in_part() -> None:
    error = status_error(500, "x" * 100_000, {}, endpoint=endpoint("cerebras", key="k"), model="m", now=NOW)

    assert len(str(error)) < 6_000


def test_a_redirect_names_where_it_leads() -> None:
    there = endpoint("cerebras", key="k")

    error = status_error(308, "<html>", {"location": "https://h/v2"}, endpoint=there, model="m", now=NOW)

    assert (type(error), error.kind) == (ConfigurationError, "http_308")
    assert "check CEREBRAS_BASE_URL" in str(error)
    assert "https://h/v2" in str(error)


@pytest.mark.parametrize(
    ("raised", "kind", "said"),
    [
        (ServerTimeoutError("slow"), "timeout", "in time"),
        (TimeoutError(), "timeout", "in time"),
        (ServerDisconnectedError(), "connection", "Server disconnected"),
        (ClientPayloadError("half a reply"), "connection", "half a reply"),
        (ClientOSError(104, "Connection reset by peer"), "connection", "reset by peer"),
        (ContentEncodingError("no gzip"), "connection", "no gzip"),
        (InvalidURL("http://"), "connection", "http://"),
        (ConnectionResetError(104, "reset"), "connection", "reset"),
        (ValueError("odd header"), "connection", "odd header"),
    ],
)
def test_whatever_aiohttp_raises_becomes_an_error_of_ours(raised: Exception, kind: str, said: str) -> None:
    error = transport_error(raised, endpoint=endpoint("cerebras", key="k"), model="m")

    assert (type(error), error.kind, error.provider, error.model) == (TransientError, kind, "cerebras", "m")
    assert said in str(error)


def test_a_causeless_error_is_a_lost_connection() -> None:
    error = transport_error(RuntimeError(), endpoint=endpoint("cerebras", key="k"), model="m")

    assert (type(error), error.kind) == (TransientError, "connection")
    assert "RuntimeError" in str(error)
