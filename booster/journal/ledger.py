"""The ledger of one session: says whether a call may be paid, remembers it, and recalls it after a restart.

Rules that hold across processes:

- An attempt is reserved in memory, then made durable, then may be sent: calls and seconds never overshoot; tokens and
  money overshoot by the calls in flight at most.
- The session's epoch is checked in the transaction that writes the intent: a worker that lost its session stops
  before it pays.
- A finished attempt is found by step key and handed back unpaid, unless the model would now be asked something else.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from booster.journal import account
from booster.journal.account import LimitKind, Limits, Spend, Tally
from booster.journal.arrivals import ArrivalGate
from booster.journal.calls import CallRecord, Repaid
from booster.journal.codec import Asked, Codec, now
from booster.journal.writes import CloseCall, OpenCall, WithdrawCall, Write
from providers.errors import BudgetSpent, CallCancelled, ProviderError
from providers.types import Call, Reply, Ticket

_LIMIT_TEXT: dict[LimitKind, str] = {
    "calls": "calls are spent",
    "tokens": "tokens are spent",
    "costUsd": "US dollars are spent",
    "seconds": "seconds are over",
}


class WriteQueue(Protocol):
    """Where a ledger's writes go."""

    def enqueue(self, write: Write) -> asyncio.Future[Any]:
        """Take a write; the future ends when it is durable or refused. Once taken it is carried out in any case."""


class SessionLedger:
    """Implements `providers.types.Ledger` for one session and one epoch of ownership. Make it with `Journal.ledger`."""

    def __init__(
        self,
        session_id: str,
        *,
        epoch: int,
        limits: Limits,
        past: Iterable[CallRecord],
        seconds: float,
        writes: WriteQueue,
        codec: Codec,
        expect: Callable[[asyncio.Future[Any]], None] | None = None,
    ) -> None:
        self._session_id = session_id
        self._epoch = epoch
        self._limits = limits
        self._writes = writes
        self._codec = codec
        self._expect = expect
        self._gate = ArrivalGate()

        self._loop = asyncio.get_running_loop()
        self._started = self._loop.time() - seconds
        self.deadline: float | None = None if limits.seconds is None else self._started + limits.seconds
        """Time on the event loop's clock at which `budget.seconds` ends; None = never."""

        self._records: dict[tuple[str, int], CallRecord] = {}
        self._past: defaultdict[str, deque[CallRecord]] = defaultdict(deque)
        self._attempts: defaultdict[str, int] = defaultdict(int)
        self._tally = Tally()
        self._asked: Asked | None = None
        self._position = 0
        self._interrupted_after = 0
        for record in sorted(past, key=lambda record: (record.step_key, record.attempt)):
            self._learn(record)

    def _learn(self, record: CallRecord) -> None:
        """Take over an attempt that was recorded before."""
        self._records[record.step_key, record.attempt] = record
        self._past[record.step_key].append(record)
        self._attempts[record.step_key] = record.attempt
        self._position = max(self._position, record.opened, record.arrived or 0)
        self._interrupted_after = max(self._interrupted_after, record.opened)
        if not isinstance(record.error, CallCancelled):
            self._interrupted_after = max(self._interrupted_after, record.arrived or 0)
        if record.reply is not None:
            self._tally.add(record.reply.usage)

    async def open(self, call: Call) -> Ticket:
        """Return leave for one attempt, or the recorded outcome of an attempt that need not be paid again.

        Raises:
            BudgetSpent: a limit (`kind`) is reached or the call's own deadline has passed; nothing was written.
            CallCancelled: cancellation of the session was requested; nothing was written.
            SessionTaken: somebody else owns the session now; nothing was written.
            JournalError: the intent could not be made durable.
        """
        asked = self._asked = self._codec.asked(call, self._asked)
        recorded, repaid = self._recall(call.step_key, asked.request_hash)
        if recorded is not None:
            await self._gate.wait(recorded.arrived or 0)
            return Ticket(call=call, attempt=recorded.attempt, recalled=recorded.reply or recorded.error)

        self._check(call)
        record = self._reserve(call, asked, repaid)
        row = record.intent_row(self._session_id)
        write = OpenCall(session_id=self._session_id, epoch=self._epoch, row=row, seconds=self.seconds)
        try:
            await self._writes.enqueue(write)
        except asyncio.CancelledError:
            self._withdraw(record)
            raise
        except Exception:
            del self._records[record.step_key, record.attempt]
            raise
        return Ticket(call=call, attempt=record.attempt)

    def close(self, ticket: Ticket, outcome: Reply | ProviderError) -> asyncio.Future[None]:
        """Take the outcome; whatever is opened or recorded later is durable after it. A recalled ticket needs nothing.

        Nobody has to wait for the future, which ends when the outcome is durable; `expect` was given it, too.

        Raises (in the future):
            SessionTaken: somebody else owns the session now; the outcome must not be used.
            JournalError: the outcome could not be made durable; closing once more tries again.
        """
        if ticket.recalled is not None:
            nothing: asyncio.Future[None] = self._loop.create_future()
            nothing.set_result(None)
            return nothing
        record = self._records[ticket.call.step_key, ticket.attempt]
        if record.state == "intent":
            record.close(outcome, arrived=self._next_position(), at=now())
            if record.reply is not None:
                self._tally.add(record.reply.usage)
        write = CloseCall(
            session_id=self._session_id, epoch=self._epoch, step_key=record.step_key, attempt=record.attempt,
            row=record.outcome_row(self._codec), seconds=self.seconds,
        )  # fmt: skip
        written = self._writes.enqueue(write)
        if self._expect is not None:
            self._expect(written)
        return written

    @property
    def seconds(self) -> float:
        """Wall-clock seconds worked on the session so far, earlier processes included."""
        return self._loop.time() - self._started

    @property
    def spent(self) -> Spend:
        """What the session has spent, from its first process on."""
        return account.spend(self._records.values(), seconds=self.seconds)

    def exhausted(self) -> LimitKind | None:
        """Return the limit that leaves no room for another call, or None."""
        overdue = self.deadline is not None and self._loop.time() >= self.deadline
        return account.reached(self._limits, calls=len(self._records), tally=self._tally, overdue=overdue)

    def affordable(self) -> int | None:
        """Return how many calls may still be opened; None = the budget sets no number."""
        if self.exhausted() is not None:
            return 0
        return None if self._limits.calls is None else self._limits.calls - len(self._records)

    def recorded(self, step_key: str) -> bool:
        """Say whether an outcome of an earlier process stands at this key and has not been handed back yet."""
        return any(
            record.arrived is not None and not self._was_interrupted(record) for record in self._past.get(step_key, ())
        )

    def reply(self, step_key: str) -> Reply | None:
        """Return the last reply to the call of this key; None where it has none."""
        found = [record for (key, _), record in self._records.items() if key == step_key and record.reply is not None]
        return max(found, key=lambda record: record.attempt).reply if found else None

    def diagnostics(self, *, full: bool) -> dict[str, Any]:
        """Return what the calls tell, redacted; see `account.diagnostics`."""
        document: dict[str, Any] = self._codec.plain(account.diagnostics(list(self._records.values()), full=full))
        return document

    def _recall(self, step_key: str, request_hash: str) -> tuple[CallRecord | None, Repaid]:
        """Return the next recorded attempt that stands, or why the one to come is paid although there is a record."""
        repaid: Repaid = ""
        past = self._past[step_key]
        while past:
            record = past.popleft()
            if record.arrived is None:
                repaid = "lost"
            elif record.request_hash != request_hash:
                repaid = "prompt_changed"
            elif self._was_interrupted(record):
                repaid = "interrupted"
            else:
                return record, ""
        return None, repaid

    def _was_interrupted(self, record: CallRecord) -> bool:
        """Tell whether a withdrawn call ended with its process rather than by a decision of the loop.

        It did where the journal shows nothing after it but further withdrawals: the process was told to stop. Its
        outcome is then no fact about the call, and a resumed solve needs the reply.
        """
        return isinstance(record.error, CallCancelled) and (record.arrived or 0) > self._interrupted_after

    def _check(self, call: Call) -> None:
        """Raise BudgetSpent where no further call may be opened."""
        kind = self.exhausted()
        if kind is not None:
            message = f"the budget's {self._limits.of(kind):g} {_LIMIT_TEXT[kind]}"
            raise BudgetSpent(message, kind=kind, model=call.model or "")
        if call.deadline is not None and self._loop.time() >= call.deadline:
            raise BudgetSpent(f"the deadline of {call.step_key} has passed", kind="seconds", model=call.model or "")

    def _reserve(self, call: Call, asked: Asked, repaid: Repaid) -> CallRecord:
        """Count the attempt before anything is awaited, so that calls side by side cannot share the last one."""
        self._attempts[call.step_key] += 1
        record = CallRecord(
            step_key=call.step_key,
            attempt=self._attempts[call.step_key],
            epoch=self._epoch,
            role=call.role,
            model=call.model,
            request_hash=asked.request_hash,
            repaid=repaid,
            opened=self._next_position(),
            opened_at=now(),
            prompt=asked.prompt,
            prompt_chars=asked.prompt_chars,
        )
        self._records[record.step_key, record.attempt] = record
        return record

    def _withdraw(self, record: CallRecord) -> None:
        """Forget an attempt whose caller left before anything was sent, here and in the journal."""
        del self._records[record.step_key, record.attempt]
        write = WithdrawCall(
            session_id=self._session_id, epoch=self._epoch, step_key=record.step_key, attempt=record.attempt
        )
        # Nobody is left to wait or to be told: a failure leaves an intent, which the next owner counts as lost.
        self._writes.enqueue(write).add_done_callback(lambda written: written.cancelled() or written.exception())

    def _next_position(self) -> int:
        self._position += 1
        return self._position
