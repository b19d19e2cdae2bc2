"""The tables of the decision rules, on made-up records."""

import ast
import gzip
import json
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.replay_data import Answered, Sampled
from benchmarks.selection import beam, confidence, programs, steps
from benchmarks.selection.cascade import (
    Pair,
    Spent,
    agree,
    always_cheap,
    always_strong,
    escalate_share,
    learnt,
    oracle,
    share_of_five,
)
from benchmarks.selection.judges import shift
from benchmarks.selection.replays import beats, by_beta, by_lead, draw, even_waves, fixed, orders
from benchmarks.selection.routing import REQUIRED, Point, apgr, cost_for, curve, require_companions, strong_for
from benchmarks.selection.run import TABLES, measure, report
from benchmarks.table import Bar, Figure, Section

ROOT = Path(__file__).parents[2]
RULES = [
    *(f"verifier/{name}.py" for name in "consensus calibration combine behaviour opinion process_reward".split()),
    *(f"booster/{name}.py" for name in "cascade cascade_state risk".split()),
]


def sampled(answers: str, right: str) -> Sampled:
    return Sampled(
        id=answers, keys=tuple(None if a == "-" else a for a in answers), right=tuple(a == right for a in answers)
    )


def pair(*rows: tuple[str, bool]) -> Pair:
    """Each row: the answers of five cheap models and the strong one, and whether the strong one is right.

    A cheap answer is right where it equals a right strong one.
    """
    models = ("c1", "c2", "c3", "c4", "c5", "s")
    return Pair(
        name="pair",
        cheap=models[:5],
        strong="s",
        questions=tuple(
            Answered(
                id=str(at),
                characters=at,
                keys=dict(zip(models, (None if a == "-" else a for a in answers), strict=True)),
                right={model: (a == answers[5]) == right for model, a in zip(models, answers, strict=True)},
            )
            for at, (answers, right) in enumerate(rows)
        ),
    )


def test_samples_are_drawn_in_waves_until_the_rule_says_stop() -> None:
    problem = sampled("ababaaab", "a")

    drawn = draw(problem, range(8), 8, by_lead(3, 4))

    assert (drawn.samples, drawn.rounds, drawn.votes, drawn.runner_up, drawn.right) == (7, 2, 5, 2, True)


@pytest.mark.parametrize(
    ("rule", "samples"),
    [(fixed(5), 5), (by_lead(3, 1), 3), (even_waves(3, 4), 4), (by_beta(0.9), 3), (by_beta(0.95), 4)],
)
def test_every_rule_stops_where_all_agree(rule: Any, samples: int) -> None:
    assert draw(sampled("a" * 20, "a"), range(20), 20, rule).samples == samples


def test_nothing_is_right_where_all_abstain() -> None:
    drawn = draw(sampled("-----", "-"), range(5), 5, by_lead(3, 1))

    assert (drawn.samples, drawn.votes, drawn.right) == (5, 0, False)


def test_every_rule_sees_the_same_orders() -> None:
    problem = sampled("abcdefgh", "a")

    assert list(orders(problem, 3)) == list(orders(problem, 3))
    assert all(sorted(order) == list(range(8)) for order in orders(problem, 3))


@pytest.mark.parametrize(("v1", "v2", "p"), [(0, 0, 0.5), (1, 0, 0.75), (3, 3, 0.5), (4, 0, 31 / 32)])
def test_the_posterior_of_adaptive_consistency_is_exact(v1: int, v2: int, p: float) -> None:
    assert beats(v1, v2) == p


def test_a_confidence_is_predicted_before_its_label_is_seen() -> None:
    """The tenth label makes the eleventh prediction the first that is learnt."""
    run = [draw(sampled("aaa", "b"), range(3), 3, fixed(3))] * 12

    predicted = [p for p, _ in confidence.learnt(1.0)(run, 0)]

    assert predicted[:10] == [0.75] * 10
    assert predicted[11] < predicted[10] < 0.5


def test_fixed_rules_call_what_their_names_say() -> None:
    one = pair(("aaaaaa", True), ("aabbba", True), ("abbbbb", True), ("-bbbbb", True))

    assert always_cheap(one, (), 0)[2] == Spent(1, 0, False)
    assert always_strong(one, (), 0)[2] == Spent(0, 1, True)
    assert agree(2)(one, (), 0) == [Spent(2, 0, True), Spent(2, 0, True), Spent(2, 1, True), Spent(1, 1, True)]
    assert agree(3)(one, (), 0)[1] == Spent(3, 1, True)
    assert [s.strong for s in share_of_five(0.6)(one, (), 0)] == [0, 0, 0, 0]
    assert [s.strong for s in share_of_five(0.8)(one, (), 0)] == [0, 1, 0, 0]
    assert [s.strong for s in oracle(one, (), 0)] == [0, 0, 1, 1]
    assert [s.strong for s in escalate_share(one, [3, 2, 1, 0], 0.5)] == [0, 0, 1, 1]


def test_a_cost_is_calls_and_mistakes() -> None:
    assert Spent(2, 1, False).cost(strong=20, wrong=100) == 122


def test_the_learnt_rule_asks_the_strong_model_where_mistakes_are_dear_and_not_where_they_are_free() -> None:
    questions = pair(*[("aaaaab", True)] * 40)
    order = list(range(40))

    dear, free = learnt(10_000)(questions, order, 0), learnt(0)(questions, order, 0)

    assert all(one.strong for one in dear)
    assert sum(one.strong for one in free) == 0


def test_the_learnt_rule_comes_to_trust_cheap_answers_that_the_strong_model_confirms() -> None:
    questions = pair(*[("aaaaaa", True)] * 200)

    spent = learnt(200)(questions, list(range(200)), 0)

    assert spent[0].strong == 1
    assert sum(one.strong for one in spent[100:]) < 5


def test_a_table_of_routers_without_its_companions_is_refused() -> None:
    require_companions([*REQUIRED, "ours"])

    with pytest.raises(ValueError, match="without prompt length, oracle"):
        require_companions([name for name in REQUIRED if name not in ("prompt length", "oracle")])


def test_a_random_mixture_recovers_half_of_the_gap_with_half_of_the_calls() -> None:
    line = curve([], strong_price=20)

    assert (apgr(line), strong_for(line, 0.5), strong_for(line, 0.8)) == (0.5, 0.5, 0.8)
    assert cost_for(line, 0.5) == 10.5
    assert strong_for(line, 1.2) is None


def test_a_router_that_finds_the_hard_ones_lies_above_the_mixture() -> None:
    line = curve([Point(0.2, 1.0, 6.0)], strong_price=20)

    assert apgr(line) == pytest.approx(0.9)
    assert strong_for(line, 0.5) == pytest.approx(0.1)
    assert cost_for(line, 0.5) == pytest.approx(3.5)


@pytest.mark.parametrize(
    ("left", "reachable"),
    [("24", True), ("4 6", True), ("4 6 1", True), ("1 1", False), ("3 3 8 8", True), ("1.5 16", True), ("", False),
     ("x 3", False), ("0 12", False)],
)  # fmt: skip
def test_24_is_reached_exactly_or_not_at_all(left: str, reachable: bool) -> None:
    assert beam.reaches_24(left) is reachable


def test_a_judge_that_flips_coins_has_no_lead() -> None:
    assert shift(0.5) == 0
    assert shift(0.75) == pytest.approx(0.954, abs=1e-3)


def test_missing_data_is_said_and_skips_only_its_table(tmp_path: Path) -> None:
    sections = measure(["vote", "latency"], quick=True, data=tmp_path)

    assert "BOOSTER_BENCH_DATA" in sections[0].skipped
    assert not sections[0].missed
    assert sections[1].rows
    assert "skipped: vote" in report(sections)


def test_a_missed_target_is_printed_as_such() -> None:
    missed = Section(title="t", figures=[Figure(name="f", value=1, unit="", bar=Bar(relation=">=", value=2))])

    assert "1 targets, 1 missed" in report([missed])


def test_an_unknown_table_is_a_usage_error(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.selection", "votes"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert all(name in done.stderr for name in TABLES)


def record(data: Path, name: str, records: Sequence[dict[str, Any]]) -> None:
    path = data / f"{name}.dev.jsonl.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as lines:
        lines.writelines(json.dumps(one) + "\n" for one in records)


def test_programs_are_chosen_from_records_of_the_published_shape(tmp_path: Path) -> None:
    """Two right programs behave alike; a wrong one passes more tests than both."""
    solutions = [
        {"code": "a", "correct": 1, "tests_passed": "7"},
        {"code": "b", "correct": 0, "tests_passed": "f8"},
        {"code": "c", "correct": 0, "tests_passed": "0"},
    ]
    samples = [0] * 60 + [1] * 2 + [2] * 38
    one = {"id": "p", "gradable": 1, "samples": samples, "solutions": solutions, "test_counts": [1] * 8}
    record(tmp_path, "codet_humaneval/samples", [one, {**one, "id": "q"}])

    table, *_ = programs.program_tables(tmp_path, 2)

    right = {row[0]: row[1] for row in table.rows}
    assert (right["best_behaviour"], right["most tests passed"], right["oracle"]) == ("100.0", "0.0", "100.0")


def test_step_risks_are_measured_on_records_of_the_published_shape(tmp_path: Path) -> None:
    talk = {"role": "assistant", "content": "hm"}
    calls = [{"name": "book", "arguments": '{"seat": 1}'}]
    run = [{"role": "user", "content": "go"}, talk, talk, talk, talk,
           {"role": "assistant", "tool_calls": calls, "is_write": 1}, {"role": "tool", "content": "done"}]  # fmt: skip
    record(tmp_path, "tau_bench/airline_gpt4o", [{"id": "t", "gold_actions": [], "steps": run}])
    history = [{"content": "x" * length} for length in (5, 5, 90, 5, 5)]
    record(
        tmp_path,
        "who_and_when/traces",
        [
            {"id": subset, "subset": subset, "history": history, "mistake_step": 2}
            for subset in ("hand_crafted", "algorithm_generated")
        ],
    )

    sections = steps.step_tables(tmp_path, 2)

    assert [figure.value for section in sections for figure in section.figures] == [1, 1, 1, 1]


def test_a_wide_beam_of_distinct_states_keeps_what_a_narrow_one_loses(tmp_path: Path) -> None:
    """Six texts of one hopeless state crowd the only solvable one out of a beam of five."""
    hopeless = [f"{n} + 0 = {n} (left: 1 1 1)\n" for n in range(6)]
    step = {"new_ys": [*hopeless, "2 + 2 = 4 (left: 4 6 1)\n"], "values": [60.0] * 6 + [3.0]}
    record(tmp_path, "tot_game24/game24", [{"id": "g", "tot": {"steps": [step]}}])

    (table,) = beam.beam_tables(tmp_path, 4)

    kept = {row[0]: row[1] for row in table.rows}
    assert kept["level 1: 3 calls, keep 5"] == "0.0"
    assert kept["level 1: 1 call, keep 8 distinct"] == "100.0"


@pytest.mark.parametrize("rule", RULES)
def test_the_constants_of_the_rules_stand_in_one_module(rule: str) -> None:
    """A rule imports what was fitted; of its own it has only halves, ends of ranges and guards against rounding."""
    tree = ast.parse((ROOT / rule).read_text(encoding="utf-8"))

    own = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, float)}

    assert own <= {0.0, 0.5, 1.0, 1e-4, 1e-9}


@pytest.mark.parametrize("rule", RULES)
def test_the_rules_stay_small(rule: str) -> None:
    assert len((ROOT / rule).read_text(encoding="utf-8").splitlines()) < 200


def test_random_numbers_come_from_seeds_only() -> None:
    """The same records give the same tables, whatever was drawn before."""
    problem = sampled("abcdefgh", "a")
    random.seed(1)
    first = list(orders(problem, 2))
    random.seed(2)

    assert list(orders(problem, 2)) == first
