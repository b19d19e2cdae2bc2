"""A ledger in memory: it counts, holds a limit of calls, and forgets everything with the process.

For programs and tests that need no journal. The durable one belongs to the product above.
"""

from collections import Counter

from providers.errors import BudgetSpent, ProviderError
from providers.types import Call, Reply, Ticket


class CountingLedger:
    """A `Ledger` without durability.

    Args:
        calls: Attempts that may be made; None = no limit.
    """

    def __init__(self, calls: int | None = None) -> None:
        self.calls = calls
        self.attempts = 0
        """Attempts opened, those still in flight included."""
        self.outcomes: list[tuple[Call, Reply | ProviderError]] = []
        """Every closed attempt, in the order of closing."""
        self._by_key: Counter[str] = Counter()

    @property
    def successes(self) -> int:
        """Closed attempts that brought a reply."""
        return sum(isinstance(outcome, Reply) for _, outcome in self.outcomes)

    @property
    def failures(self) -> int:
        """Closed attempts that ended with an error."""
        return len(self.outcomes) - self.successes

    async def open(self, call: Call) -> Ticket:
        """Count an attempt.

        Raises:
            BudgetSpent: kind `calls`; the limit is reached and nothing was counted.
        """
        if self.calls is not None and self.attempts >= self.calls:
            raise BudgetSpent(f"all {self.calls} calls of the budget are spent", kind="calls")
        self.attempts += 1
        self._by_key[call.step_key] += 1
        return Ticket(call=call, attempt=self._by_key[call.step_key])

    def close(self, ticket: Ticket, outcome: Reply | ProviderError) -> None:
        """Keep the outcome."""
        self.outcomes.append((ticket.call, outcome))
