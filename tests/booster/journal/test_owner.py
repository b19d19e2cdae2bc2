"""Who lives, as the kernel sees it."""

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from booster.journal.owner import Owner

HOLD = """
import sys
from pathlib import Path
from booster.journal.owner import Owner
owner = Owner(Path(sys.argv[1]))
print(owner.name, flush=True)
sys.stdin.read()
"""


def test_an_owner_lives_until_it_is_closed_and_nobody_is_not_alive(tmp_path: Path) -> None:
    with closing(Owner(tmp_path)) as one, closing(Owner(tmp_path)) as other:
        assert one.is_alive(one.name)
        assert one.is_alive(other.name)
        assert one.name != other.name

        other.close()

        assert not one.is_alive(other.name)
        assert not other.is_alive(other.name)
        assert not one.is_alive(None)
        assert not one.is_alive("process-1-never")


def test_a_killed_process_is_dead_at_once_and_leaves_no_file(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        name = process.stdout.readline().strip()
        with closing(Owner(tmp_path)) as owner:
            alive_before = owner.is_alive(name)
            process.kill()
            process.wait()

            assert alive_before
            assert not owner.is_alive(name)
            assert [path.stem for path in tmp_path.iterdir()] == [owner.name]


def test_files_of_the_dead_are_swept_when_a_process_starts(tmp_path: Path) -> None:
    (tmp_path / "process-1-dead.owner").touch()

    with closing(Owner(tmp_path)) as living, closing(Owner(tmp_path)):
        assert not (tmp_path / "process-1-dead.owner").exists()
        assert living.is_alive(living.name)

    assert list(tmp_path.iterdir()) == []


def test_a_stored_name_cannot_point_out_of_the_directory(tmp_path: Path) -> None:
    victim = tmp_path / "victim.owner"
    victim.touch()

    with closing(Owner(tmp_path / "owners")) as owner:
        owner.is_alive("../victim")

    assert victim.exists()


def test_owner_files_are_for_their_user_only(tmp_path: Path) -> None:
    with closing(Owner(tmp_path / "owners")):
        (path,) = (tmp_path / "owners").iterdir()

        assert path.stat().st_mode & 0o777 == 0o600
        assert os.stat(tmp_path / "owners").st_mode & 0o777 == 0o700
