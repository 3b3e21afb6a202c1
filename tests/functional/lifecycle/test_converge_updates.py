"""``converge`` in an update, and ``observe_on_update``: reality is looked at first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from heat_convergence.api.services import ApiOptions
from heat_convergence.resources.builtin.local_type import LocalType
from heat_convergence.resources.protocol.resource_type import (
    NeedsReplacement,
    ResourceContext,
    VerbResult,
)
from heat_convergence.resources.protocol.schema import PropertySchema, PropertyType, TypeSchema
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


@pytest.fixture
def emulated_cloud() -> ClockedEmulation:
    return ClockedEmulation()


@pytest.fixture
def service(tmp_path: Any, emulated_cloud: ClockedEmulation) -> Iterator[LocalService]:
    service = emulation_service(emulated_cloud, tmp_path)
    yield service
    service.close()


def gone(emulated_cloud: ClockedEmulation, noun: str, thing_id: str) -> None:
    emulated_cloud.emulation.collection(noun).remove(thing_id)


def test_what_is_gone_is_made_again_by_the_update_that_asks(service, emulated_cloud):
    wanted = template(port=port(), server=server())
    path = create_stack(service, wanted)
    old = physical_id(service, path, "server")
    gone(emulated_cloud, "nova.server", old)
    assert update_stack(service, path, wanted) == "UPDATE_COMPLETE"
    assert emulated_cloud.bodies("nova.server") == []  # its row was believed
    assert update_stack(service, path, wanted, converge=True) == "UPDATE_COMPLETE"
    (made,) = emulated_cloud.bodies("nova.server")
    assert made["id"] == physical_id(service, path, "server") != old
    assert [one["device_id"] for one in emulated_cloud.bodies("neutron.port")] == [made["id"]]


@pytest.mark.parametrize("value", [True, "true"])
def test_an_empty_patch_converges_too(service, emulated_cloud, value):
    path = create_stack(service, template())
    gone(emulated_cloud, "neutron.subnet", physical_id(service, path, "subnet"))
    answer = service.send("PATCH", path, {"converge": value})
    assert answer.status_int == 202, answer.text
    service.run_until_idle()
    assert "10.90.0.0/24" in [one["cidr"] for one in emulated_cloud.bodies("neutron.subnet")]


def test_a_server_in_error_is_replaced(service, emulated_cloud):
    wanted = template(port=port(), server=server())
    path = create_stack(service, wanted)
    old = physical_id(service, path, "server")
    emulated_cloud.emulation.get_existing("nova.server", old).body["status"] = "ERROR"
    assert update_stack(service, path, wanted, converge=True) == "UPDATE_COMPLETE"
    (made,) = emulated_cloud.bodies("nova.server")
    assert made["id"] != old


@pytest.mark.parametrize("admin_state_up", [True, False])
def test_what_others_changed_is_set_right(service, emulated_cloud, admin_state_up):
    wanted = template()
    wanted["resources"]["net"]["properties"] = {"admin_state_up": admin_state_up}
    path = create_stack(service, wanted)
    body = emulated_cloud.bodies("neutron.network")
    ours = next(one for one in body if one["id"] == physical_id(service, path, "net"))
    ours["admin_state_up"] = not admin_state_up
    assert update_stack(service, path, wanted) == "UPDATE_COMPLETE"
    assert ours["admin_state_up"] is not admin_state_up
    assert update_stack(service, path, wanted, converge=True) == "UPDATE_COMPLETE"
    assert ours["admin_state_up"] is admin_state_up


def test_what_is_as_it_should_be_is_not_touched(service, emulated_cloud):
    wanted = template(port=port(), server=server())
    path = create_stack(service, wanted)
    before = {noun: emulated_cloud.bodies(noun) for noun in ("nova.server", "neutron.port")}
    emulated_cloud.emulation.request_counts.clear()
    assert update_stack(service, path, wanted, converge=True) == "UPDATE_COMPLETE"
    assert {noun: emulated_cloud.bodies(noun) for noun in before} == before
    assert {each.split()[0] for each in emulated_cloud.emulation.request_counts} == {"GET"}


def restricted(*actions: str) -> Json:
    return {"resource_registry": {"resources": {"net": {"restricted_actions": list(actions)}}}}


def test_a_restricted_replacement_is_refused(service, emulated_cloud):
    path = create_stack(service, template(), environment=restricted("replace"))
    net = physical_id(service, path, "net")
    gone(emulated_cloud, "neutron.network", net)
    state = update_stack(
        service, path, template(), environment=restricted("replace"), converge=True
    )
    assert state.startswith("UPDATE_FAILED: ")
    assert "resources.net" in state
    assert "restricts replace" in state
    assert physical_id(service, path, "net") == net


def test_a_restricted_update_is_refused(service, emulated_cloud):
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


def test_stacks_below_converge_too(service, emulated_cloud):
    member = {"type": "OS::Neutron::Net", "properties": {"name": "net-%index%"}}
    wanted = {
        "heat_template_version": "2016-10-14",
        "resources": {
            "group": {
                "type": "OS::Heat::ResourceGroup",
                "properties": {"count": 2, "resource_def": member},
            }
        },
    }
    path = create_stack(service, wanted)

    def names() -> list[str]:
        found = [one["name"] for one in emulated_cloud.bodies("neutron.network")]
        return sorted(name for name in found if name.startswith("net-"))

    lost = next(one for one in emulated_cloud.bodies("neutron.network") if one["name"] == "net-1")
    gone(emulated_cloud, "neutron.network", lost["id"])
    assert update_stack(service, path, wanted) == "UPDATE_COMPLETE"
    assert names() == ["net-0"]
    assert update_stack(service, path, wanted, converge=True) == "UPDATE_COMPLETE"
    assert names() == ["net-0", "net-1"]


def test_an_operator_may_have_every_update_look(tmp_path, emulated_cloud):
    service = emulation_service(
        emulated_cloud, tmp_path, options=ApiOptions(observe_on_update=True)
    )
    path = create_stack(service, template())
    gone(emulated_cloud, "neutron.subnet", physical_id(service, path, "subnet"))
    assert update_stack(service, path, template()) == "UPDATE_COMPLETE"
    assert "10.90.0.0/24" in [one["cidr"] for one in emulated_cloud.bodies("neutron.subnet")]
    service.close()


def test_a_preview_is_of_what_is_known(service, emulated_cloud):
    path = create_stack(service, template())
    gone(emulated_cloud, "neutron.subnet", physical_id(service, path, "subnet"))
    emulated_cloud.emulation.request_counts.clear()
    body = {"template": template(), "converge": True}
    answer = service.send("PUT", f"{path}/preview", body)
    assert answer.status_int == 200, answer.text
    changes = answer.json["resource_changes"]
    assert {each["resource_name"] for each in changes["unchanged"]} == {"net", "subnet"}
    assert not emulated_cloud.emulation.request_counts


def test_deployments_are_not_made_again(tmp_path):
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    talk = ProjectClient(service)
    wanted = {
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
    talk.create("s", wanted)
    (before,) = talk.send("GET", "/software_deployments").json["software_deployments"]
    talk.update("s", wanted, converge=True)
    (after,) = talk.send("GET", "/software_deployments").json["software_deployments"]
    assert talk.status("s") == "UPDATE_COMPLETE"
    assert after == before
    service.close()


class ReplacementRequiredType(LocalType):
    """Finds out in the middle of an update that it can't be changed."""

    name = "Test::Stubborn"
    schema = TypeSchema(
        properties={"value": PropertySchema(type=PropertyType.STRING, update_allowed=True)}
    )

    def update(self, view: ResourceContext, after: Json, changed: frozenset[str]) -> VerbResult:
        raise NeedsReplacement


@pytest.mark.parametrize("allowed", [True, False])
def test_a_replacement_that_turns_out_to_be_needed_is_refused_too(tmp_path, allowed):
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", types=(ReplacementRequiredType(),))
    talk = ProjectClient(service)
    given = {} if allowed else restricted("replace")

    def wanted(value: str) -> Json:
        one = {"type": ReplacementRequiredType.name, "properties": {"value": value}}
        return {"heat_template_version": "2016-10-14", "resources": {"net": one}}

    talk.create("s", wanted("1"), environment=given)
    before = talk.resource("s", "net")["physical_resource_id"]
    talk.update("s", wanted("2"), environment=given)
    told = talk.stack("s")
    after = talk.resource("s", "net")["physical_resource_id"]
    assert (told["stack_status"] == "UPDATE_COMPLETE", after != before) == (allowed, allowed)
    if not allowed:
        assert "the environment restricts replace" in told["stack_status_reason"]
    service.close()
