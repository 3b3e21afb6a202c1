"""Parts of things that services keep behind calls of their own.

Each sets the whole of what is wanted, whatever is there: after a crash the same call
is made again and changes nothing twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from heat_convergence.common.errors import Conflict, ResourceGone
from heat_convergence.resources.driver.row import Made, Part

Json = Any


class Tags(Part):
    """Neutron's and Nova's: the list replaces the one before."""

    names = frozenset({"tags"})

    def put(
        self, made: Made, wanted: Mapping[str, Json], before: Mapping[str, Json] | None
    ) -> None:
        tags = [str(tag) for tag in wanted.get("tags") or ()]
        made.calls.send("PUT", made.calls.path(made.thing_id, "tags"), {"tags": tags})


class Agents(Part):
    """Networks and routers on agents: the difference to what was there is made."""

    def __init__(self, name: str, below: str, key: str, collection: str, id_key: str) -> None:
        self.names = frozenset({name})
        self._name = name
        self._below = below
        self._key = key
        self._collection = collection
        self._id_key = id_key

    def put(
        self, made: Made, wanted: Mapping[str, Json], before: Mapping[str, Json] | None
    ) -> None:
        listing = made.calls.path(made.thing_id, self._below)
        there = {item["id"] for item in made.calls.send("GET", listing).body["agents"]}
        goal = set(wanted.get(self._name) or ())
        for agent in sorted(there - goal):
            delete_if_there(made, f"{self._at(agent)}/{made.thing_id}")
        for agent in sorted(goal - there):
            made.calls.send("POST", self._at(agent), {self._id_key: made.thing_id})

    def _at(self, agent: str) -> str:
        return f"/agents/{agent}/{self._collection}"


class SubPorts(Part):
    """A trunk's: those that go leave first, for a segment may be taken over."""

    names = frozenset({"sub_ports"})

    def put(
        self, made: Made, wanted: Mapping[str, Json], before: Mapping[str, Json] | None
    ) -> None:
        there = {
            item["port_id"]: _sub_port(item, item["port_id"])
            for item in made.calls.get(made.thing_id).get("sub_ports") or ()
        }
        goal = {}
        for item in wanted.get("sub_ports") or ():
            port_id = made.lookups.id_of("neutron.port", item["port"])
            goal[port_id] = _sub_port(item, port_id)
        leaving = [{"port_id": key} for key in sorted(there) if goal.get(key) != there[key]]
        coming = [goal[key] for key in sorted(goal) if goal[key] != there.get(key)]
        for verb, ports in (("remove_subports", leaving), ("add_subports", coming)):
            if ports:
                path = made.calls.path(made.thing_id, verb)
                made.calls.send("PUT", path, {"sub_ports": ports})


class Connections(Part):
    """A network gateway's."""

    names = frozenset({"connections"})

    def put(
        self, made: Made, wanted: Mapping[str, Json], before: Mapping[str, Json] | None
    ) -> None:
        there = [] if before is None else self._of(made, before)
        goal = self._of(made, wanted)
        for verb, items in (
            ("disconnect_network", [item for item in there if item not in goal]),
            ("connect_network", [item for item in goal if item not in there]),
        ):
            for item in items:
                with suppress(Conflict, ResourceGone):  # it is so already
                    made.calls.send("PUT", made.calls.path(made.thing_id, verb), item)

    def remove(self, made: Made, wanted: Mapping[str, Json]) -> None:
        for item in self._of(made, wanted):
            try:
                path = made.calls.path(made.thing_id, "disconnect_network")
                made.calls.send("PUT", path, item)
            except ResourceGone:
                continue

    @staticmethod
    def _of(made: Made, properties: Mapping[str, Json]) -> list[dict[str, Json]]:
        return [
            {
                "network_id": made.lookups.id_of("neutron.network", item["network"]),
                **{key: item[key] for key in ("segmentation_type", "segmentation_id")
                   if item.get(key) is not None},
            }
            for item in properties.get("connections") or ()
        ]


DHCP_AGENTS = Agents(
    "dhcp_agent_ids", "dhcp-agents", "agents", "dhcp-networks", "network_id"
)
L3_AGENTS = Agents("l3_agent_ids", "l3-agents", "agents", "l3-routers", "router_id")
TAGS = Tags()
SUB_PORTS = SubPorts()
CONNECTIONS = Connections()


def _sub_port(item: Mapping[str, Json], port_id: str) -> dict[str, Json]:
    keys = ("segmentation_type", "segmentation_id")
    return {"port_id": port_id, **{key: item.get(key) for key in keys}}


def delete_if_there(made: Made, path: str) -> None:
    """What is not there any more is deleted."""
    try:
        made.calls.send("DELETE", path)
    except ResourceGone:
        return
