"""Traces: spans of both libraries, and none without a backend."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from oslo_config import cfg
from oslo_context.context import RequestContext
from osprofiler import profiler
from webob import Request

from heat_convergence.api.middleware.request_spans import RequestSpans
from heat_convergence.cli.startup.startup_state import StartupProblem
from heat_convergence.cli.tracing import setup
from heat_convergence.cli.tracing.opentelemetry_tracer import OpenTelemetryTracer
from heat_convergence.cli.tracing.osprofiler_tracer import OsprofilerTracer, create_tracer
from heat_convergence.common.error_log import ErrorLog
from heat_convergence.common.telemetry import tracing
from heat_convergence.common.telemetry.call_metrics import timed_call
from heat_convergence.common.telemetry.request_contexts import StackRequests
from heat_convergence.conf import tracing as options
from heat_convergence.convergence.model.job import JobState, ObservedState
from heat_convergence.observer.polling import ObservationBatch, plan_polls
from heat_convergence.resources.builtin.test_resource import TestResource
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.template.evaluation.resource_definition import ResourceDefinition
from heat_convergence.testing.in_process_service import InProcessService
from heat_convergence.testing.memory.store import MemoryStore
from heat_convergence.testing.sample_rows import resource_row, stack_row, time_at

REQUEST_ID = "req-5f3c6a1e-1a1b-4a5c-8a55-0f5b3c2d1e0f"
TRACE_ID = uuid.UUID(REQUEST_ID.removeprefix("req-"))


@pytest.fixture(autouse=True)
def request_context(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(tracing.Tracing, "tracer", None)
    requests = StackRequests()
    RequestContext(global_request_id=REQUEST_ID)
    requests.remember("stack")
    RequestContext()
    with requests.resumed("stack"):
        yield


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    """The spans of OpenTelemetry that have ended."""
    found = InMemorySpanExporter()
    tracing.Tracing.tracer = OpenTelemetryTracer(SimpleSpanProcessor(found), service="engine")
    return found


@pytest.fixture
def profiled() -> list[dict[str, Any]]:
    """The starts and ends that osprofiler has stored."""
    stored: list[dict[str, Any]] = []
    tracing.Tracing.tracer = OsprofilerTracer(lambda info, context=None: stored.append(info), "k")
    return stored


def config(**values: object) -> cfg.ConfigOpts:
    conf = cfg.ConfigOpts()
    conf.register_opts(options.OPTS, group=options.GROUP)
    conf.register_opts([cfg.StrOpt("host", default="h")])
    conf([], project="heat-convergence", prog="heat-convergence-engine")
    for name, value in values.items():
        conf.set_override(name, value, group=options.GROUP)
    return conf


def work() -> None:
    with tracing.span("job", stack="s", resource="r"), timed_call("compute", "GET") as call:
        call.record_status(404)


def test_nothing_happens_without_a_backend() -> None:
    setup.start_tracing(config())
    assert tracing.Tracing.tracer is None
    assert tracing.span("job", stack="s") is tracing.span("observation")
    work()


def test_spans_are_in_the_trace_of_the_request(exporter: InMemorySpanExporter) -> None:
    work()
    call, job = exporter.get_finished_spans()
    assert (call.name, job.name) == ("service call", "job")
    assert {span.context.trace_id for span in (call, job)} == {TRACE_ID.int}
    assert call.parent is not None
    assert call.parent.span_id == job.context.span_id
    assert dict(job.attributes or {}) == {
        "heat_convergence.stack": "s",
        "heat_convergence.resource": "r",
        "heat_convergence.request_id": REQUEST_ID,
    }
    assert dict(call.attributes or {}) == {
        "heat_convergence.service": "compute",
        "heat_convergence.method": "GET",
        "heat_convergence.outcome": "4xx",
        "heat_convergence.request_id": REQUEST_ID,
    }
    assert job.resource.attributes["service.name"] == "engine"


def test_jobs_have_spans(exporter: InMemorySpanExporter) -> None:
    service = InProcessService(MemoryStore(), ResourceTypeRegistry.from_types(TestResource()))
    definition = ResourceDefinition(name="a", type=TestResource.name, properties={})
    stack_id = service.create({"a": definition}, name="red")
    service.run_until_idle()
    (span,) = exporter.get_finished_spans()
    assert span.name == "job"
    assert span.attributes is not None
    assert span.attributes["heat_convergence.stack"] == stack_id
    assert span.attributes["heat_convergence.resource"] == "a"
    assert span.attributes["heat_convergence.action"] == "CREATE"
    assert span.attributes["heat_convergence.resource_type"] == TestResource.name


def test_observations_have_spans(exporter: InMemorySpanExporter) -> None:
    row = resource_row(
        "r",
        implementation=TestResource.name,
        job_state=JobState.AWAITING_OBSERVATION,
        observed=ObservedState.BUSY,
        physical_id="p",
    )
    batch = ObservationBatch(stack_row(), [row], {})
    registry = ResourceTypeRegistry.from_types(TestResource())
    plan_polls([batch], registry, time_at(100), ErrorLog())
    (span,) = exporter.get_finished_spans()
    assert span.name == "observation"
    assert span.attributes is not None
    assert span.attributes["heat_convergence.resources"] == 1
    assert span.attributes["heat_convergence.stack"] == row.stack_id
    assert span.attributes["heat_convergence.resource_type"] == TestResource.name


def test_error_is_named_without_its_text(exporter: InMemorySpanExporter) -> None:
    with pytest.raises(ValueError, match="password"), tracing.span("job"):
        raise ValueError("password")
    (span,) = exporter.get_finished_spans()
    assert span.attributes is not None
    assert span.attributes["error.type"] == "ValueError"
    assert not span.status.is_ok
    assert "password" not in span.to_json()


def test_request_of_the_api_begins_a_trace(exporter: InMemorySpanExporter) -> None:
    def application(_environ: dict[str, Any], start_response: Any) -> list[bytes]:
        with tracing.span("inner"):
            start_response("201 Created", [])
        return [b""]

    environ = {"openstack.request_id": "req-other", "openstack.global_request_id": REQUEST_ID}
    request = Request.blank("/v1/p/stacks?token=secret", environ=environ, method="POST")
    assert request.get_response(RequestSpans(application)).status_int == 201
    inner, span = exporter.get_finished_spans()
    assert inner.parent is not None
    assert inner.parent.span_id == span.context.span_id
    assert span.context.trace_id == TRACE_ID.int
    assert span.attributes is not None
    assert span.attributes["heat_convergence.status"] == "201"
    assert span.attributes["heat_convergence.path"] == "/v1/p/stacks"
    assert "secret" not in span.to_json()


def test_unusual_request_id_has_a_trace_of_its_own(exporter: InMemorySpanExporter) -> None:
    with tracing.span("job", "no-uuid"):
        pass
    (span,) = exporter.get_finished_spans()
    assert span.context.trace_id not in (0, TRACE_ID.int)


def test_sample_ratio_leaves_out_whole_traces() -> None:
    found = InMemorySpanExporter()
    tracer = OpenTelemetryTracer(SimpleSpanProcessor(found), service="e", sample_ratio=0.0)
    tracing.Tracing.tracer = tracer
    work()
    assert found.get_finished_spans() == ()


def test_osprofiler_stores_the_spans_under_the_request(profiled: list[dict[str, Any]]) -> None:
    work()
    assert [each["name"] for each in profiled] == [
        "job-start",
        "service call-start",
        "service call-stop",
        "job-stop",
    ]
    assert {each["base_id"] for each in profiled} == {str(TRACE_ID)}
    assert profiled[1]["parent_id"] == profiled[0]["trace_id"]
    assert profiled[0]["info"]["request_id"] == REQUEST_ID
    assert profiled[2]["info"]["outcome"] == "4xx"
    assert profiler.get() is None  # the thread's next work is in another trace


def test_osprofiler_names_an_error_without_its_text(profiled: list[dict[str, Any]]) -> None:
    with pytest.raises(ValueError, match="password"), tracing.span("job"):
        raise ValueError("password")
    assert profiled[-1]["info"]["error_type"] == "ValueError"
    assert "password" not in str(profiled)


@pytest.mark.parametrize("backend", ["opentelemetry", "osprofiler"])
def test_configured_backend_is_loaded_and_closed(
    backend: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    key = {"osprofiler_hmac_key": "k", "osprofiler_connection": "messaging://"}
    setup.start_tracing(config(backend=backend, **key))
    assert tracing.Tracing.tracer is not None
    setup.stop_tracing()
    assert tracing.Tracing.tracer is None


@pytest.mark.parametrize(
    ("backend", "extra"), [("opentelemetry", "otel"), ("osprofiler", "osprofiler")]
)
def test_missing_module_is_named(
    backend: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(name: str) -> Any:
        if name.startswith("heat_convergence.cli.tracing"):
            raise ModuleNotFoundError("No module", name=backend)
        return import_module(name)

    monkeypatch.setattr(setup, "import_module", refuse)
    with pytest.raises(StartupProblem, match=rf"{backend} needs .*heat-convergence\[{extra}\]"):
        setup.start_tracing(config(backend=backend))


def test_osprofiler_without_a_key_does_not_start() -> None:
    with pytest.raises(StartupProblem, match="osprofiler_hmac_key"):
        create_tracer(config(backend="osprofiler"))
