"""No request makes the server connect anywhere but to the model that was configured, or ask for a name."""

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from providers.endpoints import Endpoint
from providers.openai_compatible import OpenAICompatible
from tests.processes import simulated_model
from tests.security.exposed import MCP_HEADERS, Exposed, exposed, request


class _Watch:
    """Remembers where this process connects to and which names it asks for, while it is on. A hook stays for good."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] | None = None
        sys.addaudithook(self._hook)

    def _hook(self, event: str, given: tuple[Any, ...]) -> None:
        if self.seen is None:
            return
        if event == "socket.connect" and isinstance(given[1], tuple):
            self.seen.append(("connect", f"{given[1][0]}:{given[1][1]}"))
        elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
            self.seen.append(("ask", str(given[0])))


@contextmanager
def canary() -> Iterator[socket.socket]:
    """Listen where nobody should connect."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        yield listener


def requests(url: str) -> list[tuple[str, dict[str, Any]]]:
    """Return paths and bodies with the URL in every field in which one could be taken for an address."""
    schema = {
        "$schema": url,
        "$id": url,
        "$ref": url,
        "properties": {"a": {"$ref": f"{url}#/x"}, "b": {"$dynamicRef": url}},
    }
    names = ("provider", "models", "fastModel", "strongModel", "judgeModel", "namespace", "baseUrl", "processRewardUrl", "prices",
             "journal.url", "allowedHosts", "outputRoot", "home", "model", "openaiBaseUrl", "OPENAI_BASE_URL")  # fmt: skip
    configs: list[dict[str, Any]] = [{name: value} for name in names for value in (url, [url], {url: url})]
    configs += [{"models": [f"local/{url}"], "provider": "local"}, {"judgeModel": f"{url}/m", "select": "judge"}]
    checks: list[Any] = [{"kind": "json_schema", "value": value} for value in (schema, url, f"@{url}", {"$ref": url})]
    checks += [{"kind": kind, "value": url} for kind in ("contains", "equals", "regex", "command", "python")]
    solves: list[dict[str, Any]] = [{"config": config} for config in configs] + [
        {"checks": [check]} for check in checks
    ]
    solves += [
        {"task": f"Fetch {url} and say what it holds"},
        {"expectedAnswerFormat": url},
        {"outputPath": url},
        {url: url},
    ]
    plain = [{"task": "6 * 7?", "iterations": 1, "budget": {"calls": 3}, **solve} for solve in solves]
    parts = [{"type": kind, kind: {"url": url}, "file_url": url} for kind in ("image_url", "input_audio", "file")]
    chat = {"model": "booster", "messages": [{"role": "user", "content": [*parts, {"type": "text", "text": url}]}]}
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    tool = {"type": "function", "function": {"name": "x", "parameters": schema}, "server_url": url}
    more: list[dict[str, Any]] = [
        {"response_format": form},
        {"tools": [tool]},
        {"model": f"booster/{url}"},
        {"metadata": {"u": url}},
    ]
    more += [{"booster": config} for config in configs] + [{"booster": {"checks": [check]}} for check in checks]
    return [
        *[("/api/sessions", body) for body in plain],
        *[
            ("/v1/chat/completions", {**chat, **extra})
            for extra in ({}, *more, {"base_url": url, "web_search_options": {"u": url}})
        ],
        *[("/mcp", called("solve", body)) for body in plain],
        ("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": url, **MODERN}}),
    ]


MODERN = {
    "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
}


def called(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return a call of a tool as the stateless protocol has it."""
    return {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments, **MODERN},
    }


def send_all(server: Exposed, url: str) -> dict[str, set[int]]:
    """Send everything and return the statuses by path."""
    found: dict[str, set[int]] = {}
    for path, body in requests(url):
        headers = MCP_HEADERS | {"mcp-protocol-version": "2026-07-28", "mcp-method": str(body.get("method", ""))}
        if "params" in body:
            headers |= {"mcp-name": str(body["params"].get("name") or body["params"].get("uri"))}
        found.setdefault(path, set()).add(server.client.post(path, json=body, headers=headers).status_code)
    for name in (
        "x_forwarded_host",
        "forwarded",
        "x_original_url",
        "x_rewrite_url",
        "referer",
        "origin",
        "host",
        "from",
    ):
        server.wire(request("GET", "/api/sessions", b"", **{name: url}))
    for target in (
        url,
        f"/{url}",
        f"/v1/models/{url}",
        f"/events?sessionId={url}",
        f"/api/sessions/{url}",
        f"/sessions/{url}",
    ):
        server.wire(request("GET", target))
    return found


@pytest.mark.parametrize(
    "form", ["http://127.0.0.1:{port}/x", "http://canary.invalid:{port}/x", "file:///etc/hostname"]
)
def test_no_field_of_any_request_makes_the_server_connect_elsewhere(tmp_path: Path, form: str) -> None:
    """Over all doors: every connection and every name that the process asks for is seen, and a listener waits for a caller."""
    watch = _Watch()
    with simulated_model() as model, canary() as listener:
        local = OpenAICompatible(Endpoint(name="local", base_url=model.base_url, model="simulated/large"))
        with exposed(tmp_path, providers=[local]) as server:
            watch.seen = []
            found = send_all(server, form.format(port=listener.getsockname()[1]))
            seen, watch.seen = watch.seen, None
            paid = model.count()

        with pytest.raises(BlockingIOError):
            listener.accept()
    ours = {f"127.0.0.1:{server.port}", f"127.0.0.1:{model.base_url.split(':')[2].split('/')[0]}"}
    assert {place for what, place in seen if what == "connect"} == ours
    assert {name for what, name in seen if what == "ask"} <= {"127.0.0.1"}
    assert paid > 50
    assert all(200 in found[path] for path in ("/api/sessions", "/v1/chat/completions", "/mcp"))
