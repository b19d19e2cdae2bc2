"""Text and numbers fit to be shown."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from booster.server.viewer.text import age, clipped, iso, line, moment, number, seconds, shown, usd


@given(st.text())
def test_nothing_that_is_shown_can_command_or_reorder(text: str) -> None:
    found = shown(text)

    assert not any(
        unicodedata.bidirectional(mark) in {"RLO", "LRO", "RLE", "LRE", "PDF", "RLI", "LRI", "FSI", "PDI"}
        for mark in found
    )
    assert not any(unicodedata.category(mark) in ("Cc", "Cs") and mark not in "\n\t" for mark in found)


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "S"]) | st.just("\n")))
def test_ordinary_text_is_shown_as_it_is(text: str) -> None:
    assert shown(text) == text


def test_what_was_rendered_here_and_what_is_no_text_passes() -> None:
    markup = Markup("<b>\u202e</b>")

    assert shown(markup) is markup
    assert shown(None) is None
    assert shown(3) == 3


@given(st.text(), st.integers(1, 50))
def test_a_line_is_one_line_of_at_most_so_many_characters(text: str, limit: int) -> None:
    found = line(text, limit)

    assert len(found) <= limit
    assert len(found.splitlines()) <= 1


def test_what_is_cut_says_how_much() -> None:
    assert clipped("abcdef", 6) == "abcdef"
    assert clipped("a" * 2000, 500) == "a" * 500 + "… [1,500 more characters]"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0004, "0 ms"), (0.226, "226 ms"), (0.9996, "1.0 s"), (59.96, "1 min"), (61, "1 min 1 s"), (3725, "1 h 2 min"), (90000, "1 d 1 h")],
)  # fmt: skip
def test_a_duration_has_the_unit_that_fits(value: float, text: str) -> None:
    assert seconds(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0.461, "0.461"), (3.0, "3"), (-0.0001, "0"), (1382935939369.58, "1.4e12"), (float("inf"), "inf"), (-2.5, "-2.5")],
)  # fmt: skip
def test_a_number_is_short_and_no_zero_has_a_sign(value: float | None, text: str) -> None:
    assert number(value) == text


def test_an_unknown_price_is_no_zero() -> None:
    assert (usd(None), usd(0.0), usd(0.0042), usd(12.5)) == ("unknown", "$0.00", "$0.0042", "$12.50")


@given(st.floats(0, 4_000_000_000))
def test_a_moment_survives_being_written(time: float) -> None:
    assert moment(iso(time)) == pytest.approx(time, abs=0.001)


@pytest.mark.parametrize(
    ("passed", "text"),
    [(-5, "just now"), (2, "just now"), (59, "59 s ago"), (119, "1 min ago"), (7300, "2 h ago"), (90_000, "1 d ago")],
)
def test_an_age_has_one_unit(passed: float, text: str) -> None:
    assert age("2026-01-01T00:00:00.000Z", (moment("2026-01-01T00:00:00.000Z") or 0) + passed) == text
