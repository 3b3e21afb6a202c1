"""Subresources of networks, routers, trunks and network gateways.

Called by the driver after a create, at an update and before a delete.  Each one compares the
desired values with the current ones, so that a repetition after a crash changes nothing (RULE 4).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from heat_convergence.common.failures import Conflict, ResourceGone
from heat_convergence.resources.driver.type_spec import PhysicalResource, SubResource
from heat_convergence.resources.openstack.subresources import delete_if_exists

Json = Any


class AgentScheduling(SubResource):
    """The agents that a network or router is scheduled to.

    Args:
        property_name: The list property with the ids of agents.
        path_segment: Where the service lists the agents, below the resource's path.
        agent_path_segment: Where the service lists the resources, below an agent's path.
        id_key: The body key of the resource's id.
    """

    def __init__(
        self, property_name: str, path_segment: str, agent_path_segment: str, id_key: str
    ) -> None:
        self.property_names = frozenset({property_name})
        self._property_name = property_name
        self._path_segment = path_segment
        self._agent_path_segment = agent_path_segment
        self._id_key = id_key

    def apply(
        self,
        physical: PhysicalResource,
        properties: Mapping[str, Json],
        before: Mapping[str, Json] | None,
    ) -> None:
        """Unschedule the resource from agents and schedule it to others, as desired."""
        path = physical.client.path(physical.path_id, self._path_segment)
        current = {item["id"] for item in physical.client.send("GET", path).body["agents"]}
        desired = set(properties.get(self._property_name) or ())
        for agent in sorted(current - desired):
            delete_if_exists(physical, f"{self._agent_path(agent)}/{physical.path_id}")
        for agent in sorted(desired - current):
            physical.client.send("POST", self._agent_path(agent), {self._id_key: physical.path_id})

    def _agent_path(self, agent: str) -> str:
        return f"/agents/{agent}/{self._agent_path_segment}"


class TrunkSubPorts(SubResource):
    """The subports of a trunk.

    Subports are removed before others are added, because these may reuse a segmentation id.
    """

    property_names = frozenset({"sub_ports"})

    def apply(
        self,
        physical: PhysicalResource,
        properties: Mapping[str, Json],
        before: Mapping[str, Json] | None,
    ) -> None:
        """Remove and add subports until the trunk has the desired ones."""
        current = {
            item["port_id"]: _sub_port(item, item["port_id"])
            for item in physical.client.get(physical.path_id).get("sub_ports") or ()
        }
        desired = {}
        for item in properties.get("sub_ports") or ():
            port_id = physical.id_lookup.resolve_id("neutron.port", item["port"])
            desired[port_id] = _sub_port(item, port_id)
        removed = [{"port_id": key} for key in sorted(current) if desired.get(key) != current[key]]
        added = [desired[key] for key in sorted(desired) if desired[key] != current.get(key)]
        for action, ports in (("remove_subports", removed), ("add_subports", added)):
            if ports:
                path = physical.client.path(physical.path_id, action)
                physical.client.send("PUT", path, {"sub_ports": ports})


class GatewayConnections(SubResource):
    """The networks that a network gateway connects to."""

    property_names = frozenset({"connections"})

    def apply(
        self,
        physical: PhysicalResource,
        properties: Mapping[str, Json],
        before: Mapping[str, Json] | None,
    ) -> None:
        """Disconnect and connect networks by the difference of the properties."""
        current = [] if before is None else self._connections(physical, before)
        desired = self._connections(physical, properties)
        for action, items in (
            ("disconnect_network", [item for item in current if item not in desired]),
            ("connect_network", [item for item in desired if item not in current]),
        ):
            for item in items:
                with suppress(Conflict, ResourceGone):  # it is disconnected or connected already
                    physical.client.send(
                        "PUT", physical.client.path(physical.path_id, action), item
                    )

    def remove(self, physical: PhysicalResource, properties: Mapping[str, Json]) -> None:
        """Disconnect all networks; Neutron deletes no gateway that is in use."""
        for item in self._connections(physical, properties):
            try:
                path = physical.client.path(physical.path_id, "disconnect_network")
                physical.client.send("PUT", path, item)
            except ResourceGone:
                continue

    @staticmethod
    def _connections(
        physical: PhysicalResource, properties: Mapping[str, Json]
    ) -> list[dict[str, Json]]:
        return [
            {
                "network_id": physical.id_lookup.resolve_id("neutron.network", item["network"]),
                **{
                    key: item[key]
                    for key in ("segmentation_type", "segmentation_id")
                    if item.get(key) is not None
                },
            }
            for item in properties.get("connections") or ()
        ]


DHCP_AGENT_SCHEDULING = AgentScheduling(
    "dhcp_agent_ids", "dhcp-agents", "dhcp-networks", "network_id"
)
L3_AGENT_SCHEDULING = AgentScheduling("l3_agent_ids", "l3-agents", "l3-routers", "router_id")
TRUNK_SUB_PORTS = TrunkSubPorts()
GATEWAY_CONNECTIONS = GatewayConnections()


def _sub_port(item: Mapping[str, Json], port_id: str) -> dict[str, Json]:
    keys = ("segmentation_type", "segmentation_id")
    return {"port_id": port_id, **{key: item.get(key) for key in keys}}
