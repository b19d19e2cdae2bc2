"""Templates for a run without a model: concrete moves that fit any task, and never an answer.

They keep the loop honest and testable where nobody can be asked. Their words are English and say nothing about the
subject; what ties one to its task is a word of the task itself, in whatever language that is.
"""

import re
import unicodedata

from providers.types import Proposal

MOST_PROPOSALS = 16
"""Proposals at once; below the number of templates, so that the next step always gets another set."""

RATIONALE = "Template, no model was asked."

_FAMILIES: tuple[tuple[str, ...], ...] = (
    (  # what is given
        "Copy every number and condition that the task gives about {focus}, one per line.",
        "Name the exact form that the final result on {focus} must have: type, unit, number of parts.",
        "List in two columns what is given and what is asked for, beginning with {focus}.",
        "Mark which facts about {focus} the task states and which one is only assumed.",
        "Give {focus} a short symbol and write the first condition of the task with it.",
        "Write the one condition that limits {focus} most as a single equation, rule or sentence.",
        "Number the separate parts of the task in which {focus} plays a role.",
        "Restate the question about {focus} in one sentence of at most 15 words.",
    ),
    (  # one move forward
        "Solve the smallest case that contains {focus} by hand and note its result.",
        "Split the work on {focus} into two parts and finish the first part now.",
        "Work one line backwards from the wanted result towards {focus}.",
        "Change one quantity next to {focus} by one and note how the result moves.",
        "Fill a table of three rows for {focus}: smallest, middle and largest allowed value.",
        "Replace {focus} with an example and carry out the first operation on it.",
        "Draw {focus} as points and arrows and write one relation beside each arrow.",
        "Write the next single operation on {focus} with the values before and after it.",
    ),
    (  # a test of what is there
        "Put the latest result back into the condition on {focus} and note whether it holds.",
        "Find one case in which the last statement about {focus} fails, or list three that pass.",
        "Compute a lower and an upper bound for {focus} and keep both.",
        "Compare units or types on both sides of the line that mentions {focus}.",
        "Redo the last move on {focus} by another route and compare the two values.",
        "Try zero, one and the largest allowed value for {focus}.",
        "List the conditions of the task that no step has used yet, {focus} first.",
        "Hold the result so far against what the task asks about {focus} and write down the gap.",
    ),
)
_TEMPLATES = tuple(template for family in _FAMILIES for template in family)
_FAMILY_SIZE = len(_FAMILIES[0])

_MOST_FOCUSES = 6
_LONGEST_FOCUS = 30
_CONTENT_LETTERS = 5


def heuristic_proposals(task: str, n_steps: int, k: int, *, family: int = 0) -> list[Proposal]:
    """Return `k` different templates filled with words of the task; the same input gives the same list.

    Args:
        task: As its author wrote it, in any language.
        n_steps: Steps applied so far, 0 or more; the next number gets another set.
        k: How many, in 1..16.
        family: Any whole number; another family begins elsewhere among the templates, for a run that is stuck.

    Raises:
        ValueError: `k` is out of range or `n_steps` is negative.
    """
    if not 1 <= k <= MOST_PROPOSALS:
        raise ValueError(f"k must lie in 1..{MOST_PROPOSALS}, not {k}")
    if n_steps < 0:
        raise ValueError(f"n_steps must be 0 or more, not {n_steps}")
    focuses = _focuses(task)
    start = family * _FAMILY_SIZE + n_steps * k
    return [
        Proposal(
            # The words move on with the steps, so that a template that comes round again reads differently.
            text=_TEMPLATES[(start + i) % len(_TEMPLATES)].format(focus=focuses[(n_steps + i) % len(focuses)]),
            rationale=RATIONALE,
        )
        for i in range(k)
    ]


def _focuses(task: str) -> list[str]:
    """Return what of the task can be pointed at: its longest words in quotes, else its beginning."""
    text = unicodedata.normalize("NFC", task)
    words = dict.fromkeys(word for word in re.findall(r"\w+", text) if sum(map(str.isalpha, word)) >= _CONTENT_LETTERS)
    # Length is the one sign of content that no list of words is needed for. In scripts without spaces a "word" is a
    # whole clause; its beginning is enough to point at it.
    found = sorted(words, key=len, reverse=True)[:_MOST_FOCUSES] or [" ".join(text.split())]
    return [f'"{focus[:_LONGEST_FOCUS]}"' if focus else "the task" for focus in found]
