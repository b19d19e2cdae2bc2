"""Borders between the packages, and what importing one of them does: nothing."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

MAY_IMPORT = {
    "booster": {"booster", "providers", "verifier", "scheduler"},
    "verifier": {"verifier", "providers"},
    "providers": {"providers"},
    "scheduler": {"scheduler"},
    "benchmarks": {"booster", "providers", "verifier", "scheduler", "benchmarks"},
}
OURS = {*MAY_IMPORT, "tests"}

WATCHED = """
import sys, threading

def watch(event, args):
    if event == "open":
        acts = isinstance(args[1], str) and set(args[1]) & set("wax+")
    else:
        acts = event.startswith(("socket.", "subprocess.", "os.mkdir", "os.rename", "os.remove", "os.system", "os.fork"))
    if acts:
        raise SystemExit(f"importing does something: {event} {args}")

for name in BLOCKED:
    sys.modules[name] = None
sys.path.insert(0, ROOT)
sys.addaudithook(watch)
before = set(sys.modules)
__import__(PACKAGE)
assert threading.active_count() == 1, "importing started a thread"
print(*sorted(set(sys.modules) - before))
"""


def import_alone(package: str, where: Path, *, blocked: tuple[str, ...] = ()) -> set[str]:
    """Import one package in a fresh interpreter that may not act; return the modules this loaded."""
    head = f"ROOT, PACKAGE, BLOCKED = {str(ROOT)!r}, {package!r}, {blocked!r}\n"
    environ = {"HOME": str(where), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        [sys.executable, "-B", "-I", "-c", head + WATCHED],
        cwd=where,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert list(where.iterdir()) == []
    assert done.stdout.count("\n") == 1, "importing prints"
    return set(done.stdout.split())


def imported_packages(path: Path) -> set[str]:
    """Our own top-level packages that a file imports anywhere, also inside functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found & OURS


@pytest.mark.parametrize("package", sorted(MAY_IMPORT))
def test_a_package_imports_only_what_its_place_allows(package: str) -> None:
    """Libraries know nothing of the booster, nothing but benchmarks imports benchmarks, and nobody imports tests."""
    files = sorted((ROOT / package).rglob("*.py"))

    strangers = {
        str(path.relative_to(ROOT)): sorted(wrong)
        for path in files
        if (wrong := imported_packages(path) - MAY_IMPORT[package])
    }

    assert files
    assert strangers == {}


@pytest.mark.parametrize("package", ["booster", "providers", "scheduler", "verifier"])
def test_importing_a_package_alone_starts_nothing_and_writes_nothing(package: str, tmp_path: Path) -> None:
    """No socket, no process, no thread, no file, no output; the other packages stay unloaded where they are not needed."""
    loaded = import_alone(package, tmp_path)

    assert package in loaded
    assert {name for name in loaded if name in OURS} <= MAY_IMPORT[package]


def test_importing_the_booster_is_light(tmp_path: Path) -> None:
    """A command that needs no model must not wait for the clients of models."""
    loaded = import_alone("booster", tmp_path)

    assert loaded.isdisjoint({"openai", "aiohttp", "sqlalchemy", "mcp", "typer", "rich", "re2", "jsonschema"})


def test_the_scheduler_needs_nothing_but_python(tmp_path: Path) -> None:
    """Whoever embeds it in another agent installs no server and no client."""
    blocked = (
        "mcp",
        "openai",
        "aiohttp",
        "httpx2",
        "sqlalchemy",
        "pydantic",
        "starlette",
        "uvicorn",
        "structlog",
    )

    loaded = import_alone("scheduler", tmp_path, blocked=blocked)

    assert "scheduler" in loaded


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("booster.settings", {"openai", "aiohttp", "sqlalchemy", "mcp", "re2", "jsonschema", "json_repair", "rich"}),
        ("verifier", {"openai", "aiohttp", "sqlalchemy", "mcp", "re2", "jsonschema"}),
        ("providers", {"openai", "aiohttp", "json_repair", "mcp"}),
    ],
)
def test_what_a_command_does_not_need_is_not_loaded(module: str, heavy: set[str], tmp_path: Path) -> None:
    """Heavy parts are imported on first use."""
    assert import_alone(module, tmp_path).isdisjoint(heavy)
