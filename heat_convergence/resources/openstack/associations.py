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
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.protocol.resource_type import ResourceContext, VerbResult

Json = Any


class Association(DeclarativeType):
    """``resolve_arguments`` gives what is joined, ids all; ``association_id`` its physical id."""

    @abstractmethod
    def resolve_arguments(
        self, view: ResourceContext, properties: Mapping[str, Json]
    ) -> dict[str, Json]: ...

    @abstractmethod
    def association_id(self, parts: Mapping[str, Json]) -> str: ...

    @abstractmethod
    def associate(self, view: ResourceContext, parts: Mapping[str, Json]) -> None: ...

    @abstractmethod
    def disassociate(self, view: ResourceContext, parts: Mapping[str, Json]) -> None: ...

    @abstractmethod
    def read_association(
        self, view: ResourceContext, parts: Mapping[str, Json]
    ) -> Mapping[str, Json] | None:
        """What the service tells of the join; None: there is none."""

    def create(self, view: ResourceContext) -> VerbResult:
        parts = self.resolve_arguments(view, view.properties)
        if self.read_association(view, parts) is None:
            self.associate(view, parts)
        return self._there(view, parts)

    def resume_create(self, view: ResourceContext) -> VerbResult:
        return self.create(view)

    def update(
        self, view: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        before, parts = (
            self.resolve_arguments(view, view.properties),
            self.resolve_arguments(view, after),
        )
        if before != parts:
            self._part(view, before)
            self.associate(view, parts)
        return self._there(view, parts)

    def delete(self, view: ResourceContext) -> VerbResult:
        if view.physical_id is not None:
            self._part(view, self.resolve_arguments(view, view.properties))
        return VerbResult(ObservedState.ABSENT)

    def observe(self, view: ResourceContext) -> VerbResult:
        if view.physical_id is None:
            return VerbResult(ObservedState.ABSENT)
        parts = self.resolve_arguments(view, view.properties)
        try:
            shown = self.read_association(view, parts)
        except ResourceGone:
            shown = None
        if shown is None:
            return VerbResult(ObservedState.ABSENT, reason="the two are not joined")
        if view.action is Action.DELETE:
            return VerbResult(ObservedState.BUSY, physical_id=view.physical_id)
        return VerbResult(ObservedState.READY, view.physical_id, {"show": dict(shown)})

    def observe_many(self, views: Sequence[ResourceContext]) -> Mapping[str, VerbResult]:
        looks = {}
        for view in views:
            try:
                looks[view.resource_id] = self.observe(view)
            except Error as error:
                if error.retry is Retry.NEVER:
                    looks[view.resource_id] = VerbResult.from_error(error)
        return looks

    def find(self, view: ResourceContext) -> str | None:
        if not view.properties:
            return None  # nothing tells what was to be joined
        parts = self.resolve_arguments(view, view.properties)
        try:
            shown = self.read_association(view, parts)
        except ResourceGone:
            return None
        return None if shown is None else self.association_id(parts)

    def _part(self, view: ResourceContext, parts: Mapping[str, Json]) -> None:
        try:
            self.disassociate(view, parts)
        except ResourceGone:
            return

    def _there(self, view: ResourceContext, parts: Mapping[str, Json]) -> VerbResult:
        return VerbResult(ObservedState.READY, self.association_id(parts), {"show": dict(parts)})


class RouterInterface(Association):
    """Joins a router to a subnet or to a port."""

    def resolve_arguments(
        self, view: ResourceContext, properties: Mapping[str, Json]
    ) -> dict[str, Json]:
        arguments = self.argument_builder(view)
        parts = {
            "router_id": arguments.resolve_id("neutron.router", properties["router"], "router")
        }
        for name in ("port", "subnet"):
            value = properties.get(name)
            if value:
                key = f"{name}_id"
                return {**parts, key: arguments.resolve_id(f"neutron.{name}", value, name)}
        return parts

    def association_id(self, parts: Mapping[str, Json]) -> str:
        key = _joined_by(parts)
        return f"{parts['router_id']}:{key}={parts[key]}"

    def associate(self, view: ResourceContext, parts: Mapping[str, Json]) -> None:
        self._send(view, parts, "add_router_interface")

    def disassociate(self, view: ResourceContext, parts: Mapping[str, Json]) -> None:
        self._send(view, parts, "remove_router_interface")

    def read_association(
        self, view: ResourceContext, parts: Mapping[str, Json]
    ) -> Mapping[str, Json] | None:
        ports = self.client_for(view, "neutron.port")
        router_id = parts["router_id"]
        if "port_id" in parts:
            port = ports.get(parts["port_id"])
            return port if port.get("device_id") == router_id else None
        joined = ports.list(device_id=router_id, fixed_ips=f"subnet_id={parts['subnet_id']}")
        # A gateway port may be on the same subnet.
        kinds = ("network:router_interface", "network:ha_router_replicated_interface")
        return next(
            (port for port in joined if str(port.get("device_owner")).startswith(kinds)), None
        )

    def validate_property_names(self, given: frozenset[str]) -> None:
        if not given & {"subnet", "port"}:
            raise PropertyUnspecifiedError(
                "At least one of the following properties must be specified: subnet, port."
            )

    def _send(self, view: ResourceContext, parts: Mapping[str, Json], verb: str) -> None:
        calls, key = self.client_for(view, "neutron.router"), _joined_by(parts)
        calls.send("PUT", calls.path(parts["router_id"], verb), {key: parts[key]})


def _joined_by(parts: Mapping[str, Json]) -> str:
    return "port_id" if "port_id" in parts else "subnet_id"


class FloatingIPAssociation(Association):
    def resolve_arguments(
        self, view: ResourceContext, properties: Mapping[str, Json]
    ) -> dict[str, Json]:
        arguments = self.argument_builder(view)
        ip = properties["floatingip_id"]
        return {
            "floatingip_id": arguments.resolve_id("neutron.floatingip", ip, "floatingip_id"),
            "port_id": arguments.resolve_id("neutron.port", properties["port_id"], "port_id"),
            "fixed_ip_address": properties.get("fixed_ip_address"),
        }

    def association_id(self, parts: Mapping[str, Json]) -> str:
        return f"{parts['floatingip_id']}:{parts['port_id']}"

    def associate(self, view: ResourceContext, parts: Mapping[str, Json]) -> None:
        arguments = {"port_id": parts["port_id"]}
        if parts["fixed_ip_address"]:
            arguments["fixed_ip_address"] = parts["fixed_ip_address"]
        self.client(view).update(parts["floatingip_id"], arguments)

    def disassociate(self, view: ResourceContext, parts: Mapping[str, Json]) -> None:
        # What another has joined it to meanwhile stays.
        if self.read_association(view, parts) is not None:
            self.client(view).update(parts["floatingip_id"], {"port_id": None})

    def read_association(
        self, view: ResourceContext, parts: Mapping[str, Json]
    ) -> Mapping[str, Json] | None:
        body = self.client(view).get(parts["floatingip_id"])
        return body if body.get("port_id") == parts["port_id"] else None


class RouterGateway(Association):
    """Joins a router to an outside network."""

    def resolve_arguments(
        self, view: ResourceContext, properties: Mapping[str, Json]
    ) -> dict[str, Json]:
        arguments = self.argument_builder(view)
        router, network = properties["router_id"], properties["network"]
        return {
            "router_id": arguments.resolve_id("neutron.router", router, "router_id"),
            "network_id": arguments.resolve_id("neutron.network", network, "network"),
        }

    def association_id(self, parts: Mapping[str, Json]) -> str:
        return f"{parts['router_id']}:{parts['network_id']}"

    def associate(self, view: ResourceContext, parts: Mapping[str, Json]) -> None:
        gateway = {"network_id": parts["network_id"]}
        self.client(view).update(parts["router_id"], {"external_gateway_info": gateway})

    def disassociate(self, view: ResourceContext, parts: Mapping[str, Json]) -> None:
        if self.read_association(view, parts) is not None:
            self.client(view).update(parts["router_id"], {"external_gateway_info": {}})

    def read_association(
        self, view: ResourceContext, parts: Mapping[str, Json]
    ) -> Mapping[str, Json] | None:
        body = self.client(view).get(parts["router_id"])
        there = (body.get("external_gateway_info") or {}).get("network_id")
        return body if there == parts["network_id"] else None

    def validate_property_names(self, given: frozenset[str]) -> None:
        if "network" not in given:
            raise PropertyUnspecifiedError(
                "At least one of the following properties must be specified: network, network_id."
            )


class ExtraRouteSet(Association):
    """Routes of a router beside those that others have set."""

    def resolve_arguments(
        self, view: ResourceContext, properties: Mapping[str, Json]
    ) -> dict[str, Json]:
        router_id = self.argument_builder(view).resolve_id(
            "neutron.router", properties["router"], "router"
        )
        routes = [
            {"destination": route["destination"], "nexthop": route["nexthop"]}
            for route in properties.get("routes") or ()
        ]
        return {"router_id": router_id, "routes": routes}

    def association_id(self, parts: Mapping[str, Json]) -> str:
        return str(parts["router_id"])

    def associate(self, view: ResourceContext, parts: Mapping[str, Json]) -> None:
        self._send(view, parts, "add_extraroutes")

    def disassociate(self, view: ResourceContext, parts: Mapping[str, Json]) -> None:
        self._send(view, parts, "remove_extraroutes")

    def read_association(
        self, view: ResourceContext, parts: Mapping[str, Json]
    ) -> Mapping[str, Json] | None:
        there = self.client(view).get(parts["router_id"]).get("routes") or []
        return parts if all(route in there for route in parts["routes"]) else None

    def delete(self, view: ResourceContext) -> VerbResult:
        return super().delete(replace(view, action=Action.DELETE))

    def _send(self, view: ResourceContext, parts: Mapping[str, Json], verb: str) -> None:
        if parts["routes"]:
            calls = self.client(view)
            body = {"router": {"routes": parts["routes"]}}
            calls.send("PUT", calls.path(parts["router_id"], verb), body)


class ExtraRoute(ExtraRouteSet):
    """One route."""

    def resolve_arguments(
        self, view: ResourceContext, properties: Mapping[str, Json]
    ) -> dict[str, Json]:
        route = {name: properties[name] for name in ("destination", "nexthop")}
        return super().resolve_arguments(
            view, {"router": properties["router_id"], "routes": [route]}
        )

    def association_id(self, parts: Mapping[str, Json]) -> str:
        (route,) = parts["routes"]
        return f"{parts['router_id']}:{route['destination']}:{route['nexthop']}"
