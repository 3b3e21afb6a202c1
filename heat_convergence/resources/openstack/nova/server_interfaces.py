"""Interfaces of an existing server, brought to the networks that a template wants.

Decides which interfaces stay: a network that another one's port fits keeps that port, so that a
change from a network to its subnet moves no address.  Called by updates of a server, which repeat
a call that raises ``Conflict``: everything is read first, and what is done already is not repeated
(RULE 4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from heat_convergence.common.failures import Conflict
from heat_convergence.resources.driver.resource_client import RestResourceClient
from heat_convergence.resources.openstack.nova.server_networks import (
    NetworkEntry,
    ServerNetworks,
    ignore_not_found,
)

Json = Any
Interface = Mapping[str, Json]
_RETRY_AFTER_S = 1.0


@dataclass(frozen=True, slots=True)
class ServerInterfaces:
    """The interfaces of one server.

    Attributes:
        client: Calls about servers.
        server_id: The server.
        networks: The networks of the new properties.
    """

    client: RestResourceClient
    server_id: str
    networks: ServerNetworks

    def change(self, desired: Sequence[NetworkEntry]) -> list[str]:
        """Detach and attach interfaces until they match; return the ids of managed ports.

        Raises:
            Conflict: Nova has not finished a change yet; repeat the call.
        """
        attached = self._list()
        kept = self._assign(desired, attached)
        port_ids = {str(interface["port_id"]) for interface in kept.values()}
        self._detach([each for each in attached if each["port_id"] not in port_ids])
        # What is left of former networks must not serve a new one of the same number.
        self.networks.delete_unused_ports(port_ids)
        for number, network in enumerate(desired):
            if number not in kept:
                attachment = self.networks.build_attachment(network, number, port_ids)
                self.client.send("POST", self._path, {"interfaceAttachment": attachment})
        self._check_addresses()
        in_use = {str(interface["port_id"]) for interface in self._list()}
        return self.networks.delete_unused_ports(in_use)

    @property
    def _path(self) -> str:
        return self.client.path(self.server_id, "os-interface")

    def _list(self) -> list[Interface]:
        attachments: list[Interface] = self.client.send("GET", self._path).body[
            "interfaceAttachments"
        ]
        return attachments

    def _assign(
        self, desired: Sequence[NetworkEntry], attached: Sequence[Interface]
    ) -> dict[int, Interface]:
        """Return the interface of each network that has one, by the network's number."""
        free, assigned = list(attached), {}
        for number in sorted(range(len(desired)), key=lambda each: _freedom(desired[each])):
            fitting = self.networks.find_interface(desired[number], number, free)
            if fitting is not None:
                assigned[number] = fitting
                free.remove(fitting)
        return assigned

    def _detach(self, interfaces: Sequence[Interface]) -> None:
        for interface in interfaces:
            path = f"{self._path}/{interface['port_id']}"
            ignore_not_found(partial(self.client.send, "DELETE", path))
        if not interfaces:
            return
        detached_ids = {interface["port_id"] for interface in interfaces}
        if any(interface["port_id"] in detached_ids for interface in self._list()):
            raise Conflict(
                "the server's interfaces are being detached", retry_after_s=_RETRY_AFTER_S
            )

    def _check_addresses(self) -> None:
        """Raise ``Conflict`` while the server shows other addresses than its interfaces have."""
        networks = self.client.get(self.server_id).get("addresses") or {}
        shown = {
            item["addr"]
            for items in networks.values()
            for item in items
            if item.get("OS-EXT-IPS:type", "fixed") == "fixed"
        }
        expected = {ip["ip_address"] for each in self._list() for ip in each["fixed_ips"]}
        if shown != expected:
            raise Conflict(
                "the server does not show its new addresses yet", retry_after_s=_RETRY_AFTER_S
            )


def _freedom(network: NetworkEntry) -> int:
    """Return how many interfaces a network may fit, as a rank: the least choosy come last."""
    ranks = ("port", "port_extra_properties", "fixed_ip", "subnet")
    return next((rank for rank, key in enumerate(ranks) if network.get(key)), len(ranks))
