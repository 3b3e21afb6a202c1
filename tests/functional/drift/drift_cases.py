"""Changes of resources by others, and what a user sees of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.functional.harness import LocalService
from tests.functional.openstack_types.emulated_service import (
    ClockedEmulation,
    port,
    server,
    template,
)

Json = Any
INTERVAL_S = 15.0


def watch(service: LocalService, seconds: float = 120.0) -> None:
    """Let the watch run for some time."""
    for _ in range(int(seconds / INTERVAL_S)):
        service.clock.advance(INTERVAL_S)
        service.watch.tick()


def drift(service: LocalService, path: str) -> Json:
    answer = service.send("GET", f"{path}/drift")
    assert answer.status_int == 200, answer.text
    return answer.json["drift"]


def entry(service: LocalService, path: str) -> Json:
    """Return the only resource that differs, as status and properties."""
    (found,) = drift(service, path)["resources"]
    return found["resource_name"], found["drift_status"], found["properties"]


def template_with_everything() -> Json:
    volume = {"type": "OS::Cinder::Volume", "properties": {"size": 1, "metadata": {"tier": "a"}}}
    rules = [
        {"protocol": "tcp", "port_range_min": 22, "port_range_max": 22},
        {"remote_mode": "remote_group_id"},
    ]
    group = {"type": "OS::Neutron::SecurityGroup", "properties": {"rules": rules}}
    router = {
        "type": "OS::Neutron::Router",
        "properties": {"external_gateway_info": {"network": "public"}},
    }
    interface = {
        "type": "OS::Neutron::RouterInterface",
        "properties": {
            "router": {"get_resource": "router"},
            "subnet": {"get_resource": "subnet"},
        },
    }
    address = {
        "type": "OS::Neutron::FloatingIP",
        "properties": {"floating_network": "public"},
        "depends_on": "interface",
    }
    named = port(name="front", security_groups=[{"get_resource": "group"}])
    return template(
        volume=volume,
        group=group,
        router=router,
        interface=interface,
        address=address,
        port=named,
        server=server(name="web", metadata={"role": "web"}),
    )


def ours(cloud: ClockedEmulation, noun: str, object_id: str) -> Json:
    return cloud.emulation.get_existing(noun, object_id).body


def _remove_interface(cloud: ClockedEmulation, _id: str) -> None:
    (found,) = [
        each
        for each in cloud.bodies("neutron.port")
        if each.get("device_owner") == "network:router_interface"
    ]
    cloud.emulation.collection("neutron.port").remove(found["id"])


CHANGES: dict[str, tuple[str, Callable[[ClockedEmulation, str], Any], str, list[str]]] = {
    "server deleted": (
        "server",
        lambda cloud, key: cloud.emulation.collection("nova.server").remove(key),
        "DELETED",
        [],
    ),
    "server stopped": (
        "server",
        lambda cloud, key: ours(cloud, "nova.server", key).update(status="SHUTOFF"),
        "ERROR",
        [],
    ),
    "server's metadata changed": (
        "server",
        lambda cloud, key: ours(cloud, "nova.server", key).update(metadata={"role": "db"}),
        "MODIFIED",
        ["metadata"],
    ),
    "port renamed": (
        "port",
        lambda cloud, key: ours(cloud, "neutron.port", key).update(name="other"),
        "MODIFIED",
        ["name"],
    ),
    "port's groups changed": (
        "port",
        lambda cloud, key: ours(cloud, "neutron.port", key).update(security_groups=[]),
        "MODIFIED",
        ["security_groups"],
    ),
    "rule removed": (
        "group",
        lambda cloud, key: ours(cloud, "neutron.security_group", key)[
            "security_group_rules"
        ].pop(),
        "MODIFIED",
        ["rules"],
    ),
    "volume retyped and extended": (
        "volume",
        lambda cloud, key: ours(cloud, "cinder.volume", key).update(size=2),
        "MODIFIED",
        ["size"],
    ),
    "interface detached": ("interface", _remove_interface, "DELETED", []),
    "gateway cleared": (
        "router",
        lambda cloud, key: ours(cloud, "neutron.router", key).update(external_gateway_info=None),
        "MODIFIED",
        ["external_gateway_info"],
    ),
}
