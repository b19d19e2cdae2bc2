"""The one policy of retries, under a virtual clock: what is tried again, when, and what every attempt leaves behind."""

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.counting import CountingLedger
from providers.errors import (
    BadReplyError,
    BudgetSpent,
    CallCancelled,
    ConfigurationError,
    ProviderError,
    RejectedError,
    TransientError,
)
from providers.parameters import PARAMETER_REFUSED
from providers.retry import MOST_PARAMETERS, Past, RetryPolicy, ask, priced, wait_before_next
from providers.scripted import Line, ScriptedProvider
from providers.types import Call, Reply, Ticket, Usage
from tests.virtual_clock import run_virtual

CALL = Call(role="generate", step_key="it1/candidate1", messages=(), max_tokens=1000)
STEADY = RetryPolicy(jitter=0)
TRUNCATED = Reply(text="", model="m", provider="simulated", source="simulated", problem="thinking_truncated")


def transient(kind: str = "http_500", retry_after: float | None = None) -> TransientError:
    return TransientError("later", kind=kind, retry_after=retry_after)


class Run:
    """One `ask` against a script, and what it left."""

    def __init__(self, script: Sequence[Line] | Callable[[Call], Line], call: Call = CALL, **options: Any) -> None:
        self.provider = ScriptedProvider(script)
        self.ledger = options.pop("ledger", None) or CountingLedger()
        self.sent_at: list[float] = []
        self.outcome: Reply | ProviderError | None = None
        self.ended_at = 0.0
        run_virtual(self._run, call, {"policy": STEADY, **options})

    async def _run(self, call: Call, options: dict[str, Any]) -> None:
        now = asyncio.get_running_loop().time
        send = self.provider.send

        async def timed(call: Call) -> Reply:
            self.sent_at.append(now())
            return await send(call)

        self.provider.send = timed  # type: ignore[method-assign]  # a clock around the fake
        try:
            self.outcome = await ask(call, self.provider, self.ledger, **options)
        except ProviderError as error:
            self.outcome = error
        self.ended_at = now()

    @property
    def text(self) -> str:
        assert isinstance(self.outcome, Reply)
        return self.outcome.text

    @property
    def kind(self) -> str:
        assert isinstance(self.outcome, ProviderError)
        return self.outcome.kind


def test_a_good_reply_is_one_attempt() -> None:
    run = Run(["42"])

    assert (run.text, run.ledger.attempts, run.ledger.successes, run.ended_at) == ("42", 1, 1, 0.0)


def test_transient_failures_are_tried_again_with_growing_waits() -> None:
    run = Run([transient(), transient("http_429"), "42"])

    assert run.text == "42"
    assert run.sent_at == [0.0, 0.5, 1.5]
    assert (run.ledger.attempts, run.ledger.failures, run.ledger.successes) == (3, 2, 1)


def test_the_last_error_is_raised_when_the_attempts_are_used_up() -> None:
    run = Run([transient("http_500"), transient("http_502"), transient("timeout"), "too late"])

    assert (run.kind, run.ledger.attempts) == ("timeout", 3)


@pytest.mark.parametrize("asked", [0.0, 3.0, 119.0])
def test_the_wait_that_the_server_asks_for_is_honoured(asked: float) -> None:
    assert Run([transient(retry_after=asked), "42"]).sent_at == [0.0, asked]


def test_a_server_that_asks_for_minutes_is_not_waited_for() -> None:
    run = Run([transient(retry_after=121), "42"])

    assert (run.kind, run.ledger.attempts, run.ended_at) == ("http_500", 1, 0.0)


@pytest.mark.parametrize("asked", [None, 5.0, 100.0])
def test_no_wait_goes_past_the_deadline(asked: float | None) -> None:
    """It is given up at once, not slept away."""
    run = Run([transient(retry_after=asked), "42"], replace(CALL, deadline=0.4))

    assert (run.kind, run.ended_at) == ("http_500", 0.0)


def test_a_wait_that_ends_before_the_deadline_is_taken() -> None:
    assert Run([transient(), "42"], replace(CALL, deadline=0.6)).text == "42"


def test_a_call_that_hangs_ends_at_its_timeout_and_is_tried_again() -> None:
    run = Run([None, "42"], replace(CALL, timeout=10))

    assert (run.text, run.sent_at) == ("42", [0.0, 10.5])
    assert isinstance(run.ledger.outcomes[0][1], TransientError)


def test_a_call_that_hangs_ends_at_the_deadline_if_that_is_earlier() -> None:
    run = Run([None, "42"], replace(CALL, timeout=10, deadline=4))

    assert (run.kind, run.ended_at, run.ledger.attempts) == ("timeout", 4.0, 1)


@pytest.mark.parametrize("error", [ConfigurationError("key"), RejectedError("no"), ProviderError("?")])
def test_what_cannot_get_better_is_not_tried_again(error: ProviderError) -> None:
    run = Run([error, "42"])

    assert (run.outcome, run.ledger.attempts, run.ledger.failures) == (error, 1, 1)


def test_an_unreadable_reply_is_tried_again_once() -> None:
    once = Run([BadReplyError("html", kind="html"), "42"])
    twice = Run([BadReplyError("html", kind="html"), BadReplyError("html", kind="html"), "42"])

    assert once.text == "42"
    assert (twice.kind, twice.ledger.attempts) == ("html", 2)


def test_a_policy_of_one_attempt_never_retries() -> None:
    for error in (transient(), BadReplyError("html")):
        assert Run([error, "42"], policy=RetryPolicy(attempts=1)).ledger.attempts == 1


def test_a_refused_parameter_costs_one_counted_attempt_at_once() -> None:
    """It does not use up the attempts that failures may take."""
    refused = TransientError("no temperature", kind=PARAMETER_REFUSED, retry_after=0.0)
    run = Run([refused, transient(), transient(), "42"])

    assert (run.text, run.ledger.attempts) == ("42", 4)
    assert run.sent_at == [0.0, 0.0, 0.5, 1.5]


def test_a_server_that_refuses_parameters_without_end_is_given_up() -> None:
    run = Run(lambda _: TransientError("no", kind=PARAMETER_REFUSED, retry_after=0.0))

    assert run.ledger.attempts == MOST_PARAMETERS + 1


def test_cut_off_thinking_gets_one_more_attempt_with_twice_the_cap() -> None:
    run = Run([TRUNCATED, "42"])

    assert run.text == "42"
    assert [call.max_tokens for call, _ in run.ledger.outcomes] == [1000, 2000]


def test_thinking_that_is_cut_off_again_is_reported() -> None:
    run = Run([TRUNCATED, TRUNCATED, "42"])

    assert isinstance(run.outcome, Reply)
    assert (run.outcome.problem, run.ledger.attempts) == ("thinking_truncated", 2)


@pytest.mark.parametrize(("cap", "next_caps"), [(9000, [16_000]), (16_000, []), (20_000, [])])
def test_the_doubled_cap_has_a_bound(cap: int, next_caps: list[int]) -> None:
    run = Run([TRUNCATED, "42"], replace(CALL, max_tokens=cap))

    assert [call.max_tokens for call in run.provider.calls] == [cap, *next_caps]


def test_a_cap_that_is_not_ours_is_never_raised() -> None:
    run = Run([TRUNCATED, "42"], replace(CALL, max_tokens=None))

    assert [call.max_tokens for call in run.provider.calls] == [None]


@pytest.mark.parametrize("problem", ["empty", "refusal"])
def test_other_problems_are_returned_as_they_are(problem: Any) -> None:
    run = Run([replace(TRUNCATED, problem=problem), "42"])

    assert isinstance(run.outcome, Reply)
    assert (run.outcome.problem, run.ledger.attempts) == (problem, 1)


def test_retries_count_against_the_budget() -> None:
    run = Run([transient(), transient(), "42"], ledger=CountingLedger(calls=2))

    assert isinstance(run.outcome, BudgetSpent)
    assert (run.ledger.attempts, len(run.provider.calls)) == (2, 2)


def test_nothing_is_sent_when_the_budget_is_spent() -> None:
    run = Run(["42"], ledger=CountingLedger(calls=0))

    assert isinstance(run.outcome, BudgetSpent)
    assert run.provider.calls == []


def test_waiting_for_a_slot_ends_at_the_deadline_with_nothing_opened() -> None:
    async def scenario() -> tuple[str, float, int]:
        provider, ledger = ScriptedProvider([None, "42"], concurrency=1), CountingLedger()
        hanging = asyncio.create_task(ask(replace(CALL, timeout=1000), provider, ledger))
        await asyncio.sleep(1)
        with pytest.raises(TransientError) as caught:
            await ask(replace(CALL, deadline=5), provider, ledger)
        now = asyncio.get_running_loop().time()
        hanging.cancel()
        await asyncio.wait([hanging])
        return caught.value.kind, now, ledger.attempts

    assert run_virtual(scenario) == ("deadline", 5.0, 1)


def test_a_cancelled_call_closes_its_ticket_and_stays_cancelled() -> None:
    async def scenario() -> CountingLedger:
        ledger = CountingLedger()
        task = asyncio.create_task(ask(CALL, ScriptedProvider([None]), ledger))
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return ledger

    ledger = run_virtual(scenario)

    assert [type(outcome) for _, outcome in ledger.outcomes] == [CallCancelled]


class FailingLedger(CountingLedger):
    """Cannot take an outcome."""

    def close(self, ticket: Ticket, outcome: Reply | ProviderError) -> None:
        raise OSError("disk full")


def test_a_ledger_that_fails_is_heard() -> None:
    async def scenario() -> None:
        with pytest.raises(OSError, match="disk full"):
            await ask(CALL, ScriptedProvider(["42"]), FailingLedger())

    run_virtual(scenario)


def test_a_defect_in_a_provider_closes_the_ticket_and_is_not_hidden() -> None:
    def broken(call: Call) -> Line:
        raise ZeroDivisionError

    async def scenario() -> CountingLedger:
        ledger = CountingLedger()
        with pytest.raises(ZeroDivisionError):
            await ask(CALL, ScriptedProvider(broken), ledger)
        return ledger

    ((_, outcome),) = run_virtual(scenario).outcomes

    assert isinstance(outcome, ProviderError)
    assert (outcome.kind, "ZeroDivisionError" in str(outcome)) == ("internal", True)


class RecallingLedger(CountingLedger):
    """Knows how the first attempts ended before a restart."""

    def __init__(self, *recalled: Reply | ProviderError) -> None:
        super().__init__()
        self._recalled = list(recalled)

    async def open(self, call: Call) -> Ticket:
        ticket = await super().open(call)
        return replace(ticket, recalled=self._recalled.pop(0)) if self._recalled else ticket


def test_a_recalled_reply_is_returned_and_nothing_is_sent() -> None:
    recalled = Reply(text="42", model="m", provider="local", source="model")

    run = Run(["other"], ledger=RecallingLedger(recalled))

    assert (run.outcome, run.provider.calls, run.ledger.outcomes) == (recalled, [], [])


def test_a_recalled_failure_counts_but_is_not_waited_for() -> None:
    run = Run(["42"], ledger=RecallingLedger(transient(), transient(retry_after=60)))

    assert (run.text, run.sent_at, run.ledger.attempts) == ("42", [0.0], 3)


def test_recalled_failures_can_use_up_all_attempts() -> None:
    run = Run(["42"], ledger=RecallingLedger(transient(), transient(), transient("http_502")))

    assert (run.kind, run.provider.calls) == ("http_502", [])


def test_what_ledger_and_caller_see_is_redacted() -> None:
    secretive = Reply(text="key s3cret", model="m", provider="p", source="model", reasoning="s3cret?")
    run = Run([RejectedError("s3cret refused")], clean=lambda text: text.replace("s3cret", "***"))
    good = Run([secretive], clean=lambda text: text.replace("s3cret", "***"))

    assert str(run.outcome) == "*** refused"
    assert isinstance(good.outcome, Reply)
    assert (good.outcome.text, good.outcome.reasoning) == ("key ***", "***?")
    assert good.ledger.outcomes[0][1] == good.outcome


@pytest.mark.parametrize(
    ("priced_as", "asked"),
    [
        ("m-2026", None),
        ("simulated/m-2026", None),
        ("m", "m"),
        ("m", "simulated/m"),
        ("simulated/m", "m"),
        ("simulated/script", None),
    ],
)
def test_a_price_gives_the_cost_that_the_server_did_not_report(priced_as: str, asked: str | None) -> None:
    """Under the id that was asked for, or the more exact one that was reported, with or without the provider's name."""
    usage = Usage(prompt_tokens=1_000_000, completion_tokens=500_000)
    reply = Reply(text="42", model="m-2026", provider="simulated", source="model", usage=usage)

    run = Run([reply], replace(CALL, model=asked), prices={priced_as: (2.0, 10.0)})

    assert isinstance(run.outcome, Reply)
    assert run.outcome.usage.cost_usd == 7.0


def test_an_unknown_price_stays_unknown_and_a_reported_cost_stands() -> None:
    assert priced(Usage(prompt_tokens=5), {}, "m").cost_usd is None
    assert priced(Usage(prompt_tokens=5, cost_usd=0.5), {"m": (1.0, 1.0)}, "m").cost_usd == 0.5


def test_siblings_do_not_come_back_together() -> None:
    """Jitter shortens our own waits, by a quarter at most, and comes from the injected generator alone."""
    waits = [RetryPolicy(generator=random.Random(seed)).backoff(1) for seed in range(20)]
    again = [RetryPolicy(generator=random.Random(seed)).backoff(1) for seed in range(20)]

    assert waits == again
    assert len(set(waits)) == 20
    assert all(0.375 <= wait <= 0.5 for wait in waits)


@given(st.integers(1, 50))
def test_our_own_waits_have_a_bound(failures: int) -> None:
    assert 0 < RetryPolicy().backoff(failures) <= 8.0


OUTCOMES = st.one_of(
    st.builds(transient, st.just("http_500"), st.none() | st.floats(0, 200)),
    st.just(transient(PARAMETER_REFUSED, 0.0)),
    st.builds(BadReplyError, st.just("html")),
    st.builds(ConfigurationError, st.just("key")),
    st.just(TRUNCATED),
)


@given(st.lists(OUTCOMES, min_size=30, max_size=30), st.integers(1, 5), st.floats(0, 100))
def test_every_course_of_outcomes_ends_and_no_wait_passes_the_deadline(
    outcomes: list[Reply | ProviderError], attempts: int, deadline: float
) -> None:
    call, past, now, made = replace(CALL, deadline=deadline), Past(), 0.0, 0
    policy = replace(STEADY, attempts=attempts)

    for outcome in outcomes:
        made += 1
        following = wait_before_next(outcome, past, call, policy, now)
        if following is None:
            break
        wait, past = following
        now += wait
        assert now < deadline

    assert made <= attempts + MOST_PARAMETERS + 1


async def test_a_success_is_never_tried_again() -> None:
    reply = replace(TRUNCATED, text="42", problem=None)

    assert wait_before_next(reply, Past(), CALL, STEADY, 0.0) is None
