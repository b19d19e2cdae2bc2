"""Side by side timing: who runs when, and what is made of the samples. No test looks at a clock."""

import asyncio

import pytest

from benchmarks.timing import Arm, Sample, Samples, in_turn, under_load


class Recording:
    """An arm that writes down what it was given."""

    def __init__(self, name: str, log: list[tuple[str, str]]) -> None:
        self.in_flight = self.most = 0
        self._log = log
        self.arm = Arm(name=name, run=self._run)

    async def _run(self, task: str) -> None:
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        self._log.append((self.arm.name, task))
        await asyncio.sleep(0)
        self.in_flight -= 1


async def test_every_round_gives_all_arms_one_task_and_begins_with_another_arm() -> None:
    log: list[tuple[str, str]] = []
    arms = [Recording(name, log).arm for name in "ab"]

    samples = await in_turn(arms, ["x", "y", "z"], 2, warm_up=1)

    assert log == [("a", "x"), ("b", "x"), ("b", "y"), ("a", "y"), ("a", "z"), ("b", "z")]
    assert {name: len(found.of) for name, found in samples.items()} == {"a": 2, "b": 2}


async def test_clients_work_side_by_side_each_one_unit_after_the_other() -> None:
    log: list[tuple[str, str]] = []
    recording = Recording("a", log)

    samples = await under_load([recording.arm], ["x"], 1, clients=5, each=3, warm_up=0)

    assert recording.most == 5
    assert len(log) == 15
    assert samples["a"].of[0].units == 15


async def test_an_arm_that_fails_ends_the_measurement() -> None:
    async def broken(task: str) -> None:
        raise RuntimeError(task)

    with pytest.raises(RuntimeError, match="x"):
        await in_turn([Arm(name="broken", run=broken)], ["x"], 1)


def test_samples_are_summed_up_by_unit_and_compared_round_by_round() -> None:
    mine = Samples(
        (Sample(wall=2.0, cpu=0.2, units=4), Sample(wall=1.0, cpu=0.4, units=4), Sample(wall=8.0, cpu=0.8, units=4))
    )
    floor = Samples(tuple(Sample(wall=wall, cpu=0.1, units=4) for wall in (1.0, 1.0, 2.0)))

    assert mine.wall_ms() == pytest.approx(500)
    assert mine.cpu_ms() == pytest.approx(100)
    assert mine.rate() == pytest.approx(2)
    assert mine.ratio_of_rates(floor) == pytest.approx(0.5)
    assert mine.extra_ms(floor) == pytest.approx(250)
