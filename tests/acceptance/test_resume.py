"""Stopping a solve from outside and going on with it: by signals, late, twice, with little left, with the model gone."""

import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from providers.simulated import demo_tasks
from tests.acceptance.journal_file import Kept, kept_session
from tests.processes import Model, booster, command, configured, document, simulated_model

TASK = demo_tasks(1)[0]

STEPS = {"BOOSTER_GRANULARITY": "step", "BOOSTER_SCHEDULER": "system2"}

SOON = 30.0
"""Seconds; what takes longer than this in a test hangs."""


def stopped(
    model: Model, env: Mapping[str, str], cwd: Path, *arguments: str, at: int, by: signal.Signals = signal.SIGKILL
) -> "subprocess.CompletedProcess[str]":
    """Run a command and send the signal when the model has counted so many requests."""
    process = subprocess.Popen(
        command(*arguments), env=dict(env), cwd=cwd, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    patience = time.monotonic() + SOON
    while model.count() < at:
        assert process.poll() is None, "it ended by itself"
        assert time.monotonic() < patience, "it does not get there"
        time.sleep(0.01)
    process.send_signal(by)
    out, err = process.communicate(timeout=SOON)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def texts(result: Mapping[str, object]) -> list[str]:
    """Return the texts of a result's steps."""
    steps = result["steps"]
    assert isinstance(steps, list)
    return [step["text"] for step in steps]


@pytest.mark.parametrize(("by", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_saves_the_state_says_how_to_go_on_and_loses_nothing(
    tmp_path: Path, by: signal.Signals, code: int
) -> None:
    with simulated_model("--latency", "0.3", "--accuracy", "1") as model:
        env = configured(tmp_path, model.base_url, **STEPS)
        done = stopped(model, env, tmp_path, "solve", TASK.task, "--json", "-q", at=3, by=by)
        before = kept_session(tmp_path)
        result = document(booster("sessions", "resume", before.session_id, "--json", "-q", env=env, cwd=tmp_path))

        assert result["usage"]["calls"] == model.count()
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr == f"booster: stopped; `booster sessions resume {before.session_id}` goes on with it\n"
    assert (before.status, len(before.steps), before.keys("intent")) == ("cancelled", 2, set())
    assert (result["status"], result["answer"], result["diagnostics"]["lost"]) == ("done", TASK.answer, 0)
    assert texts(result)[:2] == before.steps
    assert result["diagnostics"]["repaid"] == [{"stepKey": "it3/s2/steps", "attempt": 2, "reason": "interrupted"}]


def test_a_second_kill_amid_the_resume_costs_one_more_call_and_nothing_else(tmp_path: Path) -> None:
    with simulated_model("--latency", "0.2", "--accuracy", "1") as model:
        env = configured(tmp_path, model.base_url, **STEPS)
        stopped(model, env, tmp_path, "solve", TASK.task, "--json", "-q", at=3)
        first = kept_session(tmp_path)
        resume = ("sessions", "resume", first.session_id, "--json", "-q")
        stopped(model, env, tmp_path, *resume, at=5)
        second = kept_session(tmp_path)
        result = document(booster(*resume, env=env, cwd=tmp_path))

        assert result["usage"]["calls"] == model.count() == len(result["steps"]) + 2
    assert (first.keys("intent"), second.keys("intent")) == ({("it3/s2/steps", 1)}, {("it4/s2/steps", 1)})
    assert unchanged(first, second)
    assert unchanged(second, kept_session(tmp_path))
    assert (result["answer"], result["diagnostics"]["lost"]) == (TASK.answer, 2)
    assert texts(result)[:3] == second.steps


def test_a_killed_solve_is_found_and_resumed_on_a_database_server_as_in_a_file(
    tmp_path: Path, postgres_url: str
) -> None:
    with simulated_model("--latency", "0.2", "--accuracy", "1") as model:
        env = configured(tmp_path, model.base_url, BOOSTER_JOURNAL_URL=postgres_url, **STEPS)
        stopped(model, env, tmp_path, "solve", TASK.task, "--json", "-q", at=3)
        listed = document(booster("sessions", "list", "--status", "orphaned", "--json", env=env, cwd=tmp_path))
        (found,) = listed["sessions"]
        resume = ("sessions", "resume", found["sessionId"], "--json", "-q")
        result = document(booster(*resume, env=env, cwd=tmp_path))
        again = document(booster(*resume, env=env, cwd=tmp_path))

        assert result["usage"]["calls"] == model.count() == len(result["steps"]) + 1
    assert (result["status"], result["answer"], result["diagnostics"]["lost"]) == ("done", TASK.answer, 1)
    assert again["steps"] == result["steps"]


def unchanged(before: Kept, after: Kept) -> bool:
    """Whether every call that was done is still there as it was."""
    return all(after.calls[key] == before.calls[key] for key in before.keys("done"))


def test_a_solve_that_has_ended_is_only_shown_again(tmp_path: Path) -> None:
    with simulated_model("--accuracy", "1") as model:
        env = configured(tmp_path, model.base_url, **STEPS)
        solved = document(booster("solve", TASK.task, "--json", "-q", env=env, cwd=tmp_path))
        before, paid = kept_session(tmp_path), model.count()
        again = [booster("sessions", "resume", solved["sessionId"], "--json", env=env, cwd=tmp_path) for _ in range(2)]

        assert model.count() == paid
    for done in again:
        assert done.returncode == 0
        assert {**document(done), "usage": None} == {**solved, "usage": None}
        assert document(done)["usage"]["calls"] == paid
    assert kept_session(tmp_path) == before


def test_the_time_while_no_process_lived_does_not_count(tmp_path: Path) -> None:
    dead = 1.5
    with simulated_model("--latency", "0.1", "--accuracy", "1") as model:
        env = configured(tmp_path, model.base_url, **STEPS)
        began = time.monotonic()
        stopped(model, env, tmp_path, "solve", TASK.task, "--max-seconds", "60", "-q", at=3)
        before = kept_session(tmp_path)
        time.sleep(dead)
        result = document(booster("sessions", "resume", before.session_id, "--json", "-q", env=env, cwd=tmp_path))
        passed = time.monotonic() - began

    assert result["answer"] == TASK.answer
    assert 0 < before.seconds < result["usage"]["seconds"] < passed - dead


def test_what_a_resumed_solve_may_spend_is_what_the_first_process_left(tmp_path: Path) -> None:
    """Five calls in all: three before the kill, of which one is lost, so two more."""
    with simulated_model("--latency", "0.2", "--accuracy", "1") as model:
        env = configured(tmp_path, model.base_url, **STEPS)
        stopped(model, env, tmp_path, "solve", TASK.task, "--max-calls", "5", "-q", at=3)
        before = kept_session(tmp_path)
        done = booster("sessions", "resume", before.session_id, "--json", "-q", env=env, cwd=tmp_path)

        assert model.count() == 5
    result = document(done)
    assert (result["usage"]["calls"], result["stopReason"]) == (5, "budget_calls")
    assert result["usage"]["byRole"]["finalize"]["calls"] == 1
    assert (done.returncode, result["answer"]) == (0, TASK.answer)
    assert texts(result)[:2] == before.steps


def test_a_budget_that_the_kill_used_up_ends_with_what_there_is(tmp_path: Path) -> None:
    with simulated_model("--latency", "0.2", "--accuracy", "1") as model:
        env = configured(tmp_path, model.base_url, **STEPS)
        stopped(model, env, tmp_path, "solve", TASK.task, "--max-calls", "4", "--json", "-q", at=4)
        before = kept_session(tmp_path)
        done = booster("sessions", "resume", before.session_id, "--json", "-q", env=env, cwd=tmp_path)

        assert model.count() == 4
    result = document(done)
    assert (done.returncode, result["status"], result["stopReason"]) == (4, "done", "budget_calls")
    assert (result["usage"]["calls"], result["diagnostics"]["lost"]) == (4, 1)
    assert texts(result) == before.steps != []


def test_without_its_model_a_resumed_solve_says_so_keeps_its_steps_and_can_be_resumed(tmp_path: Path) -> None:
    with simulated_model("--latency", "0.2", "--accuracy", "1") as model:
        env = configured(tmp_path, model.base_url, **STEPS)
        stopped(model, env, tmp_path, "solve", TASK.task, "--max-seconds", "30", "-q", at=4)
    before = kept_session(tmp_path)

    done = booster("sessions", "resume", before.session_id, "--json", "-q", env=env, cwd=tmp_path)

    result = document(done)
    assert (done.returncode, result["answer"], result["stopReason"]) == (1, None, "error")
    assert "no call came through any more (connection)" in result["degradedReasons"][0]
    assert texts(result) == before.steps, "no template stands beside a model's steps"
    assert unchanged(before, kept_session(tmp_path))
    assert {item["kind"] for item in result["diagnostics"]["failures"]} >= {"lost", "connection"}
    assert result["usage"]["seconds"] <= 31

    with simulated_model("--accuracy", "1") as model:
        env = configured(tmp_path, model.base_url, **STEPS)
        again = booster("sessions", "resume", before.session_id, "--json", "-q", env=env, cwd=tmp_path)
    assert document(again)["answer"] is not None
