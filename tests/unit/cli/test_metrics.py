"""The metrics of a daemon: endpoint, sums over processes, numbers of the database."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import yaml
from oslo_config import cfg
from prometheus_client import CollectorRegistry, generate_latest

from heat_convergence.cli import config
from heat_convergence.cli.components.assembly import ProcessComponents
from heat_convergence.cli.metrics.database_metrics import CACHE_S, DatabaseCollector
from heat_convergence.cli.metrics.exposition import (
    MetricsEndpoint,
    create_registry,
    open_metrics_socket,
)
from heat_convergence.cli.metrics.process_files import (
    FOLDER_VARIABLE,
    MIN_FREE_BYTES,
    metrics_folder,
)
from heat_convergence.common import metrics
from heat_convergence.convergence.model.job import JobState, Verb
from heat_convergence.db.connection.database import Database, database_from_url
from heat_convergence.db.store import SqlStore
from heat_convergence.testing.daemon_processes import free_port
from heat_convergence.testing.sample_rows import START_TIME, resource_row, stack_row

MONITORING = Path(__file__).parents[3] / "deploy" / "monitoring"
COMPONENTS = cast("ProcessComponents", SimpleNamespace())


def options() -> cfg.ConfigOpts:
    return config.load_config([], prog="p", files=[])


def read_sample(registry: CollectorRegistry, name: str, **labels: str) -> float | None:
    return registry.get_sample_value(name, labels)


def free_listener() -> socket.socket:
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)
    return listener


def fetch(listener: socket.socket) -> str:
    port = listener.getsockname()[1]
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as response:
        return str(response.read().decode())


def test_endpoint_serves_the_metrics_of_this_process() -> None:
    listener = free_listener()
    endpoint = MetricsEndpoint(listener)
    metrics.TAKEOVERS.inc(3)
    endpoint.serve(COMPONENTS)
    try:
        text = fetch(listener)
    finally:
        endpoint.stop()
    assert re.search(r"^heat_convergence_ended_worker_jobs_total \d", text, re.MULTILINE)
    assert 'heat_convergence_build_info{version="' in text


def test_endpoint_without_a_socket_does_nothing() -> None:
    endpoint = MetricsEndpoint()
    endpoint.serve(COMPONENTS)
    endpoint.stop()


def test_port_in_use_is_named_and_the_daemon_goes_on(
    capfd: pytest.CaptureFixture[str],
) -> None:
    options()  # sets up the log
    with socket.create_server(("127.0.0.1", 0)) as other:
        assert open_metrics_socket("127.0.0.1", other.getsockname()[1]) is None
    logged = "".join(capfd.readouterr())
    assert "metrics not served" in logged
    assert (
        "Address already in use; set the daemon's port of [metrics] to a free one, or to 0"
        in logged
    )
    assert logged.count("\n") == 1


def test_full_file_system_is_named_and_has_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path))
    monkeypatch.setenv(FOLDER_VARIABLE, "of an outer process")
    usage = SimpleNamespace(free=MIN_FREE_BYTES - 1)
    monkeypatch.setattr("shutil.disk_usage", lambda _path: usage)
    options()  # sets up the log
    with metrics_folder():
        assert FOLDER_VARIABLE not in os.environ
        assert list(tmp_path.iterdir()) == []
        listener = open_metrics_socket("127.0.0.1", free_port())
    assert listener is not None
    listener.close()
    logged = "".join(capfd.readouterr())
    assert logged.count("\n") == 1
    assert "metrics not added up" in logged
    usage.free = MIN_FREE_BYTES
    with metrics_folder():
        assert len(list(tmp_path.iterdir())) == 1


def test_port_zero_opens_nothing() -> None:
    assert open_metrics_socket("127.0.0.1", 0) is None


def test_metrics_are_served_on_loopback_by_default() -> None:
    assert options().metrics.bind_host == "127.0.0.1"


CHILD = """
import sys
from heat_convergence.common import metrics
metrics.TAKEOVERS.inc(2)
metrics.BUSY_THREADS.labels("verb").inc()
if len(sys.argv) > 1:
    from heat_convergence.cli.metrics.exposition import create_registry
    from prometheus_client import generate_latest
    print(generate_latest(create_registry()).decode())
"""


@pytest.mark.processes
def test_counters_of_ended_processes_stay_and_their_gauges_go(tmp_path: Path) -> None:
    environment = {**os.environ, FOLDER_VARIABLE: str(tmp_path)}
    for arguments in ([], ["print"]):
        done = subprocess.run(
            [sys.executable, "-c", CHILD, *arguments],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
    assert "heat_convergence_ended_worker_jobs_total 4.0" in done.stdout
    assert 'heat_convergence_busy_threads{pool="verb"} 1.0' in done.stdout


def test_folder_is_private_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path))
    monkeypatch.setenv(FOLDER_VARIABLE, "")
    abandoned = tmp_path / f"heat-convergence-metrics-{os.geteuid()}-999999999"
    abandoned.mkdir()
    with metrics_folder():
        folder = Path(os.environ[FOLDER_VARIABLE])
        assert folder.parent == tmp_path
        assert folder.stat().st_mode & 0o777 == 0o700
        assert not abandoned.exists()
    assert not folder.exists()


def test_missing_folder_leaves_each_process_its_own_metrics(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RUNTIME_DIRECTORY", "/proc/nowhere")
    monkeypatch.setenv(FOLDER_VARIABLE, "x")
    with metrics_folder():
        assert FOLDER_VARIABLE not in os.environ
        assert (
            read_sample(create_registry(), "heat_convergence_ended_worker_jobs_total") is not None
        )


def test_jobs_and_stacks_are_counted(database: Database) -> None:
    with SqlStore(database).transaction() as tx:
        tx.stacks.insert(stack_row("s"))
        tx.resources.insert(
            [
                resource_row(
                    f"r{number}",
                    stack_id="s",
                    job=Verb.CONVERGE,
                    job_state=JobState.POSTED,
                    posted_at=START_TIME + timedelta(seconds=number),
                )
                for number in range(2)
            ]
        )
    now_s = 0.0
    collector = DatabaseCollector(
        database, lambda: START_TIME + timedelta(seconds=90), monotonic=lambda: now_s
    )
    registry = CollectorRegistry()
    registry.register(collector)
    name = "heat_convergence_oldest_ready_job_seconds"
    assert read_sample(registry, "heat_convergence_database_up") == 1
    assert read_sample(registry, name) == 90
    jobs = {
        each.labels["state"]: each.value for each in samples(registry, "heat_convergence_jobs")
    }
    assert jobs == {"POSTED": 2}
    stacks = samples(registry, "heat_convergence_stacks")
    assert [each.value for each in stacks] == [1]
    with SqlStore(database).transaction() as tx:
        tx.jobs.mark_complete(["r0", "r1"], START_TIME)
    assert samples(registry, "heat_convergence_jobs") != []  # not read again yet
    now_s = CACHE_S
    assert samples(registry, "heat_convergence_jobs") == []
    assert read_sample(registry, name) == 0


def test_database_that_does_not_answer_is_down() -> None:
    absent = database_from_url("mysql+pymysql://root@127.0.0.1:1/nobody")
    registry = CollectorRegistry()
    registry.register(DatabaseCollector(absent, lambda: START_TIME))
    assert read_sample(registry, "heat_convergence_database_up") == 0
    assert samples(registry, "heat_convergence_jobs") == []


def samples(registry: CollectorRegistry, name: str) -> list[Any]:
    return [each for metric in registry.collect() for each in metric.samples if each.name == name]


def served_names(database: Database) -> set[str]:
    registry = create_registry([DatabaseCollector(database, lambda: START_TIME)])
    text = generate_latest(registry).decode()
    declared = dict(re.findall(r"^# TYPE (heat_convergence_\w+) (\w+)$", text, re.MULTILINE))
    names = set(declared)
    for name, metric_type in declared.items():
        if metric_type == "histogram":
            names |= {f"{name}_bucket", f"{name}_count", f"{name}_sum"}
    return names


def expressions_of_rules() -> str:
    groups = yaml.safe_load((MONITORING / "alerts.yaml").read_text())["groups"]
    return "\n".join(rule["expr"] for group in groups for rule in group["rules"])


def expressions_of_dashboard() -> str:
    panels = json.loads((MONITORING / "dashboard.json").read_text())["panels"]
    return "\n".join(target["expr"] for panel in panels for target in panel["targets"])


@pytest.mark.parametrize("source", [expressions_of_rules, expressions_of_dashboard])
def test_rules_and_dashboard_name_metrics_that_are_served(
    source: Callable[[], str], database: Database
) -> None:
    used = set(re.findall(r"heat_convergence_\w+", source()))
    assert len(used) >= 8
    assert used - served_names(database) == set()


def test_every_metric_is_documented(database: Database) -> None:
    page = (MONITORING.parents[1] / "docs" / "operate" / "monitoring.rst").read_text()
    documented = set(re.findall(r"^``(heat_convergence_\w+)``", page, re.MULTILINE))
    served = {name for name in served_names(database) if not name.endswith(("_bucket", "_sum"))}
    counted = {name for name in served if name.removesuffix("_count") not in served}
    assert counted <= documented
    assert documented - served == set()
