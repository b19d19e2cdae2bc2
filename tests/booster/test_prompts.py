"""What models are asked, word by word where others build on it."""

import pytest

from booster.prompts import again_messages, answer_messages, final_messages, step_messages
from booster.session import Problem
from tests.builders import a_session
from tests.solving import DISTINCT, said
from verifier.types import Check

FIRST_STEP = """\
Task:
Measure 4 litres

Propose the next step.
Steps so far (the last ones):
(none)
Return exactly 5 items as pure JSON and nothing else: [{ "text": "...", "rationale": "..." }]
Each text is one concrete action of at most 200 characters whose result can be checked; each rationale is short.
Only where a step settles the whole task, add to its item "answer": "the final answer".
The items are alternatives for the same next step, not a sequence."""


def test_the_first_prompt_for_five_steps() -> None:
    system, user = step_messages(a_session(), 5)

    assert user == {"role": "user", "content": FIRST_STEP}
    assert system["role"] == "system"
    assert "in the language of the task" in system["content"]


def test_one_step_is_asked_for_in_the_singular() -> None:
    text = said(step_messages(a_session(), 1))

    assert "Return exactly 1 item as pure JSON and nothing else" in text
    assert "alternatives" not in text


@pytest.mark.parametrize(
    ("applied", "shown"),
    [(0, "(none)"), (2, "1. {0}\n2. {1}"), (5, "3. {2}\n4. {3}\n5. {4}")],
)
def test_the_last_three_steps_are_shown_under_their_numbers(applied: int, shown: str) -> None:
    text = said(step_messages(a_session(steps=DISTINCT[:applied]), 5))

    assert f"Steps so far (the last ones):\n{shown.format(*DISTINCT)}\nReturn exactly" in text
    assert applied < 4 or DISTINCT[1] not in text


def test_steps_that_a_beam_assumes_are_shown_as_steps() -> None:
    text = said(step_messages(a_session(steps=DISTINCT[:1]), 5, branch=DISTINCT[1:2]))

    assert f"1. {DISTINCT[0]}\n2. {DISTINCT[1]}\n" in text


def test_hints_and_bans_stand_below_the_steps() -> None:
    session = a_session(hints=("answer '41' failed the check check1 (numeric)",), banned=("Fill the jug",))

    text = said(step_messages(session, 5))

    assert (
        "(none)\nNote: answer '41' failed the check check1 (numeric)\nDo not propose this again: Fill the jug\n" in text
    )


def test_a_perturbed_search_asks_for_items_that_differ_in_kind() -> None:
    assert "differ in kind" in said(step_messages(a_session(family=1), 5))
    assert "differ in kind" not in said(step_messages(a_session(family=1), 1))
    assert "differ in kind" not in said(step_messages(a_session(), 5))


def test_the_last_iteration_asks_for_the_answer() -> None:
    assert "This is the last step there is" in said(step_messages(a_session(iteration=7), 5))
    assert "This is the last step there is" not in said(step_messages(a_session(iteration=6), 5))
    assert "This is the last step there is" not in said(step_messages(a_session(iteration=7), 5, branch=["x"]))


def test_a_whole_answer_comes_with_its_reasoning_first() -> None:
    _, user = answer_messages(Problem(task="6 * 7?"))

    assert user["content"] == (
        "Task:\n6 * 7?\n\nGive the final answer. "
        'Reply with pure JSON and nothing else: { "rationale": "...", "answer": "..." }'
    )


def test_the_finalisation_shows_every_step_and_what_failed() -> None:
    text = said(final_messages(a_session(steps=DISTINCT[:5], hints=("answer '41' failed",))))

    assert all(f"{number}. {step}" in text for number, step in enumerate(DISTINCT[:5], 1))
    assert "Note: answer '41' failed" in text


def test_the_form_of_the_answer_is_passed_on() -> None:
    problem = Problem(task="6 * 7?", expected_answer_format="one integer")

    for messages in (answer_messages(problem), step_messages(a_session(problem=problem), 2)):
        assert said(messages).endswith("Form of the answer: one integer")


def test_the_clients_own_messages_are_appended_to_and_never_rewritten() -> None:
    own = (
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [{"type": "text", "text": "6 * 7?"}, {"type": "image_url", "image_url": {"url": "u"}}],
        },
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
    )
    session = a_session(problem=Problem(task="6 * 7?", messages=own), steps=DISTINCT[:1])

    for messages in (answer_messages(session.problem), step_messages(session, 5), final_messages(session)):
        *first, last = messages
        assert tuple(first) == own
        assert last["role"] == "user"
        assert "Task:" not in last["content"]


def test_what_a_check_expects_never_reaches_a_model() -> None:
    """Neither the value nor the options; the model shall find the answer, not read it."""
    checks = (
        Check(kind="numeric", value="7391", options={"abs": "0.777"}, id="check1"),
        Check(kind="regex", value="zebra", target="step", id="check2"),
    )
    session = a_session(problem=Problem(task="t", checks=checks), steps=DISTINCT[:2])

    for messages in (answer_messages(session.problem), step_messages(session, 5), final_messages(session)):
        assert not any(secret in said(messages) for secret in ("7391", "0.777", "zebra"))


def test_asking_again_shows_what_was_said_and_the_form_once_more() -> None:
    asked = step_messages(a_session(), 2)

    *before, said_before, correction = again_messages(asked, "No idea. " * 1000, 2)

    assert tuple(before) == asked
    assert said_before["role"] == "assistant"
    assert len(said_before["content"]) == 2000
    assert "exactly 2 items" in correction["content"]
    assert len(again_messages(asked, "  ", 2)) == len(asked) + 1


@pytest.mark.parametrize("task", ["Koľko je šesť krát sedem?", "六かける七は？", "احسب ٦ × ٧", "Сколько будет 6 * 7?"])
def test_a_task_in_any_language_is_passed_on_as_it_is(task: str) -> None:
    assert f"Task:\n{task}\n" in said(step_messages(a_session(task), 3))
