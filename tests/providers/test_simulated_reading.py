"""What the simulated model sees in a conversation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.simulated_reading import MAX_ITEMS, UNKNOWN_TASK, Question, TaskBank, read
from providers.simulated_tasks import SimulatedTask, demo_tasks, slip

TASKS = demo_tasks(20)
BANK = TaskBank(TASKS)
JUG, SCHEDULE, PROGRAM = TASKS[:3]


def ask(text: str, *before: tuple[str, str]) -> Question:
    messages = [{"role": role, "content": content} for role, content in (*before, ("user", text))]
    return read(messages, BANK)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: f"{task.family}-{task.language}")
def test_a_task_is_found_by_its_text_among_instructions(task: SimulatedTask) -> None:
    question = ask(f"Task:\n{task.task}\n\nPropose the next step.\nReturn exactly 4 items as pure JSON.")

    assert question.task is task
    assert (question.wanted, question.items, question.done, question.slips) == ("steps", 4, 0, 0)


def test_a_task_is_found_when_its_lines_were_joined() -> None:
    assert ask(" ".join(PROGRAM.task.split())).task is PROGRAM


def test_a_task_inside_a_line_is_found() -> None:
    assert ask(f"Please solve this: {JUG.task} Thank you.").task is JUG


def test_a_first_line_alone_is_not_the_task() -> None:
    assert ask("What does this Python program print?\nprint(1)").task is UNKNOWN_TASK


def test_a_task_in_an_earlier_message_or_in_content_parts_is_found() -> None:
    parts = [{"type": "text", "text": JUG.task}, {"type": "image_url", "image_url": {"url": "data:,"}}]

    question = read([{"role": "user", "content": parts}, {"role": "user", "content": "Give the final answer."}], BANK)

    assert question.task is JUG
    assert question.wanted == "answer"


def test_a_task_that_only_the_assistant_quotes_is_not_the_task() -> None:
    assert ask("Hello?", ("assistant", JUG.task)).task is UNKNOWN_TASK


@pytest.mark.parametrize(
    ("text", "wanted", "items"),
    [
        ("Return exactly 1 items as pure JSON", "steps", 1),
        ("return Exactly 16 JSON items", "steps", 16),
        ("Propose exactly 3 candidates.", "steps", 3),
        ("Return exactly 4 items. Where a step settles the task, add the final answer.", "steps", 4),
        ("Return exactly 0 items", "steps", 1),
        ("Return exactly 999 items", "steps", MAX_ITEMS),
        ("Give the final answer. Reply with JSON", "answer", 1),
        ('Give the final answer as {"steps": [...], "answer": "..."}', "solution", 1),
        ("How are you?", "chat", 1),
        ("Measure exactly 4 litres.", "chat", 1),
    ],
)
def test_the_prompt_says_what_is_wanted(text: str, wanted: str, items: int) -> None:
    question = ask(text)

    assert (question.wanted, question.items) == (wanted, items)


def test_the_last_message_that_asks_for_something_decides() -> None:
    assert ask("Give the final answer.", ("user", "Return exactly 5 items.")).wanted == "answer"
    assert ask("Thank you.", ("user", "Return exactly 5 items.")).items == 5


def test_listed_steps_are_progress_whatever_their_numbers_and_leads() -> None:
    question = ask(f"{JUG.task}\nSteps so far:\n2. Next: {JUG.steps[1]}\n3) {JUG.steps[2]} because it is full")

    assert (question.done, question.slips) == (3, 0)
    assert question.last_step is not None
    assert question.last_step.startswith(JUG.steps[2])


def test_steps_in_notes_and_in_earlier_replies_are_no_progress() -> None:
    banned = f"{JUG.task}\nDo not propose this again: {JUG.steps[0]}"

    assert ask(banned, ("assistant", f"1. {JUG.steps[0]}")).done == 0


def test_a_slip_stands_until_a_right_step_mends_it() -> None:
    wrong = slip(SCHEDULE.steps[1], 3)
    listed = f"{SCHEDULE.task}\n1. {SCHEDULE.steps[0]}\n2. {wrong}"

    before, after = ask(listed), ask(f"{listed}\n3. {SCHEDULE.steps[1]}")

    assert (before.done, before.slips) == (1, 1)
    assert (after.done, after.slips) == (2, 0)


@given(st.text(max_size=200), st.text(max_size=200))
def test_equal_conversations_and_only_they_have_equal_digests(one: str, other: str) -> None:
    assert (ask(one).digest == ask(other).digest) == (one == other)
