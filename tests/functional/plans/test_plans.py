"""Plans of creates, updates, deletions and repairs: what they show, and their execution."""

from __future__ import annotations

from typing import Any

import pytest

from tests.functional.drift.drift_cases import ours, watch
from tests.functional.openstack_types.emulated_service import (
    create_stack,
    physical_id,
    port,
    server,
    template,
    update_stack,
)
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

Json = Any


def two_ports() -> Json:
    second = port(name="second")
    del second["properties"]["fixed_ips"]
    return template(port=port(name="one"), second=second, server=server())


def changed() -> Json:
    """One update, one replacement, one addition, one deletion, and one that follows."""
    third = port(name="third")
    del third["properties"]["fixed_ips"]
    moved = port(name="one", mac_address="fa:16:3e:00:00:01")
    return template(port=moved, third=third, server=server())


def test_update_is_planned_property_by_property(service):
    path = create_stack(service, two_ports())
    body = two_ports()
    body["resources"]["port"]["properties"]["name"] = "two"
    plan = make_plan(service, path, {"template": body})
    assert changes(plan) == {"port": "update"}
    assert properties(plan, "port")["name"] == {
        "property": "name",
        "desired": "two",
        "known": True,
        "applied": "one",
        "forces_replacement": False,
    }
    assert plan["summary"]["resource_counts"]["unchanged"] == 4
    assert plan["summary"]["destructive_count"] == 0
    assert service.send("GET", path).json["stack"]["stack_status"] == "CREATE_COMPLETE"


def test_replacement_names_its_reason_and_what_follows(service):
    path = create_stack(service, two_ports())
    plan = make_plan(service, path, {"template": changed()})
    assert changes(plan) == {
        "port": "replace",
        "server": "update",
        "third": "add",
        "second": "delete",
    }
    found = entry(plan, "port")
    assert found["reason"] == "mac_address cannot be changed in place"
    assert found["dependents"] == ["server"]
    assert properties(plan, "port")["mac_address"]["forces_replacement"]
    assert "it refers to port" in entry(plan, "server")["reason"]
    assert not properties(plan, "server")["networks"]["known"]
    assert plan["summary"]["destructive_resources"] == ["port", "second"]


def test_update_is_executed_exactly(service):
    path = create_stack(service, two_ports())
    plan = make_plan(service, path, {"template": changed()})
    log = EventLog(service, path)
    assert execute(service, plan)["plan_status"] == "EXECUTED"
    assert service.send("GET", path).json["stack"]["stack_status"] == "UPDATE_COMPLETE"
    assert log.effects() == planned_effects(plan)


def test_create_is_planned_and_executed(service):
    plan = make_plan(service, "", {"stack_name": "new", "template": two_ports()})
    assert set(changes(plan).values()) == {"add"}
    assert service.send("GET", "/stacks").json["stacks"] == []
    execute(service, plan)
    path = f"/stacks/new/{plan['stack_id']}"
    assert service.send("GET", path).json["stack"]["stack_status"] == "CREATE_COMPLETE"
    assert EventLog(service, "").effects(path) == planned_effects(plan)
    assert [each["id"] for each in service.send("GET", f"{path}/plans").json["plans"]] == [
        plan["id"]
    ]


def test_patch_keeps_what_its_body_does_not_name(service):
    body = two_ports()
    body["parameters"] = {"name": {"type": "string"}, "other": {"type": "string", "default": "x"}}
    body["resources"]["port"]["properties"]["name"] = {"get_param": "name"}
    path = create_stack(service, body, parameters={"name": "one"})
    plan = make_plan(service, path, {"action": "patch", "parameters": {"name": "two"}})
    assert changes(plan) == {"port": "update"}
    execute(service, plan)
    assert service.send("GET", path).json["stack"]["parameters"]["name"] == "two"


def test_deletion_is_planned_and_executed(service, emulated_cloud):
    body = two_ports()
    body["resources"]["net"]["deletion_policy"] = "Retain"
    path = create_stack(service, body)
    plan = make_plan(service, path, {"action": "delete", "skip": ["subnet"]})
    assert set(changes(plan).values()) == {"delete"}
    assert plan["summary"]["destructive_resources"] == ["port", "second", "server"]
    assert entry(plan, "subnet")["reason"] == "the request leaves it alone"
    assert "keeps the physical resource" in entry(plan, "net")["reason"]
    assert entry(plan, "port")["dependents"] == ["server"]
    execute(service, plan)
    assert service.send("GET", path).json["stack"]["stack_status"] == "DELETE_COMPLETE"
    assert emulated_cloud.bodies("neutron.port") == []
    assert "10.90.0.0/24" in {each["cidr"] for each in emulated_cloud.bodies("neutron.subnet")}


def test_repair_is_planned_and_executed(service, emulated_cloud):
    path = create_stack(service, two_ports())
    body = ours(emulated_cloud, "neutron.port", physical_id(service, path, "port"))
    body["name"] = "other"
    watch(service)
    plan = make_plan(service, path, {"action": "repair"})
    assert changes(plan) == {"port": "update"}
    assert properties(plan, "port")["name"]["observed"] == "other"
    assert properties(plan, "port")["name"]["desired"] == "one"
    execute(service, plan)
    assert body["name"] == "one"
    assert service.send("GET", path).json["stack"]["stack_status"] == "UPDATE_COMPLETE"


def test_observed_value_is_shown_beside_desired_and_applied(service, emulated_cloud):
    path = create_stack(service, two_ports())
    body = ours(emulated_cloud, "neutron.port", physical_id(service, path, "port"))
    body["name"] = "other"
    watch(service)
    new = two_ports()
    new["resources"]["port"]["properties"]["name"] = "two"
    new["resources"]["second"]["properties"]["name"] = "three"
    plan = make_plan(service, path, {"template": new})
    shown = properties(plan, "port")["name"]
    assert (shown["desired"], shown["applied"], shown["observed"]) == ("two", "one", "other")
    assert properties(plan, "second")["name"]["observed"] == "second"
    assert plan["summary"]["drifted_count"] == 1


def test_update_with_converge_plans_to_restore_drift(service, emulated_cloud):
    path = create_stack(service, two_ports())
    body = ours(emulated_cloud, "neutron.port", physical_id(service, path, "port"))
    body["name"] = "other"
    watch(service)
    assert changes(make_plan(service, path, {"template": two_ports()})) == {}
    plan = make_plan(service, path, {"template": two_ports(), "converge": True})
    assert changes(plan) == {"port": "update"}
    assert entry(plan, "port")["reason"] == "others have changed it"
    execute(service, plan)
    assert body["name"] == "one"


def test_foreign_change_between_plan_and_execution_is_refused(service, emulated_cloud):
    path = create_stack(service, two_ports())
    watch(service)
    plan = make_plan(service, path, {"template": changed()})
    body = ours(emulated_cloud, "neutron.port", physical_id(service, path, "second"))
    body["name"] = "other"
    watch(service, 60)
    error = execute(service, plan, 409)
    assert error["type"] == "PlanOutdated"
    assert error["differences"] == [
        {
            "stack_name": "s",
            "resource_name": "second",
            "reason": "others have changed it: another state was observed",
        }
    ]
    assert service.send("GET", path).json["stack"]["stack_status"] == "CREATE_COMPLETE"
    assert show_plan(service, plan, "?detail=summary")["plan_status"] == "READY"


def test_first_observation_is_no_foreign_change(service, emulated_cloud):
    path = create_stack(service, two_ports())
    plan = make_plan(service, path, {"template": changed()})
    watch(service)
    execute(service, plan)


def test_another_update_between_plan_and_execution_is_refused(service):
    path = create_stack(service, two_ports())
    plan = make_plan(service, path, {"template": changed()})
    new = two_ports()
    new["resources"]["second"]["properties"]["name"] = "three"
    assert update_stack(service, path, new) == "UPDATE_COMPLETE"
    error = execute(service, plan, 409)
    assert error["differences"][0] == {
        "stack_name": "s",
        "resource_name": "",
        "reason": "the stack was CREATE_COMPLETE in version 1 and is UPDATE_COMPLETE in version 2",
    }
    assert "second" in {each["resource_name"] for each in error["differences"]}


def test_health_mark_between_plan_and_execution_is_refused(service):
    path = create_stack(service, two_ports())
    plan = make_plan(service, path, {"action": "delete"})
    marked = service.send("PATCH", f"{path}/resources/second", {"mark_unhealthy": True})
    assert marked.status_int == 200
    error = execute(service, plan, 409)
    assert [each["resource_name"] for each in error["differences"]] == ["second"]


def test_executed_plan_is_not_executed_again(service):
    path = create_stack(service, two_ports())
    plan = make_plan(service, path, {"template": changed()})
    execute(service, plan)
    error = execute(service, plan, 409)
    assert error["type"] == "PlanNotReady"
    assert "EXECUTED" in error["message"]


def test_expired_plan_is_not_executed(service):
    path = create_stack(service, two_ports())
    plan = make_plan(service, path, {"template": changed()})
    service.clock.advance(service.services.options.plan_lifetime_s)
    assert show_plan(service, plan)["plan_status"] == "EXPIRED"
    assert "EXPIRED" in execute(service, plan, 409)["message"]
    assert service.send("GET", path).json["stack"]["stack_status"] == "CREATE_COMPLETE"


def test_plans_are_listed_and_deleted(service):
    path = create_stack(service, two_ports())
    plans = [make_plan(service, path, {"action": "delete"}) for _ in range(2)]
    listed = service.send("GET", f"{path}/plans").json["plans"]
    assert [each["id"] for each in listed] == [plans[1]["id"], plans[0]["id"]]
    assert "resources" not in listed[0]
    assert service.send("DELETE", f"{path}/plans/{plans[0]['id']}").status_int == 204
    assert [each["id"] for each in service.send("GET", "/plans").json["plans"]] == [plans[1]["id"]]
    assert service.send("GET", f"/plans/{plans[0]['id']}").status_int == 404


@pytest.mark.parametrize("method", ["GET", "DELETE", "POST"])
def test_plans_of_other_projects_do_not_exist(service, method):
    path = create_stack(service, two_ports())
    plan = make_plan(service, path, {"action": "delete"})
    tail = "/execute" if method == "POST" else ""
    for prefix in ("", path):
        url = f"{prefix}/plans/{plan['id']}{tail}"
        assert service.send(method, url, project="q").status_int == 404
    assert service.send("GET", "/plans", project="q").json["plans"] == []
    assert show_plan(service, plan)["plan_status"] == "READY"


def test_plan_of_another_stack_is_not_found_in_the_path_of_a_stack(service):
    path = create_stack(service, two_ports())
    empty = {"heat_template_version": "2016-10-14"}
    other = create_stack(service, empty, stack_name="other")
    plan = make_plan(service, path, {"action": "delete"})
    assert service.send("POST", f"{other}/plans/{plan['id']}/execute").status_int == 404
    assert service.send("POST", f"{path}/plans/{plan['id']}/execute").status_int == 202


BAD_TEMPLATE = {
    "heat_template_version": "2016-10-14",
    "resources": {
        "a": {"type": "OS::Neutron::Nett"},
        "b": {"type": "OS::Neutron::Port", "properties": {"networkk": "x"}},
    },
}


def test_failing_template_has_the_errors_of_a_create(service):
    path = create_stack(service, two_ports())
    body = {"stack_name": "new", "template": BAD_TEMPLATE}
    created = service.send("POST", "/stacks", body)
    planned = service.send("POST", "/plans", body)
    updated = service.send("POST", f"{path}/plans", {"template": BAD_TEMPLATE})
    assert created.status_int == planned.status_int == updated.status_int == 400
    assert created.json["error"] == planned.json["error"] == updated.json["error"]
    assert "networkk" in created.json["error"]["message"]
    assert "Nett" in created.json["error"]["message"]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"action": "create"}, "must be one of"),
        ({"action": 3}, "must be one of"),
        ({"action": "delete", "template": {}}, "unknown key"),
        ({"action": "delete", "skip": "a"}, "list of resource names"),
        ({"action": "repair", "resources": []}, "list of resource names"),
        ({}, "No template specified"),
    ],
)
def test_bad_body_is_refused(service, body, text):
    path = create_stack(service, two_ports())
    assert text in make_plan(service, path, body, 400)["message"]


def test_unknown_names_are_refused(service):
    path = create_stack(service, two_ports())
    for body in ({"action": "delete", "skip": ["x"]}, {"action": "repair", "resources": ["x"]}):
        assert make_plan(service, path, body, 404)["type"] == "ResourceNotFound"


def test_changes_are_filtered(service):
    path = create_stack(service, two_ports())
    plan = make_plan(service, path, {"template": changed()})
    found = show_plan(service, plan, "?change=add&change=delete")["resources"]
    assert sorted(each["path"] for each in found) == ["second", "third"]
    assert service.send("GET", f"/plans/{plan['id']}?change=x").status_int == 400
    assert service.send("GET", f"/plans/{plan['id']}?detail=x").status_int == 400


def test_estimate_comes_from_the_history_of_the_project(service):
    path = create_stack(service, two_ports())
    body = two_ports()
    body["resources"]["other"] = server(networks=[{"network": {"get_resource": "net"}}])
    plan = make_plan(service, path, {"template": body})
    assert plan["summary"]["estimated_duration_s"] > 1
    assert plan["summary"]["steps_without_estimate"] == 0
    disk = {"type": "OS::Cinder::Volume", "properties": {"size": 1}}
    body = {**two_ports(), "resources": {**two_ports()["resources"], "disk": disk}}
    plan = make_plan(service, path, {"template": body})
    assert plan["summary"]["estimated_duration_s"] is None
    assert plan["summary"]["steps_without_estimate"] == 1
