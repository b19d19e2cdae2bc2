"""The Reasoning Booster: spends test-time compute where it pays, and proves it.

    import asyncio
    from booster import Booster, Check

    async def main() -> None:
        async with Booster.open() as booster:
            result = await booster.solve("What is 6 * 7?", checks=[Check.numeric(42)])
            print(result.answer, result.answer_status, result.usage["calls"])

    asyncio.run(main())

Importing this package is light: what a name needs is loaded when the name is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from booster.app import Booster, StepResult
    from booster.errors import BoosterError, UsageError
    from booster.result import SolveResult
    from booster.session import Budget
    from booster.settings import Settings
    from verifier.types import Check

_HOMES = {
    "Booster": "booster.app",
    "BoosterError": "booster.errors",
    "Budget": "booster.session",
    "Check": "verifier.types",
    "Settings": "booster.settings",
    "SolveResult": "booster.result",
    "StepResult": "booster.app",
    "UsageError": "booster.errors",
}

__all__ = ["Booster", "BoosterError", "Budget", "Check", "Settings", "SolveResult", "StepResult", "UsageError"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'booster' has no attribute {name!r}")
