"""A service over the emulated cloud, and templates of OpenStack resources for it."""

from __future__ import annotations

from typing import Any

from heat_convergence.cli.offline.emulated_cloud import ClockedEmulation, emulation_service
from heat_convergence.cli.offline.local_service import LocalService

__all__ = ["ClockedEmulation", "emulation_service"]
Json = Any
ADDRESS = "10.90.0.50"


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
