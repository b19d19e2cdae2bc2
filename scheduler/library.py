"""One namespace: a library of prototypes, the sessions that teach it, and what they taught since it was last saved.

Whoever saves it (a file store, a database row) drives three calls: `snapshot` before writing, `saved` after a write that
succeeded, `rebase` with the newer state after one that lost to another process. Experiences that arrive in between are
kept; none is lost and none is learnt twice.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scheduler.errors import StateError
from scheduler.experience import Decided, Experience
from scheduler.policy import Policy
from scheduler.session import Session

STATE_VERSION = 1

FOREIGN_CAP = 32
"""Sessions of other processes whose `applied` is kept; the oldest are dropped. Those of killed processes stay until then."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A saved namespace."""

    rev: int
    """Number of writes so far; the base of compare-and-swap."""
    document: Mapping[str, Any]
    """What `Snapshot.document` held."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A namespace at one moment, ready to be written."""

    rev: int
    """The write succeeds only where this is still the stored revision."""
    document: dict[str, Any]
    """JSON-ready."""
    experiences: int
    """How many of the namespace's experiences it contains."""
    tracks: dict[str, dict[str, Any]]
    """What each session believed at that moment."""


class Library:
    """A shared policy and its sessions, in memory.

    Args:
        namespace: Name of the library.
        policy: A fresh policy; its knobs stay, its state is replaced by what was stored.
        stored: What was saved before, or None.

    Raises:
        StateError: The stored state is damaged, of an unknown version, or written by another policy.
    """

    def __init__(self, namespace: str, policy: Policy[Any], stored: Stored | None = None) -> None:
        self.namespace = namespace
        self.policy = policy
        self.rev = 0
        self.sessions: dict[str, Session] = {}
        self.log: list[tuple[str, Experience]] = []
        """Experiences since the last save: (session id, experience), oldest first."""
        self.applied: dict[str, int] = {}
        """Per session: how many of its experiences the library contains."""
        self.deliberated = 0
        """Decisions for System 2 since the beginning, for callers who probe a share of them."""
        self._blank = policy.dump()
        self._tracks: dict[str, dict[str, Any]] = {}
        """What each session believed when the library was last saved or loaded."""
        if stored is not None:
            self._load(stored)

    @property
    def dirty(self) -> bool:
        """Whether anything was learnt since the last save."""
        return bool(self.log)

    def attach(self, session: Session, *, applied: int = 0) -> None:
        """Let a session teach this library; `applied`: how many of its experiences the library contains already."""
        self.sessions[session.session_id] = session
        self._tracks[session.session_id] = session.dump_track()
        self.applied[session.session_id] = applied

    def detach(self, session_id: str) -> None:
        """Forget a session; what it taught stays, also in the log."""
        self.sessions.pop(session_id, None)
        self.applied.pop(session_id, None)

    def note(self, session_id: str, experience: Experience) -> None:
        """Enter what a session has just taught."""
        self.log.append((session_id, experience))
        self._count(experience)
        self.applied[session_id] = self.applied.get(session_id, 0) + 1

    def snapshot(self) -> Snapshot:
        """Return the present state for writing."""
        foreign = [name for name in self.applied if name not in self.sessions]
        kept = [*foreign[-FOREIGN_CAP:], *(name for name in self.applied if name in self.sessions)]
        document = {
            "version": STATE_VERSION,
            "policy": self.policy.name,
            "library": self.policy.dump(),
            "applied": {name: self.applied[name] for name in kept},
            "deliberated": self.deliberated,
        }
        tracks = {name: session.dump_track() for name, session in self.sessions.items()}
        return Snapshot(self.rev, document, len(self.log), tracks)

    def saved(self, snapshot: Snapshot, rev: int) -> None:
        """Note that a snapshot was written as this revision."""
        self.rev = rev
        del self.log[: snapshot.experiences]
        self._tracks = snapshot.tracks

    def rebase(self, stored: Stored | None) -> None:
        """Take over what another process saved, and learn again what was learnt here since the last save.

        Args:
            stored: The newer state; None = the namespace was reset, and only what was learnt since counts.

        Raises:
            StateError: The stored state cannot be loaded; nothing has changed then.
        """
        applied = {name: count for name, count in self.applied.items() if name in self.sessions}
        if stored is None:
            self.policy.restore(self._blank)
            self.rev, self.applied, self.deliberated = 0, {}, 0
        else:
            self._load(stored)
        self.applied = {**self.applied, **applied}
        for name, session in self.sessions.items():
            session.restore_track(self._tracks.get(name))
        closed: dict[str, Any] = {}
        for name, experience in self.log:
            self._count(experience)
            if name in self.sessions:
                self.sessions[name].observe_again(experience)
            else:
                if name not in closed:
                    closed[name] = self.policy.track()
                self.policy.observe(closed[name], experience)

    def _count(self, experience: Experience) -> None:
        self.deliberated += isinstance(experience, Decided) and experience.mode == "system2"

    def _load(self, stored: Stored) -> None:
        document = stored.document
        try:
            version, policy, library = document["version"], document["policy"], document["library"]
            applied = {str(name): int(count) for name, count in document["applied"].items()}
            deliberated = int(document.get("deliberated", 0))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise StateError(f"namespace {self.namespace!r} is damaged: {error!r}") from error
        if version != STATE_VERSION:
            raise StateError(
                f"namespace {self.namespace!r} has version {version!r}, this program reads {STATE_VERSION}"
            )
        if policy != self.policy.name:
            raise StateError(
                f"namespace {self.namespace!r} belongs to policy {policy!r}, not {self.policy.name!r}; "
                "use another namespace, or reset this one"
            )
        self.policy.restore(library)
        self.rev, self.applied, self.deliberated = stored.rev, applied, deliberated
