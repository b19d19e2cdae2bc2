"""Sums and diagnostics over call records."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from booster.journal.account import MAX_FAILURES, MAX_SAMPLES, Limits, Tally, diagnostics, reached, spend
from booster.journal.calls import CallRecord
from providers.errors import ProviderError, TransientError
from providers.types import Reply, Usage
from tests.booster.journal.journal_samples import a_reply

FAILURE = TransientError(
    "the server is busy", kind="http_429", status=429, endpoint="http://127.0.0.1/v1", model="m-2", provider="local"
)


def a_record(number: int, outcome: Reply | ProviderError | None = None, **fields: Any) -> CallRecord:
    """Return attempt 1 of the step with this number, opened and arrived in that order."""
    record = CallRecord(
        step_key=f"it{number}/candidate1",
        attempt=1,
        epoch=1,
        role="generate",
        model=None,
        request_hash="",
        opened=2 * number,
        opened_at=f"open {number}",
        prompt=f"prompt {number}",
        prompt_chars=100 + number,
    )
    record = replace(record, **fields)
    if outcome is None:
        return record
    record.close(outcome, arrived=2 * number + 1, at=f"close {number}")
    return record


def test_every_attempt_is_counted_in_its_state() -> None:
    records = [a_record(1, a_reply()), a_record(2, FAILURE), a_record(3), a_record(4, state="lost")]

    total = spend(records, seconds=2.5)

    assert (total.calls, total.successes, total.failures, total.in_flight, total.lost) == (4, 1, 1, 1, 1)
    assert total.seconds == 2.5


def test_tokens_are_summed_by_kind_and_by_role() -> None:
    usage = Usage(prompt_tokens=5, completion_tokens=7, reasoning_tokens=3, cached_tokens=2, cost_usd=0.01)
    records = [
        a_record(1, a_reply(usage=usage)),
        a_record(2, a_reply(usage=replace(usage, estimated=True))),
        a_record(3, a_reply(usage=usage), role="judge"),
        a_record(4, FAILURE, role="judge"),
    ]

    total = spend(records, seconds=0.0)

    assert (total.prompt_tokens, total.completion_tokens) == (15, 21)
    assert (total.reasoning_tokens, total.cached_tokens) == (9, 6)
    assert total.estimated
    assert total.by_role == {
        "generate": {"calls": 2, "promptTokens": 10, "completionTokens": 14, "costUsd": 0.02},
        "judge": {"calls": 2, "promptTokens": 5, "completionTokens": 7, "costUsd": 0.01},
    }


def test_one_unknown_price_makes_the_whole_cost_unknown_but_not_that_of_other_roles() -> None:
    records = [a_record(1, a_reply(cost=0.01)), a_record(2, a_reply(cost=None), role="judge")]

    total = spend(records, seconds=0.0)

    assert total.cost_usd is None
    assert (total.by_role["generate"]["costUsd"], total.by_role["judge"]["costUsd"]) == (0.01, None)


@given(st.lists(st.integers(0, 10**9)))
def test_costs_add_up_exactly(nanos: list[int]) -> None:
    tally = Tally()

    for nano in nanos:
        tally.add(Usage(cost_usd=nano / 10**9))

    assert tally.cost_usd == sum(nanos) / 10**9


@pytest.mark.parametrize(
    ("limits", "overdue", "kind"),
    [
        (Limits(), False, None),
        (Limits(), True, "seconds"),
        (Limits(calls=4, tokens=11, cost_usd=0.0011), False, None),
        (Limits(calls=3), True, "calls"),
        (Limits(tokens=10), True, "tokens"),
        (Limits(cost_usd=0.001), True, "costUsd"),
    ],
)
def test_the_first_limit_without_room_is_named(limits: Limits, overdue: bool, kind: str | None) -> None:
    tally = Tally()
    tally.add(a_reply(tokens=10, cost=0.001).usage)

    assert reached(limits, calls=3, tally=tally, overdue=overdue) == kind


def test_the_last_success_and_the_last_failure_are_described() -> None:
    records = [a_record(1, FAILURE), a_record(2, a_reply("long answer")), a_record(3)]

    document = diagnostics(records, full=False)

    assert {key: document[key] for key in ("totalCalls", "successes", "failureCount", "lost")} == {
        "totalCalls": 3,
        "successes": 1,
        "failureCount": 1,
        "lost": 0,
    }
    assert (document["lastModel"], document["lastProvider"]) == ("m-1", "local")
    assert (document["lastPromptChars"], document["lastResponseChars"]) == (102, 11)
    assert (document["lastOkAt"], document["lastErrorAt"]) == ("close 2", "close 1")
    assert document["lastError"] == "the server is busy"
    assert document["byProvider"] == {"local": {"calls": 2, "successes": 1, "failures": 1}}
    assert document["failures"] == [
        {
            "stepKey": "it1/candidate1",
            "attempt": 1,
            "kind": "http_429",
            "status": 429,
            "message": "the server is busy",
            "provider": "local",
            "model": "m-2",
            "endpoint": "http://127.0.0.1/v1",
            "at": "close 1",
        }
    ]
    assert "rawSamples" not in document


def test_without_a_success_no_model_and_no_provider_is_claimed() -> None:
    document = diagnostics([a_record(1, FAILURE)], full=True)

    assert document["lastModel"] is document["lastProvider"] is document["lastOkAt"] is None
    assert document["rawSamples"] == []


def test_a_lost_call_is_listed_as_perhaps_charged() -> None:
    (failure,) = diagnostics([a_record(1, state="lost")], full=False)["failures"]

    assert failure["kind"] == "lost"
    assert "may have been charged" in failure["message"]


@pytest.mark.parametrize("problem", ["empty", "refusal", "thinking_truncated"])
def test_a_reply_that_held_nothing_is_listed_though_it_is_no_error(problem: Any) -> None:
    document = diagnostics([a_record(1, a_reply()), a_record(2, replace(a_reply(""), problem=problem))], full=False)

    (failure,) = document["failures"]
    assert (failure["stepKey"], failure["kind"], failure["status"]) == ("it2/candidate1", problem, 200)
    assert (document["successes"], document["failureCount"]) == (2, 0)


def test_samples_are_the_latest_bounded_in_number_and_length_and_marked_where_cut() -> None:
    records = [a_record(number, a_reply("x" * 5_000)) for number in range(1, MAX_SAMPLES + 3)]

    samples = diagnostics(records, full=True)["rawSamples"]

    assert [sample["prompt"] for sample in samples] == [f"prompt {number}" for number in range(3, MAX_SAMPLES + 3)]
    assert {len(sample["response"]) for sample in samples} == {4_000}
    assert "cut: 5000 characters" in samples[0]["response"]
    assert {key: samples[0][key] for key in ("model", "provider", "at")} == {
        "model": "m-1",
        "provider": "local",
        "at": "close 3",
    }


def test_the_list_of_failures_is_bounded_and_their_number_is_not() -> None:
    records = [a_record(number, FAILURE) for number in range(MAX_FAILURES + 10)]

    document = diagnostics(records, full=False)

    assert len(document["failures"]) == MAX_FAILURES
    assert document["failureCount"] == MAX_FAILURES + 10
    assert document["failures"][-1]["stepKey"] == f"it{MAX_FAILURES + 9}/candidate1"
