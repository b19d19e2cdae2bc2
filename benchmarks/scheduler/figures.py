"""The figures of the scheduler benchmark: computes `fig_data.json` and draws everything from it.

python -m benchmarks.scheduler.figures [--out figures] [--seeds 30] [--data-only]
"""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.scheduler import figure_data
from benchmarks.scheduler.figure_style import (
    DPI,
    GUIDE,
    INK,
    LOOKS,
    SERIFS,
    apply,
    bar_style,
    line_style,
    point_style,
    serif,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Data = Mapping[str, Any]

DATA_FILE = "fig_data.json"
LEGEND_FROM = 0.66
"""Share of an axis that the curves take where the legend stands above them."""
CAPTURE_FLOOR = -100
"""Percent of capture below which a point is drawn at the edge."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Compute, write and draw; return the exit code."""
    parser = argparse.ArgumentParser(prog="booster-bench figures", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("figures"), help="folder (default: %(default)s)")
    parser.add_argument("--seeds", type=int, default=30, help="replications, at least 2 (default: %(default)s)")
    parser.add_argument("--data-only", action="store_true", help=f"write {DATA_FILE} and draw nothing")
    options = parser.parse_args(arguments)
    if options.seeds < 2:
        parser.error("--seeds must be at least 2")
    if not options.data_only and find_spec("matplotlib") is None:  # asked before minutes are spent on the data
        sys.stderr.write("booster-bench figures: needs matplotlib; pip install 'reasoning-booster[bench]'\n")
        return 1
    data = figure_data.collect(range(options.seeds))
    options.out.mkdir(parents=True, exist_ok=True)
    paths = [options.out / DATA_FILE]
    paths[0].write_text(as_json(data), encoding="utf-8")
    if not options.data_only:
        font, drawn = draw(data, options.out)
        paths += drawn
        sys.stdout.write(f"font: {font}" + ("\n" if font == SERIFS[0] else f" ({SERIFS[0]} is not installed)\n"))
    sys.stdout.writelines(f"written to {path}\n" for path in paths)
    return 0


def as_json(data: Data) -> str:
    """Return the data as text, one line per entry of a list, so that a difference shows where it is."""
    blocks = []
    for key, value in data.items():
        if isinstance(value, list):
            rows = ",\n".join("    " + json.dumps(row, allow_nan=False) for row in value)
            blocks.append(f"  {json.dumps(key)}: [\n{rows}\n  ]")
        else:
            blocks.append(f"  {json.dumps(key)}: {json.dumps(value, allow_nan=False)}")
    return "{\n" + ",\n".join(blocks) + "\n}\n"


def draw(data: Data, out: Path) -> tuple[str, list[Path]]:
    """Draw every figure into a folder; return the name of the font and the files."""
    from matplotlib import font_manager

    font = serif({entry.name for entry in font_manager.fontManager.ttflist})
    apply(font)
    paths = [_figure(name, size, [panel], data, out) for name, (size, panel) in SINGLE.items()]
    paths.append(_figure("fig4_bidding", (8.2, 3.7), [_bids(0), _bids(1)], data, out))
    paths.append(_figure("frontier", (8.2, 6.6), [_frontier(i) for i in range(4)], data, out, columns=2, legend=True))
    paths.append(
        _figure(
            "overview",
            (13.5, 7.8),
            [arm_cost, learning, mu_of_tasks, _bids(0), shift_accuracy, _frontier(0, legend=True)],
            data,
            out,
            columns=3,
            lettered=True,
        )
    )
    return font, sorted(paths)


def _figure(
    name: str,
    size: tuple[float, float],
    panels: Sequence[Callable[["Axes", Data], None]],
    data: Data,
    out: Path,
    *,
    columns: int | None = None,
    lettered: bool = False,
    legend: bool = False,
) -> Path:
    """Draw panels side by side, lettered or with the first one's legend below them all."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    columns = columns or len(panels)
    figure = Figure(figsize=size, layout=ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.1))
    grid = figure.subplots(len(panels) // columns, columns, squeeze=False)
    for number, (axes, panel) in enumerate(zip(grid.flat, panels, strict=True)):
        panel(axes, data)
        if lettered:
            axes.set_title(f"({'abcdefgh'[number]}) {axes.get_title(loc='left')}")
    if legend:
        figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    path = out / f"{name}.png"
    figure.savefig(path, dpi=DPI, metadata={"Title": name, "Software": "booster-bench figures"})
    return path


def arm_cost(axes: "Axes", data: Data) -> None:
    """Draw what every arm costs on the published stream."""
    bars = data["armBars"]
    positions = range(len(bars))
    for at, bar in zip(positions, bars, strict=True):
        axes.barh(at, bar["cost"], height=0.68, **bar_style(bar["arm"]))
        axes.text(bar["cost"] + 25, at, f"{bar['cost']:.0f}", va="center", fontsize=8.5)
    axes.set_yticks(list(positions), [bar["label"] for bar in bars])
    axes.invert_yaxis()
    axes.set_xlim(0, 1.12 * max(bar["cost"] for bar in bars))
    axes.grid(axis="x")
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("total cost (System 1 steps)")
    axes.set_title("Cost on the published stream")


def learning(axes: "Axes", data: Data) -> None:
    """Draw the misses per batch of tasks, with the reversal of the rule."""
    curve = data["learningCurve"]
    size = curve["tasksPerBatch"]
    for series in curve["series"]:
        ends = [size * (i + 1) for i in range(len(series["mean"]))]
        label = series["label"] + (", ± sd" if series["arm"] == "regime" else "")
        axes.plot(ends, series["mean"], label=label, **line_style(series["arm"]))
        if series["arm"] == "regime":
            low = [max(0.0, m - s) for m, s in zip(series["mean"], series["sd"], strict=True)]
            high = [m + s for m, s in zip(series["mean"], series["sd"], strict=True)]
            axes.fill_between(ends, low, high, color=LOOKS["regime"].colour, alpha=0.14, linewidth=0)
    axes.set_ylim(0, 103 / LEGEND_FROM)
    axes.set_yticks(range(0, 101, 20))
    _mark_shift(axes, curve["shiftAfterTask"])
    axes.grid(axis="y")
    axes.set_xlabel(f"tasks done (batches of {size})")
    axes.set_ylabel("critical steps mishandled (%)", y=LEGEND_FROM / 2)
    axes.set_title(f"Learning, mean of {curve['streams']} streams")
    axes.legend(ncols=2, loc="upper left", columnspacing=1.2, handlelength=2.6)


def mu_of_tasks(axes: "Axes", data: Data) -> None:
    """Draw mu after every task."""
    for series in data["muTrace"]["series"]:
        style = {**line_style(series["arm"]), "markevery": 6}
        axes.plot(range(1, len(series["mu"]) + 1), series["mu"], label=series["label"], **style)
    top = max(max(series["mu"]) for series in data["muTrace"]["series"])
    axes.set_ylim(0, top / LEGEND_FROM)
    _mark_shift(axes, data["muTrace"]["shiftAfterTask"])
    axes.grid(axis="y")
    axes.set_xlabel("tasks done")
    axes.set_ylabel("shadow price of a miss, mu (no unit)")
    axes.set_title("Shadow price on the published stream")
    axes.legend(loc="upper left", ncols=1, handlelength=2.6)


def _mark_shift(axes: "Axes", task: int) -> None:
    axes.axvline(task, ymax=LEGEND_FROM, color=GUIDE, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    axes.annotate(
        "rule reverses",
        (task, 0),
        xytext=(4, 4),
        textcoords="offset points",
        fontsize=8.5,
        color="#666666",
    )


def _bids(index: int) -> Callable[["Axes", Data], None]:
    """Return the panel of one policy: gain over price of System 2 at every step, with the boundary."""

    def panel(axes: "Axes", data: Data) -> None:
        part = data["biddingScatter"][index]
        prices = [point[0] for point in part["points"]]
        low, high = min(prices), max(prices)
        margin = 0.06 * (high - low) or 1.0
        for critical, name, colour, marker in ((0, "not critical", "#e08f45", "o"), (1, "critical", "#10305c", "^")):
            for deep in (1, 0):
                chosen = [point for point in part["points"] if point[2] == deep and point[3] == critical]
                axes.scatter(
                    [point[0] for point in chosen],
                    [point[1] for point in chosen],
                    s=17,
                    marker=marker,
                    facecolors=colour if deep else "none",
                    edgecolors=colour,
                    linewidths=0.8,
                    label=f"{name}, System {2 if deep else 1}",
                    zorder=3 + critical,
                )
        ends = (low - margin, high + margin)
        axes.plot(ends, ends, color=INK, linewidth=1.2, zorder=6, label="gain = price")
        axes.set_xlim(*ends)
        axes.set_ylim(bottom=0, top=1.5 * max(point[1] for point in part["points"]))
        axes.grid()
        unit = "bids" if part["arm"].startswith("auction") else "System 1 steps"
        axes.set_xlabel(f"price of System 2, eco_cost ({unit})")
        axes.set_ylabel(f"gain of System 2, rob_gain ({unit})")
        axes.set_title(f"{part['label'].capitalize()}, on {_stream(part['stream'])}")
        axes.legend(loc="upper left", ncols=2, handletextpad=0.4, columnspacing=0.8)

    return panel


def _stream(family: str) -> str:
    return "the published stream" if family == "seed51" else f"“{family}”"


def shift_accuracy(axes: "Axes", data: Data) -> None:
    """Draw the accuracy after the mid-task flip: mean and sd."""
    from matplotlib.patheffects import withStroke

    halo = [withStroke(linewidth=2.6, foreground="white")]
    bars = data["shiftBars"]
    for at, bar in enumerate(bars):
        axes.barh(at, bar["mean"], height=0.68, **bar_style(bar["arm"]))
        axes.errorbar(bar["mean"], at, xerr=bar["sd"], color=INK, capsize=2.5, linewidth=1, path_effects=halo)
        axes.text(bar["mean"] + bar["sd"] + 1.5, at, f"{bar['mean']:.1f}", va="center", fontsize=8.5)
    labels = [bar["label"] + ("*" if bar["luck"] == "published" else "") for bar in bars]
    axes.set_yticks(range(len(bars)), labels)
    axes.set_xlim(0, 100)
    axes.grid(axis="x")
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("right starts after the flip (%)   * with the published draws")
    axes.set_title(f"Mid-task reversal, mean ± sd, {bars[0]['seeds']} seeds")


def _frontier(index: int, *, legend: bool = False) -> Callable[["Axes", Data], None]:
    """Return the panel of one environment: misses over cost, along the thresholds."""

    def panel(axes: "Axes", data: Data) -> None:
        part = data["frontier"][index]
        xs, ys = ([point[i] for point in part["curve"]] for i in (0, 1))
        low, high = part["thresholds"][0], part["thresholds"][-1]
        axes.plot(xs, ys, label=f"{part['label']}, thresholds {low:g} to {high:g}", **line_style("regime"))
        for point in part["rivals"]:
            axes.scatter(point["cost"], point["mishandled"], label=point["label"], **point_style(point["arm"]))
        top = max(point["mishandled"] for point in part["rivals"])
        axes.set_ylim(-0.03 * top, (1.5 if legend else 1.06) * top)
        axes.grid()
        axes.set_xlabel("total cost (System 1 steps)")
        axes.set_ylabel("critical steps mishandled")
        axes.set_title(f"Misses at equal cost on {_stream(part['family'])}")
        if legend:
            axes.legend(loc="upper right", handletextpad=0.5)

    return panel


def capture(axes: "Axes", data: Data) -> None:
    """Draw the share of the possible gain that each arm has, per environment."""
    part = data["capture"]
    rows = [*part["families"], "median"]
    for offset, series in enumerate(part["series"]):
        values = [*series["percent"], series["medianPercent"]]
        at = [i + 0.13 * (offset - 2) for i in range(len(rows))]
        inside = [max(CAPTURE_FLOOR, value) for value in values]
        axes.scatter(inside, at, label=series["label"], **point_style(series["arm"], size=28))
    axes.axvline(0, color=INK, linewidth=1)
    axes.axvline(100, color=INK, linewidth=1, linestyle=":")
    axes.axhline(len(rows) - 1.5, color=GUIDE, linewidth=0.8)
    axes.set_yticks(range(len(rows)), rows)
    axes.set_ylim(len(rows) - 0.5, -0.6)
    axes.set_xlim(CAPTURE_FLOOR - 6, 110)
    axes.set_xticks([-100, -50, 0, 50, 100], ["≤ -100", "-50", "0", "50", "100"])
    axes.grid()
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(f"capture (%): 0 = {part['zero']}, 100 = {part['hundred']}")
    axes.set_title("Share of the possible gain")
    axes.legend(loc="upper center", bbox_to_anchor=(0.42, -0.08), ncols=5, columnspacing=1.0, handletextpad=0.2)


SINGLE: Mapping[str, tuple[tuple[float, float], Callable[["Axes", Data], None]]] = {
    "fig1_arm_cost": ((6.2, 3.6), arm_cost),
    "fig2_learning": ((6.2, 4.0), learning),
    "fig3_mu_trace": ((6.2, 3.8), mu_of_tasks),
    "fig5_shift_acc": ((6.2, 3.8), shift_accuracy),
    "capture": ((7.4, 7.2), capture),
}
"""Figure of one panel -> size in inches, and who draws it."""


if __name__ == "__main__":
    sys.exit(main())
