"""How a process is set up that does nothing but serve; a library leaves the settings of its caller's process alone."""

import gc
from typing import Final

YOUNG_OBJECTS: Final = 10_000
"""New objects after which the garbage collector looks through them; several times Python's own number."""


def settle_memory() -> None:
    """Tell the garbage collector that what is loaded by now stays, and to look at new objects less often.

    Most objects of a process that serves belong to modules. While the collector looks through them all, nothing else moves, and
    they are never garbage. What a solve leaves behind dies without the collector but for its few cycles. Call it once, when the
    process is ready.
    """
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS)
