"""The core needs the standard library only, and none of the packages beside it."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(result.stdout.split())


def test_the_library_and_its_persistence_load_nothing_but_the_standard_library() -> None:
    loaded = loaded_by("import scheduler, scheduler.persistence, scheduler.store, scheduler.service")

    foreign = {name for name in loaded if name not in sys.stdlib_module_names and not name.startswith("_")}
    assert foreign - {"scheduler", "sitecustomize"} == set()


def test_the_public_surface_is_sorted_and_complete() -> None:
    import scheduler

    assert scheduler.__all__ == sorted(scheduler.__all__)
    assert all(hasattr(scheduler, name) for name in scheduler.__all__)
