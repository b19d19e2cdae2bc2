"""What the repository ships beside code: examples that load, secrets that stay out, nothing of a developer's machine."""

import json
import re
import shutil
import subprocess
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from booster.config import ENDPOINT_VARIABLES, PROCESS_REWARD_KEY, Config, Process
from booster.settings import Settings
from booster.sources import read_config, read_secrets

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def shipped_files() -> list[Path]:
    """Files that are tracked, or would be with the next `git add`."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: nothing says which files are shipped")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    return [ROOT / name for name in listed if name and (ROOT / name).is_file()]


def test_the_config_example_holds_every_option_and_loads_as_the_defaults(tmp_path: Path) -> None:
    """Whoever copies it unchanged gets the behaviour of having no file; only the sample price is added."""
    example = ROOT / "config.example.json"

    settings = Settings.load(config_file=example, environ={"HOME": str(tmp_path)}, cwd=tmp_path)

    assert set(read_config(example)) == {*Config().plain(), *Process().plain()}
    assert settings.warnings == []
    assert settings.config == Config()
    stated = {name: value for name, value in Process().plain().items() if value is not None}
    assert {**{name: read_config(example)[name] for name in stated}, "prices": {}} == stated
    assert len(settings.prices) == 1


def test_the_secrets_example_holds_every_name_and_no_value(tmp_path: Path) -> None:
    """It loads without a complaint; a value in it would be somebody's key."""
    copy = tmp_path / "secrets.txt"
    text = (ROOT / "secrets.example.txt").read_text(encoding="utf-8")
    copy.write_text(text, encoding="utf-8")
    copy.chmod(0o600)

    values, warnings = read_secrets(copy)

    assert (values, warnings) == ({}, [])
    assert set(re.findall(r"^([A-Z_]+)=", text, re.MULTILINE)) == {
        PROCESS_REWARD_KEY,
        *(name for names in ENDPOINT_VARIABLES.values() for name in names),
    }


@pytest.mark.parametrize(
    "name",
    [
        "secrets.txt",
        "secrets.local.txt",
        "sub/secrets.local.txt",
        "config.local.json",
        ".booster/token",
        "summary.json",
    ],
)
def test_secrets_and_state_cannot_be_committed_by_accident(name: str) -> None:
    """git itself is asked, so that the order of the patterns counts too."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")

    ignored = subprocess.run(["git", "check-ignore", "--quiet", "--no-index", name], cwd=ROOT, check=False)

    assert ignored.returncode == 0


def test_the_examples_can_be_committed() -> None:
    """The pattern that keeps secrets out lets the example in."""
    assert {ROOT / "secrets.example.txt", ROOT / "config.example.json"} <= set(shipped_files())


def test_no_shipped_file_names_a_developers_machine_or_a_package_registry() -> None:
    """Paths of one machine are noise for everybody else; addresses of registries bind installs to one of them."""
    forbidden = [
        "/wo" + "rk/",
        "/ro" + "ot/",
        "/fa" + "rm/",
        "py" + "pi.org",
        "python" + "hosted.org",
        "registry.npm" + "js.org",
        "deb.deb" + "ian.org",
    ]

    found = [
        f"{path.relative_to(ROOT)}: {word}"
        for path in shipped_files()
        for text in [path.read_bytes().decode("utf-8", "replace")]
        for word in forbidden
        if word in text
    ]

    assert found == []


def test_every_dependency_is_pinned_for_the_tests() -> None:
    """Plain `name==version` lines: no addresses, no hashes, and nothing that the tests run on left to chance."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    extras = PYPROJECT["project"]["optional-dependencies"]
    used = [*extras["otel"], *extras["metrics"], *extras["postgres"], *extras["test"]]
    wanted = [*PYPROJECT["project"]["dependencies"], *used]
    wanted.remove("reasoning-booster[otel,metrics,postgres]")

    pins = [re.fullmatch(r"([A-Za-z0-9._-]+)==[A-Za-z0-9.]+", line) for line in lines]

    pinned = {canonical(pin[1]) for pin in pins if pin is not None}
    assert len(pinned) == len(lines)
    assert {canonical(re.split(r"[\[<>=]", name)[0]) for name in wanted} <= pinned


@pytest.mark.parametrize("command", sorted(PYPROJECT["project"]["scripts"]))
def test_every_installed_command_exists(command: str) -> None:
    """A command that names a missing function fails only on the user's machine."""
    module, _, function = PYPROJECT["project"]["scripts"][command].partition(":")

    assert callable(getattr(import_module(module), function))


def test_the_version_is_one(tmp_path: Path) -> None:
    """The changelog has a section for what is not released yet, and the version is a plain one."""
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

    assert "## [Unreleased]" in changelog
    assert re.fullmatch(r"\d+\.\d+\.\d+", PYPROJECT["project"]["version"])


def test_examples_in_json_are_plain_json() -> None:
    """No comments and no trailing commas: any program can read them."""
    examples = list(ROOT.glob("*.example.json"))

    assert examples
    assert all(isinstance(json.loads(path.read_text(encoding="utf-8")), dict) for path in examples)


def canonical(name: str) -> str:
    """The form in which package names are compared."""
    return re.sub(r"[-_.]+", "-", name).lower()
