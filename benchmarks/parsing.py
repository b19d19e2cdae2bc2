"""How many replies are read rightly, and how fast: our parser beside the three usual shortcuts, in one run.

`python -m benchmarks.parsing` prints the table. The shortcuts get our aliases and wrappers, so that only the extraction
differs: `json.loads` of the whole reply; the text from the first "[" to the last "]"; `json_repair` of the whole reply.
The development set is looked for under `BOOSTER_BENCH_DATA` (default `../shared/data`) and left out where it is absent.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.table import Bar, Figure, Section, machine, rendered
from providers.json_items import read_items
from providers.parsing import parse_proposals
from providers.proposal_items import NOTHING, tidy

_ROOT = Path(__file__).resolve().parents[1]
CORPUS = _ROOT / "tests" / "providers" / "reply_corpus.jsonl"

SLOWEST_MS = 50.0
"""Bar for the slowest case of our corpus, milliseconds."""
_REPEATS = 3
"""Each case is timed so often; the fastest run counts, since the machine's other work is not ours."""

Extractor = Callable[["Case"], Sequence[str]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One reply with what should be read out of it."""

    reply: str | None
    finish_reason: str | None
    limit: int | None
    count: int
    """Number of steps."""
    texts: tuple[str, ...] | None
    """All texts, where the set states them."""
    first: str | None
    """The first text, where only that is stated."""

    def accepts(self, read: Sequence[str]) -> bool:
        """Tell whether the texts read are the right ones."""
        if self.texts is not None:
            return tuple(read) == self.texts
        return len(read) == self.count and (self.first is None or read[0] == self.first)


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """What one extractor made of one set."""

    right: int
    right_with_steps: int
    """Of the cases that hold steps."""
    false_steps: int
    """Cases without a step in which it found one."""
    slowest_ms: float
    """Milliseconds of the slowest case."""


def corpus() -> list[Case]:
    """Return the cases of our own corpus."""
    return [
        _case(case, texts=tuple(case["expected_texts"]), count=len(case["expected_texts"])) for case in _lines(CORPUS)
    ]


def development_set(data: Path) -> list[Case]:
    """Return the cases of the development set below `data`; empty where it is absent."""
    path = data / "replies" / "replies.dev.jsonl"
    return [_case(case, texts=None, count=case["expected"]) for case in _lines(path)] if path.exists() else []


def score(extract: Extractor, cases: Sequence[Case]) -> Score:
    """Run one extractor over a set; an exception counts as a wrong answer."""
    right = right_with_steps = false_steps = 0
    slowest = 0.0
    for case in cases:
        read, seconds = _timed(extract, case)
        accepted = read is not None and case.accepts(read)
        right += accepted
        right_with_steps += accepted and case.count > 0
        false_steps += case.count == 0 and bool(read)
        slowest = max(slowest, seconds)
    return Score(right=right, right_with_steps=right_with_steps, false_steps=false_steps, slowest_ms=1000 * slowest)


def parsing_section(data: Path) -> Section:
    """Measure all extractors on our corpus and, where it lies below `data`, on the development set."""
    ours, dev = corpus(), development_set(data)
    with_steps = sum(case.count > 0 for case in ours)
    header = ("extractor", f"right of {len(ours)}", f"of {with_steps} with steps", f"false on {len(ours) - with_steps}")
    rows = []
    scores: dict[str, tuple[Score, Score]] = {}
    for name, extract in _EXTRACTORS.items():
        first, second = scores[name] = score(extract, ours), score(extract, dev)
        cells = [name, str(first.right), str(first.right_with_steps), str(first.false_steps)]
        rows.append([*cells, str(second.right) if dev else "-", f"{max(first.slowest_ms, second.slowest_ms):.1f}"])
    parser, parser_dev = scores["parse_proposals"]
    figures = [
        Figure(name="own corpus wrong", value=len(ours) - parser.right, unit="cases", bar=Bar(relation="<=", value=0)),
        Figure(name="slowest case", value=parser.slowest_ms, unit="ms", bar=Bar(relation="<", value=SLOWEST_MS)),
    ]
    if dev:
        wrong = len(dev) - parser_dev.right
        figures.append(Figure(name="development set wrong", value=wrong, unit="cases", bar=Bar(relation="<=", value=0)))
    return Section(
        title="reading replies" if dev else f"reading replies (no development set below {data})",
        header=(*header, f"dev of {len(dev)}", "slowest ms"),
        rows=rows,
        figures=figures,
    )


def main() -> None:
    """Print the table to standard output; exit status 1 where a bar is missed."""
    section = parsing_section(Path(os.environ.get("BOOSTER_BENCH_DATA", _ROOT.parent / "shared" / "data")))
    sys.stdout.write(f"{machine()}\n{rendered(section)}\n")
    sys.exit(1 if section.missed else 0)


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line]


def _case(case: dict[str, Any], *, texts: tuple[str, ...] | None, count: int) -> Case:
    reply = case["reply"]
    if isinstance(reply, list):
        reply = "".join(part if isinstance(part, str) else part["repeat"][0] * part["repeat"][1] for part in reply)
    return Case(
        reply=reply,
        finish_reason=case.get("finish_reason"),
        limit=case.get("limit", case.get("n")),
        count=count,
        texts=texts,
        first=case.get("first_text"),
    )


def _timed(extract: Extractor, case: Case) -> tuple[Sequence[str] | None, float]:
    """Return the texts, None where the extractor raised, and the seconds of its fastest run."""
    fastest = float("inf")
    read: Sequence[str] | None = None
    for _ in range(_REPEATS):
        start = time.perf_counter()
        try:
            read = extract(case)
        except (ValueError, TypeError, AttributeError, RecursionError):
            read = None
        fastest = min(fastest, time.perf_counter() - start)
    return read, fastest


def _parser(case: Case) -> Sequence[str]:
    proposals, _ = parse_proposals(case.reply, case.finish_reason, case.limit)
    return [proposal.text for proposal in proposals]


def _standard(case: Case) -> Sequence[str]:
    return _texts(json.loads(case.reply or ""), case)


def _between_brackets(case: Case) -> Sequence[str]:
    reply = case.reply or ""
    return _texts(json.loads(reply[reply.index("[") : reply.rindex("]") + 1]), case)


def _repaired(case: Case) -> Sequence[str]:
    import json_repair

    return _texts(json_repair.loads(case.reply or ""), case)


def _texts(value: Any, case: Case) -> Sequence[str]:
    found = read_items(value, cut=False, nested=lambda _: NOTHING)
    return [proposal.text for proposal in tidy(found, case.limit)]


_EXTRACTORS: dict[str, Extractor] = {
    "parse_proposals": _parser,
    "json.loads": _standard,
    "first [ .. last ]": _between_brackets,
    "json_repair alone": _repaired,
}

if __name__ == "__main__":
    main()
