"""`booster serve`: the MCP server."""

import asyncio
from typing import Annotated, Literal

import typer

from booster.cli.shared import ConfigFile, SecretsFile, load_settings


def serve(
    tools: Annotated[Literal["core", "all"], typer.Option(help="Which tools to offer.")] = "core",
    config: ConfigFile = None,
    secrets: SecretsFile = None,
) -> None:
    """Serve MCP on stdin and stdout; logs go to stderr."""
    from booster.server.stdio import serve_stdio

    asyncio.run(serve_stdio(load_settings(config, secrets), tools=tools))
