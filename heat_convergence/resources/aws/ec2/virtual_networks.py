"""Virtual networks, their subnets and route tables.

Decides which routers accompany the network service's types whose verbs they have. A lost create
is completed: what is connected already is left as it is (RULE 4).

Source: docs/reference/aws-types.rst.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from heat_convergence.common.failures import ResourceGone
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.aws.ec2.routers import (
    VpcRouters,
    gateway_of,
    route_table_tags,
)
from heat_convergence.resources.aws.translated_type import TranslatedType
from heat_convergence.resources.driver import poll_interval
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult

Json = Any
_VPC = "VpcId"
_READY_STATES, _FAILED_STATES = ("ACTIVE", "DOWN"), ("ERROR", "DEGRADED")


class VPC(TranslatedType):
    """A network, and a router of the same name."""

    name = "AWS::EC2::VPC"
    target = "OS::Neutron::Net"
    schema_group = "vpc"

    def translate(self, properties: Mapping[str, Json], project_id: str) -> dict[str, Json]:
        """Return no property: a network has no addresses of its own."""
        return {}

    def create(self, context: ResourceContext) -> VerbResult:
        """Create the network, then the router."""
        return self._with_router(context, super().create(context))

    def resume_create(self, context: ResourceContext) -> VerbResult:
        """Create the router unless there is one."""
        return self._with_router(context, super().resume_create(context))

    def _with_router(self, context: ResourceContext, result: VerbResult) -> VerbResult:
        if result.observed not in (ObservedState.READY, ObservedState.BUSY):
            return result
        if not VpcRouters(self.delegate, context).named(context.physical_name):
            name = {"name": context.physical_name}
            self.delegate.client_for(context, "neutron.router").create(name)
        return self._while_building(context, result)

    def observe_many(self, contexts: Sequence[ResourceContext]) -> Mapping[str, VerbResult]:
        """Observe the networks and, of those being created or checked, the routers."""
        results = super().observe_many(contexts)
        waiting = {each.resource_id: each for each in contexts if each.action in _WITH_ROUTER}
        return {
            key: self._while_building(waiting[key], result) if key in waiting else result
            for key, result in results.items()
        }

    def observe(self, context: ResourceContext) -> VerbResult:
        """Observe the network and, if it is being created or checked, the router."""
        result = super().observe(context)
        return self._while_building(context, result) if context.action in _WITH_ROUTER else result

    def _while_building(self, context: ResourceContext, result: VerbResult) -> VerbResult:
        """Return the state of both, from that of the network."""
        if result.observed is not ObservedState.READY:
            return result
        routers = VpcRouters(self.delegate, context)
        router = routers.of_network(result.physical_id or context.physical_id or "")
        if router is None:
            return VerbResult(ObservedState.ABSENT, reason="the router does not exist")
        status = str(router.get("status", "ACTIVE")).upper()
        if status in _FAILED_STATES:
            reason = f"Went to status {status} due to the router"
            return replace(result, observed=ObservedState.FAILED, reason=reason)
        if status in _READY_STATES:
            return result
        wait_s = poll_interval.next_poll_s(context.started_at, context.now)
        return replace(result, observed=ObservedState.BUSY, poll_after_s=wait_s)

    def check(self, context: ResourceContext) -> VerbResult | None:
        """Check the network."""
        result = super().check(context)
        return None if result is None else self._while_building(context, result)

    def delete(self, context: ResourceContext) -> VerbResult:
        """Delete the router, then the network."""
        if context.physical_id is not None:
            client = self.delegate.client_for(context, "neutron.router")
            for router in VpcRouters(self.delegate, context).named(self._name(context)):
                client.delete(str(router["id"]))
        return super().delete(context)

    def _name(self, context: ResourceContext) -> str:
        """Return the name of the network; the one that it got, if it is gone."""
        client = self.delegate.client_for(context, "neutron.network")
        try:
            return str(client.get(context.physical_id or "").get("name"))
        except ResourceGone:
            return context.physical_name


_WITH_ROUTER = frozenset({Action.CREATE, Action.CHECK})


class Subnet(TranslatedType):
    """A subnet with an interface of the network's router."""

    name = "AWS::EC2::Subnet"
    target = "OS::Neutron::Subnet"
    schema_group = "vpc"

    def translate(self, properties: Mapping[str, Json], project_id: str) -> dict[str, Json]:
        """Return the properties of the subnet."""
        return {"network": properties[_VPC], "cidr": properties["CidrBlock"], "ip_version": 4}

    def create(self, context: ResourceContext) -> VerbResult:
        """Create the subnet, then the interface."""
        return self._connected(context, super().create(context))

    def resume_create(self, context: ResourceContext) -> VerbResult:
        """Add the interface unless there is one."""
        return self._connected(context, super().resume_create(context))

    def _connected(self, context: ResourceContext, result: VerbResult) -> VerbResult:
        routers, subnet_id = VpcRouters(self.delegate, context), result.physical_id
        router = routers.of_network(str(context.properties[_VPC]))
        if router is not None and subnet_id and not routers.is_connected(subnet_id):
            routers.connect(str(router["id"]), subnet_id)
        return result

    def delete(self, context: ResourceContext) -> VerbResult:
        """Remove the interface, then delete the subnet."""
        if context.physical_id is not None:
            routers = VpcRouters(self.delegate, context)
            router = routers.of_subnet(context.physical_id)
            if router is not None:
                routers.disconnect(str(router["id"]), context.physical_id)
        return super().delete(context)

    def attribute(self, context: ResourceContext, name: str) -> Json:
        """Return the property as ``AvailabilityZone``."""
        return context.properties.get(name) if name in self.schema.attributes else None


class Ec2RouteTable(TranslatedType):
    """A router, with the gateway that the network's other routers have."""

    name = "AWS::EC2::RouteTable"
    target = "OS::Neutron::Router"
    schema_group = "vpc"

    def translate(self, properties: Mapping[str, Json], project_id: str) -> dict[str, Json]:
        """Return no property: all of them are looked up."""
        return {}

    def look_up(self, context: ResourceContext, properties: Mapping[str, Json]) -> dict[str, Json]:
        """Return the tags by which a gateway's attachment finds it, and the gateway."""
        vpc_id, routers = str(properties[_VPC]), VpcRouters(self.delegate, context)
        own = routers.of_network(vpc_id)
        others = [*([] if own is None else [own]), *routers.of_route_tables(vpc_id)]
        found: dict[str, Json] = {"tags": route_table_tags(context, vpc_id)}
        gateways = (gateway_of(router) for router in others)
        gateway = next((each for each in gateways if each is not None), None)
        return (
            found if gateway is None else {**found, "external_gateway_info": {"network": gateway}}
        )

    def resume_create(self, context: ResourceContext) -> VerbResult:
        """Complete a lost create; the tags are set after it."""
        properties = {
            **self.translated(context).properties,
            **self.look_up(context, context.properties),
        }
        return self.delegate.resume_create(replace(context, properties=properties))
