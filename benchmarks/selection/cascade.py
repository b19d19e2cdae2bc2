"""Replaying cascades: the shipped rule and its rivals over questions with recorded answers of several models."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from benchmarks.replay_data import Answered, mmlu_pro, zeroeval
from booster.cascade import Prices, decide
from booster.cascade_state import CascadeState

FIVE = {
    "zeroeval": ("claude-3-haiku-20240307", "Meta-Llama-3.1-8B-Instruct", "Qwen2-7B-Instruct", "gemma-2-9b-it"),
    "mmlu_pro": ("Phi-3-mini-4k-instruct", "Yi-6b-Chat", "Mistral-7B-Instruct-v0.2", "mathstral-7B"),
}
"""Cheap models that fill a pair's own two up to five, in this order."""
MMLU_ROWS = 1500
VERIFIED = 0.1
"""Share of the disagreements whose outcome somebody verifies."""
WRONG = (30, 60, 100, 200, 400)
"""Prices of a wrong answer, in cheap calls."""
STRONG = 20
"""Price of a strong call, in cheap calls."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """Cheap models before a strong one, over the questions that all of them answered."""

    name: str
    cheap: tuple[str, ...]
    """In the order drawn; the first two are the pair's own, the others serve the baselines that want five."""
    strong: str
    questions: tuple[Answered, ...]


@dataclass(frozen=True, slots=True)
class Spent:
    """One question: what was called and whether the answer was right."""

    cheap: int
    strong: int
    right: bool

    def cost(self, strong: float, wrong: float) -> float:
        """Return the price of the calls and of a wrong answer, in cheap calls."""
        return self.cheap + strong * self.strong + wrong * (not self.right)


Policy = Callable[[Pair, Sequence[int], int], list[Spent]]
"""(pair, order of the questions, seed) -> one entry a question of the pair, in its own order."""


@cache
def pairs(data: Path) -> tuple[Pair, ...]:
    """Return the five pairs of the table."""
    found = [
        _pair(
            name, zeroeval(data, name), ("gpt-4o-mini-2024-07-18", "gemini-1.5-flash"), "o1-mini-2024-09-12", "zeroeval"
        )
        for name in ("math-l5", "crux", "gsm")
    ]
    rows = mmlu_pro(data)
    for label, cheap, strong in (
        ("mmlu_pro small", ("Meta-Llama-3_1-8B-Instruct", "mathstral-7B"), "Meta-Llama-3_1-70B-Instruct"),
        ("mmlu_pro large", ("gemini-1.5-flash-002", "jamba-1.5-large"), "gemini-1.5-pro-002"),
    ):
        answered = [row for row in rows if {*cheap, strong} <= row.keys.keys()]
        kept = sorted(Random(f"rows {label}").sample(range(len(answered)), min(MMLU_ROWS, len(answered))))
        found.append(_pair(label, [answered[at] for at in kept], cheap, strong, "mmlu_pro"))
    return tuple(found)


def always_cheap(pair: Pair, order: Sequence[int], seed: int) -> list[Spent]:
    """Take the first cheap answer."""
    return [Spent(1, 0, question.right[pair.cheap[0]]) for question in pair.questions]


def always_strong(pair: Pair, order: Sequence[int], seed: int) -> list[Spent]:
    """Ask the strong model."""
    return [Spent(0, 1, question.right[pair.strong]) for question in pair.questions]


def agree(k: int) -> Policy:
    """Return the fixed rule: stop where k cheap answers agree; the first that differs escalates."""

    def policy(pair: Pair, order: Sequence[int], seed: int) -> list[Spent]:
        spent = []
        for question in pair.questions:
            keys = [question.keys.get(model) for model in pair.cheap[:k]]
            drawn = next((at + 1 for at, key in enumerate(keys) if key is None or key != keys[0]), k)
            equal = keys[0] is not None and keys.count(keys[0]) == k
            spent.append(Spent(drawn, int(not equal), question.right[pair.cheap[0] if equal else pair.strong]))
        return spent

    return policy


def share_of_five(threshold: float) -> Policy:
    """Return the fixed rule: draw five cheap answers, stop where the leader has at least this share of them."""

    def policy(pair: Pair, order: Sequence[int], seed: int) -> list[Spent]:
        spent = []
        for question in pair.questions:
            keys = [question.keys.get(model) for model in pair.cheap]
            leader, votes = _leader(keys)
            stops = leader is not None and votes >= threshold * len(keys) - 1e-9
            model = pair.cheap[keys.index(leader)] if stops else pair.strong
            spent.append(Spent(len(keys), int(not stops), question.right[model]))
        return spent

    return policy


def oracle(pair: Pair, order: Sequence[int], seed: int) -> list[Spent]:
    """Know who is right: strong only where it is right and the first cheap answer is not. No policy can know this."""
    return [
        Spent(1, 0, True)
        if question.right[pair.cheap[0]]
        else Spent(1, int(question.right[pair.strong]), question.right[pair.strong])
        for question in pair.questions
    ]


def escalate_share(pair: Pair, ranked: Sequence[int], share: float) -> list[Spent]:
    """Ask the strong model for the first `share` of the ranked questions, and the first cheap one for the rest."""
    chosen = set(ranked[: round(share * len(ranked))])
    return [
        Spent(0, 1, question.right[pair.strong]) if at in chosen else Spent(1, 0, question.right[pair.cheap[0]])
        for at, question in enumerate(pair.questions)
    ]


def learnt(wrong: float, strong: float = STRONG, kmax: int = 2, verified: float = VERIFIED) -> Policy:
    """Return the shipped rule, learning from nothing as it goes.

    Args:
        wrong: Price of a wrong answer, in cheap calls.
        strong: Price of a strong call, in cheap calls.
        kmax: Most cheap answers.
        verified: Share of the disagreements between leader and strong answer whose outcome is verified.
    """
    price = Prices(cheap=1, strong=strong, wrong=wrong)

    def policy(pair: Pair, order: Sequence[int], seed: int) -> list[Spent]:
        generator = Random(f"verified {seed}")
        state = CascadeState()
        spent: dict[int, Spent] = {}
        for at in order:
            spent[at], state = _cascade(pair, pair.questions[at], state, price, kmax, generator, verified)
        return [spent[at] for at in range(len(pair.questions))]

    return policy


def _cascade(
    pair: Pair,
    question: Answered,
    state: CascadeState,
    price: Prices,
    kmax: int,
    generator: Random,
    verified: float,
) -> tuple[Spent, CascadeState]:
    keys = [question.keys[pair.cheap[0]]]
    while (move := decide(keys, state, price, kmax=kmax)).action == "more":
        equal = len(keys)
        keys.append(question.keys.get(pair.cheap[equal]))
        state = state.saw_next(equal, keys[-1] == keys[0])
    cheap_right, strong_right = question.right[pair.cheap[0]], question.right[pair.strong]
    asks = move.action == "escalate"
    if not asks:
        state, asks = state.saw_stop()
    if not asks:
        return Spent(len(keys), 0, cheap_right), state
    if move.state is not None:
        same = question.keys[pair.strong] == keys[0]
        state = state.saw_strong(move.state, same)
        if not same and generator.random() < verified:
            state = state.saw_outcome(strong_right=strong_right, cheap_right=cheap_right)
    return Spent(len(keys), 1, strong_right), state


def _pair(name: str, rows: Sequence[Answered], own: tuple[str, str], strong: str, pool: str) -> Pair:
    others = [model for model in FIVE[pool] if model not in own][:3]
    kept = tuple(row for row in rows if {*own, strong} <= row.keys.keys())
    return Pair(name=name, cheap=(*own, *others), strong=strong, questions=kept)


def _leader(keys: Sequence[str | None]) -> tuple[str | None, int]:
    counts: Mapping[str, int] = Counter(key for key in keys if key is not None)
    return max(counts.items(), key=lambda item: item[1], default=(None, 0))
