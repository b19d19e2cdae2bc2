"""A provider that says what its script says: for tests, and for trying the product without a model."""

import asyncio
from collections.abc import Callable, Iterable

from providers.errors import ProviderError, RejectedError
from providers.reading import estimated_usage
from providers.types import Call, Reply

Line = str | Reply | ProviderError | None
"""What one attempt brings: a text, a whole reply, an error to raise, or None = it never returns."""


class ScriptedProvider:
    """A `Provider` whose replies are written beforehand; their source is `simulated`.

    Args:
        script: One line an attempt, in the order in which attempts begin; or a function of the call.
        delay: Seconds before each reply or error.
        name: As shown in diagnostics.
        default_model: The model of calls that name none.
        concurrency: Calls that may be under way at once.
    """

    def __init__(
        self,
        script: Iterable[Line] | Callable[[Call], Line],
        *,
        delay: float = 0.0,
        name: str = "simulated",
        default_model: str = "simulated/script",
        concurrency: int = 64,
    ) -> None:
        self.name = name
        self.default_model = default_model
        self.calls: list[Call] = []
        """Every attempt so far."""
        self._next_line = script if callable(script) else _from_list(script)
        self._delay = delay
        self.slots: asyncio.Semaphore | None = asyncio.Semaphore(concurrency)

    async def send(self, call: Call) -> Reply:
        """Play the next line.

        Raises:
            ProviderError: The one in the script; `RejectedError` of kind `script_ended` when it has no line left.
        """
        self.calls.append(call)
        line = self._next_line(call)
        if line is None:
            await asyncio.get_running_loop().create_future()
        if self._delay:
            await asyncio.sleep(self._delay)
        if isinstance(line, ProviderError):
            raise line
        return line if isinstance(line, Reply) else self._reply(line or "", call)

    async def aclose(self) -> None:
        """Nothing to close."""

    def _reply(self, text: str, call: Call) -> Reply:
        return Reply(
            text=text,
            model=call.model or self.default_model,
            provider=self.name,
            source="simulated",
            finish_reason="stop",
            usage=estimated_usage(call, text),
            problem=None if text.strip() else "empty",
        )


def _from_list(script: Iterable[Line]) -> Callable[[Call], Line]:
    lines = iter(script)
    ended = RejectedError("the script has no line left", kind="script_ended", provider="simulated")
    return lambda call: next(lines, ended)
