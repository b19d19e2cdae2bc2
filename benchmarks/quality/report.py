"""The findings as files: a page of Markdown, and JSON with everything that the tables were made of."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from benchmarks.quality.measured import Measured
from benchmarks.quality.outcomes import by_task
from benchmarks.quality.rivals import PUBLISHED
from benchmarks.table import Figure, Section, machine

PREFACE = """\
# Answers, cost and honesty, measured

Printed by `booster-bench quality --markdown docs/quality.md`; run it again instead of changing this page.

What is measured is the shipped loop, `Booster.solve`, asking recorded replies of real models through the provider `replay`. It sees
the task, the replies that it pays for, and the outcomes of checks that it runs on them; whether an answer is right is looked up
afterwards. Every call is opened and closed in the ledger; calls and tokens are the ledger's, tokens counted as characters / 4.
Nothing was fitted for these tables: the constants are those of `verifier/tuned.py`.

- *right %*: mean over questions and seeds, with the 95 % bootstrap interval over questions (seeds are no further questions);
  *± seeds* is the standard deviation over seeds, which shuffle samples and questions.
- *minus one call*: paired difference in percentage points with its interval. Where the interval holds 0, nothing is claimed.
- *ECE*, *Brier*: of `confidence`. Without verified outcomes to learn from it is no more than capped votes, and says so.
- *settled % (right)*: answers that the booster calls verified or agreed, and how many of these are right.
- Rows without ECE are rivals, computed from the same replies in the same orders; *published* ones are the figures that come with the
  data, over all of its questions.
- The records hold whole answers, so the loop is asked for whole answers (`granularity` answer, one iteration), but for Game of 24
  step by step, where recorded value calls stand in for a process-reward model behind `processRewardUrl`.
- A check is an executable one of the user; its outcomes are the recorded ones. In the routed sets a strong call costs as much as
  twenty cheap ones, and a wrong answer as five strong ones.
- Not asked: sets that record only whether a model was right (routellm), one answer a model under many metrics (routerarena), and
  traces of agents; their decisions are replayed without the loop by `booster-bench selection`.
"""


def markdown(sections: Sequence[Section]) -> str:
    """Return the page."""
    return "\n".join([PREFACE, *map(_section, sections)])


def as_json(found: Sequence[Measured], sections: Sequence[Section], **settings: Any) -> str:
    """Return the findings as JSON: every arm's summary and its share of right seeds question by question, and every bar."""
    document = {
        "settings": settings,
        "machine": machine(),
        "sets": {one.key: _set(one) for one in found},
        "figures": [
            {"section": section.title, **asdict(figure), "missed": figure.missed}
            for section in sections
            for figure in section.figures
        ],
    }
    return json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _set(one: Measured) -> dict[str, Any]:
    return {
        "name": one.recorded.name,
        "questions": [question.id for question in one.recorded.questions],
        "seeds": one.seeds,
        "arms": {arm: {**asdict(one.summary(arm)), "rightOfQuestion": by_task(one.every(arm))} for arm in one.found},
        "rivals": {
            rival.name: {"rightOfQuestion": list(rival.right), "calls": rival.calls, "strong": rival.strong}
            for rival in one.rivals
        },
        "published": [asdict(row) for row in PUBLISHED.get(one.key, ())],
    }


def _section(section: Section) -> str:
    parts = [f"## {section.title}\n"]
    if section.skipped:
        parts.append(f"Skipped: {section.skipped}\n")
    if section.rows:
        width = len(section.header)
        parts.append(_table(section.header, [[*row, *[""] * (width - len(row))] for row in section.rows]))
    if section.figures:
        parts.append(_table(("figure", "value", "bar", ""), [_judged(figure) for figure in section.figures]))
    return "\n".join(parts)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in (header, *rows)]
    lines.insert(1, "|" + "---|" * len(header))
    return "\n".join(lines) + "\n"


def _judged(figure: Figure) -> tuple[str, ...]:
    name = figure.name + (f" ({figure.note})" if figure.note else "")
    value = f"{figure.value:.3g}" if abs(figure.value) < 100 else f"{figure.value:.0f}"
    if figure.bar is None:
        return name, f"{value} {figure.unit}".rstrip(), "", ""
    bar = f"{figure.bar.relation} {figure.bar.value:g} {figure.unit}".rstrip()
    return name, f"{value} {figure.unit}".rstrip(), bar, "missed" if figure.missed else "ok"
