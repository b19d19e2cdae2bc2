"""What a solve teaches about answers, and how it is kept."""

from dataclasses import replace
from typing import Any

import pytest

from booster.answer import conclude
from booster.answer_state import REMEMBERED, AnswerState
from booster.journal import MemoryJournal
from booster.learnt import AnswerMemory, state_key
from booster.lessons import learn
from booster.session import Draw, Iteration, Session
from tests.builders import a_check, a_session, an_answer
from verifier.calibration import Calibration
from verifier.tuned import LABELS_NEEDED

PASS, FAIL = a_check("pass"), a_check("fail")
WAVES = Draw(rule="waves", samples=3, cap=20)


def ended(*answers: Any, draw: Draw = WAVES, name: str = "ses_1", **fields: Any) -> Session:
    """Return a session that has drawn these answers."""
    closed = Iteration(iteration=1, chosen=None, candidates=(), draw=draw)
    return replace(a_session(answers=answers, history=(closed,), iteration=1, **fields), id=name)


def votes(checks: Any, *texts: str) -> tuple[Any, ...]:
    return tuple(an_answer(text, key=f"{number}{text}", checks=checks) for number, text in enumerate(texts))


def cascade(*, why: str = "plan", action: str = "escalate", state: Any = (1, 1), samples: int = 2) -> Draw:
    move = {"pair": "small>large", "why": why, "action": action, "state": list(state), "p": 0.3, "g": 0.7, "prices": {}}
    return Draw(rule="cascade", samples=samples, cap=3, move=move)


@pytest.mark.parametrize(("checks", "right"), [([PASS], True), ([FAIL], False)])
def test_what_checks_say_of_the_leader_teaches_how_far_a_vote_can_be_trusted(checks: Any, right: bool) -> None:
    state = learn(AnswerState(), ended(*votes(checks, "4", "4", "4")))

    assert state.labels == 1
    assert state.correctness == Calibration().learn(3, 3, right)


def test_an_opinion_teaches_nothing() -> None:
    """Neither votes nor a judge's verdict are outcomes."""
    judged = tuple(replace(one, opinions={"judge": {"z": 1.0, "weight": 0.35}}) for one in votes((), "4", "5", "5"))

    state = learn(AnswerState(), ended(*judged, draw=replace(WAVES, judge={"scorer": "judge:j", "verdict": "leader"})))

    assert (state.labels, state.correctness, state.weights, state.scales) == (0, Calibration(), {}, {})


def test_a_session_teaches_once() -> None:
    session = ended(*votes([PASS], "4", "4", "4"))
    once = learn(AnswerState(), session)

    assert learn(once, session) is once


def test_a_session_without_whole_answers_has_nothing_to_teach() -> None:
    state = AnswerState()

    assert learn(state, a_session(steps=["a"])) is state


def test_a_judge_earns_its_weight_by_outcomes() -> None:
    answers = (
        replace(an_answer("4", key="a", checks=[PASS]), opinions={"judge": {"z": 1.0, "weight": 0.35, "score": 0.9}}),
        replace(an_answer("5", key="b", checks=[FAIL]), opinions={"judge": {"z": -1.0, "weight": 0.35, "score": 0.1}}),
    )
    state = AnswerState()
    for number in range(30):
        draw = replace(WAVES, judge={"scorer": "judge:j", "verdict": "scores"})
        state = learn(state, ended(*answers, draw=draw, name=f"ses_{number}"))

    assert state.weight("judge:j").b > 0.85
    assert state.scales["judge:j"] == (0.9, 0.1) * 30
    assert state.weight("judge:other").outcomes == 0


@pytest.mark.parametrize(("text", "same"), [("4", True), ("9", False)])
def test_an_escalation_teaches_what_agreement_is_worth(text: str, same: bool) -> None:
    answers = (an_answer("4", key="a"), an_answer("5", key="b"), an_answer(text, key="c", origin="strong"))

    learnt = learn(AnswerState(), ended(*answers, draw=cascade())).cascade("small>large")

    assert learnt.labels == 1
    assert learnt.agreement == Calibration().learn(1, 2, same)
    assert (learnt.drawn, learnt.agreed, learnt.verified, learnt.stops) == ((1,), (0,), 0, 0)


def test_the_gain_of_the_strong_model_is_learnt_from_verified_disagreements_only() -> None:
    answers = (an_answer("4", key="a", checks=[FAIL]), an_answer("9", key="c", origin="strong", checks=[PASS]))

    learnt = learn(AnswerState(), ended(*answers, draw=cascade(why="check", state=(1,), samples=1))).cascade(
        "small>large"
    )

    assert (learnt.verified, learnt.gain) == (1, 1.0)
    assert learnt.labels == 0  # the check decided, not the agreement


@pytest.mark.parametrize("action", ["stop", "escalate"])
def test_stops_are_counted_audited_or_not(action: str) -> None:
    why = "plan" if action == "stop" else "audit"

    learnt = learn(AnswerState(), ended(an_answer("4"), draw=cascade(why=why, action=action, state=(1,), samples=1)))

    assert learnt.cascade("small>large").stops == 1


def test_confidence_is_calibrated_from_ten_labels_on() -> None:
    """Before that it is the plain v1 / (n + 1), capped by status, and says so."""
    answers = votes((), "4", "4", "4")
    before = AnswerState(correctness=Calibration(a=2.0), labels=LABELS_NEEDED - 1)
    after = replace(before, labels=LABELS_NEEDED)

    early = conclude(a_session(answers=answers), "answered", learnt=before)
    late = conclude(a_session(answers=answers), "answered", learnt=after)

    assert (early.confidence, early.confidence_basis) == (0.75, "uncalibrated")
    assert (late.confidence, late.confidence_basis) == (Calibration(a=2.0).p(3, 3), "votes")


def test_the_state_survives_its_way_through_json() -> None:
    state = learn(AnswerState(), ended(*votes([PASS], "4", "4", "5")))
    state = learn(state, ended(an_answer("4"), an_answer("4", key="s", origin="strong"), draw=cascade(), name="ses_2"))

    assert AnswerState.load(state.dump()) == state


@pytest.mark.parametrize("document", [{}, {"correctness": 3}, {**AnswerState().dump(), "labels": None}])
def test_what_cannot_have_been_dumped_is_refused(document: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"state|calibration"):
        AnswerState.load(document)


def test_the_list_of_sessions_is_bounded() -> None:
    state = AnswerState()
    for number in range(REMEMBERED + 5):
        state = state.with_session(str(number))

    assert (len(state.sessions), state.sessions[-1]) == (REMEMBERED, str(REMEMBERED + 4))


async def test_what_one_process_learnt_the_next_one_knows() -> None:
    store = MemoryJournal()
    await AnswerMemory(store, "ns").learn(ended(*votes([PASS], "4", "4", "4")))

    later = AnswerMemory(store, "ns")
    await later.load()

    assert later.state.labels == 1
    assert await store.load_state("ns") is None


async def test_the_loser_of_a_race_learns_on_top_of_the_winner() -> None:
    store = MemoryJournal()
    first, second = AnswerMemory(store, "ns"), AnswerMemory(store, "ns")
    await first.learn(ended(*votes([PASS], "4"), name="ses_1"))
    await second.learn(ended(*votes([FAIL], "4"), name="ses_2"))
    await second.learn(ended(*votes([FAIL], "4"), name="ses_1"))

    third = AnswerMemory(store, "ns")
    await third.load()

    assert (first.state.labels, second.state.labels, third.state.labels) == (1, 2, 2)


async def test_a_state_that_cannot_be_read_is_said_and_begins_anew(caplog: pytest.LogCaptureFixture) -> None:
    store = MemoryJournal()
    await store.save_state(state_key("ns"), None, {"labels": "many"})
    memory = AnswerMemory(store, "ns")

    await memory.load()

    assert memory.state == AnswerState()
    assert "cannot be read" in caplog.text
