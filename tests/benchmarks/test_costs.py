"""The measurements of journal, server and product run and fill their tables; none of their times is looked at."""

from pathlib import Path

from benchmarks.arms import BARE, CANDIDATES, FLOOR, IN_MEMORY, ON_DISK, bare_calls, opened_arms
from benchmarks.journal_cost import WRITERS, journal_section
from benchmarks.serving import install_size
from benchmarks.timing import in_turn
from providers.simulated import SimulatedModel, SimulatedServer, demo_tasks


async def test_all_arms_ask_the_model_the_same(tmp_path: Path) -> None:
    """Four calls each, with the same messages and the same cap; else the floor would be another one."""
    (task,) = demo_tasks(1)
    async with SimulatedServer(SimulatedModel(accuracy=1.0)) as server, opened_arms(server.base_url, tmp_path) as arms:
        await in_turn(arms, [task.task], 1, warm_up=0)
        asked = server.log

    assert [arm.name for arm in arms] == [ON_DISK, IN_MEMORY, FLOOR, BARE]
    assert len(asked) == len(arms) * CANDIDATES
    assert all(body == asked[0] for body in asked)


def test_the_bare_calls_have_different_keys() -> None:
    assert len({call.step_key for call in bare_calls("6 * 7?")}) == CANDIDATES


async def test_the_journal_is_measured_alone_and_crowded(tmp_path: Path) -> None:
    section = await journal_section(tmp_path, rows=1)

    assert [row[0].strip() for row in section.rows] == [str(writers) for writers in WRITERS]
    assert all(figure.value > 0 for figure in section.figures)


def test_the_size_of_an_install_counts_what_it_brings_along() -> None:
    alone, packages = install_size("structlog")
    more, names = install_size("aiohttp")

    assert alone > 0
    assert "structlog" in packages
    assert {"aiohttp", "yarl", "multidict"} <= set(names)
    assert more > alone
