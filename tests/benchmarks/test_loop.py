"""The stream of the loop's measurement, and what is made of its figures."""

import pytest

from benchmarks.loop import ALWAYS_1, ALWAYS_2, AUTO, HARD, Sizes, Solved, main, measured, section, stream


def solved(calls: int, *, right: bool = True, hard: bool = False, deliberated: bool = False) -> Solved:
    """Return what one solve came to."""
    return Solved(right=right, calls=calls, deliberated=deliberated, hard=hard)


def test_the_rule_reverses_midway_and_both_kinds_come_in_both_halves() -> None:
    tasks = stream(3, 60)

    longest_short = 1000
    before, after = tasks[:30], tasks[30:]
    assert all((len(task.task) > longest_short) == (task.difficulty == HARD) for task in before)
    assert all((len(task.task) > longest_short) != (task.difficulty == HARD) for task in after)
    assert all(5 < sum(task.difficulty == HARD for task in half) < 25 for half in (before, after))
    assert len({task.task for task in tasks}) == 60


def test_streams_of_one_seed_are_alike() -> None:
    assert stream(1, 20) == stream(1, 20)
    assert stream(1, 20) != stream(2, 20)


def test_a_gain_that_is_no_gain_misses_the_bar() -> None:
    same = [[solved(3), solved(5, hard=True)]] * 4
    dear = [[solved(5), solved(5, hard=True)]] * 4

    report = section({AUTO: same, ALWAYS_1: same, ALWAYS_2: dear}, Sizes(tasks=2, seeds=4))

    assert [figure.missed for figure in report.figures] == [True, False, False, False]


def test_fewer_calls_at_the_price_of_answers_miss_the_bar() -> None:
    cheap = [[solved(1, right=False), solved(1, hard=True)]] * 4
    dear = [[solved(5), solved(5, hard=True)]] * 4

    report = section({AUTO: cheap, ALWAYS_1: dear, ALWAYS_2: dear}, Sizes(tasks=2, seeds=4))

    assert [figure.missed for figure in report.figures] == [False, False, True, True]


def test_the_bound_takes_the_right_arm_for_every_task() -> None:
    one = [[solved(1), solved(6, hard=True)]]
    two = [[solved(5), solved(4, hard=True)]]

    report = section({AUTO: two, ALWAYS_1: one, ALWAYS_2: two}, Sizes(tasks=2, seeds=1))

    assert report.rows[-1][2].startswith("2.50")


async def test_every_arm_solves_the_stream_its_own_way() -> None:
    found = await measured(Sizes(tasks=6, seeds=1, candidates=2))

    (auto,), (first,), (second,) = found[AUTO], found[ALWAYS_1], found[ALWAYS_2]
    assert [len(auto), len(first), len(second)] == [6, 6, 6]
    assert not any(one.deliberated for one in first)
    assert all(one.deliberated for one in second)
    assert all(one.calls >= 2 for one in second)
    assert min(one.calls for one in first) == 1


@pytest.mark.parametrize("arguments", [["--tasks", "1"], ["--seeds", "0"], ["--candidates", "17"]])
def test_sizes_that_measure_nothing_are_refused(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        main(arguments)

    assert refused.value.code == 2
