"""The tables of the recorded sets: every arm beside its rivals, differences with intervals, and the bars."""

from collections.abc import Sequence
from typing import Final

from benchmarks.quality.bars import figures_of, regret_figures
from benchmarks.quality.measured import Measured, all_rivals, equal_cost
from benchmarks.quality.outcomes import Summary, difference
from benchmarks.quality.rivals import PUBLISHED, Rival
from benchmarks.statistics import mean
from benchmarks.table import Figure, Section

HEADER: Final = (
    "", "right %", "95 %", "± seeds", "calls", "strong", "tokens", "ECE", "Brier", "settled % (right)", "minus one call [95 %]",
)  # fmt: skip


def set_section(one: Measured) -> Section:
    """Return the table of one set: arms, rivals, published figures, and the bars."""
    recorded = one.recorded
    reference = one.right(one.reference)
    rows = [_arm_row(name, one.summary(name), one.right(name), reference, name == one.reference) for name in one.found]
    rows += [_rival_row(rival, reference) for rival in all_rivals(one)]
    rows += [
        (
            f"published: {row.name}",
            f"{row.right:.1f}",
            "",
            "",
            f"{row.calls:.2f}",
            f"{row.strong:.2f}" if row.strong else "",
        )
        for row in PUBLISHED.get(one.key, ())
    ]
    note = f"; {recorded.note}" if recorded.note else ""
    title = f"{recorded.name}: {len(recorded.questions)} questions, {one.seeds} seeds{note}"
    return Section(title=title, header=HEADER, rows=rows, figures=figures_of(one))


def overview(found: Sequence[Measured]) -> Section:
    """Return what the default gains over one call, and over the obvious rival at equal cost, on every set; the worst last."""
    rows = []
    for one in found:
        summary, plain = one.summary(one.own), one.summary(one.reference)
        equal = equal_cost(one)
        rows.append((
            one.recorded.name, f"{100 * plain.right:.1f}", f"{100 * summary.right:.1f}", f"{summary.calls:.2f}",
            f"{summary.strong:.2f}" if one.recorded.strong else "",
            points(one.right(one.own), one.right(one.reference)), points(one.right(one.own), equal.right), equal.name,
        ))  # fmt: skip
    gains = {one.recorded.name: mean(one.right(one.own)) - mean(equal_cost(one).right) for one in found}
    figures = []
    if gains:
        worst = min(gains, key=lambda name: gains[name])
        figures.append(
            Figure(name="booster over its rival at equal cost, mean of the sets", value=100 * mean(list(gains.values())),
                   unit="points", note=f"worst set {worst}: {100 * gains[worst]:+.1f}")
        )  # fmt: skip
    figures += regret_figures(found)
    header = ("set", "one call %", "booster %", "calls", "strong", "gain [95 %]", "gain at equal cost [95 %]", "over")
    return Section(title="recorded replies, all sets", header=header, rows=rows, figures=figures)


def points(ours: Sequence[float], theirs: Sequence[float]) -> str:
    """Return `difference [low, high]` in percentage points; paired, over questions."""
    gap, low, high = difference(ours, theirs)
    return f"{100 * gap:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"


def _arm_row(
    name: str, found: Summary, right: Sequence[float], reference: Sequence[float], is_reference: bool
) -> tuple[str, ...]:
    settled = f"{100 * found.settled:.0f}"
    if found.settled_right is not None:
        settled += f" ({100 * found.settled_right:.0f})"
    return (
        name, f"{100 * found.right:.1f}", f"{100 * found.low:.1f}..{100 * found.high:.1f}", f"{100 * found.spread:.1f}",
        f"{found.calls:.2f}", f"{found.strong:.2f}" if found.strong else "", f"{found.tokens:.0f}",
        f"{found.calibration:.3f}", f"{found.brier:.3f}", settled, "" if is_reference else points(right, reference),
    )  # fmt: skip


def _rival_row(rival: Rival, reference: Sequence[float]) -> tuple[str, ...]:
    strong = f"{rival.strong:.2f}" if rival.strong else ""
    gain = points(rival.right, reference)
    return (rival.name, f"{100 * mean(rival.right):.1f}", "", "", f"{rival.calls:.2f}", strong, "", "", "", "", gain)
