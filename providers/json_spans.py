"""Find the proposals in the JSON parts of a reply, with any text around them."""

import json
import re
from collections.abc import Iterator
from typing import Any

from providers.json_items import Nested, read_items
from providers.latex_escapes import unescape_once
from providers.lenient_json import LenientReader, Number, OpenObject, Span, join_pairs
from providers.proposal_items import NOTHING, Reading, is_placeholder, role_of

_START = re.compile(r"(?<!\\)[\[{]")
_RISKY_ESCAPE = re.compile(r"\\(?:[bfrt]|n[a-z])")
"""An escape that may be a LaTeX command or a path: left to the careful reader."""

_TAGS = r"(?:</?[\w:|\uff5c-]{1,30}>|<\|[\w -]{1,30}\|>)"
_GAP_NOISE = re.compile(
    rf"{_TAGS}|(?:`{{3,}}|~{{3,}})[\w+#.-]*|^[ \t>]*(?:\(?\d{{1,3}}[.)]|[-*•])(?=\s|\Z)|[\s,，;]+|`{{1,2}}(?!`)",
    re.MULTILINE,
)
_NUMBERED_LABEL = re.compile(r"\W*[^\W\d_]{0,20}\W{0,3}\d{1,3}\W*")
_LONGEST_GAP = 300
_AFTERWARDS = re.compile(rf"(?:[ \t,;.`\]}})>]|{_TAGS})*(?=\n|\Z)")
_FENCE_OPENING = re.compile(r"^[ \t>]*(`{3,}|~{3,})[ \t]*([\w+#.-]*)", re.MULTILINE)
_DATA_LANGUAGES = frozenset(
    {"", "json", "json5", "jsonc", "jsonl", "ndjson", "text", "txt", "yaml", "yml", "markdown", "md", "plaintext"}
)

_KEY_FIRST = re.compile(r"\s*[\"'](\w{1,40})[\"']\s*:\s*[\"'\[{]")
_STRING_FIRST = re.compile(r"\s*\"[^\"\n]{1,2000}\"\s*,\s*\"")
_INSIDE_FIRST_STRING = re.compile(r"[^\"{}\[\]]{1,2000}\"\s*,\s*\"(\w{1,40})\"\s*:\s*\"")
_ESCAPED_ONCE = re.compile(r"[\[{](?:\s|\\n|[\[{]){0,40}+\\\"")


def read_json(text: str, *, cut: bool, nested: Nested) -> Reading:
    """Return what the JSON in `text` proposes; `NOTHING` where there is none.

    Parts that only white space, commas, fences or list markers separate belong together; parts separated by prose are
    alternatives, and the last one counts.

    Args:
        text: Visible reply.
        cut: The reply is known to have been cut.
        nested: Reads a string inside the JSON that holds a reply itself.
    """
    whole = _standard(text, cut=cut, nested=nested)
    if whole is not None:
        return whole
    for variant in _variants(text):
        spans = [(span, found) for span, found in _spans(variant, cut=cut, nested=nested) if found.items]
        if spans:
            return _last_group(variant, spans)
    return NOTHING


def without_objects(text: str) -> str:
    """Blank the JSON objects that stand on lines of their own, so that no list is read out of their insides."""
    if "{" not in text:
        return text
    parts, at = [], 0
    for span in _read_spans(text):
        line = text[text.rfind("\n", 0, span.start) + 1 : span.start]
        if not line.strip(" \t>`") and _holds_object(span.value):
            parts.append(text[at : span.start])
            at = span.end
    return "".join([*parts, text[at:]])


def _standard(text: str, *, cut: bool, nested: Nested) -> Reading | None:
    """Read a reply that is standard JSON and nothing else; None where it is not."""
    if text[:1] not in ("[", "{", '"') or _RISKY_ESCAPE.search(text):
        return None
    try:
        value = json.loads(
            text,
            strict=False,
            object_pairs_hook=join_pairs,
            parse_int=Number,
            parse_float=Number,
            parse_constant=_no_number,
        )
    except (ValueError, RecursionError):
        return None
    if isinstance(value, str):
        return nested(value) if value.strip() != text else NOTHING
    return read_items(value, cut=cut, nested=nested)


def _no_number(_: str) -> None:
    """NaN and Infinity are no values that JSON could carry on."""


def _variants(text: str) -> Iterator[str]:
    """Yield the reply as it is, then as it would be with what the prompt may have said first, or unescaped once."""
    key = _KEY_FIRST.match(text)
    inside = _INSIDE_FIRST_STRING.match(text)
    if key and role_of(key[1]):
        yield "{" + text
    elif inside and role_of(inside[1]):
        yield '{"text":"' + text
    elif _STRING_FIRST.match(text):
        yield "[" + text
    yield text
    if _ESCAPED_ONCE.search(text):
        yield unescape_once(text)


def _read_spans(text: str) -> Iterator[Span]:
    """Yield all JSON values of a text; one that the text ends in only if it is an array or holds an object."""
    reader, at = LenientReader(text), 0
    while (start := _START.search(text, at)) and not reader.exhausted:
        span = reader.read(start.start())
        if span is None:
            at = reader.next_start(start.start())
        elif span.closed or _holds_object(span.value) or isinstance(span.value, list):
            at = span.end
            yield span
        else:
            at = start.end()


def _spans(text: str, *, cut: bool, nested: Nested) -> Iterator[tuple[Span, Reading]]:
    """Yield the JSON values of a text with their items; what is neither closed nor of use is searched inside."""
    reader, at = LenientReader(text, cut=cut), 0
    while (start := _START.search(text, at)) and not reader.exhausted:
        span = reader.read(start.start())
        at = reader.next_start(start.start())
        if span is None:
            continue
        found = read_items(span.value, cut=cut and not span.closed, nested=nested)
        if found.items and not _counts(text, span, found):
            found = NOTHING
        if span.closed or found.items or _is_proposal_cut_off(span.value):
            at = span.end
            yield span, found


def _is_proposal_cut_off(value: Any) -> bool:
    """Tell whether a value ends in an unfinished proposal: what its strings hold is then not to be searched."""
    if isinstance(value, list):
        return any(_is_proposal_cut_off(element) for element in value[-1:])
    if not isinstance(value, OpenObject):
        return False
    return any(role_of(key) for key in value) or any(_is_proposal_cut_off(part) for part in value.values())


def _counts(text: str, span: Span, found: Reading) -> bool:
    """Tell whether the items are an answer rather than data that the prose around them talks about."""
    if not any(not is_placeholder(item.text) for item in found.items):
        return False
    if any(item.rationale for item in found.items):
        return True
    line_start = text.rfind("\n", 0, span.start) + 1
    before = text[line_start : span.start].rstrip()
    if before and (before[-1].isalnum() or before[-1] in "\"'"):
        return False
    if _AFTERWARDS.match(text, span.end) is None:
        return isinstance(span.value, list) and _holds_object(span.value)
    if _holds_object(span.value):
        return True
    if before.endswith("="):  # a variable: the answer only where the reply is nothing but this assignment
        return not _GAP_NOISE.sub("", text[:line_start] + "\n" + text[span.end :])
    return _language_at(text, span.start) in _DATA_LANGUAGES


def _language_at(text: str, at: int) -> str:
    """Return the language of the code fence that holds `at`; "" outside of fences."""
    language, mark = "", ""
    for fence in _FENCE_OPENING.finditer(text, 0, at):
        if not mark:
            mark, language = fence[1][0], fence[2].lower()
        elif fence[1][0] == mark and not fence[2]:
            mark, language = "", ""
    return language


def _holds_object(value: Any) -> bool:
    if isinstance(value, list):
        return any(_holds_object(element) for element in value)
    return isinstance(value, dict)


def _last_group(text: str, spans: list[tuple[Span, Reading]]) -> Reading:
    """Merge the parts that belong together and return the last group."""
    group, previous = spans[0][1], spans[0][0]
    for span, found in spans[1:]:
        bare = isinstance(previous.value, dict) and isinstance(span.value, dict)
        together = _belong_together(text[previous.end : span.start], bare_objects=bare)
        group = group + found if together else found
        previous = span
    return group


def _belong_together(gap: str, *, bare_objects: bool) -> bool:
    """Tell whether what stands between two parts only separates them; a label such as "Step 2:" does between objects."""
    if len(gap) > _LONGEST_GAP:
        return False
    rest = _GAP_NOISE.sub("", gap)
    return not rest or (bare_objects and _NUMBERED_LABEL.fullmatch(rest) is not None)
