"""The results as one Markdown page. A table without the trivial arms and the Bayes bounds is refused."""

from collections.abc import Sequence
from statistics import mean, stdev

from benchmarks.scheduler import latency, load
from benchmarks.scheduler.metrics import paired
from benchmarks.scheduler.published import (
    DEEP,
    STEPS,
    TASKS,
    published_stream,
    run_auction_bid,
    run_auction_threshold,
    run_rule,
)
from benchmarks.scheduler.questions import Answer
from benchmarks.scheduler.targets import CEILINGS, UNCAPTURED, Results, Target

REQUIRED = ("always-s1", "always-s2", "bayes-filter", "knows-regime")
"""Arms without which no comparison is shown."""
RIVALS = (
    "static",
    "router",
    "router-1.0",
    "logistic-forgetting",
    "logistic-reset",
    "auction-bid",
    "auction-threshold",
)
SIMPLE = ("always-s1", "static", "router", "router-1.0", "logistic-forgetting", "logistic-reset")
"""Arms that a reader may prefer for their simplicity."""


def table(header: Sequence[str], body: Sequence[Sequence[str]], *, arms: Sequence[str]) -> str:
    """Return a Markdown table that compares arms.

    Raises:
        ValueError: One of `REQUIRED` is missing among the arms.
    """
    missing = [arm for arm in REQUIRED if arm not in arms]
    if missing:
        raise ValueError(f"a comparison without {', '.join(missing)} is not shown")
    return _plain_table(header, body)


def _plain_table(header: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def page(
    results: Results,
    ablations: Results,
    targets: Sequence[Target],
    answers: Sequence[Answer],
    seed53: tuple[Sequence[dict[str, float]], Sequence[dict[str, float]]],
    *,
    seeds: int,
) -> str:
    """Return the whole page."""
    introduction = (
        f"Written by `python -m benchmarks.scheduler`; {seeds} seeds unless said otherwise. Regret is cost above an oracle "
        "that knows which steps are critical. Costs and misses are by the truth, never by what the arm was told. "
        "`bayes-filter` knows the rules and infers which one is at work from the truth of every step; `knows-regime` "
        "knows that too: no learner can be expected below them.\n"
    )
    parts = [
        "# Results of the scheduler benchmark\n",
        introduction,
        "## Targets\n",
        _plain_table(
            ["target", "measured", "wanted", "met"],
            [[t.name, t.measured, t.wanted, "yes" if t.met else "**no**"] for t in targets],
        ),
        "## The published stream\n",
        _published(results),
        "## Regret per environment (mean ± sample sd over the seeds)\n",
        _regrets(results),
        "## Capture: share of the possible gain over the best trivial arm\n",
        _captures(results),
        "## The default policy against each rival, seed by seed\n",
        "Mean difference in regret (negative: the default policy is better), t, and wins.\n",
        _paired(results),
        "## Where a simple rival is better\n",
        _honest(results),
        "## Ranking quality (APGR / CPT50 / CPT80; random = .50 / .50 / .80)\n",
        _ranking(results),
        "## The mid-task reversal with a budget: accuracy after the flip, %\n",
        _seed53(*seed53),
        "## Ablations: mean regret\n",
        _ablations(results, ablations),
        "## Three questions\n",
        _plain_table(
            ["question", "policy", "measured", "passed"],
            [[a.question, a.policy, a.numbers, "yes" if a.passed else "**no**"] for a in answers],
        ),
        "## Latency\n",
        _latency(),
    ]
    return "\n".join(parts)


def _published(results: Results) -> str:
    tasks = published_stream()
    first = {arm: results.of("seed51", arm)[0] for arm in ("bayes-filter", "knows-regime", "regime", "logistic-reset")}
    exact = {
        "always-s2": run_rule(tasks, lambda task, step: True),
        "static (hint >= .6)": run_rule(tasks, lambda task, step: step.hint >= 0.6),
        "auction-bid": run_auction_bid(tasks),
        "always-s1": run_rule(tasks, lambda task, step: False),
        "auction-threshold": run_auction_threshold(tasks),
    }
    rows = [(name, float(row.cost), row.mishandled, row.over_thinking) for name, row in exact.items()]
    rows += [(name, row.cost, row.mishandled, row.over_thinking) for name, row in first.items()]
    rows.append(("oracle", results.of("seed51", "oracle")[0].cost, 0, 0))
    top = DEEP * TASKS * STEPS
    body = [
        [name, f"{cost:.0f}", f"{100 * (1 - cost / top):.1f} %", str(missed), str(over)]
        for name, cost, missed, over in rows
    ]
    header = ["arm", "cost", "saved against always-s2", "mishandled", "over-thinking"]
    return table(header, body, arms=[row[0] for row in rows])


def _regrets(results: Results) -> str:
    arms = [*REQUIRED, *RIVALS, "regime"]
    body = [
        [family, *(_mean_sd(results.values(family, arm)) for arm in arms), str(CEILINGS.get(family, ""))]
        for family in results.families
    ]
    return table(["environment", *arms, "ceiling of regime"], body, arms=arms)


def _captures(results: Results) -> str:
    arms = [*REQUIRED, *RIVALS, "regime"]
    shown = [family for family in results.families if family not in UNCAPTURED]
    body = [[family, *(f"{100 * results.capture(family, arm):.0f} %" for arm in arms)] for family in shown]
    body.append(["**median**", *(f"**{100 * results.median_capture(arm):.1f} %**" for arm in arms)])
    return table(["environment", *arms], body, arms=arms)


def _paired(results: Results) -> str:
    arms = [*REQUIRED, *RIVALS]
    body = []
    for family in results.families:
        cells = []
        for arm in arms:
            versus = paired(results.values(family, "regime"), results.values(family, arm))
            cells.append(f"{versus.mean:+.0f} (t {versus.t:.1f}, {versus.wins}/{versus.n})")
        body.append([family, *cells])
    return table(["environment", *arms], body, arms=arms)


def _honest(results: Results) -> str:
    lines = []
    for family in results.families:
        for arm in SIMPLE:
            versus = paired(results.values(family, "regime"), results.values(family, arm))
            if versus.mean > 0:
                noise = "beyond noise" if versus.p < 0.05 else "within noise"
                lines.append(f"- {family}: {arm} has {versus.mean:.1f} less regret (p = {versus.p:.2g}, {noise})")
    return "\n".join(lines or ["Nowhere in these environments."]) + "\n"


def _ranking(results: Results) -> str:
    arms = [*REQUIRED, *RIVALS, "regime"]
    body = []
    for family in results.families:
        cells = []
        for arm in arms:
            rows = results.of(family, arm)
            parts = (mean(r.apgr for r in rows), mean(r.cpt50 for r in rows), mean(r.cpt80 for r in rows))
            cells.append(" / ".join(f"{part:.3f}"[1:] if part < 1 else f"{part:.2f}" for part in parts))
        body.append([family, *cells])
    return table(["environment", *arms], body, arms=arms)


def _seed53(published: Sequence[dict[str, float]], same_luck: Sequence[dict[str, float]]) -> str:
    body = [[name, _mean_sd([result[name] for result in published]), ""] for name in published[0]]
    for name in same_luck[0]:
        value = _mean_sd([result[name] for result in same_luck])
        known = next((line for line in body if line[0] == name), None)
        if known:
            known[2] = value
        else:
            body.append([name, "", value])
    versus = paired([r["auction-threshold"] for r in published], [r["router-online"] for r in published])
    words = (
        f"\nAs published, auction-threshold leads router-online by {versus.mean:.1f} points, d = {abs(versus.effect):.2f}, "
        f"{100 * (versus.n - versus.wins) / versus.n:.0f} % wins; t({versus.n - 1}) = {versus.t:.2f} gives p = "
        f"{versus.p:.1e}, where the published p = 7.5e-15 took the normal distribution for the t distribution. "
        "`never-critical` and `always-critical` are the always-System-1 and always-System-2 of this experiment.\n"
    )
    return _plain_table(["arm", "as published (one generator in turn)", "every arm with the same luck"], body) + words


def _ablations(results: Results, ablations: Results) -> str:
    n = len(ablations.of(ablations.families[0], ablations.arms[0]))
    arms = [*REQUIRED, "regime", *ablations.arms]
    body = []
    for family in ablations.families:
        cells = [f"{mean(results.values(family, arm)[:n]):.0f}" for arm in [*REQUIRED, "regime"]]
        cells += [f"{ablations.mean(family, arm):.0f}" for arm in ablations.arms]
        body.append([family, *cells])
    return f"Seeds 0 to {n - 1}.\n\n" + table(["environment", *arms], body, arms=arms)


def _latency() -> str:
    plain = latency.plain_call()
    body = []
    for regimes in (1, 3, 6):
        m = latency.measure(regimes)
        body.append(
            [str(m.regimes), str(m.challengers), f"{m.decide:.0f}", f"{m.report:.0f}", f"{m.decide / plain:.0f}x"]
        )
    words = f"Medians in microseconds on {latency.machine()}; a plain function call takes {plain:.3f}.\n\n"
    heavy = load.measure()
    more = (
        f"\nThrough an in-process MCP session with a file store, `decide_step` takes {heavy.p50_ms:.1f} ms (median) and "
        f"{heavy.p99_ms:.1f} ms (p99, wanted < {load.P99_LIMIT_MS:.0f}); {load.SESSIONS} sessions, each with a library of its "
        f"own, take {heavy.memory_mb:.0f} MB (wanted < {load.MEMORY_LIMIT_MB:.0f}).\n"
    )
    return words + _plain_table(["regimes", "challengers", "decide", "report", "decide / plain call"], body) + more


def _mean_sd(values: Sequence[float]) -> str:
    return f"{mean(values):.1f} ± {stdev(values):.1f}"
