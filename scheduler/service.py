"""Sessions by name: what a caller does through nine tools, in memory and without a clock.

Above: `server` (MCP), `local` (with a file store), the booster's loop (with its journal). A session belongs to a namespace;
all sessions of a namespace share one library. Every method answers with JSON-ready values.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from scheduler.errors import InvalidInputError, UnknownSessionError
from scheduler.experience import Experience
from scheduler.library import Library, Stored
from scheduler.registry import make_policy
from scheduler.session import Session
from scheduler.types import Costs, Outcome, Signals

SESSION_OPTIONS = {"probeRate": "probe_rate", "calibWindow": "calib_window"}
POLICY_OPTIONS = {
    "canGrow": "can_grow",
    "canShift": "can_shift",
    "compactCost": "compact_cost",
    "cut": "cut",
    "decision": "decision",
    "every": "every",
    "explore": "explore",
    "flips": "flips",
    "learningRate": "learning_rate",
    "maxRegimes": "max_regimes",
    "missTarget": "miss_target",
    "quadratic": "quadratic",
    "rework": "rework",
    "stepRates": "step_rates",
    "taskRates": "task_rates",
    "tau": "tau",
    "threshold": "threshold",
}
"""Names of options on the wire -> settings of the policies."""
DEFAULT_POLICY = "regime"


class Service:
    """All open sessions and their libraries.

    Args:
        on_experience: Called with (namespace, session id, experience) after it was learnt, for callers that keep a log.
    """

    def __init__(self, on_experience: Callable[[str, str, Experience], None] | None = None) -> None:
        self._libraries: dict[str, Library] = {}
        self._namespaces: dict[str, str] = {}
        """Session id -> namespace."""
        self._settings: dict[str, tuple[str, dict[str, Any]]] = {}
        """Namespace -> policy and knobs it was opened with."""
        self._on_experience = on_experience

    def library(self, namespace: str) -> Library | None:
        """Return a namespace's library if it is in memory."""
        return self._libraries.get(namespace)

    def libraries(self) -> list[Library]:
        """Return every library in memory."""
        return list(self._libraries.values())

    def session(self, session_id: str) -> Session:
        """Return an open session.

        Raises:
            UnknownSessionError: It is not open.
        """
        return self._library(session_id).sessions[session_id]

    def namespace_of(self, session_id: str) -> str:
        """Return the namespace of an open session.

        Raises:
            UnknownSessionError: It is not open.
        """
        return self._library(session_id).namespace

    def load(
        self,
        namespace: str,
        *,
        policy: str | None = None,
        opts: Mapping[str, Any] | None = None,
        stored: Stored | None = None,
    ) -> Library:
        """Bring a namespace into memory; one that is there already stays as it is.

        Args:
            namespace: Name of the library.
            policy: Name of the policy; None = whatever the stored state or the open library has, else `regime`.
            opts: Options on the wire; those of the session are ignored here.
            stored: What was saved before, or None.

        Raises:
            InvalidInputError: An unknown policy or option, or others than the open library has.
            StateError: The stored state cannot be loaded.
        """
        knobs = _renamed(opts or {}, POLICY_OPTIONS)
        library = self._libraries.get(namespace)
        if library is not None:
            had_policy, had_knobs = self._settings[namespace]
            if (policy is not None and policy != had_policy) or (knobs and knobs != had_knobs):
                raise InvalidInputError(
                    "policy", f"namespace {namespace!r} is open with policy {had_policy!r} and options {had_knobs!r}"
                )
            return library
        if policy is None:
            policy = str(stored.document.get("policy", DEFAULT_POLICY)) if stored else DEFAULT_POLICY
        library = Library(namespace, make_policy(policy, **knobs), stored)
        self._libraries[namespace], self._settings[namespace] = library, (policy, knobs)
        return library

    def unload(self, namespace: str) -> None:
        """Take a library without open sessions out of memory."""
        library = self._libraries.get(namespace)
        if library is not None and not library.sessions:
            del self._libraries[namespace], self._settings[namespace]

    def open_session(
        self,
        session_id: str,
        namespace: str = "default",
        *,
        policy: str | None = None,
        costs: Costs | None = None,
        opts: Mapping[str, Any] | None = None,
        stored: Stored | None = None,
        resumed: Session | None = None,
        applied: int = 0,
    ) -> dict[str, Any]:
        """Open a session, or resume it where one of this id is open.

        Args:
            session_id: Name of the session, unique in this service.
            namespace: Library to decide with and to teach.
            policy: Policy of the library; see `load`.
            costs: What the two modes cost this caller.
            opts: Options on the wire: `SESSION_OPTIONS` and `POLICY_OPTIONS`.
            stored: What was saved of the namespace, where it is not in memory yet.
            resumed: A session of this id that was brought back from a log.
            applied: How many of its experiences the library contains already.

        Raises:
            InvalidInputError: An empty id, an unknown policy or option, or the session is open in another namespace.
            StateError: The stored state cannot be loaded.
        """
        if not session_id:
            raise InvalidInputError("sessionId", "is empty")
        home = self._namespaces.get(session_id, namespace)
        if home != namespace:
            raise InvalidInputError("namespace", f"session {session_id!r} is open in namespace {home!r}")
        library = self.load(namespace, policy=policy, opts=opts, stored=stored)
        if session_id not in library.sessions:
            session = resumed or Session(
                library.policy, session_id, costs=costs, **_renamed(opts or {}, SESSION_OPTIONS)
            )
            library.attach(session, applied=applied)
            session.on_experience = self._listener(library, session_id)
            self._namespaces[session_id] = namespace
        return {
            "sessionId": session_id,
            "namespace": namespace,
            "loadedPrototypes": library.policy.n_prototypes if library.policy.n_labels else 0,
            "mu": round(library.policy.mu, 4),
        }

    def new_task(self, session_id: str) -> dict[str, Any]:
        """Begin a task."""
        session = self.session(session_id)
        session.new_task()
        return {"ok": True, **_summary(session)}

    def decide_step(self, session_id: str, signals: Signals) -> dict[str, Any]:
        """Choose how much thought the next step gets."""
        return self.session(session_id).decide(signals).as_dict()

    def report_outcome(
        self,
        session_id: str,
        *,
        observed_criticality: float | None = None,
        used_system2: bool | None = None,
        was_deep: bool | None = None,
        decision_id: str | None = None,
        outcome: Outcome | None = None,
        verifier_recall: float = 1.0,
        rework: bool = False,
        signals: Signals | None = None,
    ) -> dict[str, Any]:
        """Tell what came of a step; `Session.report` documents the arguments and errors."""
        result = self.session(session_id).report(
            decision_id,
            outcome,
            verifier_recall,
            observed_criticality,
            rework,
            used_system2=used_system2,
            was_deep=was_deep,
            signals=signals,
        )
        return {
            "ok": True,
            "decision_id": result.decision_id,
            "label": None if result.label is None else round(result.label, 4),
            "weight": result.weight,
            "label_source": result.label_source,
            "nPrototypes": result.n_prototypes,
            "pollution": round(result.pollution, 4),
        }

    def task_feedback(self, session_id: str, success: bool) -> dict[str, Any]:
        """End a task."""
        session = self.session(session_id)
        session.feedback(success)
        return {"ok": True, **_summary(session)}

    def get_stats(self, session_id: str) -> dict[str, Any]:
        """Return counts and the health of the labels."""
        library = self._library(session_id)
        return {"namespace": library.namespace, **library.sessions[session_id].stats()}

    def get_calibration(self, session_id: str) -> dict[str, Any]:
        """Return how well predictions met labels lately, and whether they improve."""
        return self.session(session_id).calibration.report()

    def dump_prototypes(self, session_id: str) -> dict[str, Any]:
        """Return a readable account of every prototype."""
        library = self._library(session_id)
        return {
            "namespace": library.namespace,
            "policy": library.policy.name,
            "mu": round(library.policy.mu, 4),
            "prototypes": library.policy.prototypes(),
        }

    def close_session(self, session_id: str) -> dict[str, Any]:
        """Close a session; what it taught stays in the library."""
        library = self._library(session_id)
        library.detach(session_id)
        del self._namespaces[session_id]
        return {"ok": True, "persistedPrototypes": library.policy.n_prototypes if library.policy.n_labels else 0}

    def _library(self, session_id: str) -> Library:
        namespace = self._namespaces.get(session_id)
        if namespace is None:
            raise UnknownSessionError(f"no session {session_id!r} is open; call open_session first")
        return self._libraries[namespace]

    def _listener(self, library: Library, session_id: str) -> Callable[[Experience], None]:
        def listen(experience: Experience) -> None:
            library.note(session_id, experience)
            if self._on_experience is not None:
                self._on_experience(library.namespace, session_id, experience)

        return listen


def _summary(session: Session) -> dict[str, Any]:
    return {"mu": round(session.policy.mu, 4), "nPrototypes": session.policy.n_prototypes}


def _renamed(opts: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return the options that `names` lists under their inner names.

    Raises:
        InvalidInputError: An option nobody knows.
    """
    known: Sequence[str] = sorted({*SESSION_OPTIONS, *POLICY_OPTIONS})
    for name in opts:
        if name not in known:
            raise InvalidInputError("opts", f"unknown option {name!r}; known are {', '.join(known)}")
    return {names[name]: value for name, value in opts.items() if name in names}
