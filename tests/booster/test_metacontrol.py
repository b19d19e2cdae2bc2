"""What is done about a search that is stuck."""

from dataclasses import replace

import pytest

from booster.metacontrol import improves, react
from booster.session import Iteration
from tests.builders import DEEP, a_candidate, a_check, a_session, a_step


@pytest.mark.parametrize(("gain", "enough"), [(0.0099, False), (0.01, True), (0.0101, True)])
def test_an_improvement_of_exactly_the_minimum_counts(gain: float, enough: bool) -> None:
    assert improves(0.3 + gain, a_step(total=0.3), 0.01) is enough


def test_the_first_step_always_improves() -> None:
    assert improves(0.0, None, 0.5)
    assert react(a_session(steps=["Fill the jug"])) == ()


def test_a_repeated_step_is_taken_back_and_banned() -> None:
    session = a_session(steps=["Fill the jug", "Empty the vessel", "fill THE jug"])

    ((kind, data),) = react(session)

    assert kind == "backtracked"
    assert data["banned"] == ["fill THE jug"]
    assert not data["stagnant"]


def test_after_the_last_allowed_backtrack_the_run_is_stagnant() -> None:
    session = a_session(steps=["Fill the jug", "Fill the jug"], backtracks=3)

    ((kind, data),) = react(session)

    assert kind == "perturbed"
    assert data["stagnant"]


@pytest.mark.parametrize(("guarded", "stagnant"), [(0, False), (1, False), (2, True)])
def test_without_backtracking_three_repetitions_in_a_row_are_stagnation(guarded: int, stagnant: bool) -> None:
    session = a_session(steps=["Fill the jug", "Fill the jug"], config={"allowBacktrack": False}, guarded=guarded)

    ((kind, data),) = react(session)

    assert kind == "perturbed"
    assert data["stagnant"] is stagnant


def test_equal_scores_perturb_the_search_but_never_end_it() -> None:
    session = a_session(steps=["Fill the jug", "Empty the vessel"], guarded=2)

    ((kind, data),) = react(session)

    assert (kind, data["guarded"], data["stagnant"]) == ("perturbed", 0, False)


def test_progress_ends_a_row_of_repetitions() -> None:
    steps = [a_step("Fill the jug"), a_step("Empty the vessel", index=1, total=0.5)]

    assert react(a_session(steps=steps, guarded=2)) == (("improved", {}),)
    assert react(a_session(steps=steps)) == ()


def test_two_iterations_whose_every_candidate_failed_take_the_last_step_back() -> None:
    failed = a_candidate(checks=[a_check("fail", target="step")])
    closed = [Iteration(iteration=n, chosen=None, candidates=(failed,), decision=DEEP) for n in (2, 3)]
    session = a_session(steps=["Fill the jug"])
    once = replace(session, history=(*session.history, closed[0]))
    twice = replace(once, history=(*once.history, closed[1]))

    assert react(once) == ()
    ((kind, data),) = react(twice)
    assert (kind, data["banned"], data["reason"]) == ("backtracked", ["Fill the jug"], "repeated failure")
    ((spent, asked_otherwise),) = react(replace(twice, backtracks=3))
    assert (spent, asked_otherwise["stagnant"]) == ("perturbed", False)


def test_two_replies_without_a_step_take_the_last_step_back_and_silence_does_not() -> None:
    closed = [Iteration(iteration=n, chosen=None, candidates=(), decision=DEEP) for n in (2, 3)]
    session = a_session(steps=["Fill the jug"])
    heard = replace(session, history=(*session.history, *closed))
    silent = replace(session, history=(*session.history, *(replace(one, heard=False) for one in closed)))

    ((kind, data),) = react(heard)
    assert (kind, data["banned"]) == ("backtracked", ["Fill the jug"])
    assert react(silent) == ()


def test_where_there_is_no_step_to_take_back_the_way_of_asking_changes() -> None:
    closed = tuple(Iteration(iteration=n, chosen=None, candidates=(), decision=DEEP) for n in (1, 2))

    ((kind, data),) = react(a_session(history=closed, iteration=2))

    assert (kind, data["reason"], data["stagnant"]) == ("perturbed", "nothing usable", False)


def test_an_iteration_of_whole_answers_that_applied_nothing_is_no_stagnation() -> None:
    closed = Iteration(iteration=1, chosen=None, candidates=(a_candidate(answer="1"),), decision=DEEP)

    assert react(a_session(history=(closed,), iteration=1)) == ()
    assert react(a_session()) == ()
