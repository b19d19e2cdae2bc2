"""How a process is set up that does nothing but serve; a library leaves the settings of its caller's process alone."""

import gc
from typing import Final

YOUNG_OBJECTS: Final = 10_000
"""New objects after which the garbage collector looks through them; Python's own number is 700."""


def settle_memory() -> None:
    """Tell the garbage collector that what is loaded by now stays, and to look at new objects less often.

    Some hundred thousand objects belong to modules. To look through them all again and again costs as much as serving a good
    part of the solves, and each time nothing else moves for 50 to 100 ms. What a solve leaves behind dies without the collector
    but for its few cycles. Call it once, when the process is ready.
    """
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS)
