"""The tables over recorded sets: rivals, equal cost, intervals and bars, on outcomes made by hand."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.quality.arms import BOOSTER, CHEAP, FRUGAL, PLAIN, ROUTED, STRONG, vote_name
from benchmarks.quality.bars import regret
from benchmarks.quality.measured import Measured, measured
from benchmarks.quality.outcomes import Outcome, difference, summed_up
from benchmarks.quality.recorded import Question, RecordedSet, as_reply
from benchmarks.quality.report import markdown
from benchmarks.quality.rivals import BETTER, ORACLE, TWO_AGREE, mixture, routing_rivals, sampling_rivals, vote_at
from benchmarks.quality.tables import overview, set_section
from benchmarks.table import rendered

LETTERS = "abcdefghij"


def outcomes(right: Sequence[bool], *, calls: int = 1, strong: int = 0, **rest: float) -> list[Outcome]:
    return [
        Outcome(task=task, right=hit, confidence=rest.get("confidence", 0.5), calls=calls, tokens=10, strong=strong)
        for task, hit in enumerate(right)
    ]


def a_question(number: int, answers: str, right: str) -> Question:
    return Question(
        id=str(number), task="?" * (number + 1), replies={"m": tuple(map(as_reply, answers))},
        verdicts={letter: letter == right for letter in LETTERS},
    )  # fmt: skip


def sampling(frugal_calls: int = 3) -> Measured:
    """Three questions of ten samples: one easy, one split, one hopeless."""
    questions = tuple(a_question(n, answers, "a") for n, answers in enumerate(("a" * 10, "ab" * 5, "b" * 10)))
    recorded = RecordedSet(name="made up", kind="samples", questions=questions, cheap=("m",), cap=10)
    hits = {PLAIN: [True, False, False], BOOSTER: [True, True, False]}
    sizes = {PLAIN: 1, vote_name(3): 3, vote_name(5): 5, vote_name(10): 10, FRUGAL: frugal_calls, BOOSTER: 4}
    found = {arm: [outcomes(hits.get(arm, [True, True, False]), calls=size)] * 2 for arm, size in sizes.items()}
    return measured("made-up", recorded, found)


def routing(routed_right: Sequence[bool] = (True, True), strong: int = 0) -> Measured:
    def one(number: int, first: str, second: str, best: str) -> Question:
        return Question(
            id=str(number), task="?" * (number + 1),
            replies={"c1": (as_reply(first),), "c2": (as_reply(second),), "s": (as_reply(best),)},
            verdicts={letter: letter == "a" for letter in LETTERS},
        )  # fmt: skip

    questions = (one(0, "a", "a", "a"), one(1, "b", "c", "a"))
    recorded = RecordedSet(name="made up", kind="models", questions=questions, cheap=("c1", "c2"), strong="s")
    found = {
        CHEAP: [outcomes([True, False])],
        STRONG: [outcomes([True, True], strong=1)],
        ROUTED: [outcomes(routed_right, calls=2 + strong, strong=strong)],
    }
    return measured("made-up", recorded, found)


def test_accuracy_is_taken_over_questions_and_its_spread_over_seeds() -> None:
    found = summed_up([outcomes([True, True]), outcomes([False, True])])

    assert found.right == 0.75
    assert found.spread == 0.25
    assert found.low <= 0.75 <= found.high


def test_a_difference_without_spread_has_an_interval_of_no_width() -> None:
    assert difference([1.0, 1.0], [0.5, 0.5]) == (0.5, 0.5, 0.5)


def test_only_answers_called_settled_count_among_the_settled() -> None:
    settled = Outcome(task=0, right=True, confidence=0.9, calls=1, tokens=1, settled=True)
    open_ = Outcome(task=1, right=False, confidence=0.1, calls=1, tokens=1)

    assert summed_up([[settled, open_]]).settled_right == 1.0
    assert summed_up([[open_]]).settled_right is None


def test_votes_at_equal_calls_lie_between_the_two_nearest_sizes() -> None:
    votes = {1: outcomes([False]), 3: outcomes([True]), 5: outcomes([True])}

    assert vote_at(2, votes) == [0.5]
    assert vote_at(3, votes) == [1.0]
    assert vote_at(99, votes) == [1.0]
    assert vote_at(0.5, votes) == [0.0]


def test_a_mixture_spends_what_it_may_on_the_strong_model() -> None:
    cheap, strong = outcomes([False, False]), outcomes([True, True])

    assert mixture(1, cheap, strong).right == [0.0, 0.0]
    assert mixture(10.5, cheap, strong).right == [0.5, 0.5]
    assert mixture(400, cheap, strong).right == [1.0, 1.0]


def test_the_longest_questions_go_to_the_strong_model_first() -> None:
    cheap, strong = outcomes([False, False]), outcomes([True, True])

    assert mixture(10.5, cheap, strong, lengths=[3, 9]).right == [0.0, 1.0]


def test_sampling_rivals_see_the_same_samples() -> None:
    one = sampling()

    rivals = {rival.name: rival for rival in sampling_rivals(one.recorded, seeds=3)}

    assert rivals[ORACLE].right == [1.0, 1.0, 0.0]
    assert rivals[ORACLE].calls == 10


def test_two_cheap_models_that_differ_ask_the_strong_one() -> None:
    rivals = {rival.name: rival for rival in routing_rivals(routing().recorded)}

    assert (list(rivals[TWO_AGREE].right), rivals[TWO_AGREE].strong) == ([1.0, 1.0], 0.5)
    assert list(rivals[BETTER].right) == [1.0, 1.0]


def test_regret_is_one_for_the_best_fixed_rule_and_more_for_worse() -> None:
    best = 2 + 0.5 * 20  # two agree: both cheap calls, and every second question to the strong model

    assert regret(routing(strong=1)) == pytest.approx((2 + 20) / best)
    assert regret(routing(routed_right=(True, False))) == pytest.approx((2 + 50) / best)


def test_each_bar_can_be_missed() -> None:
    assert not set_section(sampling()).missed
    assert set_section(sampling(frugal_calls=11)).missed


def test_a_misread_answer_is_a_miss() -> None:
    one = routing()
    misread = [Outcome(task=task, right=False, confidence=0.5, calls=2, tokens=1, unscored=True) for task in (0, 1)]

    found = Measured(key="made-up", recorded=one.recorded, found={**one.found, ROUTED: [misread]}, rivals=one.rivals)

    assert "answers that the record does not hold" in rendered(set_section(found))
    assert set_section(found).missed


def test_the_overview_names_the_worst_set_and_costs_are_equal() -> None:
    said = rendered(overview([sampling(), routing()]))

    assert "worst set" in said
    assert "votes of fixed size, at equal calls" in said
    assert "random mixture, at equal cost" in said


def test_nothing_that_lost_is_left_out() -> None:
    """A default that is worse than one call stands in the table like any other."""
    one = sampling()
    found = {**one.found, BOOSTER: [outcomes([False, False, False], calls=4)] * 2}

    said = rendered(overview([Measured(key="made-up", recorded=one.recorded, found=found, rivals=one.rivals)]))

    assert "-33.3" in said


def test_the_page_holds_every_row_and_every_bar() -> None:
    section = set_section(sampling())

    page = markdown([section])

    assert all(f"| {row[0]} |" in page for row in section.rows)
    assert all(figure.name in page for figure in section.figures)


def test_a_picture_is_drawn_for_every_set(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from benchmarks.quality.figures import draw

    first, second = draw([sampling(), routing()][:1], tmp_path), draw([routing()], tmp_path / "other")

    assert all(path.read_bytes().startswith(b"\x89PNG") for path in (*first, *second))
