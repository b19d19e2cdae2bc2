"""Find the final answer in a reply, and the forms in which two answers count as one.

Above: votes (`verifier.consensus`) and checks. Below: tables (`verifier.notation`) and readers of numbers and markup.
Two forms serve two purposes. `normal_form` is strict: what it equates is the same text or the same number. `vote_key` groups
the many ways in which samples of one model write one answer; whatever has equal normal forms has equal vote keys, but for JSON
objects, whose texts are compared exactly.
"""

import json
import re
import unicodedata
from datetime import date
from fractions import Fraction
from functools import lru_cache
from typing import Any

from verifier import notation
from verifier.markup import last_boxed, plain, unwrap
from verifier.numbers import ascii_digits, plain_number, read_exact, read_quantity, six_digits
from verifier.structure import canonical

MAX_REPLY_CHARS = 400_000
"""Only the last so many characters of a reply are searched for an answer."""
_MAX_BLOCK = 20_000
"""Characters looked at below a label that has nothing behind it."""
ANSWER_FIELDS = ("answer", "final_answer", "finalAnswer", "final answer")
"""Keys of a JSON object that hold the final answer, best first; case does not matter."""

_MONTH = {name: number for number, names in enumerate(notation.MONTHS, start=1) for name in names.split()}
_DATES = (
    re.compile(r"(?P<y>[0-9]{4})(?P<sep>[-/])(?P<m>[0-9]{1,2})(?P=sep)(?P<d>[0-9]{1,2})"),
    re.compile(r"(?P<y>[0-9]{4}) ?[年년] ?(?P<m>[0-9]{1,2}) ?[月월] ?(?P<d>[0-9]{1,2}) ?[日일]?"),
    re.compile(r"(?P<d>[0-9]{1,2})\. ?(?P<m>[0-9]{1,2})\. ?(?P<y>[0-9]{4})"),
    re.compile(
        r"(?P<d>[0-9]{1,2})(?:st|nd|rd|th|er|\.|º|ª)? (?:of |de |di )?(?P<name>[^\W\d]+)\.?,? (?:de |del )?(?P<y>[0-9]{4})"
    ),
    re.compile(r"(?P<name>[^\W\d]+)\.? (?P<d>[0-9]{1,2})(?:st|nd|rd|th)?,? (?P<y>[0-9]{4})"),
)
_SLASHED = re.compile(r"([0-9]{1,2})/([0-9]{1,2})/([0-9]{4})")
_CHOICE = re.compile(r"[(\[]?([^\W\d_])[)\].:]?")
_THOUGHT_END = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_THOUGHT_START = re.compile(r"\s*<think(?:ing)?>", re.IGNORECASE)
_LATEX_IN_JSON = re.compile(
    r"(?<!\\)\\(?=[^\"\\/bfnrtu]|[bf][a-z]|(?:text\w*|times|tfrac|theta|tan|tau|to|neq?|nu|right|rho|rangle)(?![a-z]))"
)
_FIELD = re.compile(
    r'"(?:' + "|".join(ANSWER_FIELDS) + r')"\s*+:\s*+'
    r'(?:"(?P<string>(?:[^"\\]|\\(?:["\\/bfnrt]|u[0-9a-f]{4}))*+)"\s*+(?=[,}\]]|$)|(?P<bare>[^\s",{}\[\]][^\n",{}\[\]]*+)(?=[,}\n]))',
    re.IGNORECASE,
)
_OBJECT = re.compile(r'\{\s*+"')
_MAX_OBJECTS = 2_000
_MAX_REREADING = 8
"""How many times the length of a reply may be read in vain for JSON, so that broken braces cannot cost quadratic time."""
_LABEL = r"^[ \t>#*_`\-]*+(?:{labels})[ \t*_`]*+(?:[:：=][ \t*_`]*+(?P<rest>.*)|(?P<heading>))$"


def _label_pattern(table: str) -> re.Pattern[str]:
    labels = sorted(set(re.split(r"[|\n]", table.strip())), key=len, reverse=True)
    return re.compile(_LABEL.format(labels="|".join(map(re.escape, labels))), re.IGNORECASE | re.MULTILINE)


_LABELS = (_label_pattern(notation.FINAL_LABELS), _label_pattern(notation.PLAIN_LABELS))


def extract_answer(text: str) -> str | None:
    """Return the final answer that a reply states, or None; it is never guessed from the prose.

    Searched in this order: the field `answer` of the last JSON object that has one; the last `\\boxed{}`; the last line
    labelled "Final answer:", else "Answer:", in any of many languages, its value behind the label or below it. Thoughts are
    not searched: whatever stands before `</think>`, and a thought that never ends.
    """
    spoken = _without_thoughts(text[-MAX_REPLY_CHARS:])
    found = _from_json(spoken)
    if found is not None:
        return found  # as the field says: what looks like markup there may be the answer itself
    found = last_boxed(spoken) or _from_label(spoken)
    return None if found is None else unwrap(found) or None


def normal_form(text: str) -> str:
    """Return the form by which `equals` compares: trimmed, case-folded, NFC; a number by its value.

    A number is a decimal with optional sign, thousands commas and exponent, digits of any script; it is written with six
    significant digits (`1,018.0` and `1018` are equal, so are 1234567 and 1234568). All else stays text, superscripts and
    circled digits too. Idempotent.
    """
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).casefold()).strip()
    number = plain_number(folded)
    return folded if number is None else six_digits(number)


@lru_cache(maxsize=512)
def vote_key(text: str) -> str:
    """Return the key by which answers are grouped in a vote; it groups only where the writings surely mean the same.

    Equated: Markdown, LaTeX and a final full stop with their absence; numbers, fractions, percents and powers of ten by value
    (`1/2`, `0.5`, `50%`); `x = 42` with `42`; spellings of a unit (`4 litres`, `4 l`); ISO dates with dates that read one way
    only; yes and no with true and false, in many languages; `(B)`, `B.` and `b)`; JSON objects of equal values.
    Kept apart: a number with a unit from the bare number, since `4 litres` and `4 gallons` would meet through `4`; 50 from 50%;
    `05/06/2021`, which two countries read as two days; the quoted string `'5'` from 5. What is ill-formed stays as it is.
    """
    if (structure := canonical(text)) is not None:
        return structure
    tidy = normal_form(plain(normal_form(text)))
    ascii_text = ascii_digits(tidy)
    if day := _date(ascii_text):
        return day.isoformat()
    if tidy in notation.YES or tidy in notation.NO:
        return "yes" if tidy in notation.YES else "no"
    if choice := _CHOICE.fullmatch(tidy):
        return choice[1]
    quantity = read_quantity(tidy)
    if quantity is None:
        return tidy
    return f"{six_digits(quantity.value)} {quantity.unit}".rstrip()


def exact_number(text: str) -> Fraction | None:
    """Return the one number that a text states, exactly, or None; markup is taken off first (see `numbers.read_exact`)."""
    folded = unicodedata.normalize("NFC", text).casefold().strip()
    return read_exact(plain(folded))


def _without_thoughts(text: str) -> str:
    *_, spoken = _THOUGHT_END.split(text)
    return "" if _THOUGHT_START.match(spoken) else spoken


def _from_json(text: str) -> str | None:
    """Return the answer field of the last JSON object that has one, at any depth; fences and prose around it do not matter."""
    folded = text.casefold()
    if not any(f'{field.casefold()}"' in folded for field in ANSWER_FIELDS):
        return None
    text = _LATEX_IN_JSON.sub(r"\\\\", text)
    found, end, work = None, 0, _MAX_REREADING * len(text)
    for at in [opening.start() for opening in _OBJECT.finditer(text)][-_MAX_OBJECTS:]:
        if at < end or work < 0:
            continue
        try:
            value, end = _DECODER.raw_decode(text, at)
            found = _answer_field(value) or found
        except json.JSONDecodeError as error:
            work -= error.pos - at  # an object inside the broken one may still be whole
        except RecursionError:
            work -= len(text)
    return found or _from_broken_json(text)


def _from_broken_json(text: str) -> str | None:
    """Return the last answer field that is whole in itself, where the object around it is not JSON; cut ones do not count."""
    for field in reversed(list(_FIELD.finditer(text))):
        if field["string"] is None:
            answer = None if field["bare"] == "null" else _meant(field["bare"])
        else:
            answer = _meant(json.loads(f'"{field["string"]}"', strict=False))
        if answer is not None:
            return answer
    return None


def _answer_field(value: Any) -> str | None:
    """Return the last answer in document order, as text; a blank one, null and the `...` of an echoed format are none."""
    found = None
    stack = [value]
    while stack:
        node = stack.pop()
        fields = {key.casefold(): item for key, item in node.items()} if isinstance(node, dict) else {}
        held = [fields[name] for name in map(str.casefold, ANSWER_FIELDS) if fields.get(name) is not None]
        if held:
            found = _meant(_as_text(held[0])) or found
        elif isinstance(node, (dict, list)):
            stack.extend(reversed(list(node.values() if isinstance(node, dict) else node)))
    return found


class _Numeral:
    """A JSON number as it was written, so that `42.0` stays `42.0`."""

    def __init__(self, written: str) -> None:
        self.written = written


_DECODER = json.JSONDecoder(strict=False, parse_int=_Numeral, parse_float=_Numeral, parse_constant=_Numeral)


def _as_text(value: Any, *, top: bool = True) -> str:
    """Write a JSON value: a string bare at the top, everything else in JSON notation with numbers as they were written."""
    match value:
        case _Numeral():
            return value.written
        case str():
            return value if top else json.dumps(value, ensure_ascii=False)
        case list():
            return "[" + ", ".join(_as_text(item, top=False) for item in value) + "]"
        case dict():
            return (
                "{"
                + ", ".join(f"{json.dumps(k, ensure_ascii=False)}: {_as_text(v, top=False)}" for k, v in value.items())
                + "}"
            )
        case _:
            return json.dumps(value)


def _from_label(text: str) -> str | None:
    for labels in _LABELS:
        for found in reversed(list(labels.finditer(text))):
            if found["heading"] is not None and not found[0].lstrip().startswith(("#", "*", "_")):
                continue  # the word alone on a line announces something only as a heading
            below = text[found.end() : found.end() + _MAX_BLOCK]
            answer = _meant(_closed(found["rest"] or "")) or _meant(_closed(_below(below)))
            if answer is not None:
                return answer
    return None


def _below(text: str) -> str:
    """Return the first block under a label: a fenced block whole, else one line."""
    text = text.lstrip()
    if fenced := re.match(r"```[^\n]*\n(.*?)\n?```", text, re.DOTALL):
        return fenced[1]
    line = text.partition("\n")[0]
    return "" if any(labels.match(line) for labels in _LABELS) else line


def _closed(line: str) -> str:
    """Take off the end of an emphasis that began before the label."""
    return line.strip().removesuffix("**") if line.count("**") % 2 else line


def _meant(answer: str) -> str | None:
    """Return the answer trimmed; None where it is blank or a placeholder."""
    answer = answer.strip()
    return answer if answer.strip(".…<>*_ ") else None


def _date(text: str) -> date | None:
    """Read a whole text as one calendar day where it can mean only one."""
    fields: tuple[int, int, int] | None = None
    if slashed := _SLASHED.fullmatch(text):
        first, second, year = (int(part) for part in slashed.groups())
        if first > 12 or first == second:
            fields = year, second, first
        elif second > 12:
            fields = year, first, second
    for pattern in _DATES:
        if fields is None and (found := pattern.fullmatch(text)):
            parts = found.groupdict()
            month = _MONTH.get(parts["name"]) if "name" in parts else int(parts["m"])
            fields = (int(parts["y"]), month, int(parts["d"])) if month else None
    try:
        return date(*fields) if fields else None
    except ValueError:
        return None
