"""Drift policies: of the environment, of a stack and of the operator."""

from __future__ import annotations

from typing import Any

import pytest

from heat_convergence.convergence.drift.policy import OperatorPolicies
from heat_convergence.convergence.drift.settings import DriftSettings
from heat_convergence.template.environment.drift_policies import DriftPolicy
from tests.functional.drift.drift_cases import drift, ours, watch
from tests.functional.openstack_types.emulated_service import (
    create_stack,
    physical_id,
    port,
    template,
)

Json = Any
NET = "OS::Neutron::Net"


def environment(**policies: Json) -> Json:
    resources = {name: {"drift": value} for name, value in policies.items()}
    return {"resource_registry": {"resources": resources}}


def rename_port(service, cloud, path) -> Json:
    body = ours(cloud, "neutron.port", physical_id(service, path, "port"))
    body["name"] = "other"
    return body


def shown(service, path) -> dict[str, tuple[str, str]]:
    found = drift(service, path)["resources"]
    return {each["resource_name"]: (each["drift_status"], each["drift_policy"]) for each in found}


def request_repair(service, path, value=None) -> None:
    answer = service.send("POST", f"{path}/actions", {"repair": value})
    assert answer.status_int == 200, answer.text


def set_policy(service, path, body) -> Json:
    answer = service.send("PUT", f"{path}/drift/policy", body)
    assert answer.status_int == 200, answer.text
    return answer.json["drift_policy"]


def test_report_is_the_policy_without_another(service, emulated_cloud):
    path = create_stack(service, template(port=port(name="one")))
    rename_port(service, emulated_cloud, path)
    watch(service)
    assert shown(service, path) == {"port": ("MODIFIED", "report")}


def test_ignored_resource_is_not_read(service, emulated_cloud):
    body = template(port=port(name="one"))
    path = create_stack(service, body, environment=environment(**{"p*": "ignore"}))
    rename_port(service, emulated_cloud, path)
    emulated_cloud.emulation.request_counts.clear()
    watch(service)
    assert shown(service, path) == {}
    assert "GET network /ports" not in emulated_cloud.emulation.request_counts
    found = service.send("GET", f"{path}/resources/port").json["resource"]
    assert found["drift_status"] == "NOT_CHECKED"


def test_resource_that_an_update_has_ignored_shows_no_drift(service, emulated_cloud):
    body = template(port=port(name="one"))
    path = create_stack(service, body)
    rename_port(service, emulated_cloud, path)
    watch(service)
    request = {"template": body, "environment": environment(port="ignore")}
    emulated_cloud.emulation.request_counts.clear()
    assert service.send("PUT", path, request).status_int == 202
    watch(service)
    assert shown(service, path) == {}
    methods = {each.split()[0] for each in emulated_cloud.emulation.request_counts}
    assert methods == {"GET"}  # a changed policy is no change of the resource


def test_ignored_property_is_neither_shown_nor_restored(service, emulated_cloud):
    policies = environment(port={"properties": {"name": "ignore"}})
    path = create_stack(service, template(port=port(name="one")), environment=policies)
    body = rename_port(service, emulated_cloud, path)
    watch(service)
    assert shown(service, path) == {}
    body["admin_state_up"] = False
    request_repair(service, path, {"resources": ["port"]})
    assert (body["name"], body["admin_state_up"]) == ("other", True)


def test_observed_resource_is_shown_and_not_repaired(service, emulated_cloud):
    policies = environment(port={"policy": "observe-only"})
    path = create_stack(service, template(port=port(name="one")), environment=policies)
    body = rename_port(service, emulated_cloud, path)
    watch(service)
    assert shown(service, path) == {"port": ("MODIFIED", "observe-only")}
    request_repair(service, path)
    request_repair(service, path, {"resources": ["port"]})
    converging = {"template": template(port=port(name="one")), "environment": policies}
    assert service.send("PUT", path, {**converging, "converge": True}).status_int == 202
    assert body["name"] == "other"


def test_patterns_reach_nested_stacks(service, emulated_cloud):
    member = {"type": NET, "properties": {"name": "net-%index%"}}
    group = {"type": "OS::Heat::ResourceGroup", "properties": {"count": 2, "resource_def": member}}
    body = {"heat_template_version": "2016-10-14", "resources": {"group": group}}
    nested = {"resource_registry": {"resources": {"group": {"1": {"drift": "observe-only"}}}}}
    path = create_stack(service, body, environment=nested)
    for each in emulated_cloud.bodies("neutron.network"):
        each["name"] = f"other-{each['name']}"
    watch(service)
    assert shown(service, path) == {
        "0": ("MODIFIED", "report"),
        "1": ("MODIFIED", "observe-only"),
    }


def test_policy_of_a_stack_counts_before_that_of_the_type(service, emulated_cloud):
    by_type = ((NET, DriftPolicy.OBSERVE_ONLY), ("OS::Neutron::*", DriftPolicy.IGNORE))
    service.use_settings(drift=DriftSettings(policies=OperatorPolicies(by_type=by_type)))
    path = create_stack(service, template(port=port(name="one")))
    rename_port(service, emulated_cloud, path)
    ours(emulated_cloud, "neutron.network", physical_id(service, path, "net"))["name"] = "other"
    watch(service)
    assert shown(service, path) == {}  # the template names no name for the network
    net = ours(emulated_cloud, "neutron.network", physical_id(service, path, "net"))
    emulated_cloud.emulation.collection("neutron.network").remove(net["id"])
    watch(service)
    assert shown(service, path) == {"net": ("DELETED", "observe-only")}
    set_policy(service, path, {"policy": "report"})
    watch(service)
    assert shown(service, path) == {
        "net": ("DELETED", "report"),
        "port": ("MODIFIED", "report"),
    }


def test_policy_of_a_root_stack_holds_for_nested_stacks(service, emulated_cloud):
    member = {"type": NET, "properties": {"name": "net"}}
    group = {"type": "OS::Heat::ResourceGroup", "properties": {"count": 1, "resource_def": member}}
    body = {"heat_template_version": "2016-10-14", "resources": {"group": group}}
    path = create_stack(service, body)
    set_policy(service, path, {"policy": "observe-only"})
    (net,) = [each for each in emulated_cloud.bodies("neutron.network") if each["name"] == "net"]
    net["name"] = "other"
    watch(service)
    assert shown(service, path) == {"0": ("MODIFIED", "observe-only")}


def test_policy_of_a_stack_is_shown_set_and_reset(service, emulated_cloud):
    path = create_stack(service, template())
    found = service.send("GET", f"{path}/drift/policy").json["drift_policy"]
    assert found == {
        "stack_id": path.rpartition("/")[2], "policy": None, "paused": False,
        "repair_window": None,
    }  # fmt: skip
    assert set_policy(service, path, {"policy": "repair"})["policy"] == "repair"
    assert set_policy(service, path, {"paused": True}) == {
        **found, "policy": "repair", "paused": True
    }  # fmt: skip
    set_policy(service, path, {"policy": None, "paused": False})
    assert service.send("GET", f"{path}/drift/policy").json["drift_policy"] == found


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({}, "must have"),
        ({"policy": "repare"}, "did you mean"),
        ({"policy": ["repair"]}, "is not a drift policy"),
        ({"paused": "yes"}, "must be true or false"),
        ({"polcy": "repair"}, "unknown key"),
    ],
)
def test_bad_policy_of_a_stack_is_refused(service, body, text):
    path = create_stack(service, template())
    answer = service.send("PUT", f"{path}/drift/policy", body)
    assert answer.status_int == 400
    assert text in answer.text


@pytest.mark.parametrize(
    ("policies", "text"),
    [
        ({"prt": "repair"}, 'resources.prt.drift: the template has no resource \\"prt\\"'),
        ({"x*": "repair"}, "resources.x*.drift"),
        ({"port": "repare"}, "resources.port.drift"),
        ({"port": {"properties": {"nmae": "ignore"}}}, 'no resource \\"port\\" has a property'),
    ],
)
def test_bad_policy_of_an_environment_is_refused(service, policies, text):
    body = {
        "stack_name": "s",
        "template": template(port=port(name="one")),
        "environment": environment(**policies),
    }
    answer = service.send("POST", "/stacks", body)
    assert answer.status_int == 400
    assert text in answer.text


def test_pattern_may_name_a_property_that_some_of_its_resources_have(service):
    policies = environment(**{"*": {"properties": {"cidr": "ignore"}}})
    create_stack(service, template(port=port(name="one")), environment=policies)
