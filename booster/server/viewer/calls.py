"""Paid calls as a page lists them. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from booster.server.viewer.text import clipped, moment

MOST_CALLS = 300
"""Latest attempts that a page lists."""

RAW_CHARS = 200_000
"""Characters of prompts and replies on one page, all calls together."""

LEAST_RAW, MOST_RAW = 300, 4000
"""Characters of one prompt, or of one reply."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallView:
    """One attempt."""

    number: int
    """Position among all openings and arrivals; unique, and the name of its place on the page."""
    key: str
    attempt: int
    iteration: int | None
    role: str
    model: str
    state: str
    """`running` or `lost` (no outcome), `done`, `failed`, `empty` (an answer without any text)."""
    start: float
    """Seconds since the epoch."""
    end: float | None
    """None = it never arrived."""
    prompt_tokens: int | None
    completion_tokens: int | None
    estimated: bool
    cost_usd: float | None
    problem: str
    """What went wrong; empty where nothing did."""
    repaid: str
    """Why it had to be paid again; empty where it had not."""
    prompt: str
    prompt_chars: int
    reply: str
    reasoning: str

    @property
    def seconds(self) -> float | None:
        """How long it took."""
        return None if self.end is None else max(0.0, self.end - self.start)


def views_of(calls: Iterable[Mapping[str, Any]], *, active: bool) -> tuple[CallView, ...]:
    """Return the latest calls of an export, oldest first.

    Args:
        calls: As the journal exports them, in the order of their opening.
        active: Somebody works on the session, so that a call without an outcome is under way.
    """
    latest = list(calls)[-MOST_CALLS:]
    limit = min(MOST_RAW, max(LEAST_RAW, RAW_CHARS // (2 * max(1, len(latest)))))
    return tuple(_view(call, active=active, limit=limit) for call in latest)


def _view(call: Mapping[str, Any], *, active: bool, limit: int) -> CallView:
    reply, error = call["reply"] or {}, call["error"] or {}
    usage = reply.get("usage") or {}
    start = moment(call["openedAt"])
    assert start is not None
    head = call["stepKey"].partition("/")[0]
    return CallView(
        number=call["opened"], key=call["stepKey"], attempt=call["attempt"],
        iteration=int(head[2:]) if head.startswith("it") and head[2:].isdecimal() else None,
        role=call["role"], model=reply.get("model") or call["model"] or error.get("model") or "",
        state=_state(call, active=active), start=start, end=moment(call["closedAt"]),
        prompt_tokens=usage.get("prompt_tokens"), completion_tokens=usage.get("completion_tokens"),
        estimated=bool(usage.get("estimated")), cost_usd=usage.get("cost_usd"),
        problem=error.get("message") or reply.get("problem") or "", repaid=call["repaid"].replace("_", " "),
        prompt=clipped(call["prompt"], limit), prompt_chars=call["promptChars"], reply=clipped(reply.get("text", ""), limit),
        reasoning=clipped(reply.get("reasoning", ""), limit),
    )  # fmt: skip


def _state(call: Mapping[str, Any], *, active: bool) -> str:
    if call["state"] == "intent":
        return "running" if active else "lost"
    if call["state"] == "done" and call["reply"] and call["reply"].get("problem"):
        return "empty"
    return str(call["state"])
