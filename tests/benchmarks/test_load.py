"""The load benchmark, as small as it gets: every section runs, counts what it says it counts, and loses nothing."""

from benchmarks.endpoint import BOOSTED, DIRECT, PASSED_ON
from benchmarks.load import CALLS, PEERS, Sizes, many_at_once, one_at_a_time, over_http, with_clients
from benchmarks.table import Section

SMALL = Sizes(rounds=1, blocks=1, each=1, concurrent=3)


def values(section: Section) -> dict[str, float]:
    return {figure.name: figure.value for figure in section.figures}


async def test_a_solve_at_a_time_stands_beside_two_floors() -> None:
    section = await one_at_a_time(SMALL)

    assert len(section.rows) == 4
    assert min(values(section).values()) > 0


async def test_many_clients_stand_beside_what_peers_reach() -> None:
    section = await with_clients(SMALL)

    assert [row[0] for row in section.rows][-len(PEERS) :] == [f"{name} (elsewhere)" for name, *_ in PEERS]
    assert values(section)["share of the floor's rate, journal on SQLite"] > 0


async def test_of_many_solves_at_once_none_is_lost_and_each_makes_its_calls() -> None:
    found = values(await many_at_once(SMALL))

    assert found["solves without an answer or with a failed call"] == 0
    assert found["calls a solve"] == CALLS


async def test_the_endpoint_answers_in_a_process_of_its_own() -> None:
    section = await over_http(SMALL)

    assert [row[0] for row in section.rows] == [DIRECT, PASSED_ON, BOOSTED]
