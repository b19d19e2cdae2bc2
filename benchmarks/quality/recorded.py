"""Recorded questions in the form in which the loop is asked them: a task, chat replies of models, and what only the scorer knows.

Where a record holds a model's own text, that text is the reply. Where it holds only the answer, the reply is the JSON object that
our prompt asks for, with this answer in it. Above: the replay. Below: `benchmarks.replay_data`.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any, Literal

from benchmarks.replay_data import records
from verifier.answers import vote_key
from verifier.tuned import ROUND

Verdicts = Mapping[str, bool]
"""Answer as recorded -> whether it is right. The scorer's."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """One problem of a recorded set."""

    id: str
    task: str
    replies: Mapping[str, tuple[str, ...]]
    """Model -> its chat replies."""
    verdicts: Verdicts
    """The scorer's."""
    tests: tuple[str, ...] = ()
    """Tests that the model wrote, each as often as it wrote it; they are paid for in lists of ten."""
    passed: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Program -> the tests that it passes: recorded outcomes of its runs, consulted only for what was drawn."""
    accepted: tuple[str, ...] | None = None
    """Answers that an executable check of the user accepts, where there can be one: recorded outcomes of its runs. Consulted by
    the loop only for the answers that it has drawn."""

    def right(self, answer: str | None) -> bool | None:
        """Score an answer; None where no model gave it in the record, so that it must have been misread."""
        if answer is None:
            return False
        text = answer.strip()
        return self.verdicts.get(text, self.verdicts.get(vote_key(text)))

    def shuffled(self, seed: int) -> dict[tuple[str, ...], tuple[str, ...]]:
        """Return the replies of each model in the order of a seed, as a table of this problem."""
        table: dict[tuple[str, ...], tuple[str, ...]] = {}
        for model, replies in self.replies.items():
            order = list(replies)
            Random(f"{seed} {self.id} {model}").shuffle(order)
            table[self.id, model] = tuple(order)
        written = list(self.tests)
        Random(f"tests {seed} {self.id}").shuffle(written)
        lists = [json.dumps(written[at : at + ROUND]) for at in range(0, len(written), ROUND)]
        return table | ({(self.id, model, "tests"): tuple(lists) for model in self.replies} if lists else {})

    def checks(self) -> tuple[Mapping[str, Any], ...]:
        """Return the user's check as the loop takes it: it says of an answer what running it said when it was recorded."""
        if self.accepted is None:
            return ()
        one_of = "|".join(map(re.escape, self.accepted)) or "[^\\s\\S]"
        return ({"kind": "regex", "value": f"\\A(?:{one_of})\\z"},)


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedSet:
    """Questions of one set, and the models that answered them."""

    name: str
    kind: Literal["samples", "models"]
    """Many samples of one model; or one answer each of cheap models and a strong one."""
    questions: tuple[Question, ...]
    cheap: tuple[str, ...]
    """Models in the order asked; of `samples` the only one."""
    strong: str = ""
    cap: int = 1
    """Most samples of one question that are drawn."""
    note: str = ""
    """What a reader has to know."""

    @property
    def checkable(self) -> bool:
        """Whether an answer can be run."""
        return all(question.accepted is not None for question in self.questions)

    def sampled(self, most: int | None) -> "RecordedSet":
        """Return the set with at most so many questions, always the same ones."""
        if most is None or most >= len(self.questions):
            return self
        kept = sorted(Random(f"questions of {self.name}").sample(range(len(self.questions)), most))
        return replace(self, questions=tuple(self.questions[at] for at in kept))


def as_reply(answer: str | None) -> str:
    """Return the chat reply for a recorded answer: the object that our prompt asks for; prose where none could be read."""
    return "I cannot tell." if answer is None else json.dumps({"rationale": "", "answer": answer}, ensure_ascii=False)


def _cruxeval(data: Path, kind: str) -> RecordedSet:
    asks = {
        "input": "Give a call of f for which this holds: it returns {output}",
        "output": "Give the value of f({input})",
    }
    questions = []
    for record in records(data, "cruxeval_cl7b/samples"):
        samples, correct = record[f"{kind}_samples"], record[f"{kind}_correct"]
        verdicts = {text.strip(): bool(right) for text, right in zip(samples, correct, strict=True)}
        questions.append(
            Question(
                id=record["id"],
                task=f"{record['code']}\n\n{asks[kind].format(**record)}",
                replies={"codellama-7b": tuple(map(as_reply, samples))},
                verdicts=verdicts,
                accepted=_accepted(verdicts) if kind == "input" else None,
            )
        )
    return RecordedSet(
        name=f"cruxeval {kind}", kind="samples", questions=tuple(questions), cheap=("codellama-7b",), cap=10,
        note="temperature .2: samples hardly differ",
    )  # fmt: skip


def _game24(data: Path, kind: str) -> RecordedSet:
    questions = []
    for record in records(data, "tot_game24/game24"):
        texts = record[kind]["ys"]
        verdicts = {
            text.rpartition("Answer:")[2].strip(): bool(right)
            for text, right in zip(texts, record[kind]["r"], strict=True)
        }
        questions.append(
            Question(
                id=record["id"],
                task=f"Use each of {record['puzzle']} once, with + - * / and brackets, to make 24.",
                replies={"gpt-4": tuple(texts)},
                verdicts=verdicts,
                accepted=_accepted(verdicts),
            )
        )
    return RecordedSet(
        name=f"game24 {kind}", kind="samples", questions=tuple(questions), cheap=("gpt-4",), cap=20,
        note="the model's own texts; formulas are compared as text",
    )  # fmt: skip


def _codet(data: Path) -> RecordedSet:
    questions = []
    for record in records(data, "codet_humaneval/samples"):
        if record["gradable"]:
            programs = [f"{record['prompt']}{solution['code']}".strip() for solution in record["solutions"]]
            verdicts = {
                text: bool(solution["correct"]) for text, solution in zip(programs, record["solutions"], strict=True)
            }
            questions.append(
                Question(
                    id=record["id"],
                    task=f"Complete this program; the answer is the whole of it.\n\n{record['prompt']}",
                    replies={"codegen-16b": tuple(as_reply(programs[index]) for index in record["samples"])},
                    verdicts=verdicts,
                    tests=tuple(
                        test for test, n in zip(record["tests"], record["test_counts"], strict=True) for _ in range(n)
                    ),
                    passed={
                        text: _tests(record["tests"], int(solution["tests_passed"] or "0", 16))
                        for text, solution in zip(programs, record["solutions"], strict=True)
                    },
                )
            )
    return RecordedSet(
        name="codet humaneval", kind="samples", questions=tuple(questions), cheap=("codegen-16b",), cap=20,
        note="votes group programs by their text; only where it is said are generated tests run, by their recorded outcomes",
    )  # fmt: skip


def _zeroeval(data: Path, name: str) -> RecordedSet:
    cheap, strong = ("gpt-4o-mini-2024-07-18", "gemini-1.5-flash"), "o1-mini-2024-09-12"
    texts = {record["id"]: record["text"] for record in records(data, f"zeroeval/{name}.text")}
    questions = []
    for record in records(data, f"zeroeval/{name}"):
        models = record["models"]
        if not {*cheap, strong} <= models.keys():
            continue
        said = texts.get(record["id"], {})
        questions.append(
            Question(
                id=record["id"],
                task=record["question"],
                replies={model: (said.get(model) or as_reply(models[model][2]),) for model in (*cheap, strong)},
                verdicts=_by_key((answer, bool(right)) for right, _, answer in models.values()),
            )
        )
    return RecordedSet(
        name=f"zeroeval {name}", kind="models", questions=tuple(questions), cheap=cheap, strong=strong,
        note="gpt-4o-mini in its own words, the others by their parsed answers",
    )  # fmt: skip


def _mmlu_pro(data: Path, label: str, cheap: tuple[str, str], strong: str) -> RecordedSet:
    outcomes = {record["id"]: record for record in records(data, "mmlu_pro/outcomes")}
    questions = []
    for record in records(data, "mmlu_pro/questions"):
        models = outcomes[record["id"]]["models"]
        if not {*cheap, strong} <= models.keys():
            continue
        options = "\n".join(f"{chr(65 + at)}. {option}" for at, option in enumerate(record["options"]))
        questions.append(
            Question(
                id=record["id"],
                task=f"{record['question']}\n{options}",
                replies={model: (as_reply(models[model][1]),) for model in (*cheap, strong)},
                verdicts={letter: letter == record["gold"] for letter in "ABCDEFGHIJ"},
            )
        )
    return RecordedSet(name=f"mmlu_pro {label}", kind="models", questions=tuple(questions), cheap=cheap, strong=strong)


def _gsm8k(data: Path) -> RecordedSet:
    cheap, strong = ("6b_verification", "175b_finetuning"), "175b_verification"
    questions = []
    for record in records(data, "gsm8k_openai/solutions"):
        said = {sample["model"]: sample for sample in record["samples"]}
        questions.append(
            Question(
                id=record["id"],
                task=record["question"],
                replies={model: (_labelled(said[model]),) for model in (*cheap, strong)},
                verdicts=_by_key((sample["answer"], bool(sample["correct"])) for sample in record["samples"]),
            )
        )
    return RecordedSet(
        name="gsm8k_openai", kind="models", questions=tuple(questions), cheap=cheap, strong=strong,
        note="the models' own texts, their label `A:` written out as `Answer:`",
    )  # fmt: skip


def _planbench(data: Path, domain: str, cheap: str, strong: str) -> RecordedSet:
    questions = []
    for record in records(data, "planbench/plans"):
        plans = {model: _plan(record["samples"], model) for model in (cheap, strong)}
        if record["domain"] != domain or None in plans.values():
            continue
        said = {model: (str(plan[0]), bool(plan[1])) for model, plan in plans.items() if plan is not None}
        verdicts = {text.strip(): right for text, right in said.values()}
        questions.append(
            Question(
                id=record["id"],
                task=record["query"] or f"{domain} {record['id']}",
                replies={model: (as_reply(text),) for model, (text, _) in said.items()},
                verdicts=verdicts,
                accepted=_accepted(verdicts),
            )
        )
    return RecordedSet(
        name=f"planbench {domain}", kind="models", questions=tuple(questions), cheap=(cheap,), strong=strong,
        note="a plan can be run: the check's recorded verdicts",
    )  # fmt: skip


SETS: Mapping[str, Callable[[Path], RecordedSet]] = {
    "cruxeval-input": lambda data: _cruxeval(data, "input"),
    "cruxeval-output": lambda data: _cruxeval(data, "output"),
    "game24-io": lambda data: _game24(data, "io"),
    "game24-cot": lambda data: _game24(data, "cot"),
    "codet": _codet,
    "math-l5": lambda data: _zeroeval(data, "math-l5"),
    "crux": lambda data: _zeroeval(data, "crux"),
    "gsm": lambda data: _zeroeval(data, "gsm"),
    "mmlu-small": lambda data: _mmlu_pro(
        data, "small", ("Meta-Llama-3_1-8B-Instruct", "mathstral-7B"), "Meta-Llama-3_1-70B-Instruct"
    ),
    "mmlu-large": lambda data: _mmlu_pro(
        data, "large", ("gemini-1.5-flash-002", "jamba-1.5-large"), "gemini-1.5-pro-002"
    ),
    "gsm8k-openai": _gsm8k,
    "blocksworld": lambda data: _planbench(data, "blocksworld", "llama-3.1-405b", "o1-preview"),
    "mystery": lambda data: _planbench(data, "mystery_blocksworld", "o1-mini", "o1-preview"),
}
"""Name on the command line -> its reader, which raises `MissingDataError` where the record is not there."""


def _tests(tests: Sequence[str], mask: int) -> frozenset[str]:
    return frozenset(test for at, test in enumerate(tests) if mask >> at & 1)


def _accepted(verdicts: Verdicts) -> tuple[str, ...]:
    return tuple(text for text, right in verdicts.items() if right)


def _by_key(answers: Iterable[tuple[str | None, bool]]) -> dict[str, bool]:
    """Return verdicts by the text and by the key that groups answers; of two verdicts on one key the first holds."""
    found: dict[str, bool] = {}
    for answer, right in answers:
        if answer is not None:
            found.setdefault(answer.strip(), right)
            found.setdefault(vote_key(answer), right)
    return found


def _labelled(sample: Mapping[str, Any]) -> str:
    return re.sub(r"^A: ", "Answer: ", str(sample["text"]), flags=re.MULTILINE)


def _plan(samples: Sequence[Mapping[str, Any]], model: str) -> tuple[str, bool] | None:
    """Return text and validity of a model's plan, the zero-shot one where there is one; None where it has none."""
    ours = [sample for sample in samples if sample["model"] == model]
    if not ours:
        return None
    chosen = next((sample for sample in ours if sample["prompt"] == "zero_shot"), ours[0])
    plan = chosen["plan"]
    text = plan if isinstance(plan, str) else "\n".join(plan or ())
    return text.strip() or "no plan", bool(chosen["correct"])
