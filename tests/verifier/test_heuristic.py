"""The profile `heuristic-v1`: constants, order, and laws."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.verifier.candidates import candidate
from verifier.heuristic import (
    PROFILE,
    HeuristicVerifier,
    consistency_score,
    jaccard,
    near_repeat,
    redundancy_score,
    rules_score,
    score,
    tokens,
)
from verifier.types import Context, Weights

TASK = "Measure four litres of water with a five-litre and a three-litre container"
STEP = "Fill the five-litre container to the brim with water"
unit = st.floats(0, 1)


def of_length(characters: int) -> str:
    return ("water " * characters)[:characters]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (STEP, 0.45),
        ("Fill it", 0.20),  # short, nothing of the task
        (of_length(200), 0.45),
        (of_length(201), 0.25),
        (of_length(400), 0.25),
        (of_length(401), -0.05),
        ("Obviously the water is enough", 0.25),
        ("OBVIOUSLY, and clearly, the water is enough", 0.05),
        ("Obviously, evidently and clearly the water is enough", -0.15),
        ("Obviously, evidently, clearly trivial without proof: water", -0.15),  # floor of the markers
        ("It is trivially full of water", 0.25),
        ("A nontrivial amount of water, shown unclearly", 0.45),
        ("The water is there without\n proof", 0.25),
        ("pour the WATER", 0.45),
        ("wat five", 0.20),  # four letters are not enough
        ("", 0.20),
    ],
)
def test_the_rules_score_follows_its_table(text: str, expected: float) -> None:
    assert rules_score(text, TASK) == expected


@pytest.mark.parametrize(
    ("text", "steps", "expected"),
    [
        ("a b c", [], 0.05),
        ("a b c", ["a b c"], -0.5),
        ("C, b! A?", ["a b c"], -0.5),
        ("a b c d", ["a b c d e"], -0.3),  # 4 of 5 = .8
        ("a b c", ["a b c d"], 0.1),  # 3 of 4
        (" ".join(map(str, range(19))), [" ".join(map(str, range(20)))], -0.5),  # 19 of 20 = .95
        (" ".join(map(str, range(18))), [" ".join(map(str, range(19)))], -0.3),  # 18 of 19 = .947
        ("a b c", ["a b c", "x y z"], 0.1),  # only the last step counts
    ],
)
def test_the_redundancy_score_follows_its_table(text: str, steps: list[str], expected: float) -> None:
    assert redundancy_score(text, steps) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The sum is 5", 0.05),
        ("This is in contradiction to step 2", -0.3),
        ("The two are in conflict", -0.3),
        ("It contradicts and is Inconsistent", -0.3),
    ],
)
def test_the_consistency_score_follows_its_table(text: str, expected: float) -> None:
    assert consistency_score(text) == expected


def test_the_worked_value_is_exact() -> None:
    """.6 * .45 + .25 * .10 + .15 * .05 = .3025, though binary floats say otherwise."""
    found = score(STEP, TASK, ["Empty the small jug"])

    assert (found.rules, found.redundancy, found.consistency, found.total) == (0.45, 0.10, 0.05, 0.3025)
    assert f"{found.total:.2f}" == "0.30"


BETTER_AND_WORSE = [
    (STEP, "Think harder"),
    (STEP, "Consider possibilities"),
    (STEP, "Be careful and creative"),
    (STEP, "Keep going until it is done"),
    (STEP, "Try a new idea"),
    (STEP, "Obviously the container gets filled with water"),
    (STEP, "Clearly four litres of water follow"),
    (STEP, "It is trivial to measure the water"),
    (STEP, "The water is measured without proof"),
    (STEP, "Evidently the container is full"),
    (STEP, "Empty the small jug into the sink"),  # the last step once more
    (STEP, "empty the SMALL jug, into the sink!"),
    (STEP, "Empty the small jug into sink"),  # 5 of 6 words of the last step
    (STEP, "Filling the container contradicts the last step"),
    (STEP, "The water level is inconsistent"),
    (STEP, "The container is in conflict with the jug"),
    (STEP, f"{STEP}, then pour on, and so on: " + "pour some more water into it, " * 8),
    (STEP, "Describe in all detail what could be done about the water. " * 10),
    ("Pour from the five-litre container until the small one is full", "Think about how to pour"),
    ("Empty the three-litre container and keep what is in the other", "Do the obvious thing next"),
    ("Check that four litres of water are left in the container", "Make sure everything is right"),
]


@pytest.mark.parametrize(("better", "worse"), BETTER_AND_WORSE)
def test_a_concrete_step_beats_a_vague_repeated_or_long_one(better: str, worse: str) -> None:
    steps = ["Empty the small jug into the sink"]

    assert score(better, TASK, steps).total > score(worse, TASK, steps).total


def test_words_are_runs_of_letters_marks_and_digits_in_any_script() -> None:
    assert tokens("Naliať 5L, potom_von!") == ("naliať", "5l", "potom_von")
    assert tokens("हिन्दी में") == ("हिन्दी", "में")
    assert tokens("e\u0301te\u0301") == tokens("été") == ("été",)


def test_scripts_without_spaces_are_compared_character_by_character() -> None:
    """One word for the whole sentence would make any two sentences wholly different."""
    assert tokens("把5升壶") == ("把", "5", "升", "壶")
    assert jaccard("把五升的壶装满水", "把五升的壶装满水吧") == pytest.approx(8 / 9)
    assert rules_score("把五升的壶装满水", "用五升的壶量出四升水") > rules_score("再想一想", "用五升的壶量出四升水")


def test_a_repeat_of_any_earlier_step_is_found() -> None:
    steps = ["Fill the large jug", "Pour it over", "Empty the small jug"]

    assert near_repeat("fill the LARGE jug.", steps)
    assert not near_repeat("Fill the small jug again", steps)
    assert near_repeat("Fill the big jug", steps, threshold=0.6)
    assert not near_repeat("Fill the large jug", [])


def test_equal_words_with_other_arithmetic_are_no_repeat() -> None:
    """Steps of nothing but numbers hold the same ones again and again."""
    assert not near_repeat("3 + 7 = 10 (left: 10)", ["10 - 7 = 3 (left: 3 7)"])
    assert not near_repeat("24 * 1 = 24 (left: 24)", ["24 / 1 = 24 (left: 24)"])
    assert near_repeat("3+7 = 10, left: 10.", ["3 + 7 = 10 (left: 10)"])


def test_texts_without_words_are_alike_only_if_equal() -> None:
    assert jaccard("++", "++ ") == 1.0
    assert jaccard("++", "--") == 0.0


@given(st.text(), st.text(), st.lists(st.text(), max_size=3))
def test_any_text_has_the_same_score_each_time(text: str, task: str, steps: list[str]) -> None:
    assert score(text, task, steps) == score(text, task, steps)


@given(st.text(), unit, unit, unit)
def test_the_total_is_the_weighted_sum(text: str, rules: float, redundancy: float, consistency: float) -> None:
    found = score(text, TASK, [STEP], Weights(rules=rules, redundancy=redundancy, consistency=consistency))

    parts = rules * found.rules + redundancy * found.redundancy + consistency * found.consistency
    assert found.total == pytest.approx(parts, abs=1e-9)


@given(st.text(), st.text())
def test_overlap_is_symmetric_and_a_share(a: str, b: str) -> None:
    assert jaccard(a, b) == jaccard(b, a)
    assert 0 <= jaccard(a, b) <= 1
    assert jaccard(a, a) == 1


async def test_the_verifier_adds_the_score_and_nothing_else() -> None:
    before = candidate("4", step=STEP)
    context = Context(task=TASK, steps=["Empty the small jug"], weights=Weights(rules=1, redundancy=0, consistency=0))

    after = await HeuristicVerifier().verify(before, context)

    assert HeuristicVerifier.name == PROFILE == "heuristic-v1"
    assert after.score == score(STEP, TASK, context.steps, context.weights)
    assert after.score.total == 0.45
    assert (after.proposal, after.checks, after.key) == (before.proposal, (), before.key)
