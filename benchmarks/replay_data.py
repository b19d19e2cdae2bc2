"""Readers of recorded model outputs: what a replayed policy may see, apart from what only the scorer may.

The records are read from the directory that `BOOSTER_BENCH_DATA` names, by default `../shared/data`; they are no part of this
repository. In every type below the fields named `right`, `gold`, `wrong_write` or `decisive` are the scorer's.
Above: the benchmarks. Below: gzip and JSON.
"""

import gzip
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verifier.answers import extract_answer, normal_form

VARIABLE = "BOOSTER_BENCH_DATA"
DEFAULT = Path("..") / "shared" / "data"


class MissingDataError(Exception):
    """A recorded set is not there; the text names the file and the variable that points to it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sampled:
    """One problem with many sampled answers of one model."""

    id: str
    keys: tuple[str | None, ...]
    """The answers as they are grouped; None = none could be read."""
    right: tuple[bool, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Programs:
    """One programming problem with many sampled programs and generated tests."""

    id: str
    samples: tuple[int, ...]
    """Index of the distinct program of each sample."""
    passed: tuple[int, ...]
    """For each distinct program, a bit mask over the tests."""
    test_counts: tuple[int, ...]
    """How often each distinct test was generated."""
    right: tuple[bool, ...]
    """For each distinct program."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """One question with one answer of each of several models."""

    id: str
    characters: int
    """Length of the question."""
    keys: Mapping[str, str | None]
    """Model -> its answer in the form that answers are compared by; None = none could be read."""
    right: Mapping[str, bool]


@dataclass(frozen=True, kw_only=True, slots=True)
class Puzzle:
    """One tree search over Game of 24: what was proposed and what the value calls said, depth by depth."""

    id: str
    depths: tuple["Depth", ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Depth:
    """The states proposed at one depth."""

    left: tuple[str | None, ...]
    """The numbers left over as written, one text a state; None = not stated."""
    calls: tuple[tuple[float, ...], ...]
    """The recorded value calls of each state, three each; empty for a text that was proposed before."""
    solvable: tuple[bool, ...]
    """24 can still be reached. The scorer's."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """One turn of an agent, with what was known before it."""

    arguments: Any
    """Arguments of its tool call; None where it calls no tool."""
    tool: str | None
    characters: int
    """Length of its text, or of the call's arguments."""
    writes: bool
    """By the tool's annotation."""
    errors: int
    """Tool errors before it."""
    outside: bool
    """It follows input of the user."""
    wrong_write: bool
    """The scorer's."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One run of an agent."""

    task: str
    turns: tuple[Turn, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Trace:
    """One failed run of several agents."""

    id: str
    subset: str
    lengths: tuple[int, ...]
    """Characters of each message."""
    names_error: tuple[bool, ...]
    """A word for an error occurs in the message: the baseline that needs a word list."""
    decisive: int
    """Index of the step that decided the failure. The scorer's."""


def data_directory(environ: Mapping[str, str] | None = None) -> Path:
    """Return where the recorded sets are, whether or not they exist."""
    return Path((os.environ if environ is None else environ).get(VARIABLE) or DEFAULT)


def cruxeval(data: Path, kind: str) -> list[Sampled]:
    """Return the samples of CodeLlama-7B on CRUXEval; `kind` is `input` or `output`."""
    return [
        Sampled(
            id=record["id"],
            keys=tuple(map(_key, record[f"{kind}_samples"])),
            right=tuple(map(bool, record[f"{kind}_correct"])),
        )
        for record in records(data, "cruxeval_cl7b/samples")
    ]


def game24(data: Path, kind: str) -> list[Sampled]:
    """Return the samples of GPT-4 on Game of 24; `kind` is `io` or `cot`. Answers are formulas, compared as text."""
    return [
        Sampled(
            id=record["id"],
            keys=tuple(_key(extract_answer(text)) for text in record[kind]["ys"]),
            right=tuple(map(bool, record[kind]["r"])),
        )
        for record in records(data, "tot_game24/game24")
    ]


def programs(data: Path) -> list[Programs]:
    """Return the gradable problems of the CodeT record: 100 programs each of CodeGen-16B on HumanEval."""
    return [
        Programs(
            id=record["id"],
            samples=tuple(record["samples"]),
            passed=tuple(int(solution["tests_passed"] or "0", 16) for solution in record["solutions"]),
            test_counts=tuple(record["test_counts"]),
            right=tuple(bool(solution["correct"]) for solution in record["solutions"]),
        )
        for record in records(data, "codet_humaneval/samples")
        if record["gradable"]
    ]


def zeroeval(data: Path, name: str) -> list[Answered]:
    """Return one set of ZeroEval: `gsm`, `math-l5` or `crux`; answers compare by their normal form."""
    return [
        Answered(
            id=record["id"],
            characters=len(record["question"]),
            keys={model: _key(answer) for model, (_, _, answer) in record["models"].items()},
            right={model: bool(right) for model, (right, _, _) in record["models"].items()},
        )
        for record in records(data, f"zeroeval/{name}")
    ]


def mmlu_pro(data: Path) -> list[Answered]:
    """Return MMLU-Pro; answers are letters."""
    lengths = {
        record["id"]: len(record["question"]) + sum(map(len, record["options"]))
        for record in records(data, "mmlu_pro/questions")
    }
    return [
        Answered(
            id=record["id"],
            characters=lengths[record["id"]],
            keys={model: letter for model, (_, letter, _) in record["models"].items()},
            right={model: bool(right) for model, (right, _, _) in record["models"].items()},
        )
        for record in records(data, "mmlu_pro/outcomes")
    ]


def planbench(data: Path, domain: str, cheap: str, strong: str) -> list[tuple[bool, bool]]:
    """Return (cheap plan is valid, strong plan is valid) of every instance of a domain that both models were given.

    Of a model's prompts the zero-shot one counts, else its first.
    """
    pairs = []
    for record in records(data, "planbench/plans"):
        if record["domain"] == domain:
            found = [_plan(record["samples"], model) for model in (cheap, strong)]
            if None not in found:
                pairs.append((bool(found[0]), bool(found[1])))
    return pairs


def game24_trees(data: Path, reaches: Callable[[str], bool]) -> list[Puzzle]:
    """Return the recorded tree searches; `reaches` tells the scorer which left-over numbers still reach 24.

    A state that states more or fewer numbers than its depth leaves has gone wrong and is not solvable.
    """
    puzzles = []
    for record in records(data, "tot_game24/game24"):
        depths = []
        for depth, step in enumerate(record["tot"]["steps"][:3]):
            left = tuple(map(left_over, step["new_ys"]))
            first = [text not in step["new_ys"][:at] for at, text in enumerate(step["new_ys"])]
            depths.append(
                Depth(
                    left=left,
                    calls=tuple(
                        value_calls(value) if new else () for value, new in zip(step["values"], first, strict=True)
                    ),
                    solvable=tuple(
                        text is not None and len(text.split()) == 3 - depth and reaches(text) for text in left
                    ),
                )
            )
        puzzles.append(Puzzle(id=record["id"], depths=tuple(depths)))
    return puzzles


def left_over(path: str) -> str | None:
    """Return the numbers left over after the last line of a path, as written."""
    line = path.rstrip("\n").rpartition("\n")[2]
    _, found, rest = line.partition("(left:")
    return rest.partition(")")[0].strip() if found else None


def value_calls(total: float) -> tuple[float, ...]:
    """Return the three calls behind a recorded sum: 20 = sure, 1 = likely, .001 = impossible; 0 = said nothing."""
    sure, rest = divmod(round(total * 1000), 20_000)
    likely, impossible = divmod(rest, 1000)
    calls = [20.0] * sure + [1.0] * likely + [0.001] * impossible
    return tuple(calls + [0.0] * (3 - len(calls)))[:3]


def tau_bench(data: Path) -> list[Run]:
    """Return the runs of gpt-4o on the airline tasks of tau-bench, turn by turn."""
    return [Run(task=record["id"], turns=tuple(_turns(record))) for record in records(data, "tau_bench/airline_gpt4o")]


def who_and_when(data: Path) -> list[Trace]:
    """Return the failed multi-agent runs with the step that decided each."""
    return [
        Trace(
            id=record["id"],
            subset=record["subset"],
            lengths=tuple(len(message["content"]) for message in record["history"]),
            names_error=tuple("error" in message["content"].casefold() for message in record["history"]),
            decisive=record["mistake_step"],
        )
        for record in records(data, "who_and_when/traces")
    ]


_CHANGES_NOTHING = frozenset({"transfer_to_human_agents"})
"""Marked as a write in the record, though it leaves the database as it is."""


def _turns(record: dict[str, Any]) -> Iterator[Turn]:
    gold = [(action["name"], action["kwargs"]) for action in record["gold_actions"]]
    steps, errors = record["steps"], 0
    for at, step in enumerate(steps):
        if step["role"] == "tool":
            errors += _is_error(step)
        if step["role"] != "assistant":
            continue
        call = next(iter(step.get("tool_calls") or ()), None)
        arguments = _arguments(call["arguments"]) if call else None
        failed = at + 1 < len(steps) and _is_error(steps[at + 1])
        writes = bool(step.get("is_write") and call and call["name"] not in _CHANGES_NOTHING)
        yield Turn(
            arguments=arguments,
            tool=call["name"] if call else None,
            characters=len(call["arguments"]) if call else len(step.get("content") or ""),
            writes=writes,
            errors=errors,
            outside=at == 0 or steps[at - 1]["role"] == "user",
            wrong_write=bool(writes and call and not failed and (call["name"], arguments) not in gold),
        )


def _is_error(step: Mapping[str, Any]) -> bool:
    return step["role"] == "tool" and str(step.get("content")).lstrip().startswith("Error")


def _arguments(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _plan(samples: list[dict[str, Any]], model: str) -> bool | None:
    ours = [sample for sample in samples if sample["model"] == model]
    if not ours:
        return None
    return bool(next((sample for sample in ours if sample["prompt"] == "zero_shot"), ours[0])["correct"])


def _key(answer: str | None) -> str | None:
    return None if answer is None or not answer.strip() else normal_form(answer)


def records(data: Path, name: str) -> Iterator[dict[str, Any]]:
    """Yield the records of one file of a set, as published.

    Raises:
        MissingDataError: it is not there.
    """
    path = data / f"{name}.dev.jsonl.gz"
    if not path.is_file():
        raise MissingDataError(f"{path} is not there; {VARIABLE} names the directory of the recorded sets")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
