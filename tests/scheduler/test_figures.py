"""The figures show what this run computed, and print in grey."""

import itertools
import json
import struct
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from benchmarks.scheduler import endurance, figure_data
from benchmarks.scheduler.arms import ARMS
from benchmarks.scheduler.envs import ENVIRONMENTS
from benchmarks.scheduler.experiment import row
from benchmarks.scheduler.figure_style import DPI, LOOKS, SERIFS, luminance, serif
from benchmarks.scheduler.figures import as_json
from benchmarks.scheduler.run import run
from benchmarks.scheduler.streams import Stream
from benchmarks.scheduler.targets import Results, Target

ROOT = Path(__file__).parents[2]
SHIPPED: dict[str, Any] = json.loads((ROOT / "docs" / "fig_data.json").read_text("utf-8"))

needs_matplotlib = pytest.mark.skipif(find_spec("matplotlib") is None, reason="matplotlib comes with the extra [bench]")


def published() -> Stream:
    """Return the published stream."""
    return ENVIRONMENTS["seed51"](0)


def quieter(stream: Stream) -> Stream:
    """Return the stream with every critical step of its first task made harmless."""
    first = tuple(replace(step, critical=False) for step in stream.tasks[0])
    return replace(stream, tasks=(first, *stream.tasks[1:]))


def test_the_shipped_data_are_those_of_a_fresh_run() -> None:
    """Two entries that take a second; the others follow from the same code."""
    fresh = {"armBars": figure_data.arm_bars(published()), "muTrace": figure_data.mu_trace(published())}

    assert {key: SHIPPED[key] for key in fresh} == fresh


def test_the_shipped_data_cover_every_figure_at_thirty_seeds() -> None:
    assert list(SHIPPED) == [
        "meta", "armBars", "learningCurve", "muTrace", "biddingScatter", "shiftBars", "frontier", "capture",
    ]  # fmt: skip
    assert SHIPPED["meta"]["seeds"] == SHIPPED["learningCurve"]["streams"] == 30
    assert {bar["seeds"] for bar in SHIPPED["shiftBars"]} == {30}
    assert len(SHIPPED["capture"]["families"]) == 18


@pytest.mark.parametrize("figure", ["armBars", "shiftBars"])
def test_no_bar_chart_is_shown_without_always_system_1_and_the_bayes_bound(figure: str) -> None:
    labels = {bar["label"] for bar in SHIPPED[figure]}

    assert {"always System 1", "Bayes filter (bound)"} <= labels


def test_accuracies_follow_from_the_seeds_they_are_computed_on() -> None:
    """Two seeds give other means than the thirty shipped; of those one is the published number."""
    few = {bar["arm"]: bar for bar in figure_data.shift_bars([0, 1])}

    assert few["static"]["seeds"] == 2
    assert {arm: bar["mean"] for arm, bar in few.items()} != {bar["arm"]: bar["mean"] for bar in SHIPPED["shiftBars"]}
    assert {bar["arm"]: bar["mean"] for bar in SHIPPED["shiftBars"]}["static"] == pytest.approx(52.4, abs=0.05)


def test_another_environment_gives_other_data() -> None:
    before, after = published(), quieter(published())

    for compute in (
        figure_data.arm_bars,
        figure_data.mu_trace,
        lambda stream: figure_data.learning_curve([stream]),
        lambda stream: figure_data.bidding_scatter(stream, ENVIRONMENTS["pollution"](0)),
    ):
        assert compute(before) != compute(after)


def test_the_learning_curve_of_always_system_1_is_flat_at_the_top() -> None:
    curve = figure_data.learning_curve([published()])
    series = {part["arm"]: part["mean"] for part in curve["series"]}

    assert series["always-s1"] == [100.0] * 10
    assert max(series["regime"]) < 50.0


def test_a_bid_above_its_price_is_system_2_unless_the_regime_policy_explores() -> None:
    """The boundary that the figure draws is the one that decides."""
    bids = {part["arm"]: part["points"] for part in SHIPPED["biddingScatter"]}

    assert all(gain <= price + 0.002 or deep for price, gain, deep, _ in bids["auction-bid"])
    assert all(gain <= price + 0.002 or deep for price, gain, deep, _ in bids["regime"])
    assert any(deep for _, _, deep, _ in bids["regime"])


def test_watching_a_policy_changes_nothing() -> None:
    stream = published()

    for arm in ("regime", "auction-bid", "auction-threshold"):
        _, watched = figure_data.watch(arm, stream)
        assert watched.deep == run(ARMS[arm](stream), stream).deep


def test_capture_is_drawn_for_what_was_measured() -> None:
    stream = published()
    arms = ("always-s1", "always-s2", "bayes-filter", *figure_data.CAPTURES)
    results = Results(row("seed51", arm, 0, run(ARMS[arm](stream), stream)) for arm in arms)

    part = figure_data.captures(results)

    assert part["families"] == ["seed51"]
    by_arm = {series["arm"]: series for series in part["series"]}
    assert by_arm["regime"]["percent"] == [by_arm["regime"]["medianPercent"]] == [97.5]


def test_the_data_file_is_json_with_one_entry_a_line() -> None:
    text = as_json(SHIPPED)

    assert json.loads(text) == SHIPPED
    assert sum(line.lstrip().startswith('{"arm"') for line in text.splitlines()) >= len(SHIPPED["armBars"])


@pytest.mark.parametrize(
    ("installed", "chosen"),
    [
        ({"Times New Roman", "Tinos", "STIXGeneral"}, "Times New Roman"),
        ({"DejaVu Serif", "Tinos", "STIXGeneral"}, "Tinos"),
        ({"DejaVu Serif"}, "STIXGeneral"),
    ],
)
def test_times_or_the_next_best_serif_is_chosen(installed: set[str], chosen: str) -> None:
    assert serif(installed) == chosen


@needs_matplotlib
def test_the_last_serif_comes_with_matplotlib() -> None:
    from matplotlib import font_manager

    shipped = Path(str(font_manager.__file__)).parent
    homes = {Path(f.fname) for f in font_manager.fontManager.ttflist if f.name == SERIFS[-1]}

    assert any(shipped in home.parents for home in homes)


def test_luminance_by_hand() -> None:
    """L* of black, white and the mid grey #777777 is 0, 100 and 50."""
    assert [round(100 * luminance(c)) for c in ("#000000", "#ffffff", "#777777")] == [0, 100, 50]


@pytest.mark.parametrize("arms", [figure_data.CURVES, figure_data.CAPTURES, figure_data.POINTS])
def test_arms_of_one_figure_stay_apart_in_grey(arms: tuple[str, ...]) -> None:
    """By marker in any case, and learning arms by lightness, too."""
    looks = [LOOKS[arm] for arm in arms]
    learners = [LOOKS[arm] for arm in arms if arm.startswith(("regime", "auction", "logistic"))]

    assert len({look.marker for look in looks}) == len(looks)
    for one, other in itertools.combinations(learners, 2):
        assert abs(luminance(one.colour) - luminance(other.colour)) > 0.07


@needs_matplotlib
def test_every_figure_is_drawn_at_300_dpi_from_the_data_alone(tmp_path: Path) -> None:
    from benchmarks.scheduler.figures import draw

    font, paths = draw(SHIPPED, tmp_path)

    assert font in SERIFS
    assert [path.stem for path in paths] == [
        "capture", "fig1_arm_cost", "fig2_learning", "fig3_mu_trace", "fig4_bidding", "fig5_shift_acc", "frontier",
        "overview",
    ]  # fmt: skip
    assert {dots_per_inch(path) for path in paths} == {DPI}


def dots_per_inch(path: Path) -> int:
    """Return the resolution in a PNG's metadata, which counts dots per metre."""
    data = path.read_bytes()
    at = data.index(b"pHYs") + 4
    x, y, unit = struct.unpack(">IIB", data[at : at + 9])
    assert (x, unit) == (y, 1)
    return round(int(x) * 0.0254)


@pytest.mark.skipif(find_spec("matplotlib") is not None, reason="matplotlib is installed")
def test_without_matplotlib_the_command_says_what_to_install(capsys: pytest.CaptureFixture[str]) -> None:
    from benchmarks.scheduler.figures import main

    assert main([]) == 1
    assert "[bench]" in capsys.readouterr().err


async def test_a_namespace_file_stays_small_while_rules_come_and_go(tmp_path: Path) -> None:
    """The short form of the measurement over a million labels."""
    size = await endurance.grow(tmp_path, 6000)

    assert 0 < size.last <= size.largest <= endurance.SIZE_LIMIT
    assert size.regimes > 1


@pytest.mark.parametrize(("met", "code"), [(True, 0), (False, 1)])
def test_a_missed_target_is_the_exit_code(met: bool, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    from benchmarks.scheduler.__main__ import _line, _print

    assert _print([_line(Target("cost", "9", "<= 8", met)), (True, "a question")]) == code
    assert ("MISS cost: 9, wanted <= 8" in capsys.readouterr().out) == (not met)
