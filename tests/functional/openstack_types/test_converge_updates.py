"""``converge`` in an update, and ``observe_on_update``: reality is looked at first."""

from __future__ import annotations

from typing import Any

import pytest

from heat_convergence.api.services import ApiOptions
from heat_convergence.resources.builtin.local_type import LocalType
from heat_convergence.resources.protocol.schema import PropertySchema, PropertyType, TypeSchema
from heat_convergence.resources.protocol.verb_values import (
    NeedsReplacement,
    ResourceContext,
    VerbResult,
)
from tests.functional.harness import LocalService
from tests.functional.openstack_types.emulated_service import (
    ClockedEmulation,
    create_stack,
    emulation_service,
    physical_id,
    port,
    server,
    template,
    update_stack,
)
from tests.functional.project_client import ProjectClient

Json = Any


def delete_object(emulated_cloud: ClockedEmulation, noun: str, object_id: str) -> None:
    emulated_cloud.emulation.collection(noun).remove(object_id)


def test_missing_resource_is_recreated_by_a_converge_update(service, emulated_cloud):
    body = template(port=port(), server=server())
    path = create_stack(service, body)
    old = physical_id(service, path, "server")
    delete_object(emulated_cloud, "nova.server", old)
    assert update_stack(service, path, body) == "UPDATE_COMPLETE"
    assert emulated_cloud.bodies("nova.server") == []  # its row was believed
    assert update_stack(service, path, body, converge=True) == "UPDATE_COMPLETE"
    (made,) = emulated_cloud.bodies("nova.server")
    assert made["id"] == physical_id(service, path, "server") != old
    assert [one["device_id"] for one in emulated_cloud.bodies("neutron.port")] == [made["id"]]


@pytest.mark.parametrize("value", [True, "true"])
def test_empty_patch_converges(service, emulated_cloud, value):
    path = create_stack(service, template())
    delete_object(emulated_cloud, "neutron.subnet", physical_id(service, path, "subnet"))
    answer = service.send("PATCH", path, {"converge": value})
    assert answer.status_int == 202, answer.text
    service.run_until_idle()
    assert "10.90.0.0/24" in [one["cidr"] for one in emulated_cloud.bodies("neutron.subnet")]


def test_server_in_error_is_replaced(service, emulated_cloud):
    body = template(port=port(), server=server())
    path = create_stack(service, body)
    old = physical_id(service, path, "server")
    emulated_cloud.emulation.get_existing("nova.server", old).body["status"] = "ERROR"
    assert update_stack(service, path, body, converge=True) == "UPDATE_COMPLETE"
    (made,) = emulated_cloud.bodies("nova.server")
    assert made["id"] != old


@pytest.mark.parametrize("admin_state_up", [True, False])
def test_drifted_property_is_restored(service, emulated_cloud, admin_state_up):
    body = template()
    body["resources"]["net"]["properties"] = {"admin_state_up": admin_state_up}
    path = create_stack(service, body)
    networks = emulated_cloud.bodies("neutron.network")
    ours = next(one for one in networks if one["id"] == physical_id(service, path, "net"))
    ours["admin_state_up"] = not admin_state_up
    assert update_stack(service, path, body) == "UPDATE_COMPLETE"
    assert ours["admin_state_up"] is not admin_state_up
    assert update_stack(service, path, body, converge=True) == "UPDATE_COMPLETE"
    assert ours["admin_state_up"] is admin_state_up


def test_resource_without_drift_is_not_updated(service, emulated_cloud):
    body = template(port=port(), server=server())
    path = create_stack(service, body)
    before = {noun: emulated_cloud.bodies(noun) for noun in ("nova.server", "neutron.port")}
    emulated_cloud.emulation.request_counts.clear()
    assert update_stack(service, path, body, converge=True) == "UPDATE_COMPLETE"
    assert {noun: emulated_cloud.bodies(noun) for noun in before} == before
    assert {each.split()[0] for each in emulated_cloud.emulation.request_counts} == {"GET"}


def restricted(*actions: str) -> Json:
    return {"resource_registry": {"resources": {"net": {"restricted_actions": list(actions)}}}}


def test_restricted_replacement_is_refused(service, emulated_cloud):
    path = create_stack(service, template(), environment=restricted("replace"))
    net = physical_id(service, path, "net")
    delete_object(emulated_cloud, "neutron.network", net)
    state = update_stack(
        service, path, template(), environment=restricted("replace"), converge=True
    )
    assert state.startswith("UPDATE_FAILED: ")
    assert "resources.net" in state
    assert "restricts replace" in state
    assert physical_id(service, path, "net") == net


def test_restricted_update_is_refused(service, emulated_cloud):
    path = create_stack(service, template(), environment=restricted("update"))
    net = physical_id(service, path, "net")
    (ours,) = [one for one in emulated_cloud.bodies("neutron.network") if one["id"] == net]
    ours["admin_state_up"] = False
    state = update_stack(
        service, path, template(), environment=restricted("update"), converge=True
    )
    assert state.startswith("UPDATE_FAILED: ")
    assert "resources.net: others have changed admin_state_up" in state
    assert ours["admin_state_up"] is False


def test_nested_stacks_converge(service, emulated_cloud):
    member = {"type": "OS::Neutron::Net", "properties": {"name": "net-%index%"}}
    body = {
        "heat_template_version": "2016-10-14",
        "resources": {
            "group": {
                "type": "OS::Heat::ResourceGroup",
                "properties": {"count": 2, "resource_def": member},
            }
        },
    }
    path = create_stack(service, body)

    def names() -> list[str]:
        found = [one["name"] for one in emulated_cloud.bodies("neutron.network")]
        return sorted(name for name in found if name.startswith("net-"))

    lost = next(one for one in emulated_cloud.bodies("neutron.network") if one["name"] == "net-1")
    delete_object(emulated_cloud, "neutron.network", lost["id"])
    assert update_stack(service, path, body) == "UPDATE_COMPLETE"
    assert names() == ["net-0"]
    assert update_stack(service, path, body, converge=True) == "UPDATE_COMPLETE"
    assert names() == ["net-0", "net-1"]


def test_observe_on_update_option_observes_at_every_update(tmp_path, emulated_cloud):
    service = emulation_service(
        emulated_cloud, tmp_path, options=ApiOptions(observe_on_update=True)
    )
    path = create_stack(service, template())
    delete_object(emulated_cloud, "neutron.subnet", physical_id(service, path, "subnet"))
    assert update_stack(service, path, template()) == "UPDATE_COMPLETE"
    assert "10.90.0.0/24" in [one["cidr"] for one in emulated_cloud.bodies("neutron.subnet")]
    service.close()


def test_preview_uses_recorded_state(service, emulated_cloud):
    path = create_stack(service, template())
    delete_object(emulated_cloud, "neutron.subnet", physical_id(service, path, "subnet"))
    emulated_cloud.emulation.request_counts.clear()
    body = {"template": template(), "converge": True}
    answer = service.send("PUT", f"{path}/preview", body)
    assert answer.status_int == 200, answer.text
    changes = answer.json["resource_changes"]
    assert {each["resource_name"] for each in changes["unchanged"]} == {"net", "subnet"}
    assert not emulated_cloud.emulation.request_counts


def test_deployments_are_not_repeated(tmp_path):
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    talk = ProjectClient(service)
    body = {
        "heat_template_version": "2016-10-14",
        "resources": {
            "config": {
                "type": "OS::Heat::SoftwareConfig",
                "properties": {"group": "script", "config": "true"},
            },
            "deployment": {
                "type": "OS::Heat::SoftwareDeployment",
                "properties": {
                    "config": {"get_resource": "config"},
                    "server": "e4b2c0f6-0000-4000-8000-000000000001",
                    "signal_transport": "NO_SIGNAL",
                },
            },
        },
    }
    talk.create("s", body)
    (before,) = talk.send("GET", "/software_deployments").json["software_deployments"]
    talk.update("s", body, converge=True)
    (after,) = talk.send("GET", "/software_deployments").json["software_deployments"]
    assert talk.status("s") == "UPDATE_COMPLETE"
    assert after == before
    service.close()


class ReplacementRequiredType(LocalType):
    """Finds out in the middle of an update that it can't be changed."""

    name = "Test::ReplacementRequired"
    schema = TypeSchema(
        properties={"value": PropertySchema(type=PropertyType.STRING, update_allowed=True)}
    )

    def update(self, view: ResourceContext, after: Json, changed: frozenset[str]) -> VerbResult:
        raise NeedsReplacement


@pytest.mark.parametrize("allowed", [True, False])
def test_restricted_replacement_found_during_the_update_is_refused(tmp_path, allowed):
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", types=(ReplacementRequiredType(),))
    talk = ProjectClient(service)
    environment = {} if allowed else restricted("replace")

    def body(value: str) -> Json:
        one = {"type": ReplacementRequiredType.name, "properties": {"value": value}}
        return {"heat_template_version": "2016-10-14", "resources": {"net": one}}

    talk.create("s", body("1"), environment=environment)
    before = talk.resource("s", "net")["physical_resource_id"]
    talk.update("s", body("2"), environment=environment)
    stack = talk.stack("s")
    after = talk.resource("s", "net")["physical_resource_id"]
    assert (stack["stack_status"] == "UPDATE_COMPLETE", after != before) == (allowed, allowed)
    if not allowed:
        assert "the environment restricts replace" in stack["stack_status_reason"]
    service.close()
