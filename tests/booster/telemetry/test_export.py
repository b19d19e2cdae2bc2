"""A serving process that sends its spans away: to a collector, to one that hangs, to nobody."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from booster.telemetry.export import wanted
from tests.processes import ROOT, command, environment

HELLO: dict[str, Any] = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
}  # fmt: skip

SOLVE: dict[str, Any] = {
    "jsonrpc": "2.0", "id": 2, "method": "tools/call",
    "params": {
        "name": "solve",
        "arguments": {"task": "What is 6 * 7?", "config": {"provider": "simulated", "scheduler": "system1"}},
    },
}  # fmt: skip

HANGS = 25.0
"""Seconds after which a process that was told to end is given up; less than the half minute that the SDK would hold it."""


class Collector(ThreadingHTTPServer):
    """Takes spans over OTLP; `hangs` = reads them and never answers."""

    def __init__(self, *, hangs: bool) -> None:
        super().__init__(("127.0.0.1", 0), _Exported)
        self.released = threading.Event()
        self.reached = threading.Event()
        if not hangs:
            self.released.set()
        self.spans: list[Any] = []
        self.resources: list[dict[str, str]] = []

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}"


class _Exported(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        """Take one batch."""
        collector = self.server
        assert isinstance(collector, Collector)
        batch = ExportTraceServiceRequest.FromString(self.rfile.read(int(self.headers["content-length"])))
        for resource in batch.resource_spans:
            attributes = {item.key: item.value.string_value for item in resource.resource.attributes}
            collector.resources.append(attributes)
            collector.spans += [span for scope in resource.scope_spans for span in scope.spans]
        collector.reached.set()
        collector.released.wait()
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def collecting(*, hangs: bool = False) -> Iterator[Collector]:
    """Run a collector until the block ends."""
    with Collector(hangs=hangs) as collector:
        thread = threading.Thread(target=collector.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield collector
        finally:
            collector.released.set()
            collector.shutdown()
            thread.join()


def served(home: Path, *, by: signal.Signals | None = None, **variables: str) -> tuple[dict[str, Any], str]:
    """Let a serving process solve one task and end, by a signal or at the end of its input; return answer and log."""
    process = subprocess.Popen(
        command("serve"), env=environment(home, **variables), cwd=home, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        for message in (HELLO, {"jsonrpc": "2.0", "method": "notifications/initialized"}, SOLVE):
            process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()
        answers = iter(json.loads(line) for line in process.stdout)
        solved = next(answer for answer in answers if answer.get("id") == 2)
        if by is not None:
            process.send_signal(by)
        rest, log = process.communicate(timeout=HANGS)
    finally:
        process.kill()
        process.wait()
    assert rest == ""
    return solved["result"]["structuredContent"], log


@pytest.mark.parametrize("by", [None, signal.SIGTERM])
def test_spans_of_a_served_solve_arrive_when_the_process_ends(tmp_path: Path, by: signal.Signals | None) -> None:
    with collecting() as collector:
        result, _ = served(tmp_path, by=by, OTEL_EXPORTER_OTLP_ENDPOINT=collector.url)

    by_name = {span.name: span for span in collector.spans}
    root, request = by_name["invoke_workflow solve"], by_name["tools/call solve"]
    assert result["status"] == "done"
    assert {"invoke_agent iteration", "chat simulated/large"} <= set(by_name)
    assert (root.parent_span_id, root.trace_id) == (request.span_id, request.trace_id)
    assert {resource["service.name"] for resource in collector.resources} == {"reasoning-booster"}


def test_the_log_names_the_trace_that_arrived(tmp_path: Path) -> None:
    with collecting() as collector:
        _, log = served(tmp_path, OTEL_TRACES_EXPORTER="otlp", OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=collector.url)

    run = next(line for line in map(json.loads, log.splitlines()) if line["event"] == "session worked on")
    root = next(span for span in collector.spans if span.name == "invoke_workflow solve")
    assert (run["trace_id"], run["span_id"]) == (root.trace_id.hex(), root.span_id.hex())


def test_name_content_and_level_come_from_the_environment(tmp_path: Path) -> None:
    own: dict[str, Any] = {"OTEL_SERVICE_NAME": "mine", "BOOSTER_TRACE_CONTENT": "true", "BOOSTER_LOG_LEVEL": "debug"}
    with collecting() as collector:
        _, log = served(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, **own)

    root = next(span for span in collector.spans if span.name == "invoke_workflow solve")
    assert {resource["service.name"] for resource in collector.resources} == {"mine"}
    assert "What is 6 * 7?" in {item.key: item.value.string_value for item in root.attributes}["gen_ai.input.messages"]
    assert "call ended" in {line["event"] for line in map(json.loads, log.splitlines())}


def test_a_collector_that_hangs_holds_neither_the_solve_nor_the_end(tmp_path: Path) -> None:
    """By the bounds of the SDK it would hold the end for half a minute."""
    with collecting(hangs=True) as collector:
        result, _ = served(
            tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, OTEL_EXPORTER_OTLP_TIMEOUT="3600",
            OTEL_BSP_SCHEDULE_DELAY="1", OTEL_BSP_MAX_EXPORT_BATCH_SIZE="1",
        )  # fmt: skip

        assert collector.reached.is_set()
    assert result["status"] == "done"


def test_a_collector_that_is_not_there_costs_a_line_in_the_log(tmp_path: Path) -> None:
    with collecting() as collector:
        gone = collector.url
    result, log = served(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=gone)

    assert result["status"] == "done"
    assert any(line["logger"].startswith("opentelemetry") for line in map(json.loads, log.splitlines()))


SET_UP = """
import asyncio, sys
sys.modules.update(dict.fromkeys(BLOCKED))
from booster.redact import Redactor
from booster.server.logs import configure_logs
from booster.telemetry.export import exporting

async def main():
    configure_logs(Redactor())
    async with exporting():
        print("opentelemetry.sdk.trace" in sys.modules)

asyncio.run(main())
"""


@pytest.mark.parametrize("blocked", ["opentelemetry.sdk", "opentelemetry.exporter"])
def test_without_the_extra_a_warning_names_it(blocked: str, tmp_path: Path) -> None:
    env = environment(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9")
    done = set_up(env, blocked)

    line = json.loads(done.stderr)
    assert line["level"] == "warning"
    assert "reasoning-booster[otel]" in line["event"]


def test_nothing_is_set_up_where_nobody_says_where_to(tmp_path: Path) -> None:
    done = set_up(environment(tmp_path))

    assert (done.stdout, done.stderr) == ("False\n", "")


def set_up(env: Mapping[str, str], *blocked: str) -> "subprocess.CompletedProcess[str]":
    """Enter and leave the export in a process in which some packages cannot be imported."""
    done = subprocess.run(
        [sys.executable, "-c", SET_UP.replace("BLOCKED", repr(blocked))],
        cwd=ROOT, env=dict(env), capture_output=True, text=True, timeout=HANGS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize(
    ("environ", "exported"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://here:4318"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://here:4318/v1/traces"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": ""}, False),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, True),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://here:4318"}, False),
        ({"OTEL_TRACES_EXPORTER": "zipkin", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://here:4318"}, False),
        ({"OTEL_SDK_DISABLED": "TRUE", "OTEL_TRACES_EXPORTER": "otlp"}, False),
    ],
)
def test_the_environment_decides_as_opentelemetry_has_it(environ: Mapping[str, str], exported: bool) -> None:
    assert wanted(environ) is exported
