"""What the documentation claims of a library of prototypes, row by row."""

import statistics

from benchmarks.scheduler.arms import Learner
from benchmarks.scheduler.envs import ENVIRONMENTS
from benchmarks.scheduler.run import run
from scheduler import Costs, Scheduler, Signals
from scheduler.registry import make_policy


def learn(scheduler: Scheduler, c: float, d: float, critical: bool) -> None:
    decision = scheduler.decide(Signals(criticality_hint=c, difficulty_hint=d, progress=0.5))
    if decision.mode == "system2":
        scheduler.report(decision.decision_id, "s2_probe_fail" if critical else "s2_probe_pass")
    else:
        scheduler.report(decision.decision_id, "s1_fail" if critical else "s1_pass")


def estimate(scheduler: Scheduler, c: float, d: float) -> float:
    return scheduler.decide(Signals(criticality_hint=c, difficulty_hint=d, progress=0.5)).p_critical


def test_a_prototype_grows_from_labels_the_library_cannot_explain() -> None:
    """Origin: nobody authors it."""
    scheduler = Scheduler()
    for i in range(80):
        learn(scheduler, i % 10 / 9, 0.5, i % 10 > 5)
    before = len(scheduler.prototypes())
    for i in range(40):
        learn(scheduler, i % 10 / 9, 0.5, i % 10 < 4)

    assert (before, len(scheduler.prototypes())) == (1, 2)


def test_inputs_never_seen_are_judged_by_those_that_were() -> None:
    """Generalisation: learnt at four values of one hint, asked between and beyond them."""
    scheduler = Scheduler()
    for i in range(120):
        c = (0.2, 0.4, 0.6, 0.8)[i % 4]
        learn(scheduler, c, 0.5, c > 0.5)

    assert estimate(scheduler, 0.7, 0.3) > 0.7
    assert estimate(scheduler, 1.0, 0.9) > 0.7
    assert estimate(scheduler, 0.0, 0.1) < 0.3


def test_several_prototypes_share_a_decision_by_their_posterior() -> None:
    """Arbitration: right after a new task the estimate lies between what two opposite rules say."""
    scheduler = Scheduler()
    for block in range(8):
        scheduler.new_task()
        for i in range(40):
            c = i % 10 / 9
            learn(scheduler, c, 0.5, (c > 0.5) if block % 2 == 0 else (c < 0.5))
    sure = estimate(scheduler, 0.95, 0.5)
    scheduler.new_task()
    decision = scheduler.decide(Signals(criticality_hint=0.95, difficulty_hint=0.5, progress=0.5))

    assert len(scheduler.prototypes()) >= 2
    assert decision.regime_posterior is not None
    assert decision.regime_posterior < 0.999
    assert sure < decision.p_critical


def test_a_reversal_in_the_middle_of_a_task_switches_the_regime_within_8_labels() -> None:
    """Mid-task change: median number of labels until another regime is the most probable one, 15 streams."""
    delays = []
    for seed in range(15):
        learner = Learner(make_policy("regime"), Costs())
        stream = ENVIRONMENTS["seed51_indep"](seed)
        steps = list(stream.steps())
        known = None
        for number, step in enumerate(steps[:300]):
            deep, _, handle = learner.choose(step, 0.0)
            if number >= 240:
                prototypes = learner.session.policy.prototypes()
                top = max(prototypes, key=lambda prototype: prototype["posterior"])["id"]
                known = top if number == 240 else known
                if top != known:
                    delays.append(number - 240)
                    break
            outcome = ("s2_probe_" if deep else "s1_") + ("fail" if step.critical else "pass")
            learner.session.report(handle, outcome)  # type: ignore[arg-type]  # one of the outcomes
        else:
            delays.append(99)

    assert statistics.median(delays) <= 8


def test_the_most_probable_rates_of_change_fit_the_stream() -> None:
    """Between tasks and within them: the heaviest pair of rates at the end."""

    def heaviest(family: str) -> set[tuple[float, float]]:
        pairs = set()
        for seed in range(2):
            learner = Learner(make_policy("regime"), Costs())
            run(learner, ENVIRONMENTS[family](seed))
            hazards = learner.session.policy.dump()["hazards"]
            i = max(range(9), key=hazards["weights"].__getitem__)
            pairs.add((hazards["taskRates"][i], hazards["stepRates"][i]))
        return pairs

    assert (0.4, 0.06) in heaviest("seed53_free")
    assert (0.1, 0.002) in heaviest("recurring")
