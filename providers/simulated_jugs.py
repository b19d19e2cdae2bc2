"""The two-jug family: measure a goal with two unmarked jugs; the answer is found by search.

Above: `providers.simulated_tasks`. Below: `providers.simulated_families`.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from random import Random
from typing import Literal

from providers.simulated_families import Language, SimulatedTask, near_misses

_JUGS: Mapping[Language, tuple[str, str, str, str]] = {
    "en": (
        (
            "Two unmarked jugs of {a} and {b} litres stand empty beside a tap. One move fills a jug, empties a jug, or pours"
            " one into the other until the first is empty or the second is full. What is the smallest number of moves after"
            " which some jug holds {goal} litres?"
        ),
        "Move {i}: fill the jug of {to} litres; the jugs now hold {x} and {y}.",
        "Move {i}: empty the jug of {to} litres; the jugs now hold {x} and {y}.",
        "Move {i}: pour into the jug of {to} litres; the jugs now hold {x} and {y}.",
    ),
    "sk": (
        (
            "Pri kohútiku stoja dva prázdne džbány bez značiek s objemom {a} l a {b} l. Jedným ťahom sa džbán naplní,"
            " vyleje, alebo sa z neho prelieva do druhého, kým sa prvý nevyprázdni alebo druhý nenaplní. Aký je najmenší počet ťahov,"
            " po ktorých je v niektorom džbáne {goal} l?"
        ),
        "Ťah {i}: naplň džbán s objemom {to} l; v džbánoch je teraz {x} a {y}.",
        "Ťah {i}: vylej džbán s objemom {to} l; v džbánoch je teraz {x} a {y}.",
        "Ťah {i}: prelej do džbánu s objemom {to} l; v džbánoch je teraz {x} a {y}.",
    ),
    "zh": (
        (
            "水龙头旁有两个没有刻度的空壶，容量为{a}升和{b}升。每一步可以把一个壶装满、倒空，或把一个壶的水倒入另一个壶，"
            "直到前者空了或后者满了。最少几步之后某个壶里有{goal}升水？"
        ),
        "第{i}步：装满{to}升的壶；两个壶里现在有{x}和{y}。",
        "第{i}步：倒空{to}升的壶；两个壶里现在有{x}和{y}。",
        "第{i}步：倒入{to}升的壶；两个壶里现在有{x}和{y}。",
    ),
}


def jugs(rng: Random, language: Language) -> SimulatedTask:
    """Return a two-jug puzzle; the steps are a shortest sequence of moves."""
    while True:
        a, b = sorted(rng.sample(range(3, 14), 2))
        goal = rng.randint(1, b - 1)
        moves = pour_moves((a, b), goal)
        if 2 <= len(moves) <= 10:
            break
    text, *phrases = _JUGS[language]
    steps = [
        phrases[("fill", "empty", "pour").index(verb)].format(i=number, to=(a, b)[jug], x=levels[0], y=levels[1])
        for number, (verb, jug, levels) in enumerate(moves, start=1)
    ]
    return SimulatedTask(
        task=text.format(a=a, b=b, goal=goal),
        answer=str(len(moves)),
        difficulty=min(1.0, 0.3 + 0.07 * len(moves)),
        steps=tuple(steps),
        distractors=near_misses(len(moves), rng),
        language=language,
        family="jugs",
    )


Move = tuple[Literal["fill", "empty", "pour"], int, tuple[int, int]]
"""What was done, the jug it was done to (the receiving one of a pour), and the levels afterwards."""


def pour_moves(sizes: tuple[int, int], goal: int) -> Sequence[Move]:
    """Return a shortest sequence of moves after which a jug holds `goal`, found breadth first; empty = impossible."""
    came: dict[tuple[int, int], tuple[Move, ...]] = {(0, 0): ()}
    queue = deque(came)
    while queue:
        levels = queue.popleft()
        if goal in levels:
            return came[levels]
        for move in _legal_moves(levels, sizes):
            if move[2] not in came:
                came[move[2]] = (*came[levels], move)
                queue.append(move[2])
    return ()


def _legal_moves(levels: tuple[int, int], sizes: tuple[int, int]) -> list[Move]:
    moves: list[Move] = []
    for jug in (0, 1):
        poured = min(levels[1 - jug], sizes[jug] - levels[jug])
        amounts: list[tuple[Literal["fill", "empty", "pour"], int, int]] = [
            ("fill", sizes[jug], levels[1 - jug]),
            ("empty", 0, levels[1 - jug]),
            ("pour", levels[jug] + poured, levels[1 - jug] - poured),
        ]
        moves += [(verb, jug, (here, other) if jug == 0 else (other, here)) for verb, here, other in amounts]
    return moves
