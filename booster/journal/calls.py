"""One attempt at a paid call, as the journal remembers it, and its form as a database row."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from booster.journal.codec import Codec, dumps, reply_from_dict, reply_to_dict
from providers.errors import ProviderError
from providers.types import Reply

State = Literal["intent", "done", "failed", "lost"]
"""`intent`: sent or about to be. `lost`: its process died or was superseded in flight; it may have been charged."""

Repaid = Literal["", "lost", "prompt_changed", "interrupted"]
"""Why an attempt had to be paid although an earlier one is recorded; "" = it had not."""


@dataclass(kw_only=True, slots=True)
class CallRecord:
    """One attempt at a step key; its outcome is filled in when it arrives."""

    step_key: str
    attempt: int
    """1 for the first; a number is never used twice."""
    epoch: int
    """Ownership of the session under which it was opened."""
    state: State = "intent"
    role: str
    model: str | None
    """The model asked for; None = the provider's default."""
    request_hash: str
    repaid: Repaid = ""
    opened: int
    """Position among all openings and arrivals of the session, from 1."""
    arrived: int | None = None
    """The same count when its outcome arrived; None = it did not."""
    opened_at: str
    """ISO 8601, UTC, milliseconds."""
    closed_at: str | None = None
    prompt: str = ""
    """What was asked: redacted, cut to 4,000 characters."""
    prompt_chars: int = 0
    """Characters of all message contents before the cut."""
    reply: Reply | None = None
    error: ProviderError | None = None

    def close(self, outcome: Reply | ProviderError, *, arrived: int, at: str) -> None:
        """Fill in the outcome."""
        self.arrived, self.closed_at = arrived, at
        if isinstance(outcome, Reply):
            self.state, self.reply = "done", outcome
        else:
            self.state, self.error = "failed", outcome

    def intent_row(self, session_id: str) -> dict[str, Any]:
        """Return every column of a new row of `calls`, without an outcome yet."""
        return {
            "session_id": session_id,
            "step_key": self.step_key,
            "attempt": self.attempt,
            "epoch": self.epoch,
            "state": "intent",
            "role": self.role,
            "model": self.model,
            "request_hash": self.request_hash,
            "repaid": self.repaid,
            "opened": self.opened,
            "arrived": None,
            "opened_at": self.opened_at,
            "closed_at": None,
            "request": dumps({"prompt": self.prompt, "prompt_chars": self.prompt_chars}),
            "reply": None,
            "error": None,
            "usage": None,
            "cost_micro_usd": None,
        }

    def outcome_row(self, codec: Codec) -> dict[str, Any]:
        """Return the columns that closing the call sets."""
        row: dict[str, Any] = {
            "state": self.state,
            "arrived": self.arrived,
            "closed_at": self.closed_at,
            "reply": None,
            "error": None,
            "usage": None,
            "cost_micro_usd": None,
        }
        if self.error is not None:
            row["error"] = dumps(codec.plain(self.error.to_dict()))
        if self.reply is not None:
            reply = codec.plain(reply_to_dict(self.reply))
            cost = self.reply.usage.cost_usd
            row["usage"] = dumps(reply.pop("usage"))
            row["reply"] = dumps(reply)
            row["cost_micro_usd"] = None if cost is None else round(cost * 1_000_000)
        return row

    @staticmethod
    def from_row(row: Mapping[str, Any]) -> "CallRecord":
        """Rebuild a record from a row of `calls`."""
        request = json.loads(row["request"])
        reply = error = None
        if row["reply"] is not None:
            reply = reply_from_dict({**json.loads(row["reply"]), "usage": json.loads(row["usage"])})
        if row["error"] is not None:
            error = ProviderError.from_dict(json.loads(row["error"]))
        same = ("step_key", "attempt", "epoch", "state", "role", "model", "request_hash", "repaid")
        times = ("opened", "arrived", "opened_at", "closed_at")
        return CallRecord(
            **{name: row[name] for name in (*same, *times)},
            prompt=request["prompt"],
            prompt_chars=request["prompt_chars"],
            reply=reply,
            error=error,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for export and replay; `reply` and `error` in the form their readers take back."""
        return {
            "stepKey": self.step_key,
            "attempt": self.attempt,
            "epoch": self.epoch,
            "state": self.state,
            "role": self.role,
            "model": self.model,
            "requestHash": self.request_hash,
            "repaid": self.repaid,
            "opened": self.opened,
            "arrived": self.arrived,
            "openedAt": self.opened_at,
            "closedAt": self.closed_at,
            "prompt": self.prompt,
            "promptChars": self.prompt_chars,
            "reply": None if self.reply is None else reply_to_dict(self.reply),
            "error": None if self.error is None else self.error.to_dict(),
        }
