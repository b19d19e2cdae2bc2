"""Shared experience that outlives processes, and loses nothing to a race or a kill."""

import asyncio
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scheduler import Costs, InvalidInputError, Signals, StateError
from scheduler.experience import decode, encode
from scheduler.library import Library
from scheduler.persistence import COMPACT_ROWS, PersistentService
from scheduler.registry import make_policy
from scheduler.store import FileStore

ROOT = Path(__file__).parents[2]


def service(directory: Path) -> PersistentService:
    store = FileStore(directory)
    return PersistentService(store, store)


def step(tools: PersistentService, session: str, c: float) -> None:
    """Decide and report one step whose System 1 fails where c is high."""
    decision = tools.service.decide_step(session, Signals(criticality_hint=c))
    outcome: Any = ("s1_" if decision["mode"] == "system1" else "s2_probe_") + ("fail" if c > 0.6 else "pass")
    tools.service.report_outcome(session, decision_id=decision["decision_id"], outcome=outcome)


def labels(tools: PersistentService, session: str) -> int:
    return int(tools.service.get_stats(session)["nLabels"])


async def test_sessions_of_one_namespace_share_what_they_learn(tmp_path: Path) -> None:
    tools = service(tmp_path)
    await tools.open_session("a", "n")
    await tools.open_session("b", "n")
    await tools.open_session("c", "elsewhere")

    step(tools, "a", 0.9)

    assert (labels(tools, "a"), labels(tools, "b"), labels(tools, "c")) == (1, 1, 0)


async def test_experience_outlives_the_process(tmp_path: Path) -> None:
    first = service(tmp_path)
    await first.open_session("a", "n")
    for i in range(20):
        step(first, "a", i / 20)
    closed = await first.close_session("a")

    opened = await service(tmp_path).open_session("b", "n")

    assert closed["persistedPrototypes"] == opened["loadedPrototypes"] >= 1


@pytest.mark.parametrize("policy", ["regime", "auction", "router"])
async def test_a_saved_library_decides_identically(tmp_path: Path, policy: str) -> None:
    """1,000 decisions of a program that went on against those of one that was restarted."""
    going_on = service(tmp_path / "a")
    stopped = service(tmp_path / "b")
    draw = random.Random(1)
    for tools in (going_on, stopped):
        await tools.open_session("s", "n", policy=policy)
    for _ in range(100):
        c = draw.random()
        step(going_on, "s", c)
        step(stopped, "s", c)
    for tools in (going_on, stopped):
        await tools.close_session("s")
    stopped = service(tmp_path / "b")
    for tools in (going_on, stopped):
        await tools.open_session("t", "n", policy=policy)

    for _ in range(1000):
        signals = Signals(criticality_hint=draw.random(), difficulty_hint=draw.random())
        assert going_on.service.decide_step("t", signals) == stopped.service.decide_step("t", signals)


async def test_two_programs_on_one_namespace_lose_no_label(tmp_path: Path) -> None:
    one, two = service(tmp_path), service(tmp_path)
    await one.open_session("a", "n")
    await two.open_session("b", "n")
    for i in range(10):
        step(one, "a", i / 10)
        step(two, "b", 1 - i / 10)
        if i % 3 == 0:
            await one.task_feedback("a", True)
        if i % 4 == 0:
            await two.task_feedback("b", False)
    await one.close_session("a")
    await two.close_session("b")

    third = service(tmp_path)
    await third.open_session("c", "n")

    assert labels(third, "c") == 20


async def test_whoever_loses_the_race_learns_its_own_labels_again_on_top_of_the_winners(tmp_path: Path) -> None:
    """Both opened before either saved; after both saved, the library is A's followed by B's, learnt exactly once."""
    one, two = service(tmp_path), service(tmp_path)
    await one.open_session("a", "n")
    await two.open_session("b", "n")
    for i in range(12):
        step(one, "a", i / 12)
    for c in (0.9, 0.1, 0.8):
        step(two, "b", c)
    library = two.service.library("n")
    assert library is not None
    learnt = [decode(encode(experience)) for _, experience in library.log]

    await one.task_feedback("a", True)
    expected = Library("n", make_policy("regime"), await FileStore(tmp_path).read("n"))
    await two.task_feedback("b", True)

    track = make_policy("regime").track()
    for experience in learnt:
        expected.policy.observe(track, experience)
    assert library.policy.dump() == expected.policy.dump()
    assert library.policy.n_labels == 15


CHILD = """
import asyncio, sys
from scheduler import Signals
from scheduler.persistence import PersistentService
from scheduler.store import FileStore

async def main(directory, name, n):
    store = FileStore(directory)
    tools = PersistentService(store, store)
    await tools.open_session(name, "n")
    for i in range(n):
        decision = tools.service.decide_step(name, Signals(criticality_hint=i % 10 / 10))
        tools.service.report_outcome(name, decision_id=decision["decision_id"], outcome="s1_fail")
        if i % 5 == 4:
            await tools.task_feedback(name, True)
    await tools.close_session(name)

asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
"""


def test_two_processes_lose_no_label(tmp_path: Path) -> None:
    children = [subprocess.Popen([sys.executable, "-c", CHILD, str(tmp_path), name, "50"], cwd=ROOT) for name in "ab"]

    assert [child.wait(60) for child in children] == [0, 0]

    async def count() -> int:
        tools = service(tmp_path)
        await tools.open_session("c", "n")
        return labels(tools, "c")

    assert asyncio.run(count()) == 100


async def test_a_kill_between_decision_and_report_loses_nothing(tmp_path: Path) -> None:
    """No call says goodbye: what the dead program had decided and learnt is there when its session opens again."""
    dead = service(tmp_path)
    await dead.open_session("s", "n", costs=Costs(deep=7), opts={"probeRate": 0.25})
    for i in range(7):
        step(dead, "s", i / 7)
    pending = dead.service.decide_step("s", Signals(criticality_hint=0.9))

    risen = service(tmp_path)
    opened = await risen.open_session("s", "n")
    reported = risen.service.report_outcome("s", decision_id=pending["decision_id"], outcome="s1_fail")

    assert opened["loadedPrototypes"] >= 1
    assert (reported["label"], reported["label_source"]) == (1.0, "s1_fail")
    assert labels(risen, "s") == 8
    assert risen.service.session("s").costs == Costs(deep=7)
    assert risen.service.session("s").probe_rate == 0.25


async def test_a_kill_after_a_save_learns_nothing_twice(tmp_path: Path) -> None:
    dead = service(tmp_path)
    await dead.open_session("s", "n")
    for i in range(5):
        step(dead, "s", i / 5)
    await dead.task_feedback("s", True)
    for i in range(3):
        step(dead, "s", i / 5)

    for _ in range(3):
        risen = service(tmp_path)
        await risen.open_session("s", "n")
        assert labels(risen, "s") == 8

    await risen.close_session("s")
    fresh = service(tmp_path)
    await fresh.open_session("t", "n")
    assert labels(fresh, "t") == 8


async def test_a_long_session_keeps_a_short_log(tmp_path: Path) -> None:
    tools = service(tmp_path)
    await tools.open_session("s", "n")
    for i in range(COMPACT_ROWS):
        step(tools, "s", i % 10 / 10)
    await tools.task_feedback("s", True)
    step(tools, "s", 0.9)

    assert len(FileStore(tmp_path).read_log("n", "s")) == 3
    risen = service(tmp_path)
    await risen.open_session("s", "n")
    assert labels(risen, "s") == COMPACT_ROWS + 1


async def test_a_namespace_belongs_to_one_policy(tmp_path: Path) -> None:
    tools = service(tmp_path)
    await tools.open_session("a", "n", policy="auction")
    step(tools, "a", 0.9)
    await tools.close_session("a")

    with pytest.raises(StateError, match=r"'auction'.*'regime'"):
        await service(tmp_path).open_session("b", "n", policy="regime")

    opened = await service(tmp_path).open_session("b", "n")
    assert opened["loadedPrototypes"] == 1


async def test_an_open_namespace_cannot_be_opened_with_another_policy(tmp_path: Path) -> None:
    tools = service(tmp_path)
    await tools.open_session("a", "n", policy="auction")

    with pytest.raises(InvalidInputError, match="policy"):
        await tools.open_session("b", "n", policy="regime")


async def test_a_session_lives_in_one_namespace(tmp_path: Path) -> None:
    tools = service(tmp_path)
    await tools.open_session("a", "n")

    with pytest.raises(InvalidInputError, match="namespace"):
        await tools.open_session("a", "m")


async def test_opening_an_open_session_resumes_it(tmp_path: Path) -> None:
    tools = service(tmp_path)
    await tools.open_session("a", "n")
    step(tools, "a", 0.9)

    await tools.open_session("a", "n")

    assert tools.service.get_stats("a")["steps"] == 1


async def test_a_damaged_file_is_set_aside_and_the_reply_says_so(tmp_path: Path) -> None:
    tmp_path.joinpath("n.json").write_text("{")

    opened = await service(tmp_path).open_session("a", "n")

    assert "n.json.bak" in opened["warning"]
    assert opened["loadedPrototypes"] == 0


async def test_a_state_of_another_version_is_refused_with_a_reason(tmp_path: Path) -> None:
    await FileStore(tmp_path).write("n", {"version": 99, "policy": "regime", "library": {}, "applied": {}}, rev=0)

    with pytest.raises(StateError, match="version 99"):
        await service(tmp_path).open_session("a", "n")


async def test_an_export_can_be_imported_elsewhere(tmp_path: Path) -> None:
    tools = service(tmp_path)
    await tools.open_session("a", "n")
    for i in range(20):
        step(tools, "a", i / 20)
    document = await tools.export("n")

    await tools.restore("copy", document)
    opened = await tools.open_session("b", "copy")

    assert opened["loadedPrototypes"] >= 1
    assert labels(tools, "b") == 20


@pytest.mark.parametrize("document", [{}, {"version": 1}, {"version": 1, "policy": "regime", "library": {}}])
async def test_what_is_no_export_is_not_imported(tmp_path: Path, document: dict[str, Any]) -> None:
    with pytest.raises(StateError):
        await service(tmp_path).restore("n", document)

    assert await FileStore(tmp_path).read("n") is None


async def test_a_reset_namespace_starts_from_nothing(tmp_path: Path) -> None:
    tools = service(tmp_path)
    await tools.open_session("a", "n")
    step(tools, "a", 0.9)
    with pytest.raises(InvalidInputError, match="open sessions"):
        await tools.reset("n")
    await tools.close_session("a")

    assert await tools.reset("n")
    assert (await tools.open_session("b", "n"))["loadedPrototypes"] == 0


async def test_a_reset_by_another_program_wins_over_what_was_known_but_not_over_what_is_new(tmp_path: Path) -> None:
    tools = service(tmp_path)
    await tools.open_session("a", "n")
    for i in range(5):
        step(tools, "a", i / 5)
    await tools.task_feedback("a", True)
    await FileStore(tmp_path).delete("n")
    step(tools, "a", 0.9)

    await tools.task_feedback("a", True)

    assert labels(tools, "a") == 1


async def test_the_file_of_a_full_library_stays_below_16_kilobytes(tmp_path: Path) -> None:
    """Six regimes, both read-outs, challengers alive."""
    tools = service(tmp_path)
    await tools.open_session("s", "n", opts={"tau": 0.1})
    draw = random.Random(0)
    for i in range(600):
        c, d = draw.random(), draw.random()
        critical = [c > 0.6, c < 0.4, d > 0.6, d < 0.4, c > d, c < d][i // 40 % 6]
        decision = tools.service.decide_step("s", Signals(criticality_hint=c, difficulty_hint=d))
        outcome: Any = ("s1_" if decision["mode"] == "system1" else "s2_probe_") + ("fail" if critical else "pass")
        tools.service.report_outcome("s", decision_id=decision["decision_id"], outcome=outcome)
    await tools.close_session("s")

    assert (await service(tmp_path).open_session("t", "n", opts={"tau": 0.1}))["loadedPrototypes"] == 6
    assert tmp_path.joinpath("n.json").stat().st_size <= 16 * 1024
