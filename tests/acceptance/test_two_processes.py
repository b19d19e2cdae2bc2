"""Two processes on one journal file: they lose nothing of each other, take nothing from each other, and see each other."""

import asyncio
import json
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from booster.journal import open_journal
from booster.scheduler_store import JournalStore
from providers.simulated import demo_tasks
from scheduler.library import Stored
from tests.acceptance.journal_file import kept_session, kept_sessions
from tests.processes import Model, booster, command, configured, document, simulated_model

TASK, OTHER_TASK = demo_tasks(2)

STEPS = {"BOOSTER_GRANULARITY": "step", "BOOSTER_SCHEDULER": "system2"}

SOON = 20.0
"""Seconds; what takes longer than this in a test hangs."""


@contextmanager
def solving(
    env: Mapping[str, str], cwd: Path, *arguments: str, task: str = TASK.task
) -> Iterator["subprocess.Popen[str]"]:
    """Run a solve until the block ends; entered when the solve has journalled its first event."""
    process = subprocess.Popen(
        command("solve", task, "--json", *arguments), env=dict(env), cwd=cwd, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert process.stderr is not None
        assert "iteration_opened" in process.stderr.readline()
        yield process
    finally:
        process.kill()
        process.communicate(timeout=SOON)


def until_asked(model: Model, requests: int) -> None:
    """Wait until the model got so many requests."""
    patience = time.monotonic() + SOON
    while model.count() < requests:
        assert time.monotonic() < patience
        time.sleep(0.02)


def test_two_solves_at_once_on_one_new_journal_lose_nothing(tmp_path: Path) -> None:
    with simulated_model("--latency", "0.03", "--accuracy", "1") as model:
        env = configured(tmp_path, model.base_url, **STEPS)
        running = [
            subprocess.Popen(
                command("solve", task.task, "--json", "-q"), env=env, cwd=tmp_path, text=True, stdout=subprocess.PIPE
            )
            for task in (TASK, OTHER_TASK)
        ]
        results = [json.loads(process.communicate(timeout=60)[0]) for process in running]

        assert [process.returncode for process in running] == [0, 0]
        assert sum(result["usage"]["calls"] for result in results) == model.count()
    assert [result["answer"] for result in results] == [TASK.answer, OTHER_TASK.answer]
    kept = {session.session_id: session for session in kept_sessions(tmp_path)}
    for result in results:
        session = kept[result["sessionId"]]
        assert session.status == "done"
        assert session.steps == [step["text"] for step in result["steps"]]
        assert len(session.keys("done")) == result["usage"]["calls"]


def test_two_solves_at_once_in_one_namespace_lose_nothing_that_they_taught(tmp_path: Path) -> None:
    """Each of three pairs of processes saves the library while the other learns."""
    arguments = ["--check", f"equals:{TASK.answer}", "--json", "-q"]
    with simulated_model("--latency", "0.02", "--accuracy", "0") as model:
        env = configured(
            tmp_path,
            model.base_url,
            BOOSTER_GRANULARITY="answer",
            BOOSTER_ITERATIONS="2",
            BOOSTER_PROBE_RATE="1",
            BOOSTER_NUM_CANDIDATES="5",
        )
        for _ in range(3):
            running = [
                subprocess.Popen(
                    command("solve", TASK.task, *arguments), env=env, cwd=tmp_path, stdout=subprocess.DEVNULL
                )
                for _ in range(2)
            ]
            assert [process.wait(timeout=60) for process in running] == [4, 4]

    reported = [data for kept in kept_sessions(tmp_path) for kind, data in kept.events if kind == "reported"]
    labels = [data["label"] for data in reported if data["label"] is not None]

    async def library() -> Stored | None:
        async with open_journal(f"sqlite:///{tmp_path / 'state' / 'booster.db'}") as journal:
            return await JournalStore(journal).read("default")

    stored = asyncio.run(library())
    assert len(labels) == 12
    assert stored is not None
    assert stored.document["library"]["nLabels"] == 12


def test_a_session_that_a_living_process_works_on_cannot_be_taken_from_it(tmp_path: Path) -> None:
    with simulated_model("--latency", "0.3", "--accuracy", "1") as model:
        env = configured(tmp_path, model.base_url, **STEPS)
        with solving(env, tmp_path) as process:
            until_asked(model, 1)
            process.send_signal(signal.SIGSTOP)  # it waits for the model, and lives for as long as we need
            session_id = kept_session(tmp_path).session_id
            refused = [booster("sessions", verb, session_id, env=env, cwd=tmp_path) for verb in ("resume", "delete")]
            (listed,) = document(booster("sessions", "list", "--json", env=env, cwd=tmp_path))["sessions"]
            process.send_signal(signal.SIGCONT)
            out, _ = process.communicate(timeout=60)

        assert json.loads(out)["usage"]["calls"] == model.count()
    for done in refused:
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.strip().count("\n") == 0, "one line"
        assert f"session {session_id} is being worked on by process-{process.pid}" in done.stderr
        assert "wait for it or cancel" in done.stderr
    assert (listed["status"], listed["active"], "orphaned" in listed) == ("running", True, False)
    assert process.returncode == 0
    result = json.loads(out)
    assert (result["status"], result["answer"]) == ("done", TASK.answer)
    assert result["diagnostics"]["lost"] == 0


def test_cancel_from_another_process_stops_a_solve_even_while_its_model_says_nothing(tmp_path: Path) -> None:
    with simulated_model("--fault", "hang:indices=1", "--accuracy", "1") as model:
        env = configured(tmp_path, model.base_url, **STEPS)
        with solving(env, tmp_path) as process:
            session_id = kept_session(tmp_path).session_id
            until_asked(model, 2)
            cancelled = booster("sessions", "cancel", session_id, env=env, cwd=tmp_path)
            asked = time.monotonic()
            out, _ = process.communicate(timeout=SOON)
            took = time.monotonic() - asked

        before = model.count()
        shown = document(booster("sessions", "show", session_id, "--json", env=env, cwd=tmp_path))
        resumed = document(booster("sessions", "resume", session_id, "--json", "-q", env=env, cwd=tmp_path))

        assert resumed["usage"]["calls"] == model.count()
    assert cancelled.returncode == 0
    assert took < 30, "stopping is the subject: the model would have been waited for longer"
    assert (process.returncode, before) == (4, 2)
    result = json.loads(out)
    assert (
        (result["status"], result["stopReason"]) == (shown["status"], shown["stopReason"]) == ("cancelled", "cancelled")
    )
    assert [step["text"] for step in shown["steps"]] == [step["text"] for step in result["steps"]]
    assert (resumed["status"], resumed["answer"]) == ("done", TASK.answer)
    assert [step["text"] for step in resumed["steps"]][:1] == [step["text"] for step in shown["steps"]][:1]


def test_a_killed_solve_is_listed_as_orphaned_until_it_is_resumed_or_cancelled(tmp_path: Path) -> None:
    with simulated_model("--latency", "0.3", "--accuracy", "1") as model:
        env = configured(tmp_path, model.base_url, **STEPS)
        with solving(env, tmp_path) as process:
            until_asked(model, 1)
            process.kill()
            process.wait()
        session_id = kept_session(tmp_path).session_id

        (orphan,) = document(booster("sessions", "list", "--json", env=env, cwd=tmp_path))["sessions"]
        orphans = document(booster("sessions", "list", "--status", "orphaned", "--json", env=env, cwd=tmp_path))[
            "sessions"
        ]
        told = booster("sessions", "list", env=env, cwd=tmp_path).stdout
        shown = document(booster("sessions", "show", session_id, "--json", env=env, cwd=tmp_path))
        booster("sessions", "cancel", session_id, env=env, cwd=tmp_path)
        (given_up,) = document(booster("sessions", "list", "--json", env=env, cwd=tmp_path))["sessions"]
        resumed = document(booster("sessions", "resume", session_id, "--json", "-q", env=env, cwd=tmp_path))
        (ended,) = document(booster("sessions", "list", "--json", env=env, cwd=tmp_path))["sessions"]

    assert (orphan["status"], orphan["active"], orphan["orphaned"]) == ("running", False, True)
    assert "orphaned" in told
    assert orphans == [orphan]
    assert (shown["status"], shown["orphaned"], shown["stopReason"]) == ("running", True, None)
    assert (given_up["status"], "orphaned" in given_up) == ("cancelled", False)
    assert (resumed["status"], resumed["answer"], resumed["diagnostics"]["lost"]) == ("done", TASK.answer, 1)
    assert (ended["status"], "orphaned" in ended) == ("done", False)


def test_of_two_that_resume_an_orphan_at_once_one_does_and_the_other_is_refused(tmp_path: Path) -> None:
    with simulated_model("--latency", "0.4", "--accuracy", "1") as model:
        env = configured(tmp_path, model.base_url, **STEPS)
        with solving(env, tmp_path) as process:
            until_asked(model, 1)
            process.kill()
            process.wait()
        resume = command("sessions", "resume", kept_session(tmp_path).session_id, "--json", "-q")
        running = [
            subprocess.Popen(resume, env=env, cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            for _ in range(2)
        ]
        ended = sorted(
            ((*process.communicate(timeout=60), process.returncode) for process in running), key=lambda end: end[2]
        )

        (out, _, won), (nothing, refusal, lost) = ended
        assert json.loads(out)["usage"]["calls"] == model.count() == len(json.loads(out)["steps"]) + 1
    assert (won, lost, nothing) == (0, 1, "")
    assert "is being worked on by process-" in refusal
