"""Decision ids, and reports that come late, twice, out of order or never."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler import InvalidInputError, Outcome, Scheduler, Signals, StateError, UnknownDecisionError
from scheduler.ledger import PENDING_CAP
from scheduler.registry import make_policy
from scheduler.session import Session


def session(policy: str = "regime", **settings: float) -> Session:
    return Session(make_policy(policy), "s", **settings)  # type: ignore[arg-type]  # settings are numbers


def decide(subject: Session, c: float = 0.5) -> str:
    return subject.decide(Signals(criticality_hint=c)).decision_id


def test_decision_ids_count_up_behind_the_session_id() -> None:
    subject = session()

    assert [decide(subject) for _ in range(3)] == ["s.1", "s.2", "s.3"]


def test_a_report_by_id_learns_what_the_echo_form_learns() -> None:
    by_id, by_echo = session(), session()
    signals = Signals(criticality_hint=0.7, difficulty_hint=0.2, progress=0.5)
    for subject in (by_id, by_echo):
        subject.decide(signals)

    by_id.report("s.1", "s1_fail")
    by_echo.report(None, "s1_fail", signals=signals)

    assert by_id.policy.dump() == by_echo.policy.dump()
    assert by_id.dump() == by_echo.dump()


def test_a_report_without_id_and_hints_goes_to_the_last_pending_decision() -> None:
    subject = session()
    decide(subject)
    decide(subject)

    assert [subject.report(None, "s1_pass").decision_id for _ in range(2)] == ["s.2", "s.1"]


def test_echoed_hints_of_no_pending_decision_still_teach() -> None:
    subject = session()

    result = subject.report(None, None, observed_criticality=0.8, used_system2=False, signals=Signals(progress=0.3))

    assert (result.decision_id, result.label, result.label_source) == ("", 0.8, "observed")
    assert subject.policy.n_labels == 1


def test_a_report_about_nothing_is_an_error() -> None:
    with pytest.raises(UnknownDecisionError, match="pending"):
        session().report(None, "s1_pass")


def test_an_unknown_decision_is_an_error_that_names_it() -> None:
    with pytest.raises(UnknownDecisionError, match=r"s\.7"):
        session().report("s.7", "s1_pass")


def test_an_unknown_outcome_is_an_error_that_lists_the_known_ones() -> None:
    subject = session()

    with pytest.raises(InvalidInputError, match="s2_probe_fail"):
        subject.report(decide(subject), "maybe")  # type: ignore[arg-type]


def test_the_same_report_twice_is_learnt_once() -> None:
    subject = session()
    decide(subject)
    subject.report("s.1", "s1_fail")
    before = subject.policy.dump()

    again = subject.report("s.1", "s1_fail")

    assert (again.label, again.label_source) == (None, "duplicate")
    assert subject.policy.dump() == before


def test_a_failure_discovered_later_is_one_further_observation_and_both_labels_stay_visible() -> None:
    subject = session()
    decide(subject)
    subject.report("s.1", "s1_pass")

    late = subject.report("s.1", "s1_fail")
    second = subject.report("s.1", "s1_fail")

    (entry,) = subject.ledger
    assert (late.label, late.weight, late.label_source) == (1.0, 1.0, "late")
    assert second.label_source == "refused"
    assert subject.policy.n_labels == 2
    assert entry.label is not None
    assert entry.superseded is not None
    assert (entry.superseded.value, entry.label.value) == (0.0, 1.0)


def test_a_superseded_label_leaves_the_calibration() -> None:
    subject = session()
    estimate = subject.decide(Signals(criticality_hint=0.5)).p_critical
    subject.report("s.1", "s1_pass")

    subject.report("s.1", "s1_fail")

    report = subject.calibration.report()
    assert report["scored"] == 1
    assert report["overall"]["mae"] == pytest.approx(1 - estimate, abs=1e-4)


def test_a_failure_can_be_discovered_after_an_unchecked_or_a_deliberated_step() -> None:
    first: list[Outcome] = ["s1_unchecked", "s2_done"]
    for outcome in first:
        subject = session()
        decide(subject)
        subject.report("s.1", outcome)

        assert subject.report("s.1", "s1_fail").label_source == "late"


def test_a_late_label_scores_the_prediction_of_its_own_decision() -> None:
    subject = session()
    first = subject.decide(Signals(criticality_hint=0.9)).p_critical
    for _ in range(20):
        subject.report(decide(subject, 0.9), "s1_pass")

    subject.report("s.1", "s1_fail")

    assert subject.calibration._steps[-1].estimate == first


@settings(max_examples=30, deadline=None)
@given(
    order=st.permutations(range(12)),
    missing=st.sets(st.integers(0, 11)),
    policy=st.sampled_from(["regime", "auction", "router"]),
)
def test_reports_in_any_order_leave_a_legal_state(order: list[int], missing: set[int], policy: str) -> None:
    subject = session(policy)
    for i in range(12):
        decide(subject, i / 12)

    for i in order:
        if i not in missing:
            subject.report(f"s.{i + 1}", "s1_fail" if i > 6 else "s1_pass")

    assert subject.stats()["pending"] == len(missing)
    assert subject.policy.n_labels == 12 - len(missing)
    assert 0.0 <= subject.decide(Signals(criticality_hint=0.5)).p_critical <= 1.0


def test_pending_decisions_are_capped_and_the_oldest_is_dropped_and_counted() -> None:
    subject = session("always-s1")
    for _ in range(PENDING_CAP + 1):
        decide(subject)

    with pytest.raises(UnknownDecisionError):
        subject.report("s.1", "s1_pass")
    assert (subject.stats()["pending"], subject.stats()["dropped"]) == (PENDING_CAP, 1)


def test_pollution_rises_with_deliberation_and_falls_with_a_new_task() -> None:
    """Auction: the first decision deliberates (+.022) and is executed deeply (+.010); a cheap one adds .002."""
    subject = session("auction")
    decide(subject)
    after_decision = subject.pollution
    subject.report("s.1", "s2_done")
    after_deep = subject.pollution
    other = session("always-s1")
    decide(other)
    other.report("s.1", "s1_pass")
    cheap = other.pollution
    subject.new_task()

    assert (after_decision, after_deep, cheap, subject.pollution) == pytest.approx((0.022, 0.032, 0.002, 0.0))


def test_pollution_never_exceeds_1() -> None:
    subject = session("always-s2")
    for _ in range(100):
        decide(subject)

    assert subject.pollution == 1.0


def test_a_new_task_keeps_prototypes_and_mu() -> None:
    scheduler = Scheduler(policy="auction")
    scheduler.report(scheduler.decide(Signals()).decision_id, "s1_fail")
    scheduler.feedback(success=False)
    before = scheduler.dump()["library"]

    scheduler.new_task()

    assert scheduler.dump()["library"] == before


def test_feedback_moves_mu_and_nothing_else() -> None:
    scheduler = Scheduler(policy="auction")
    scheduler.report(scheduler.decide(Signals()).decision_id, "s1_fail")
    before = scheduler.dump()

    scheduler.feedback(success=True)

    after = scheduler.dump()
    assert after["library"].pop("mu") < before["library"].pop("mu")
    assert after == before


@pytest.mark.parametrize(("rate", "probes"), [(0.0, 0), (0.05, 5), (0.25, 25), (1.0, 100)])
def test_the_share_of_probes_is_exact(rate: float, probes: int) -> None:
    subject = session("always-s2", probe_rate=rate)

    assert sum(subject.decide(Signals()).probe for _ in range(100)) == probes


def test_system_1_steps_are_never_probed() -> None:
    subject = session("always-s1", probe_rate=1.0)

    assert not subject.decide(Signals()).probe


def test_unlabelled_deliberation_is_a_warning() -> None:
    subject = session("always-s2")
    for i in range(100):
        subject.report(decide(subject), "s2_done")
        assert (subject.stats()["warning"] is None) == (i < 99)

    for _ in range(10):
        subject.report(decide(subject), "s2_probe_pass")

    assert subject.stats()["warning"] is None


def test_stats_tell_where_labels_came_from() -> None:
    subject = session("always-s1")
    for outcome in ("s1_fail", "s1_pass", "s1_pass", "s1_unchecked"):
        subject.report(decide(subject), outcome)

    stats = subject.stats()

    assert stats["labelledShare"] == {"system1": 0.75, "system2": None}
    assert stats["labelSources"] == {"s1_fail": 1, "s1_pass": 2, "s1_unchecked": 1}


def test_a_saved_scheduler_keeps_its_pending_decisions() -> None:
    scheduler = Scheduler(probe_rate=0.5)
    draw = random.Random(0)
    ids = [scheduler.decide(Signals(criticality_hint=draw.random())).decision_id for _ in range(20)]
    for decision_id in ids[:10]:
        scheduler.report(decision_id, draw.choice(["s1_fail", "s1_pass"]))

    copy = Scheduler.load(scheduler.dump())

    assert copy.report(ids[15], "s1_fail") == scheduler.report(ids[15], "s1_fail")
    assert copy.dump() == scheduler.dump()


@pytest.mark.parametrize("damage", [{"version": 9}, {"policy": 3}, {"session": {}}, {"library": None}, {"knobs": None}])
def test_a_damaged_state_is_refused(damage: dict[str, object]) -> None:
    state = {**Scheduler().dump(), **damage}

    with pytest.raises((StateError, InvalidInputError)):
        Scheduler.load(state)


@pytest.mark.parametrize(("field", "value"), [("probe_rate", 1.5), ("calib_window", 1), ("calib_window", 2.5)])
def test_a_setting_out_of_range_is_refused_by_name(field: str, value: float) -> None:
    with pytest.raises(InvalidInputError, match=field):
        session(**{field: value})  # type: ignore[arg-type]  # wrong on purpose
