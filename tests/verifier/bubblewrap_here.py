"""Whether this machine can shut code in; tests that need it are skipped visibly elsewhere, except in CI."""

import os
import shutil

import pytest

needs_bubblewrap = pytest.mark.skipif(
    shutil.which("bwrap") is None and os.environ.get("CI") != "true",
    reason="bubblewrap is not installed (in CI this is a failure)",
)
