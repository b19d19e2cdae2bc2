"""Steps in XML or HTML elements, in tables, in delimited rows and in blocks of labelled lines."""

import csv
import html
import re
from typing import Any

from providers.json_items import Nested, read_items
from providers.lenient_json import join_pairs
from providers.list_items import field_of, unwrap
from providers.proposal_items import NOTHING, Reading, item_from_pairs, role_of
from providers.types import Proposal

_HTML_PAGE = re.compile(
    r"\s*(?:<!--.{0,200}?-->\s*)?(?:<\?xml[^<>]{0,100}>\s*)?(?:<!doctype html|<html\b|<head\b|<body\b)",
    re.IGNORECASE | re.DOTALL,
)
_TAG_LINE = re.compile(r"^[ \t]*<[A-Za-z][\w:.-]{0,40}(?:\s[^<>]{0,300})?/?>", re.MULTILINE)
_INLINE_TAG = re.compile(
    r"</?(?:b|i|em|strong|u|code|span|a|sub|sup|small|mark|font|kbd)(?:\s[^<>]{0,300})?>", re.IGNORECASE
)
_BREAK_TAG = re.compile(r"<(?:/?p|br\s{0,3}/?|/?div)(?:\s[^<>]{0,300})?>", re.IGNORECASE)
_CDATA = re.compile(r"<!\[CDATA\[|\]\]>")
_TAG = re.compile(r"<(?P<close>/)?(?P<name>[A-Za-z_][\w:.-]{0,40})(?P<attributes>(?:\s[^<>]{0,600}?)?)(?P<empty>/)?>")
_ATTRIBUTE = re.compile(r"([\w-]{1,30})\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_TRAILING_NUMBER = re.compile(r"[\d_-]+\Z")
_LEAVES = frozenset({"li", "item", "entry", "point", "option"})
_MAX_DEPTH = 16

_RULE_CELL = re.compile(r":?-{1,}:?|:?={2,}:?")
_GRID_LINE = re.compile(r"\+[-=+]{3,}\+")
_INDEX_HEADERS = frozenset({"", "#", "no", "id", "nr", "№"})
_LETTER_RUN = re.compile(r"[^\W\d_]{2}")
_OTHER_LABEL = re.compile(r"[^\W\d_][\w ]{1,20}[:：][ \t]")
_RECORD_START = re.compile(r"\[\[?[\w.]{1,40}\]\]?|-{3,}|={3,}")


class _Element:
    """An open element: what was read inside it so far."""

    def __init__(self, name: str, attributes: str) -> None:
        self.name = name
        self.pairs: list[tuple[str, Any]] = []
        self.words: list[str] = []
        found = ((key, double or quoted) for key, double, quoted in _ATTRIBUTE.findall(attributes))
        self.fields = [(key, html.unescape(value)) for key, value in found if role_of(key)]

    def pair(self) -> tuple[str, Any] | None:
        """Return the element as a field of its parent; None where it is blank."""
        stem = _TRAILING_NUMBER.sub("", self.name.rpartition(":")[2].lower())
        words = html.unescape("".join(self.words)).strip()
        if self.pairs:
            return stem, join_pairs([*self.pairs, *self.fields])
        if self.fields:
            own = [("text", words)] if words and all(role_of(key) != "text" for key, _ in self.fields) else []
            return stem, dict([*own, *self.fields])
        return ("text" if stem in _LEAVES else stem, words) if words else None


def is_html_page(text: str) -> bool:
    """Tell whether a text is a whole HTML document: the page of a proxy or of an error, never a list of steps."""
    return _HTML_PAGE.match(text) is not None


def read_elements(text: str, *, cut: bool, nested: Nested, anywhere: bool) -> Reading:
    """Return the items in XML or HTML elements.

    Args:
        text: The text.
        cut: The text was cut: an element left open is dropped.
        nested: Reads an element that holds a list in prose.
        anywhere: Also where no element opens a line.
    """
    if ("</" not in text and "/>" not in text) or not (anywhere or _TAG_LINE.search(text)):
        return NOTHING
    clean = _CDATA.sub("", _BREAK_TAG.sub("\n", _INLINE_TAG.sub("", text)))
    stack, at = [_Element("", "")], 0
    for tag in _TAG.finditer(clean):
        stack[-1].words.append(clean[at : tag.start()])
        at = tag.end()
        if tag["close"]:
            _close(stack, tag["name"])
            continue
        if stack[-1].name == tag["name"] and tag["name"].lower() == "li":
            _close(stack, tag["name"])
        if len(stack) < _MAX_DEPTH:
            stack.append(_Element(tag["name"], tag["attributes"]))
            if tag["empty"]:
                _close(stack, tag["name"])
    stack[-1].words.append(clean[at:])
    while len(stack) > 1:
        if cut:
            stack[-1].words.clear()
        _close(stack, stack[-1].name)
    pairs = stack[0].pairs
    return read_items(join_pairs(pairs), cut=False, nested=nested) if pairs else NOTHING


def _close(stack: list[_Element], name: str) -> None:
    """Close the innermost element of that name and whatever is open inside it; a stray closing tag does nothing."""
    if all(element.name != name for element in stack[1:]):
        return
    while True:
        element = stack.pop()
        pair = element.pair()
        if pair is not None:
            stack[-1].pairs.append(pair)
        if element.name == name:
            return


def read_table(text: str, *, cut: bool, known: bool) -> list[Proposal]:
    """Return one item a row of the last Markdown table.

    Args:
        text: The text.
        cut: The text was cut: an unclosed last row is dropped.
        known: Only tables with a known column title count; else columns are judged by what they hold.
    """
    if "|" not in text and "│" not in text:
        return []
    tables: list[list[list[str]]] = []
    open_table = False
    for line in text.replace("│", "|").split("\n"):
        bare = line.strip()
        if _GRID_LINE.fullmatch(bare):
            bare = "|-|-|"
        if "|" not in bare.strip("|") and not (open_table and "|" in bare):
            open_table = False
            continue
        if not open_table:
            tables.append([])
            open_table = True
        tables[-1].append([cell.strip() for cell in re.split(r"(?<!\\)\|", bare.strip("|"))])
    if cut and open_table and not text.rstrip(" ").endswith(("|", "│", "\n")):
        tables[-1].pop()
    for table in reversed(tables):
        rows = [row for row in table if not all(_RULE_CELL.fullmatch(cell) or not cell for cell in row)]
        ruled = len(rows) < len(table)
        items = _rows_as_items(rows, known=known) if ruled and len(rows) > 1 else []
        if items:
            return items
    return []


def read_delimited(text: str) -> list[Proposal]:
    """Return one item a row of comma, semicolon or tab separated text whose first line names its columns."""
    lines = text.strip().split("\n")
    for delimiter in ("\t", ";", ","):
        header = [cell.strip(" \"'") for cell in lines[0].split(delimiter)]
        if 2 <= len(header) <= 8 and "text" in {role_of(cell) for cell in header} and len(lines) > 1:
            if not any(role_of(cell) == "rationale" for cell in header) and len(header) > 2:
                continue
            try:
                rows = list(csv.reader(lines[1:], delimiter=delimiter, skipinitialspace=True))
            except csv.Error:
                return []
            return _rows_as_items([header, *rows], known=True)
    return []


def _rows_as_items(rows: list[list[str]], *, known: bool) -> list[Proposal]:
    header, body = rows[0], [row for row in rows[1:] if any(row)]
    roles = [role_of(unwrap(cell)) for cell in header]
    if known and "text" not in roles:
        return []
    wordy = [column for column in range(len(header)) if _is_wordy(header[column], column, body, titled=known)]
    texts = [column for column in wordy if roles[column] == "text"]
    if not wordy:
        return []
    text = texts[0] if texts else wordy[0]
    later = [column for column in wordy if column > text and roles[column] != "answer"]
    reason = next((column for column in wordy if roles[column] == "rationale"), later[0] if later else -1)
    answer = roles.index("answer") if "answer" in roles else -1
    items = []
    for row in body:
        cells = [*row, *[""] * (len(header) - len(row))]
        pairs = [("text", unwrap(cells[text])), ("rationale", unwrap(cells[reason]) if reason >= 0 else "")]
        item = item_from_pairs([*pairs, ("answer", cells[answer] if answer >= 0 else "")])
        if item is not None:
            items.append(item)
    return items


def _is_wordy(title: str, column: int, body: list[list[str]], *, titled: bool) -> bool:
    """Tell whether a column holds texts rather than numbers or ordinals."""
    if title.lower().strip(". ") in _INDEX_HEADERS and title:
        return False
    cells = [row[column] for row in body if column < len(row) and row[column]]
    texts = [cell for cell in cells if _LETTER_RUN.search(cell) or (len(cell) > 3 and not cell.isascii())]
    if not texts or 2 * len(texts) < len(cells):
        return False
    labels = {re.sub(r"\d+", "#", cell) for cell in cells}
    if len(cells) > 1 and labels == {next(iter(labels))} and "#" in next(iter(labels)):
        return False
    return titled or any(" " in cell or not cell.isascii() for cell in texts)


def read_records(text: str) -> list[Proposal]:
    """Return the items of blocks such as `Text: ...` and `Rationale: ...`, each on a line of its own."""
    pairs: list[tuple[str, str]] = []
    open_field = False
    for line in text.split("\n"):
        bare = line.strip()
        found = field_of(bare) if bare else None
        if found is not None and not bare.startswith(("- ", "* ")):
            pairs.append((role_of(found[0]) or "", unwrap(found[1])))
            open_field = True
        elif not bare or _RECORD_START.fullmatch(bare) or _OTHER_LABEL.match(bare):
            open_field = open_field and bool(pairs) and not pairs[-1][1]
        elif open_field and pairs:
            pairs[-1] = (pairs[-1][0], f"{pairs[-1][1]} {bare}".strip())
    roles = [role for role, _ in pairs]
    if roles.count("text") < 2 and not ("text" in roles and "rationale" in roles):
        return []
    joined = join_pairs(list(pairs))
    records = joined if isinstance(joined, list) else [joined]
    return [item for record in records if (item := item_from_pairs(record.items())) is not None]
