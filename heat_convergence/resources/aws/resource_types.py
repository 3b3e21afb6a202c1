"""All AWS resource types that reach a cloud.

Called once by the registry, through the entry point group ``heat_convergence.resource_catalogs``.
Decides which OpenStack type a translated type stands on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from heat_convergence.resources.aws.autoscaling.launch_configuration import LaunchConfiguration
from heat_convergence.resources.aws.buckets import Bucket
from heat_convergence.resources.aws.ec2.address_associations import EIPAssociation
from heat_convergence.resources.aws.ec2.addresses import ElasticIP, NetworkInterface
from heat_convergence.resources.aws.ec2.gateways import (
    InternetGateway,
    SubnetRouteTableAssociation,
    VPCGatewayAttachment,
)
from heat_convergence.resources.aws.ec2.instances import Instance
from heat_convergence.resources.aws.ec2.security_groups import AwsSecurityGroup
from heat_convergence.resources.aws.ec2.virtual_networks import VPC, Ec2RouteTable, Subnet
from heat_convergence.resources.aws.ec2.volumes import AwsVolume, AwsVolumeAttachment
from heat_convergence.resources.aws.translated_type import TranslatedType
from heat_convergence.resources.catalog.property_comparisons import with_comparisons
from heat_convergence.resources.catalog.resource_types import create_driver_context
from heat_convergence.resources.catalog.services import SERVICES
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.driver.declarative_steps import DriverContext
from heat_convergence.resources.protocol.resource_type import ResourceType

TRANSLATED_TYPES: tuple[type[TranslatedType], ...] = (
    AwsSecurityGroup,
    AwsVolume,
    AwsVolumeAttachment,
    Bucket,
    EIPAssociation,
    ElasticIP,
    Instance,
    NetworkInterface,
    Ec2RouteTable,
    Subnet,
    SubnetRouteTableAssociation,
    VPC,
)


def load_aws_types() -> Iterator[ResourceType]:
    """Yield one object for each type."""
    context = create_driver_context()
    targets = {translated.target for translated in TRANSLATED_TYPES}
    delegates = {each.name: each for each in _load_targets(targets, context)}
    for translated in TRANSLATED_TYPES:
        yield translated(delegates[translated.target])
    yield LaunchConfiguration(context)
    yield InternetGateway()
    yield VPCGatewayAttachment(delegates[Ec2RouteTable.target])


def _load_targets(names: Collection[str], context: DriverContext) -> Iterator[DeclarativeType]:
    for service in SERVICES:
        for spec in service.type_specs:
            if spec.name in names:
                implementation = service.implementations.get(spec.name, DeclarativeType)
                yield implementation(with_comparisons(spec), context)
