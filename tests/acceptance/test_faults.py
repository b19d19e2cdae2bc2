"""What servers do wrong, seen from the product: no sibling is lost, nothing waits past the deadline, every failure is named.

One iteration draws four whole answers side by side from a model that is always right, so that every answer that
arrives counts as a vote and every one that is lost shows.
"""

import socket
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from booster import Booster, Budget, Settings, SolveResult
from providers.simulated import Fault, SimulatedModel, SimulatedServer, demo_tasks
from tests.processes import booster, configured, document, simulated_model

TASK = demo_tasks(1)[0]

CANARY = "canary-4711-secret-key"

FOUR_ANSWERS = {
    "BOOSTER_GRANULARITY": "answer",
    "BOOSTER_SCHEDULER": "system2",
    "BOOSTER_NUM_CANDIDATES": "4",
    "BOOSTER_ITERATIONS": "1",
    "LOCAL_API_KEY": CANARY,
}

Kinds = Sequence[tuple[str, int | None]]
"""Kind and HTTP status of failures."""


async def solved(
    home: Path, base_url: str, *, seconds: float = 30, **options: Any
) -> tuple[SolveResult, dict[str, Any]]:
    """Solve in this process over real HTTP; return the result and everything that was journalled."""
    env = configured(home, base_url, **{**FOUR_ANSWERS, **options})
    async with Booster.open(Settings.load(environ=env, cwd=home)) as opened:
        result = await opened.solve(TASK.task, budget=Budget(seconds=seconds))
        return result, await opened.journal.export(result.session_id)


def failures(result: SolveResult) -> list[tuple[str, int | None]]:
    """Return kind and status of the failures that the result names, in a fixed order."""
    for item in result.diagnostics["failures"]:
        assert item["stepKey"].startswith("it1/s2/answer"), "a failure says which call it was"
        assert item["message"]
    return sorted(((item["kind"], item["status"]) for item in result.diagnostics["failures"]), key=str)


def votes(result: SolveResult) -> str:
    """Return `right of drawn` as the evidence has it."""
    return votes_of(result.to_dict())


def votes_of(result: dict[str, Any]) -> str:
    """As `votes`, of a document."""
    (evidence,) = (item for item in result["evidence"] if item["kind"] == "votes")
    return str(evidence["observed"]).partition(" (")[0]


def assert_no_canary(home: Path, *texts: str) -> None:
    """The key is in no file below the home and in no text."""
    kept = [path.read_bytes() for path in home.rglob("*") if path.is_file()]
    assert kept
    assert all(b"canary" not in content for content in [*kept, *(text.encode() for text in texts)])


@pytest.mark.parametrize(
    ("fault", "named", "calls", "counted"),
    [
        ("http_500:indices=1+3", [("http_500", 500)] * 2, 6, "4 of 4"),
        ("http_429:first=1,seconds=0.3", [("http_429", 429)], 5, "4 of 4"),
        ("http_400:indices=2", [("http_400", 400)], 4, "3 of 3"),
        ("broken_json:indices=0", [("broken_json", None)], 5, "4 of 4"),
        ("no_choices:indices=0", [("no_choices", None)], 5, "4 of 4"),
        ("null_content:indices=0", [("empty", 200)], 4, "3 of 4"),
        ("refusal:indices=0", [("refusal", 200)], 4, "3 of 4"),
        ("truncated_thinking:indices=0", [("thinking_truncated", 200)], 5, "4 of 4"),
        ("error_in_200:indices=0", [("error_in_200", None)], 5, "4 of 4"),
        ("html:indices=0", [("html", None)], 5, "4 of 4"),
        ("drop:indices=0", [("connection", None)], 5, "4 of 4"),
        ("slow_body:indices=0,seconds=0.5", [], 4, "4 of 4"),
    ],
)
async def test_one_bad_reply_costs_its_siblings_nothing_and_is_named(
    tmp_path: Path, fault: str, named: Kinds, calls: int, counted: str
) -> None:
    async with SimulatedServer(SimulatedModel(accuracy=1, faults=(Fault.parse(fault),))) as server:
        result, _ = await solved(tmp_path, server.base_url)

        assert result.usage["calls"] == server.requests == calls
    assert (result.status, result.answer, result.answer_status) == ("done", TASK.answer, "agreed")
    assert failures(result) == named
    assert votes(result) == counted
    assert not result.degraded
    assert_no_canary(tmp_path, result.to_json())


@pytest.mark.parametrize(
    ("fault", "named", "calls"),
    [
        ("http_500", [("http_500", 500)] * 12, 12),
        ("http_429:seconds=60", [("http_429", 429)] * 4, 4),
        ("http_400", [("http_400", 400)] * 4, 4),
        ("http_401", [("authentication", 401)] * 4, 4),
        ("broken_json", [("broken_json", None)] * 8, 8),
        ("no_choices", [("no_choices", None)] * 8, 8),
        ("null_content", [("empty", 200)] * 4, 4),
        ("html", [("html", None)] * 8, 8),
        ("drop", [("connection", None)] * 12, 12),
    ],
)
async def test_where_every_reply_is_bad_the_run_is_degraded_and_claims_no_answer(
    tmp_path: Path, fault: str, named: Kinds, calls: int
) -> None:
    async with SimulatedServer(SimulatedModel(faults=(Fault.parse(fault),))) as server:
        result, _ = await solved(tmp_path, server.base_url)

        assert result.usage["calls"] == server.requests == calls
    assert (result.status, result.answer, result.answer_status) == ("degraded", None, "none")
    assert (result.degraded, result.confidence) == (True, 0)
    assert failures(result) == named
    assert result.to_text().startswith("DEGRADED: ")
    assert_no_canary(tmp_path, result.to_json())


async def test_the_wait_that_a_server_asks_for_is_kept(tmp_path: Path) -> None:
    fault = Fault(kind="http_429", first=1, seconds=1)
    async with SimulatedServer(SimulatedModel(accuracy=1, faults=(fault,))) as server:
        result, kept = await solved(tmp_path, server.base_url)

    (refused,) = (call for call in kept["calls"] if call["state"] == "failed")
    again = next(call for call in kept["calls"] if call["stepKey"] == refused["stepKey"] and call["attempt"] == 2)
    waited = datetime.fromisoformat(again["openedAt"]) - datetime.fromisoformat(refused["closedAt"])
    assert waited.total_seconds() >= 0.999, "the journal has milliseconds"
    assert votes(result) == "4 of 4"


async def test_a_wait_that_would_outlast_the_deadline_is_not_begun(tmp_path: Path) -> None:
    fault = Fault(kind="http_429", first=1, seconds=60)
    async with SimulatedServer(SimulatedModel(accuracy=1, faults=(fault,))) as server:
        result, _ = await solved(tmp_path, server.base_url, seconds=30)

        assert server.requests == 4
    assert failures(result) == [("http_429", 429)]
    assert votes(result) == "3 of 3"
    assert result.usage["seconds"] < 30


async def test_a_call_that_hangs_is_not_waited_for_when_its_siblings_have_long_answered(tmp_path: Path) -> None:
    fault = Fault(kind="hang", indices=(0,))
    async with SimulatedServer(SimulatedModel(accuracy=1, faults=(fault,))) as server:
        result, _ = await solved(tmp_path, server.base_url, seconds=60)

        assert result.usage["calls"] == server.requests == 4
        assert server.in_flight == 0, "the call was withdrawn, not only forgotten"
    assert failures(result) == [("cancelled", None)]
    assert (result.answer_status, votes(result)) == ("agreed", "3 of 3")
    assert result.usage["seconds"] < 30, "far from the deadline"


def test_where_every_call_hangs_the_deadline_ends_the_solve(tmp_path: Path) -> None:
    with simulated_model("--fault", "hang") as model:
        env = configured(tmp_path, model.base_url, **FOUR_ANSWERS)
        done = booster("solve", TASK.task, "--max-seconds", "3", "--json", "-q", env=env, cwd=tmp_path)

        assert model.count() == 4
    result = document(done)
    assert (done.returncode, result["status"], result["stopReason"]) == (3, "degraded", "deadline")
    assert 3 <= result["usage"]["seconds"] <= 4
    assert {item["kind"] for item in result["diagnostics"]["failures"]} <= {"timeout", "cancelled"}
    assert len(result["diagnostics"]["failures"]) == 4


def test_at_the_deadline_the_best_so_far_is_the_answer(tmp_path: Path) -> None:
    """Two answers come, two hang: not enough to leave the others behind early, but enough to say something."""
    with simulated_model("--fault", "hang:indices=0+1", "--accuracy", "1") as model:
        env = configured(tmp_path, model.base_url, **FOUR_ANSWERS)
        done = booster("solve", TASK.task, "--max-seconds", "3", "--json", "-q", env=env, cwd=tmp_path)

    result = document(done)
    assert (done.returncode, result["status"], result["answer"]) == (0, "done", TASK.answer)
    assert result["answerStatus"] == "unverified"
    assert 3 <= result["usage"]["seconds"] <= 4
    assert votes_of(result) == "2 of 2"


def test_a_refused_port_is_named_and_leaves_no_answer(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: nobody else gets the port, and nobody answers
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        env = configured(tmp_path, url, **FOUR_ANSWERS)
        done = booster("solve", TASK.task, "--json", env=env, cwd=tmp_path)

    result = document(done)
    assert (done.returncode, result["status"], result["answer"]) == (3, "degraded", None)
    assert {item["kind"] for item in result["diagnostics"]["failures"]} == {"connection"}
    assert all(url in item["message"] for item in result["diagnostics"]["failures"])
    assert_no_canary(tmp_path, done.stdout, done.stderr)


def test_a_solve_by_steps_goes_on_after_faults_of_every_kind_and_counts_them_all(tmp_path: Path) -> None:
    kinds = (
        "http_500:indices=0",
        "http_429:seconds=0.1,indices=2",
        "html:indices=4",
        "broken_json:indices=6",
        "drop:indices=8",
    )
    with simulated_model("--accuracy", "1", *(part for kind in kinds for part in ("--fault", kind))) as model:
        env = configured(
            tmp_path, model.base_url, BOOSTER_GRANULARITY="step", BOOSTER_SCHEDULER="system2", LOCAL_API_KEY=CANARY
        )
        done = booster("solve", TASK.task, "--json", env=env, cwd=tmp_path)

        result = document(done)
        assert result["usage"]["calls"] == model.count() == len(result["steps"]) + 5
    assert (done.returncode, result["answer"]) == (0, TASK.answer)
    assert {step["source"] for step in result["steps"]} == {"simulated"}
    named = [item["kind"] for item in result["diagnostics"]["failures"]]
    assert named == ["http_500", "http_429", "html", "broken_json", "connection"]
    assert_no_canary(tmp_path, done.stdout, done.stderr)


def test_a_key_that_the_server_repeats_and_the_task_holds_is_nowhere_to_be_found(tmp_path: Path) -> None:
    """The echo comes in an error's text, the task's in the journal, in progress and in the result."""
    with simulated_model() as model:
        env = {**configured(tmp_path, model.base_url, **FOUR_ANSWERS), "LOCAL_MODEL": f"unknown/{CANARY}"}
        arguments = ("--out", "summary.json", "--check", f"contains:{CANARY}", "--json")
        done = booster("solve", f"{TASK.task} My key is {CANARY}.", *arguments, env=env, cwd=tmp_path)
        exported = booster("sessions", "export", document(done)["sessionId"], env=env, cwd=tmp_path)

        assert model.count() > 0
    assert (done.returncode, exported.returncode) == (3, 0)
    assert "404" in done.stdout, "the server repeats the model that it does not have"
    assert_no_canary(tmp_path, done.stdout, done.stderr, exported.stdout, exported.stderr)
