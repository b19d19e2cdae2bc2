"""From one marked stretch of lines to one proposal: where its text ends and its reason begins."""

import re

from providers.lenient_json import LenientReader
from providers.list_markers import marker_of
from providers.proposal_items import item_from_pairs, role_of
from providers.types import Proposal

_FAR = 3000
"""Characters of an item in which a reason on the same line is looked for."""

_FIELD = re.compile(
    r"[\"'*_`>-]{0,4}[ \t]?(?P<key>[^\W\d_][\w ]{0,30}?)[\"'*_`]{0,3}[ \t]?(?P<sign>[:：]|=(?=[ \t]*[\"']))[*_]{0,3}[ \t]*(?P<value>.*)"
)
_BOLD_LEAD = re.compile(r"(\*\*|__)(?P<lead>(?:(?!\1).){1,300})\1(?P<rest>.*)", re.DOTALL)
_EMPHASISED = re.compile(r"(\*{1,3}|_{1,3}|`)(?P<text>(?:(?!\1)[^\n]){1,2000})\1(?P<stop>[.:;]?)")
_BLOCK_SCALAR = re.compile(r"[|>][+-]?\d?")
_QUOTED = re.compile(r"\"(?P<double>[^\"]*)\"[,;]?|'(?P<single>[^']*)'[,;]?|“(?P<curly>[^”]*)”[,;]?")
_FIELDS_ON_ONE_LINE = re.compile(r"[\"'”][ \t]*[,;][ \t]*[\"']?\w{2,20}[\"']?[ \t]*[:=]")
_SENTENCE_THEN_DASH = re.compile(r"(?P<text>.{3,}?[.!?。！？])[ \t]+[-–—]{1,2}[ \t]+(?P<reason>\S.*)", re.DOTALL)
_QUOTE_THEN_DASH = re.compile(r"[\"“](?P<text>[^\"“”]+)[\"”][ \t]*(?:[-–—]{1,2}|:)[ \t]+(?P<reason>\S.*)", re.DOTALL)
_LIST_DASH = re.compile(r"[-*•+–][ \t]+")
_REASON_LABEL = re.compile(r"[^\W\d_]{3,15}[*_]{0,3}[:：]")
_SENTENCE_END = (".", "!", "?", "。", "！", "？", "…", ".)", "।", "؟", ":", "：", "*", "`", '."', ".”")


def field_of(line: str) -> tuple[str, str] | None:
    """Return (key, value) of a line such as `Rationale: start`, `text = "..."` or `**Step:** ...` if the key is known."""
    match = _FIELD.match(line)
    if match is None or role_of(match["key"]) is None:
        return None
    return match["key"], match["value"]


def item_of(body: str, following: list[str]) -> Proposal | None:
    """Return the proposal that an item makes.

    Args:
        body: Text after the marker on its own line; may be empty where the marker stands alone.
        following: The further lines that belong to the item, with their indentation.
    """
    fields, plain = _fields([body, *following])
    if any(role_of(key) == "text" for key, _ in fields) and not _is_running_text(body):
        return item_from_pairs(fields)
    reasons = [value for key, value in fields if role_of(key) == "rationale"]
    answers = [value for key, value in fields if role_of(key) == "answer"]
    text, rest = _text_and_rest(plain)
    text, reason = _split_text(text)
    if not text:
        return None
    rationale = (reasons or [reason or " ".join(rest)])[0]
    return item_from_pairs([("text", text), ("rationale", rationale), *(("answer", answer) for answer in answers[:1])])


def unwrap(text: str) -> str:
    """Remove emphasis or quotes that enclose the whole text; what they enclose in part stays as it is."""
    text = text.strip()
    for _ in range(3):
        match = _EMPHASISED.fullmatch(text)
        if match is None or (match[1] == "`" and "`" in match["text"]):
            break
        text = match["text"].strip() + ("" if match["stop"] == ":" else match["stop"])
    quoted = _QUOTED.fullmatch(text)
    return next((part for part in quoted.groups() if part is not None), text).strip() if quoted else text


def _is_running_text(body: str) -> bool:
    return bool(body.strip()) and field_of(body.strip()) is None


def _fields(lines: list[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """Part the known fields from the other lines; a block scalar takes the lines below it."""
    fields: list[tuple[str, str]] = []
    plain: list[str] = []
    open_field = False
    for position, line in enumerate(lines):
        bare = line.strip()
        found = field_of(_LIST_DASH.sub("", bare, count=1) if _LIST_DASH.match(bare) else bare) if bare else None
        if found is not None:
            key, value = found
            if _FIELDS_ON_ONE_LINE.search(value) and (several := _fields_in_braces(bare)):
                fields += several
                continue
            open_field = not value.strip() or _BLOCK_SCALAR.fullmatch(value.strip()) is not None
            fields.append((key, "" if open_field else unwrap(value)))
        elif open_field and bare:
            key, value = fields[-1]
            fields[-1] = (key, f"{value} {bare}".strip())
        elif bare or position == 0:
            plain.append(line)
    return fields, plain


def _fields_in_braces(line: str) -> list[tuple[str, str]]:
    """Read `text: "...", rationale: "..."` on one line, as if braces stood around it."""
    span = LenientReader("{" + line + "}").read(0)
    value = span.value if span else None
    return [(key, part) for key, part in value.items() if isinstance(part, str)] if isinstance(value, dict) else []


def _text_and_rest(lines: list[str]) -> tuple[str, list[str]]:
    """Return the step and the further lines; a line that a sentence merely wraps onto belongs to the step."""
    bare = [line.strip() for line in lines]
    while bare and not bare[0]:
        bare.pop(0)
    if not bare:
        return "", []
    text, taken = bare[0], 1
    while taken < len(bare) and not text.endswith(_SENTENCE_END) and _continues(bare[taken]):
        text = f"{text} {bare[taken]}"
        taken += 1
    return text, [line[match.end() :] if (match := _LIST_DASH.match(line)) else line for line in bare[taken:]]


def _continues(line: str) -> bool:
    return (line[:1].islower() or line[:1].isdigit() or line[:1] in "(\\$") and marker_of(line) is None


def _split_text(text: str) -> tuple[str, str]:
    """Part a step from a reason on the same line: after a known label, or after a lead in bold."""
    inline = _split_reason(text)
    if inline is not None:
        return unwrap(inline[0]), unwrap(inline[1])
    if dashed := _SENTENCE_THEN_DASH.fullmatch(text) or _QUOTE_THEN_DASH.fullmatch(text):
        return unwrap(dashed["text"]), unwrap(dashed["reason"])
    lead = _BOLD_LEAD.fullmatch(text)
    if lead is None or not lead["rest"].strip(" .:"):
        return unwrap(text), ""
    head, rest = lead["lead"].strip(), lead["rest"].strip()
    if head.endswith((":", "：")) or rest.startswith((":", "：")):
        return f"{head.rstrip(':： ')}: {rest.lstrip(':： ')}", ""
    if rest.startswith(("-", "–", "—")) or head.endswith(_SENTENCE_END):
        return head, rest.lstrip("-–— ")
    return f"{head} {rest}" if lead["rest"][:1].isspace() else head + rest, ""


def _split_reason(text: str) -> tuple[str, str] | None:
    for match in _REASON_LABEL.finditer(text[:_FAR]):
        key = match.group().rstrip("*_:：")
        if match.start() > 0 and role_of(key) == "rationale":
            head = text[: match.start()].rstrip().rstrip("*_([（").rstrip(" \t-–—|;,")
            value = text[match.end() :].lstrip("*_ \t").rstrip()
            opened = text[: match.start()].rstrip("*_").endswith(("(", "[", "（"))
            return (head, value.rstrip(")]）.*_ ") if opened else value) if head else None
    return None
