"""The bank of tasks that the simulated model can solve, for demos, tests and benchmarks without a real model.

Above: `providers.simulated_reply` answers them; demos and benchmarks ask them. Below:
`providers.simulated_families`, `providers.simulated_jugs`.
"""

import re
from collections.abc import Iterator
from itertools import product
from random import Random

from providers.simulated_families import (
    LANGUAGES,
    Family,
    Language,
    SimulatedTask,
    arithmetic,
    calendar,
    order,
    shop,
    tank,
)
from providers.simulated_jugs import jugs

__all__ = ["FAMILIES", "HANDWRITTEN", "Language", "SimulatedTask", "demo_tasks", "slip"]

FAMILIES: tuple[Family, ...] = (arithmetic, shop, tank, order, calendar, jugs)

HANDWRITTEN: tuple[SimulatedTask, ...] = (
    SimulatedTask(
        task=(
            "You have a jug of 3 litres, a jug of 5 litres, neither marked, and a tap. Filling a jug, emptying a jug and"
            " pouring one into the other until something is full or empty are one move each. What is the smallest"
            " number of moves that measures 4 litres?"
        ),
        answer="6",
        difficulty=0.6,
        steps=(
            "Move 1: fill the jug of 5 litres; 3-litre jug 0, 5-litre jug 5.",
            "Move 2: pour the jug of 5 into the jug of 3; 3-litre jug 3, 5-litre jug 2.",
            "Move 3: empty the jug of 3 litres; 3-litre jug 0, 5-litre jug 2.",
            "Move 4: pour the jug of 5 into the jug of 3; 3-litre jug 2, 5-litre jug 0.",
            "Move 5: fill the jug of 5 litres; 3-litre jug 2, 5-litre jug 5.",
            "Move 6: pour the jug of 5 into the jug of 3; 3-litre jug 3, 5-litre jug 4.",
        ),
        distractors=("7", "5", "8", "4", "10"),
        language="en",
        family="handwritten",
    ),
    SimulatedTask(
        task=(
            "Five jobs take A 30, B 20, C 40, D 25 and E 15 minutes. C starts after A is done, D after B, and E after both"
            " C and D. Two people work, each on one job at a time. After how many minutes can all five jobs be done?"
        ),
        answer="85",
        difficulty=0.65,
        steps=(
            "The first person works A and then C: 30 + 40 = 70 minutes.",
            "The second person works B and then D: 20 + 25 = 45 minutes.",
            "Job E starts after the later of C and D: minute 70.",
            "Job E is done 15 minutes later: 70 + 15 = 85 minutes.",
        ),
        distractors=("60", "130", "65", "90", "75"),
        language="en",
        family="handwritten",
    ),
    SimulatedTask(
        task=(
            "What does this Python program print?\n"
            "total = 0\n"
            "for i in range(1, 11):\n"
            "    if i % 3 == 0:\n"
            "        continue\n"
            "    total += i\n"
            "print(total)"
        ),
        answer="37",
        difficulty=0.4,
        steps=(
            "The program without the continue adds range(1, 11): 1 + 2 + ... + 10 = 55.",
            "The continue leaves out 3, 6 and 9: 3 + 6 + 9 = 18.",
            "The program prints the total: 55 - 18 = 37.",
        ),
        distractors=("55", "18", "36", "48", "40"),
        language="en",
        family="handwritten",
    ),
    SimulatedTask(
        task="鸡和兔关在同一个笼子里，一共有20个头、56条腿。笼子里有几只兔子？",
        answer="8",
        difficulty=0.5,
        steps=(
            "假设笼子里20只全是鸡，腿数：20 * 2 = 40。",
            "比实际少的腿数：56 - 40 = 16。",
            "每把一只鸡换成一只兔子，腿数增加：4 - 2 = 2。",
            "兔子的只数：16 / 2 = 8。",
        ),
        distractors=("12", "7", "9", "6", "14"),
        language="zh",
        family="handwritten",
    ),
    SimulatedTask(
        task=(
            "Vlak odchádza o 14:05. Cesta na stanicu trvá 25 minút, kúpa lístka 10 minút a na nástupišti chcem byť 5 minút"
            " pred odchodom. O koľkej musím najneskôr vyjsť z domu? Odpovedz v tvare HH:MM."
        ),
        answer="13:25",
        difficulty=0.35,
        steps=(
            "Na nástupišti musím byť 5 minút pred 14:05, teda o 14:00.",
            "Kúpa lístka začne 10 minút pred 14:00, teda o 13:50.",
            "Cesta na stanicu začne 25 minút pred 13:50, teda o 13:25.",
        ),
        distractors=("13:30", "13:35", "13:20", "13:15", "13:40"),
        language="sk",
        family="handwritten",
    ),
)
"""A measuring puzzle, a schedule, a program to read, and two in other languages; they open every bank."""


def demo_tasks(n: int, seed: int = 0) -> list[SimulatedTask]:
    """Return `n` tasks with known answers, in English, Slovak and Chinese.

    The handwritten ones come first, then all families in all languages in turn. Texts are distinct, and a longer bank
    of the same seed begins with the shorter one.

    Raises:
        ValueError: `n` is negative.
    """
    if n < 0:
        raise ValueError(f"a bank cannot hold {n} tasks")
    tasks: dict[str, SimulatedTask] = {}
    for task in (*HANDWRITTEN, *_generated(n - len(HANDWRITTEN), seed)):
        tasks[task.task] = task
    return list(tasks.values())[:n]


def _generated(n: int, seed: int) -> Iterator[SimulatedTask]:
    """Yield `n` tasks with distinct texts; a text seen before makes way for the next family."""
    seen: set[str] = set()
    kinds = list(product(FAMILIES, LANGUAGES))
    number = 0
    while len(seen) < n:
        family, language = kinds[number % len(kinds)]
        task = family(Random(f"task {seed} {number}"), language)
        number += 1
        if task.task not in seen:
            seen.add(task.task)
            yield task


_INTEGER = re.compile(r"\d+(?=\D*$)", re.ASCII)


def slip(step: str, variant: int) -> str | None:
    """Return the step with a wrong last number, or None where it holds no number.

    Args:
        step: A correct step.
        variant: Which of the wrong forms, from 0; each gives another text.
    """
    found = _INTEGER.search(step)
    if found is None:
        return None
    wrong = int(found[0]) + 1 + variant
    return f"{step[: found.start()]}{wrong:0{len(found[0])}d}{step[found.end() :]}"
