"""What a solve teaches about answers, and how it is kept."""

from dataclasses import replace
from typing import Any

import pytest

from booster.answer import conclude
from booster.answer_state import REMEMBERED, AnswerState
from booster.journal import JournalError, MemoryJournal
from booster.learnt import AnswerMemory, read, replace_state, state_key
from booster.lessons import learn
from booster.session import Draw, Iteration, Session
from booster.standing import CAPS
from tests.builders import a_check, a_session, an_answer
from verifier.calibration import Calibration, sigmoid
from verifier.opinion import OpinionWeight
from verifier.tuned import LABELS_NEEDED

PASS, FAIL = a_check("pass"), a_check("fail")
WAVES = Draw(rule="waves", samples=3, cap=20)


def ended(*answers: Any, draw: Draw = WAVES, name: str = "ses_1", **fields: Any) -> Session:
    """Return a session that has drawn these answers."""
    closed = Iteration(iteration=1, chosen=None, candidates=(), draw=draw)
    return replace(a_session(answers=answers, history=(closed,), iteration=1, **fields), id=name)


async def learnt_by(memory: AnswerMemory, session: Session) -> None:
    """Let a memory learn, and wait until that is durable."""
    memory.learn(session)
    await memory.saved()


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


PROCESS = replace(WAVES, process={"scorer": "process:p", "model": "p", "scored": 3})


def rewarded(text: str, z: float, checks: Any = (), key: str = "") -> Any:
    opinion = {"process": {"z": z, "weight": 0.35, "score": z - 1}}
    return replace(an_answer(text, key=key or text, checks=checks), opinions=opinion)


def test_process_rewards_earn_their_weight_and_their_scale() -> None:
    answers = (rewarded("4", 1.0, [PASS]), rewarded("5", -1.0, [FAIL]))

    state = learn(AnswerState(), ended(*answers, draw=PROCESS))

    assert state.weight("process:p") == OpinionWeight().learn(1.0, -1.0)
    assert state.scales == {"process:p": (0.0, -2.0)}


def test_the_best_other_is_the_one_that_the_whole_sum_puts_next() -> None:
    """Not the one with the most votes: an opinion may weigh more than a vote."""
    answers = (
        rewarded("4", 0.0, [PASS], "a"), rewarded("4", 0.0, [PASS], "b"), rewarded("4", 0.0, [PASS], "c"),
        rewarded("5", -3.0, [FAIL], "d"), rewarded("5", -3.0, [FAIL], "e"), rewarded("6", 3.0, [FAIL], "f"),
    )  # fmt: skip

    state = learn(AnswerState(), ended(*answers, draw=PROCESS))

    assert state.weight("process:p") == OpinionWeight().learn(0.0, 3.0)


def test_two_draws_of_one_session_do_not_count_its_scores_twice() -> None:
    session = ended(rewarded("4", 1.0), rewarded("5", -1.0), draw=PROCESS)
    twice = replace(session, history=(*session.history, *session.history))

    assert learn(AnswerState(), twice).scales["process:p"] == (0.0, -2.0)


@pytest.mark.parametrize(("checks", "right"), [([PASS], True), ([FAIL], False)])
def test_the_winner_of_votes_and_opinions_has_a_calibration_of_its_own(checks: Any, right: bool) -> None:
    """Label: whether the answer that the sum would have taken, had there been no check, held it."""
    answers = (rewarded("4", -1.0, key="a"), rewarded("5", 1.0, checks))

    state = learn(AnswerState(), ended(*answers, draw=PROCESS))

    assert state.combined_labels == 1
    assert state.combined.dump() == pytest.approx(Calibration().learn_at(0.7, right).dump())


def test_votes_alone_leave_the_calibration_of_sums_as_it_was() -> None:
    state = learn(AnswerState(), ended(*votes([PASS], "4", "4", "5")))

    assert (state.combined_labels, state.combined) == (0, Calibration())


@pytest.mark.parametrize("kind", ["process", "judge"])
def test_the_confidence_of_a_sum_is_calibrated_from_ten_labels_on_and_names_its_largest_term(kind: str) -> None:
    opinions = [{kind: {"z": z, "weight": 0.5}} for z in (-1.0, 1.0)]
    answers = tuple(replace(an_answer(text), opinions=opinion) for text, opinion in zip("45", opinions, strict=True))
    learnt = AnswerState(correctness=Calibration(a=-3.0), labels=50, combined=Calibration(a=1.0, b=2.0))

    early, late = (
        conclude(a_session(answers=answers), "answered", learnt=replace(learnt, combined_labels=labels))
        for labels in (LABELS_NEEDED - 1, LABELS_NEEDED)
    )

    assert (early.answer, early.confidence, early.confidence_basis) == ("5", CAPS["unverified"], "uncalibrated")
    assert sigmoid(1.0) > CAPS["unverified"]  # P(c) itself is above what is allowed without labels
    assert late.confidence == pytest.approx(sigmoid(1.0 + 2.0 * 1.0))
    assert late.confidence_basis == kind


def test_votes_can_lead_a_sum() -> None:
    answers = (*votes((), "4", "4"), rewarded("5", 0.1))
    learnt = AnswerState(combined_labels=LABELS_NEEDED)

    ending = conclude(a_session(answers=answers), "answered", learnt=learnt)

    assert (ending.answer, ending.confidence_basis) == ("4", "votes")


def test_a_state_from_before_there_were_sums_is_read() -> None:
    old = {key: value for key, value in AnswerState(labels=3).dump().items() if not key.startswith("combined")}

    assert AnswerState.load(old) == AnswerState(labels=3)


def test_the_table_shows_what_was_learnt_under_each_key() -> None:
    state = learn(AnswerState(), ended(rewarded("4", 1.0, [PASS]), rewarded("5", -1.0, [FAIL]), draw=PROCESS))
    state = learn(state, ended(an_answer("4"), an_answer("4", key="s", origin="strong"), draw=cascade(), name="ses_2"))

    table = state.table()

    assert table["correctness"]["labels"] == table["combined"]["labels"] == 1
    assert set(table["cascades"]["small>large"]) == {"labels", "a", "b", "g", "r", "verified", "stops"}
    assert (table["cascades"]["small>large"]["g"], table["cascades"]["small>large"]["r"]) == (0.7, [0.5])
    assert table["opinions"]["process:p"] == {
        "labels": 1, "bV": round(state.weight("process:p").b, 4), "scores": 2,
    }  # fmt: skip


async def test_a_forgotten_state_is_forgotten_by_those_who_have_it_in_memory() -> None:
    store = MemoryJournal()
    memory = AnswerMemory(store, "ns")
    await learnt_by(memory, ended(*votes([PASS], "4"), name="ses_1"))

    assert [await replace_state(store, "ns", None) for _ in range(2)] == [True, False]
    assert await read(store, "ns") is None
    await learnt_by(memory, ended(*votes([PASS], "4"), name="ses_2"))

    stored = await read(store, "ns")
    assert stored is not None
    assert (stored.labels, memory.state.labels) == (1, 1)


async def test_a_state_can_be_put_in_place_of_another() -> None:
    store = MemoryJournal()
    await learnt_by(AnswerMemory(store, "ns"), ended(*votes([PASS], "4")))

    assert await replace_state(store, "elsewhere", await read(store, "ns")) is False

    assert await read(store, "elsewhere") == await read(store, "ns")


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
    await learnt_by(AnswerMemory(store, "ns"), ended(*votes([PASS], "4", "4", "4")))

    later = AnswerMemory(store, "ns")
    await later.load()

    assert later.state.labels == 1
    assert await store.load_state("ns") is None


async def test_the_loser_of_a_race_learns_on_top_of_the_winner() -> None:
    store = MemoryJournal()
    first, second = AnswerMemory(store, "ns"), AnswerMemory(store, "ns")
    await learnt_by(first, ended(*votes([PASS], "4"), name="ses_1"))
    await learnt_by(second, ended(*votes([FAIL], "4"), name="ses_2"))
    await learnt_by(second, ended(*votes([FAIL], "4"), name="ses_1"))

    third = AnswerMemory(store, "ns")
    await third.load()

    assert (first.state.labels, second.state.labels, third.state.labels) == (1, 2, 2)


class OnceFull(MemoryJournal):
    """Has no room for the first state."""

    full = True

    async def save_state(self, namespace: str, rev: int | None, state: dict[str, Any]) -> int:
        if self.full:
            self.full = False
            raise JournalError("the disk is full")
        return await super().save_state(namespace, rev, state)


async def test_what_could_not_be_saved_is_said_and_saved_with_the_next_lesson(caplog: pytest.LogCaptureFixture) -> None:
    store = OnceFull()
    memory = AnswerMemory(store, "ns")

    await learnt_by(memory, ended(*votes([PASS], "4"), name="ses_1"))
    assert "the disk is full" in caplog.text
    assert await read(store, "ns") is None
    await learnt_by(memory, ended(*votes([PASS], "4"), name="ses_2"))

    stored = await read(store, "ns")
    assert stored is not None
    assert stored.labels == 2


async def test_lessons_side_by_side_are_all_kept() -> None:
    store = MemoryJournal()
    memory = AnswerMemory(store, "ns")

    for number in range(5):
        memory.learn(ended(*votes([PASS], "4"), name=f"ses_{number}"))
    await memory.saved()

    stored = await read(store, "ns")
    assert stored is not None
    assert stored.labels == 5


async def test_a_state_that_cannot_be_read_is_said_and_begins_anew(caplog: pytest.LogCaptureFixture) -> None:
    store = MemoryJournal()
    await store.save_state(state_key("ns"), None, {"labels": "many"})
    memory = AnswerMemory(store, "ns")

    await memory.load()

    assert memory.state == AnswerState()
    assert "cannot be read" in caplog.text
