"""`booster-quality`: what it finds in steps and answers of the simulated model, and when it says no."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.quality.outcomes import Outcome, by_task
from benchmarks.quality.quick import main
from benchmarks.quality.simulated import Sizes, StepFacts, answers_section, step_facts, steps_section
from booster.app import StepResult
from booster.result import session_result
from providers.simulated import SimulatedModel
from providers.types import Proposal
from tests.builders import a_session
from verifier.types import Candidate, CheckResult, Score

SMALL = ["--tasks", "6", "--seeds", "2", "--candidates", "3"]


def candidate(text: str, total: float, *, fails: bool = False) -> Candidate:
    check = CheckResult(check_id="c1", kind="regex", target="step", outcome="fail" if fails else "pass")
    score = Score(rules=total, redundancy=0, consistency=0, total=total)
    return Candidate(proposal=Proposal(text=text), source="simulated", key=text, score=score, checks=(check,))


def result_of(*candidates: Candidate, chosen: Candidate | None) -> StepResult:
    session = a_session()
    result = session_result(session, usage={}, diagnostics={})
    return StepResult(chosen=chosen, candidates=candidates, session=session, result=result)


def facts(**changes: bool | int) -> StepFacts:
    good = StepFacts(candidates=4, in_order=True, chosen_best=True, longest=80, duplicates=1)
    return replace(good, **changes)  # type: ignore[arg-type]  # the fields' own types


def test_a_model_that_gains_by_being_asked_more_often_passes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the recorded sets are missing that is said, and the simulated model alone decides."""
    sizes = ["--tasks", "30", "--seeds", "2", "--candidates", "3", "--data", str(tmp_path)]

    code = main(sizes, make_model=lambda seed: SimulatedModel(seed=seed, accuracy=0.6))

    said = capsys.readouterr().out
    assert code == 0, said
    assert "simulated" in said
    assert "vote@3" in said
    assert f"skipped: {tmp_path}" in said


def test_a_model_that_is_always_wrong_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main([*SMALL, "--data", str(tmp_path)], make_model=lambda seed: SimulatedModel(seed=seed, accuracy=0.0))

    assert code == 1
    assert "MISS" in capsys.readouterr().out


def test_sizes_that_make_no_sense_are_refused() -> None:
    for wrong in (["--tasks", "0"], ["--tasks", "61"], ["--candidates", "17"], ["--seeds", "0"]):
        with pytest.raises(SystemExit) as refused:
            main(wrong)
        assert refused.value.code == 2


def test_the_best_allowed_candidate_is_neither_a_repeat_nor_one_that_fails_a_check() -> None:
    failing, repeat, fresh = (
        candidate("wrong", 0.9, fails=True),
        candidate("fill the jug", 0.8),
        candidate("pour it", 0.5),
    )
    before = replace(a_session(), banned=("fill the jug",))

    good = step_facts(before, result_of(repeat, fresh, failing, chosen=fresh))
    bad = step_facts(before, result_of(repeat, fresh, failing, chosen=repeat))

    assert good.chosen_best
    assert not bad.chosen_best


def test_order_length_and_duplicates_are_counted() -> None:
    low, high, twin = candidate("a" * 500, 0.1), candidate("Pour  it", 0.7), candidate("pour it", 0.7)

    found = step_facts(a_session(), result_of(low, high, twin, chosen=high))

    assert not found.in_order
    assert (found.candidates, found.longest, found.duplicates) == (3, 500, 1)


@pytest.mark.parametrize(
    "worse", [facts(in_order=False), facts(chosen_best=False), facts(longest=401), facts(duplicates=4)], ids=str
)
def test_each_threshold_of_the_steps_can_be_missed(worse: StepFacts) -> None:
    assert not steps_section([facts()]).missed
    assert steps_section([facts(), worse]).missed


def test_accuracy_is_first_taken_over_the_seeds_of_a_task() -> None:
    outcomes = [Outcome(task=task, right=right, confidence=0.5, calls=1, tokens=1) for task, right in
                ((0, True), (1, False), (0, False), (1, False))]  # fmt: skip

    assert by_task(outcomes) == [0.5, 0.0]


def test_confidence_above_accuracy_is_a_miss() -> None:
    def arm(right: int, confidence: float) -> list[Outcome]:
        return [Outcome(task=task, right=task < right, confidence=confidence, calls=1, tokens=1) for task in range(10)]

    modest = answers_section({"one plain call": arm(1, 0.1), "vote": arm(5, 0.5), "booster": arm(9, 0.8)}, Sizes())
    boastful = answers_section({"one plain call": arm(1, 0.1), "vote": arm(5, 0.5), "booster": arm(9, 1.0)}, Sizes())

    assert not modest.missed
    assert boastful.missed
