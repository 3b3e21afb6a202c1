"""The command ``openstack stack timeline``, its trace and its spans."""

from __future__ import annotations

import builtins
import json
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from osc_lib.exceptions import CommandError

from heat_convergence.cli.openstack_commands import timeline as commands
from heat_convergence.cli.openstack_commands import timeline_spans
from tests.functional.harness import LocalService
from tests.functional.plans.test_plan_commands import InProcessClient
from tests.functional.project_client import ProjectClient
from tests.functional.timelines.timeline_templates import DIAMOND

Json = Any


@pytest.fixture
def command(tmp_path: Any) -> Iterator[commands.ShowStackTimeline]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    ProjectClient(service).create("s", DIAMOND)
    manager = SimpleNamespace(orchestration=InProcessClient(service))
    yield commands.ShowStackTimeline(SimpleNamespace(client_manager=manager), Namespace())
    service.close()


def run(command: commands.ShowStackTimeline, *arguments: str) -> list[Any]:
    parsed = command.get_parser("openstack stack timeline").parse_args(["s", *arguments])
    _columns, rows = command.take_action(parsed)
    return list(rows)


def test_the_critical_path_is_shown(command: commands.ShowStackTimeline) -> None:
    first, second, third = run(command)
    assert [first[0], second[0], third[0]] == ["a", "slow", "z"]
    assert 20 <= float(second[2]) < 22
    assert second[3] == "a"
    assert second[4].startswith("waiting_for_cloud 20.")
    assert len(run(command, "--all", "--traversal", "1")) == 5


def test_the_trace_is_written(command: commands.ShowStackTimeline, tmp_path: Path) -> None:
    run(command, "--trace", str(tmp_path / "trace.json"))
    trace = json.loads((tmp_path / "trace.json").read_text())
    assert {each["ph"] for each in trace["traceEvents"]} == {"M", "X"}
    with pytest.raises(CommandError, match="No such file or directory"):
        run(command, "--trace", str(tmp_path / "missing" / "trace.json"))


def test_spans_have_the_recorded_times(
    command: commands.ShowStackTimeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    exporter = InMemorySpanExporter()
    monkeypatch.setattr(timeline_spans, "OTLPSpanExporter", lambda: exporter)
    run(command, "--export-spans")
    spans = {span.name: span for span in exporter.get_finished_spans()}
    root, slow = spans["CREATE"], spans["slow"]
    assert slow.parent.span_id == root.context.span_id
    assert 20 <= (slow.end_time - slow.start_time) / 1e9 < 22
    assert root.start_time <= slow.start_time < slow.end_time <= root.end_time
    assert slow.attributes["heat_convergence.unblocked_by"] == "a"
    (cloud,) = [
        span
        for span in exporter.get_finished_spans()
        if span.name == "waiting_for_cloud" and span.parent.span_id == slow.context.span_id
    ]
    assert cloud.end_time <= slow.end_time


def test_the_extra_is_named_where_it_is_missing(
    command: commands.ShowStackTimeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(_name: str) -> Any:
        raise builtins.ModuleNotFoundError("opentelemetry")

    monkeypatch.setattr(commands, "import_module", missing)
    with pytest.raises(CommandError, match=r"heat-convergence\[otel\]"):
        run(command, "--export-spans")
