"""`booster scheduler` as a user runs it, on the journal that the loop taught."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.processes import ROOT, booster, configured, document, environment, simulated_model

TASK = "What is 17 * 23?"


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a home in which two solves have taught the scheduler."""
    home = tmp_path_factory.mktemp("taught")
    with simulated_model("--accuracy", "0") as model:
        env = configured(home, model.base_url, BOOSTER_ITERATIONS="2")
        for _ in range(2):
            assert booster("solve", TASK, "--check", "numeric:391", "-q", env=env, cwd=home).returncode in (0, 4)
    return home


def shown(home: Path, *arguments: str) -> dict[str, Any]:
    """Return what a command prints as JSON."""
    done = booster("scheduler", *arguments, "--json", env=environment(home), cwd=home)
    assert done.returncode == 0, done.stderr
    return document(done)


def test_stats_show_what_was_learnt_and_what_the_labels_rest_on(taught: Path) -> None:
    found = shown(taught, "stats")

    assert (found["namespace"], found["policy"]) == ("default", "regime")
    assert found["nLabels"] == found["labelSources"]["s1_fail"] + found["labelSources"].get("s2_probe_fail", 0)
    assert found["decisions"] == 4
    assert found["labelledShare"]["system1"] > 0
    assert found["pending"] == 0


def test_calibration_holds_predictions_against_labels(taught: Path) -> None:
    found = shown(taught, "calibration")

    assert found["scored"] == shown(taught, "stats")["nLabels"]
    assert 0 <= found["brier"] <= 1
    assert found["overall"]["n"] == found["scored"]


def test_calibration_shows_what_was_learnt_about_votes_models_and_opinions(taught: Path) -> None:
    """The model of this home is wrong at every time, and the check says so."""
    found = shown(taught, "calibration")["answers"]

    assert set(found) == {"correctness", "combined", "cascades", "opinions"}
    assert found["correctness"]["labels"] == 2
    assert found["correctness"]["a"] < 0
    assert (found["combined"], found["cascades"], found["opinions"]) == ({"labels": 0, "a": 0.0, "b": 1.5}, {}, {})


def test_prototypes_are_readable(taught: Path) -> None:
    (prototype,) = shown(taught, "prototypes")["prototypes"]
    told = booster("scheduler", "prototypes", env=environment(taught), cwd=taught).stdout

    assert prototype["rule"] in told
    assert set(prototype) >= {"id", "n", "confidence", "predErr", "situationCentroid", "readoutWeights"}


def test_a_library_goes_elsewhere_and_can_be_forgotten(taught: Path, tmp_path: Path) -> None:
    file = tmp_path / "library.json"
    written = booster("scheduler", "export", str(file), env=environment(taught), cwd=taught)
    printed = booster("scheduler", "export", env=environment(taught), cwd=taught)
    placed = shown(tmp_path, "import", str(file), "--namespace", "elsewhere")

    assert written.returncode == 0
    assert json.loads(file.read_text("utf-8")) == json.loads(printed.stdout)
    assert placed == {"namespace": "elsewhere", "nPrototypes": 1, "answerLabels": 2}
    answers = shown(tmp_path, "calibration", "--namespace", "elsewhere")["answers"]
    assert answers == shown(taught, "calibration")["answers"]
    labels = shown(taught, "stats")["nLabels"]
    assert (shown(tmp_path, "stats", "--namespace", "elsewhere")["nLabels"], shown(tmp_path, "stats")["nLabels"]) == (
        labels,
        0,
    )
    assert shown(tmp_path, "reset", "--namespace", "elsewhere") == {"namespace": "elsewhere", "reset": True}
    assert shown(tmp_path, "reset", "--namespace", "elsewhere")["reset"] is False
    assert shown(tmp_path, "stats", "--namespace", "elsewhere")["nLabels"] == 0
    assert shown(tmp_path, "calibration", "--namespace", "elsewhere")["answers"]["correctness"]["labels"] == 0


def test_what_was_learnt_about_answers_goes_elsewhere_without_a_library(taught: Path, tmp_path: Path) -> None:
    """Solves whose scheduler is forced teach no library, but what votes are worth."""
    whole = json.loads(booster("scheduler", "export", env=environment(taught), cwd=taught).stdout)
    (tmp_path / "answers.json").write_text(json.dumps({"namespace": "ns", "answers": whole["answers"]}))

    placed = shown(tmp_path, "import", "answers.json")
    exported = booster("scheduler", "export", "--namespace", "ns", env=environment(tmp_path), cwd=tmp_path)

    assert placed == {"namespace": "ns", "answerLabels": 2}
    assert json.loads(exported.stdout) == {"namespace": "ns", "answers": whole["answers"]}
    assert shown(tmp_path, "reset", "--namespace", "ns")["reset"] is True


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["stats", "--namespace", ".."], 2, "namespace: '..' cannot be a name"),
        (["export", "--namespace", "nobody"], 2, "nothing is saved under 'nobody'"),
        (["import", "absent.json"], 2, "FILE: absent.json cannot be read as JSON"),
        (["import", "list.json"], 2, "holds no library"),
        (["import", "other.json"], 1, "no exported library of version"),
        (["import", "answers.json"], 2, "FILE: answers: no state of answers"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(tmp_path: Path, arguments: list[str], code: int, said: str) -> None:
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "other.json").write_text('{"version": 99}')
    (tmp_path / "answers.json").write_text('{"answers": {}}')

    done = booster("scheduler", *arguments, env=environment(tmp_path), cwd=tmp_path)

    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert done.stderr.strip().count("\n") == 0


@pytest.mark.parametrize("what", [["scheduler"], ["core"], []])
def test_the_smoke_test_of_an_installed_server_passes(what: list[str], tmp_path: Path) -> None:
    code = f"from booster.cli.smoke import main; main({what})"

    done = subprocess.run(
        [sys.executable, "-c", code], check=False, env=environment(tmp_path), cwd=ROOT, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("smoke test passed\n")
