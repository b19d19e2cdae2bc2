"""What the loop is held against: other rules over the same replies in the same orders, and the figures published with the data.

None of these asks for anything: they are computed from the records, some with knowledge that no policy can have.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.quality.outcomes import Outcome, by_task
from benchmarks.quality.recorded import Question, RecordedSet
from benchmarks.replay_data import Sampled
from benchmarks.selection.replays import Wave, by_beta, draw
from benchmarks.statistics import mean
from verifier.answers import extract_answer, vote_key


@dataclass(frozen=True, kw_only=True, slots=True)
class Rival:
    """One rule, over all questions and seeds."""

    name: str
    right: Sequence[float]
    """Share of seeds in which each question was right, in the order of the questions."""
    calls: float
    strong: float = 0.0
    """Calls a question, of all models and of the strong one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Published:
    """A figure that comes with the data, over all its development questions."""

    name: str
    right: float
    """Percent."""
    calls: float
    strong: float = 0.0


def _published(*rows: tuple[str, float, float]) -> tuple[Published, ...]:
    return tuple(Published(name=name, right=right, calls=calls) for name, right, calls in rows)


def _routing(cheap: float, strong: float, oracle: float, *two: tuple[float, float]) -> tuple[Published, ...]:
    return (
        Published(name="always cheap", right=cheap, calls=1),
        Published(name="always strong", right=strong, calls=1, strong=1),
        *(Published(name="two cheap disagree", right=right, calls=2 + rate, strong=rate) for right, rate in two),
        Published(name="better of the two", right=oracle, calls=2, strong=1),
    )


PUBLISHED: Final[Mapping[str, tuple[Published, ...]]] = {
    "cruxeval-input": _published(
        ("one", 35.5, 1), ("vote@2", 35.4, 2), ("vote@5", 35.3, 5), ("vote@10", 35.6, 10),
        ("adaptive consistency .95", 35.6, 7.7), ("best@10", 46.5, 10),
    ),
    "cruxeval-output": _published(
        ("one", 34.9, 1), ("vote@2", 34.6, 2), ("vote@5", 35.0, 5), ("vote@10", 35.0, 10),
        ("adaptive consistency .95", 35.0, 6.2), ("best@10", 42.9, 10),
    ),
    "game24-io": _published(
        ("one", 6.3, 1), ("vote@5", 6.2, 5), ("vote@10", 7.0, 10), ("vote@25", 7.5, 25), ("vote@100", 8.2, 100),
        ("adaptive consistency .95", 7.9, 27.4), ("best@10", 16.0, 10), ("best@25", 20.3, 25),
    ),
    "game24-cot": _published(
        ("one", 3.6, 1), ("vote@5", 4.0, 5), ("vote@10", 5.0, 10), ("vote@25", 6.2, 25), ("vote@100", 8.2, 100),
        ("adaptive consistency .95", 8.0, 78.8), ("best@10", 21.4, 10), ("best@25", 32.9, 25),
    ),
    "codet": _published(
        ("one", 22.7, 1), ("vote by behaviour@10", 26.4, 10), ("vote by behaviour@25", 27.2, 25),
        ("dual agreement of 10 and their tests", 32.8, 10), ("dual agreement of 25 and their tests", 34.8, 25),
        ("most tests passed of 10", 26.6, 10), ("best@10", 50.5, 10), ("best@25", 62.4, 25),
    ),
    "math-l5": _routing(53.4, 89.4, 90.5, (86.0, 0.679)),
    "crux": _routing(77.2, 95.3, 97.0, (94.5, 0.498)),
    "gsm": _routing(93.8, 95.9, 97.0, (96.6, 0.116)),
    "gsm8k-openai": _routing(39.2, 56.1, 62.0),
    "mmlu-small": _routing(44.4, 62.9, 69.8),
    "mmlu-large": _routing(64.6, 70.2, 78.5),
    "blocksworld": _routing(62.3, 97.1, 99.7),
    "mystery": _routing(14.7, 50.5, 53.9),
}  # fmt: skip
"""Set -> figures of its README."""

BETA, ORACLE = "adaptive consistency .95", "oracle: any of the samples"
UNTIL = "draw until one holds the check"
STRONG_CALL: Final = 20
"""Price of a strong call in cheap ones."""
TWO_AGREE, BETTER = "two cheap disagree: strong", "oracle: better of the two"


def sampling_rivals(recorded: RecordedSet, seeds: int) -> list[Rival]:
    """Return adaptive consistency and the oracle, over the same samples in the same orders as the loop."""
    waves: dict[str, Wave] = {BETA: by_beta(0.95)}
    names = (*waves, ORACLE, *([UNTIL] if recorded.checkable else []))
    rows: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in names}
    for question in recorded.questions:
        read = _reader(question)
        orders = [[read(reply) for reply in _order(question, recorded, seed)] for seed in range(seeds)]
        for name, wave in waves.items():
            drawn = [draw(_sampled(question, order), range(len(order)), recorded.cap, wave) for order in orders]
            rows[name][0].append(mean([one.right for one in drawn]))
            rows[name][1].append(mean([one.samples for one in drawn]))
        found = [_first_right(order, recorded.cap) for order in orders]
        rows[ORACLE][0].append(mean([place is not None for place in found]))
        rows[ORACLE][1].append(recorded.cap)
        if recorded.checkable:
            rows[UNTIL][0].append(rows[ORACLE][0][-1])
            rows[UNTIL][1].append(mean([place or recorded.cap for place in found]))
    return [Rival(name=name, right=right, calls=mean(calls)) for name, (right, calls) in rows.items()]


def routing_rivals(recorded: RecordedSet) -> list[Rival]:
    """Return the fixed rule of two cheap models, where there are two, and the oracle; they know no seeds."""
    keys = [{model: _key(replies[0]) for model, replies in one.replies.items()} for one in recorded.questions]
    right = [
        {model: bool(one.right(extract_answer(replies[0]))) for model, replies in one.replies.items()}
        for one in recorded.questions
    ]
    cheap, strong = recorded.cheap, recorded.strong
    rivals = []
    if len(cheap) > 1:
        asks = [key[cheap[0]] is None or key[cheap[0]] != key[cheap[1]] for key in keys]
        rivals.append(
            Rival(
                name=TWO_AGREE,
                right=[float(hit[strong if ask else cheap[0]]) for hit, ask in zip(right, asks, strict=True)],
                calls=2 + mean(asks),
                strong=mean(asks),
            )
        )
    needs = [hit[strong] and not hit[cheap[0]] for hit in right]
    best = [float(hit[strong] or hit[cheap[0]]) for hit in right]
    rivals.append(Rival(name=BETTER, right=best, calls=1 + mean(needs), strong=mean(needs)))
    return rivals


def best_of(calls: float, recorded: RecordedSet, seeds: int) -> float:
    """Return the share in [0, 1] of questions of which one of so many samples is right, between two whole numbers mixed."""
    low, part = int(calls), calls % 1
    shares = []
    for size in (low, low + 1):
        firsts = [
            _first_right([read(reply) for reply in _order(question, recorded, seed)], size) is not None
            for question in recorded.questions
            for read in [_reader(question)]
            for seed in range(seeds)
        ]
        shares.append(mean(firsts))
    return (1 - part) * shares[0] + part * shares[1]


def vote_at(calls: float, votes: Mapping[int, Sequence[Outcome]]) -> list[float]:
    """Return how often each question is right where as many calls are spent on votes of fixed sizes: two sizes, mixed.

    Args:
        calls: A question, on average.
        votes: Size -> outcomes; beyond the largest, that one stands.
    """
    sizes = sorted(votes)
    low = max([size for size in sizes if size <= calls] or sizes[:1])
    high = min([size for size in sizes if size >= calls] or sizes[-1:])
    share = 0.0 if high == low else (calls - low) / (high - low)
    return [(1 - share) * a + share * b for a, b in zip(by_task(votes[low]), by_task(votes[high]), strict=True)]


def mixture(
    cost: float, cheap: Sequence[Outcome], strong: Sequence[Outcome], lengths: Sequence[int] | None = None
) -> Rival:
    """Return what as much buys where each question is put to one of the two models.

    Args:
        cost: A question, on average, in cheap calls.
        cheap: Outcomes of always asking the cheap model.
        strong: The same of the strong one.
        lengths: Characters of each question: the longest go to the strong model. None = whichever, at random.
    """
    share = min(1.0, max(0.0, (cost - 1) / (STRONG_CALL - 1)))
    right = list(zip(by_task(cheap), by_task(strong), strict=True))
    if lengths is None:
        mixed = [(1 - share) * a + share * b for a, b in right]
        return Rival(name="random mixture, at equal cost", right=mixed, calls=1, strong=share)
    asks = set(sorted(range(len(right)), key=lambda at: -lengths[at])[: round(share * len(right))])
    routed = [b if at in asks else a for at, (a, b) in enumerate(right)]
    return Rival(name="longest questions to strong, at equal cost", right=routed, calls=1, strong=share)


def _first_right(order: Sequence[tuple[str | None, bool]], cap: int) -> int | None:
    """Return how many samples it takes to draw a right one; None where there is none among the first `cap`."""
    return next((number for number, (_, right) in enumerate(order[:cap], 1) if right), None)


def _reader(question: Question) -> Callable[[str], tuple[str | None, bool]]:
    known: dict[str, tuple[str | None, bool]] = {}

    def read(reply: str) -> tuple[str | None, bool]:
        if reply not in known:
            known[reply] = (_key(reply), bool(question.right(extract_answer(reply))))
        return known[reply]

    return read


def _key(reply: str) -> str | None:
    answer = extract_answer(reply)
    return None if answer is None else vote_key(answer)


def _order(question: Question, recorded: RecordedSet, seed: int) -> Sequence[str]:
    return question.shuffled(seed)[question.id, recorded.cheap[0]]


def _sampled(question: Question, order: Sequence[tuple[str | None, bool]]) -> Sampled:
    return Sampled(id=question.id, keys=tuple(key for key, _ in order), right=tuple(right for _, right in order))
