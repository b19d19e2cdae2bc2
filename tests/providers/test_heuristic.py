"""Templates for a run without a model."""

from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.heuristic import MOST_PROPOSALS, RATIONALE, heuristic_proposals
from verifier.heuristic import score

JUGS = "Measure exactly 4 litres with a jug of 3 litres and a jug of 5 litres."
CONCRETE = [
    "Fill the 5-litre jug and pour 3 litres of it into the other jug.",
    "Write down the litres in both jugs after each pouring.",
    "Empty the 3-litre jug.",
    "List the amounts that one pouring can reach.",
    "Check that the larger jug now holds exactly 4 litres.",
]
TASKS = st.text(max_size=80) | st.sampled_from([JUGS, "求和", "Доказать, что сумма углов равна π", "{0} {focus}", ""])


@given(TASKS, st.integers(0, 100), st.integers(1, MOST_PROPOSALS), st.integers(0, 10))
def test_proposals_are_distinct_short_and_never_an_answer(task: str, n_steps: int, k: int, family: int) -> None:
    proposals = heuristic_proposals(task, n_steps, k, family=family)

    assert len({proposal.text for proposal in proposals}) == k
    assert all(0 < len(proposal.text) <= 200 for proposal in proposals)
    assert all(proposal.answer is None and proposal.rationale == RATIONALE for proposal in proposals)
    assert proposals == heuristic_proposals(task, n_steps, k, family=family)


@given(TASKS, st.integers(0, 100), st.integers(1, MOST_PROPOSALS))
def test_the_next_step_and_another_family_bring_another_set(task: str, n_steps: int, k: int) -> None:
    now = {proposal.text for proposal in heuristic_proposals(task, n_steps, k)}

    assert now != {proposal.text for proposal in heuristic_proposals(task, n_steps + 1, k)}
    assert now != {proposal.text for proposal in heuristic_proposals(task, n_steps, k, family=1)}


def test_small_sets_of_neighbouring_steps_share_no_template() -> None:
    """A task with a single word to point at, so that nothing but the template can differ."""
    sets = [{proposal.text for proposal in heuristic_proposals("求和", n_steps, 5)} for n_steps in range(4)]

    assert len(set.union(*sets)) == 4 * 5


@pytest.mark.parametrize("n_steps", range(6))
def test_templates_score_no_worse_than_the_median_of_concrete_steps(n_steps: int) -> None:
    bar = median(score(text, JUGS).total for text in CONCRETE)

    scores = [score(proposal.text, JUGS).total for proposal in heuristic_proposals(JUGS, n_steps, MOST_PROPOSALS)]

    assert min(scores) >= bar


@pytest.mark.parametrize("task", [JUGS, "用三升和五升的水壶量出四升水", "求和", "Доказать, что сумма углов равна 180"])
def test_every_template_points_at_something_in_the_task(task: str) -> None:
    for proposal in heuristic_proposals(task, 3, MOST_PROPOSALS):
        quoted = proposal.text.split('"')[1]
        assert quoted in task


@pytest.mark.parametrize(("n_steps", "k"), [(0, 0), (0, 17), (-1, 3)])
def test_numbers_out_of_range_are_refused(n_steps: int, k: int) -> None:
    with pytest.raises(ValueError, match="must"):
        heuristic_proposals(JUGS, n_steps, k)


def test_the_rationale_admits_that_no_model_was_asked() -> None:
    assert RATIONALE == "Template, no model was asked."
