"""What the simulated model writes: next steps, whole answers and plain talk, right or wrong as its draw has it.

Pure: the same question and the same random generator give the same text. Above: `providers.simulated_server`. Below:
the knobs (`providers.simulated_model`), the question as read (`providers.simulated_reading`), `providers.simulated_wire`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from providers.simulated_judge import judge
from providers.simulated_model import Shape, SimulatedModel
from providers.simulated_reading import Question
from providers.simulated_tasks import Language, SimulatedTask, slip
from providers.simulated_wire import Written

_DRESSES: Sequence[Shape] = ("json", "prose", "thinking", "fenced")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Phrases:
    """What the model says in one language beside the steps themselves."""

    leads: Sequence[str]
    """Ways to open a step, so that alternatives with the same content differ in wording."""
    vague: Sequence[str]
    """Things that sound like a step and are none."""
    check: str
    rationale: str
    thinking: str


_PHRASES: Mapping[Language, _Phrases] = {
    "en": _Phrases(
        leads=("", "Next: ", "Now work out: ", "Write down: ", "Then: "),
        vague=(
            "Think harder about the problem.",
            "Consider several possibilities.",
            "Look at everything from another angle.",
            "Obviously the rest is trivial.",
        ),
        check="Check {answer} against every condition of the task.",
        rationale="Step {number} of {total}; it needs nothing but what is known so far.",
        thinking="The chain has {total} steps and {done} of them stand. I go on from there and keep to the facts given.",
    ),
    "sk": _Phrases(
        leads=("", "Ďalej: ", "Teraz: ", "Zapíš: ", "Potom: "),
        vague=(
            "Zamysli sa nad úlohou hlbšie.",
            "Zváž rôzne možnosti.",
            "Pozri sa na všetko z iného uhla.",
            "Zvyšok je zrejmý.",
        ),
        check="Over, či {answer} spĺňa všetky podmienky úlohy.",
        rationale="Krok {number} z {total}; stačí naň to, čo je už známe.",
        thinking="Počet krokov: {total}, hotových: {done}. Pokračujem odtiaľ a držím sa zadania.",
    ),
    "zh": _Phrases(
        leads=("", "接着：", "现在：", "写下：", "然后："),
        vague=("再深入想一想这个问题。", "考虑各种可能性。", "换一个角度看全部内容。", "其余的显而易见。"),
        check="检验{answer}是否满足题目的全部条件。",
        rationale="第{number}步，共{total}步；只用到已知的内容。",
        thinking="一共{total}步，已完成{done}步。我从这里继续，只依据题目给出的条件。",
    ),
}


def write(model: SimulatedModel, model_id: str, question: Question, rng: Random) -> Written:
    """Return the text of one choice for this question; the draw decides whether it is right and how it is dressed."""
    shape = model.shape if model.shape != "mixed" else _DRESSES[int(rng.random() * len(_DRESSES))]
    if question.wanted == "steps":
        return _dress(shape, question, *_steps(model, model_id, question, rng))
    if question.wanted == "judge":
        opinion = judge(model, model_id, question, rng)
        return _dress(shape, question, opinion, "\n".join(f"{name}: {value}" for name, value in opinion.items()))
    if question.wanted == "chat":
        shape = "thinking" if shape == "thinking" else "prose"
    return _dress(shape, question, *_answer(model, model_id, question, rng))


def _steps(model: SimulatedModel, model_id: str, question: Question, rng: Random) -> tuple[list[dict[str, str]], str]:
    """Return the items, as the JSON array has them and as a numbered list."""
    items: list[dict[str, str]] = []
    used: set[str] = set()
    for _ in range(question.items):
        item = _item(model, model_id, question, rng)
        item["text"] = _worded(item["text"], used, question.task.language)
        used.add(item["text"])
        items.append(item)
    lines = []
    for number, item in enumerate(items, start=1):
        ending = f" Final answer: {item['answer']}" if "answer" in item else ""
        lines.append(f"{number}. {item['text']}{ending}")
    return items, "\n".join(lines)


def _item(model: SimulatedModel, model_id: str, question: Question, rng: Random) -> dict[str, str]:
    """Return one proposal for the next step: sound, or else half the time a slip, a quarter vague, a quarter a repeat."""
    task, phrases = question.task, _PHRASES[question.task.language]
    number = min(question.done + 1, len(task.steps))
    rationale = phrases.rationale.format(number=number, total=len(task.steps))
    sound = rng.random() < model.p_right(model_id, question, 1 if question.done < len(task.steps) else 0)
    flaw = rng.random()
    if not sound and flaw < 0.25:
        return {"text": phrases.vague[int(rng.random() * len(phrases.vague))], "rationale": rationale}
    if not sound and flaw < 0.5 and question.last_step is not None:
        return {"text": question.last_step, "rationale": rationale}
    text, answer = _step(model, question, rng, sound=sound)
    item = {"text": text, "rationale": rationale}
    return item if answer is None else {**item, "answer": answer}


def _step(model: SimulatedModel, question: Question, rng: Random, *, sound: bool) -> tuple[str, str | None]:
    """Return the next step, right or with a slip, and the final answer if the chain ends with it."""
    task, phrases = question.task, _PHRASES[question.task.language]
    answer = task.answer if sound else _wrong_answer(model, task, rng)
    if question.done == len(task.steps):
        return phrases.check.format(answer=answer), answer
    step = task.steps[question.done]
    text = step if sound else slip(step, model.wrong_pick(rng, model.distractors)) or phrases.vague[0]
    return text, answer if question.done + 1 == len(task.steps) else None


def _wrong_answer(model: SimulatedModel, task: SimulatedTask, rng: Random) -> str:
    return task.distractors[model.wrong_pick(rng, len(task.distractors))]


def _worded(text: str, used: set[str], language: Language) -> str:
    """Return the text in a wording that no item before it has."""
    for lead in _PHRASES[language].leads:
        if (worded := lead + text) not in used:
            return worded
    return f"({len(used) + 1}) {text}"


def _answer(model: SimulatedModel, model_id: str, question: Question, rng: Random) -> tuple[dict[str, Any], str]:
    """Return a whole answer with the steps that lead to it, as the JSON object has it and as sentences."""
    task = question.task
    rest = list(task.steps[question.done :]) or [task.steps[-1]]
    if rng.random() < model.p_right(model_id, question, len(task.steps) - question.done):
        answer = task.answer
    else:
        answer = _wrong_answer(model, task, rng)
        rest[-1] = slip(rest[-1], model.wrong_pick(rng, model.distractors)) or rest[-1]
    rationale = " ".join(rest)
    prose = f"{rationale}\n\nFinal answer: {answer}"
    if question.wanted == "solution":
        return {"steps": rest, "answer": answer}, prose
    return {"rationale": rationale, "answer": answer}, prose


def _dress(shape: Shape, question: Question, data: Any, prose: str) -> Written:
    plain = prose if shape == "prose" or question.wanted == "chat" else json.dumps(data, ensure_ascii=False)
    if shape == "fenced":
        return Written(content=f"```json\n{plain}\n```")
    if shape == "thinking":
        phrases = _PHRASES[question.task.language]
        thought = phrases.thinking.format(total=len(question.task.steps), done=question.done)
        thinking = f"<think>\n{thought}\n</think>\n"
        return Written(content=thinking + plain, thinking=thinking)
    return Written(content=plain)
