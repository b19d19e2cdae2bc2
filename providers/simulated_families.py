"""Families of tasks whose answer and whole chain of steps are known by construction.

Each family is a function of a random generator and a language. The numbers come first, the answer follows from them by
plain arithmetic, and one template a language says the task and its steps; so the same task exists in English,
Slovak and Chinese. Above: `providers.simulated_tasks` mixes the families into a bank,
`providers.simulated_jugs` adds one that needs a search. Below: nothing.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise
from random import Random
from typing import Literal, get_args

Language = Literal["en", "sk", "zh"]
LANGUAGES: tuple[Language, ...] = get_args(Language)


@dataclass(frozen=True, kw_only=True, slots=True)
class SimulatedTask:
    """A task that the simulated model knows, with a correct chain of steps."""

    task: str
    """The task as a user would type it; unique within a bank."""
    answer: str
    """The one right answer."""
    difficulty: float
    """In [0, 1]: 0 = nearly every model solves it in one go, 1 = nearly none does."""
    steps: tuple[str, ...]
    """Small concrete steps, in order; the answer follows from the last one."""
    distractors: tuple[str, ...]
    """Plausible wrong answers, the most tempting first; none equals the answer."""
    language: Language
    family: str
    """Name of the family, or `handwritten`."""


Family = Callable[[Random, Language], SimulatedTask]


def near_misses(answer: int, rng: Random) -> tuple[str, ...]:
    """Return six wrong non-negative integers close to the answer, the most tempting first, in an order of chance."""
    offsets = [1, -1, 2, -2, 10, -10, 3, 5, 20]
    wrong = [answer + offset for offset in offsets if answer + offset >= 0][:6]
    rng.shuffle(wrong)
    return tuple(map(str, wrong))


_ARITHMETIC: Mapping[Language, tuple[str, str]] = {
    "en": ("Work out the value of ({a} + {b}) * {c} - {d} * {e}.", "Value so far: {left} = {right}."),
    "sk": ("Vypočítaj hodnotu výrazu ({a} + {b}) * {c} - {d} * {e}.", "Hodnota časti výrazu: {left} = {right}."),
    "zh": ("计算算式 ({a} + {b}) * {c} - {d} * {e} 的值。", "算式的一部分：{left} = {right}。"),
}


def arithmetic(rng: Random, language: Language) -> SimulatedTask:
    """Return an expression with two products."""
    level = rng.randrange(3)
    top = (12, 40, 99)[level]
    a, b, c = rng.randint(6, top), rng.randint(5, top), rng.randint(4, top)
    d, e = rng.randint(2, 9), rng.randint(3, 9)
    total, first, second = a + b, (a + b) * c, d * e
    parts = [
        (f"{a} + {b}", total),
        (f"{total} * {c}", first),
        (f"{d} * {e}", second),
        (f"{first} - {second}", first - second),
    ]
    text, step = _ARITHMETIC[language]
    return SimulatedTask(
        task=text.format(a=a, b=b, c=c, d=d, e=e),
        answer=str(first - second),
        difficulty=0.2 + 0.2 * level,
        steps=tuple(step.format(left=left, right=right) for left, right in parts),
        distractors=near_misses(first - second, rng),
        language=language,
        family="arithmetic",
    )


_SHOP: Mapping[Language, tuple[str, ...]] = {
    "en": (
        (
            "A notebook costs {a} euros and a pen costs {b} euros. Someone buys {m} notebooks and {n} pens and pays with"
            " {paid} euros. How many euros of change come back?"
        ),
        "Price of the notebooks: {m} * {a} = {x} euros.",
        "Price of the pens: {n} * {b} = {y} euros.",
        "Price of notebooks and pens together: {x} + {y} = {z} euros.",
        "Change from {paid} euros: {paid} - {z} = {answer} euros.",
    ),
    "sk": (
        (
            "Zošit stojí {a} € a pero stojí {b} €. Niekto kúpi zošity v počte {m} a perá v počte {n} a zaplatí {paid} €."
            " Koľko eur dostane naspäť?"
        ),
        "Cena za zošity: {m} * {a} = {x} €.",
        "Cena za perá: {n} * {b} = {y} €.",
        "Cena za zošity a perá spolu: {x} + {y} = {z} €.",
        "Vrátia zo sumy {paid} €: {paid} - {z} = {answer} €.",
    ),
    "zh": (
        "一本笔记本{a}元，一支钢笔{b}元。有人买了{m}本笔记本和{n}支钢笔，付了{paid}元。应找回多少元？",
        "笔记本的价钱：{m} * {a} = {x}元。",
        "钢笔的价钱：{n} * {b} = {y}元。",
        "笔记本和钢笔一共：{x} + {y} = {z}元。",
        "付{paid}元应找回：{paid} - {z} = {answer}元。",
    ),
}


def shop(rng: Random, language: Language) -> SimulatedTask:
    """Return a purchase of two kinds of things, with change."""
    level = rng.randrange(3)
    a, b = rng.randint(2, 6 + 4 * level), rng.randint(2, 4 + 3 * level)
    m, n = rng.randint(2, 5 + 6 * level), rng.randint(2, 6 + 6 * level)
    x, y = m * a, n * b
    paid = (x + y) // 10 * 10 + rng.choice((10, 20, 50))
    change = paid - x - y
    values = {"a": a, "b": b, "m": m, "n": n, "x": x, "y": y, "z": x + y, "paid": paid, "answer": change}
    text, *steps = _SHOP[language]
    return SimulatedTask(
        task=text.format(**values),
        answer=str(change),
        difficulty=0.25 + 0.15 * level,
        steps=tuple(step.format(**values) for step in steps),
        distractors=near_misses(change, rng),
        language=language,
        family="shop",
    )


_TANK: Mapping[Language, tuple[str, ...]] = {
    "en": (
        (
            "An empty tank holds {v} litres. A pump brings {p} litres a minute and a leak loses {q} litres a minute."
            " After {d} minutes the leak is closed. How many minutes after the start is the tank full?"
        ),
        "Net inflow into the tank with the leak: {p} - {q} = {r} litres a minute.",
        "Water in the tank after {d} minutes: {d} * {r} = {w} litres.",
        "Litres missing then: {v} - {w} = {u} litres.",
        "Pump alone without the leak: {u} / {p} = {t} minutes.",
        "Minutes from the start: {d} + {t} = {answer} minutes.",
    ),
    "sk": (
        (
            "Prázdna nádrž má objem {v} litrov. Čerpadlo prináša {p} l za minútu a trhlinou uniká {q} l za minútu."
            " Po {d} minútach trhlinu utesnia. Koľko minút od začiatku bude nádrž plná?"
        ),
        "Čistý prítok s trhlinou: {p} - {q} = {r} l za minútu.",
        "Voda v nádrži po {d} minútach: {d} * {r} = {w} l.",
        "Vtedy ešte chýba do objemu nádrže: {v} - {w} = {u} l.",
        "Samo čerpadlo bez trhliny: {u} / {p} = {t} min.",
        "Čas od začiatku: {d} + {t} = {answer} min.",
    ),
    "zh": (
        "一个空水箱容量为{v}升。水泵每分钟注入{p}升，裂缝每分钟漏掉{q}升。{d}分钟后裂缝被堵住。从开始算起，多少分钟后水箱注满？",
        "有裂缝时每分钟净注入：{p} - {q} = {r}升。",
        "{d}分钟后水箱里的水：{d} * {r} = {w}升。",
        "这时还差：{v} - {w} = {u}升。",
        "堵住裂缝后水泵还需要：{u} / {p} = {t}分钟。",
        "从开始算起：{d} + {t} = {answer}分钟。",
    ),
}


def tank(rng: Random, language: Language) -> SimulatedTask:
    """Return a tank that fills at two rates, one after the other."""
    level = rng.randrange(3)
    p = rng.randint(5, 9 + 6 * level)
    q = rng.randint(2, p - 2)
    d, t = rng.randint(3, 6 + 5 * level), rng.randint(2, 6 + 5 * level)
    w, u = d * (p - q), p * t
    values = {"v": w + u, "p": p, "q": q, "d": d, "r": p - q, "w": w, "u": u, "t": t, "answer": d + t}
    text, *steps = _TANK[language]
    return SimulatedTask(
        task=text.format(**values),
        answer=str(d + t),
        difficulty=0.45 + 0.2 * level,
        steps=tuple(step.format(**values) for step in steps),
        distractors=near_misses(d + t, rng),
        language=language,
        family="tank",
    )


_ORDER: Mapping[Language, tuple[str, str, str, str]] = {
    "en": (
        "Only these facts of a race are known: {clues}. Nobody shared a place. Which runner took place {place}?",
        "runner {x} finished directly ahead of runner {y}",
        "No fact has anybody ahead of runner {y}: runner {y} took place {place}.",
        "Runner {x} was directly ahead of runner {y}: runner {y} took place {place}.",
    ),
    "sk": (
        "O pretekoch vieme len toto: {clues}. Nikto sa o miesto nedelil. Ktorý bežec skončil na mieste {place}?",
        "bežec {x} dobehol hneď pred bežcom {y}",
        "Pred bežcom {y} podľa zadania nikto nie je: bežec {y} skončil na mieste {place}.",
        "Bežec {x} bol hneď pred bežcom {y}: bežec {y} skončil na mieste {place}.",
    ),
    "zh": (
        "关于一场赛跑只知道：{clues}。没有并列名次。哪位选手得到名次{place}？",
        "选手{x}恰好领先选手{y}一个名次",
        "没有条件说有人在选手{y}前面：选手{y}得到名次{place}。",
        "选手{x}恰好在选手{y}前面：选手{y}得到名次{place}。",
    ),
}


def order(rng: Random, language: Language) -> SimulatedTask:
    """Return a race whose result follows from who was directly ahead of whom."""
    size = rng.randint(4, 7)
    runners = rng.sample("ABCDEFGHKLMNPRSTUVWX", size)
    place = rng.randint(2, size)
    text, clue, first, following = _ORDER[language]
    clues = [clue.format(x=x, y=y) for x, y in pairwise(runners)]
    rng.shuffle(clues)
    placed = list(enumerate(pairwise(runners[:place]), start=2))
    steps = [following.format(x=x, y=y, place=number) for number, (x, y) in placed]
    steps.insert(0, first.format(y=runners[0], place=1))
    others = [runner for runner in runners if runner != runners[place - 1]]
    rng.shuffle(others)
    return SimulatedTask(
        task=text.format(clues="; ".join(clues), place=place),
        answer=runners[place - 1],
        difficulty=0.15 * (size - 3) + 0.05 * place,
        steps=tuple(steps),
        distractors=tuple(others),
        language=language,
        family="order",
    )


_DATE: Mapping[Language, tuple[str, str, str]] = {
    "en": (
        "Which date lies {n} days after {start}? Answer as YYYY-MM-DD.",
        "Days from {here} to {there}: {k}; days left: {left}.",
        "Last days from the date {here}: {k}, which lies at {there}.",
    ),
    "sk": (
        "Ktorý dátum je {n} dní po {start}? Odpovedz v tvare RRRR-MM-DD.",
        "Dni od dátumu {here} po {there}: {k}; zostávajúce dni: {left}.",
        "Posledné dni od dátumu {here}: {k}, teda {there}.",
    ),
    "zh": (
        "{start}之后第{n}天是哪一天？请按YYYY-MM-DD的格式回答。",
        "从{here}到{there}的天数：{k}；剩下的天数：{left}。",
        "从{here}起的最后天数：{k}，到达{there}。",
    ),
}


def calendar(rng: Random, language: Language) -> SimulatedTask:
    """Return a walk over month ends from one date to another."""
    start = date(2000, 1, 1) + timedelta(days=rng.randrange(365 * 60))
    n = rng.randint(20, 150)
    text, hop, last = _DATE[language]
    steps: list[str] = []
    here, left = start, n
    while left:
        following = (here.replace(day=1) + timedelta(days=32)).replace(day=1)
        k = min(left, (following - here).days)
        there, left = here + timedelta(days=k), left - k
        steps.append((hop if left else last).format(k=k, here=here, there=there, left=left))
        here = there
    offsets = [1, -1, 2, -2, 30, -30]
    rng.shuffle(offsets)
    return SimulatedTask(
        task=text.format(n=n, start=start),
        answer=str(here),
        difficulty=min(1.0, 0.3 + 0.1 * len(steps)),
        steps=tuple(steps),
        distractors=tuple(str(here + timedelta(days=offset)) for offset in offsets),
        language=language,
        family="calendar",
    )
