"""An event loop whose clock jumps to the next timer when nothing else is to do, so that tests of time take none."""

import asyncio
import selectors
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

T = TypeVar("T")


class _JumpingSelector(selectors.DefaultSelector):
    """Instead of waiting for a timeout, adds it to the clock. Only for scenarios without real sockets."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("the scenario waits for something that can never happen")
        if not ready and timeout:
            self.now += timeout
        return ready


class VirtualClockLoop(asyncio.SelectorEventLoop):
    """A selector loop with virtual time, in seconds from 0."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


def run_virtual(scenario: Callable[..., Awaitable[T]], *args: Any) -> T:
    """Run one coroutine function to its end on a fresh virtual clock and return its result."""
    with asyncio.Runner(loop_factory=VirtualClockLoop) as runner:
        return runner.run(_as_coroutine(scenario, *args))


async def _as_coroutine(scenario: Callable[..., Awaitable[T]], *args: Any) -> T:
    return await scenario(*args)
