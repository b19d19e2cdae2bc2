"""Numbers as people write them, read exactly.

Everything is a rational (`fractions.Fraction`), so that 0.1 is a tenth and 1/3 a third. A text that more than one number
could be meant by is not read at all.
"""

import re
import unicodedata
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

from verifier.notation import SCALE_STEMS, SCALE_WORDS, SHORT_UNITS, UNITS

MAX_CHARS = 400
"""A longer text is not taken for a number; it also bounds the size of the integers that are computed with."""
DIGITS = 6
"""Significant digits by which `six_digits` tells numbers apart."""

_SIX = Context(prec=DIGITS, rounding=ROUND_HALF_EVEN, Emax=999_999, Emin=-999_999)
_SIGNS = str.maketrans("\u2212\ufe63\uff0d\uff0b\u066b\u066c\uff0e\uff0c", "---+.,.,")

_EXPONENT = r"(?:e[+-]?[0-9]{1,3})?"
_POINT = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)" + _EXPONENT
_GROUPED = r"(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+|[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3})(?:\.[0-9]*)?" + _EXPONENT
_PLAIN = re.compile(rf"[+-]?(?:{_GROUPED}|{_POINT})")
_END = r"(?![0-9.,'’])"  # the number ends where no digit or separator follows
_NUMBER = re.compile(
    rf"(?P<spaced>[1-9][0-9]{{0,2}}(?:[ \u00a0\u2009\u202f'’][0-9]{{3}})+(?:[.,][0-9]+)?){_END}"
    rf"|(?P<pointed>[1-9][0-9]{{0,2}}(?:\.[0-9]{{3}})+,[0-9]+|[1-9][0-9]{{0,2}}(?:\.[0-9]{{3}}){{2,}}){_END}"
    rf"|(?P<plain>{_GROUPED}|{_POINT}){_END}"
    rf"|(?P<comma>[0-9]+,(?:[0-9]{{1,2}}|[0-9]{{4,}})|0,[0-9]{{3}}){_END}"
)
_FRACTION = re.compile(r"(?:([0-9]+) +)?([0-9]+) ?/ ?([0-9]+)" + _END)
_TIMES_TEN = re.compile(r" ?[×x*·] ?10 ?\^ ?\(?([+-]?[0-9]{1,3})\)?" + _END)
_NAMED = re.compile(r"[^\W\d]\w* ?= ?(?=[^=])")
_SYMBOL = {
    spelling.replace("~", " "): symbol for symbol, names in UNITS.items() for spelling in (symbol, *names.split())
}
_JOINTS = re.compile("[/·*]")
_POWER = re.compile(r"(?:\^?-?[0-9]|⁻?[¹²³])$")
_SCALES = (*SCALE_STEMS, *(word for word in SCALE_WORDS if len(word) == 1 and not word.isascii()))


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with what was written after it."""

    value: Fraction
    unit: str
    """Case-folded text after the number, or the currency sign before it; a known unit by its symbol; empty = none.
    Percent is not a unit: `50%` has the value 1/2."""
    attached: bool = False
    """The unit followed the number without a space."""


def ascii_digits(text: str) -> str:
    """Write decimal digits of every script, and its decimal and minus signs, the ASCII way.

    Superscripts and circled digits are not decimal digits and stay.
    """
    if text.isascii():
        return text
    text = text.translate(_SIGNS)
    return "".join(str(unicodedata.decimal(char)) if char.isdecimal() else char for char in text)


def plain_number(text: str) -> Fraction | None:
    """Read a whole text as a number with a decimal point, thousands commas and exponent; None where it is none.

    The text is trimmed and case-folded. `nan`, `inf` and `1_000` are words.
    """
    if len(text) > MAX_CHARS:
        return None
    text = ascii_digits(text)
    return Fraction(text.replace(",", "")) if _PLAIN.fullmatch(text) else None


def read_quantity(text: str) -> Quantity | None:
    """Read a whole text as one number, with a unit, a currency sign or a name before it (`x = 42`) where there is one.

    Understood beside `plain_number`: fractions and mixed numbers (`3/4`, `1 3/4`), `3 × 10^8`, percent, thousands grouped by
    spaces, apostrophes or points where that is certain (`1 018`, `1.234,5`), and decimal commas that cannot group thousands
    (`3,14`; `1,018` is 1018). The text is trimmed, case-folded and free of markup.
    """
    if len(text) > MAX_CHARS:
        return None
    text = ascii_digits(text)
    text = text[named.end() :] if (named := _NAMED.match(text)) else text
    sign, currency, text = _sign_and_currency(text)
    read = _read_value(text)
    if read is None:
        return None
    value, end = read
    rest = text[end:]
    unit = rest.strip()
    if currency:
        return Quantity(sign * value, _SYMBOL.get(currency, currency)) if not unit else None
    if unit and not (
        rest[0].isspace() or rest[0] in "°%‰℃" or _is_letter(rest[0]) or unicodedata.category(rest[0]) == "Sc"
    ):
        return None
    unit = _SYMBOL.get(unit, unit)
    if unit == "%":
        return Quantity(sign * value / 100, "")
    return Quantity(sign * value, unit, attached=bool(unit) and not rest[0].isspace())


def read_exact(text: str) -> Fraction | None:
    """Read a whole text as exactly one number, or return None; for comparing, so what is ambiguous is not read.

    A unit may follow if it is a single word or symbol (`42 litres`, `42 km/h`, `5 m^2`). A word that multiplies
    (`42 million`), a short text that is no known unit (`2 xy`) and a letter that touches the number (`2x`, `5m`, `5k`) make
    the text ambiguous.
    """
    quantity = read_quantity(text)
    if quantity is None:
        return None
    return quantity.value if not quantity.unit or _is_plain_unit(quantity) else None


def has_unit(quantity: Quantity) -> bool:
    """Say whether what follows the number is surely a unit, of one word or several: `litres`, `square units`, not `or 5`."""
    words = quantity.unit.split()
    return bool(words) and all(_is_unit_word(_POWER.sub("", part)) for word in words for part in _JOINTS.split(word))


def six_digits(value: Fraction) -> str:
    """Write a number by its value: six significant digits, no trailing zeros; `plain_number` reads it back."""
    rounded = _SIX.divide(Decimal(value.numerator), Decimal(value.denominator))
    if not rounded:
        return "0"
    rounded = rounded.normalize(_SIX)
    if -6 <= rounded.adjusted() <= 15:
        return f"{rounded:f}"
    return f"{rounded:e}"


def _sign_and_currency(text: str) -> tuple[int, str, str]:
    """Split off a sign and a currency sign, in either order."""
    sign, currency = 1, ""
    for _ in range(2):
        if text[:1] in ("-", "+") and sign == 1:
            sign, text = (-1 if text[0] == "-" else 1), text[1:]
        elif text[:3] == "us$" and not currency:
            currency, text = "$", text[3:].lstrip()
        elif text and unicodedata.category(text[0]) == "Sc" and not currency:
            currency, text = text[0], text[1:].lstrip()
    return sign, currency, text


def _read_value(text: str) -> tuple[Fraction, int] | None:
    """Read the unsigned number at the front; return it with the position after it."""
    if fraction := _FRACTION.match(text):
        whole, over, under = (int(group or 0) for group in fraction.groups())
        if under == 0 or (fraction[1] and over >= under):
            return None
        return whole + Fraction(over, under), fraction.end()
    number = _NUMBER.match(text)
    if number is None:
        return None
    written, end = number[0], number.end()
    if written.endswith(".") and text[end:]:
        return None  # the point ends a sentence or a list number; what follows is not a unit
    if number.lastgroup == "spaced":
        written = re.sub(r"[ \u00a0\u2009\u202f'’]", "", written).replace(",", ".")
    elif number.lastgroup == "pointed":
        written = written.replace(".", "").replace(",", ".")
    elif number.lastgroup == "comma":
        written = written.replace(",", ".")
    value = Fraction(written.replace(",", ""))
    if power := _TIMES_TEN.match(text, end):
        return value * Fraction(10) ** int(power[1]), power.end()
    return value, end


def _is_plain_unit(quantity: Quantity) -> bool:
    """Say whether the text after the number can only be one unit and belongs to no other number."""
    unit = quantity.unit
    if quantity.attached and len(unit) == 1 and _is_letter(unit):
        return False
    return " " not in unit and has_unit(quantity)


def _is_unit_word(word: str) -> bool:
    if word in _SYMBOL or (len(word) == 1 and (word == "‰" or unicodedata.category(word) == "Sc")):
        return True
    if word in SCALE_WORDS or word.startswith(_SCALES) or not all(_is_letter(char) or char in "°µ" for char in word):
        return False
    return word in SHORT_UNITS or len(word) > 2 or (bool(word) and not word.isascii())


def _is_letter(char: str) -> bool:
    return unicodedata.category(char)[0] in "LM"
