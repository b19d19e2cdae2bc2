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


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


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

    await start(entry["command"], entry["args"], tmp_path)


async def test_the_codex_configuration_starts_a_server(tmp_path: Path) -> None:
    (block,) = blocks("toml")
    entry = tomllib.loads(block)["mcp_servers"]["reasoning-booster"]

    await start(entry["command"], entry["args"], tmp_path)


async def test_the_quickstart_call_writes_the_file(tmp_path: Path) -> None:
    (arguments,) = [json.loads(block) for block in blocks("json") if "outputPath" in block]
    with simulated_model() as model:
        env = configured(tmp_path, model.base_url)
        async with Client(StdioServerParameters(command=sys.executable, args=["-m", "booster", "serve"], env=env, cwd=tmp_path)) as client:  # fmt: skip
            result = await client.call_tool("solve", arguments)

    assert not result.is_error, result.content
    assert json.loads((tmp_path / "summary.json").read_text())["task"] == arguments["task"]


async def start(command: str, arguments: list[str], folder: Path) -> None:
    assert command == "booster", "the name of the installed command"
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "booster", *arguments], env=environment(folder), cwd=folder
    )
    async with Client(server) as client:
        assert "solve" in {tool.name for tool in (await client.list_tools()).tools}
