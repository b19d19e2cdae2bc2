"""Budgets bind end to end: what the server counts and the clock says is never more than what was allowed."""

from pathlib import Path
from typing import Any

import pytest

from booster import Booster, Budget, Settings, SolveResult
from providers.simulated import Fault, SimulatedModel, SimulatedServer, demo_tasks
from tests.processes import booster, configured, document, simulated_model

TASK = demo_tasks(1)[0]

ANSWERS = {"granularity": "answer", "scheduler": "system2", "iterations": 8, "numCandidates": 8}
"""Eight calls side by side an iteration."""

STEPS = {"granularity": "step", "scheduler": "system2", "iterations": 8, "beamWidth": 3, "beamDepth": 3}
"""Single calls, with beams of up to three side by side."""


async def solved(home: Path, base_url: str, budget: Budget, config: dict[str, Any], **options: Any) -> SolveResult:
    """Solve in this process over real HTTP."""
    async with Booster.open(Settings.load(environ=configured(home, base_url), cwd=home)) as opened:
        return await opened.solve(TASK.task, budget=budget, config=config, **options)


@pytest.mark.parametrize("config", [ANSWERS, STEPS], ids=["answers", "steps"])
@pytest.mark.parametrize("calls", [1, 2, 5, 7, 9, 13])
async def test_calls_are_never_more_than_allowed_however_many_go_side_by_side(
    tmp_path: Path, calls: int, config: dict[str, Any]
) -> None:
    """A check that nothing holds keeps the solve asking for as long as it may."""
    async with SimulatedServer(SimulatedModel(latency=0.01, jitter=0.01)) as server:
        result = await solved(
            tmp_path,
            server.base_url,
            Budget(calls=calls),
            config,
            checks=[{"kind": "equals", "value": "something else"}],
        )

        assert result.usage["calls"] == server.requests == calls
    assert result.stop_reason == "budget_calls"
    assert result.answer is None
    assert sum(role["calls"] for role in result.usage["byRole"].values()) == calls


@pytest.mark.parametrize("config", [ANSWERS, STEPS], ids=["answers", "steps"])
async def test_retries_count_like_any_other_call(tmp_path: Path, config: dict[str, Any]) -> None:
    fault = Fault(kind="http_429", every=2, seconds=0.01)
    async with SimulatedServer(SimulatedModel(faults=(fault,))) as server:
        result = await solved(
            tmp_path, server.base_url, Budget(calls=11), config, checks=[{"kind": "equals", "value": "something else"}]
        )

        assert result.usage["calls"] == server.requests == 11
    refused = [item["status"] for item in result.diagnostics["failures"]]
    assert refused == [429] * 5
    assert result.diagnostics["successes"] == 6


async def test_a_reask_after_an_unreadable_list_counts_too(tmp_path: Path) -> None:
    fault = Fault(kind="null_content", roles=("steps",))
    async with SimulatedServer(SimulatedModel(faults=(fault,))) as server:
        result = await solved(
            tmp_path, server.base_url, Budget(calls=3), {"granularity": "step", "scheduler": "system2"}
        )

        assert result.usage["calls"] == server.requests == 3
    asked = [item["stepKey"] for item in result.diagnostics["failures"]]
    assert asked == ["it1/s2/steps", "it1/s2/steps/again", "it2/s2/steps"]


@pytest.mark.parametrize(("config", "at_once"), [(ANSWERS, 8), (STEPS, 3)], ids=["answers", "steps"])
async def test_tokens_overshoot_by_the_calls_in_flight_at_most(
    tmp_path: Path, config: dict[str, Any], at_once: int
) -> None:
    allowed = 1000
    async with SimulatedServer(SimulatedModel(latency=0.01)) as server:
        result = await solved(
            tmp_path, server.base_url, Budget(tokens=allowed, calls=None), config,
            checks=[{"kind": "equals", "value": "something else"}],
        )  # fmt: skip
        largest = max(len(str(body["messages"])) for body in server.log) // 4 + 800

        assert result.usage["calls"] == server.requests
        assert server.max_in_flight <= at_once
    used = result.usage["promptTokens"] + result.usage["completionTokens"]
    assert result.stop_reason == "budget_tokens"
    assert allowed <= used < allowed + at_once * largest


async def test_tokens_bind_also_where_the_server_reports_none(tmp_path: Path) -> None:
    async with SimulatedServer(SimulatedModel(usage=False)) as server:
        result = await solved(tmp_path, server.base_url, Budget(tokens=600), STEPS)

    assert result.stop_reason == "budget_tokens"
    assert result.usage["estimated"] is True
    assert result.usage["promptTokens"] > 0 < result.usage["completionTokens"]


async def test_money_binds_where_the_price_is_known(tmp_path: Path) -> None:
    config = '{"prices": {"simulated/large": {"inputPerMTok": 1000, "outputPerMTok": 1000}}}'
    (tmp_path / "config.json").write_text(config)
    async with SimulatedServer() as server:
        result = await solved(tmp_path, server.base_url, Budget(cost_usd=0.5), STEPS)

        assert result.usage["calls"] == server.requests < 6
    assert result.stop_reason == "budget_cost"
    used = (result.usage["promptTokens"] + result.usage["completionTokens"]) / 1000
    assert result.usage["costUsd"] == pytest.approx(used)
    assert result.usage["costUsd"] >= 0.5


@pytest.mark.parametrize("granularity", ["answer", "step"])
def test_seconds_end_a_slow_solve_with_the_best_so_far(tmp_path: Path, granularity: str) -> None:
    knobs = {"BOOSTER_GRANULARITY": granularity, "BOOSTER_ITERATIONS": "64", "BOOSTER_MAX_STEPS": "64"}
    arguments = ("--check", "equals:something else", "--max-calls", "1000", "--max-seconds", "3", "--json", "-q")
    with simulated_model("--latency", "0.2") as model:
        env = configured(tmp_path, model.base_url, **knobs)
        done = booster("solve", TASK.task, *arguments, env=env, cwd=tmp_path)

        result = document(done)
        assert result["usage"]["calls"] == model.count() > 1
    assert (done.returncode, result["stopReason"]) == (4, "deadline")
    assert 3 <= result["usage"]["seconds"] <= 4
    assert granularity == "answer" or result["steps"], "what was done until then is kept"


async def test_a_budget_is_shared_by_all_iterations_on_request(tmp_path: Path) -> None:
    """Step by step, four calls are four calls, whoever asks for the next iteration."""
    async with SimulatedServer(SimulatedModel(accuracy=1)) as server:
        env = configured(tmp_path, server.base_url)
        async with Booster.open(Settings.load(environ=env, cwd=tmp_path)) as opened:
            session = await opened.start(TASK.task, budget=Budget(calls=4))
            for _ in range(3):
                await opened.step(session.id)
            await opened.multi_step(session.id, 5)
            result = await opened.wait(session.id)

        assert result.usage["calls"] == server.requests == 4
    assert result.stop_reason == "budget_calls"
