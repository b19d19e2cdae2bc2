"""Table `step-risk`: whether the risk of a step, known before it is executed, points to the steps that went wrong."""

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from statistics import median

from benchmarks.replay_data import Run, Trace, Turn, tau_bench, who_and_when
from benchmarks.selection.replays import RESAMPLES
from benchmarks.statistics import bootstrap_interval, mean, percentile
from benchmarks.table import Bar, Figure, Section
from booster.risk import READS, UNKNOWN, WRITES, scalar_values, step_risk, tool_call_risk

TOP = 0.2
"""Share of the steps that are looked at."""
RUNS_REFERENCE = {
    "with annotation": "1.00",
    "without": ".92",
    "random": ".17",
    "position": ".39",
    "argument length": ".79",
}
TRACES_REFERENCE = {
    "hand_crafted": {"longest step": ".53 [.37, .68]", "random": ".20", "early": ".26"},
    "algorithm_generated": {"longest step": ".35 [.25, .45]", "random": ".20", "early": ".30"},
}
TRACES_TARGET = {"hand_crafted": 0.45, "algorithm_generated": 0.30}
SHIPPED = "l, as shipped"

TurnScore = Callable[[Run, int], list[float]]
"""(run, seed) -> the risk of each turn."""
StepScore = Callable[[Trace, int], list[float]]


def step_tables(data: Path, seeds: int) -> list[Section]:
    """Return the table of an agent's turns and the one of multi-agent runs."""
    return [_turns(tau_bench(data), seeds), _steps(who_and_when(data), seeds)]


def run_risks(run: Run, *, annotated: bool) -> list[float]:
    """Return the shipped risk of each turn, from what was known before it."""
    risks, used, lengths = [], set[str](), list[int]()
    for index, turn in enumerate(run.turns):
        lengths.append(turn.characters)
        if turn.tool is None:
            risks.append(step_risk(characters=turn.characters, median=median(lengths), index=index))
            continue
        risks.append(
            tool_call_risk(
                write=(WRITES if turn.writes else READS) if annotated else UNKNOWN,
                values=scalar_values(turn.arguments),
                errors=turn.errors,
                first_use=turn.tool not in used,
                outside=turn.outside,
                index=index,
            )
        )
        used.add(turn.tool)
    return risks


def trace_risks(trace: Trace) -> list[float]:
    """Return the shipped risk of each message of a log without tool calls, its place included."""
    return [
        step_risk(characters=length, median=median(trace.lengths[: at + 1]), index=at)
        for at, length in enumerate(trace.lengths)
    ]


def _turns(runs: Sequence[Run], seeds: int) -> Section:
    arms: dict[str, TurnScore] = {
        "with annotation": lambda run, seed: run_risks(run, annotated=True),
        "without": lambda run, seed: run_risks(run, annotated=False),
        "argument length": lambda run, seed: [float(turn.characters) * (turn.tool is not None) for turn in run.turns],
        "position": lambda run, seed: [float(at) for at in range(len(run.turns))],
        "random": lambda run, seed: _noise(len(run.turns), f"{seed} {run.task}"),
    }
    rows, caught = [], {}
    for name, score in arms.items():
        found = [_caught(runs, score, seed) for seed in range(seeds if name == "random" else 1)]
        caught[name] = mean([share for share, _ in found])
        low, high = _clustered(runs, found[0][1])
        rows.append((name, f"{caught[name]:.2f} [{low:.2f}, {high:.2f}]", RUNS_REFERENCE[name]))
    figures = [
        Figure(name=f"step-risk: wrong writes among the top 20 % of turns, {name}", value=caught[name], unit="",
               bar=Bar(relation=">=", value=bar), note=f"reference {RUNS_REFERENCE[name]}")
        for name, bar in (("with annotation", 0.98), ("without", 0.85))
    ]  # fmt: skip
    turns = [turn for run in runs for turn in run.turns]
    title = (
        f"step-risk: tau_bench, {len(turns)} turns, {sum(t.writes for t in turns)} writes, "
        f"{sum(t.wrong_write for t in turns)} of them wrong; intervals over tasks"
    )
    return Section(
        title=title, header=("risk", "wrong writes in the top 20 % [95 %]", "reference"), rows=rows, figures=figures
    )


def _caught(runs: Sequence[Run], score: TurnScore, seed: int) -> tuple[float, dict[str, tuple[int, int]]]:
    """Return the share of the wrong writes among the riskiest turns of all runs, and (caught, wrong) of each task."""
    scored: list[tuple[float, str, Turn]] = []
    for run in runs:
        scored += [(risk, run.task, turn) for risk, turn in zip(score(run, seed), run.turns, strict=True)]
    scored.sort(key=lambda item: -item[0])
    top = int(TOP * len(scored))
    tasks: dict[str, tuple[int, int]] = {}
    for rank, (_, task, turn) in enumerate(scored):
        caught, wrong = tasks.get(task, (0, 0))
        tasks[task] = caught + (turn.wrong_write and rank < top), wrong + turn.wrong_write
    return sum(c for c, _ in tasks.values()) / sum(w for _, w in tasks.values()), tasks


def _clustered(runs: Sequence[Run], tasks: dict[str, tuple[int, int]]) -> tuple[float, float]:
    """Return the 95 % bootstrap interval over tasks: the four runs of one are no independent witnesses."""
    generator = Random("tasks")
    shares = []
    for _ in range(RESAMPLES):
        drawn = generator.choices(list(tasks.values()), k=len(tasks))
        if wrong := sum(w for _, w in drawn):
            shares.append(sum(c for c, _ in drawn) / wrong)
    return percentile(shares, 0.025), percentile(shares, 0.975)


def _steps(traces: Sequence[Trace], seeds: int) -> Section:
    arms: dict[str, StepScore] = {
        SHIPPED: lambda trace, seed: trace_risks(trace),
        "longest step": lambda trace, seed: [float(length) for length in trace.lengths],
        "early": lambda trace, seed: [-float(at) for at in range(len(trace.lengths))],
        "error word": lambda trace, seed: [
            10.0**6 * found - at for at, found in enumerate(trace.names_error)
        ],
        "random": lambda trace, seed: _noise(len(trace.lengths), f"{seed} {trace.id}"),
    }  # fmt: skip
    rows, figures = [], []
    for subset, bar in TRACES_TARGET.items():
        ours = [trace for trace in traces if trace.subset == subset]
        for name, score in arms.items():
            hits = [mean([_hit(trace, score(trace, seed)) for seed in range(seeds)]) for trace in ours]
            low, high = bootstrap_interval(hits, resamples=RESAMPLES)
            reference = TRACES_REFERENCE[subset].get(name, "")
            rows.append((f"{subset}: {name}", f"{mean(hits):.2f} [{low:.2f}, {high:.2f}]", reference))
            if name == SHIPPED:
                figures.append(
                    Figure(name=f"step-risk: decisive step in the top 20 %, {subset}", value=mean(hits), unit="",
                           bar=Bar(relation=">=", value=bar))
                )  # fmt: skip
    title = f"step-risk: who_and_when, {len(traces)} failed runs of several agents"
    return Section(
        title=title, header=("risk", "decisive step in the top 20 % [95 %]", "reference"), rows=rows, figures=figures
    )


def _hit(trace: Trace, risks: Sequence[float]) -> bool:
    top = max(1, round(TOP * len(risks)))
    return trace.decisive in sorted(range(len(risks)), key=lambda at: (-risks[at], at))[:top]


def _noise(count: int, seed: str) -> list[float]:
    generator = Random(seed)
    return [generator.random() for _ in range(count)]
