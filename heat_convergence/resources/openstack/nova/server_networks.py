"""Networks of a server: those that Nova attaches by itself, and managed ports.

A managed port is created by this service, because Nova cannot create it as the template wants it.
Decides which networks need one, creates and deletes them, and compares networks with interfaces.
Managed ports carry the server's ownership mark, so that a lost create leaves none behind (RULE 4).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from heat_convergence.common.failures import ResourceGone
from heat_convergence.convergence.model.action import Action
from heat_convergence.resources.driver.arguments import ArgumentBuilder
from heat_convergence.resources.driver.resource_client import RestResourceClient

Json = Any
NetworkEntry = Mapping[str, Json]
MANAGED_PORTS = "own_ports"  # key in a server's data: ids of its managed ports
_NEXT_PORT_NUMBER = 1000  # more than the networks of a server
MANAGED_PORT_KEYS = ("subnet", "port_extra_properties")


def has_managed_port(network: NetworkEntry) -> bool:
    """Return whether this service creates the port of the network."""
    if network.get("port") or network.get("allocate_network"):
        return False
    return any(network.get(key) for key in (*MANAGED_PORT_KEYS, "floating_ip"))


def may_have_floating_addresses(action: Action, properties: Mapping[str, Json]) -> bool:
    """Return whether floating addresses may lead to the server's ports.

    None does when a server has just been created and Nova has created its ports with it.
    """
    networks = properties.get("networks") or ()
    return action is not Action.CREATE or any(
        network.get("port") or network.get("floating_ip") for network in networks
    )


@dataclass(frozen=True, slots=True)
class ServerNetworks:
    """The networks of one server, with what it takes to create their ports.

    Attributes:
        port_client: Calls about ports.
        arguments: Resolves names to ids.
        port_name_prefix: What the names of managed ports begin with.
        ownership_mark: The description of managed ports.
        security_groups: Ids of the managed ports' security groups.
    """

    port_client: RestResourceClient
    arguments: ArgumentBuilder
    port_name_prefix: str
    ownership_mark: str
    security_groups: Sequence[str] = ()

    def build_nics(self, networks: Sequence[NetworkEntry]) -> Json:
        """Create the managed ports; return the networks of Nova's create call."""
        for network in networks:
            if network.get("allocate_network"):
                return network["allocate_network"]
        managed_ports = (
            self._managed_ports() if any(has_managed_port(network) for network in networks) else {}
        )
        return [
            self._nic(network, number, managed_ports) for number, network in enumerate(networks)
        ]

    def build_attachment(
        self, network: NetworkEntry, number: int, in_use: Collection[str]
    ) -> dict[str, Json]:
        """Create the managed port, if any; return the body of Nova's attach call.

        Args:
            network: The network.
            number: Its index.
            in_use: Ids of ports that serve other networks.
        """
        ports = self._managed_ports()
        while ports.get(self.port_name(number), {}).get("id") in in_use:
            number += _NEXT_PORT_NUMBER
        nic = self._nic(network, number, ports)
        if "port" in nic:
            return {"port_id": nic["port"]}
        attachment: dict[str, Json] = {"net_id": nic["uuid"]}
        if nic.get("fixed_ip"):
            attachment["fixed_ips"] = [{"ip_address": nic["fixed_ip"]}]
        return attachment

    def delete_managed_ports(self) -> None:
        """Delete the managed ports."""
        for port in self._managed_ports().values():
            self.port_client.delete(port["id"])

    def delete_unused_ports(self, in_use: Collection[str]) -> list[str]:
        """Delete the managed ports that are not in use; return the ids of the others."""
        kept = []
        for name, port in self._managed_ports().items():
            if not name.startswith(self._port_names):
                continue
            if port["id"] in in_use:
                kept.append(str(port["id"]))
            else:
                self.port_client.delete(port["id"])
        return kept

    def port_name(self, number: int) -> str:
        """Return the name of the managed port of the network at this index."""
        return f"{self._port_names}{number}"

    @property
    def _port_names(self) -> str:
        return f"{self.port_name_prefix}-port-"

    def find_interface(
        self, network: NetworkEntry, number: int, interfaces: Sequence[Mapping[str, Json]]
    ) -> Mapping[str, Json] | None:
        """Return the interface, a body of Nova, that serves the network; None without one.

        The network's own managed port goes before others.
        """
        if network.get("port"):
            port_id = self._resolve_id("port", network["port"])
            return next((each for each in interfaces if each["port_id"] == port_id), None)
        own_ids = self._own_port_ids(number) if has_managed_port(network) else ()
        if network.get("port_extra_properties"):  # no other port has them
            return next((each for each in interfaces if each["port_id"] in own_ids), None)
        fitting = [each for each in interfaces if self._fits(network, each)]
        return min(fitting, key=lambda each: each["port_id"] not in own_ids, default=None)

    def _own_port_ids(self, number: int) -> frozenset[str]:
        numbers = {
            name.removeprefix(self._port_names): port
            for name, port in self._managed_ports().items()
        }
        return frozenset(
            str(port["id"])
            for text, port in numbers.items()
            if text.isdecimal() and int(text) % _NEXT_PORT_NUMBER == number
        )

    def _fits(self, network: NetworkEntry, interface: Mapping[str, Json]) -> bool:
        addresses = interface.get("fixed_ips") or ()
        if network.get("network"):
            network_id = self._resolve_id("network", network["network"])
            if interface["net_id"] != network_id:
                return False
        if network.get("subnet"):
            subnet_id = self._resolve_id("subnet", network["subnet"])
            if subnet_id not in [ip["subnet_id"] for ip in addresses]:
                return False
        fixed = network.get("fixed_ip")
        return not fixed or fixed in [ip["ip_address"] for ip in addresses]

    def _managed_ports(self) -> dict[str, dict[str, Json]]:
        """Return the bodies of existing managed ports by name."""
        return {
            port["name"]: port for port in self.port_client.list(description=self.ownership_mark)
        }

    def _nic(
        self, network: NetworkEntry, number: int, managed_ports: Mapping[str, Mapping[str, Json]]
    ) -> dict[str, Json]:
        tag = {"tag": network["tag"]} if network.get("tag") else {}
        if network.get("port"):
            port_id = self._resolve_id("port", network["port"])
            self._associate(network, port_id)
            return {"port": port_id, **tag}
        if not has_managed_port(network):
            nic = {"uuid": self._resolve_id("network", network["network"]), **tag}
            if network.get("fixed_ip"):
                nic["fixed_ip"] = network["fixed_ip"]
            return nic
        name = self.port_name(number)
        port = managed_ports.get(name) or self.port_client.create(
            self._port_arguments(network, name)
        )
        self._associate(network, port["id"])
        return {"port": port["id"], **tag}

    def _port_arguments(self, network: NetworkEntry, name: str) -> dict[str, Json]:
        extra = dict(network.get("port_extra_properties") or {})
        port: dict[str, Json] = {"name": name, "description": self.ownership_mark}
        address: dict[str, Json] = {}
        if network.get("subnet"):
            address["subnet_id"] = self._resolve_id("subnet", network["subnet"])
        if network.get("fixed_ip"):
            address["ip_address"] = network["fixed_ip"]
        if address:
            port["fixed_ips"] = [address]
        if self.security_groups:
            port["security_groups"] = list(self.security_groups)
        port["network_id"] = self._network_id(network, address)
        if extra.pop("no_fixed_ips", False):
            port["fixed_ips"] = []
        if extra.pop("qos_policy", None):
            policy = network["port_extra_properties"]["qos_policy"]
            port["qos_policy_id"] = self._resolve_id("qos_policy", policy)
        value_specs = extra.pop("value_specs", None) or {}
        return {**port, **extra, **value_specs}

    def _network_id(self, network: NetworkEntry, address: Mapping[str, Json]) -> str:
        if network.get("network"):
            return self._resolve_id("network", network["network"])
        body = self.port_client.send("GET", f"/subnets/{address['subnet_id']}").body
        return str(body["subnet"]["network_id"])

    def _associate(self, network: NetworkEntry, port_id: str) -> None:
        if network.get("floating_ip"):
            floating_ip_id = self._resolve_id("floatingip", network["floating_ip"])
            body = {"floatingip": {"port_id": port_id}}
            self.port_client.send("PUT", f"/floatingips/{floating_ip_id}", body)

    def _resolve_id(self, entity: str, value: str) -> str:
        return self.arguments.resolve_id(f"neutron.{entity}", value, f"networks.{entity}")


def ignore_not_found(call: Callable[[], object]) -> None:
    """Call ``call``; a missing resource is no error."""
    try:
        call()
    except ResourceGone:
        return
