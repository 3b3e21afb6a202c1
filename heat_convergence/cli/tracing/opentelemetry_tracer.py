"""Spans for OpenTelemetry, sent over OTLP.

Loaded by ``setup`` alone. The id of a trace is the UUID of its request's id, so that all daemons
put their spans into the same trace, whatever message or timer has made them work.

Source: OpenTelemetry Python API and SDK, https://opentelemetry-python.readthedocs.io
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import TraceIdRatioBased
from oslo_config import cfg

from heat_convergence.cli.config import package_version
from heat_convergence.common.telemetry.tracing import AttributeValue

_PREFIX = "heat_convergence."
_SPAN_ID_BITS = 64


class OpenTelemetrySpan:
    """A span that can get further attributes."""

    def __init__(self, span: trace.Span) -> None:
        self._span = span

    def record(self, name: str, value: AttributeValue) -> None:
        """Add an attribute that is known only later."""
        self._span.set_attribute(_PREFIX + name, value)


class OpenTelemetryTracer:
    """``common.telemetry.tracing.Tracer`` for OpenTelemetry.

    Args:
        processor: Collects the spans that have ended.
        service: Name of the daemon.
        sample_ratio: Share of the traces that are collected, the same ones in all daemons.
    """

    def __init__(
        self, processor: SpanProcessor, *, service: str, sample_ratio: float = 1.0
    ) -> None:
        self._provider = TracerProvider(
            resource=Resource.create({"service.name": service}),
            sampler=TraceIdRatioBased(sample_ratio),
        )
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer("heat_convergence", package_version())

    @contextmanager
    def span(
        self, name: str, attributes: Mapping[str, AttributeValue], request_id: str | None
    ) -> Iterator[OpenTelemetrySpan]:
        """Return a span that lasts as long as its block, in the trace of the request."""
        inside = trace.get_current_span().get_span_context().is_valid
        with self._tracer.start_as_current_span(
            name,
            context=None if inside else _context_of(request_id),
            attributes={_PREFIX + key: value for key, value in attributes.items()},
            record_exception=False,  # its text may contain secrets
            set_status_on_exception=False,
        ) as found:
            if request_id is not None:
                found.set_attribute(f"{_PREFIX}request_id", request_id)
            handled = sys.exception()
            try:
                yield OpenTelemetrySpan(found)
            finally:
                error = sys.exception()
                if error is not None and error is not handled:
                    found.set_attribute("error.type", type(error).__name__)
                    found.set_status(trace.StatusCode.ERROR)

    def close(self) -> None:
        """Send what has been collected."""
        self._provider.shutdown()


def create_tracer(conf: cfg.ConfigOpts) -> OpenTelemetryTracer:
    """Return the tracer that the configuration describes."""
    options = conf.tracing
    exporter = OTLPSpanExporter(endpoint=options.otlp_endpoint)
    return OpenTelemetryTracer(
        BatchSpanProcessor(exporter),
        service=conf.prog or "heat-convergence",
        sample_ratio=options.sample_ratio,
    )


def _context_of(request_id: str | None) -> Context | None:
    """Return a context in the trace of a request; None for a trace of its own."""
    try:
        number = uuid.UUID((request_id or "").removeprefix("req-")).int
    except ValueError:
        return None
    parent = trace.SpanContext(
        trace_id=number,
        span_id=number % 2**_SPAN_ID_BITS or 1,
        is_remote=True,
        trace_flags=trace.TraceFlags(trace.TraceFlags.SAMPLED),
    )
    return trace.set_span_in_context(trace.NonRecordingSpan(parent), Context())
