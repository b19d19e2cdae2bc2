"""The scheduler as the loop consults it: one library of prototypes per namespace, shared by processes, one session a solve.

The journal is the scheduler's only memory: its row of `scheduler_state` holds the library under a revision, and the events
of a solve hold whatever the library may not have yet. A process may be killed at any moment: what it had learnt is learnt
again when the session is resumed, and nothing is learnt twice.

Above: `booster.work`. Below: `scheduler` decides and learns in memory; `booster.scheduler_store` keeps it.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import scheduler
from booster.experience import Event, begins_a_task, kept_count, lived_through, seen, taught
from booster.journal import MemoryJournal
from booster.scheduler_store import JournalStore, StateJournal
from booster.session import Decision, Session
from booster.signals import UNNOTICED
from scheduler import Costs
from scheduler.persistence import PersistentService
from scheduler.types import Outcome, Signals

log = logging.getLogger("booster")

BLIND = "no check of this step could tell a cheap attempt that fails from a good one"
"""Why System 2 is taken where a failure would go unnoticed: its cost there is no figure to show."""


class SharedScheduler:
    """The libraries of this process; one that no solve uses is not kept in memory.

    Args:
        journal: Keeps them.
    """

    def __init__(self, journal: StateJournal) -> None:
        self._kept = PersistentService(JournalStore(journal))
        self._unkept = PersistentService(JournalStore(MemoryJournal()))

    @property
    def namespaces(self) -> list[str]:
        """Names of the libraries in memory."""
        return [library.namespace for tools in (self._kept, self._unkept) for library in tools.service.libraries()]

    async def judgement(self, session: Session, events: Sequence[Event]) -> "LearnedJudgement":
        """Return the scheduler's view of one solve, brought to where its events left it.

        A namespace that cannot be read, or that another program wrote, is left as it is: the solve learns in memory then.

        Args:
            session: The solve.
            events: Of its journal, oldest first.
        """
        lived, kept = lived_through(events), kept_count(events)
        namespace = session.config.namespace
        tools = self._kept
        try:
            await tools.resume_session(session.id, namespace, lived, saved=kept)
        except scheduler.SchedulerError as error:
            log.warning(
                "the scheduler's state is left alone and not used: %s; `booster scheduler reset --namespace %s` begins anew",
                error, namespace,
            )  # fmt: skip
            tools = self._unkept
            await tools.resume_session(session.id, namespace, lived)
        return LearnedJudgement(
            tools, session.id, namespace, kept=kept if tools is self._kept else None,
            between_tasks=begins_a_task(lived), probe_rate=session.config.probe_rate,
        )  # fmt: skip


class LearnedJudgement:
    """Fulfils `booster.attempt.Judgement` for one solve; `SharedScheduler.judgement` makes it.

    Args:
        tools: Holds the session.
        session_id: The solve's, and the beginning of every decision id.
        namespace: Its library.
        kept: Experiences of the session that are known to be saved; None = nothing is saved here.
        between_tasks: The next decision begins a task.
        probe_rate: Share of System 2 decisions, in [0, 1], that ask for a probe.
    """

    def __init__(
        self,
        tools: PersistentService,
        session_id: str,
        namespace: str,
        *,
        kept: int | None,
        between_tasks: bool,
        probe_rate: float,
    ) -> None:
        self._tools, self._session_id, self._namespace = tools, session_id, namespace
        self._kept, self._between_tasks, self._probe_rate = kept, between_tasks, probe_rate
        self._session = tools.service.session(session_id)

    def decide(self, signals: Signals, costs: Costs) -> Decision:
        """Ask the library."""
        self._session.costs = costs
        if self._between_tasks:
            self._session.new_task()
            self._between_tasks = False
        decided = self._session.decide(signals)
        probe = decided.mode == "system2" and self._probe_is_due()
        document = replace(decided, probe=probe).as_dict()
        audit = {name: value for name, value in document.items() if name not in ("decision_id", "mode", "reason")}
        audit["signals"] = seen(signals)
        if costs.damage >= UNNOTICED:
            audit = {name: value for name, value in audit.items() if name not in ("expected_cost_s1", "rob_gain")}
        reason = decided.reason if costs.damage < UNNOTICED else BLIND
        return Decision(mode=decided.mode, decision_id=decided.decision_id, reason=reason, audit=audit)

    def _probe_is_due(self) -> bool:
        """Say whether the latest System 2 decision is one of the share; counted over the namespace, for a solve is too short."""
        library = self._tools.service.library(self._namespace)
        count = library.deliberated if library is not None else 0
        return int(count * self._probe_rate) > int((count - 1) * self._probe_rate)

    def report(self, decision: Decision, outcome: Outcome, *, rework: bool = False) -> Mapping[str, Any]:
        """Teach the library a fact; return what it made of it, for the journal."""
        try:
            return taught(self._session.report(decision.decision_id, outcome, rework=rework))
        except (
            scheduler.UnknownDecisionError
        ):  # it was made before the journal kept what is needed to make it known again
            return {}

    def end_task(self, *, success: bool) -> bool:
        """Say how the task ended; return whether there was one to end."""
        if self._between_tasks:
            return False
        self._session.feedback(success)
        self._between_tasks = True
        return True

    async def save(self) -> tuple[Event, ...]:
        """Make what was learnt durable; return what to journal of it: nothing where nothing was new or it did not work."""
        if self._kept is None:
            return ()
        try:
            await self._tools.save(self._namespace)
        except scheduler.SchedulerError as error:  # the answer is there; it is written with the next solve
            log.warning("the scheduler's state could not be saved: %s", error)
            return ()
        library = self._tools.service.library(self._namespace)
        count = library.applied.get(self._session_id, 0) if library is not None else 0
        if count <= self._kept:
            return ()
        self._kept = count
        return (("learnt", {"experiences": count}),)

    def close(self) -> None:
        """Leave the session; a library that nobody uses is dropped, one with something unsaved never is."""
        library = self._tools.service.library(self._namespace)
        if self._kept is None or (library is not None and library.applied.get(self._session_id, 0) <= self._kept):
            self._tools.service.close_session(self._session_id)
            self._tools.service.unload(self._namespace)


class ForcedJudgement:
    """Fulfils `booster.attempt.Judgement` for a solve whose `scheduler` setting decides: asks nothing and teaches nothing."""

    def decide(self, signals: Signals, costs: Costs) -> Decision:
        """Never called: the setting decides."""
        raise NotImplementedError("the scheduler setting decides")

    def report(self, decision: Decision, outcome: Outcome, *, rework: bool = False) -> Mapping[str, Any]:
        """Teach nothing."""
        return {}

    def end_task(self, *, success: bool) -> bool:
        """Say that there was no task."""
        return False

    async def save(self) -> tuple[Event, ...]:
        """Save nothing."""
        return ()

    def close(self) -> None:
        """Leave nothing."""
