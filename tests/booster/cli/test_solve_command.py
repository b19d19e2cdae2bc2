"""`booster solve` as a user runs it, in a process of its own, against a real HTTP server."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from providers.simulated import demo_tasks
from tests.processes import ROOT, booster, command, configured, document, environment, simulated_model

TASK = demo_tasks(1)[0]


def test_the_calls_reported_are_the_calls_that_the_server_counted(tmp_path: Path) -> None:
    with simulated_model() as model:
        done = booster("solve", TASK.task, "-n", "3", "--json", env=configured(tmp_path, model.base_url), cwd=tmp_path)

        result = document(done)
        assert done.returncode == 0
        assert result["usage"]["calls"] == model.count() > 0
    assert result["status"] == "done"
    assert result["simulated"] is True
    assert result["diagnostics"]["totalCalls"] == result["usage"]["calls"]
    assert {step["source"] for step in result["steps"]} <= {"simulated"}


def test_without_a_model_the_run_is_degraded_and_says_how_to_configure_one(tmp_path: Path) -> None:
    done = booster("solve", TASK.task, "-n", "2", "-q", env=environment(tmp_path), cwd=tmp_path)

    assert done.returncode == 3
    assert done.stdout.startswith("DEGRADED: no model is configured: set CEREBRAS_API_KEY")
    assert "No answer" in done.stdout


def test_a_wrong_key_is_degraded_too_and_never_shown(tmp_path: Path) -> None:
    with simulated_model("--fault", "http_401") as model:
        env = configured(tmp_path, model.base_url, LOCAL_API_KEY="canary-4711-secret-key")
        done = booster("solve", TASK.task, "-n", "2", "--json", env=env, cwd=tmp_path)

    result = document(done)
    assert (done.returncode, result["status"], result["answer"]) == (3, "degraded", None)
    assert result["diagnostics"]["failures"][0]["status"] == 401
    assert "LOCAL_API_KEY" in json.dumps(result)
    kept = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert all(b"canary-4711" not in content for content in [*kept, done.stdout.encode(), done.stderr.encode()])


def test_checks_budget_and_output_file(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "summary.json"
    out.parent.mkdir()
    with simulated_model("--accuracy", "1") as model:
        done = booster(
            "solve", TASK.task, "--check", f"equals:{TASK.answer}", "--max-calls", "9", "--out", str(out), "-q",
            env=configured(tmp_path, model.base_url), cwd=tmp_path,
        )  # fmt: skip

    assert done.returncode == 0
    assert "Status: verified" in done.stdout
    assert json.loads(out.read_text())["answerStatus"] == "verified"


def test_a_check_that_never_holds_ends_without_an_answer(tmp_path: Path) -> None:
    with simulated_model("--accuracy", "1") as model:
        done = booster(
            "solve", TASK.task, "--check", "equals:something else", "--max-calls", "6", "--json", "-q",
            env=configured(tmp_path, model.base_url), cwd=tmp_path,
        )  # fmt: skip

    result = document(done)
    assert done.returncode == 4
    assert (result["answer"], result["answerStatus"], result["stopReason"]) == (None, "none", "budget_calls")
    assert result["usage"]["calls"] <= 6


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["solve", "  "], "task"),
        (["solve", "x" * 100_000, "--check", "numeric:abc"], "--check: "),
        (["solve", "t", "-k", "0"], "--candidates: 0"),
        (["solve", "t", "-k", "999"], "--candidates: 999"),
        (["solve", "t", "-n", "0"], "--iterations: 0"),
        (["solve", "t", "--max-calls", "0"], "--max-calls: 0"),
        (["solve", "t", "--max-seconds", "nan"], "--max-seconds: nan"),
        (["solve", "t", "--max-cost", "1"], "prices"),
        (["solve", "t", "--max-cost", "-1"], "--max-cost: -1"),
        (["solve", "t", "--check", "regex:(a"], "--check: RE2"),
        (["solve", "t", "--check", "nonsense"], "--check: 'nonsense' is not KIND:VALUE"),
        (["solve", "t", "--config", "missing.json"], "--config"),
        (["solve", "t", "--secrets", "missing.txt"], "--secrets"),
        (["solve", "t", "--out", "/proc/none/summary.json"], "--out"),
        (["solve", "t", "--no-such-option"], "--no-such-option"),
        (["sessions", "list", "--status", "lost"], "orphaned"),
        (["sessions", "show", "ses_unknown"], "ses_unknown"),
        (["sessions", "resume", "ses_unknown"], "booster sessions list"),
        (["sessions", "delete", "ses_unknown"], "ses_unknown"),
    ],
)
def test_wrong_use_is_one_clear_line_and_exit_code_2(tmp_path: Path, arguments: list[str], named: str) -> None:
    with simulated_model() as model:
        done = booster(*arguments, "-q", env=configured(tmp_path, model.base_url), cwd=tmp_path) if arguments[0] == "solve" else (
            booster(*arguments, env=configured(tmp_path, model.base_url), cwd=tmp_path)
        )  # fmt: skip

        assert model.count() == 0, "nothing may be paid for"
    assert done.returncode == 2, done.stderr
    assert named in done.stderr
    assert "Traceback" not in done.stderr


def test_a_broken_config_file_is_named_with_line_and_column(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"numCandidates": 5,\n}')

    done = booster("solve", "t", env=environment(tmp_path), cwd=tmp_path)

    assert done.returncode == 1
    assert "config.json: line 2, column 1" in done.stderr


def test_a_broken_secrets_line_is_named_by_number_and_not_repeated(tmp_path: Path) -> None:
    secrets = tmp_path / "secrets.local.txt"
    secrets.write_text("# keys\nthis is no assignment\n")
    secrets.chmod(0o600)

    done = booster("solve", "t", "-n", "1", env=environment(tmp_path), cwd=tmp_path)

    assert "secrets.local.txt, line 2" in done.stderr
    assert "no assignment" not in done.stderr


def test_the_task_may_come_from_stdin(tmp_path: Path) -> None:
    with simulated_model("--accuracy", "1") as model:
        env = configured(tmp_path, model.base_url)
        done = booster("solve", "-", "--json", "-q", env=env, cwd=tmp_path, stdin=TASK.task)

    assert document(done)["task"] == TASK.task


def test_sessions_are_listed_shown_exported_and_deleted_with_all_they_hold(tmp_path: Path) -> None:
    with simulated_model() as model:
        env = configured(tmp_path, model.base_url)
        solved = document(booster("solve", f"{TASK.task} canary-0815", "--json", "-q", env=env, cwd=tmp_path))
        session = solved["sessionId"]

        listed = document(booster("sessions", "list", "--json", env=env, cwd=tmp_path))
        shown = document(booster("sessions", "show", session, "--json", env=env, cwd=tmp_path))
        exported = document(booster("sessions", "export", session, env=env, cwd=tmp_path))
        deleted = booster("sessions", "delete", session, env=env, cwd=tmp_path)

    assert [item["sessionId"] for item in listed["sessions"]] == [session]
    assert {"status", "task", "createdAt"} <= listed["sessions"][0].keys()
    assert {key: shown[key] for key in ("answer", "steps", "stopReason")} == {
        key: solved[key] for key in ("answer", "steps", "stopReason")
    }
    assert {"session", "events", "calls"} <= exported.keys()
    assert deleted.returncode == 0
    kept = [path.read_bytes() for path in (tmp_path / "state").rglob("*") if path.is_file()]
    assert all(b"canary-0815" not in content for content in kept)


def test_ctrl_c_keeps_the_state_and_resume_goes_on(tmp_path: Path) -> None:
    with simulated_model("--latency", "0.3", "--accuracy", "1") as model:
        env = configured(tmp_path, model.base_url, BOOSTER_GRANULARITY="step")
        running = subprocess.Popen(
            command("solve", TASK.task, "--json"),
            env=env,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert running.stderr is not None
        while '"step 1' not in running.stderr.readline().replace('what": "step', '"step'):
            assert running.poll() is None
        os.kill(running.pid, signal.SIGINT)
        running.communicate(timeout=20)

        assert running.returncode == 130
        (session,) = document(booster("sessions", "list", "--json", env=env, cwd=tmp_path))["sessions"]
        assert session["status"] == "cancelled"
        resumed = document(booster("sessions", "resume", session["sessionId"], "--json", "-q", env=env, cwd=tmp_path))

    assert resumed["status"] == "done"
    assert resumed["answer"] is not None


def test_progress_is_json_lines_on_stderr_and_quiet_silences_it(tmp_path: Path) -> None:
    with simulated_model("--accuracy", "1") as model:
        env = configured(tmp_path, model.base_url)
        loud = booster("solve", TASK.task, env=env, cwd=tmp_path)
        quiet = booster("solve", TASK.task, "-q", env=env, cwd=tmp_path)

    lines = [json.loads(line) for line in loud.stderr.splitlines()]
    assert lines[0]["type"] == "iteration_opened"
    assert lines[-1]["type"] == "concluded"
    assert quiet.stderr == ""


def test_doctor_tells_what_is_configured_without_showing_a_key(tmp_path: Path) -> None:
    with simulated_model() as model:
        env = configured(tmp_path, model.base_url, LOCAL_API_KEY="canary-4711-secret-key")
        done = booster("doctor", "--probe", "--json", env=env, cwd=tmp_path)
        bare = booster("doctor", env=environment(tmp_path), cwd=tmp_path)

    report = document(done)
    assert done.returncode == 0
    assert report["sources"][0]["provider"] == "local"
    assert report["sources"][0]["probe"]["ok"] is True
    assert report["advice"] is None
    assert "canary" not in done.stdout
    assert bare.returncode == 3
    assert "CEREBRAS_API_KEY" in bare.stdout


def test_the_root_holds_no_leftovers() -> None:
    assert not (ROOT / "summary.json").exists() or "summary.json" in (ROOT / ".gitignore").read_text()
