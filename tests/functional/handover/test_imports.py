"""The import of existing objects into a stack by plan."""

from __future__ import annotations

from typing import Any

import pytest

from tests.functional.drift.drift_cases import watch
from tests.functional.handover.handover_cases import (
    EMPTY,
    changing_requests,
    empty_stack,
    hand_made_template,
    make_by_hand,
    net_template,
    own_network,
    physical_ids,
)
from tests.functional.openstack_types.emulated_service import (
    create_stack,
    stack_state,
    template,
    update_stack,
)
from tests.functional.plans.plan_cases import changes, entry, execute, make_plan, properties

Json = Any


def import_body(new_template: Json, **ids: str) -> Json:
    return {"action": "import", "template": new_template, "import": ids}


def test_what_was_made_by_hand_becomes_a_stack(service, emulated_cloud):
    made = make_by_hand(emulated_cloud)
    path = empty_stack(service)
    emulated_cloud.emulation.request_counts.clear()
    plan = make_plan(service, path, import_body(hand_made_template(), **made))
    assert changes(plan) == dict.fromkeys(made, "import")
    assert plan["summary"]["drifted_count"] == 0
    assert physical_ids(service, path) == {}
    execute(service, plan)
    assert stack_state(service, path) == "UPDATE_COMPLETE"
    assert physical_ids(service, path) == made
    assert update_stack(service, path, hand_made_template()) == "UPDATE_COMPLETE"
    watch(service)
    assert service.send("GET", path).json["stack"]["drift_status"] == "IN_SYNC"
    assert changing_requests(emulated_cloud) == []


def test_an_imported_stack_is_managed_as_any_other(service, emulated_cloud):
    made = make_by_hand(emulated_cloud)
    path = empty_stack(service)
    execute(service, make_plan(service, path, import_body(hand_made_template(), **made)))
    shown = service.send("GET", f"{path}/resources/server").json["resource"]
    assert shown["resource_status"] == "ADOPT_COMPLETE"
    assert shown["attributes"]["name"] == "web"
    changed = hand_made_template()
    changed["resources"]["server"]["properties"]["name"] = "shop"
    assert update_stack(service, path, changed) == "UPDATE_COMPLETE"
    assert {each["name"] for each in emulated_cloud.bodies("nova.server")} == {"shop"}
    assert physical_ids(service, path) == made
    service.send("DELETE", path)
    assert stack_state(service, path) == "DELETE_COMPLETE"
    assert emulated_cloud.bodies("nova.server") == emulated_cloud.bodies("cinder.volume") == []


def test_a_single_object_is_imported_beside_what_refers_to_it(service, emulated_cloud):
    net = own_network(emulated_cloud, name="back")
    path = create_stack(service, template())
    body = template()
    body["resources"]["back"] = net_template(back={"name": "back"})["resources"]["back"]
    body["outputs"] = {"back": {"value": {"get_resource": "back"}}}
    plan = make_plan(service, path, import_body(body, back=net))
    assert changes(plan) == {"back": "import"}
    execute(service, plan)
    outputs = service.send("GET", path).json["stack"]["outputs"]
    assert [each["output_value"] for each in outputs] == [net]


def test_differences_are_shown_and_left_as_they_are(service, emulated_cloud):
    net = own_network(emulated_cloud, name="other")
    path = empty_stack(service)
    emulated_cloud.emulation.request_counts.clear()
    plan = make_plan(service, path, import_body(net_template(net={"name": "mine"}), net=net))
    shown = properties(plan, "net")["name"]
    assert (shown["desired"], shown["observed"], shown["applied"]) == ("mine", "other", None)
    assert entry(plan, "net")["drift_status"] == "MODIFIED"
    assert plan["summary"]["drifted_count"] == 1
    execute(service, plan)
    assert changing_requests(emulated_cloud) == []
    watch(service)
    assert service.send("GET", path).json["stack"]["drift_status"] == "MODIFIED"
    execute(service, make_plan(service, path, {"action": "repair"}))
    assert "mine" in {each["name"] for each in emulated_cloud.bodies("neutron.network")}


def test_properties_that_cannot_be_compared_are_named(service, emulated_cloud):
    made = make_by_hand(emulated_cloud)
    body = hand_made_template()
    body["resources"]["server"]["properties"]["user_data"] = "#!/bin/sh"
    path = empty_stack(service)
    plan = make_plan(service, path, import_body(body, **made))
    assert "user_data" in entry(plan, "server")["reason"]


@pytest.mark.parametrize(("status", "answered"), [(404, 404), (400, 400), (403, 400)])
def test_an_object_that_cannot_be_read_is_named(service, emulated_cloud, status, answered):
    path = empty_stack(service)
    emulated_cloud.emulation.inject_failure("GET", "/networks/", status, times=99)
    error = make_plan(service, path, import_body(net_template(net={}), net="gone"), answered)
    assert "gone (OS::Neutron::Net)" in error["message"]


def test_a_service_that_does_not_answer_leads_to_503(service, emulated_cloud):
    path = empty_stack(service)
    emulated_cloud.emulation.inject_failure("GET", "/networks/", 503, times=99)
    make_plan(service, path, import_body(net_template(net={}), net="n"), 503)


def test_an_object_of_another_type_is_not_found(service, emulated_cloud):
    made = make_by_hand(emulated_cloud)
    path = empty_stack(service)
    body = import_body(net_template(net={}), net=made["disk"])
    assert made["disk"] in make_plan(service, path, body, 404)["message"]


def test_an_object_of_another_project_is_refused(service, emulated_cloud):
    net = own_network(emulated_cloud, project_id="another", shared=True)
    path = empty_stack(service)
    error = make_plan(service, path, import_body(net_template(net={}), net=net), 400)
    assert "belongs to another project" in error["message"]


def test_an_object_that_is_not_ready_is_refused(service, emulated_cloud):
    made = make_by_hand(emulated_cloud)
    emulated_cloud.bodies("cinder.volume")[0]["status"] = "error"
    path = empty_stack(service)
    body = {**EMPTY, "resources": {"disk": hand_made_template()["resources"]["disk"]}}
    error = make_plan(service, path, import_body(body, disk=made["disk"]), 400)
    assert "not ready to import" in error["message"]


def test_an_object_of_another_stack_is_refused_naming_it(service, emulated_cloud):
    owner = create_stack(service, template(), stack_name="owner")
    path = empty_stack(service)
    net = physical_ids(service, owner)["net"]
    error = make_plan(service, path, import_body(net_template(net={}), net=net), 409)
    assert "resource net of stack owner" in error["message"]


def test_an_external_resource_owns_nothing(service, emulated_cloud):
    net = own_network(emulated_cloud, name="back")
    external = net_template(seen={})
    external["resources"]["seen"]["external_id"] = net
    create_stack(service, external, stack_name="reader")
    path = empty_stack(service)
    execute(service, make_plan(service, path, import_body(net_template(net={}), net=net)))
    assert physical_ids(service, path) == {"net": net}


def test_of_two_imports_of_an_object_one_is_executed(service, emulated_cloud):
    net = own_network(emulated_cloud, name="back")
    paths = [empty_stack(service, name) for name in ("one", "two")]
    plans = [
        make_plan(service, path, import_body(net_template(net={}), net=net)) for path in paths
    ]
    execute(service, plans[0])
    error = execute(service, plans[1], 409)
    assert error["differences"] == [
        {
            "stack_name": "two",
            "resource_name": "net",
            "reason": "another resource has imported the object",
        }
    ]
    assert [physical_ids(service, path) for path in paths] == [{"net": net}, {}]


def test_an_object_that_has_changed_since_is_refused(service, emulated_cloud):
    net = own_network(emulated_cloud, name="back")
    path = empty_stack(service)
    plan = make_plan(service, path, import_body(net_template(net={"name": "back"}), net=net))
    emulated_cloud.emulation.collection("neutron.network").bodies()[-1]["name"] = "other"
    error = execute(service, plan, 409)
    assert error["differences"][0]["reason"] == "the object is not as it was observed"
    assert physical_ids(service, path) == {}


def test_an_update_between_plan_and_execution_is_refused(service, emulated_cloud):
    net = own_network(emulated_cloud, name="back")
    path = empty_stack(service)
    plan = make_plan(service, path, import_body(net_template(net={}), net=net))
    update_stack(service, path, EMPTY)
    assert execute(service, plan, 409)["type"] == "PlanOutdated"
    assert physical_ids(service, path) == {}


def test_the_template_may_change_nothing_else(service, emulated_cloud):
    net = own_network(emulated_cloud, name="back")
    path = empty_stack(service)
    body = import_body(net_template(net={}, second={}), net=net)
    error = make_plan(service, path, body, 400)
    assert "s/second (add)" in error["message"]


@pytest.mark.parametrize(
    ("imports", "expected"),
    [
        ({}, "must be a map"),
        ({"net": 1}, "must be a map"),
        ({"absent": "x"}, "no resource absent"),
        ({"net": "x", "second": "x"}, "the same value"),
        ({f"n{at}": str(at) for at in range(101)}, "more than 100"),
    ],
)
def test_bad_bodies_are_refused(service, imports, expected):
    path = empty_stack(service)
    body = {"action": "import", "template": net_template(net={}), "import": imports}
    assert expected in make_plan(service, path, body, 400)["message"]


def test_types_without_objects_are_refused(service):
    path = empty_stack(service)
    body = {**EMPTY, "resources": {"text": {"type": "OS::Heat::RandomString"}}}
    error = make_plan(service, path, import_body(body, text="x"), 400)
    assert "OS::Heat::RandomString cannot be imported" in error["message"]


def test_a_resource_that_exists_is_not_imported(service, emulated_cloud):
    path = create_stack(service, template())
    net = own_network(emulated_cloud)
    error = make_plan(service, path, import_body(template(), net=net), 409)
    assert "has a resource net already" in error["message"]


def test_a_stack_in_progress_is_refused(service, emulated_cloud):
    path = empty_stack(service)
    net = own_network(emulated_cloud)
    service.send("PUT", path, {"template": template()}, leave_pending=True)
    body = import_body(net_template(net={}), net=net)
    answer = service.send("POST", f"{path}/plans", body, leave_pending=True)
    assert answer.status_int == 409
    assert answer.json["error"]["type"] == "ActionInProgress"


def test_another_project_does_not_see_the_plan(service, emulated_cloud):
    net = own_network(emulated_cloud)
    path = empty_stack(service)
    plan = make_plan(service, path, import_body(net_template(net={}), net=net))
    for method, suffix in (("GET", ""), ("POST", "/execute"), ("DELETE", "")):
        answer = service.send(method, f"/plans/{plan['id']}{suffix}", project="q")
        assert answer.status_int == 404
