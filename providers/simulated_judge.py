"""The simulated model as a judge: a verdict between two candidates, or a score of one.

The prompt shows the reply field it wants. With `"verdict"`, lines that begin with `A` and `B` (also `Answer A`,
`Candidate B:` and the like) open the two candidates, and the verdict is `A`, `B` or `tie`. With `"score"`, the whole
message is one candidate, and the scale is the first pair of numbers after that field (`0 to 10`, `0..1`, `[0, 1]`), else 0
to 1. Above: `providers.simulated_reply`. Below: the knobs and the question as read.
"""

import re
from random import Random

from providers.simulated_model import SimulatedModel
from providers.simulated_reading import Question, progress
from providers.simulated_tasks import SimulatedTask

ANSWER_WORTH = 10
"""A right final answer counts as much as so many right steps; a wrong one as little."""

_CANDIDATE = re.compile(
    r"^[ \t#*\[(<]*(?:(?i:answer|candidate|solution|response|step)[ \t]+)?([AB])[ \t]*(?:[:.)\]>*]|$)", re.MULTILINE
)
_VERDICT_FIELD = re.compile(r"""["'`]verdict["'`]""")
_SCALE = re.compile(
    r"""["'`]score["'`].{0,80}?(\d+(?:\.\d+)?)\s*(?:to|and|\.\.\.?|,|–|-)\s*(\d+(?:\.\d+)?)""",
    re.IGNORECASE | re.DOTALL,
)


def judge(model: SimulatedModel, model_id: str, question: Question, rng: Random) -> dict[str, str | float]:
    """Return the opinion: right as often as the model takes a single step right, a coin toss otherwise."""
    sees = rng.random() < model.p_right(model_id, question, 1)
    if _VERDICT_FIELD.search(question.request):
        first, second = (_worth(text, question.task) for text in _candidates(question.request))
        verdict = "tie" if first == second else "A" if first > second else "B"
        chance = "A" if rng.random() < 0.5 else "B"
        return {"rationale": "simulated: the candidates were compared", "verdict": verdict if sees else chance}
    good = _worth(question.request, question.task) > 0 if sees else rng.random() < 0.5
    share = (0.6 if good else 0.0) + 0.4 * rng.random()
    found = _SCALE.search(question.request)
    low, high = (float(found[1]), float(found[2])) if found else (0.0, 1.0)
    return {"rationale": "simulated: the candidate was weighed", "score": round(low + share * (high - low), 2)}


def _candidates(text: str) -> tuple[str, str]:
    """Return the texts of both candidates; empty where the prompt does not show them."""
    starts: dict[str, int] = {}
    for found in _CANDIDATE.finditer(text):
        starts.setdefault(found[1], found.end())
    if len(starts) < 2:
        return "", ""
    if starts["A"] < starts["B"]:
        return text[starts["A"] : starts["B"]], text[starts["B"] :]
    return text[starts["A"] :], text[starts["B"] : starts["A"]]


def _worth(text: str, task: SimulatedTask) -> int:
    """Return how good a candidate is: right steps less slips, and the answer that it states last."""
    done, slips, _ = progress(task, text.splitlines())
    known = sorted({task.answer, *task.distractors}, key=len, reverse=True)
    either = "|".join(map(re.escape, known))
    labelled = re.findall(rf"answer\W{{0,8}}({either})(?![\w:-]|\.\d)", text, re.IGNORECASE)
    # Numbers inside a step are no answer: without a label, only a text that holds no step is searched for one.
    stated = labelled or ([] if done or slips else re.findall(rf"(?<![\w.:-])(?:{either})(?![\w:-]|\.\d)", text))
    if not stated:
        return done - slips
    return done - slips + (ANSWER_WORTH if stated[-1] == task.answer else -ANSWER_WORTH)
