"""The scheduler as the loop consults it: one library of prototypes per namespace, shared by processes, one session a solve.

Above: `booster.app`. Below: `scheduler` decides and learns in memory; the journal keeps the library under a revision.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, Protocol

import scheduler
from booster.journal.errors import JournalError, StateConflict
from booster.session import Decision
from scheduler.experience import Experience
from scheduler.policy import Policy
from scheduler.registry import make_policy
from scheduler.session import Session as SchedulerSession
from scheduler.types import Outcome, Signals

log = logging.getLogger("booster")

POLICY = "auction"
"""Policy of the loop."""

ATTEMPTS = 20
"""Times that a library is merged with what other processes wrote in between before giving up."""


class StateStore(Protocol):
    """What is needed of the journal."""

    async def load_state(self, namespace: str) -> tuple[int, dict[str, Any]] | None:
        """Return revision and state, or None."""

    async def save_state(self, namespace: str, rev: int | None, state: dict[str, Any]) -> int:
        """Write if the stored revision is still `rev`; return the new one."""


class Library:
    """What one namespace has learnt, in this process."""

    def __init__(self, store: StateStore, namespace: str) -> None:
        self._store, self._namespace = store, namespace
        self._policy: Policy[Any] = make_policy(POLICY)
        self._rev: int | None = None
        self._since: list[Experience] = []
        self._writing = asyncio.Lock()

    async def load(self) -> None:
        """Take over what is stored; experience of this process that is not stored yet is learnt on top."""
        stored = await self._store.load_state(self._namespace)
        if stored is None:
            return
        self._rev, state = stored
        if state.get("policy") != POLICY:
            raise scheduler.StateError(
                f"namespace {self._namespace!r} holds the policy {state.get('policy')!r}, not {POLICY!r}"
            )
        self._policy.restore(state["library"])
        track = self._policy.track()
        for experience in self._since:
            self._policy.observe(track, experience)

    async def save(self) -> None:
        """Write what was learnt; the loser of a race learns its own experience on top of the winner's and tries again."""
        async with self._writing:
            await self._save()

    async def _save(self) -> None:
        for _ in range(ATTEMPTS):
            if not self._since:
                return
            written, state = len(self._since), {"policy": POLICY, "library": self._policy.dump()}
            try:
                self._rev = await self._store.save_state(self._namespace, self._rev, state)
            except StateConflict:
                await self.load()
                continue
            del self._since[:written]
            return
        raise StateConflict(
            f"scheduler state of namespace {self._namespace!r} changed {ATTEMPTS} times while it was written"
        )

    def session(self, session_id: str) -> SchedulerSession:
        """Return the scheduler's view of one solve."""
        return SchedulerSession(self._policy, session_id, on_experience=self._since.append)


class LearnedJudgement:
    """Fulfils `booster.attempt.Judgement` for one solve. A solve whose mode is forced asks nothing and teaches nothing.

    Args:
        library: What the solve's namespace has learnt.
        session_id: Beginning of every decision id.
        decided: Decisions that the session was given before, so that no id is used twice.
    """

    def __init__(self, library: Library, session_id: str, *, decided: int = 0) -> None:
        self._library, self._session_id, self._before = library, session_id, decided
        self._session: SchedulerSession | None = None

    def decide(self, signals: Signals) -> Decision:
        """Ask the library."""
        if self._session is None:
            self._session = self._library.session(self._session_id)
            self._session.steps = self._before
            self._session.new_task()
        decided = self._session.decide(signals)
        audit: Mapping[str, Any] = {
            name: value for name, value in decided.as_dict().items() if name not in ("decision_id", "mode")
        }
        return Decision(mode=decided.mode, decision_id=decided.decision_id, reason=decided.reason, audit=audit)

    def report(self, decision: Decision, outcome: Outcome, *, rework: bool = False) -> None:
        """Teach the library a fact; a decision that another process made before it was killed is not known here."""
        if self._session is None:
            return
        try:
            self._session.report(decision.decision_id, outcome, rework=rework)
        except scheduler.UnknownDecisionError:
            return

    async def feedback(self, *, success: bool | None) -> None:
        """End the task; None = nobody knows whether it succeeded."""
        if self._session is None:
            return
        if success is not None:
            self._session.feedback(success)
        try:
            await self._library.save()
        except JournalError as error:  # the answer is there; what was learnt is written with the next solve
            log.warning("the scheduler's state could not be saved: %s", error)
