"""The overview of the whole service for administrators of the cloud."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from oslo_context.context import RequestContext

from heat_convergence.api import context
from heat_convergence.db.tables import drift_breaker, watch_group
from heat_convergence.db.tables import service as service_table
from heat_convergence.testing.sample_rows import service_row
from tests.functional.harness import LocalService

FAILING = {"type": "OS::Heat::TestResource", "properties": {"fail": True}}
WORKING = {"type": "OS::Heat::TestResource"}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[LocalService]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    yield service
    service.close()


def create(service: LocalService, project: str, resource: Any, **options: Any) -> str:
    template = {"heat_template_version": "2018-08-31", "resources": {"r": resource}}
    body = {"stack_name": f"of-{project}", "template": template}
    answer = service.send("POST", "/stacks", body, project=project, **options)
    return str(answer.json["stack"]["id"])


def overview(service: LocalService) -> Any:
    answer = service.send("GET", "/overview", leave_pending=True)
    assert answer.status_int == 200, answer.text
    return answer.json["overview"]


def test_overview_shows_failures_and_the_queue_of_all_projects(service: LocalService) -> None:
    failed = create(service, "q", FAILING)
    waiting = create(service, "r", WORKING, leave_pending=True)
    shown = overview(service)
    (stack,) = shown["failed_stacks"]
    assert (stack["id"], stack["stack_name"], stack["project_id"]) == (failed, "of-q", "q")
    assert stack["stack_status"] == "CREATE_FAILED"
    (job,) = shown["queued"]
    assert (job["stack_id"], job["stack_name"], job["project_id"]) == (waiting, "of-r", "r")
    assert job["resource_name"] == "r"
    assert shown["oldest_ready_job_at"] == job["since"]
    numbers = {each.pop("project_id"): each for each in shown["projects"]}
    assert numbers == {
        "q": {"stacks": 1, "in_progress": 0, "failed": 1, "jobs": numbers["q"]["jobs"]},
        "r": {"stacks": 1, "in_progress": 1, "failed": 0, "jobs": 1},
    }
    assert shown["running"] == []
    assert {"stack_status": "CREATE_IN_PROGRESS", "count": 1} in shown["stacks"]


def test_overview_shows_what_cannot_be_read_and_open_breakers(service: LocalService) -> None:
    now = service.clock()
    group = {"project_id": "q", "implementation": "OS::Nova::Server", "interval_s": 60.0}
    group |= {"next_at": now, "observed_at": None}
    breaker = {"project_id": "q", "implementation": "OS::Nova::Server", "region": "", "since": now}
    breaker |= {"lost": 5, "total": 9}
    with service.database.write() as conn:
        conn.execute(watch_group.insert().values(**group, reason="503 Service Unavailable"))
        conn.execute(watch_group.insert().values(**{**group, "project_id": "r"}, reason=""))
        for number, confirmed in enumerate((False, True)):
            row = {**breaker, "id": str(number), "confirmed": confirmed}
            conn.execute(drift_breaker.insert().values(**row))
    shown = overview(service)
    (unread,) = shown["unread"]
    assert (unread["project_id"], unread["reason"]) == ("q", "503 Service Unavailable")
    (found,) = shown["breakers"]
    assert (found["id"], found["lost"], found["total"]) == ("0", 5, 9)


def test_overview_shows_what_workers_leave_alone_or_find_slow(service: LocalService) -> None:
    nova = {"service": "compute", "region": "north", "project_id": "", "failures": 5, "open_s": 9}
    cinder = {
        "service": "block_storage",
        "region": "",
        "project_id": "",
        "calls": 3,
        "mean_s": 4.5,
    }
    states = {"open": [nova], "slow": [cinder]}
    workers = service.services.store.workers
    for name, found in (("a", states), ("b", None), ("unreadable", states)):
        workers.record_heartbeat(service_row(name, endpoint_states=found), service.clock())
    with service.database.write() as conn:
        unreadable = service_table.update().where(service_table.c.id == "unreadable")
        conn.execute(unreadable.values(endpoint_states=sa.literal("{", sa.Text())))
    first, second = overview(service)["endpoints"]
    assert (first["state"], first["service"], first["open_s"]) == ("open", "compute", 9)
    assert (first["worker_id"], first["project_id"], first["mean_s"]) == ("a", None, None)
    assert (second["state"], second["service"], second["mean_s"]) == ("slow", "block_storage", 4.5)
    service.clock.advance(3600)  # the worker has ended without a word
    assert overview(service)["endpoints"] == []


def test_overview_is_refused_to_others(
    service: LocalService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context.Caller, "to_policy_values", RequestContext.to_policy_values)
    assert service.send("GET", "/overview").status_int == 403
