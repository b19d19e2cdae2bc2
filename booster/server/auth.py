"""Who may use the HTTP door: one token, made once and kept in a file, and browsers that have shown it.

A browser cannot add a header to the requests that it makes by itself, so it trades the token, or a link that works once,
for a cookie. What is behind a cookie lives in this process's memory: a restart signs every browser out.
"""

import hmac
import os
import secrets
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from booster.errors import BoosterError, UsageError

TOKEN_BYTES: Final = 32
"""Random bytes of a token that we make."""

MIN_TOKEN_CHARS: Final = 32
"""Characters that a token given by the user has at least."""

TOKEN_FILE: Final = "token"
"""Its name in the home directory."""

LINK_SECONDS: Final = 300.0
"""How long a one-time link works."""

SIGNED_IN_SECONDS: Final = 12 * 3600.0
"""How long a browser stays signed in."""

MOST_WRONG: Final = 10
"""Wrong tokens that one address may put into the form before it has to wait."""

WRONG_SECONDS: Final = 60.0
"""Time after which wrong tokens are forgotten."""

MOST_ADDRESSES: Final = 1024
"""Addresses whose wrong tokens are counted."""

MOST_BROWSERS: Final = 256
"""Browsers signed in at once; one more signs the earliest out."""


class TokenFileError(BoosterError):
    """The token file cannot be used; the text names it and says how to mend that."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Token:
    """The secret that opens the door, and where its user finds it."""

    value: str
    place: str
    """A path or the name of a variable, for people."""

    def __repr__(self) -> str:
        return f"Token(place={self.place!r})"


def load_token(home: Path, given: str | None = None) -> Token:
    """Return the token of an installation; made at the first call. Processes that call at once get the same one.

    Args:
        home: Directory of the token file; made where it is missing.
        given: The user's own token (`BOOSTER_TOKEN`); no file is read or written then.

    Raises:
        UsageError: the given token is too short or could not be sent in a header.
        TokenFileError: the file is not this user's alone, or cannot be read or written.
    """
    if given is not None:
        if len(given) < MIN_TOKEN_CHARS or not (given.isascii() and given.isprintable() and " " not in given):
            raise UsageError(
                f"BOOSTER_TOKEN: a token has at least {MIN_TOKEN_CHARS} characters and no blanks; "
                "leave it out to have one made",
                field="BOOSTER_TOKEN",
            )
        return Token(value=given, place="BOOSTER_TOKEN")
    path = home / TOKEN_FILE
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not os.path.lexists(path):
            _create(path)
        return Token(value=_read(path), place=str(path))
    except OSError as error:
        raise TokenFileError(f"{path}: cannot be used ({error.strerror}); mend that or set BOOSTER_TOKEN") from error


def _create(path: Path) -> None:
    """Put a new token in place, whole or not at all; a file that somebody else put there first stays."""
    temporary = path.with_name(f".{path.name}-{secrets.token_hex(8)}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(TOKEN_BYTES) + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.link(temporary, path)
    except FileExistsError:
        pass  # another process was faster: its token is the token
    finally:
        os.unlink(temporary)


def _read(path: Path) -> str:
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise TokenFileError(f"{path}: is no regular file; remove it to have a new one made")
        if found.st_uid != os.geteuid():
            raise TokenFileError(f"{path}: belongs to another user; remove it to have a new one made")
        if stat.S_IMODE(found.st_mode) & 0o077:
            raise TokenFileError(
                f"{path}: others can read or change it; run `chmod 600 {path}`, or remove it to have a new one made"
            )
        token = file.read(4096).decode("utf-8", errors="replace").strip()
    if len(token) < MIN_TOKEN_CHARS or not (token.isascii() and token.isprintable() and " " not in token):
        raise TokenFileError(f"{path}: holds no token; remove it to have a new one made")
    return token


class Access:
    """What opens the door: the token, one-time links, and the browsers that were let in.

    Args:
        token: The secret; None = everybody may enter.
        clock: Seconds that never go back.
    """

    def __init__(self, token: str | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._token = None if token is None else token.encode()
        self._clock = clock
        self._links: dict[str, float] = {}
        self._browsers: dict[str, float] = {}

    @property
    def is_open(self) -> bool:
        """Whether no token is asked for."""
        return self._token is None

    def knows(self, token: str) -> bool:
        """Say whether this is the token."""
        return self._token is not None and hmac.compare_digest(token.encode(errors="surrogateescape"), self._token)

    def new_link(self) -> str:
        """Return a code that signs one browser in, once."""
        now = self._clock()
        self._links = {code: until for code, until in self._links.items() if until > now}
        code = secrets.token_urlsafe(TOKEN_BYTES)
        self._links[code] = now + LINK_SECONDS
        return code

    def redeem(self, code: str) -> bool:
        """Say whether the code of a link lets somebody in; it never does again."""
        until = self._links.pop(code, None)
        return until is not None and until > self._clock()

    def sign_in(self) -> str:
        """Return the cookie of a browser that has shown the token or a link."""
        while len(self._browsers) >= MOST_BROWSERS:
            del self._browsers[next(iter(self._browsers))]
        cookie = secrets.token_urlsafe(TOKEN_BYTES)
        self._browsers[cookie] = self._clock() + SIGNED_IN_SECONDS
        return cookie

    def remembers(self, cookie: str) -> bool:
        """Say whether the cookie is one of a browser that is signed in."""
        until = self._browsers.get(cookie)
        if until is not None and until <= self._clock():
            del self._browsers[cookie]
            return False
        return until is not None

    def sign_out(self, cookie: str) -> None:
        """Forget a browser."""
        self._browsers.pop(cookie, None)


class Tries:
    """Counts the wrong tokens that each address has tried of late.

    Nobody guesses 32 characters; whoever tries all the same is not to be worth more than a few answers a minute.

    Args:
        clock: Seconds that never go back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._wrong: dict[str, tuple[int, float]] = {}

    def wait(self, address: str) -> float:
        """Return the seconds that an address has to wait before it may try again; 0 = none."""
        count, until = self._wrong.get(address, (0, 0.0))
        return max(0.0, until - self._clock()) if count >= MOST_WRONG else 0.0

    def wrong(self, address: str) -> None:
        """Count a wrong token."""
        now = self._clock()
        count, until = self._wrong.pop(address, (0, 0.0))
        while len(self._wrong) >= MOST_ADDRESSES:
            del self._wrong[next(iter(self._wrong))]
        self._wrong[address] = (count + 1, until) if until > now else (1, now + WRONG_SECONDS)


def cookie_name(port: int) -> str:
    """Return the cookie's name: browsers keep cookies by host and not by port, and a host may have several doors."""
    return f"booster_{port}"
