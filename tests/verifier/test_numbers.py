"""Numbers as people write them, and the texts that are no number."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier.numbers import plain_number, read_exact, read_quantity, six_digits


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("42", "42"),
        ("-42.0", "-42"),
        ("\u221242", "-42"),
        ("+.5", "1/2"),
        ("5.", "5"),
        ("4.2e1", "42"),
        ("1,234.5", "1234.5"),
        ("1,00,000", "100000"),
        ("１８", "18"),
        ("٤٢", "42"),
        ("1e-3", "1/1000"),
    ],
)
def test_plain_numbers_are_read_by_value(text: str, value: str) -> None:
    assert plain_number(text) == Fraction(value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-",
        ".",
        "nan",
        "inf",
        "1_000",
        "1,5",
        "12,34",
        "0,125",
        "1e9999",
        "²",
        "①",
        "½",
        "0x10",
        "1 2",
        "1e",
        "--1",
        "1.2.3",
    ],
)
def test_words_and_doubtful_groups_are_no_plain_numbers(text: str) -> None:
    assert plain_number(text) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3/4", "3/4"),
        ("-3 / 4", "-3/4"),
        ("1 3/4", "7/4"),
        ("50%", "1/2"),
        ("50 percent", "1/2"),
        ("50 per cent", "1/2"),
        ("3 × 10^8", "300000000"),
        ("2.5·10^-3", "1/400"),
        ("1 018", "1018"),
        ("1\u202f018,5", "2037/2"),
        ("1'234'567", "1234567"),
        ("1.234,5", "2469/2"),
        ("1.234.567", "1234567"),
        ("3,14", "157/50"),
        ("0,125", "1/8"),
        ("x = 42", "42"),
        ("total_1=42", "42"),
        ("42 litres", "42"),
        ("42km", "42"),
        ("42 km/h", "42"),
        ("5 m/s^2", "5"),
        ("5 m²", "5"),
        ("90°", "90"),
        ("7 яблок", "7"),
        ("12 सेब", "12"),
        ("$1,234.50", "2469/2"),
        ("-$5", "-5"),
        ("5 €", "5"),
        ("5 €/kg", "5"),
        ("us$ 5", "5"),
    ],
)
def test_what_can_mean_only_one_number_is_read_exactly(text: str, value: str) -> None:
    assert read_exact(text) == Fraction(value)


@pytest.mark.parametrize(
    "text",
    [
        "42 million",
        "5 миллионов",
        "4万円",
        "3 हज़ार",
        "5k",
        "5 k",
        "5 k€",
        "$5m",
        "5m",
        "2x",
        "2 x",
        "2 xy",
        "4th",
        "42 or 43",
        "42 is",
        "25 square units",
        "3-4",
        "5 -3",
        "5:30",
        "1, 5",
        "3/0",
        "1 5/4",
        "1/2/2021",
        "4.0.1",
        "~42",
        "> 42",
        "x == 5",
        "1e999999999",
        "9" * 401,
    ],
)
def test_what_could_mean_another_number_is_not_read(text: str) -> None:
    assert read_exact(text) is None


def test_a_unit_is_known_by_its_symbol() -> None:
    for spelling in ("4 litres", "4 liter", "4l", "4 l"):
        quantity = read_quantity(spelling)
        assert quantity is not None
        assert quantity.value == 4
        assert quantity.unit == "l"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("0", "0"),
        ("18", "18"),
        ("1/3", "0.333333"),
        ("1234567", "1234570"),
        ("-1e20", "-1e+20"),
        ("1e-7", "1e-7"),
        ("2.50", "2.5"),
    ],
)
def test_six_significant_digits_are_written(value: str, written: str) -> None:
    assert six_digits(Fraction(value)) == written


@given(st.fractions() | st.integers(-(10**30), 10**30).map(Fraction))
def test_what_is_written_reads_back_as_the_same_writing(value: Fraction) -> None:
    written = six_digits(value)
    read = plain_number(written)

    assert read is not None
    assert six_digits(read) == written
    assert abs(read - value) <= abs(value) / 10**5


@given(st.text(alphabet="0123456789.,/ -+e^×%x=$€ 'mk\u202f٣", max_size=30) | st.text())
def test_no_text_makes_the_readers_fail(text: str) -> None:
    for read in (read_exact(text), plain_number(text)):
        assert read is None or isinstance(read, Fraction)


@given(st.integers(-(10**12), 10**12))
def test_every_integer_is_read_with_and_without_commas(value: int) -> None:
    assert read_exact(str(value)) == read_exact(f"{value:,}") == value
