"""Spans of OpenTelemetry for a timeline: one for the traversal, each resource and each phase.

Loaded by ``timeline`` on request, because the SDK is an extra.

Source: OpenTelemetry Python SDK, https://opentelemetry-python.readthedocs.io
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from heat_convergence.cli.config import package_version

Json = Any
_PREFIX = "heat_convergence."
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def export_timeline(shown: Json) -> None:
    """Send a timeline, as the API shows it, to the collector that the environment names."""
    provider = TracerProvider(resource=Resource.create({"service.name": shown["stack_name"]}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    tracer = provider.get_tracer("heat_convergence.timeline", package_version())
    names = ("stack_id", "stack_name", "version", "status")
    root = _start(tracer, shown["action"], shown["started_at"], _attributes(shown, names))
    inside = trace.set_span_in_context(root)
    for each in shown["resources"]:
        _export_resource(tracer, each, inside)
    root.end(_nanoseconds(shown["ended_at"] or _last_time(shown)))
    provider.shutdown()


def _export_resource(tracer: trace.Tracer, entry: Json, context: Any) -> None:
    parts = [part for part in entry["segments"] if part["started_at"] >= entry["released_at"]]
    if not parts:
        return
    names = ("path", "resource_type", "stack_id", "action", "status", "unblocked_by")
    attributes = _attributes(entry, names)
    span = _start(tracer, entry["path"], parts[0]["started_at"], attributes, context)
    inside = trace.set_span_in_context(span)
    for part in parts:
        reason = _attributes(part, ("reason",))
        phase = _start(tracer, part["phase"], part["started_at"], reason, inside)
        phase.end(_nanoseconds(part["ended_at"]))
    span.end(_nanoseconds(parts[-1]["ended_at"]))


def _start(
    tracer: trace.Tracer,
    name: str,
    started_at: str,
    attributes: dict[str, Any],
    context: Any = None,
) -> trace.Span:
    start_time = _nanoseconds(started_at)
    return tracer.start_span(name, context, start_time=start_time, attributes=attributes)


def _attributes(entry: Json, names: tuple[str, ...]) -> dict[str, Any]:
    return {_PREFIX + name: entry[name] for name in names if entry[name]}


def _last_time(shown: Json) -> str:
    ends = [part["ended_at"] for each in shown["resources"] for part in each["segments"]]
    return max(ends, default=str(shown["started_at"]))


def _nanoseconds(text: str) -> int:
    at = datetime.fromisoformat(text).replace(tzinfo=UTC)
    return (at - _EPOCH) // timedelta(microseconds=1) * 1000
