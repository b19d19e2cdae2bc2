"""Spans for tests: an SDK that keeps them in memory, and that only records where a test asks for it.

A process has one tracer provider, for good. So it is set once, with a sampler that is off but inside `recorded`.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import Decision, Sampler, SamplingResult
from opentelemetry.trace import set_tracer_provider


class _Switch(Sampler):
    """Records everything while it is on, nothing else."""

    on = False

    def should_sample(
        self, parent_context: Context | None, trace_id: int, name: str, *_: Any, **__: Any
    ) -> SamplingResult:
        """See `Sampler`."""
        return SamplingResult(Decision.RECORD_AND_SAMPLE if self.on else Decision.DROP)

    def get_description(self) -> str:
        """See `Sampler`."""
        return "switch"


@cache
def _sdk() -> tuple[_Switch, InMemorySpanExporter]:
    switch, exporter = _Switch(), InMemorySpanExporter()
    provider = TracerProvider(sampler=switch, shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    set_tracer_provider(provider)
    return switch, exporter


class Recorded:
    """The spans that ended so far, oldest first."""

    def __init__(self, exporter: InMemorySpanExporter) -> None:
        self._exporter = exporter

    @property
    def spans(self) -> Sequence[ReadableSpan]:
        """All of them."""
        return self._exporter.get_finished_spans()

    def named(self, start: str) -> list[ReadableSpan]:
        """Return those whose name starts so."""
        return [span for span in self.spans if span.name.startswith(start)]

    def one(self, start: str) -> ReadableSpan:
        """Return the only one."""
        (span,) = self.named(start)
        return span

    def parent(self, span: ReadableSpan) -> ReadableSpan | None:
        """Return the parent of a span, among those that ended."""
        if span.parent is None:
            return None
        return next(one for one in self.spans if one.context.span_id == span.parent.span_id)

    def text(self) -> str:
        """Return everything that spans say, as JSON."""
        return json.dumps([json.loads(span.to_json()) for span in self.spans])


@contextmanager
def recorded() -> Iterator[Recorded]:
    """Record spans until the block ends; they can be looked at until the next such block begins."""
    switch, exporter = _sdk()
    exporter.clear()
    switch.on = True
    try:
        yield Recorded(exporter)
    finally:
        switch.on = False
