"""Choose the list of steps among the marked lines of a text, and cut it into items."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from providers.list_items import item_of
from providers.list_markers import Kind, Marker, marker_of, sequence_position
from providers.types import Proposal

STRONG = (Kind.LABEL, Kind.NUMBER)
"""Kinds whose numbers prove a sequence."""
WEAK = (Kind.LETTER, Kind.BULLET, Kind.DECIMAL, Kind.WORDS)

_NESTED_INDENT = 2
"""Columns by which the details of an item are indented at least."""
_LARGEST_STEP = 3
"""Numbers of one list may skip, but not further."""
_WHOLE_ENDS = tuple(".!?。！？…।؟)]}\"'”’`*|")
_MOST_ITEMS = 500
"""Items of one list that are read; nobody asks for more."""
_QUOTE_PREFIX = re.compile(r"(?:>[ \t]?)+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One line of the text, judged together with those before it."""

    index: int
    indent: int
    text: str
    """The line without indentation and quote marks; "" where it is blank or mere decoration."""
    marker: Marker | None
    nested: bool
    """The marker belongs to the details of an item above."""
    section: int
    """Lines of running text between lists raise it by one."""


def rows_of(text: str) -> list[Row]:
    """Return the lines of `text` with their markers, nesting and sections."""
    rows: list[Row] = []
    owner: Row | None = None
    section, blank = 0, False
    for index, line in enumerate(text.split("\n")):
        bare = line.expandtabs(4)
        stripped = bare.lstrip()
        if stripped[:1] == ">":
            stripped = _QUOTE_PREFIX.sub("", stripped, count=1)
        indent = len(bare) - len(bare.lstrip())
        stripped = stripped.strip()
        if not any(map(str.isalnum, stripped)):
            rows.append(Row(index=index, indent=indent, text="", marker=None, nested=False, section=section))
            blank = True
            continue
        marker = marker_of(stripped)
        if marker is None or marker.kind in (Kind.HEADING, Kind.WORDS):
            ends = owner is None or (
                indent < owner.indent + _NESTED_INDENT and (blank or stripped.endswith((":", "：")))
            )
            if ends or marker is not None:
                owner, section = None, section + 1
            rows.append(Row(index=index, indent=indent, text=stripped, marker=marker, nested=False, section=section))
        else:
            nested = owner is not None and indent >= owner.indent + _NESTED_INDENT and not _succeeds(owner, marker)
            row = Row(index=index, indent=indent, text=stripped, marker=marker, nested=nested, section=section)
            rows.append(row)
            owner = owner if nested else row
        blank = False
    return rows


def listed(rows: list[Row], kinds: Iterable[Kind], *, cut: bool) -> list[Proposal]:
    """Return the items of the list to choose among those of `kinds`; a list has two items at least.

    The strongest kind decides. Of several numbered lists the last one counts, of several bullet lists the longest.

    Args:
        rows: The text.
        kinds: Kinds of markers to look for, strongest first.
        cut: The text is known to have been cut: an unfinished last item is dropped.
    """
    for kind in kinds:
        group = _group_of(kind, [row for row in rows if row.marker and row.marker.kind is kind and not row.nested])
        items = _items(rows, group, cut=cut) if len(group) > 1 else []
        if items:
            return items
    return []


def headed(rows: list[Row], *, cut: bool) -> list[Proposal]:
    """Return one item a heading, of the highest level that has two headings or more."""
    headings = [row for row in rows if row.marker and row.marker.kind is Kind.HEADING]
    for style in sorted({row.marker.label for row in headings if row.marker}):
        group = [row for row in headings if row.marker and row.marker.label == style]
        if len(group) > 1:
            return _items(rows, group, cut=cut)
    return []


def single(rows: list[Row], *, cut: bool) -> list[Proposal]:
    """Return the one item of a text that holds nothing else, but for an introduction that ends in a colon."""
    marked = [row for row in rows if row.marker and row.marker.kind in (*STRONG, Kind.BULLET) and not row.nested]
    if len(marked) != 1:
        return []
    row = marked[0]
    before = [other.text for other in rows[: row.index] if other.text]
    if any(not text.endswith((":", "：")) and not text.startswith("#") for text in before):
        return []
    body = row.marker.body.rstrip("* ") if row.marker else ""
    children = [other for other in rows[row.index + 1 :] if other.nested]
    if children and (not body or body.endswith((":", "："))):
        deeper = "\n".join(" " * other.indent + other.text for other in rows[row.index + 1 :])
        inner = rows_of(deeper)
        return listed(inner, (*STRONG, *WEAK), cut=cut) or single(inner, cut=cut)
    after = [other for other in rows[row.index + 1 :] if other.text and other.section != row.section]
    if row.marker and row.marker.kind is Kind.BULLET and after:
        return []
    return _items(rows, [row], cut=cut)


def _succeeds(owner: Row, marker: Marker) -> bool:
    """Tell whether a marker continues the list of `owner` although it is indented further."""
    above = owner.marker
    if above is None or above.kind is not marker.kind or above.label != marker.label:
        return False
    return above.number is not None and marker.number == above.number + 1 and above.kind in STRONG


def _group_of(kind: Kind, rows: list[Row]) -> list[Row]:
    if kind is Kind.LETTER:
        groups = _lettered(rows)
    elif kind is Kind.BULLET:
        groups = _bulleted(rows)
        return max(reversed(groups), key=len, default=[])
    elif kind is Kind.WORDS:
        groups = _by_label(rows)
    else:
        groups = [run for group in _by_label(rows) for run in _ascending(group)]
        if kind is Kind.DECIMAL:  # 3.5, 3.6 measure something; 1.1, 1.2 number it
            groups = [group for group in groups if group[0].marker and group[0].marker.number == 1]
    long = [group for group in groups if len(group) > 1]
    return max(long, key=lambda group: group[0].index, default=[])


def _by_label(rows: list[Row]) -> list[list[Row]]:
    labels: dict[str, list[Row]] = {}
    for row in rows:
        if row.marker:
            labels.setdefault(row.marker.label.casefold(), []).append(row)
    return list(labels.values())


def _ascending(rows: list[Row]) -> list[list[Row]]:
    """Part the rows where the numbers start again; a list numbered "1. 1. 1." stays whole within a section."""
    runs: list[list[Row]] = []
    for row in rows:
        last = runs[-1][-1] if runs else None
        if last and last.marker and row.marker and last.marker.number is not None and row.marker.number is not None:
            step = row.marker.number - last.marker.number
            lazy = step == 0 and row.section == last.section
            if 0 < step <= _LARGEST_STEP or lazy:
                runs[-1].append(row)
                continue
        runs.append([row])
    return runs


def _lettered(rows: list[Row]) -> list[list[Row]]:
    runs: list[list[Row]] = []
    expected: set[int] = set()
    for row in rows:
        positions = set(sequence_position(row.marker.label)) if row.marker else set()
        if runs and positions & expected:
            runs[-1].append(row)
            expected = {position + 1 for position in positions & expected}
        elif 1 in positions:
            runs.append([row])
            expected = {2}
        else:
            expected = set()
    return runs


def _bulleted(rows: list[Row]) -> list[list[Row]]:
    sections: dict[int, list[Row]] = {}
    for row in rows:
        sections.setdefault(row.section, []).append(row)
    groups = list(sections.values())
    alone = all(len(group) == 1 for group in groups)
    return [[row for group in groups for row in group]] if alone and groups else groups


def _items(rows: list[Row], group: list[Row], *, cut: bool) -> list[Proposal]:
    items: list[Proposal] = []
    for position, row in enumerate(group[:_MOST_ITEMS]):
        last = position + 1 == len(group)
        end = _end_of_last(rows, row) if last else group[position + 1].index
        following = [" " * other.indent + other.text for other in rows[row.index + 1 : end] if _belongs(other)]
        if last and cut and _is_cut(rows, row, end):
            break
        item = item_of(row.marker.body if row.marker else "", following)
        if item is not None:
            items.append(item)
    return items


def _belongs(row: Row) -> bool:
    return bool(row.text) and not (row.marker and row.marker.kind is Kind.HEADING)


def _end_of_last(rows: list[Row], row: Row) -> int:
    """Return the index of the first row that no longer belongs to the last item of a list."""
    empty = not (row.marker and row.marker.body.strip())
    heading = row.marker is not None and row.marker.kind is Kind.HEADING
    for other in rows[row.index + 1 :]:
        if not other.text:
            continue
        if (empty or heading) and other.marker is None:
            empty = heading = False
            continue
        if other.section != row.section or (other.marker and other.marker.kind is Kind.HEADING):
            return other.index
    return len(rows)


def _is_cut(rows: list[Row], row: Row, end: int) -> bool:
    """Tell whether the text stops inside the last item."""
    if end < len(rows) or rows[-1].text == "":
        return False
    last = rows[-1].text
    return not last.endswith(_WHOLE_ENDS)
