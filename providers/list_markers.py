"""What opens a list item, in any script: numbers, "Step 2:", letters, bullets, headings. Structure only, no word lists."""

import re
import unicodedata
from dataclasses import dataclass, replace
from enum import IntEnum


class Kind(IntEnum):
    """How an item is marked, from the strongest evidence of a list of steps to the weakest."""

    LABEL = 1
    """A word and a number: "Step 1:", "Krok 1 -", "第一步：", "1단계."."""
    NUMBER = 2
    LETTER = 3
    BULLET = 4
    DECIMAL = 5
    """Two-level numbers: "1.1 ..."; below another list they are its details."""
    WORDS = 6
    """A repeated word, another word and a colon: "Step one: ..."."""
    HEADING = 7
    """A heading or a line in bold without a number."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Marker:
    """The marker of one line."""

    kind: Kind
    number: int | None
    """Position it states; None for bullets and headings."""
    label: str
    """Word before a number, letters as written, style of a heading: what items of one list share."""
    body: str
    """Rest of the line."""


_HAN_DIGITS = {digit: value for value, digit in enumerate("〇一二三四五六七八九")}
_ALPHABETS = (
    "abcdefghijklmnopqrstuvwxyz", "абвгдежзиклмнопрст", "αβγδεζηθικλμ", "אבגדהוזחטיכל", "가나다라마바사아자차카타파하",
    "アイウエオカキクケコ", "イロハニホヘト", "甲乙丙丁戊己庚辛壬癸", "أبجدهوزحطي", "কখগঘঙ", "कखगघङ",
)  # fmt: skip
_ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii", "xiii", "xiv", "xv", "xvi")

_KEYCAP_TEN = "🔟"
_HAN = "〇一二三四五六七八九十百"
_DECORATION = r"(?:#{1,6}[ \t]+|[*_]{1,3}|\\(?=\d))?"
_END_DECORATION = r"[*_]{0,3}"
_NUMBER = re.compile(
    rf"{_DECORATION}(?:[(（\[【]\s?(\d{{1,3}})\s?[)）\]】]{_END_DECORATION}[.:：]?{_END_DECORATION}"
    rf"|(?:[#№]\s?)?(\d{{1,3}})\\?(?:\.\)|[.．:]{_END_DECORATION}(?!\d)|[)）\]、：]|°|º|/(?=[ \t])){_END_DECORATION}"
    rf"|(\d{{1,3}})(?:\s?[-–—]\s|[ ]{{2}})|[#№](\d{{1,3}})\s|(\d)\ufe0f?\u20e3|({_KEYCAP_TEN}))(?:[ \t]*)"
)
_HAN_NUMBER = re.compile(rf"{_DECORATION}[(（]?([{_HAN}]{{1,3}})(?:[、．.：:]|[)）])\s*")
_CHAR = (
    r"[^\s\d!-/:-@\[-`{-~：。，、；（）]"  # letters with their marks: some scripts write vowels as marks, no letters
)
_LABEL_WORD = rf"(?P<label>(?:{_CHAR}{{1,20}}(?:[ \t]{_CHAR}{{1,20}})?[ \t_-]?[#№]?|{_CHAR}{{1,3}}\.)[ \t]?)?"
_SEPARATOR = r"(?:[\])）】]?[ \t]?(?:[:.．](?!\d)|[：、])|[\])）】]|[ \t]?(?:[-–—]+|→|⇒|[-=]>|\|)(?=[ \t])|[ \t]*\Z)"
_LABEL = re.compile(
    rf"(?P<style>{_DECORATION})[\[(（【]?{_LABEL_WORD}(?P<number>\d{{1,3}}|[{_HAN}]{{1,3}})(?:[ \t]?/[ \t]?\d{{1,3}})?"
    rf"(?P<suffix>[\u3040-\u9fff\uac00-\ud7af]{{0,3}})(?:[ \t]?\([^()\n]{{1,40}}\))?"
    rf"{_END_DECORATION}[ \t]?(?P<separator>{_SEPARATOR}|(?=[ \t])|[，,])?{_END_DECORATION}[ \t]*"
)
_LETTER = re.compile(rf"{_DECORATION}(?:[(（]([^\W\d_]{{1,5}})[)）]|([^\W\d_]{{1,5}})[.)）、]){_END_DECORATION}[ \t]+")
_DECIMAL = re.compile(rf"{_DECORATION}(\d{{1,2}})\.(\d{{1,2}})[.):]?{_END_DECORATION}[ \t]+")
_BULLET = re.compile(r"(?:([-+*–—])[ \t]+|([•‣◦●○▪■□▫▸▹▶►➤➜➔→⇒⟶✓✔✗☐☑☒∙·・⁃◆◇♦★☆※»›❖✦✧])\ufe0f?[ \t]*)(?=\S)")
_CHECKBOX = re.compile(r"\[[ xX✓✔-]?\][ \t]+")
_HEADING = re.compile(r"(#{1,6})[ \t]+(.+?)[ \t#]*\Z")
_BOLD_LINE = re.compile(r"(\*\*|__)([^*_\n][^*\n]{0,200}?)\1:?[ \t]*\Z|(\*\*|__)([^*\n]{1,200}?):\3[ \t]*\Z")
_WORDS = re.compile(r"[*_#]{0,3}[ \t]?([^\W\d_]{2,20})[ \t]([^\W\d_]{1,20})[*_]{0,3}[:：][*_]{0,3}[ \t]*(?=\S)")
_SYMBOL = re.compile(r".[\ufe0f\u200d]*[ \t]+\S")


def marker_of(line: str) -> Marker | None:
    """Return the marker that opens `line` (leading white space removed), or None where it is running text."""
    if not line or line[0].isspace():
        return None
    marker = _marker(line)
    if marker is not None and marker.body.count("**") % 2:  # the emphasis began before the marker
        head, _, tail = marker.body.rpartition("**")
        return replace(marker, body=head + tail)
    return marker


def _marker(line: str) -> Marker | None:
    bullet = _bullet(line)
    if bullet is not None:
        inner = _label(bullet.body) or _number(bullet.body)
        return inner if inner is not None and inner.body else bullet
    first = _decimal(line) or _number(line)
    if first is not None and first.kind is Kind.NUMBER:
        again = _label(first.body)
        return again if again is not None and again.number == first.number and again.body else first
    return first or _label(line) or _letter(line) or _words(line) or _heading(line)


def sequence_position(token: str) -> tuple[int, ...]:
    """Return the positions (from 1) that a letter token may state: in an alphabet, and as a Roman numeral."""
    low = token.lower()
    found = [alphabet.index(low) + 1 for alphabet in _ALPHABETS if len(low) == 1 and low in alphabet]
    if low in _ROMAN:
        found.append(_ROMAN.index(low) + 1)
    return tuple(found)


def _number(line: str) -> Marker | None:
    if match := _NUMBER.match(line):
        digits = next(group for group in match.groups() if group)
        return Marker(
            kind=Kind.NUMBER, number=10 if digits == _KEYCAP_TEN else int(digits), label="", body=line[match.end() :]
        )
    if match := _HAN_NUMBER.match(line):
        return Marker(kind=Kind.NUMBER, number=_han_value(match[1]), label="", body=line[match.end() :])
    value = _enclosed_number(line[0])
    if value is not None:
        return Marker(kind=Kind.NUMBER, number=value, label="", body=line[1:].lstrip(" \t.):、．：\ufe0f"))
    return None


def _enclosed_number(char: str) -> int | None:
    """Return the value of ①, ⑴, ⒈, ❶, ㊀ or Ⅳ; None for digits, fractions and superscripts."""
    if char.isascii() or unicodedata.category(char) not in ("No", "Nl"):
        return None
    if unicodedata.decomposition(char).startswith(("<super>", "<sub>", "<fraction>")):
        return None
    value = unicodedata.numeric(char, 0.0)
    return int(value) if value >= 1 and value == int(value) and value <= 50 else None


def _han_value(digits: str) -> int:
    if "十" in digits:
        tens, _, ones = digits.partition("十")
        return 10 * _HAN_DIGITS.get(tens, 1) + _HAN_DIGITS.get(ones, 0)
    value = 0
    for digit in digits:
        value = 10 * value + _HAN_DIGITS.get(digit, 0)
    return value


def _label(line: str) -> Marker | None:
    match = _LABEL.match(line)
    if match is None:
        return None
    label, suffix = (match["label"] or "").strip(), match["suffix"]
    separated = bool((match["separator"] or "").strip(" ,，")) or match.end() == len(line)
    ordinal = bool(suffix) and label in ("第", "제")
    if not (label or suffix) or not (separated or ordinal or (label and match["style"])):
        return None
    number = match["number"]
    value = int(number) if number[0].isdigit() and number[0] not in _HAN else _han_value(number)
    return Marker(kind=Kind.LABEL, number=value, label=f"{label} {suffix}".strip(), body=line[match.end() :])


def _letter(line: str) -> Marker | None:
    match = _LETTER.match(line)
    if match is None:
        return None
    token = match[1] or match[2]
    if not sequence_position(token):
        return None
    return Marker(kind=Kind.LETTER, number=None, label=token, body=line[match.end() :])


def _decimal(line: str) -> Marker | None:
    match = _DECIMAL.match(line)
    if match is None:
        return None
    return Marker(kind=Kind.DECIMAL, number=int(match[2]), label=match[1], body=line[match.end() :])


def _bullet(line: str) -> Marker | None:
    match = _BULLET.match(line)
    if match is not None:
        body = _CHECKBOX.sub("", line[match.end() :], count=1)
        return Marker(kind=Kind.BULLET, number=None, label=match[1] or match[2], body=body)
    if box := _CHECKBOX.match(line):
        return Marker(kind=Kind.BULLET, number=None, label="[ ]", body=line[box.end() :])
    if unicodedata.category(line[0]) == "So" and line[0] != _KEYCAP_TEN and _SYMBOL.match(line):
        return Marker(kind=Kind.BULLET, number=None, label="symbol", body=line[1:].lstrip("\ufe0f\u200d \t"))
    return None


def _words(line: str) -> Marker | None:
    match = _WORDS.match(line)
    if match is None:
        return None
    return Marker(kind=Kind.WORDS, number=None, label=match[1], body=line[match.end() :])


def _heading(line: str) -> Marker | None:
    if match := _HEADING.match(line):
        return Marker(kind=Kind.HEADING, number=None, label=match[1], body=match[2])
    if match := _BOLD_LINE.match(line):
        return Marker(kind=Kind.HEADING, number=None, label="**", body=match[2] or match[4])
    return None
