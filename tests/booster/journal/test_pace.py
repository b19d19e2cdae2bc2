"""Where a commit is waited for."""

from booster.journal.pace import QUICK, RESPITE, Pace


def test_a_disk_is_taken_to_be_quick_until_it_is_slow_and_again_after_a_respite() -> None:
    pace = Pace()
    assert pace.is_quick(0.0)
    pace.took(QUICK, 10.0)
    assert pace.is_quick(10.0)
    pace.took(QUICK * 1.01, 10.0)
    assert not pace.is_quick(10.0)
    assert not pace.is_quick(10.0 + 0.99 * RESPITE)
    assert pace.is_quick(10.0 + RESPITE)


def test_a_quick_commit_does_not_shorten_the_respite() -> None:
    pace = Pace()
    pace.took(1.0, 10.0)
    pace.took(0.0, 10.0)
    assert not pace.is_quick(10.0)
