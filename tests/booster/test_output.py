"""Where results may be written, and that a file is whole at every moment."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from booster.errors import OutputPathError
from booster.output import output_file, refuse_user_file, write_output, write_user_file

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ("", "it is empty"),
        ("   ", "it is empty"),
        ("/etc/passwd", "it is absolute"),
        ("../x.json", "leads out of the output directory"),
        ("a/../../x.json", "leads out of the output directory"),
        ("a/../x.json", "leads out of the output directory"),
        ("~/x.json", "leads out of the output directory"),
        ("~root/x.json", "leads out of the output directory"),
        ("a\0b", "control characters"),
        ("a\nb", "control characters"),
        ("C:/x.json", "not a relative path"),
        ("a\\b.json", "not a relative path"),
        ("folder/", "names a directory"),
        (".", "names a directory"),
        ("x" * 300, "cannot be looked at"),
    ],
)
def test_a_path_that_is_not_plainly_below_the_root_is_refused(tmp_path: Path, asked: str, reason: str) -> None:
    with pytest.raises(OutputPathError, match=reason) as refused:
        output_file(asked, tmp_path)

    assert str(refused.value).startswith("outputPath: ")
    assert list(tmp_path.iterdir()) == []


def test_a_sibling_of_the_root_with_the_same_prefix_is_not_inside_it(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "root-of-evil").mkdir()

    with pytest.raises(OutputPathError):
        output_file("../root-of-evil/x.json", root)


def test_a_symbolic_link_is_refused_as_file_and_as_folder(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    root = tmp_path / "root"
    root.mkdir()
    (root / "leaf.json").symlink_to(outside / "leaf.json")
    (root / "folder").symlink_to(outside)

    for asked in ("leaf.json", "folder/x.json"):
        with pytest.raises(OutputPathError, match="symbolic link"):
            output_file(asked, root, overwrite=True)


def test_a_root_that_is_itself_a_symbolic_link_is_fine(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "root").symlink_to(tmp_path / "real")

    write_output(output_file("x.json", tmp_path / "root"), "new\n")

    assert (tmp_path / "real" / "x.json").read_text() == "new\n"


def test_directories_pipes_and_files_on_the_way_are_refused(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")

    for asked, reason in (("folder", "is a directory"), ("file/x", "not a directory"), ("pipe", "not a regular file")):
        with pytest.raises(OutputPathError, match=reason):
            output_file(asked, tmp_path, overwrite=True)


def test_an_existing_file_is_kept_unless_overwriting_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("old")

    with pytest.raises(OutputPathError, match="set `overwrite` to true"):
        output_file("x.json", tmp_path)
    write_output(output_file("x.json", tmp_path, overwrite=True), "new")

    assert (tmp_path / "x.json").read_text() == "new"


def test_missing_folders_are_made_and_nothing_else_is_left_behind(tmp_path: Path) -> None:
    file = output_file("./a//b/x.json", tmp_path)

    assert list(tmp_path.iterdir()) == [], "deciding changes nothing"
    write_output(file, "text\n")

    assert [path.relative_to(tmp_path).as_posix() for path in sorted(tmp_path.rglob("*"))] == ["a", "a/b", "a/b/x.json"]
    assert file.path.read_text() == "text\n"


def test_a_new_file_has_the_rights_that_the_users_files_have(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_output(output_file("x.json", tmp_path), "text")
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / "x.json").stat().st_mode) == 0o640


def test_a_file_that_appears_after_the_decision_is_not_replaced(tmp_path: Path) -> None:
    file = output_file("x.json", tmp_path)
    (tmp_path / "x.json").write_text("somebody else's")

    with pytest.raises(OutputPathError, match="something exists there by now"):
        write_output(file, "ours")

    assert (tmp_path / "x.json").read_text() == "somebody else's"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_folder_that_becomes_a_link_after_the_decision_does_not_lead_out(tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    outside.mkdir()
    (root / "a").mkdir(parents=True)
    file = output_file("a/x.json", root)
    (root / "a").rmdir()
    (root / "a").symlink_to(outside)

    with pytest.raises(OutputPathError, match="cannot be written"):
        write_output(file, "text")

    assert list(outside.iterdir()) == []


@given(st.text(st.sampled_from("ab./~\\ \0:é"), max_size=12))
def test_no_path_whatsoever_leads_out_of_the_root(asked: str) -> None:
    try:
        file = output_file(asked, Path("/nowhere/at/all"))
    except OutputPathError:
        return

    assert Path(os.path.normpath(file.path)).is_relative_to("/nowhere/at/all")
    assert Path(os.path.normpath(file.path)) != Path("/nowhere/at/all")


_WRITER = """
import resource, signal, sys
from pathlib import Path
from booster.output import output_file, write_output
if sys.argv[2] == "die":
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
file = output_file("x.json", Path(sys.argv[1]), overwrite=True)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_output(file, "new" * 10_000)
except Exception as error:
    print(type(error).__name__, error)
"""


def _write_in_a_child(root: Path, how: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _WRITER, str(root), how], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )


def test_a_disk_that_is_full_is_an_error_and_leaves_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("old")

    child = _write_in_a_child(tmp_path, "fail")

    assert child.stdout.startswith("OutputPathError outputPath: ")
    assert "cannot be written" in child.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]
    assert (tmp_path / "x.json").read_text() == "old"


def test_a_process_that_dies_while_it_writes_leaves_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("old")

    child = _write_in_a_child(tmp_path, "die")

    assert child.returncode == -signal.SIGXFSZ
    assert (tmp_path / "x.json").read_text() == "old"


def test_the_user_may_name_any_path_and_replace_any_file(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "result.json"

    for text in ("first", "second"):
        refuse_user_file(target)
        write_user_file(target, text)

    assert target.read_text() == "second"
    assert [path.name for path in target.parent.iterdir()] == ["result.json"]


def test_a_users_file_keeps_its_rights_and_the_link_that_leads_to_it(tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("old")
    real.chmod(0o600)
    link.symlink_to(real)

    write_user_file(link, "new")

    assert link.is_symlink()
    assert real.read_text() == "new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o600


def test_what_is_no_regular_file_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        refuse_user_file(pipe)
        write_user_file(pipe, "text")

        assert os.read(reader, 100) == b"text"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_users_path_that_cannot_work_is_refused_beforehand_and_when_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    for path in (tmp_path, tmp_path / "file" / "x.json"):
        with pytest.raises(OutputPathError):
            refuse_user_file(path)
        with pytest.raises(OutputPathError):
            write_user_file(path, "text")
