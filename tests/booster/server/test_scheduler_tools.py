"""The scheduler's nine tools beside those of the booster, on one journal, in both protocol eras."""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from booster.app import Booster
from booster.cli.smoke import CORE_TOOLS, SCHEDULER_TOOLS
from booster.scheduler_store import JournalStore
from booster.server.mcp import build_server
from tests.booster.server.mcp_harness import MODES, answering, call, opened, refusal

pytestmark = pytest.mark.parametrize("mode", MODES)

CHECK = {"kind": "numeric", "value": 42}


async def connected(stack: AsyncExitStack, booster: Booster, mode: Any) -> Client:
    """Connect a client to all tools."""
    server = build_server(booster, profile="all")
    return await stack.enter_async_context(Client(server, mode=mode, raise_exceptions=True))


def kept(home: Path) -> dict[str, Any]:
    """Return settings of a booster whose journal is a file."""
    return {"journal_url": f"sqlite:///{home / 'booster.db'}"}


async def test_all_tools_are_the_core_and_the_nine(tmp_path: Path, mode: str) -> None:
    async with AsyncExitStack() as stack:
        booster = await stack.enter_async_context(opened(tmp_path))
        tools = (await (await connected(stack, booster, mode)).list_tools()).tools

    assert {tool.name for tool in tools} == {*CORE_TOOLS, *SCHEDULER_TOOLS}
    assert all(tool.output_schema for tool in tools)


async def test_what_a_solve_taught_a_client_of_the_tools_finds(tmp_path: Path, mode: str) -> None:
    async with AsyncExitStack() as stack:
        booster = await stack.enter_async_context(opened(tmp_path, answering(42)))
        client = await connected(stack, booster, mode)
        await call(client, "solve", task="6 * 7?", checks=[CHECK])
        found = await call(client, "open_session", sessionId="a")
        stats = await call(client, "get_stats", sessionId="a")

    assert found["loadedPrototypes"] == 1
    assert (stats["policy"], stats["nLabels"]) == ("regime", 1)


@pytest.mark.parametrize("value", ["abc", "nan", "NaN", "inf", 1.5, -0.1, "1.5"])
async def test_a_signal_that_is_none_is_an_error_that_names_the_field(tmp_path: Path, mode: str, value: Any) -> None:
    async with AsyncExitStack() as stack:
        client = await connected(stack, await stack.enter_async_context(opened(tmp_path)), mode)
        await call(client, "open_session", sessionId="a")
        said = [
            await refusal(client, "decide_step", sessionId="a", **{field: value})
            for field in ("criticality_hint", "difficulty_hint", "progress", "context_pollution")
        ]
        late = await refusal(client, "report_outcome", sessionId="a", observed_criticality=value)

    for field, text in zip(("criticality_hint", "difficulty_hint", "progress", "context_pollution"), said, strict=True):
        assert field in text
        assert "Traceback" not in text
    assert "observed_criticality" in late


@pytest.mark.parametrize(
    ("tool", "arguments", "word"),
    [
        ("decide_step", {"sessionId": "nobody"}, "open_session"),
        ("report_outcome", {"sessionId": "a", "decision_id": "a.99", "outcome": "s1_pass"}, "a.99"),
        ("report_outcome", {"sessionId": "a", "decision_id": "a.1", "outcome": "splendid"}, "outcome"),
        ("open_session", {"sessionId": "b", "namespace": ".."}, "namespace"),
        ("open_session", {"sessionId": "b", "policy": "auction"}, "policy"),
        ("close_session", {"sessionId": "ses_of_somebody_else"}, "open_session"),
    ],
)
async def test_unknown_names_are_readable_errors(
    tmp_path: Path, mode: str, tool: str, arguments: dict[str, Any], word: str
) -> None:
    async with AsyncExitStack() as stack:
        client = await connected(stack, await stack.enter_async_context(opened(tmp_path)), mode)
        await call(client, "open_session", sessionId="a")

        assert word in await refusal(client, tool, **arguments)


async def test_a_damaged_state_is_an_error_that_says_so(tmp_path: Path, mode: str) -> None:
    async with AsyncExitStack() as stack:
        booster = await stack.enter_async_context(opened(tmp_path))
        await booster.journal.save_state("default", None, {"x": 1})
        client = await connected(stack, booster, mode)

        assert "damaged" in await refusal(client, "open_session", sessionId="a")


async def test_what_is_open_when_the_client_leaves_is_saved(tmp_path: Path, mode: str) -> None:
    async with AsyncExitStack() as outer:
        booster = await outer.enter_async_context(opened(tmp_path))
        async with AsyncExitStack() as stack:
            client = await connected(stack, booster, mode)
            await call(client, "open_session", sessionId="a", namespace="n")
            await call(client, "decide_step", sessionId="a")
            await call(client, "report_outcome", sessionId="a", decision_id="a.1", outcome="s1_fail")
        stored = await JournalStore(booster.journal).read("n")

    assert stored is not None
    assert stored.document["library"]["nLabels"] == 1


async def test_a_pending_decision_of_a_client_outlives_the_server(tmp_path: Path, mode: str) -> None:
    for outcome in (None, "s1_fail"):
        async with AsyncExitStack() as stack:
            booster = await stack.enter_async_context(opened(tmp_path, **kept(tmp_path)))
            client = await connected(stack, booster, mode)
            await call(client, "open_session", sessionId="a")
            if outcome is None:
                await call(client, "decide_step", sessionId="a", criticality_hint=0.9)
            else:
                report = await call(client, "report_outcome", sessionId="a", decision_id="a.1", outcome=outcome)

    assert (report["label"], report["label_source"]) == (1.0, "s1_fail")
