"""A service over the emulated cloud, and templates of OpenStack resources for it."""

from __future__ import annotations

from typing import Any

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
    """The emulated cloud, on the clock of the service."""

    def __init__(self) -> None:
        self.emulation: Emulation = create_emulation()
        connection = connect(self.emulation)
        self.service: LocalService | None = None
        self._start: Any = None
        self._cloud = SdkCloudClient("emulated", PROJECT_ID, lambda: connection, RequestLimiter(4))

    def cloud_for(self, tree_id: str) -> SdkCloudClient:
        """Return the cloud, whose clock follows the service's."""
        assert self.service is not None
        now = self.service.clock()
        self._start = self._start or now
        self.emulation.now_s = (now - self._start).total_seconds()
        return self._cloud

    def bodies(self, entity: str) -> list[Json]:
        """Return the bodies of all resources of an entity."""
        return self.emulation.collection(entity).bodies()

    def addresses(self) -> list[str]:
        """Return the fixed IPs of all ports."""
        ips = [ip for port in self.bodies("neutron.port") for ip in port["fixed_ips"]]
        return [ip["ip_address"] for ip in ips]


def emulation_service(
    emulated_cloud: ClockedEmulation, tmp_path: Any, **extra: Any
) -> LocalService:
    """Return a service that uses the emulated cloud."""
    checks = {
        **cloud_constraints.load_custom_constraints(load_resource_types()),
        **custom_constraints.load_constraints(),
    }
    services = {"cloud_of": emulated_cloud.cloud_for, "custom_constraints": checks, **extra}
    emulated_cloud.service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", **services)
    return emulated_cloud.service


def port(**extra: Json) -> Json:
    fixed_ips = [{"subnet": {"get_resource": "subnet"}, "ip_address": ADDRESS}]
    properties = {"network": {"get_resource": "net"}, "fixed_ips": fixed_ips, **extra}
    return {"type": "OS::Neutron::Port", "properties": properties}


def server(**extra: Json) -> Json:
    properties = {
        "image": "cirros",
        "flavor": "m1.nano",
        "networks": [{"port": {"get_resource": "port"}}],
        **extra,
    }
    return {"type": "OS::Nova::Server", "properties": properties}


def template(**resources: Json) -> Json:
    net: Json = {
        "net": {"type": "OS::Neutron::Net"},
        "subnet": {
            "type": "OS::Neutron::Subnet",
            "properties": {"network": {"get_resource": "net"}, "cidr": "10.90.0.0/24"},
        },
    }
    return {"heat_template_version": "2016-10-14", "resources": {**net, **resources}}


def create_stack(service: LocalService, new_template: Json, **extra: Json) -> str:
    """Create a stack and return its path once it is complete."""
    body = {"stack_name": "s", "template": new_template, **extra}
    response = service.send("POST", "/stacks", body)
    assert response.status_int == 201, response.text
    path = f"/stacks/{body['stack_name']}/{response.json['stack']['id']}"
    assert stack_state(service, path) == "CREATE_COMPLETE"
    return path


def update_stack(service: LocalService, path: str, new_template: Json, **extra: Json) -> str:
    """Update a stack and return its final status, with the reason if it failed."""
    response = service.send("PUT", path, {"template": new_template, **extra})
    assert response.status_int == 202, response.text
    return stack_state(service, path)


def stack_state(service: LocalService, path: str) -> str:
    """Return the status of the stack once nothing is left to do."""
    service.run_until_idle()
    stack = service.send("GET", path).json["stack"]
    if stack["stack_status"].endswith("FAILED"):
        return f"{stack['stack_status']}: {stack['stack_status_reason']}"
    return str(stack["stack_status"])


def physical_id(service: LocalService, path: str, name: str) -> str:
    stack = service.send("GET", f"{path}/resources/{name}").json["resource"]
    return str(stack["physical_resource_id"])
