"""Router interfaces, gateways and extra routes, which have no id of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from heat_convergence.common.errors import PropertyUnspecifiedError
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.openstack.associations import Association
from heat_convergence.resources.openstack.listed_associations import ListedAssociation
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult

Json = Any
# A gateway port may be on the same subnet as an interface.
INTERFACE_OWNERS = ("network:router_interface", "network:ha_router_replicated_interface")


class RouterInterface(Association):
    """The interface of a router on a subnet or port."""

    @property
    def is_watched(self) -> bool:
        """True: the list of ports shows all interfaces."""
        return True

    @property
    def watched_path(self) -> str:
        """The path of the list of ports."""
        return "/ports"

    @property
    def project_list(self) -> None:
        """None: only the ports of known routers are listed."""
        return None

    def read_many(self, contexts: Sequence[ResourceContext]) -> Mapping[str, VerbResult]:
        """Read the ports of all routers by one list call."""
        arguments = {
            context.resource_id: self.resolve_arguments(context, context.properties)
            for context in contexts
        }
        routers = sorted({each["router_id"] for each in arguments.values()})
        ports = self.client_for(contexts[0], "neutron.port").list(device_id=routers)
        attached: dict[tuple[str, str], Mapping[str, Json]] = {}
        for port in ports:
            if str(port.get("device_owner")).startswith(INTERFACE_OWNERS):
                attached[port["device_id"], f"port_id={port['id']}"] = port
                for address in port.get("fixed_ips") or ():
                    attached[port["device_id"], f"subnet_id={address.get('subnet_id')}"] = port
        results = {}
        for context in contexts:
            router_id, target = _split_id(arguments[context.resource_id])
            shown = attached.get((router_id, target))
            state = ObservedState.ABSENT if shown is None else ObservedState.READY
            results[context.resource_id] = VerbResult(state, context.physical_id, {"show": shown})
        return results

    def resolve_arguments(
        self, context: ResourceContext, properties: Mapping[str, Json]
    ) -> dict[str, Json]:
        """Return ``router_id``, and ``port_id`` or ``subnet_id``."""
        builder = self.argument_builder(context)
        arguments = {
            "router_id": builder.resolve_id("neutron.router", properties["router"], "router")
        }
        for name in ("port", "subnet"):
            value = properties.get(name)
            if value:
                key = f"{name}_id"
                return {**arguments, key: builder.resolve_id(f"neutron.{name}", value, name)}
        return arguments

    def association_id(self, arguments: Mapping[str, Json]) -> str:
        """Return the router's id and the port's or subnet's."""
        return ":".join(_split_id(arguments))

    def associate(self, context: ResourceContext, arguments: Mapping[str, Json]) -> None:
        """Add the interface."""
        self._send(context, arguments, "add_router_interface")

    def disassociate(self, context: ResourceContext, arguments: Mapping[str, Json]) -> None:
        """Remove the interface."""
        self._send(context, arguments, "remove_router_interface")

    def read_association(
        self, context: ResourceContext, arguments: Mapping[str, Json]
    ) -> Mapping[str, Json] | None:
        """Return the body of the interface's port."""
        ports = self.client_for(context, "neutron.port")
        router_id = arguments["router_id"]
        if "port_id" in arguments:
            port = ports.get(arguments["port_id"])
            return port if port.get("device_id") == router_id else None
        ports_on_subnet = ports.list(
            device_id=router_id, fixed_ips=f"subnet_id={arguments['subnet_id']}"
        )
        return next(
            (
                port
                for port in ports_on_subnet
                if str(port.get("device_owner")).startswith(INTERFACE_OWNERS)
            ),
            None,
        )

    def validate_property_names(self, names: frozenset[str]) -> None:
        """Require ``subnet`` or ``port``."""
        if not names & {"subnet", "port"}:
            raise PropertyUnspecifiedError(
                "At least one of the following properties must be specified: subnet, port."
            )

    def _send(self, context: ResourceContext, arguments: Mapping[str, Json], action: str) -> None:
        client, key = self.client_for(context, "neutron.router"), _target_key(arguments)
        client.send("PUT", client.path(arguments["router_id"], action), {key: arguments[key]})


def _target_key(arguments: Mapping[str, Json]) -> str:
    return "port_id" if "port_id" in arguments else "subnet_id"


def _split_id(arguments: Mapping[str, Json]) -> tuple[str, str]:
    """Return the router's id, and the port's or subnet's with its key."""
    key = _target_key(arguments)
    return arguments["router_id"], f"{key}={arguments[key]}"


class RouterGateway(ListedAssociation):
    """The gateway of a router to an external network."""

    object_key = "router_id"

    def resolve_arguments(
        self, context: ResourceContext, properties: Mapping[str, Json]
    ) -> dict[str, Json]:
        """Return ``router_id`` and ``network_id``."""
        builder = self.argument_builder(context)
        router, network = properties["router_id"], properties["network"]
        return {
            "router_id": builder.resolve_id("neutron.router", router, "router_id"),
            "network_id": builder.resolve_id("neutron.network", network, "network"),
        }

    def association_id(self, arguments: Mapping[str, Json]) -> str:
        """Return the ids of the router and the network."""
        return f"{arguments['router_id']}:{arguments['network_id']}"

    def associate(self, context: ResourceContext, arguments: Mapping[str, Json]) -> None:
        """Set the router's external gateway."""
        gateway = {"network_id": arguments["network_id"]}
        self.client(context).update(arguments["router_id"], {"external_gateway_info": gateway})

    def disassociate(self, context: ResourceContext, arguments: Mapping[str, Json]) -> None:
        """Clear the router's external gateway, unless it has another one by now."""
        if self.read_association(context, arguments) is not None:
            self.client(context).update(arguments["router_id"], {"external_gateway_info": {}})

    def select_association(
        self, arguments: Mapping[str, Json], body: Mapping[str, Json]
    ) -> Mapping[str, Json] | None:
        """Return the router's body if it has this gateway."""
        current = (body.get("external_gateway_info") or {}).get("network_id")
        return body if current == arguments["network_id"] else None

    def validate_property_names(self, names: frozenset[str]) -> None:
        """Require ``network``."""
        if "network" not in names:
            raise PropertyUnspecifiedError(
                "At least one of the following properties must be specified: network, network_id."
            )


class ExtraRouteSet(ListedAssociation):
    """Routes of a router, beside those that other stacks or users have set."""

    object_key = "router_id"

    def resolve_arguments(
        self, context: ResourceContext, properties: Mapping[str, Json]
    ) -> dict[str, Json]:
        """Return ``router_id`` and ``routes``."""
        router_id = self.argument_builder(context).resolve_id(
            "neutron.router", properties["router"], "router"
        )
        routes = [
            {"destination": route["destination"], "nexthop": route["nexthop"]}
            for route in properties.get("routes") or ()
        ]
        return {"router_id": router_id, "routes": routes}

    def association_id(self, arguments: Mapping[str, Json]) -> str:
        """Return the router's id."""
        return str(arguments["router_id"])

    def associate(self, context: ResourceContext, arguments: Mapping[str, Json]) -> None:
        """Add the routes."""
        self._send(context, arguments, "add_extraroutes")

    def disassociate(self, context: ResourceContext, arguments: Mapping[str, Json]) -> None:
        """Remove the routes."""
        self._send(context, arguments, "remove_extraroutes")

    def select_association(
        self, arguments: Mapping[str, Json], body: Mapping[str, Json]
    ) -> Mapping[str, Json] | None:
        """Return the arguments if the router has all of the routes."""
        current = body.get("routes") or []
        return arguments if all(route in current for route in arguments["routes"]) else None

    def delete(self, context: ResourceContext) -> VerbResult:
        """Remove the routes."""
        return super().delete(replace(context, action=Action.DELETE))

    def _send(self, context: ResourceContext, arguments: Mapping[str, Json], action: str) -> None:
        if arguments["routes"]:
            client = self.client(context)
            body = {"router": {"routes": arguments["routes"]}}
            client.send("PUT", client.path(arguments["router_id"], action), body)


class ExtraRoute(ExtraRouteSet):
    """A single route of a router."""

    def resolve_arguments(
        self, context: ResourceContext, properties: Mapping[str, Json]
    ) -> dict[str, Json]:
        """Return the arguments of a set with one route."""
        route = {name: properties[name] for name in ("destination", "nexthop")}
        return super().resolve_arguments(
            context, {"router": properties["router_id"], "routes": [route]}
        )

    def association_id(self, arguments: Mapping[str, Json]) -> str:
        """Return the router's id, the destination and the next hop."""
        (route,) = arguments["routes"]
        return f"{arguments['router_id']}:{route['destination']}:{route['nexthop']}"
