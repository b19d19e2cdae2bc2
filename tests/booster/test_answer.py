"""What may be claimed of an answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from booster.answer import conclude, read_answer, summary
from booster.session import Iteration
from booster.standing import CAPS, standing
from providers.types import Reply
from tests.builders import a_candidate, a_check, a_session, an_answer

PASS, FAIL, NOT_RUN = a_check("pass"), a_check("fail", check_id="check2"), a_check("not_applicable", check_id="check3")


def of(*answers: str | None) -> tuple[object, ...]:
    return tuple(an_answer(answer, key=str(number)) for number, answer in enumerate(answers))


def test_an_answer_that_held_every_check_that_ran_is_verified() -> None:
    stands = standing(a_session(answers=(an_answer("42", checks=[PASS, NOT_RUN]),)))

    assert (stands.answer, stands.status, stands.basis) == ("42", "verified", "checks")
    assert [item.outcome for item in stands.evidence] == ["pass", "not_applicable"]


def test_one_failed_check_takes_an_answer_out() -> None:
    stands = standing(a_session(answers=(an_answer("42", checks=[PASS, FAIL]),)))

    assert (stands.answer, stands.status) == (None, "none")
    assert stands.evidence[1].observed == "41"


def test_checks_that_could_not_run_verify_nothing() -> None:
    assert standing(a_session(answers=(an_answer("42", checks=[NOT_RUN]),))).status == "unverified"


@pytest.mark.parametrize(
    ("answers", "status"),
    [
        (["1", "1", "1"], "agreed"),
        (["1", "1"], "unverified"),
        (["1", "1", "1", "2", "3", "4"], "agreed"),
        (["1", "1", "1", "2", "3", "4", "5"], "unverified"),
        (["1", "1", "1", None, None, None, None], "unverified"),
        ([None, None], "none"),
        ([], "none"),
    ],
)
def test_agreement_needs_three_equal_answers_and_half_of_all_drawn(answers: list[str | None], status: str) -> None:
    assert standing(a_session(answers=of(*answers))).status == status


def test_one_chain_of_thought_has_one_vote() -> None:
    answers = tuple(an_answer("1", key=str(n), origin="step") for n in range(3))

    assert standing(a_session(answers=answers)).status == "unverified"


def test_the_answer_that_the_steps_led_to_stands_over_scattered_guesses() -> None:
    final = an_answer("9", key="final", origin="final")

    assert standing(a_session(answers=(*of("1", "2", "3"), final))).answer == "9"
    assert standing(a_session(answers=(*of("1", "1", "1"), final))).answer == "1"


@given(st.lists(st.none() | st.sampled_from(["1", "2", "3"]), max_size=12))
def test_confidence_never_exceeds_what_the_status_allows(answers: list[str | None]) -> None:
    ending = conclude(a_session(answers=of(*answers)), "iterations")

    assert 0 <= ending.confidence <= CAPS[ending.answer_status]


def test_without_model_content_a_run_is_degraded_and_claims_nothing() -> None:
    ending = conclude(a_session(), "iterations")

    assert (ending.status, ending.answer, ending.degraded) == ("degraded", None, True)
    assert ending.degraded_reasons == ("no model content was obtained",)


def test_a_later_source_leaves_the_run_done_but_degraded() -> None:
    ending = conclude(a_session(answers=of("1")), "answered", degraded_by=["cerebras failed"])

    assert (ending.status, ending.degraded, ending.degraded_reasons) == ("done", True, ("cerebras failed",))


@pytest.mark.parametrize(("reason", "status"), [("cancelled", "cancelled"), ("error", "failed"), ("deadline", "done")])
def test_the_status_follows_the_reason(reason: str, status: str) -> None:
    closed = Iteration(iteration=1, chosen=None, candidates=(a_candidate(),))

    assert conclude(a_session(history=(closed,)), reason).status == status  # type: ignore[arg-type]


def test_a_summary_names_the_last_distinct_steps() -> None:
    texts = ["a", "b", "b", "c", "d", "e", "f"]
    session = a_session("Measure", steps=texts)

    assert summary(session, standing(session)) == "Summary:\nTask: Measure\n- b\n- c\n- d\n- e\n- f"
    assert summary(a_session("Measure"), standing(a_session())).endswith("(no steps)")
    assert summary(a_session("M", steps=["a", "b"]), standing(a_session())).count("\n- ") == 2


@pytest.mark.parametrize(
    ("text", "answer", "rationale"),
    [
        ('{"rationale": "6 * 7", "answer": "42"}', "42", "6 * 7"),
        ('```json\n{"text": "multiply", "rationale": "6 * 7", "answer": 42}\n```', "42", "6 * 7"),
        ("It is \\boxed{42}", "42", "It is \\boxed{42}"),
        ("<think>41?</think>Six sevens.\nFinal answer: 42", "42", "Six sevens.\nFinal answer: 42"),
    ],
)
def test_a_whole_answer_is_read_with_its_reasoning(text: str, answer: str, rationale: str) -> None:
    proposal = read_answer(Reply(text=text, model="m", provider="local", source="model"))

    assert proposal is not None
    assert (proposal.answer, proposal.rationale) == (answer, rationale)
    assert 0 < len(proposal.text) <= 200


def test_a_reply_without_an_answer_is_an_abstention() -> None:
    assert read_answer(Reply(text="I would begin with the jug.", model="m", provider="local", source="model")) is None


def test_blank_answers_stand_for_nothing() -> None:
    assert standing(a_session(answers=of(" ", ""))).status == "none"


def test_select_score_puts_the_best_score_before_the_most_votes() -> None:
    pool = tuple(
        an_answer(text, key=str(n), score=score) for n, (text, score) in enumerate([("1", 0.1), ("1", 0.1), ("2", 0.3)])
    )

    by_score, by_vote = (standing(a_session(answers=pool, config={"select": how})) for how in ("score", "auto"))

    assert (by_score.answer, by_score.status) == ("2", "unverified")
    assert by_score.evidence[0].observed.startswith("1 of 3")
    assert (by_vote.answer, by_vote.evidence[0].observed) == ("1", "2 of 3 (1: 2, 2: 1)")


def test_select_score_claims_agreement_only_for_the_answer_it_took() -> None:
    agreeing = tuple(an_answer("1", key=str(n), score=0.3) for n in range(3))
    best_alone = (*agreeing, an_answer("2", key="3", score=0.9))

    assert standing(a_session(answers=agreeing, config={"select": "score"})).status == "agreed"
    assert standing(a_session(answers=best_alone, config={"select": "score"})).status == "unverified"
    assert standing(a_session(answers=best_alone)).status == "agreed"


def test_of_several_verified_answers_select_decides_which_one_speaks() -> None:
    pool = tuple(
        an_answer(text, key=str(n), score=score, checks=[PASS])
        for n, (text, score) in enumerate([("1", 0.1), ("2", 0.3), ("1", 0.1)])
    )

    assert standing(a_session(answers=pool)).answer == "1"
    assert standing(a_session(answers=pool, config={"select": "score"})).answer == "2"


def test_bare_numbers_speak_for_the_answer_that_the_steps_led_to() -> None:
    pool = (an_answer("4", key="a"), an_answer("4 litres", key="final", origin="final"))

    assert standing(a_session(answers=pool)).evidence[0].observed == "2 of 2 (4: 2)"


def test_why_nothing_came_is_said() -> None:
    closed = Iteration(iteration=1, chosen=None, candidates=(), problems=("not_a_list", "timeout", "timeout"))

    ending = conclude(a_session(history=(closed,)), "iterations")

    assert ending.degraded_reasons == ("no model content was obtained (not_a_list, timeout)",)


def test_templates_among_the_steps_are_said() -> None:
    ending = conclude(a_session(answers=of("1"), heuristic=True), "iterations")

    assert (ending.status, ending.degraded_reasons) == (
        "done",
        ("some steps are templates of the program, not of a model",),
    )


@pytest.mark.parametrize(
    ("text", "rationale"),
    [
        ('{"answer": "42"}', ""),
        ('{"rationale": 5, "answer": "42"}', ""),
        ('[{"text": "Multiply six by seven", "answer": "42"}]', "Multiply six by seven"),
    ],
)
def test_reasoning_that_is_missing_stays_empty(text: str, rationale: str) -> None:
    proposal = read_answer(Reply(text=text, model="m", provider="local", source="model"))

    assert proposal is not None
    assert proposal.rationale == rationale
    assert proposal.text
