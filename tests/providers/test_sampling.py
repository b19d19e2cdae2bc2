"""The MCP client's own model behind the same port as every other."""

import asyncio
from collections.abc import Sequence

import pytest

from providers.counting import CountingLedger
from providers.errors import BadReplyError, ProviderError, RejectedError, TransientError
from providers.retry import ask
from providers.sampling import SamplingProvider
from providers.types import Call, Reply, Usage


def call(key: str = "k") -> Call:
    return Call(role="generate", step_key=key, messages=({"role": "user", "content": "12345678"},))


class Client:
    """An MCP client that answers rounds, or does whatever it is told instead."""

    def __init__(self, *, holds: bool = False, fails: BaseException | None = None, short: bool = False) -> None:
        self.rounds: list[list[str]] = []
        self.released = asyncio.Event()
        self.withdrawn = 0
        self._fails, self._short = fails, short
        if not holds:
            self.released.set()

    async def __call__(self, calls: Sequence[Call]) -> Sequence[Reply]:
        self.rounds.append([asked.step_key for asked in calls])
        try:
            await self.released.wait()
        except asyncio.CancelledError:
            self.withdrawn += 1
            raise
        if self._fails is not None:
            raise self._fails
        replies = [Reply(text=f"re {asked.step_key}", model="claude", provider="x", source="model") for asked in calls]
        return replies[:-1] if self._short else replies


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_sampled_reply_says_that_it_is_the_clients() -> None:
    reply = await SamplingProvider(Client()).send(call())

    assert (reply.text, reply.provider, reply.source, reply.model) == ("re k", "mcp", "client", "claude")
    assert reply.usage == Usage(prompt_tokens=2, completion_tokens=1, estimated=True)


async def test_usage_that_the_client_reports_is_kept() -> None:
    usage = Usage(prompt_tokens=100, completion_tokens=50)

    async def client(calls: Sequence[Call]) -> Sequence[Reply]:
        return [Reply(text="42", model="simulated/small", provider="", source="model", usage=usage)]

    reply = await SamplingProvider(client).send(call())

    assert (reply.usage, reply.source) == (usage, "simulated")


async def test_calls_of_the_same_moment_travel_in_one_round_and_get_their_own_replies() -> None:
    client = Client()
    provider = SamplingProvider(client)

    replies = await asyncio.gather(*(provider.send(call(key)) for key in "abc"))

    assert client.rounds == [["a", "b", "c"]]
    assert [reply.text for reply in replies] == ["re a", "re b", "re c"]


async def test_at_most_one_round_is_under_way() -> None:
    """What arrives meanwhile travels together in the next one."""
    client = Client(holds=True)
    provider = SamplingProvider(client)
    first = asyncio.create_task(provider.send(call("a")))
    await settle()
    later = [asyncio.create_task(provider.send(call(key))) for key in "bc"]
    await settle()
    under_way = list(client.rounds)

    client.released.set()
    await asyncio.gather(first, *later)

    assert under_way == [["a"]]
    assert client.rounds == [["a"], ["b", "c"]]


async def test_a_withdrawn_call_leaves_its_siblings_alone() -> None:
    client = Client(holds=True)
    provider = SamplingProvider(client)
    tasks = [asyncio.create_task(provider.send(call(key))) for key in "ab"]
    await settle()

    tasks[0].cancel()
    await settle()
    client.released.set()
    reply = await tasks[1]

    assert (reply.text, client.withdrawn) == ("re b", 0)


async def test_a_round_that_nobody_waits_for_any_more_is_withdrawn() -> None:
    client = Client(holds=True)
    provider = SamplingProvider(client)
    tasks = [asyncio.create_task(provider.send(call(key))) for key in "ab"]
    await settle()

    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    await settle()

    assert client.withdrawn == 1


@pytest.mark.parametrize(
    ("client", "cls", "kind"),
    [
        ({"fails": RuntimeError("the user declined")}, RejectedError, "sampling"),
        ({"fails": TransientError("busy", kind="timeout", retry_after=2.0)}, TransientError, "timeout"),
        ({"fails": asyncio.CancelledError()}, RejectedError, "sampling"),
        ({"short": True}, BadReplyError, "sampling_count"),
    ],
)
async def test_a_failed_round_fails_every_call_in_it(
    client: dict[str, object], cls: type[ProviderError], kind: str
) -> None:
    provider = SamplingProvider(Client(**client))  # type: ignore[arg-type]  # options of Client by name

    outcomes = await asyncio.gather(*(provider.send(call(key)) for key in "ab"), return_exceptions=True)

    assert [(type(outcome), getattr(outcome, "kind", "")) for outcome in outcomes] == [(cls, kind)] * 2
    assert outcomes[0] is not outcomes[1]


async def test_a_new_round_works_after_one_that_failed() -> None:
    client = Client(fails=RuntimeError("declined"))
    provider = SamplingProvider(client)
    with pytest.raises(RejectedError):
        await provider.send(call())

    client._fails = None

    assert (await provider.send(call())).text == "re k"


async def test_closing_withdraws_the_round_and_what_waits() -> None:
    client = Client(holds=True)
    provider = SamplingProvider(client)
    first = asyncio.create_task(provider.send(call("a")))
    await settle()
    second = asyncio.create_task(provider.send(call("b")))
    await settle()

    await provider.aclose()
    await asyncio.wait([first, second])
    await provider.aclose()

    assert (first.cancelled(), second.cancelled(), client.withdrawn) == (True, True, 1)


async def test_sampled_calls_are_counted_like_any_other() -> None:
    ledger = CountingLedger()
    provider = SamplingProvider(client := Client())

    await asyncio.gather(*(ask(call(key), provider, ledger) for key in "abc"))

    assert (ledger.successes, client.rounds) == (3, [["a", "b", "c"]])
