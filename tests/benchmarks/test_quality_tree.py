"""Recorded searches as steps of the shipped loop: what it is shown, what it chooses, and what it is credited with."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks.quality.tree import FIRST, NOTHING, REWARDED, TreeReplay, Way, tree_section, trees, walked, ways
from benchmarks.replay_data import MissingDataError
from providers.types import Call
from tests.benchmarks.test_quality_recorded import record

GOOD, BAD = "8 / 2 = 4 (left: 4 3 9)", "8 + 9 = 17 (left: 17 2 3)"
THEN, LAST = "9 - 3 = 6 (left: 4 6)", "4 * 6 = 24 (left: 24)"
ANSWER = "Answer: 8 / 2 * (9 - 3) = 24"


def level(*valued: tuple[tuple[str, ...], float]) -> dict[str, Any]:
    paths = ["\n".join(lines) + "\n" for lines, _ in valued]
    return {"new_ys": paths, "values": [value for _, value in valued], "select": paths[:1]}


SEARCH = {
    "id": "g", "puzzle": "2 3 8 9",
    "tot": {
        "steps": [
            level(((BAD,), 0.003), ((GOOD,), 60.0), ((GOOD,), 0.0)),
            level(((GOOD, THEN), 60.0)),
            level(((GOOD, THEN, LAST), 60.0)),
            level(((GOOD, THEN, LAST, ANSWER), 60.0)),
        ],
        "ys": [f"{GOOD}\n{THEN}\n{LAST}\n{ANSWER}\n"],
        "r": [1],
    },
}  # fmt: skip


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return record(tmp_path, "tot_game24/game24", SEARCH)


def way(name: str) -> Way:
    return next(one for one in ways() if one.name.startswith(name))


def test_a_state_that_was_proposed_twice_keeps_its_value(data: Path) -> None:
    (tree,) = trees(data)

    assert tree.children[()] == (BAD, GOOD)
    assert tree.rewards[(GOOD,)] == 1.0
    assert tree.solvable([GOOD])
    assert not tree.solvable([BAD])


async def test_the_model_proposes_what_was_recorded_after_the_steps_in_the_prompt(data: Path) -> None:
    (tree,) = trees(data)
    provider = TreeReplay({"g": tree}, 5, seed=0)

    def call(prompt: str) -> Call:
        messages = ({"role": "system", "content": ""}, {"role": "user", "content": prompt})
        return Call(role="generate", step_key="it1", messages=messages, request={"user": "g"})

    after = await provider.send(call(f"Steps so far:\n1. {GOOD}\nNote: 2 things"))

    assert THEN in after.text
    assert GOOD not in after.text
    assert (await provider.send(call(f"1. {BAD}"))).text == NOTHING


async def test_process_rewards_find_the_step_that_leads_on(data: Path) -> None:
    found = [(await walked(trees(data), way(REWARDED), seed))[0] for seed in range(4)]

    assert all(walk.right and walk.solvable == (True, True, True) for walk in found)
    assert all(walk.rewards > 0 for walk in found)


async def test_whoever_takes_the_first_proposal_gets_lost_in_some_orders(data: Path) -> None:
    found = [(await walked(trees(data), way(FIRST), seed))[0] for seed in range(8)]

    assert {walk.solvable[0] for walk in found} == {True, False}
    assert all(walk.rewards == 0 for walk in found)


def test_the_table_has_a_row_for_every_way(data: Path) -> None:
    section = tree_section(data, seeds=1, processes=1)

    assert {one.name for one in ways()} <= {row[0] for row in section.rows}


def test_a_record_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match="game24"):
        tree_section(tmp_path, seeds=1)
