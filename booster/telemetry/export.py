"""Sending spans away: sets the OpenTelemetry SDK up where the environment of a serving process names a place for them.

Spans leave over OTLP (HTTP, protobuf) from a thread of their own, in batches out of a bounded queue: a collector that hangs
or is down costs the newest spans, never a solve's time. Needs the extra `otel`.
"""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from threading import Thread
from typing import TYPE_CHECKING, Final

from opentelemetry.trace import ProxyTracerProvider, get_tracer_provider, set_tracer_provider

from booster.version import DISTRIBUTION, installed_version

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

FLUSH_SECONDS: Final = 1.0
"""How long the end of the process waits for the last spans to leave."""

MISSING: Final = "spans are not exported: install the extra `otel` (pip install 'reasoning-booster[otel]')"

_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_KIND: Final = "OTEL_TRACES_EXPORTER"

log = logging.getLogger("booster.telemetry")


class Export:
    """The export of a process's spans, or none. Made by `exporting`."""

    def __init__(self, provider: "TracerProvider | None" = None) -> None:
        self._provider = provider

    def close(self) -> None:
        """Send what is left, for `FLUSH_SECONDS` at most; then nothing is sent any more. Idempotent."""
        provider, self._provider = self._provider, None
        if provider is not None:
            # The SDK has no bound of its own for the end: an exporter amid its retries would hold the process.
            last = Thread(target=provider.shutdown, name="last spans", daemon=True)
            last.start()
            last.join(FLUSH_SECONDS)


@asynccontextmanager
async def exporting(environ: Mapping[str, str] | None = None) -> AsyncIterator[Export]:
    """Export the spans of this process until the block ends, if its environment says where to.

    Reads the variables that OpenTelemetry defines: `OTEL_EXPORTER_OTLP_ENDPOINT` (or `OTEL_TRACES_EXPORTER=otlp`) turns it
    on, `OTEL_TRACES_EXPORTER=none` and `OTEL_SDK_DISABLED=true` off; the SDK itself reads the others. A process in which
    somebody has set tracing up already is left alone.

    Args:
        environ: Environment variables; None = those of the process.
    """
    export = _started(os.environ if environ is None else environ)
    try:
        yield export
    finally:
        await asyncio.to_thread(export.close)


def _started(environ: Mapping[str, str]) -> Export:
    if not wanted(environ) or not isinstance(get_tracer_provider(), ProxyTracerProvider):
        return Export()
    try:
        provider = _provider(environ)
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("opentelemetry"):
            raise
        log.warning(MISSING)
        return Export()
    set_tracer_provider(provider)
    return Export(provider)


def wanted(environ: Mapping[str, str]) -> bool:
    """Say whether the environment asks for an export."""
    kind = environ.get(_KIND, "").strip().lower()
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true" or kind == "none":
        return False
    if kind and kind != "otlp":
        log.warning("%s=%s is not known: use otlp or none; nothing is exported", _KIND, kind)
        return False
    return kind == "otlp" or any(environ.get(name) for name in _ENDPOINTS)


def _provider(environ: Mapping[str, str]) -> "TracerProvider":
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    named = "OTEL_SERVICE_NAME" in environ or "service.name=" in environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    own = {"service.version": installed_version()} | ({} if named else {"service.name": DISTRIBUTION})
    provider = TracerProvider(resource=Resource.create(own), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider
