"""How measurements are shown."""

import math

from benchmarks.table import Bar, Figure, Section, aligned, machine, rendered


def test_columns_are_aligned_and_short_rows_are_allowed() -> None:
    text = aligned(("", "ms"), [("floor", "9.5"), ("booster", "10.25"), ("alone",)])

    assert text.splitlines() == ["            ms", "floor      9.5", "booster  10.25", "alone"]


def test_a_figure_stands_beside_its_bar() -> None:
    section = Section(
        title="overhead",
        figures=(
            Figure(name="ratio", value=1.0512, unit="x", bar=Bar(relation="<=", value=1.08)),
            Figure(name="rate", value=612.4, unit="%", bar=Bar(relation=">=", value=700)),
            Figure(name="memory", value=99.96, unit="MB", note="all arms"),
        ),
    )

    lines = rendered(section).splitlines()

    assert lines[0] == "== overhead =="
    assert lines[2].split() == ["ratio", "1.05", "x", "<=", "1.08", "x", "ok"]
    assert lines[3].split() == ["rate", "612", "%", ">=", "700", "%", "MISS"]
    assert lines[4].split() == ["memory", "(all", "arms)", "100", "MB"]
    assert section.missed


def test_a_bar_is_reached_on_its_own_side_only() -> None:
    assert Bar(relation="<=", value=1.5).holds(1.5)
    assert not Bar(relation="<", value=1.5).holds(1.5)
    assert not Bar(relation=">=", value=1.5).holds(1.4)
    assert not Bar(relation="<=", value=1.5).holds(math.nan)


def test_what_was_skipped_says_why_and_misses_nothing() -> None:
    section = Section(title="server", skipped="there is none")

    assert rendered(section) == "== server ==\nskipped: there is none"
    assert not section.missed


def test_the_machine_line_names_cores_and_interpreter() -> None:
    assert "cores" in machine()
    assert "Python" in machine()
