"""Route tables of subnets, and the gateway of a virtual network.

Decides which routers a subnet is connected to, and which routers reach the external network. All
of it is a state of other resources: a repeated create changes nothing (RULE 4).

Source: docs/reference/aws-types.rst.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from heat_convergence.common.errors import NotFound
from heat_convergence.resources.aws.ec2.addresses import only_external_network
from heat_convergence.resources.aws.ec2.routers import VpcRouters
from heat_convergence.resources.aws.translated_type import TranslatedType
from heat_convergence.resources.aws.type_schemas import load_aws_schema
from heat_convergence.resources.builtin.local_type import LocalType
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.protocol.resource_type import ImplicitDependency
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult

Json = Any
_TABLE, _SUBNET, _VPC = "RouteTableId", "SubnetId", "VpcId"


class InternetGateway(LocalType):
    """A name for the external network, which ``AWS::EC2::VPCGatewayAttachment`` refers to."""

    name = "AWS::EC2::InternetGateway"
    schema = load_aws_schema("vpc", name)

    def find(self, context: ResourceContext) -> str | None:
        """Return the physical name, which every create uses as the physical id."""
        return context.physical_name


class SubnetRouteTableAssociation(TranslatedType):
    """The interface of a route table's router on a subnet, in place of the network's router."""

    name = "AWS::EC2::SubnetRouteTableAssociation"
    target = "OS::Neutron::RouterInterface"
    schema_group = "vpc"
    releases_identity = True  # a subnet has one gateway, which only one router can be

    def translate(self, properties: Mapping[str, Json], project_id: str) -> dict[str, Json]:
        """Return the properties of the interface."""
        return {"router": properties[_TABLE], "subnet": properties[_SUBNET]}

    def create(self, context: ResourceContext) -> VerbResult:
        """Move the subnet from the network's router, and from those of predecessors."""
        routers, subnet_id = VpcRouters(self.delegate, context), self._subnet_id(context)
        own = routers.of_subnet(subnet_id)
        former = [*_routers_of(context.predecessors), *([] if own is None else [str(own["id"])])]
        for router_id in former:
            routers.disconnect(router_id, subnet_id)
        return super().create(context)

    def resume_create(self, context: ResourceContext) -> VerbResult:
        """Create again, which does what is left to do."""
        return self.create(context)

    def find(self, context: ResourceContext) -> str | None:
        """Return the physical id, connected or not: a lost create may have done a part.

        None while the properties are not known, or refer to what does not exist.
        """
        if not {_TABLE, _SUBNET} <= context.properties.keys():
            return None
        try:
            return f"{self._router_id(context)}:subnet_id={self._subnet_id(context)}"
        except NotFound:
            return None

    def delete(self, context: ResourceContext) -> VerbResult:
        """Remove the interface, and connect the network's router unless another one is."""
        result = super().delete(context)
        if context.physical_id is None or _SUBNET not in context.properties:
            return result
        routers, subnet_id = VpcRouters(self.delegate, context), self._subnet_id(context)
        router = routers.of_subnet(subnet_id)
        if router is not None and not routers.is_connected(subnet_id):
            routers.connect(str(router["id"]), subnet_id)
        return result

    def reference_id(self, context: ResourceContext) -> Json:
        """Return the name of the resource."""
        return context.name

    def _subnet_id(self, context: ResourceContext) -> str:
        return self._resolve(context, "neutron.subnet", _SUBNET)

    def _router_id(self, context: ResourceContext) -> str:
        return self._resolve(context, "neutron.router", _TABLE)

    def _resolve(self, context: ResourceContext, entity: str, name: str) -> str:
        return self.delegate.id_lookup(context).resolve_id(entity, context.properties[name])


def _routers_of(physical_ids: Sequence[str]) -> list[str]:
    return [each.partition(":")[0] for each in physical_ids]


class VPCGatewayAttachment(LocalType):
    """The gateways of a virtual network's route tables to the only external network."""

    name = "AWS::EC2::VPCGatewayAttachment"
    local: ClassVar[bool] = False
    schema = load_aws_schema("vpc", name)
    restored_in_place = True  # the deletion of a replaced one would clear the gateways
    implicit_dependencies = (ImplicitDependency(_VPC, "AWS::EC2::RouteTable", _VPC),)

    def __init__(self, router_type: DeclarativeType) -> None:
        """Keep the type of routers, whose calls it makes."""
        self._router_type = router_type
        self.service = router_type.service  # type: ignore[misc]

    def create(self, context: ResourceContext) -> VerbResult:
        """Set the gateways."""
        network = only_external_network(self._router_type, context, self.name)
        self._set_gateways(context, network)
        return super().create(context)

    def resume_create(self, context: ResourceContext) -> VerbResult:
        """Set the gateways that are not set yet."""
        return self.create(context)

    def find(self, context: ResourceContext) -> str | None:
        """Return the physical name, which every create uses as the physical id."""
        return context.physical_name

    def delete(self, context: ResourceContext) -> VerbResult:
        """Clear the gateways."""
        if context.physical_id is not None and _VPC in context.properties:
            self._set_gateways(context, None)
        return super().delete(context)

    def reference_id(self, context: ResourceContext) -> Json:
        """Return the name of the resource."""
        return context.name

    def check_available(self) -> None:
        """Check that the requesting user's catalog has the network service."""
        self._router_type.check_available()

    def _set_gateways(self, context: ResourceContext, network_id: str | None) -> None:
        routers = VpcRouters(self._router_type, context)
        for router in routers.of_route_tables(str(context.properties[_VPC])):
            routers.set_gateway(router, network_id)
