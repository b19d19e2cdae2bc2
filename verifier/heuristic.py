"""The scoring profile `heuristic-v1`: three cheap sub-scores of a step, from its text alone.

It ranks siblings of one task where nothing better is known. It is reproducible (no clock, no randomness) and says nothing
about correctness: a check, a vote or a judge always outranks it. Its marker words are English by definition of the
profile; everything else treats all scripts alike.

Token overlap is the Jaccard index of the sets of word tokens (Jaccard 1912, New Phytologist 11:37-50).
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import Final

from verifier.types import Candidate, Context, Score, Weights

PROFILE = "heuristic-v1"
DEFAULT_WEIGHTS = Weights()

VAGUE_MARKERS = ("obviously", "evidently", "clearly", "trivial", "without proof")
CONTRADICTION_MARKERS = ("in contradiction", "in conflict", "contradicts", "inconsistent")

SHORT = 200
"""Characters up to which a step counts as short."""
LONG = 400
"""Characters beyond which a step counts as too long."""
SAME = 0.95
"""Jaccard index from which two texts count as one."""
ALIKE = 0.8
"""Jaccard index from which two texts count as close."""
CONTENT_LETTERS = 5
"""Letters that a word needs to count as a word of content."""

_UNSPACED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x3040, 0x30FF),  # Hiragana, Katakana
    (0x31F0, 0x31FF),  # Katakana extensions
    (0x3400, 0x4DBF),  # CJK ideographs, extension A
    (0x4E00, 0x9FFF),  # CJK ideographs
    (0xF900, 0xFAFF),  # CJK compatibility ideographs
    (0x20000, 0x3FFFF),  # CJK ideographs, further extensions
)
"""Scripts that put no spaces between words; there one character is one token."""


_OPERATION: Final = re.compile(r"(?<=[\d)])\s*[-+*/×÷·^<>=]\s*[\d(][\d.,]*")
"""A sign and the operand behind it."""


@lru_cache(maxsize=512)
def tokens(text: str) -> tuple[str, ...]:
    """Return the word tokens of a text, case-folded, in order.

    A token is a run of letters, marks, digits and underscores. In scripts without spaces between words (Chinese, Japanese,
    Thai, Lao, Khmer, Burmese) each character with its marks is a token of its own, since a whole sentence would else be one.
    """
    found: list[str] = []
    word = ""
    alone = False  # the token under construction is one character of an unspaced script
    for char in unicodedata.normalize("NFC", text).casefold():
        category = unicodedata.category(char)[0]
        if category == "M" and word:
            word += char
            continue
        in_word = char == "_" or category in "LMN"
        unspaced = in_word and _is_unspaced(char)
        if word and (alone or unspaced or not in_word):
            found.append(word)
            word = ""
        if in_word:
            word += char
            alone = unspaced
    return (*found, word) if word else tuple(found)


def jaccard(a: str, b: str) -> float:
    """Return the share of word tokens that two texts have in common, in [0, 1]; 1.0 for the same set of tokens.

    Order and repetition do not count. Texts without any token compare by equality.
    """
    first, second = set(tokens(a)), set(tokens(b))
    if not first and not second:
        return float(a.strip() == b.strip())
    return len(first & second) / len(first | second)


def near_repeat(text: str, steps: Sequence[str], threshold: float = SAME) -> bool:
    """Say whether the text repeats any of the steps: Jaccard index at or above the threshold, and the same arithmetic.

    Words alone would take `3 + 7 = 10` for `10 - 7 = 3`.
    """
    return any(jaccard(text, step) >= threshold and _signs(text) == _signs(step) for step in steps)


@lru_cache(maxsize=512)
def _signs(text: str) -> tuple[str, ...]:
    """Return the signs between operands, with the numbers beside them, in order."""
    return tuple("".join(found.split()).rstrip(".,") for found in _OPERATION.findall(text))


def rules_score(text: str, task: str) -> float:
    """Return the score of form, in [-.9, .45]: length, vague markers, a word of content shared with the task."""
    length = 30 if len(text) <= SHORT else 10 if len(text) <= LONG else -20
    vague = max(-60, -20 * sum(_has_marker(text, marker) for marker in VAGUE_MARKERS))
    on_topic = 15 if _content(text) & _content(task) else -10
    return (length + vague + on_topic) / 100  # whole hundredths: no rounding error before the division


def redundancy_score(text: str, steps: Sequence[str]) -> float:
    """Return the score of novelty against the last step, in [-.5, .1]; .05 where there is no step yet."""
    if not steps:
        return 0.05
    overlap = jaccard(text, steps[-1])
    return -0.5 if overlap >= SAME else -0.3 if overlap >= ALIKE else 0.1


def consistency_score(text: str) -> float:
    """Return -.3 where the text itself speaks of a contradiction, else .05."""
    return -0.3 if any(_has_marker(text, marker) for marker in CONTRADICTION_MARKERS) else 0.05


def score(text: str, task: str, steps: Sequence[str] = (), weights: Weights = DEFAULT_WEIGHTS) -> Score:
    """Score one step by `heuristic-v1`.

    Args:
        text: The proposed step.
        task: The whole task, as its author wrote it.
        steps: Texts of the applied steps, oldest first; only the last one counts here.
        weights: Of the three sub-scores.

    Returns:
        The sub-scores and their weighted sum, rounded to ten decimals so that sums that are equal on paper tie.
    """
    rules, redundancy, consistency = rules_score(text, task), redundancy_score(text, steps), consistency_score(text)
    total = weights.rules * rules + weights.redundancy * redundancy + weights.consistency * consistency
    return Score(rules=rules, redundancy=redundancy, consistency=consistency, total=round(total, 10))


class HeuristicVerifier:
    """Adds the `heuristic-v1` score of a candidate's step."""

    name = PROFILE

    async def verify(self, candidate: Candidate, context: Context) -> Candidate:
        """Return the candidate with `score` set."""
        found = score(candidate.proposal.text, context.task, context.steps, context.weights)
        return replace(candidate, score=found)


def _is_unspaced(char: str) -> bool:
    return char >= "\u0e00" and any(low <= ord(char) <= high for low, high in _UNSPACED)


@lru_cache(maxsize=64)
def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _has_marker(text: str, marker: str) -> bool:
    """Say whether the marker occurs at the start of a word, so that `trivially` counts and `nontrivial` does not."""
    folded = _folded(text)
    at = folded.find(marker)
    while at >= 0:
        before = folded[at - 1 : at]
        if not (before.isalnum() or before in ("-", "_")):
            return True
        at = folded.find(marker, at + 1)
    return False


@lru_cache(maxsize=512)
def _content(text: str) -> frozenset[str]:
    """Return the words of content: five letters or more, and pairs of neighbours in scripts without spaces."""
    found = tokens(text)
    words = {token for token in found if sum(map(str.isalpha, token)) >= CONTENT_LETTERS}
    pairs = {a + b for a, b in pairwise(found) if _is_unspaced(a[0]) and _is_unspaced(b[0])}
    return frozenset(words | pairs)
