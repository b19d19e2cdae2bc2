"""What a serving process tells the garbage collector."""

import subprocess
import sys

from booster.process import YOUNG_OBJECTS


def test_what_is_loaded_is_left_alone_and_what_is_new_is_looked_at_less_often() -> None:
    """In a process of its own: the settings are the whole process's."""
    code = """
import gc
from booster.process import settle_memory
settle_memory()
print(gc.isenabled(), gc.get_freeze_count() > 1000, gc.get_threshold()[0])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["True", "True", str(YOUNG_OBJECTS)]
