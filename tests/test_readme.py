"""What the README shows is true: its examples run, its configurations parse and start a server."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from tests.processes import ROOT, booster, configured, environment, simulated_model

README = (ROOT / "README.md").read_text()
CLIENTS = (ROOT / "docs" / "clients.md").read_text()


def blocks(language: str, page: str = README) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page, flags=re.DOTALL)


def test_the_python_example_runs(tmp_path: Path) -> None:
    (example,) = blocks("python")
    with simulated_model() as model:
        env = configured(tmp_path, model.base_url)
        done = subprocess.run([sys.executable, "-c", example], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[1] in {"verified", "agreed", "unverified", "none"}


def test_the_command_lines_of_the_readme_are_understood(tmp_path: Path) -> None:
    lines = [line for block in blocks("") for line in block.splitlines() if line.startswith("booster solve")]
    assert len(lines) >= 2

    with simulated_model("--accuracy", "1") as model:
        for line in lines:
            words = re.findall(r'"[^"]*"|\S+', line)[1:]
            done = booster(
                *(word.strip('"') for word in words), "-q", env=configured(tmp_path, model.base_url), cwd=tmp_path
            )
            assert done.returncode in (0, 4), (line, done.stderr)


@pytest.mark.parametrize("block", [block for block in blocks("json") if "ervers" in block])
async def test_every_client_configuration_starts_a_server(block: str, tmp_path: Path) -> None:
    config = json.loads(block)
    (servers,) = (config[key] for key in ("mcpServers", "servers") if key in config)
    entry = servers["reasoning-booster"]

    assert "solve" in await tools_of(entry["command"], entry["args"], tmp_path)


def test_the_configurations_of_other_clients_name_our_command_or_our_address() -> None:
    """Those clients cannot be installed here: what is checked is the form."""
    entries = [
        entry
        for block in map(json.loads, blocks("json", CLIENTS))
        for entry in (block.get("mcpServers") or block["servers"]).values()
    ]

    assert len(entries) == 4
    for entry in entries:
        if "url" in entry:
            assert entry["url"] == "http://127.0.0.1:8642/mcp"
        else:
            assert (entry["command"], entry["args"]) == ("booster", ["serve"])


def test_the_python_client_of_the_clients_page_is_python() -> None:
    (example,) = blocks("python", CLIENTS)

    assert {"client", "reply"} <= set(compile(example, "clients.md", "exec").co_names)


def test_the_registry_is_told_what_the_package_says_of_itself() -> None:
    listed = json.loads((ROOT / "server.json").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (package,) = listed["packages"]

    assert (package["identifier"], package["version"]) == (project["name"], project["version"])
    assert listed["version"] == project["version"]
    assert f"mcp-name: {listed['name']}" in README
    assert len(listed["description"]) <= 100


async def test_the_codex_configuration_starts_a_server(tmp_path: Path) -> None:
    (block,) = blocks("toml")
    entry = tomllib.loads(block)["mcp_servers"]["reasoning-booster"]

    assert "solve" in await tools_of(entry["command"], entry["args"], tmp_path)


async def test_the_quickstart_call_writes_the_file(tmp_path: Path) -> None:
    (arguments,) = [json.loads(block) for block in blocks("json") if "outputPath" in block]
    with simulated_model() as model:
        env = configured(tmp_path, model.base_url)
        async with Client(StdioServerParameters(command=sys.executable, args=["-m", "booster", "serve"], env=env, cwd=tmp_path)) as client:  # fmt: skip
            result = await client.call_tool("solve", arguments)

    assert not result.is_error, result.content
    assert json.loads((tmp_path / "summary.json").read_text())["task"] == arguments["task"]


async def tools_of(command: str, arguments: list[str], folder: Path) -> set[str]:
    """Start a server as a client would, and return the names of its tools."""
    assert command == "booster", "the name of the installed command"
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "booster", *arguments], env=environment(folder), cwd=folder
    )
    async with Client(server) as client:
        return {tool.name for tool in (await client.list_tools()).tools}
