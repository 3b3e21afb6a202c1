"""A server's networks: what the compute service attaches by itself, and ports of ours.

Decides which entries need a port of their own, makes and deletes those, and finds the
difference that an update makes.  Ports of ours bear the server's mark, so that a lost
create does not leave any behind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from heat_convergence.common.errors import ResourceGone
from heat_convergence.resources.driver.arguments import ArgumentBuilder
from heat_convergence.resources.driver.resource_client import RestResourceClient

Json = Any
NetworkEntry = Mapping[str, Json]
MANAGED_PORT_KEYS = ("subnet", "port_extra_properties")


def has_managed_port(network: NetworkEntry) -> bool:
    """Whether a port is made for it, instead of leaving that to the service."""
    if network.get("port") or network.get("allocate_network"):
        return False
    return any(network.get(key) for key in (*MANAGED_PORT_KEYS, "floating_ip"))


@dataclass(frozen=True, slots=True)
class ServerNetworks:
    """``calls`` are about ports, ``mark`` is their description, ``name`` what their
    names begin with."""

    port_calls: RestResourceClient
    arguments: ArgumentBuilder
    port_name_prefix: str
    ownership_mark: str
    security_groups: Sequence[str] = ()

    def build_nics(self, networks: Sequence[NetworkEntry]) -> Json:
        """What a create asks the compute service for; ports of ours are made."""
        for network in networks:
            if network.get("allocate_network"):
                return network["allocate_network"]
        own = self._own() if any(has_managed_port(network) for network in networks) else {}
        return [self._nic(network, number, own) for number, network in enumerate(networks)]

    def build_attachment(self, network: NetworkEntry, number: int) -> dict[str, Json]:
        """What an attach asks for."""
        nic = self._nic(network, number, self._own())
        if "port" in nic:
            return {"port_id": nic["port"]}
        found: dict[str, Json] = {"net_id": nic["uuid"]}
        if nic.get("fixed_ip"):
            found["fixed_ips"] = [{"ip_address": nic["fixed_ip"]}]
        return found

    def delete_managed_ports(self, names: frozenset[str] | None = None) -> None:
        """Our ports, or those of these names."""
        for name, port in self._own().items():
            if names is None or name in names:
                self.port_calls.delete(port["id"])

    def port_name(self, number: int) -> str:
        return f"{self.port_name_prefix}-port-{number}"

    def matches(self, network: NetworkEntry, number: int, interface: Mapping[str, Json]) -> bool:
        """Whether an interface is this entry's."""
        if network.get("port"):
            return str(interface["port_id"]) == self._id("port", network["port"])
        if has_managed_port(network):
            port = self._own().get(self.port_name(number))
            return port is not None and port["id"] == interface["port_id"]
        if interface["net_id"] != self._id("network", network["network"]):
            return False
        fixed = network.get("fixed_ip")
        addresses = [ip["ip_address"] for ip in interface.get("fixed_ips") or ()]
        return not fixed or fixed in addresses

    # -- below

    def _own(self) -> dict[str, dict[str, Json]]:
        """Ports of ours that there are, by name."""
        return {
            port["name"]: port for port in self.port_calls.list(description=self.ownership_mark)
        }

    def _nic(
        self, network: NetworkEntry, number: int, own: Mapping[str, Mapping[str, Json]]
    ) -> dict[str, Json]:
        tag = {"tag": network["tag"]} if network.get("tag") else {}
        if network.get("port"):
            port_id = self._id("port", network["port"])
            self._associate(network, port_id)
            return {"port": port_id, **tag}
        if not has_managed_port(network):
            nic = {"uuid": self._id("network", network["network"]), **tag}
            if network.get("fixed_ip"):
                nic["fixed_ip"] = network["fixed_ip"]
            return nic
        name = self.port_name(number)
        port = own.get(name) or self.port_calls.create(self._port(network, name))
        self._associate(network, port["id"])
        return {"port": port["id"], **tag}

    def _port(self, network: NetworkEntry, name: str) -> dict[str, Json]:
        extra = dict(network.get("port_extra_properties") or {})
        port: dict[str, Json] = {"name": name, "description": self.ownership_mark}
        address: dict[str, Json] = {}
        if network.get("subnet"):
            address["subnet_id"] = self._id("subnet", network["subnet"])
        if network.get("fixed_ip"):
            address["ip_address"] = network["fixed_ip"]
        if address:
            port["fixed_ips"] = [address]
        if self.security_groups:
            port["security_groups"] = list(self.security_groups)
        port["network_id"] = self._network(network, address)
        if extra.pop("no_fixed_ips", False):
            port["fixed_ips"] = []
        if extra.pop("qos_policy", None):
            policy = network["port_extra_properties"]["qos_policy"]
            port["qos_policy_id"] = self._id("qos_policy", policy)
        more = extra.pop("value_specs", None) or {}
        return {**port, **extra, **more}

    def _network(self, network: NetworkEntry, address: Mapping[str, Json]) -> str:
        if network.get("network"):
            return self._id("network", network["network"])
        body = self.port_calls.send("GET", f"/subnets/{address['subnet_id']}").body
        return str(body["subnet"]["network_id"])

    def _associate(self, network: NetworkEntry, port_id: str) -> None:
        if network.get("floating_ip"):
            ip = self._id("floatingip", network["floating_ip"])
            body = {"floatingip": {"port_id": port_id}}
            self.port_calls.send("PUT", f"/floatingips/{ip}", body)

    def _id(self, noun: str, value: str) -> str:
        return self.arguments.resolve_id(f"neutron.{noun}", value, f"networks.{noun}")


def ignore_not_found(call: Any) -> None:
    """Does what may have been done already."""
    try:
        call()
    except ResourceGone:
        return
