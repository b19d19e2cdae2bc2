"""What a page says of an iteration, and of a session as a whole."""

from dataclasses import replace

import pytest

from booster.events import EVENT_TYPES
from booster.server.viewer.calls import LEAST_RAW, MOST_CALLS, RAW_CHARS, views_of
from booster.server.viewer.history import history_of
from booster.server.viewer.list_page import list_page, row_of
from booster.server.viewer.scheduler_page import rulings
from booster.server.viewer.session_page import SessionPage, session_page
from booster.server.viewer.text import moment
from booster.server.viewer.turns import contributions, figures, turn_views, why
from booster.session import Draw, PooledAnswer
from tests.booster.server.viewer.exports import (
    LEARNED,
    Entry,
    a_call,
    an_export,
    backtracked,
    candidate,
    clock,
    closed,
    concluded,
    events_of,
    opened,
    result_of,
)
from tests.builders import a_check
from verifier.types import Check

NOON = moment(clock(0)) or 0.0


def why_of(*entries: Entry) -> str:
    return why(history_of(events_of(*entries)).turns[-1])


def page_of(*entries: Entry, active: bool = False, **fields: object) -> SessionPage:
    export = an_export(*entries, **fields)  # type: ignore[arg-type]  # its own options
    return session_page(export, result_of(export), active=active, now=NOON + 60)


def an_answer(number: int, answer: str) -> PooledAnswer:
    return PooledAnswer(key=f"it1/s2/answer{number}", answer=answer, origin="sample", source="simulated")


def test_a_winner_by_checks_and_votes_says_both() -> None:
    rows = [candidate("it1/s2/answer1", answer="42", checks=(a_check(),)), candidate("it1/s2/answer2", answer="41")]
    answers = [an_answer(1, "42"), an_answer(2, "41"), an_answer(3, "42")]

    assert why_of(opened(1), closed(1, rows, answers=answers)) == (
        "Chosen because it held 1 of 1 checks, and 2 of 3 answers say the same."
    )


def test_a_winner_by_score_says_by_how_much_and_a_tie_says_so() -> None:
    rows = [candidate("a", total=0.5), candidate("b", total=0.3)]

    assert why_of(opened(1), closed(1, rows)) == "Chosen because its score is the highest (0.5, 0.2 ahead of the next)."
    assert "among those with the same score" in why_of(opened(1), closed(1, [candidate("a"), candidate("b")], tie=True))
    assert "says something new" in why_of(opened(1), closed(1, rows, chosen=1))
    assert "only one" in why_of(opened(1), closed(1, [candidate("a")]))


def test_where_nothing_was_applied_the_reason_is_given() -> None:
    failed = [candidate("a", checks=(a_check("fail", target="step"),))]

    assert "every candidate failed a check" in why_of(opened(1), closed(1, failed, chosen=None))
    assert "no usable candidate" in why_of(opened(1), closed(1, chosen=None))
    assert why_of(opened(1), closed(1, [candidate("a")], chosen=None)) == "Nothing was applied."
    assert why_of(opened(1)) == "Not decided yet."
    assert "went into the pool" in why_of(opened(1), closed(1, failed, chosen=None, answers=[an_answer(1, "42")]))


def test_an_iteration_has_one_line_whatever_became_of_it() -> None:
    entries = (opened(1), closed(1), opened(2), closed(2, chosen=None), opened(3))

    views = turn_views(history_of(events_of(*entries)), ())

    assert [view.headline for view in views] == ["Fill the jug", "Nothing was applied", "Under way"]


def test_a_beam_that_looked_ahead_is_mentioned() -> None:
    assert "a beam looked ahead" in why_of(opened(1), closed(1, [candidate("a"), candidate("it1/s2/beam2.1.1")]))


def test_a_decision_shows_the_numbers_it_rests_on_and_the_weightiest_term_first() -> None:
    begun = history_of(events_of(opened(1, LEARNED))).turns[0].opened

    assert ("threshold", "0.6") in figures(begun)
    assert ("criticality hint", "0.25") in figures(begun)
    assert [(term.name, term.share) for term in contributions(begun)] == [("bias", -1.0), ("criticality hint", 0.5)]


def test_calls_go_to_their_iteration_and_equal_answers_together() -> None:
    entries = (opened(1), closed(1, chosen=None, answers=[an_answer(1, "42"), an_answer(2, "41"), an_answer(3, "42")]))
    calls = views_of([a_call(1), a_call(2, "it2/s2/steps"), a_call(3, "final")], active=False)

    (view,) = turn_views(history_of(events_of(*entries)), calls)

    assert [call.number for call in view.calls] == [1]
    assert [(group.answer, group.votes) for group in view.turn.groups] == [("42", 2), ("41", 1)]
    assert view.headline == "Answers: 42 ×2, 41 ×1"
    assert view.seconds == 1


def test_how_answers_were_drawn_and_what_a_judge_said_is_told() -> None:
    judge = {"model": "simulated/large", "verdict": "scores", "asked": 5, "reason": "the first is complete"}
    move = {"action": "escalate", "why": "plan"}
    draw = Draw(rule="cascade", samples=3, cap=8, stopped="plan", move=move, judge=judge)
    opinions = {"judge": {"z": 1.5, "score": 0.75, "weight": 0.35}, "process": {"z": -0.5}}
    pooled = replace(an_answer(1, "42"), opinions=opinions, confirmed=True)
    rows = [candidate(pooled.key, answer="42"), replace(candidate("it1/s2/answer2"), score=None)]

    (view,) = turn_views(history_of(events_of(opened(1), closed(1, rows, answers=[pooled], draw=draw))), ())

    assert view.draw == (
        "3 of at most 8 answers drawn one by one, cheap ones first; stopped because the plan says so; the cascade's move: "
        "escalate (plan). Judge simulated/large: scores, 5 questions, the first is complete."
    )
    assert view.rows[0].opinions == "judge: 0.75, weight 0.35; process: -0.5; first in both orders"


def test_answers_that_were_drawn_side_by_side_need_no_reason_to_stop() -> None:
    draw = Draw(rule="at_once", samples=5, cap=5, judge={"model": None, "verdict": "scores", "asked": 5})

    (view,) = turn_views(history_of(events_of(opened(1), closed(1, draw=draw))), ())

    assert view.draw == "5 of at most 5 answers drawn side by side. Judge: scores, 5 questions."


def test_a_winner_without_a_score_is_the_only_one() -> None:
    assert why_of(opened(1), closed(1, [replace(candidate("a"), score=None)])) == "Chosen because it was the only one."


def test_every_type_of_event_can_be_read() -> None:
    told: dict[str, dict[str, object]] = {
        "improved": {}, "perturbed": {"reason": "r", "guarded": 1, "stagnant": True}, "task_ended": {"success": False},
        "reported": {"decisionId": "d", "outcome": "s1_fail", "rework": False, "label": 1.0, "weight": 1.0, "labelSource": "x"},
        "learnt": {"experiences": 1}, "answered": {"key": "k", "answer": None, "origin": "final", "source": "simulated"},
        "extended": {"iterations": 9, "cut": False}, "resumed": {"epoch": 2}, "traced": {},
    }  # fmt: skip
    shown_elsewhere = {"iteration_opened", "escalated", "iteration_closed", "concluded", "backtracked"}
    assert set(told) | shown_elsewhere == EVENT_TYPES

    (turn,) = history_of(events_of(opened(1), closed(1), *told.items())).turns

    assert [remark.kind for remark in turn.remarks] == [
        "improved", "perturbed", "task_ended", "reported", "answered", "extended", "resumed",
    ]  # fmt: skip


@pytest.mark.parametrize("count", [1, 50, MOST_CALLS + 5])
def test_prompts_and_replies_on_a_page_are_bounded(count: int) -> None:
    long = {**a_call(1)["reply"], "text": "r" * 9000}

    found = views_of([a_call(number, prompt="p" * 9000, reply=long) for number in range(count)], active=False)

    assert len(found) == min(count, MOST_CALLS)
    assert sum(len(call.prompt) + len(call.reply) for call in found) <= RAW_CHARS + len(found) * 2 * (LEAST_RAW + 40)


def test_what_nobody_checked_is_said() -> None:
    given = (Check(kind="equals", value="42", id="c1"),)

    assert (
        page_of(opened(1), closed(1), concluded(), checks=given).unchecked[0]
        == "Check c1 (equals, on the answer) never ran."
    )
    assert "No check was given." in page_of(concluded(status="agreed")).unchecked
    assert page_of(opened(1)).unchecked == ()


@pytest.mark.parametrize(
    ("entries", "active", "state", "can_cancel", "can_resume"),
    [
        ((opened(1),), True, "running", True, False),
        ((opened(1),), False, "open", True, True),
        ((concluded(),), False, "done", False, False),
        ((concluded(status="none", answer=None, ending="cancelled"),), False, "cancelled", False, True),
    ],
)  # fmt: skip
def test_a_session_offers_what_can_be_done_with_it(
    entries: tuple[Entry, ...], active: bool, state: str, can_cancel: bool, can_resume: bool
) -> None:
    page = page_of(*entries, active=active)

    assert (page.state, page.can_cancel, page.can_resume) == (state, can_cancel, can_resume)


def test_time_goes_on_while_a_call_is_under_way() -> None:
    running = page_of(opened(1), calls=[a_call(1, seconds=None, at=50)], active=True)
    ended = page_of(opened(1), calls=[a_call(1, at=50)], active=True)

    assert [one.used for one in running.meters if one.name == "Time"] == ["12.5 s"]
    assert [one.used for one in ended.meters if one.name == "Time"] == ["2.5 s"]


def test_a_full_list_offers_more_and_an_orphan_is_shown_as_one() -> None:
    listed = {
        "sessionId": "s",
        "status": "running",
        "task": "T",
        "createdAt": clock(0),
        "active": False,
        "orphaned": True,
    }
    row = row_of(listed, result_of(an_export(opened(1))))

    assert row.state == "orphaned"
    assert list_page([row] * 3, status=None, limit=2).more == 4
    assert list_page([row] * 2, status=None, limit=2).more is None


def test_decisions_are_listed_with_what_was_reported_of_them() -> None:
    report = ("reported", {"decisionId": "ses_1.1", "outcome": "s1_pass", "rework": False})
    events = [(event["at"], event["type"], event["data"]) for event in events_of(opened(1, LEARNED), report, opened(2))]

    (found,) = rulings("ses_1", events)

    assert (found.iteration, found.mode, found.p, found.outcome) == (1, "system1", 0.2, "s1_pass")


def test_a_backtrack_before_any_iteration_changes_nothing() -> None:
    assert history_of(events_of(backtracked())).turns == ()
