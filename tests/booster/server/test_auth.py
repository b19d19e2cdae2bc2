"""The token and its file, one-time links, and browsers that were let in."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from booster.errors import UsageError
from booster.server.auth import LINK_SECONDS, MOST_BROWSERS, SIGNED_IN_SECONDS, Access, TokenFileError, load_token

GIVEN = "x" * 32


class AClock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_token_is_made_once_and_is_its_users_alone(tmp_path: Path) -> None:
    """256 bits, in a file that nobody else can read, whatever the umask is."""
    before = os.umask(0)
    try:
        first = load_token(tmp_path / "home")
    finally:
        os.umask(before)

    path = tmp_path / "home" / "token"
    assert load_token(tmp_path / "home") == first
    assert first.place == str(path)
    assert len(first.value) >= 43
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path / "home") == ["token"]
    assert first.value not in repr(first)


def test_processes_that_start_at_once_get_the_same_token(tmp_path: Path) -> None:
    """Whoever is first decides; nobody reads half a file."""
    program = f"from pathlib import Path; from booster.server.auth import load_token; print(load_token(Path({str(tmp_path)!r})).value)"
    pipe = subprocess.PIPE

    started = [subprocess.Popen([sys.executable, "-c", program], stdout=pipe, text=True) for _ in range(4)]
    tokens = {process.communicate(timeout=60)[0] for process in started}

    assert [process.returncode for process in started] == [0] * 4
    assert tokens == {load_token(tmp_path).value + "\n"}


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_a_token_that_others_can_reach_is_refused(tmp_path: Path, mode: int) -> None:
    """The text says how to mend it, and does not hold the token."""
    token = load_token(tmp_path).value
    (tmp_path / "token").chmod(mode)

    with pytest.raises(TokenFileError, match="chmod 600") as refused:
        load_token(tmp_path)

    assert token not in str(refused.value)


@pytest.mark.parametrize(
    "content", [b"", b"short\n", b"\xff" * 64, b"two words that are long enough to be one token\n"]
)
def test_a_file_that_holds_no_token_is_refused(tmp_path: Path, content: bytes) -> None:
    """It is neither used nor overwritten."""
    path = tmp_path / "token"
    path.write_bytes(content)
    path.chmod(0o600)

    with pytest.raises(TokenFileError, match="holds no token"):
        load_token(tmp_path)

    assert path.read_bytes() == content


def test_a_link_in_the_place_of_the_token_is_not_followed(tmp_path: Path) -> None:
    """Whoever put it there could read what is written."""
    (tmp_path / "token").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(TokenFileError, match="token"):
        load_token(tmp_path)

    assert not (tmp_path / "elsewhere").exists()


def test_a_pipe_in_the_place_of_the_token_does_not_hang(tmp_path: Path) -> None:
    """Nobody would ever write to it."""
    os.mkfifo(tmp_path / "token", 0o600)

    with pytest.raises(TokenFileError, match="no regular file"):
        load_token(tmp_path)


def test_a_home_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    """With the way around it."""
    (tmp_path / "file").write_text("x")

    with pytest.raises(TokenFileError, match="BOOSTER_TOKEN"):
        load_token(tmp_path / "file" / "home")


def test_a_token_of_the_users_own_touches_no_file(tmp_path: Path) -> None:
    """Containers have nowhere to keep one."""
    token = load_token(tmp_path / "home", GIVEN)

    assert (token.value, token.place) == (GIVEN, "BOOSTER_TOKEN")
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("given", ["x" * 31, "x" * 31 + " x", "ü" * 40, ""])
def test_a_weak_token_is_refused_without_showing_it(tmp_path: Path, given: str) -> None:
    """The text names variable and rule."""
    with pytest.raises(UsageError, match="BOOSTER_TOKEN: .*32 characters") as refused:
        load_token(tmp_path, given)

    assert not given or given not in str(refused.value)


def test_only_the_token_is_the_token() -> None:
    """Whatever bytes arrive in its place."""
    access = Access(GIVEN)

    assert access.knows(GIVEN)
    assert not any(access.knows(text) for text in ("", GIVEN[:-1], GIVEN + "x", "ü", "\udcff"))
    assert not Access(None).knows("")


def test_a_link_works_once() -> None:
    """Whoever finds it in a history finds nothing."""
    access = Access(GIVEN)
    code = access.new_link()

    assert [access.redeem(code), access.redeem(code), access.redeem("made up")] == [True, False, False]


def test_a_link_works_for_some_minutes_only() -> None:
    """A terminal's scrollback is long."""
    clock = AClock()
    access = Access(GIVEN, clock)
    code = access.new_link()
    clock.now += LINK_SECONDS

    assert not access.redeem(code)


def test_a_browser_is_remembered_until_its_time_is_over_or_it_leaves() -> None:
    """Each for itself."""
    clock = AClock()
    access = Access(GIVEN, clock)
    first, second = access.sign_in(), access.sign_in()

    access.sign_out(first)
    remembered = access.remembers(first), access.remembers(second), access.remembers("made up")
    clock.now += SIGNED_IN_SECONDS

    assert remembered == (False, True, False)
    assert not access.remembers(second)


def test_the_browsers_that_are_remembered_are_bounded() -> None:
    """One more signs the earliest out."""
    access = Access(GIVEN)
    cookies = [access.sign_in() for _ in range(MOST_BROWSERS + 1)]

    assert [access.remembers(cookie) for cookie in (cookies[0], cookies[1], cookies[-1])] == [False, True, True]
