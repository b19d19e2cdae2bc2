"""What an OpenAI client is told where there is no answer."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai import APIStatusError

from booster.errors import UsageError
from booster.journal.errors import JournalError
from booster.server.openai_errors import RefusedError, bad_request, refused_start, upstream_status
from providers.endpoints import Endpoint
from providers.openai_compatible import OpenAICompatible
from tests.booster.server.openai_door import Door, a_door, said, until
from tests.fake_openai import HANG, HTML, Answer, completion, refusal
from verifier.errors import CheckError

ONE = {"scheduler": "system1"}
LATER = {"retry-after": "200"}
"""Longer than anybody waits: the attempt is not repeated, and no test waits either."""


async def refused(door: Door, **options: Any) -> APIStatusError:
    with pytest.raises(APIStatusError) as caught:
        await door.ask(**options)
    assert set(caught.value.response.json()["error"]) == {"message", "type", "param", "code"}
    return caught.value


@pytest.mark.parametrize(
    ("upstream", "status", "code", "kind"),
    [
        (refusal(400, "too long"), 400, "http_400", "invalid_request_error"),
        (refusal(401, "who?"), 401, "authentication", "authentication_error"),
        (refusal(403, "no"), 403, "authentication", "permission_error"),
        (refusal(402, "pay"), 402, "payment_required", "invalid_request_error"),
        (refusal(404, "gone", code="model_not_found"), 404, "model_not_found", "not_found_error"),
        (refusal(413, "large"), 413, "http_413", "invalid_request_error"),
        (refusal(422, "odd"), 422, "http_422", "invalid_request_error"),
        (refusal(429, "slow down", headers=LATER), 429, "http_429", "rate_limit_error"),
        (refusal(429, "no money", code="insufficient_quota"), 429, "insufficient_quota", "rate_limit_error"),
        (refusal(500, "oops", headers=LATER), 502, "http_500", "server_error"),
        (refusal(502, "oops", headers=LATER), 502, "http_502", "server_error"),
        (refusal(503, "busy", headers=LATER), 503, "http_503", "server_error"),
        (refusal(529, "busy", headers=LATER), 503, "http_529", "server_error"),
        (refusal(504, "late", headers=LATER), 504, "http_504", "server_error"),
        (HTML, 502, "html", "server_error"),
        (Answer(body="{"), 502, "broken_json", "server_error"),
        (completion("", finish_reason="stop"), 502, "no_answer", "server_error"),
        (completion(None, refusal="I must not"), 400, "content_filter", "invalid_request_error"),
    ],
)
async def test_the_model_s_own_status_is_passed_on(upstream: Answer, status: int, code: str, kind: str) -> None:
    async with a_door([upstream]) as door:
        error = await refused(door, booster=ONE)

        assert (error.status_code, error.code, error.type) == (status, code, kind)
        assert error.response.json()["booster"]["calls"] == len(door.model.seen)


@pytest.mark.parametrize(("upstream", "waits"), [(429, "200"), (503, "200"), (500, None)])
async def test_a_client_is_told_how_long_to_wait_where_waiting_helps(upstream: int, waits: str | None) -> None:
    async with a_door([refusal(upstream, headers=LATER)]) as door:
        error = await refused(door, booster=ONE)

        assert error.response.headers.get("retry-after") == waits
        assert error.response.headers.get("x-should-retry") == (None if waits else "false")


async def test_one_candidate_that_is_refused_does_not_cost_the_others() -> None:
    async with a_door([refusal(400), said(), said()]) as door:
        reply = await door.ask(booster={"candidates": 3})

        assert reply.choices[0].message.content == "The product is 42.\n\nFinal answer: 42"
        assert reply.booster["calls"] == 3


async def test_the_deadline_without_an_answer_is_504_and_not_worth_another_try() -> None:
    async with a_door([HANG]) as door:
        error = await refused(door, booster={"budget": {"seconds": 0.3}})

        assert (error.status_code, error.code) == (504, "deadline")
        assert error.response.headers["x-should-retry"] == "false"


async def test_at_the_deadline_the_best_so_far_is_the_answer() -> None:
    async with a_door([said(), HANG]) as door:
        reply = await door.ask(booster={"candidates": 2, "budget": {"seconds": 0.5}})

        assert reply.choices[0].message.content == "The product is 42.\n\nFinal answer: 42"
        assert reply.booster["answerStatus"] == "unverified"


async def test_a_budget_that_ends_before_any_reply_is_402() -> None:
    """The first call only taught that the server takes no temperature; the budget has none for the second."""
    async with a_door([refusal(400, "unknown parameter 'temperature'", param="temperature"), said()]) as door:
        error = await refused(door, temperature=0.5, booster={**ONE, "budget": {"calls": 1}})

        assert (error.status_code, error.code) == (402, "budget_spent")


async def test_templates_are_never_an_answer() -> None:
    async with a_door([said()], providers=lambda _: []) as door:
        error = await refused(door)

        assert (error.status_code, error.code) == (503, "no_model")
        assert "OPENAI_API_KEY" in error.message


async def test_a_server_that_cannot_be_reached_is_a_bad_gateway() -> None:
    nowhere = OpenAICompatible(Endpoint(name="local", base_url="http://127.0.0.1:9/v1", model="m"))
    async with a_door([said()], providers=lambda _: [nowhere]) as door:
        error = await refused(door, booster=ONE)

        assert (error.status_code, error.code) == (502, "connection")


async def test_a_solve_that_somebody_cancels_is_a_conflict() -> None:
    async with a_door([HANG]) as door:
        asking = asyncio.create_task(refused(door, booster=ONE))
        await until(lambda: bool(door.model.seen))
        (session,) = await door.booster.sessions()
        await door.booster.cancel(session["sessionId"])
        error = await asking

        assert (error.status_code, error.code) == (409, "cancelled")


async def test_a_server_that_stops_says_so_and_leaves_the_solve_resumable() -> None:
    async with a_door([HANG]) as door:
        asking = asyncio.create_task(refused(door, booster=ONE))
        await until(lambda: bool(door.model.seen))
        await door.booster.interrupt()
        error = await asking

        assert (error.status_code, error.code) == (503, "stopping")
        assert [session["status"] for session in await door.booster.sessions()] == ["running"]


@given(st.none() | st.integers(100, 999), st.sampled_from(["timeout", "connection", "http_500", "html"]))
def test_no_failure_is_ever_passed_on_as_a_success(status: int | None, kind: str) -> None:
    passed_on = upstream_status(status, kind)

    assert 400 <= passed_on < 505
    assert passed_on == status if status is not None and 400 <= status < 500 else passed_on >= 502


@pytest.mark.parametrize(
    ("error", "status", "param"),
    [
        (bad_request("n: is 2", "n"), 400, "n"),
        (UsageError("numCandidates: 99", field="numCandidates"), 400, "booster.numCandidates"),
        (UsageError("messages[1]: has no JSON form", field="messages"), 400, "messages"),
        (UsageError("something"), 400, None),
        (CheckError("unknown", field="checks[0].kind"), 400, "booster.checks[0].kind"),
        (JournalError("the disk is full"), 503, None),
        (RuntimeError("a secret of ours"), 500, None),
    ],
)
def test_what_cannot_be_started_names_the_field(error: Exception, status: int, param: str | None) -> None:
    refusal_of = refused_start(error)

    assert (refusal_of.status, refusal_of.param) == (status, param)
    assert "secret" not in refusal_of.message
    assert isinstance(error, RefusedError) == (param == "n")
