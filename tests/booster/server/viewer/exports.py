"""Sessions as the journal exports them, written by hand: what the tests of the viewer's pure parts share."""

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from booster.codec import encode
from booster.config import Config
from booster.events import advance, session_from_spec
from booster.result import SolveResult, session_result
from booster.session import Budget, Decision, Evidence, Iteration, Opened, PooledAnswer, Problem, Step
from providers.types import Proposal
from tests.builders import DEEP, a_score
from verifier.types import Candidate, Check, CheckResult

Entry = tuple[str, Mapping[str, Any]]

LEARNED = Decision(
    mode="system1", decision_id="ses_1.1", reason="System 1 would fail with p=0.20, not above the threshold 0.60",
    audit={
        "p_critical": 0.2, "threshold": 0.6, "expected_cost_s1": 1.5, "expected_cost_s2": 5.0, "mu": 1.25, "policy": "regime",
        "contributions": {"bias": -0.5, "criticality_hint": 0.25}, "signals": {"criticality_hint": 0.25, "progress": 0.0},
    },
)  # fmt: skip


def opened(iteration: int, decision: Decision = DEEP) -> Entry:
    """Return the beginning of an iteration."""
    return "iteration_opened", encode(Opened(iteration=iteration, granularity="step", decision=decision))


def candidate(key: str, text: str = "Fill the jug", *, total: float = 0.3, **fields: Any) -> Candidate:
    """Return a scored candidate; `answer` and `rationale` go into its proposal."""
    proposal = Proposal(text=text, rationale=fields.pop("rationale", "because"), answer=fields.pop("answer", None))
    return Candidate(proposal=proposal, source="simulated", key=key, score=a_score(total), **fields)


def closed(
    iteration: int,
    candidates: Sequence[Candidate] = (),
    *,
    chosen: int | None = 0,
    answers: Sequence[PooledAnswer] = (),
    hints: Sequence[str] = (),
    **fields: Any,
) -> Entry:
    """Return the end of an iteration in which the candidate number `chosen` was applied; None = none was."""
    found = list(candidates) or ([] if chosen is None else [candidate(f"it{iteration}/s2/steps.1")])
    winner = None if chosen is None else found[chosen]
    step = winner and Step(
        id=winner.key, index=0, text=winner.proposal.text, rationale=winner.proposal.rationale, score=a_score(),
        source=winner.source, iteration=iteration, answer=winner.proposal.answer, decision=DEEP,
    )  # fmt: skip
    iterated = Iteration(
        iteration=iteration, chosen=winner.key if winner else None, candidates=tuple(found), decision=DEEP, **fields
    )
    return "iteration_closed", {
        "iteration": encode(iterated), "step": encode(step), "answers": encode(list(answers)), "hints": list(hints),
    }  # fmt: skip


def backtracked(reason: str = "repetition") -> Entry:
    """Return that the last step was taken back."""
    return "backtracked", {"reason": reason, "banned": [], "guarded": 1, "stagnant": False}


def concluded(answer: str | None = "42", status: str = "verified", *, ending: str = "done", **fields: Any) -> Entry:
    """Return the end of a session; `status` is its answer's, `ending` its own."""
    return "concluded", {
        "status": ending, "stopReason": "answered", "answer": answer, "answerStatus": status, "confidence": 0.95,
        "confidenceBasis": "checks", "evidence": [], "summary": "", "degraded": False, "degradedReasons": [], **fields,
    }  # fmt: skip


def a_call(
    number: int, key: str = "it1/s2/steps", *, seconds: float | None = 0.25, at: float = 0.0, **fields: Any
) -> dict[str, Any]:
    """Return a finished call that began `at` seconds after noon; `seconds` None = it has no outcome yet."""
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "cost_usd": None, "estimated": False}
    reply = {"text": "reply", "model": "simulated/large", "problem": None, "reasoning": "", "usage": usage}
    plain: dict[str, Any] = {
        "stepKey": key, "attempt": 1, "epoch": 1, "state": "intent" if seconds is None else "done", "role": "generate",
        "model": None, "requestHash": "", "repaid": "", "opened": number, "arrived": None, "openedAt": clock(at),
        "closedAt": None if seconds is None else clock(at + seconds), "prompt": "prompt", "promptChars": 6,
        "reply": None if seconds is None else reply, "error": None,
    }  # fmt: skip
    return {**plain, **fields}


def clock(seconds: float) -> str:
    """Return the time so many seconds after noon."""
    whole = int(seconds)
    milliseconds = round(1000 * (seconds - whole))
    return f"2026-01-01T{12 + whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}.{milliseconds:03}Z"


def events_of(*entries: Entry) -> list[dict[str, Any]]:
    """Return entries as events, a second apart."""
    return [{"seq": at, "at": clock(at), "type": kind, "data": data} for at, (kind, data) in enumerate(entries, 1)]


def an_export(
    *entries: Entry,
    calls: Sequence[Mapping[str, Any]] = (),
    task: str = "Measure 4 litres",
    checks: Sequence[Check] = (),
) -> dict[str, Any]:
    """Return everything that a journal holds of a session."""
    spec = {
        "problem": encode(Problem(task=task, checks=tuple(checks))), "config": Config().plain(), "iterations": 8,
        "budget": encode(Budget()),
    }  # fmt: skip
    stored = {"sessionId": "ses_1", "createdAt": clock(0), "updatedAt": clock(9), "spec": spec, "owner": None}
    return {"session": stored, "events": events_of(*entries), "calls": list(calls)}


def result_of(export: Mapping[str, Any], **fields: Any) -> SolveResult:
    """Return the result of an exported session, with figures of its own."""
    stored = export["session"]
    session = reduce(
        lambda found, event: advance(found, event["type"], event["data"]), export["events"],
        session_from_spec(stored["sessionId"], stored["spec"], stored["createdAt"]),
    )  # fmt: skip
    usage = {
        "calls": len(export["calls"]),
        "promptTokens": 1200,
        "completionTokens": 300,
        "costUsd": None,
        "seconds": 2.5,
    }
    roles = {"generate": {"calls": 2, "promptTokens": 1200, "completionTokens": 300, "costUsd": None}}
    return session_result(session, usage={**usage, "estimated": False, "byRole": roles, **fields}, diagnostics={})


def a_poisoned_export(text: str) -> dict[str, Any]:
    """Return a session that has `text` in every place that others can write to, in a form that does not depend on it."""
    check = CheckResult(
        check_id=f"c{text}", kind="contains", target="step", outcome="fail", observed=f"o{text}", expected=f"e{text}", message=f"m{text}"
    )  # fmt: skip
    rows = [
        candidate(f"it1/s2/steps.{at}", f"step {text}", rationale=f"why {text}", answer=f"a{text}b", model=f"model {text}", checks=(check,))
        for at in (1, 2)
    ]  # fmt: skip
    pooled = PooledAnswer(key="it1/s2/steps.1", answer=f"a{text}b", origin="step", source="simulated")
    error = {"message": f"error {text}", "model": f"model {text}"}
    votes = Evidence(
        kind="votes", observed=f"v{text}", expected=f"w{text}", outcome="agreed",
        detail={"groups": [{"answer": f"g{text}", "votes": 1, "share": 0.5, "terms": {"votes": 1.0}}]},
    )  # fmt: skip
    checked = Evidence(
        kind="check", check_id=f"c{text}", observed=f"o{text}", expected=f"e{text}", outcome="fail", step_id=f"s{text}"
    )
    reply: dict[str, Any] = {
        "text": f"reply {text}",
        "model": f"model {text}",
        "problem": None,
        "reasoning": f"r{text}",
        "usage": {},
    }
    return an_export(
        opened(1, Decision(mode="system2", reason=f"because {text}")),
        closed(1, rows, answers=[pooled], hints=[f"hint {text}"], problems=(f"problem {text}",)),
        ("perturbed", {"reason": f"reason {text}", "guarded": 0, "stagnant": False}),
        ("answered", encode(PooledAnswer(key="it1/final", answer=f"f{text}", origin="final", source="simulated"))),
        concluded(f"42{text}", "agreed", evidence=encode([votes, checked]), degraded=True, degradedReasons=[f"d{text}"]),
        calls=[
            a_call(1, reply=reply, prompt=f"p{text}"),
            a_call(2, f"it1/{text}", state="failed", reply=None, error=error, role=f"role{text}", model=f"m{text}"),
        ],
        task=f"Task\n{text}",
    )  # fmt: skip
