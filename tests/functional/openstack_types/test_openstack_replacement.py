"""Replacement, repair and rollback of OpenStack resources on the emulated cloud.

Ports, addresses and names that only one resource can have go from the old one to the new one,
and back by a rollback.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.functional.harness import LocalService
from tests.functional.openstack_types.emulated_service import (
    ADDRESS,
    ClockedEmulation,
    create_stack,
    physical_id,
    port,
    server,
    template,
    update_stack,
)

Json = Any


def dependent_of(name: str, **extra: Json) -> Json:
    """Return a resource that keeps ``name`` from being deleted until it is updated itself."""
    properties = {"value": {"get_resource": name}, **extra}
    return {"type": "OS::Heat::TestResource", "properties": properties}


def test_replacement_port_takes_the_address(
    service: LocalService, emulated_cloud: ClockedEmulation
) -> None:
    path = create_stack(service, template(port=port()))
    old_id = physical_id(service, path, "port")
    changed = port(mac_address="fa:16:3e:00:00:77")
    assert update_stack(service, path, template(port=changed)) == "UPDATE_COMPLETE"
    assert physical_id(service, path, "port") != old_id
    assert emulated_cloud.addresses() == [ADDRESS]


def test_rollback_returns_the_address(
    service: LocalService, emulated_cloud: ClockedEmulation
) -> None:
    path = create_stack(service, template(port=port(), user=dependent_of("port")))
    old_id = physical_id(service, path, "port")
    changed = template(
        port=port(mac_address="fa:16:3e:00:00:77"), user=dependent_of("port", fail=True)
    )
    assert update_stack(service, path, changed, disable_rollback=False) == "ROLLBACK_COMPLETE"
    assert physical_id(service, path, "port") == old_id
    assert emulated_cloud.addresses() == [ADDRESS]


def test_replacement_server_takes_the_port(
    service: LocalService, emulated_cloud: ClockedEmulation
) -> None:
    path = create_stack(service, template(port=port(), server=server()))
    old_id = physical_id(service, path, "server")
    changed = template(port=port(), server=server(availability_zone="nova"))
    assert update_stack(service, path, changed) == "UPDATE_COMPLETE"
    new_id = physical_id(service, path, "server")
    (only_port,) = emulated_cloud.bodies("neutron.port")
    assert new_id != old_id
    assert only_port["device_id"] == new_id
    assert [one["id"] for one in emulated_cloud.bodies("nova.server")] == [new_id]


def test_replacement_server_takes_the_address(
    service: LocalService, emulated_cloud: ClockedEmulation
) -> None:
    networks = [{"subnet": {"get_resource": "subnet"}, "fixed_ip": ADDRESS}]
    path = create_stack(service, template(server=server(networks=networks)))
    changed = template(server=server(networks=networks, availability_zone="nova"))
    assert update_stack(service, path, changed) == "UPDATE_COMPLETE"
    assert emulated_cloud.addresses() == [ADDRESS]


def test_rollback_returns_the_port(
    service: LocalService, emulated_cloud: ClockedEmulation
) -> None:
    path = create_stack(
        service, template(port=port(), server=server(), user=dependent_of("server"))
    )
    old_id = physical_id(service, path, "server")
    changed = template(
        port=port(),
        server=server(availability_zone="nova"),
        user=dependent_of("server", fail=True),
    )
    assert update_stack(service, path, changed, disable_rollback=False) == "ROLLBACK_COMPLETE"
    assert physical_id(service, path, "server") == old_id
    (only_port,) = emulated_cloud.bodies("neutron.port")
    assert only_port["device_id"] == old_id
    assert [one["id"] for one in emulated_cloud.bodies("nova.server")] == [old_id]


def test_failed_update_keeps_the_server(
    service: LocalService, emulated_cloud: ClockedEmulation
) -> None:
    """Heat's needs_replace_failed: only a server in error, or a deleted one, is replaced."""
    path = create_stack(service, template(port=port(), server=server()))
    old_id = physical_id(service, path, "server")
    status = update_stack(service, path, template(port=port(), server=server(flavor="none")))
    assert status.startswith("UPDATE_FAILED: ")
    assert "resources.server.properties.flavor" in status
    repaired = template(port=port(), server=server(flavor="m1.tiny"))
    assert update_stack(service, path, repaired) == "UPDATE_COMPLETE"
    assert physical_id(service, path, "server") == old_id
    (only_port,) = emulated_cloud.bodies("nova.server")
    assert only_port["flavor"]["id"] == next(
        one["id"] for one in emulated_cloud.bodies("nova.flavor") if one["name"] == "m1.tiny"
    )


def test_failed_update_replaces_a_server_in_error(
    service: LocalService, emulated_cloud: ClockedEmulation
) -> None:
    path = create_stack(service, template(port=port(), server=server()))
    old_id = physical_id(service, path, "server")
    update_stack(service, path, template(port=port(), server=server(flavor="none")))
    emulated_cloud.emulation.get_existing("nova.server", old_id).body["status"] = "ERROR"
    assert update_stack(service, path, template(port=port(), server=server())) == "UPDATE_COMPLETE"
    new_id = physical_id(service, path, "server")
    assert new_id != old_id
    assert [one["device_id"] for one in emulated_cloud.bodies("neutron.port")] == [new_id]


def test_rollback_of_failed_update_keeps_the_server(
    service: LocalService, emulated_cloud: ClockedEmulation
) -> None:
    path = create_stack(service, template(port=port(), server=server()))
    old_id = physical_id(service, path, "server")
    broken = template(port=port(), server=server(flavor="none"))
    assert update_stack(service, path, broken, disable_rollback=False) == "ROLLBACK_COMPLETE"
    assert physical_id(service, path, "server") == old_id


@pytest.mark.parametrize(
    ("entity", "snapshot_entity"),
    [
        ("volume", "cinder.backup"),
        ("server", "glance.image"),
    ],
)
def test_deletion_policy_snapshot_saves_before_delete(
    service: LocalService, emulated_cloud: ClockedEmulation, entity: str, snapshot_entity: str
) -> None:
    resources = {
        "volume": {"type": "OS::Cinder::Volume", "properties": {"size": 1}},
        "server": server(networks=[{"network": {"get_resource": "net"}}]),
    }
    before = len(emulated_cloud.bodies(snapshot_entity))
    new_template = template(**{entity: {**resources[entity], "deletion_policy": "Snapshot"}})
    path = create_stack(service, new_template)
    assert len(emulated_cloud.bodies(snapshot_entity)) == before
    assert service.send("DELETE", path).status_int == 204
    service.run_until_idle()
    assert service.send("GET", path).json["stack"]["stack_status"] == "DELETE_COMPLETE"
    assert len(emulated_cloud.bodies(snapshot_entity)) == before + 1
    assert emulated_cloud.bodies("cinder.volume") == emulated_cloud.bodies("nova.server") == []


def test_deletion_policy_snapshot_saves_before_replacement(
    service: LocalService, emulated_cloud: ClockedEmulation
) -> None:
    volume = {
        "type": "OS::Cinder::Volume",
        "properties": {"size": 1},
        "deletion_policy": "Snapshot",
    }
    path = create_stack(service, template(volume=volume))
    changed = {**volume, "properties": {"size": 1, "availability_zone": "nova"}}
    assert update_stack(service, path, template(volume=changed)) == "UPDATE_COMPLETE"
    assert len(emulated_cloud.bodies("cinder.volume")) == 1
    assert len(emulated_cloud.bodies("cinder.backup")) == 1


def test_new_name_of_a_hidden_type_replaces_nothing(
    service: LocalService, emulated_cloud: ClockedEmulation
) -> None:
    properties = {"image": "cirros", "coe": "kubernetes", "external_network": "public"}

    def body(name: str, **more: Json) -> Json:
        model = {"type": f"OS::Magnum::{name}", "properties": {**properties, **more}}
        return {"heat_template_version": "2016-10-14", "resources": {"model": model}}

    path = create_stack(service, body("BayModel"))
    before = physical_id(service, path, "model")
    assert update_stack(service, path, body("ClusterTemplate")) == "UPDATE_COMPLETE"
    assert physical_id(service, path, "model") == before
    assert update_stack(service, path, body("ClusterTemplate", public=True)) == "UPDATE_COMPLETE"
    assert physical_id(service, path, "model") == before
    assert service.send("DELETE", path).status_int == 204
    assert emulated_cloud.bodies("magnum.cluster_template") == []
