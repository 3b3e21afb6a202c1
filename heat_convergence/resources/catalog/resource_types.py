"""All resource types of the catalog.

Called once by the registry, through the entry point group ``heat_convergence.resource_catalogs``.
Decides which class implements a spec; one without behavior of its own is a ``DeclarativeType``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from heat_convergence.clients.rest_client import RequestLimiter
from heat_convergence.clients.settings import MAX_OPEN_REQUESTS
from heat_convergence.resources.catalog import (
    cinder,
    designate,
    glance,
    keystone,
    manila,
    neutron,
    nova,
    octavia,
    swift,
)
from heat_convergence.resources.catalog.property_comparisons import with_comparisons
from heat_convergence.resources.catalog.rest_resources import REST_RESOURCES
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.driver.declarative_steps import DriverContext
from heat_convergence.resources.driver.id_lookup import BodyCache, IdCache
from heat_convergence.resources.driver.schema_loader import load_descriptions
from heat_convergence.resources.driver.type_spec import TypeSpec
from heat_convergence.resources.openstack.cinder.associations import (
    EncryptedVolumeType,
    QosAssociation,
)
from heat_convergence.resources.openstack.cinder.qos_specs import QosSpecs
from heat_convergence.resources.openstack.cinder.volume_attachments import VolumeAttachment
from heat_convergence.resources.openstack.cinder.volumes import Volume
from heat_convergence.resources.openstack.designate.zones import RecordSet, Zone
from heat_convergence.resources.openstack.glance.images import WebImage
from heat_convergence.resources.openstack.hidden_types import load_hidden_types
from heat_convergence.resources.openstack.keystone.regions import KeystoneRegion
from heat_convergence.resources.openstack.keystone.role_assignments import (
    GroupRoleAssignment,
    UserRoleAssignment,
)
from heat_convergence.resources.openstack.manila.share_networks import (
    SecurityService,
    ShareNetwork,
    ShareType,
)
from heat_convergence.resources.openstack.neutron.floating_ips import FloatingIPAssociation
from heat_convergence.resources.openstack.neutron.ports import Port
from heat_convergence.resources.openstack.neutron.router_associations import (
    ExtraRoute,
    ExtraRouteSet,
    RouterGateway,
    RouterInterface,
)
from heat_convergence.resources.openstack.neutron.security_groups import SecurityGroup
from heat_convergence.resources.openstack.nova.floating_ips import (
    ComputeFloatingIP,
    ComputeFloatingIPAssociation,
)
from heat_convergence.resources.openstack.nova.keypairs import KeyPair
from heat_convergence.resources.openstack.nova.server_groups import ServerGroup
from heat_convergence.resources.openstack.nova.servers import Server
from heat_convergence.resources.openstack.octavia.l7_policies import L7Policy
from heat_convergence.resources.openstack.quotas import Quota
from heat_convergence.resources.openstack.swift.containers import Container
from heat_convergence.resources.protocol.resource_type import ResourceType

TYPE_SPECS: tuple[TypeSpec, ...] = (
    *cinder.TYPE_SPECS,
    *designate.TYPE_SPECS,
    *glance.TYPE_SPECS,
    *keystone.TYPE_SPECS,
    *manila.TYPE_SPECS,
    *neutron.TYPE_SPECS,
    *nova.TYPE_SPECS,
    *octavia.TYPE_SPECS,
    *swift.TYPE_SPECS,
)

IMPLEMENTATIONS: Mapping[str, type[DeclarativeType]] = {
    "OS::Cinder::EncryptedVolumeType": EncryptedVolumeType,
    "OS::Cinder::QoSAssociation": QosAssociation,
    "OS::Cinder::QoSSpecs": QosSpecs,
    "OS::Cinder::Quota": Quota,
    "OS::Cinder::Volume": Volume,
    "OS::Cinder::VolumeAttachment": VolumeAttachment,
    "OS::Designate::RecordSet": RecordSet,
    "OS::Designate::Zone": Zone,
    "OS::Glance::WebImage": WebImage,
    "OS::Keystone::GroupRoleAssignment": GroupRoleAssignment,
    "OS::Keystone::Region": KeystoneRegion,
    "OS::Keystone::UserRoleAssignment": UserRoleAssignment,
    "OS::Manila::SecurityService": SecurityService,
    "OS::Manila::ShareNetwork": ShareNetwork,
    "OS::Manila::ShareType": ShareType,
    "OS::Neutron::ExtraRoute": ExtraRoute,
    "OS::Neutron::ExtraRouteSet": ExtraRouteSet,
    "OS::Neutron::FloatingIPAssociation": FloatingIPAssociation,
    "OS::Neutron::Port": Port,
    "OS::Octavia::L7Policy": L7Policy,
    "OS::Neutron::Quota": Quota,
    "OS::Neutron::RouterGateway": RouterGateway,
    "OS::Neutron::RouterInterface": RouterInterface,
    "OS::Neutron::SecurityGroup": SecurityGroup,
    "OS::Nova::FloatingIP": ComputeFloatingIP,
    "OS::Nova::FloatingIPAssociation": ComputeFloatingIPAssociation,
    "OS::Nova::KeyPair": KeyPair,
    "OS::Nova::Quota": Quota,
    "OS::Nova::Server": Server,
    "OS::Nova::ServerGroup": ServerGroup,
    "OS::Octavia::Quota": Quota,
    "OS::Swift::Container": Container,
}


def create_driver_context() -> DriverContext:
    """Return what the types of one registry share."""
    return DriverContext(
        REST_RESOURCES,
        load_descriptions(),
        RequestLimiter(MAX_OPEN_REQUESTS),
        IdCache(),
        BodyCache(),
    )


def load_resource_types() -> Iterator[ResourceType]:
    """Yield one object for each type, hidden ones included."""
    context = create_driver_context()
    for declared in TYPE_SPECS:
        spec = with_comparisons(declared)
        yield IMPLEMENTATIONS.get(spec.name, DeclarativeType)(spec, context)
    for service in sorted({spec.schema_file for spec in TYPE_SPECS}):
        yield from load_hidden_types(service)
