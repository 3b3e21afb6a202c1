"""Plans of whole trees on every database: executed exactly, refused after changes, and bounded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from webob import Request

from heat_convergence.api.policies.enforcer import PolicyEnforcer
from heat_convergence.api.services import ApiOptions
from heat_convergence.convergence.drift.observation import DriftStatus
from heat_convergence.db.maintenance import purge
from heat_convergence.testing.statement_counter import count_statements
from tests.functional.harness import LocalService
from tests.functional.plans.plan_cases import (
    EventLog,
    changes,
    entry,
    execute,
    make_plan,
    planned_effects,
    properties,
    show_plan,
)
from tests.functional.project_client import hot_template, resource_definition

Json = Any


@pytest.fixture(scope="module")
def database_service(any_database_url: str) -> Iterator[LocalService]:
    service = LocalService(any_database_url)
    yield service
    service.close()


@pytest.fixture
def small_service(tmp_path: Path) -> Iterator[LocalService]:
    options = ApiOptions(max_plans_per_tenant=2, plan_lifetime_s=60)
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", options)
    yield service
    service.close()


def group(count: int, **values: Json) -> Json:
    return {
        "type": "OS::Heat::ResourceGroup",
        "properties": {"count": count, "resource_def": resource_definition(**values)},
    }


def tree(count: int, value: str, **extra: Json) -> Json:
    first = resource_definition(value="first")
    reader = resource_definition(value={"get_attr": ["first", "output"]})
    return hot_template(
        {"first": first, "reader": reader, "group": group(count, value=value), **extra}
    )


def create(service: LocalService, name: str, template: Json, **body: Json) -> str:
    sent = {"stack_name": name, "template": template, **body}
    answer = service.send("POST", "/stacks", sent)
    assert answer.status_int == 201, answer.text
    service.run_until_idle()
    path = f"/stacks/{name}/{answer.json['stack']['id']}"
    assert state(service, path) == "CREATE_COMPLETE"
    return path


def state(service: LocalService, path: str) -> str:
    return str(service.send("GET", path).json["stack"]["stack_status"])


def test_tree_is_planned_and_executed_exactly(database_service):
    service = database_service
    path = create(service, "exact", tree(3, "a", old=resource_definition(value="x")))
    plan = make_plan(service, path, {"template": tree(2, "b", new=resource_definition(value="x"))})
    assert changes(plan) == {
        "group": "update",
        "group/0": "update",
        "group/1": "update",
        "group/2": "delete",
        "new": "add",
        "old": "delete",
    }
    log = EventLog(service, path)
    execute(service, plan)
    assert state(service, path) == "UPDATE_COMPLETE"
    assert log.effects() == planned_effects(plan)


def test_change_of_a_nested_stack_is_noticed(database_service):
    service = database_service
    path = create(service, "nested", tree(2, "a"))
    plan = make_plan(service, path, {"action": "delete"})
    links = service.send("GET", f"{path}/resources/group").json["resource"]["links"]
    (nested,) = [each["href"] for each in links if each["rel"] == "nested"]
    nested_path = nested.split("/v1/p", 1)[1]
    body = {"mark_unhealthy": True}
    assert service.send("PATCH", f"{nested_path}/resources/0", body).status_int == 200
    error = execute(service, plan, 409)
    assert "0" in {each["resource_name"] for each in error["differences"]}
    assert state(service, path) == "CREATE_COMPLETE"


def test_update_started_during_the_execution_is_noticed(database_service, monkeypatch):
    """The comparison under the lock of the stack finds what came after the first one."""
    service = database_service
    path = create(service, "raced", tree(1, "a"))
    plan = make_plan(service, path, {"template": tree(1, "b")})
    controller = "heat_convergence.api.controllers.plan.plan_execution"

    def update_meanwhile(*_arguments: Any) -> None:
        monkeypatch.undo()
        answer = send_inside(service, "PUT", path, {"template": tree(1, "c")})
        assert answer.status_int == 202

    monkeypatch.setattr(f"{controller}.renew_delegation", update_meanwhile)
    error = execute(service, plan, 409)
    assert error["type"] == "PlanOutdated"
    service.run_until_idle()
    (row,) = [
        each
        for each in service.send("GET", f"{path}/resources?nested_depth=2").json["resources"]
        if each["resource_name"] == "0"
    ]
    assert row["resource_status"] == "UPDATE_COMPLETE"


def send_inside(service: LocalService, method: str, path: str, body: Json) -> Any:
    """Send a request while another one is handled."""
    request = Request.blank(f"/v1/p{path}", method=method)
    request.json = body
    return request.get_response(service._inner)


def test_values_of_sensitive_resources_are_masked_and_encrypted(tmp_path, monkeypatch):
    allows = PolicyEnforcer.allows
    monkeypatch.setattr(
        PolicyEnforcer,
        "allows",
        lambda self, request, rule: rule != "stacks:export" and allows(self, request, rule),
    )
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    template = hot_template(
        {"a": resource_definition(value={"get_param": "secret"})},
        parameters={"secret": {"type": "string", "hidden": True}},
    )
    path = create(service, "s", template, parameters={"secret": "old-secret"})
    body = {"template": template, "parameters": {"secret": "new-secret"}}
    plan = make_plan(service, path, body)
    shown = properties(plan, "a")["value"]
    assert shown["desired"] == shown["applied"] == "******"
    assert "new-secret" not in str(plan)
    assert "old-secret" not in str(plan)
    assert entry(show_plan(service, plan), "a")["sensitive"]
    with service.database.read() as conn:
        row = conn.exec_driver_sql("SELECT * FROM stack_plan").one()
    assert "new-secret" not in str(row)
    assert "old-secret" not in str(row)
    execute(service, plan)
    assert state(service, path) == "UPDATE_COMPLETE"
    service.close()


def test_statements_do_not_grow_with_the_tree(small_service):
    counts = []
    for size in (3, 30):
        service = small_service
        name = f"s{size}"
        extra = {f"r{number}": resource_definition(value="x") for number in range(size)}
        path = create(service, name, tree(size, "a", **extra))
        changed = {f"r{number}": resource_definition(value="y") for number in range(size)}
        body = {"template": tree(size, "b", **changed)}
        with count_statements(service.database.engine) as made:
            plan = make_plan(service, path, body)
        assert len(changes(plan)) == 2 * size + 1
        with count_statements(service.database.engine) as shown:
            show_plan(service, plan)
        assert plan["resources"][0]["drift_status"] == DriftStatus.NOT_CHECKED
        counts.append((made.total, shown.total))
    assert counts[0] == counts[1]
    assert counts[0][0] <= 25
    assert counts[0][1] <= 2


def test_plans_of_a_project_are_limited(small_service):
    path = create(small_service, "s", tree(1, "a"))
    plans = [make_plan(small_service, path, {"action": "delete"}) for _ in range(2)]
    error = make_plan(small_service, path, {"action": "delete"}, 400)
    assert error["type"] == "RequestLimitExceeded"
    small_service.send("DELETE", f"/plans/{plans[0]['id']}")
    make_plan(small_service, path, {"action": "delete"})


def test_expired_plans_are_purged(small_service):
    path = create(small_service, "s", tree(1, "a"))
    make_plan(small_service, path, {"action": "delete"})
    small_service.clock.advance(61)
    kept = make_plan(small_service, path, {"action": "delete"})
    assert purge.purge_plans(small_service.database, small_service.clock(), 10) == 1
    assert purge.purge_plans(small_service.database, small_service.clock(), 10) == 0
    left = small_service.send("GET", "/plans").json["plans"]
    assert [each["id"] for each in left] == [kept["id"]]
