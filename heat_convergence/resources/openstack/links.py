"""Types that join two things and have no id of their own.

``RouterInterface``, ``FloatingIPAssociation``, ``ExtraRouteSet``: what they make is a
fact about something else, so that making it again changes nothing and finding it means
looking whether it is so.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from heat_convergence.common.errors import (
    Error,
    PropertyUnspecifiedError,
    ResourceGone,
    Retry,
)
from heat_convergence.convergence.model import Action, Observed
from heat_convergence.resources.driver.declared import DeclaredType
from heat_convergence.resources.plugin import Look, View

Json = Any


class Link(DeclaredType):
    """``parts_of`` gives what is joined, ids all; ``link_id`` its physical id."""

    @abstractmethod
    def parts_of(self, view: View, properties: Mapping[str, Json]) -> dict[str, Json]: ...

    @abstractmethod
    def link_id(self, parts: Mapping[str, Json]) -> str: ...

    @abstractmethod
    def join(self, view: View, parts: Mapping[str, Json]) -> None: ...

    @abstractmethod
    def part(self, view: View, parts: Mapping[str, Json]) -> None: ...

    @abstractmethod
    def shown(self, view: View, parts: Mapping[str, Json]) -> Mapping[str, Json] | None:
        """What the service tells of the join; None: there is none."""

    def create(self, view: View) -> Look:
        parts = self.parts_of(view, view.properties)
        if self.shown(view, parts) is None:
            self.join(view, parts)
        return self._there(view, parts)

    def found(self, view: View) -> Look:
        return self.create(view)

    def update(self, view: View, after: Mapping[str, Json], changed: frozenset[str]) -> Look:
        before, parts = self.parts_of(view, view.properties), self.parts_of(view, after)
        if before != parts:
            self._part(view, before)
            self.join(view, parts)
        return self._there(view, parts)

    def delete(self, view: View) -> Look:
        if view.physical_id is not None:
            self._part(view, self.parts_of(view, view.properties))
        return Look(Observed.ABSENT)

    def observe(self, view: View) -> Look:
        if view.physical_id is None:
            return Look(Observed.ABSENT)
        parts = self.parts_of(view, view.properties)
        try:
            shown = self.shown(view, parts)
        except ResourceGone:
            shown = None
        if shown is None:
            return Look(Observed.ABSENT, reason="the two are not joined")
        if view.action is Action.DELETE:
            return Look(Observed.BUSY, physical_id=view.physical_id)
        return Look(Observed.READY, view.physical_id, {"show": dict(shown)})

    def observe_many(self, views: Sequence[View]) -> Mapping[str, Look]:
        looks = {}
        for view in views:
            try:
                looks[view.resource_id] = self.observe(view)
            except Error as error:
                if error.retry is Retry.NEVER:
                    looks[view.resource_id] = Look.failed(error)
        return looks

    def find(self, view: View) -> str | None:
        if not view.properties:
            return None  # nothing tells what was to be joined
        parts = self.parts_of(view, view.properties)
        try:
            shown = self.shown(view, parts)
        except ResourceGone:
            return None
        return None if shown is None else self.link_id(parts)

    def _part(self, view: View, parts: Mapping[str, Json]) -> None:
        try:
            self.part(view, parts)
        except ResourceGone:
            return

    def _there(self, view: View, parts: Mapping[str, Json]) -> Look:
        return Look(Observed.READY, self.link_id(parts), {"show": dict(parts)})


class RouterInterface(Link):
    """Joins a router to a subnet or to a port."""

    def parts_of(self, view: View, properties: Mapping[str, Json]) -> dict[str, Json]:
        arguments = self.arguments(view)
        parts = {"router_id": arguments.value("neutron.router", properties["router"], "router")}
        for name in ("port", "subnet"):
            value = properties.get(name)
            if value:
                key = f"{name}_id"
                return {**parts, key: arguments.value(f"neutron.{name}", value, name)}
        return parts

    def link_id(self, parts: Mapping[str, Json]) -> str:
        key = _joined_by(parts)
        return f"{parts['router_id']}:{key}={parts[key]}"

    def join(self, view: View, parts: Mapping[str, Json]) -> None:
        self._send(view, parts, "add_router_interface")

    def part(self, view: View, parts: Mapping[str, Json]) -> None:
        self._send(view, parts, "remove_router_interface")

    def shown(self, view: View, parts: Mapping[str, Json]) -> Mapping[str, Json] | None:
        ports = self.others(view, "neutron.port")
        router_id = parts["router_id"]
        if "port_id" in parts:
            port = ports.get(parts["port_id"])
            return port if port.get("device_id") == router_id else None
        joined = ports.list(
            device_id=router_id, fixed_ips=f"subnet_id={parts['subnet_id']}"
        )
        # A gateway port may be on the same subnet.
        kinds = ("network:router_interface", "network:ha_router_replicated_interface")
        return next(
            (port for port in joined if str(port.get("device_owner")).startswith(kinds)), None
        )

    def validate_names(self, given: frozenset[str]) -> None:
        if not given & {"subnet", "port"}:
            raise PropertyUnspecifiedError(
                "At least one of the following properties must be specified: subnet, port."
            )

    def _send(self, view: View, parts: Mapping[str, Json], verb: str) -> None:
        calls, key = self.others(view, "neutron.router"), _joined_by(parts)
        calls.send("PUT", calls.path(parts["router_id"], verb), {key: parts[key]})


def _joined_by(parts: Mapping[str, Json]) -> str:
    return "port_id" if "port_id" in parts else "subnet_id"


class FloatingIPAssociation(Link):
    def parts_of(self, view: View, properties: Mapping[str, Json]) -> dict[str, Json]:
        arguments = self.arguments(view)
        ip = properties["floatingip_id"]
        return {
            "floatingip_id": arguments.value("neutron.floatingip", ip, "floatingip_id"),
            "port_id": arguments.value("neutron.port", properties["port_id"], "port_id"),
            "fixed_ip_address": properties.get("fixed_ip_address"),
        }

    def link_id(self, parts: Mapping[str, Json]) -> str:
        return f"{parts['floatingip_id']}:{parts['port_id']}"

    def join(self, view: View, parts: Mapping[str, Json]) -> None:
        arguments = {"port_id": parts["port_id"]}
        if parts["fixed_ip_address"]:
            arguments["fixed_ip_address"] = parts["fixed_ip_address"]
        self.calls(view).update(parts["floatingip_id"], arguments)

    def part(self, view: View, parts: Mapping[str, Json]) -> None:
        # What another has joined it to meanwhile stays.
        if self.shown(view, parts) is not None:
            self.calls(view).update(parts["floatingip_id"], {"port_id": None})

    def shown(self, view: View, parts: Mapping[str, Json]) -> Mapping[str, Json] | None:
        body = self.calls(view).get(parts["floatingip_id"])
        return body if body.get("port_id") == parts["port_id"] else None


class RouterGateway(Link):
    """Joins a router to an outside network."""

    def parts_of(self, view: View, properties: Mapping[str, Json]) -> dict[str, Json]:
        arguments = self.arguments(view)
        router, network = properties["router_id"], properties["network"]
        return {
            "router_id": arguments.value("neutron.router", router, "router_id"),
            "network_id": arguments.value("neutron.network", network, "network"),
        }

    def link_id(self, parts: Mapping[str, Json]) -> str:
        return f"{parts['router_id']}:{parts['network_id']}"

    def join(self, view: View, parts: Mapping[str, Json]) -> None:
        gateway = {"network_id": parts["network_id"]}
        self.calls(view).update(parts["router_id"], {"external_gateway_info": gateway})

    def part(self, view: View, parts: Mapping[str, Json]) -> None:
        if self.shown(view, parts) is not None:
            self.calls(view).update(parts["router_id"], {"external_gateway_info": {}})

    def shown(self, view: View, parts: Mapping[str, Json]) -> Mapping[str, Json] | None:
        body = self.calls(view).get(parts["router_id"])
        there = (body.get("external_gateway_info") or {}).get("network_id")
        return body if there == parts["network_id"] else None

    def validate_names(self, given: frozenset[str]) -> None:
        if "network" not in given:
            raise PropertyUnspecifiedError(
                "At least one of the following properties must be specified:"
                " network, network_id."
            )


class ExtraRouteSet(Link):
    """Routes of a router beside those that others have set."""

    def parts_of(self, view: View, properties: Mapping[str, Json]) -> dict[str, Json]:
        router_id = self.arguments(view).value(
            "neutron.router", properties["router"], "router"
        )
        routes = [
            {"destination": route["destination"], "nexthop": route["nexthop"]}
            for route in properties.get("routes") or ()
        ]
        return {"router_id": router_id, "routes": routes}

    def link_id(self, parts: Mapping[str, Json]) -> str:
        return str(parts["router_id"])

    def join(self, view: View, parts: Mapping[str, Json]) -> None:
        self._send(view, parts, "add_extraroutes")

    def part(self, view: View, parts: Mapping[str, Json]) -> None:
        self._send(view, parts, "remove_extraroutes")

    def shown(self, view: View, parts: Mapping[str, Json]) -> Mapping[str, Json] | None:
        there = self.calls(view).get(parts["router_id"]).get("routes") or []
        return parts if all(route in there for route in parts["routes"]) else None

    def delete(self, view: View) -> Look:
        return super().delete(replace(view, action=Action.DELETE))

    def _send(self, view: View, parts: Mapping[str, Json], verb: str) -> None:
        if parts["routes"]:
            calls = self.calls(view)
            body = {"router": {"routes": parts["routes"]}}
            calls.send("PUT", calls.path(parts["router_id"], verb), body)


class ExtraRoute(ExtraRouteSet):
    """One route."""

    def parts_of(self, view: View, properties: Mapping[str, Json]) -> dict[str, Json]:
        route = {name: properties[name] for name in ("destination", "nexthop")}
        return super().parts_of(
            view, {"router": properties["router_id"], "routes": [route]}
        )

    def link_id(self, parts: Mapping[str, Json]) -> str:
        (route,) = parts["routes"]
        return f"{parts['router_id']}:{route['destination']}:{route['nexthop']}"
