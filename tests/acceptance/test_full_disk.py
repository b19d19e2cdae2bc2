"""A journal that cannot be written: one line that names the file and the fix, and everything from before still there."""

import os
import resource
import sqlite3
import subprocess
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from providers.simulated import demo_tasks
from tests.acceptance.journal_file import kept_sessions
from tests.processes import booster, command, configured, document, simulated_model

TASK, OTHER_TASK = demo_tasks(2)

STEPS = {"BOOSTER_GRANULARITY": "step", "BOOSTER_SCHEDULER": "system2", "PYTHONDONTWRITEBYTECODE": "1"}
"""No bytecode: the limit on file sizes shall meet the journal alone."""


def with_little_disk(
    *arguments: str, env: Mapping[str, str], cwd: Path, limit: int
) -> "subprocess.CompletedProcess[str]":
    """Run `booster` where no file can grow beyond so many bytes."""
    return subprocess.run(
        command(*arguments), env=dict(env), cwd=cwd, capture_output=True, text=True, timeout=120, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )  # fmt: skip


def assert_one_clear_line(done: "subprocess.CompletedProcess[str]", *named: str) -> None:
    """Exit code 1, nothing on stdout, and one line on stderr with all of this in it."""
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert done.stderr.startswith("booster: journal ")
    assert done.stderr.strip().count("\n") == 0
    for text in named:
        assert text in done.stderr


@pytest.mark.parametrize("limit", [60_000, 150_000])
def test_a_disk_that_fills_up_amid_a_solve_ends_it_clearly_and_loses_nothing(tmp_path: Path, limit: int) -> None:
    with simulated_model("--accuracy", "1") as model:
        env = configured(tmp_path, model.base_url, **STEPS)
        first = document(booster("solve", TASK.task, "--json", "-q", env=env, cwd=tmp_path))
        paid = model.count()

        full = with_little_disk("solve", OTHER_TASK.task, "--json", "-q", env=env, cwd=tmp_path, limit=limit)

        (broken,) = (kept for kept in kept_sessions(tmp_path) if kept.session_id != first["sessionId"])
        shown = document(booster("sessions", "show", first["sessionId"], "--json", env=env, cwd=tmp_path))
        left = document(booster("sessions", "show", broken.session_id, "--json", env=env, cwd=tmp_path))
        resumed = document(booster("sessions", "resume", broken.session_id, "--json", "-q", env=env, cwd=tmp_path))
        after = next(kept for kept in kept_sessions(tmp_path) if kept.session_id == broken.session_id)

        in_flight = len(broken.keys("intent"))
        assert resumed["usage"]["calls"] == model.count() - paid == len(resumed["steps"]) + in_flight
    assert_one_clear_line(
        full, str(tmp_path / "state" / "booster.db"), "free some space", f"booster sessions resume {broken.session_id}"
    )
    assert (shown["answer"], shown["steps"]) == (first["answer"], first["steps"])
    assert (left["status"], left["orphaned"]) == ("running", True)
    assert (resumed["status"], resumed["answer"]) == ("done", OTHER_TASK.answer)
    assert [step["text"] for step in resumed["steps"]][: len(broken.steps)] == broken.steps
    assert all(after.calls[key] == broken.calls[key] for key in broken.keys("done"))


def test_a_full_disk_from_the_start_is_said_before_anything_is_paid(tmp_path: Path) -> None:
    with simulated_model() as model:
        env = configured(tmp_path, model.base_url, **STEPS)
        done = with_little_disk("solve", TASK.task, "--json", "-q", env=env, cwd=tmp_path, limit=1000)

        assert model.count() == 0
    assert_one_clear_line(done, str(tmp_path / "state" / "booster.db"), "free some space")


def _a_directory(database: Path) -> None:
    database.mkdir()


def _random_bytes(database: Path) -> None:
    database.write_bytes(os.urandom(8192))


def _half_a_journal(database: Path) -> None:
    database.write_bytes(database.read_bytes()[: database.stat().st_size // 2])


def _damaged_pages(database: Path) -> None:
    content = bytearray(database.read_bytes())
    content[4096 : 6 * 4096] = bytes(5 * 4096)
    database.write_bytes(content)


def _another_program(database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE sessions (anything)")


@pytest.mark.parametrize(
    ("spoil", "is_there", "said"),
    [
        (_a_directory, False, "check that it is a file"),
        (_random_bytes, False, "no SQLite database; set `journal.url` to another file"),
        (_another_program, False, "it is no journal"),
        (_half_a_journal, True, "the file is damaged; move it away"),
        (_damaged_pages, True, "the file is damaged; move it away"),
    ],
)
def test_what_is_no_sound_journal_is_refused_in_one_line_and_left_as_it_is(
    tmp_path: Path, spoil: Callable[[Path], None], is_there: bool, said: str
) -> None:
    database = tmp_path / "state" / "booster.db"
    database.parent.mkdir()
    with simulated_model() as model:
        env = configured(tmp_path, model.base_url, **STEPS)
        if is_there:
            booster("solve", TASK.task, "-q", env=env, cwd=tmp_path)
        spoil(database)
        before = database.read_bytes() if database.is_file() else None
        paid = model.count()

        solved = booster("solve", TASK.task, "--json", "-q", env=env, cwd=tmp_path)
        listed = booster("sessions", "list", "--json", env=env, cwd=tmp_path)

        assert model.count() == paid, "nothing may be paid for that cannot be kept"
    for done in (solved, listed):
        assert_one_clear_line(done, str(database), said)
    if before is not None:
        assert database.read_bytes()[100:] == before[100:], "all but the header, where SQLite notes how it was opened"


@pytest.mark.parametrize("place", ["a file", "below a file", "/proc/1/none"])
def test_a_home_that_cannot_be_made_is_named_with_the_variable_to_set(tmp_path: Path, place: str) -> None:
    (tmp_path / "a file").touch()
    home = {"a file": tmp_path / "a file", "below a file": tmp_path / "a file" / "below"}.get(place, Path(place))
    with simulated_model() as model:
        env = {**configured(tmp_path, model.base_url, **STEPS), "BOOSTER_HOME": str(home)}
        done = booster("solve", TASK.task, "--json", "-q", env=env, cwd=tmp_path)

        assert model.count() == 0
    assert_one_clear_line(done, str(home), "set BOOSTER_HOME")


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_home_that_may_not_be_written_is_named_with_the_fix(tmp_path: Path) -> None:
    with simulated_model("--accuracy", "1") as model:
        env = configured(tmp_path, model.base_url, **STEPS)
        booster("solve", TASK.task, "-q", env=env, cwd=tmp_path)
        for path in (tmp_path / "state").glob("booster.db*"):
            path.chmod(0o400)
        (tmp_path / "state").chmod(0o500)
        done = booster("solve", TASK.task, "--json", "-q", env=env, cwd=tmp_path)
        (tmp_path / "state").chmod(0o700)

    assert_one_clear_line(done, str(tmp_path / "state"))
