"""Lists of steps in running text: numbers, bullets, labels, tables, elements, in any language.

What counts is structure alone: no verbs, no ordinal words, no phrases of refusal are looked for.
"""

import re

from providers.list_markers import sequence_position
from providers.markup import is_html_page, read_delimited, read_elements, read_records, read_table
from providers.proposal_items import NOTHING, Reading, tidy
from providers.prose_lists import STRONG, WEAK, headed, listed, rows_of, single
from providers.reply_text import normalise
from providers.types import Proposal

__all__ = ["parse_prose_to_proposals", "read_prose"]

_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})[ \t]*([\w+#.-]*)[^\n`]*\Z")
_TEXT_LANGUAGES = frozenset(["", *"text txt plaintext markdown md yaml yml xml html csv tsv toml json list".split()])
"""Languages of fences that may hold the list itself; anything else is code."""
_WRAPPER_LINE = re.compile(
    r"^[ \t]*</?[\w-]{1,30}>[ \t]*$|</?(?:answer|final_?answer|output|response|result|solution)>",
    re.MULTILINE | re.IGNORECASE,
)
_YAML_FIELD_ITEM = re.compile(r"^[ \t]*[-*•+][ \t]+[\"']?\w{1,30}[\"']?[ \t]?:(?:[ \t]|$)", re.MULTILINE)

_INLINE_MARKS = (
    re.compile(r"[(（\[](\d{1,2})[)）\]][ \t]*"),
    re.compile(r"(?<![\w.,])(\d{1,2})(?:[.)][ \t]+|[、．)）][ \t]*)(?=\D)"),
    re.compile(r"([①-⑳❶-❿])[ \t]*"),
    re.compile(r"(?<!\w)[^\W\d_]{2,20}[ \t](\d{1,2})[ \t]?[:：][ \t]*"),
    re.compile(r"第([一二三四五六七八九十]|\d{1,2})(?:步[:：，,、]?|[:：，,、])[ \t]*"),
    re.compile(r"(?<!\w)[(（]([^\W\d_]{1,4})[)）][ \t]*"),
    re.compile(r"(?<!\w)([^\W\d_])[)）][ \t]+"),
)
_INLINE_BULLETS = re.compile(r"([•●▪■◦►✓✅▸])[^\n]{3,}?[ \t]\1[^\n]{3,}")
_HAN_NUMBERS = "一二三四五六七八九十"
_JOINT = re.compile(r"[;,，；、][ \t]*(?:[^\W\d_]{1,4})?\s*\Z")
_BEFORE_FIRST = tuple(":：.。;；,，—–-!?")


def parse_prose_to_proposals(text: str, limit: int | None = None) -> list[Proposal]:
    """Extract the steps that a text lists, without asking the model again.

    Args:
        text: Prose; anything but a string counts as empty.
        limit: Most proposals to return; None = all.

    Returns:
        Proposals in the order written; empty where the text lists nothing. Never raises.
    """
    if not isinstance(text, str):
        return []
    return tidy(read_prose(normalise(text).strip(), cut=False), limit)


def read_prose(text: str, *, cut: bool, nesting: int = 0) -> Reading:
    """Return the items of the list in `text`; `cut` says that the text ends in the middle."""
    if not text or is_html_page(text):
        return NOTHING
    outside, inside = _fences(text)
    for part in (outside, *reversed(inside)):
        found = _read_part(part, cut=cut, nesting=nesting)
        if tidy(found, 1):
            return found
    return NOTHING


def _fences(text: str) -> tuple[str, list[str]]:
    """Part the text outside of code fences from what text-like fences hold; code is dropped."""
    if "```" not in text and "~~~" not in text:
        return text, []
    outside: list[str] = []
    blocks: list[tuple[str, list[str]]] = []
    mark = ""
    for line in text.split("\n"):
        fence = _FENCE.match(line)
        if fence and not mark:
            mark = fence[1]
            blocks.append((fence[2].lower(), []))
        elif fence and mark and fence[1].startswith(mark) and not fence[2]:
            mark = ""
        elif mark:
            blocks[-1][1].append(line)
        else:
            outside.append(line)
    return "\n".join(outside), ["\n".join(lines) for language, lines in blocks if language in _TEXT_LANGUAGES]


def _read_part(text: str, *, cut: bool, nesting: int) -> Reading:
    def nested(inner: str) -> Reading:
        return read_prose(inner.strip(), cut=cut, nesting=nesting + 1) if nesting < 2 else NOTHING

    elements = read_elements(text, cut=cut, nested=nested, anywhere=False)
    if tidy(elements, 1):
        return elements
    items = _in_lines(_WRAPPER_LINE.sub("\n", text).strip("\n"), cut=cut)
    return Reading(items=tuple(items)) if items else read_elements(text, cut=cut, nested=nested, anywhere=True)


def _in_lines(text: str, *, cut: bool) -> list[Proposal]:
    """Try the shapes of a list from the strongest evidence to the weakest."""
    if not text.strip():
        return []
    rows = rows_of(text)
    records = [] if _YAML_FIELD_ITEM.search(text) else read_records(text)
    return (
        read_table(text, cut=cut, known=True)
        or listed(rows, STRONG, cut=cut)
        or read_delimited(text)
        or records
        or listed(rows, WEAK, cut=cut)
        or read_table(text, cut=cut, known=False)
        or _inline(text, cut=cut)
        or headed(rows, cut=cut)
        or single(rows, cut=cut)
    )


def _inline(text: str, *, cut: bool) -> list[Proposal]:
    """Read an enumeration inside a paragraph: "(1) ...; (2) ..."."""
    for paragraph in re.split(r"\n[ \t]*\n", text):
        if bullets := _INLINE_BULLETS.fullmatch(paragraph.strip()):
            return [Proposal(text=piece) for part in bullets[0].split(bullets[1]) if (piece := part.strip(" \t;,"))]
        for marks in _INLINE_MARKS:
            run = _run_from_one(list(marks.finditer(paragraph)))
            items = _between(paragraph, run) if len(run) > 1 else []
            if cut and items and not paragraph.rstrip().endswith((".", "!", "?", "。", ")", ";")):
                items.pop()
            if items:
                return items
    return []


def _run_from_one(marks: list[re.Match[str]]) -> list[re.Match[str]]:
    run: list[re.Match[str]] = []
    for mark in marks:
        if len(run) + 1 in _positions(mark[1]):
            run.append(mark)
    return run


def _positions(token: str) -> tuple[int, ...]:
    if token.isdigit() and token.isdecimal():
        return (int(token),)
    if token in _HAN_NUMBERS:
        return (_HAN_NUMBERS.index(token) + 1,)
    for first in "①❶":
        if 0 <= ord(token[0]) - ord(first) < 20:
            return (ord(token[0]) - ord(first) + 1,)
    return sequence_position(token)


def _between(paragraph: str, run: list[re.Match[str]]) -> list[Proposal]:
    ends = [mark.start() for mark in run[1:]] + [len(paragraph)]
    pieces = [paragraph[mark.end() : end].strip() for mark, end in zip(run, ends, strict=True)]
    before = paragraph[: run[0].start()].rstrip()
    separated = all(_JOINT.search(piece) or piece.endswith((".", "。", "!", "！")) for piece in pieces[:-1])
    if (before and not before.endswith(_BEFORE_FIRST)) and not separated:
        return []
    pieces = [*(_JOINT.sub("", piece) for piece in pieces[:-1]), pieces[-1]]
    texts = [" ".join(piece.split()) for piece in pieces]
    if sum(1 for text in texts if len(text.split()) < 2 and text.isascii()) > len(texts) // 3 or not all(texts):
        return []
    return [Proposal(text=text) for text in texts]
