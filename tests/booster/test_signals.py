"""What the scheduler sees, and what it is told."""

from hypothesis import given
from hypothesis import strategies as st

from booster.session import Problem
from booster.signals import costs_of, disagreement, failed, outcome_of, signals
from tests.builders import a_candidate, a_check, a_session, an_answer
from verifier.types import Check


@given(
    st.text(min_size=1),
    st.lists(st.text(min_size=1), max_size=8),
    st.lists(st.sampled_from([None, "1", "2"])),
    st.floats(0, 1),
)
def test_signals_lie_between_0_and_1(task: str, steps: list[str], answers: list[str | None], spent: float) -> None:
    session = a_session(task, steps=steps, answers=tuple(an_answer(answer) for answer in answers))

    seen = signals(session, spent)

    values = (seen.criticality_hint, seen.difficulty_hint, seen.progress, seen.context_pollution)
    assert all(value is not None and 0 <= value <= 1 for value in values)


def test_a_longer_task_looks_more_difficult() -> None:
    assert signals(a_session("short"), 0).difficulty_hint < signals(a_session("long " * 500), 0).difficulty_hint


def test_the_clients_own_messages_count_into_the_size() -> None:
    talked = Problem(task="short", messages=({"role": "user", "content": "x" * 5000},))

    assert signals(a_session(problem=talked), 0).difficulty_hint > signals(a_session("short"), 0).difficulty_hint


def test_checks_that_no_answer_has_met_make_a_step_critical() -> None:
    problem = Problem(task="t", checks=(Check(kind="equals", value="42", id="check1"),))
    met = (an_answer("42", checks=[a_check("pass")]),)

    open_, closed = signals(a_session(problem=problem), 0), signals(a_session(problem=problem, answers=met), 0)

    assert open_.criticality_hint == closed.criticality_hint + 0.5


def test_progress_is_the_larger_of_iterations_and_budget() -> None:
    session = a_session(steps=["a", "b"])

    assert signals(session, 0.1).progress == 0.25
    assert signals(session, 0.9).progress == 0.9


def test_disagreement_is_what_the_largest_group_leaves() -> None:
    assert disagreement(a_session(answers=tuple(map(an_answer, ["1", "1.0", "2", "3", None])))) == 0.5
    assert disagreement(a_session(answers=(an_answer("1"),))) == 0


def test_a_cheap_step_passes_only_where_a_check_held() -> None:
    session = a_session(steps=["Fill the jug"])

    assert outcome_of(session, a_candidate("Other", checks=[a_check("pass")]), intuition=True) == "s1_pass"
    assert outcome_of(session, a_candidate("Other"), intuition=True) == "s1_unchecked"
    assert outcome_of(session, a_candidate("Other", checks=[a_check("fail")]), intuition=True) == "s1_fail"
    assert outcome_of(session, a_candidate("Fill the jug"), intuition=True) == "s1_fail"
    assert outcome_of(session, None, intuition=True) == "s1_fail"


def test_a_cheap_answer_passes_where_it_is_the_one_that_settled_the_task() -> None:
    session = a_session()

    assert outcome_of(session, a_candidate(answer="42"), intuition=True, settled="42.0") == "s1_pass"
    assert outcome_of(session, a_candidate(answer="42"), intuition=True, settled=None) == "s1_unchecked"
    assert outcome_of(session, a_candidate(answer="42"), intuition=True, escalated=True) == "s1_fail"
    assert outcome_of(session, a_candidate(answer="42"), intuition=True, escalated=True, heard=False) == "s1_unchecked"


CHECKED = Problem(task="t", checks=(Check(kind="equals", value="42", id="check1"),))
PAIR = {"fastModel": "small", "strongModel": "large"}


def test_a_cheap_attempt_may_be_tried_where_a_check_of_its_kind_or_a_cascade_notices_that_it_fails() -> None:
    tried = costs_of(a_session(problem=CHECKED), "answer")
    cascade = costs_of(a_session(config=PAIR), "answer")

    assert tried.damage == cascade.damage == 0
    assert min(costs_of(a_session(problem=CHECKED), "step").damage, costs_of(a_session(), "answer").damage) > 1e9
    assert costs_of(a_session(config=PAIR), "step").damage > 1e9


def test_system_2_costs_as_many_candidates_as_it_draws() -> None:
    assert costs_of(a_session(config={"numCandidates": 7}, at_once=True), "answer").deep == 7
    assert costs_of(a_session(config={"numCandidates": 1}, at_once=True), "answer").deep == 2
    assert costs_of(a_session(at_once=False), "answer").deep == 3


def test_a_cascade_redoes_a_failed_answer_by_one_strong_call_unless_a_number_is_given() -> None:
    given = {**PAIR, "numCandidates": 5}

    assert costs_of(a_session(config=PAIR), "answer").redo == 1
    assert costs_of(a_session(config=given, at_once=True), "answer").redo == 5
    assert costs_of(a_session(), "answer").redo == 3


def test_prices_weigh_the_strong_model_and_unknown_ones_do_not() -> None:
    session = a_session(config=PAIR)
    known = costs_of(session, "answer", {"small": (1.0, 1.0), "large": (20.0, 20.0)})
    unknown = costs_of(session, "answer", {"large": (20.0, 20.0)})

    assert (known.cheap, known.deep, known.redo) == (1, 60, 20)
    assert (unknown.deep, unknown.redo) == (3, 1)


def test_the_risk_of_an_answer_is_the_least_that_criticality_says() -> None:
    good = a_session(steps=["A good step"])

    assert signals(good, 0, "step").criticality_hint < signals(good, 0, "answer").criticality_hint
    assert signals(good, 0, "answer").criticality_hint >= 0.3


def test_answers_that_agree_make_a_task_look_easier_and_answers_that_differ_harder() -> None:
    same = a_session("x" * 900, answers=tuple(an_answer("7", key=f"k{n}") for n in range(3)))
    apart = a_session("x" * 900, answers=tuple(an_answer(str(n), key=f"k{n}") for n in range(3)))

    none = signals(a_session("x" * 900), 0).difficulty_hint

    assert signals(same, 0).difficulty_hint < none < signals(apart, 0).difficulty_hint


def test_the_size_of_a_task_spreads_over_the_whole_range() -> None:
    hints = [signals(a_session("x" * size), 0).difficulty_hint for size in (1, 40, 894, 20_000, 400_000)]

    assert hints[:2] == [0, 0]
    assert abs(hints[2] - 0.5) < 0.01
    assert hints[3:] == [1, 1]


def test_a_deep_step_brings_no_label() -> None:
    assert outcome_of(a_session(), None, intuition=False) == "s2_done"


def test_an_answer_may_repeat_the_words_of_a_step() -> None:
    assert not failed(a_session(steps=["Fill the jug"]), a_candidate("Fill the jug", answer="4"))
