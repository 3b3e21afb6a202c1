"""Stacks of OpenStack resources that are replaced, mended and rolled back, below an
emulated cloud: what only one can have goes from the old to the new, and back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from heat_convergence.clients.rest_client import RequestLimiter, SdkCloudClient
from heat_convergence.resources import custom_constraints
from heat_convergence.resources.catalog import custom_constraints as cloud_constraints
from heat_convergence.resources.catalog.resource_types import load_resource_types
from heat_convergence.testing.openstack.emulation import PROJECT_ID, Emulation
from heat_convergence.testing.openstack.http_adapter import connect, create_emulation
from tests.functional.harness import LocalService

Json = Any
ADDRESS = "10.90.0.50"


class ClockedEmulation:
    """The emulation, on the service's clock."""

    def __init__(self) -> None:
        self.emulation: Emulation = create_emulation()
        connection = connect(self.emulation)
        self.service: LocalService | None = None
        self._start: Any = None
        self._cloud = SdkCloudClient("sky", PROJECT_ID, lambda: connection, RequestLimiter(4))

    def cloud_for(self, tree_id: str) -> SdkCloudClient:
        assert self.service is not None
        now = self.service.clock()
        self._start = self._start or now
        self.emulation.now_s = (now - self._start).total_seconds()
        return self._cloud

    def request_bodies(self, noun: str) -> list[Json]:
        return self.emulation.collection(noun).bodies()

    def addresses(self) -> list[str]:
        ips = [ip for port in self.request_bodies("neutron.port") for ip in port["fixed_ips"]]
        return [ip["ip_address"] for ip in ips]


@pytest.fixture
def sky() -> ClockedEmulation:
    return ClockedEmulation()


def emulation_service(sky: ClockedEmulation, tmp_path: Any, **more: Any) -> LocalService:
    """A service whose cloud it is."""
    checks = {
        **cloud_constraints.load_custom_constraints(load_resource_types()),
        **custom_constraints.load_constraints(),
    }
    given = {"cloud_of": sky.cloud_for, "custom_constraints": checks, **more}
    sky.service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", **given)
    return sky.service


@pytest.fixture
def service(tmp_path: Any, sky: ClockedEmulation) -> Iterator[LocalService]:
    service = emulation_service(sky, tmp_path)
    yield service
    service.close()


def port(**more: Json) -> Json:
    fixed = [{"subnet": {"get_resource": "subnet"}, "ip_address": ADDRESS}]
    properties = {"network": {"get_resource": "net"}, "fixed_ips": fixed, **more}
    return {"type": "OS::Neutron::Port", "properties": properties}


def server(**more: Json) -> Json:
    properties = {
        "image": "cirros",
        "flavor": "m1.nano",
        "networks": [{"port": {"get_resource": "port"}}],
        **more,
    }
    return {"type": "OS::Nova::Server", "properties": properties}


def user_of(name: str, **more: Json) -> Json:
    """What keeps a resource there until it has been updated itself."""
    properties = {"value": {"get_resource": name}, **more}
    return {"type": "OS::Heat::TestResource", "properties": properties}


def template(**resources: Json) -> Json:
    net: Json = {
        "net": {"type": "OS::Neutron::Net"},
        "subnet": {
            "type": "OS::Neutron::Subnet",
            "properties": {"network": {"get_resource": "net"}, "cidr": "10.90.0.0/24"},
        },
    }
    return {"heat_template_version": "2016-10-14", "resources": {**net, **resources}}


def make(service: LocalService, wanted: Json, **more: Json) -> str:
    body = {"stack_name": "s", "template": wanted, **more}
    answer = service.send("POST", "/stacks", body)
    assert answer.status_int == 201, answer.text
    path = f"/stacks/{body['stack_name']}/{answer.json['stack']['id']}"
    assert state(service, path) == "CREATE_COMPLETE"
    return path


def change(service: LocalService, path: str, wanted: Json, **more: Json) -> str:
    answer = service.send("PUT", path, {"template": wanted, **more})
    assert answer.status_int == 202, answer.text
    return state(service, path)


def state(service: LocalService, path: str) -> str:
    service.run_until_idle()
    found = service.send("GET", path).json["stack"]
    if found["stack_status"].endswith("FAILED"):
        return f"{found['stack_status']}: {found['stack_status_reason']}"
    return str(found["stack_status"])


def physical_id(service: LocalService, path: str, name: str) -> str:
    found = service.send("GET", f"{path}/resources/{name}").json["resource"]
    return str(found["physical_resource_id"])


def test_a_port_takes_the_address_of_the_one_that_it_replaces(service, sky):
    path = make(service, template(port=port()))
    old = physical_id(service, path, "port")
    other = port(mac_address="fa:16:3e:00:00:77")
    assert change(service, path, template(port=other)) == "UPDATE_COMPLETE"
    assert physical_id(service, path, "port") != old
    assert sky.addresses() == [ADDRESS]


def test_a_rollback_gives_the_address_back(service, sky):
    path = make(service, template(port=port(), user=user_of("port")))
    old = physical_id(service, path, "port")
    other = template(port=port(mac_address="fa:16:3e:00:00:77"), user=user_of("port", fail=True))
    assert change(service, path, other, disable_rollback=False) == "ROLLBACK_COMPLETE"
    assert physical_id(service, path, "port") == old
    assert sky.addresses() == [ADDRESS]


def test_a_server_takes_the_port_of_the_one_that_it_replaces(service, sky):
    path = make(service, template(port=port(), server=server()))
    old = physical_id(service, path, "server")
    other = template(port=port(), server=server(availability_zone="nova"))
    assert change(service, path, other) == "UPDATE_COMPLETE"
    new = physical_id(service, path, "server")
    (only,) = sky.request_bodies("neutron.port")
    assert new != old
    assert only["device_id"] == new
    assert [one["id"] for one in sky.request_bodies("nova.server")] == [new]


def test_a_server_of_an_address_replaces_one_that_has_it(service, sky):
    networks = [{"subnet": {"get_resource": "subnet"}, "fixed_ip": ADDRESS}]
    path = make(service, template(server=server(networks=networks)))
    other = template(server=server(networks=networks, availability_zone="nova"))
    assert change(service, path, other) == "UPDATE_COMPLETE"
    assert sky.addresses() == [ADDRESS]


def test_a_rollback_gives_the_port_back(service, sky):
    path = make(service, template(port=port(), server=server(), user=user_of("server")))
    old = physical_id(service, path, "server")
    other = template(
        port=port(), server=server(availability_zone="nova"), user=user_of("server", fail=True)
    )
    assert change(service, path, other, disable_rollback=False) == "ROLLBACK_COMPLETE"
    assert physical_id(service, path, "server") == old
    (only,) = sky.request_bodies("neutron.port")
    assert only["device_id"] == old
    assert [one["id"] for one in sky.request_bodies("nova.server")] == [old]


def test_an_update_that_failed_costs_no_server(service, sky):
    """The facts' needs_replace_failed: only one in error, or gone, is replaced."""
    path = make(service, template(port=port(), server=server()))
    old = physical_id(service, path, "server")
    failed = change(service, path, template(port=port(), server=server(flavor="none")))
    assert failed.startswith("UPDATE_FAILED: ")
    assert "resources.server.properties.flavor" in failed
    mended = template(port=port(), server=server(flavor="m1.tiny"))
    assert change(service, path, mended) == "UPDATE_COMPLETE"
    assert physical_id(service, path, "server") == old
    (only,) = sky.request_bodies("nova.server")
    assert only["flavor"]["id"] == next(
        one["id"] for one in sky.request_bodies("nova.flavor") if one["name"] == "m1.tiny"
    )


def test_a_failed_server_in_error_is_replaced(service, sky):
    path = make(service, template(port=port(), server=server()))
    old = physical_id(service, path, "server")
    change(service, path, template(port=port(), server=server(flavor="none")))
    sky.emulation.get_existing("nova.server", old).body["status"] = "ERROR"
    assert change(service, path, template(port=port(), server=server())) == "UPDATE_COMPLETE"
    new = physical_id(service, path, "server")
    assert new != old
    assert [one["device_id"] for one in sky.request_bodies("neutron.port")] == [new]


def test_a_rollback_of_a_failed_update_costs_no_server(service, sky):
    path = make(service, template(port=port(), server=server()))
    old = physical_id(service, path, "server")
    bad = template(port=port(), server=server(flavor="none"))
    assert change(service, path, bad, disable_rollback=False) == "ROLLBACK_COMPLETE"
    assert physical_id(service, path, "server") == old


@pytest.mark.parametrize(
    ("noun", "kept"),
    [
        ("volume", "cinder.backup"),
        ("server", "glance.image"),
    ],
)
def test_a_deletion_policy_of_snapshot_saves_first(service, sky, noun, kept):
    resources = {
        "volume": {"type": "OS::Cinder::Volume", "properties": {"size": 1}},
        "server": server(networks=[{"network": {"get_resource": "net"}}]),
    }
    before = len(sky.request_bodies(kept))
    wanted = template(**{noun: {**resources[noun], "deletion_policy": "Snapshot"}})
    path = make(service, wanted)
    assert len(sky.request_bodies(kept)) == before
    assert service.send("DELETE", path).status_int == 204
    service.run_until_idle()
    assert service.send("GET", path).json["stack"]["stack_status"] == "DELETE_COMPLETE"
    assert len(sky.request_bodies(kept)) == before + 1
    assert sky.request_bodies("cinder.volume") == sky.request_bodies("nova.server") == []


def test_what_is_replaced_is_saved_too(service, sky):
    volume = {
        "type": "OS::Cinder::Volume",
        "properties": {"size": 1},
        "deletion_policy": "Snapshot",
    }
    path = make(service, template(volume=volume))
    other = {**volume, "properties": {"size": 1, "availability_zone": "nova"}}
    assert change(service, path, template(volume=other)) == "UPDATE_COMPLETE"
    assert len(sky.request_bodies("cinder.volume")) == 1
    assert len(sky.request_bodies("cinder.backup")) == 1
