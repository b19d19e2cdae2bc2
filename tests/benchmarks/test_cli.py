"""The entry points of what measures, from the command line."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.cli import MEASUREMENTS, run_bench

ROOT = Path(__file__).parents[2]


def test_the_demonstration_writes_its_summary_and_says_that_it_is_simulated(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from benchmarks.cli import demo; demo()", "--tasks", "2"]

    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "simulated" in done.stdout
    document = json.loads((tmp_path / "summary.json").read_text("utf-8"))
    assert document["simulated"]
    assert {step["source"] for step in document["steps"]} == {"simulated"}


def test_the_help_lists_every_measurement(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as asked:
        run_bench(["--help"])

    assert asked.value.code == 0
    listed = capsys.readouterr().out
    assert all(f"  {name} " in listed for name in MEASUREMENTS)


@pytest.mark.parametrize("name", ["overhead", "scheduler"])
def test_a_measurement_takes_its_own_options(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_bench([name, "--help"]) == 0
    assert "usage:" in capfd.readouterr().out


def test_an_unknown_measurement_is_refused() -> None:
    with pytest.raises(SystemExit) as refused:
        run_bench(["speed"])

    assert refused.value.code == 2


def test_the_exit_code_of_a_measurement_is_handed_on() -> None:
    assert run_bench(["overhead", "--no-such-option"]) == 2
