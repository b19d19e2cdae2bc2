"""Quality over cost, one picture a set: the arms, the curve of votes or mixtures, and the figures published with the data."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.quality.arms import CHEAP, PLAIN, STRONG, VOTES, vote_name
from benchmarks.quality.measured import Measured
from benchmarks.quality.rivals import PUBLISHED, STRONG_CALL
from benchmarks.scheduler.figure_style import DPI, GUIDE, INK, apply, serif

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS: Final = ("#10305c", "#a8431d", "#4f9d69", "#e08f45", "#7b5ea7", "#4a6fa5", "#8a8a8a")
MARKERS: Final = ("o", "s", "D", "^", "v", "P", "X")


def draw(found: Sequence[Measured], out: Path) -> list[Path]:
    """Draw one picture a set into a folder, as PNG at 300 dpi; return the files.

    Raises:
        ModuleNotFoundError: matplotlib is not installed.
    """
    from matplotlib import font_manager
    from matplotlib.figure import Figure as Canvas

    apply(serif({entry.name for entry in font_manager.fontManager.ttflist}))
    out.mkdir(parents=True, exist_ok=True)
    paths = []
    for one in found:
        canvas = Canvas(figsize=(7.2, 4.2), layout="constrained")
        _curve(canvas.subplots(), one)
        paths.append(out / f"quality-{one.key}.png")
        canvas.savefig(paths[-1], dpi=DPI)
    return paths


def _curve(axes: "Axes", one: Measured) -> None:
    """Draw accuracy over the calls of a question, a strong one counted as what it costs."""
    routed = one.recorded.kind == "models"
    base = [CHEAP, STRONG] if routed else [PLAIN, *(vote_name(n) for n in VOTES if vote_name(n) in one.found)]
    line = [(_cost(one, arm), 100 * one.summary(arm).right) for arm in base]
    label = "random mixture of the two models" if routed else "votes of fixed size"
    axes.plot(*zip(*line, strict=True), color=GUIDE, linestyle="--", marker=".", label=label, zorder=1)
    own = [arm for arm in one.found if arm not in base]
    for arm, colour, marker in zip(own, COLOURS, MARKERS, strict=False):
        found = one.summary(arm)
        axes.errorbar(
            _cost(one, arm), 100 * found.right, yerr=[[100 * (found.right - found.low)], [100 * (found.high - found.right)]],
            color=colour, marker=marker, linestyle="none", capsize=3, elinewidth=0.8, label=arm, zorder=3,
        )  # fmt: skip
    limit = 1.3 * max(_cost(one, arm) for arm in one.found)
    known = [row for row in PUBLISHED.get(one.key, ()) if row.calls + (STRONG_CALL - 1) * row.strong <= limit]
    if known:
        axes.scatter(
            [row.calls + (STRONG_CALL - 1) * row.strong for row in known], [row.right for row in known],
            facecolors="none", edgecolors=INK, marker="o", s=28, linewidths=0.8, label="published with the data", zorder=2,
        )  # fmt: skip
    axes.set_xlabel("cost of a question, in calls" + (f" (a strong one counts {STRONG_CALL})" if routed else ""))
    axes.set_ylabel("right, %")
    axes.set_title(
        f"{one.recorded.name}: {len(one.recorded.questions)} questions, {one.seeds} seeds, 95 % over questions"
    )
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8)


def _cost(one: Measured, arm: str) -> float:
    found = one.summary(arm)
    return found.calls + (STRONG_CALL - 1) * found.strong
