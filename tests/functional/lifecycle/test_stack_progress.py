"""Progress of stacks: what unfinished resources wait for, and the first failure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from heat_convergence.api.policies.enforcer import PolicyEnforcer
from heat_convergence.convergence.model.job import JobState
from heat_convergence.db.tables import resource, resource_graph
from heat_convergence.testing.statement_counter import count_statements
from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template, resource_definition

Json = Any
CHILD = "file:///t/child.yaml"
NEVER_READY = resource_definition(value="a", wait_secs=-1)
CHAIN = hot_template({
    "a": NEVER_READY,
    "b": resource_definition(value={"get_attr": ["a", "output"]}),
})  # fmt: skip


@pytest.fixture
def heat(tmp_path: Any) -> Iterator[ProjectClient]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    yield ProjectClient(service)
    service.close()


def create(heat: ProjectClient, name: str, template: Json, **body: Json) -> None:
    """Create a stack and handle the messages, without waiting for the resources."""
    heat.create(name, template, hold=True, **body)
    heat.service.handle_pending()


def progress(heat: ProjectClient, key: str = "s", query: str = "") -> Json:
    found = heat.send("GET", f"{heat.path(key)}/progress{query}", leave_pending=True)
    assert found.status_int == 200, found.text
    return found.json["progress"]


def waiting(heat: ProjectClient, name: str, key: str = "s") -> Json:
    return heat.resource(key, name)["waiting"]


def test_a_finished_stack_waits_for_nothing(heat: ProjectClient) -> None:
    heat.create("s", hot_template({"a": resource_definition(value="a")}))
    assert waiting(heat, "a") is None
    shown = progress(heat)
    assert (shown["stack_status"], shown["resources_total"]) == ("CREATE_COMPLETE", 1)
    assert (shown["jobs"], shown["resources"], shown["first_failure"]) == ({}, [], None)


def test_a_posted_job_waits_for_an_engine(heat: ProjectClient) -> None:
    heat.create("s", CHAIN, hold=True)
    shown = waiting(heat, "a")
    assert shown["state"] == "POSTED"
    assert shown["message"] == "waits for an engine, 0 s so far"


def test_administrators_of_the_cloud_alone_see_the_worker_and_its_lease(
    heat: ProjectClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    heat.create("s", CHAIN, hold=True)
    expires_at = heat.service.clock()
    with heat.service.database.write() as conn:
        conn.execute(
            resource.update()
            .where(resource.c.name == "a")
            .values(job_state=JobState.RUNNING, lease_owner="w", lease_expires_at=expires_at)
        )
    (of_a,) = [each for each in progress(heat)["resources"] if each["path"] == "a"]
    assert of_a["waiting"]["worker"] is None
    assert waiting(heat, "a")["worker"] is None
    monkeypatch.setattr(PolicyEnforcer, "is_cloud_admin", lambda _self, _request: True)
    (of_a,) = [each for each in progress(heat)["resources"] if each["path"] == "a"]
    worker = {"id": "w", "host": None, "lease_expires_at": "2026-01-01T00:00:00Z"}
    assert of_a["waiting"]["worker"] == worker
    assert waiting(heat, "a")["worker"] == worker
    assert waiting(heat, "b")["worker"] is None


def test_a_resource_names_what_it_needs_and_for_how_long(heat: ProjectClient) -> None:
    create(heat, "s", CHAIN)
    heat.service.clock.advance(40)
    assert waiting(heat, "a")["message"] == "waits until the service has finished, 40 s so far"
    shown = waiting(heat, "b")
    assert shown["message"] == "waits for a to be active (CREATE_IN_PROGRESS, 40 s)"
    assert shown["required_resources"] == ["a"]
    assert shown["required_levels"] == {"a": "active"}
    assert progress(heat)["jobs"] == {"AWAITING_OBSERVATION": 1, "BLOCKED": 1}


def test_usual_duration_of_the_type_is_named(heat: ProjectClient) -> None:
    heat.create("before", hot_template({"a": resource_definition(value="a", wait_secs=30)}))
    create(heat, "s", CHAIN)
    heat.service.clock.advance(40)
    own = waiting(heat, "a")["message"]
    assert own == "waits until the service has finished, 40 s so far, usually 30 s"
    message = waiting(heat, "b")["message"]
    assert message == "waits for a to be active (CREATE_IN_PROGRESS, 40 s, usually 30 s)"


def test_more_requirements_than_are_named_are_counted(heat: ProjectClient) -> None:
    needed = [f"a{number}" for number in range(7)]
    resources = dict.fromkeys(needed, NEVER_READY)
    last = {**resource_definition(value="b"), "depends_on": needed}
    create(heat, "s", hot_template({**resources, "b": last}))
    message = waiting(heat, "b")["message"]
    assert message.startswith("waits for a0 to be active (CREATE_IN_PROGRESS, 0 s), a1 to be")
    assert message.endswith(" and 2 more")


def test_a_breakpoint_is_named(heat: ProjectClient) -> None:
    hooks = {"resource_registry": {"resources": {"a": {"hooks": ["pre-create"]}}}}
    create(heat, "s", CHAIN, environment=hooks)
    shown = waiting(heat, "a")
    assert (shown["state"], shown["hook"]) == ("AT_BREAKPOINT", "pre-create")
    assert shown["message"] == "waits at the breakpoint pre-create until a user clears it"


def test_a_resource_of_a_nested_stack_has_its_path(heat: ProjectClient) -> None:
    parent = hot_template({"child": {"type": CHILD}})
    create(heat, "s", parent, files={CHILD: json.dumps(CHAIN)})
    paths = {each["path"]: each["waiting"]["state"] for each in progress(heat)["resources"]}
    assert paths == {
        "child": "AWAITING_OBSERVATION",
        "child/a": "AWAITING_OBSERVATION",
        "child/b": "BLOCKED",
    }


def test_the_first_failure_names_path_and_remedy(heat: ProjectClient) -> None:
    failing = hot_template({"bad": resource_definition(value="a", fail=True)})
    create(heat, "s", hot_template({"child": {"type": CHILD}}), files={CHILD: json.dumps(failing)})
    failure = progress(heat)["first_failure"]
    assert failure["path"] == "child/bad"
    assert failure["reason"] == heat.stack("s")["stack_status_reason"]
    assert failure["remedy"].endswith(".")


def test_a_job_in_the_queue_of_its_project_has_its_place(heat: ProjectClient) -> None:
    for name in ("s", "t"):
        heat.create(name, CHAIN, hold=True)
        heat.service.clock.advance(5)
    with heat.service.database.write() as conn:
        queued = resource.update().where(resource.c.name == "a")
        conn.execute(queued.values(job_state=JobState.SCHEDULABLE))
    assert waiting(heat, "a", "s")["queue_position"] == 1
    shown = waiting(heat, "a", "t")
    assert shown["queue_position"] == 2
    assert shown["message"].endswith(": place 2 in the project's queue")


def test_a_retry_names_its_number_its_time_and_the_failure(heat: ProjectClient) -> None:
    heat.create("s", CHAIN, hold=True)
    due = heat.service.clock() + timedelta(seconds=8)
    with heat.service.database.write() as conn:
        failed = resource.update().where(resource.c.name == "a")
        reason = "Quota exceeded"
        conn.execute(failed.values(job_state=JobState.RETRY, observe_at=due, status_reason=reason))
        conn.execute(resource_graph.update().values(retry_count=2))
    shown = waiting(heat, "a")
    assert (shown["state"], shown["failed_tries"]) == ("RETRY", 2)
    assert shown["message"] == "waits for try 3 of 6 in 8 s: Quota exceeded"


def test_the_number_of_resources_does_not_change_that_of_statements(heat: ProjectClient) -> None:
    totals = []
    for size in (2, 40):
        name = f"s{size}"
        resources = {f"a{at}": NEVER_READY for at in range(size)}
        last = {**resource_definition(value="b"), "depends_on": list(resources)}
        create(heat, name, hot_template({**resources, "b": last}))
        path = heat.path(name)
        with count_statements(heat.service.database.engine) as count:
            heat.send("GET", f"{path}/progress", leave_pending=True)
        totals.append(count.total)
    assert totals[0] == totals[1] <= 8


def test_at_most_limit_resources_are_shown_and_blocked_ones_last(heat: ProjectClient) -> None:
    create(heat, "s", CHAIN)
    states = [each["waiting"]["state"] for each in progress(heat)["resources"]]
    assert states == [JobState.AWAITING_OBSERVATION.name, JobState.BLOCKED.name]
    assert len(progress(heat, query="?limit=1")["resources"]) == 1
    refused = heat.send("GET", f"{heat.path('s')}/progress?limit=x", leave_pending=True)
    assert refused.status_int == 400
