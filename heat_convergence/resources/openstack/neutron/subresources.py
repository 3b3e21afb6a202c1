"""Parts of things that services keep behind calls of their own.

Each sets the whole of what is wanted, whatever is there: after a crash the same call
is made again and changes nothing twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from heat_convergence.common.errors import Conflict, ResourceGone
from heat_convergence.resources.driver.type_spec import PhysicalResource, SubResource

Json = Any


class Tags(SubResource):
    """Neutron's and Nova's: the list replaces the one before."""

    property_names = frozenset({"tags"})

    def apply(
        self, made: PhysicalResource, wanted: Mapping[str, Json], before: Mapping[str, Json] | None
    ) -> None:
        tags = [str(tag) for tag in wanted.get("tags") or ()]
        made.client.send("PUT", made.client.path(made.path_id, "tags"), {"tags": tags})


class AgentScheduling(SubResource):
    """Networks and routers on agents: the difference to what was there is made."""

    def __init__(self, name: str, below: str, key: str, collection: str, id_key: str) -> None:
        self.property_names = frozenset({name})
        self._name = name
        self._below = below
        self._key = key
        self._collection = collection
        self._id_key = id_key

    def apply(
        self, made: PhysicalResource, wanted: Mapping[str, Json], before: Mapping[str, Json] | None
    ) -> None:
        listing = made.client.path(made.path_id, self._below)
        there = {item["id"] for item in made.client.send("GET", listing).body["agents"]}
        goal = set(wanted.get(self._name) or ())
        for agent in sorted(there - goal):
            delete_if_exists(made, f"{self._at(agent)}/{made.path_id}")
        for agent in sorted(goal - there):
            made.client.send("POST", self._at(agent), {self._id_key: made.path_id})

    def _at(self, agent: str) -> str:
        return f"/agents/{agent}/{self._collection}"


class TrunkSubPorts(SubResource):
    """A trunk's: those that go leave first, for a segment may be taken over."""

    property_names = frozenset({"sub_ports"})

    def apply(
        self, made: PhysicalResource, wanted: Mapping[str, Json], before: Mapping[str, Json] | None
    ) -> None:
        there = {
            item["port_id"]: _sub_port(item, item["port_id"])
            for item in made.client.get(made.path_id).get("sub_ports") or ()
        }
        goal = {}
        for item in wanted.get("sub_ports") or ():
            port_id = made.id_lookup.resolve_id("neutron.port", item["port"])
            goal[port_id] = _sub_port(item, port_id)
        leaving = [{"port_id": key} for key in sorted(there) if goal.get(key) != there[key]]
        coming = [goal[key] for key in sorted(goal) if goal[key] != there.get(key)]
        for verb, ports in (("remove_subports", leaving), ("add_subports", coming)):
            if ports:
                path = made.client.path(made.path_id, verb)
                made.client.send("PUT", path, {"sub_ports": ports})


class GatewayConnections(SubResource):
    """A network gateway's."""

    property_names = frozenset({"connections"})

    def apply(
        self, made: PhysicalResource, wanted: Mapping[str, Json], before: Mapping[str, Json] | None
    ) -> None:
        there = [] if before is None else self._of(made, before)
        goal = self._of(made, wanted)
        for verb, items in (
            ("disconnect_network", [item for item in there if item not in goal]),
            ("connect_network", [item for item in goal if item not in there]),
        ):
            for item in items:
                with suppress(Conflict, ResourceGone):  # it is so already
                    made.client.send("PUT", made.client.path(made.path_id, verb), item)

    def remove(self, made: PhysicalResource, wanted: Mapping[str, Json]) -> None:
        for item in self._of(made, wanted):
            try:
                path = made.client.path(made.path_id, "disconnect_network")
                made.client.send("PUT", path, item)
            except ResourceGone:
                continue

    @staticmethod
    def _of(made: PhysicalResource, properties: Mapping[str, Json]) -> list[dict[str, Json]]:
        return [
            {
                "network_id": made.id_lookup.resolve_id("neutron.network", item["network"]),
                **{
                    key: item[key]
                    for key in ("segmentation_type", "segmentation_id")
                    if item.get(key) is not None
                },
            }
            for item in properties.get("connections") or ()
        ]


DHCP_AGENT_SCHEDULING = AgentScheduling(
    "dhcp_agent_ids", "dhcp-agents", "agents", "dhcp-networks", "network_id"
)
L3_AGENT_SCHEDULING = AgentScheduling(
    "l3_agent_ids", "l3-agents", "agents", "l3-routers", "router_id"
)
TAGS = Tags()
TRUNK_SUB_PORTS = TrunkSubPorts()
GATEWAY_CONNECTIONS = GatewayConnections()


def _sub_port(item: Mapping[str, Json], port_id: str) -> dict[str, Json]:
    keys = ("segmentation_type", "segmentation_id")
    return {"port_id": port_id, **{key: item.get(key) for key in keys}}


def delete_if_exists(made: PhysicalResource, path: str) -> None:
    """What is not there any more is deleted."""
    try:
        made.client.send("DELETE", path)
    except ResourceGone:
        return
