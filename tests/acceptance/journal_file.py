"""What a journal file holds, read past the product: a copy of the file, plain SQLite, plain JSON."""

import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Call:
    """One row of `calls`."""

    state: str
    reply: str | None
    """JSON text."""
    arrived: int | None


@dataclass(frozen=True, kw_only=True)
class Kept:
    """One session as its file has it."""

    session_id: str
    status: str
    seconds: float
    events: tuple[tuple[str, dict[str, Any]], ...]
    """Type and data, in order."""
    calls: dict[tuple[str, int], Call]
    """By step key and attempt."""

    def keys(self, state: str) -> set[tuple[str, int]]:
        """Return step key and attempt of the calls in this state."""
        return {key for key, call in self.calls.items() if call.state == state}

    @property
    def steps(self) -> list[str]:
        """Texts on the scratchpad, oldest first."""
        texts: list[str] = []
        for kind, data in self.events:
            if kind == "iteration_closed" and data["step"]:
                texts.append(data["step"]["text"])
            elif kind == "backtracked":
                texts.pop()
        return texts


def kept_sessions(home: Path) -> list[Kept]:
    """Return every session of the journal below a home; the file itself is not touched."""
    with TemporaryDirectory() as folder:
        for path in (home / "state").glob("booster.db*"):
            shutil.copy(path, folder)
        with closing(sqlite3.connect(Path(folder) / "booster.db")) as database:
            sessions = database.execute("SELECT id, status, seconds FROM sessions ORDER BY created_at, id").fetchall()
            return [_session(database, *row) for row in sessions]


def kept_session(home: Path) -> Kept:
    """Return the only session of the journal below a home."""
    (session,) = kept_sessions(home)
    return session


def _session(database: sqlite3.Connection, session_id: str, status: str, seconds: float) -> Kept:
    events = database.execute("SELECT type, data FROM events WHERE session_id = ? ORDER BY seq", (session_id,))
    calls = database.execute(
        "SELECT step_key, attempt, state, reply, arrived FROM calls WHERE session_id = ?", (session_id,)
    )
    return Kept(
        session_id=session_id,
        status=status,
        seconds=seconds,
        events=tuple((kind, json.loads(data)) for kind, data in events),
        calls={
            (key, attempt): Call(state=state, reply=reply, arrived=arrived)
            for key, attempt, state, reply, arrived in calls
        },
    )
