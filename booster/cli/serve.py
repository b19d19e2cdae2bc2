"""`booster serve`: the MCP server on standard input and output, or everything over HTTP."""

import asyncio
from typing import Annotated, Literal

import typer

from booster.cli.shared import ConfigFile, SecretsFile, load_settings
from booster.errors import UsageError


def serve(
    http: Annotated[
        bool, typer.Option("--http", help="Serve over HTTP: MCP, OpenAI endpoint, API, events, viewer.")
    ] = False,
    host: Annotated[
        str | None, typer.Option(help="Address to listen on, with --http.", show_default="127.0.0.1")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(help="Port to listen on, with --http; 0 = any free one.", min=0, max=65535, show_default="8642"),
    ] = None,
    no_auth: Annotated[
        bool, typer.Option("--no-auth", help="Ask for no token, with --http and on this machine only.")
    ] = False,
    tools: Annotated[Literal["core", "all"], typer.Option(help="Which tools to offer.")] = "core",
    config: ConfigFile = None,
    secrets: SecretsFile = None,
) -> None:
    """Serve MCP on stdin and stdout, or with --http everything on a port; logs go to stderr."""
    if not http:
        _refuse_http_options(host, port, no_auth)
        from booster.server.stdio import serve_stdio

        asyncio.run(serve_stdio(load_settings(config, secrets), tools=tools))
        return
    from booster.server.serving import HOST, PORT, serve_http

    settings = load_settings(config, secrets)
    port = PORT if port is None else port
    asyncio.run(serve_http(settings, host=host or HOST, port=port, auth=not no_auth, tools=tools))


def _refuse_http_options(host: str | None, port: int | None, no_auth: bool) -> None:
    for name, given in (("--host", host is not None), ("--port", port is not None), ("--no-auth", no_auth)):
        if given:
            raise UsageError(f"{name}: only with --http; add that, or leave {name} out", field=name)
