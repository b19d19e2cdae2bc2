"""Table `cascade`: what the learnt rule costs, beside fixed rules, prompt length and the oracle."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

from benchmarks.replay_data import planbench
from benchmarks.selection.cascade import (
    STRONG,
    VERIFIED,
    WRONG,
    Pair,
    Policy,
    Spent,
    agree,
    always_cheap,
    always_strong,
    escalate_share,
    learnt,
    oracle,
    pairs,
    share_of_five,
)
from benchmarks.selection.replays import RESAMPLES
from benchmarks.selection.routing import Point, apgr, cost_for, curve, require_companions, strong_for
from benchmarks.statistics import mean, percentile
from benchmarks.table import Bar, Figure, Section
from booster.cascade import Prices, decide
from booster.cascade_state import CascadeState

HINDSIGHT = ("always cheap", "always strong", "two agree")
"""The fixed rules of which the cheapest, chosen in hindsight, is what every cost is divided by."""
LEARNT = "learnt"
TARGET = 1.10
REFERENCE = {
    LEARNT: "1.075",
    "learnt, no outcomes": "1.120",
    "two agree": "1.171",
    "always cheap": "1.334",
    "always strong": "1.918",
}
FIXED: Mapping[str, Policy] = {
    "always cheap": always_cheap,
    "always strong": always_strong,
    "two agree": agree(2),
    "three agree": agree(3),
    "share of 5 >= .6": share_of_five(0.6),
    "share of 5 >= .8": share_of_five(0.8),
    "oracle": oracle,
}
STEPS = 20
"""Points of the curve of a ranking."""
SWEEP_SEEDS = 5

Cells = Mapping[str, Mapping[float, list[float]]]
"""Rule -> price of a wrong answer -> cost of each question."""


def cascade_tables(data: Path, seeds: int) -> list[Section]:
    """Return the table of costs, one table of curves a pair, the sweep over prices, and escalation by a check."""
    found = pairs(data)
    costs = {pair.name: _costs(pair, seeds) for pair in found}
    return [
        _cost_table(costs, seeds),
        *(_curve_table(pair, min(seeds, SWEEP_SEEDS)) for pair in found),
        _sweep(found, min(seeds, SWEEP_SEEDS)),
        _verified(data),
    ]


def _costs(pair: Pair, seeds: int) -> Cells:
    """Return the mean cost of every question under every rule of the cost table."""
    cells: dict[str, dict[float, list[float]]] = {}
    for name, policy in FIXED.items():
        spent = policy(pair, (), 0)
        cells[name] = {wrong: [one.cost(STRONG, wrong) for one in spent] for wrong in WRONG}
    for name, verified in ((LEARNT, VERIFIED), ("learnt, no outcomes", 0.0)):
        cells[name] = {
            wrong: _mean_cost(_runs(learnt(wrong, verified=verified), pair, seeds), STRONG, wrong) for wrong in WRONG
        }
    return cells


def _cost_table(costs: Mapping[str, Cells], seeds: int) -> Section:
    rules = list(next(iter(costs.values())))
    everything = {(pair, wrong): None for pair in costs for wrong in WRONG}
    rows = [
        (rule, *(f"{_mean_ratio(costs, rule, (pair,), WRONG):.3f}" for pair in costs),
         *(f"{_mean_ratio(costs, rule, costs, (wrong,)):.3f}" for wrong in WRONG),
         f"{_mean_ratio(costs, rule, costs, WRONG):.3f}", REFERENCE.get(rule, ""))
        for rule in rules
    ]  # fmt: skip
    low, high = _interval(costs, LEARNT)
    worst = max(everything, key=lambda cell: _mean_ratio(costs, LEARNT, (cell[0],), (cell[1],)))
    figures = [
        Figure(
            name="cascade: cost over the best of cheap, strong and two agree in hindsight",
            value=_mean_ratio(costs, LEARNT, costs, WRONG),
            unit="",
            bar=Bar(relation="<=", value=TARGET),
            note=f"reference {REFERENCE[LEARNT]}; [{low:.3f}, {high:.3f}] over problems",
        ),
        Figure(
            name="cascade: worst single pair and price",
            value=_mean_ratio(costs, LEARNT, (worst[0],), (worst[1],)),
            unit="",
            note=f"{worst[0]} at {worst[1]}: at one known price a hand-chosen number of agreements can beat the rule",
        ),
    ]
    title = f"cascade: mean cost ratio, cheap : strong = 1 : {STRONG}, by pair and by the price of a wrong answer, {seeds} orders"
    header = ("rule", *costs, *(f"wrong {wrong}" for wrong in WRONG), "mean", "reference")
    return Section(title=title, header=header, rows=rows, figures=figures)


def _ratio(cells: Cells, rule: str, wrong: float, at: Sequence[int] | None = None) -> float:
    def total(name: str) -> float:
        cost = cells[name][wrong]
        return sum(cost) if at is None else sum(map(cost.__getitem__, at))

    return total(rule) / min(map(total, HINDSIGHT))


def _mean_ratio(
    costs: Mapping[str, Cells], rule: str, names: Sequence[str] | Mapping[str, Cells], wrongs: Sequence[float]
) -> float:
    return mean([_ratio(costs[name], rule, wrong) for name in names for wrong in wrongs])


def _interval(costs: Mapping[str, Cells], rule: str) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the mean ratio, over the problems of every pair, the same for all rules."""
    generator = Random("cascade")
    drawn = []
    for _ in range(RESAMPLES // 4):
        ratios = []
        for cells in costs.values():
            count = len(cells[rule][WRONG[0]])
            at = generator.choices(range(count), k=count)
            ratios += [_ratio(cells, rule, wrong, at) for wrong in WRONG]
        drawn.append(mean(ratios))
    return percentile(drawn, 0.025), percentile(drawn, 0.975)


def _curve_table(pair: Pair, seeds: int) -> Section:
    lines = _lines(pair, seeds)
    rows = []
    for name, points in lines.items():
        line = curve(points, STRONG)
        shown = points[0] if len(points) == 1 else None
        rows.append(
            (
                name,
                _percent(_right(pair, shown)) if shown else "",
                _percent(shown.strong) if shown else "",
                f"{apgr(line):.3f}",
                *(_percent(strong_for(line, share)) for share in (0.5, 0.8)),
                *("-" if (cost := cost_for(line, share)) is None else f"{cost:.1f}" for share in (0.5, 0.8, 0.95)),
            )
        )
    require_companions([row[0] for row in rows])
    title = f"cascade: {pair.name}, {len(pair.questions)} questions, {pair.cheap[0]} + {pair.cheap[1]} -> {pair.strong}"
    header = ("rule", "right %", "strong %", "APGR", "CPT50 %", "CPT80 %", "cost at 50 %", "80 %", "95 % of the gap")
    return Section(title=title, header=header, rows=rows)


def _lines(pair: Pair, seeds: int) -> dict[str, list[Point]]:
    """Return the points that each rule can be run at; rules with a knob have many."""
    by_length = sorted(range(len(pair.questions)), key=lambda at: -pair.questions[at].characters)
    lines = {name: [_point(pair, policy(pair, (), 0))] for name, policy in FIXED.items() if name != "oracle"}
    lines["random mixture"] = []
    lines["prompt length"] = [_point(pair, escalate_share(pair, by_length, step / STEPS)) for step in range(1, STEPS)]
    lines["oracle"] = [
        _point(pair, escalate_share(pair, _oracle_order(pair), step / STEPS)) for step in range(1, STEPS)
    ]
    lines[f"{LEARNT}, wrong {WRONG[0]} to {WRONG[-1]}"] = [
        _point(pair, [one for run in _runs(learnt(wrong), pair, seeds) for one in run]) for wrong in WRONG
    ]
    return lines


def _oracle_order(pair: Pair) -> list[int]:
    """Questions by what the strong model gains: never known beforehand."""

    def gain(at: int) -> int:
        right = pair.questions[at].right
        return right[pair.strong] - right[pair.cheap[0]]

    return sorted(range(len(pair.questions)), key=lambda at: -gain(at))


def _point(pair: Pair, spent: Sequence[Spent]) -> Point:
    cheap, strong = _ends(pair)
    return Point(
        strong=mean([one.strong for one in spent]),
        recovered=(mean([one.right for one in spent]) - cheap) / (strong - cheap),
        cost=mean([one.cost(STRONG, 0) for one in spent]),
    )


def _right(pair: Pair, point: Point) -> float:
    cheap, strong = _ends(pair)
    return cheap + point.recovered * (strong - cheap)


def _ends(pair: Pair) -> tuple[float, float]:
    return tuple(mean([q.right[model] for q in pair.questions]) for model in (pair.cheap[0], pair.strong))  # type: ignore[return-value]


def _sweep(found: Sequence[Pair], seeds: int) -> Section:
    """At which prices more cheap answers pay; a wrong answer costs as many strong calls as in the main table."""
    rows = []
    for strong in (5, STRONG, 100):
        wrongs = [wrong / STRONG * strong for wrong in WRONG]
        ratios: dict[str, list[float]] = {}
        for pair in found:
            fixed = {name: FIXED[name](pair, (), 0) for name in (*HINDSIGHT, "three agree")}
            for wrong in wrongs:
                totals = {name: sum(one.cost(strong, wrong) for one in spent) for name, spent in fixed.items()}
                for kmax in (2, 3):
                    runs = _runs(learnt(wrong, strong, kmax), pair, seeds)
                    totals[f"{LEARNT}, at most {kmax}"] = sum(_mean_cost(runs, strong, wrong))
                best = min(totals[name] for name in HINDSIGHT)
                for name, total in totals.items():
                    ratios.setdefault(name, []).append(total / best)
        rows.append((f"1 : {strong}", *(f"{mean(values):.3f}" for values in ratios.values())))
    header = ("cheap : strong", *ratios)
    return Section(
        title=f"cascade: mean cost ratio by price of the strong model, {seeds} orders", header=header, rows=rows
    )


def _verified(data: Path) -> Section:
    """Escalation by an executable check instead of agreement: the plan of the cheap model is valid or it is not."""
    rows = []
    price = Prices(cheap=1, strong=STRONG, wrong=5 * STRONG)
    for domain, cheap, strong in (
        ("blocksworld", "llama-3.1-405b", "o1-preview"),
        ("mystery_blocksworld", "llama-3.1-405b", "o1-preview"),
        ("mystery_blocksworld", "o1-mini", "o1-preview"),
    ):
        plans = planbench(data, domain, cheap, strong)
        asked = [decide(["plan"], CascadeState(), price, check=valid).action == "escalate" for valid, _ in plans]
        right = [other if asks else valid for asks, (valid, other) in zip(asked, plans, strict=True)]
        rows.append(
            (f"{domain}: {cheap} -> {strong}", str(len(plans)), _percent(mean([a for a, _ in plans])),
             _percent(mean([b for _, b in plans])), _percent(mean(right)), _percent(mean(asked)),
             _percent(mean([a or b for a, b in plans])))
        )  # fmt: skip
    header = ("escalation by a check", "n", "cheap %", "strong %", "right %", "strong calls %", "oracle %")
    return Section(title="cascade: where the cheap answer can be checked", header=header, rows=rows)


def _runs(policy: Policy, pair: Pair, seeds: int) -> list[list[Spent]]:
    runs = []
    for seed in range(seeds):
        order = list(range(len(pair.questions)))
        Random(f"questions {seed} {pair.name}").shuffle(order)
        runs.append(policy(pair, order, seed))
    return runs


def _mean_cost(runs: Sequence[Sequence[Spent]], strong: float, wrong: float) -> list[float]:
    return [mean([one.cost(strong, wrong) for one in ones]) for ones in zip(*runs, strict=True)]


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"
