"""How the simulated model reads a conversation: what is asked, about which task, and how far the scratchpad has come.

The user's messages decide, the last one first, whatever else they say:

- `Return exactly K items` (also `exactly K JSON items|steps|candidates|proposals|objects`): K alternatives for the next
  step are wanted;
- else a reply field `"verdict"` or `"score"`: an opinion is wanted (`providers.simulated_judge` reads on);
- else `final answer`: a whole answer is wanted, with the steps listed where the prompt shows a `"steps"` field;
- lines that begin with a number (`3. …`, `3) …`, `Step 3: …`) and hold a step of the task are the scratchpad.

Above: `providers.simulated_reply`. Below: `providers.simulated_tasks`.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from providers.simulated_tasks import SimulatedTask, slip

Wanted = Literal["steps", "judge", "answer", "solution", "chat"]
"""Next steps; an opinion on candidates; a final answer; one with its steps; or nothing of the kind: a plain question."""

MAX_ITEMS = 64
"""More steps than this are never returned, whatever the prompt asks for."""

SLIP_VARIANTS = 8
"""Wrong forms of a step that are recognised on the scratchpad."""

_ITEMS = re.compile(
    r"\bexactly\s+(\d{1,3})\s+(?:\w+\s+)?(?:items?|steps?|candidates?|proposals?|objects?)\b", re.IGNORECASE
)
_ANSWER = re.compile(r"\bfinal answer\b", re.IGNORECASE)
_OPINION_FIELD = re.compile(r"""["'`](?:verdict|score)["'`]""")
_STEPS_FIELD = re.compile(r"""["'`]steps["'`]""")
_LISTED = re.compile(r"^[ \t]*(?:step[ \t]+)?\d{1,3}[.):][ \t]*(\S.*)$", re.IGNORECASE | re.MULTILINE)

UNKNOWN_TASK = SimulatedTask(
    task="",
    answer="42",
    difficulty=0.6,
    steps=(
        "List the values that the task gives and the one it asks for.",
        "Name the one rule that ties the given values to the wanted one.",
        "Put the given values into the rule and write the result down.",
        "Hold the result against each condition of the task.",
    ),
    distractors=("7", "12", "0", "1"),
    language="en",
    family="unknown",
)
"""Stands in for any task outside the bank: plausible steps, and an answer from a small set."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """What a conversation asks of the simulated model."""

    wanted: Wanted
    items: int
    """Steps wanted; 1..64, and 1 where none are."""
    task: SimulatedTask
    done: int
    """Steps of the task's chain that the scratchpad covers; 0..len(task.steps)."""
    slips: int
    """Wrong steps on the scratchpad that no later right one has put straight."""
    last_step: str | None
    """The last step of the chain, right or wrong, that is listed, as it stands there."""
    request: str
    """The message that decides what is wanted, without the task's text."""
    digest: str
    """Short hash of all roles and texts: equal for equal conversations."""


class TaskBank:
    """The tasks that are known, found by their text."""

    def __init__(self, tasks: Sequence[SimulatedTask]) -> None:
        self._by_text = [(_flat(task.task), task) for task in tasks]
        self._by_first_line = {task.task.splitlines()[0].strip(): task for task in tasks}

    def find(self, text: str) -> SimulatedTask:
        """Return the longest known task that the text quotes; line breaks and indents may differ.

        A task that begins on a line of its own is found first, because that needs no search through the whole bank.
        """
        flat = _flat(text)
        begun = (self._by_first_line.get(line.strip()) for line in text.splitlines())
        quoted = [task for task in begun if task is not None and _flat(task.task) in flat]
        quoted = quoted or [task for known, task in self._by_text if known in flat]
        return max(quoted, key=lambda task: len(task.task), default=UNKNOWN_TASK)


def _flat(text: str) -> str:
    """Return the text with every run of white space as one blank."""
    return " ".join(text.split())


def read(messages: Sequence[Mapping[str, Any]], bank: TaskBank) -> Question:
    """Return what the conversation asks, seen through the tasks that are known."""
    texts = [(str(message.get("role", "")), _text(message.get("content"))) for message in messages]
    said = [text for role, text in texts if role == "user"]
    task = bank.find("\n".join(said))
    done, slips, last_step = progress(task, [line for text in said for line in _LISTED.findall(text)])
    wanted, items, request = _wanted([text.replace(task.task, "") if task.task else text for text in said])
    return Question(
        wanted=wanted,
        items=items,
        task=task,
        done=done,
        slips=slips,
        last_step=last_step,
        request=request,
        digest=hashlib.blake2b(repr(texts).encode(errors="surrogatepass"), digest_size=12).hexdigest(),
    )


def _text(content: object) -> str:
    """Return the text of a message's content: a string, or a list of parts of which only the text counts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return ""


def _wanted(said: Sequence[str]) -> tuple[Wanted, int, str]:
    """Return what the latest message that asks for anything particular asks for, how many items, and that message."""
    for text in reversed(said):
        if counts := _ITEMS.findall(text):
            return "steps", min(MAX_ITEMS, max(1, int(counts[-1]))), text
        if _OPINION_FIELD.search(text):
            return "judge", 1, text
        if _ANSWER.search(text):
            return ("solution" if _STEPS_FIELD.search(text) else "answer"), 1, text
    return "chat", 1, said[-1] if said else ""


def progress(task: SimulatedTask, listed: Sequence[str]) -> tuple[int, int, str | None]:
    """Return how many steps are done, how many slips still stand, and the last of either as it is listed.

    A right step mends the slips at and before its place in the chain.
    """
    done = 0
    standing: set[int] = set()
    last: str | None = None
    for line in listed:
        for position, step in enumerate(task.steps):
            if step in line:
                done, last = max(done, position + 1), line
                standing = {wrong for wrong in standing if wrong > position}
                break
            if _is_slip(step, line):
                standing.add(position)
                last = line
                break
    return done, len(standing), last


def _is_slip(step: str, line: str) -> bool:
    wrongs = (slip(step, variant) for variant in range(SLIP_VARIANTS))
    return any(wrong is not None and wrong in line for wrong in wrongs)
