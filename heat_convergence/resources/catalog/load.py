"""All catalogue types of a process.

Called once by the registry, through the entry point group
``heat_convergence.resource_catalogs``.  Decides which class a row's type has; a row
with no behaviour of its own is a ``DeclaredType``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from heat_convergence.clients.rest import Slots
from heat_convergence.clients.settings import REQUESTS_AT_ONCE
from heat_convergence.resources.catalog import (
    cinder,
    glance,
    keystone,
    neutron,
    nova,
    octavia,
    swift,
)
from heat_convergence.resources.catalog.texts import TEXTS
from heat_convergence.resources.catalog.things import THINGS
from heat_convergence.resources.driver.declared import DeclaredType, Means
from heat_convergence.resources.driver.lookups import Bodies, Found
from heat_convergence.resources.driver.row import Row
from heat_convergence.resources.openstack.attachments import (
    EncryptedVolumeType,
    QosAssociation,
    VolumeAttachment,
)
from heat_convergence.resources.openstack.compute_addresses import (
    ComputeFloatingIP,
    ComputeFloatingIPAssociation,
)
from heat_convergence.resources.openstack.containers import Container
from heat_convergence.resources.openstack.identity_parts import (
    GroupRoleAssignment,
    NamedById,
    UserRoleAssignment,
)
from heat_convergence.resources.openstack.images import WebImage
from heat_convergence.resources.openstack.keypairs import KeyPair
from heat_convergence.resources.openstack.l7_policies import L7Policy
from heat_convergence.resources.openstack.links import (
    ExtraRoute,
    ExtraRouteSet,
    FloatingIPAssociation,
    RouterGateway,
    RouterInterface,
)
from heat_convergence.resources.openstack.placeholders import placeholders
from heat_convergence.resources.openstack.ports import Port
from heat_convergence.resources.openstack.qos_specs import QosSpecs
from heat_convergence.resources.openstack.quotas import Quota
from heat_convergence.resources.openstack.security_groups import SecurityGroup
from heat_convergence.resources.openstack.server_groups import ServerGroup
from heat_convergence.resources.openstack.servers import Server
from heat_convergence.resources.openstack.volumes import Volume
from heat_convergence.resources.plugin import ResourceType

ROWS: tuple[Row, ...] = (
    *cinder.ROWS,
    *glance.ROWS,
    *keystone.ROWS,
    *neutron.ROWS,
    *nova.ROWS,
    *octavia.ROWS,
    *swift.ROWS,
)

BEHAVIOUR: Mapping[str, type[DeclaredType]] = {
    "OS::Cinder::EncryptedVolumeType": EncryptedVolumeType,
    "OS::Cinder::QoSAssociation": QosAssociation,
    "OS::Cinder::QoSSpecs": QosSpecs,
    "OS::Cinder::Quota": Quota,
    "OS::Cinder::Volume": Volume,
    "OS::Cinder::VolumeAttachment": VolumeAttachment,
    "OS::Glance::WebImage": WebImage,
    "OS::Keystone::GroupRoleAssignment": GroupRoleAssignment,
    "OS::Keystone::Region": NamedById,
    "OS::Keystone::UserRoleAssignment": UserRoleAssignment,
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


def means() -> Means:
    """What the types share; a new one for each registry."""
    return Means(THINGS, TEXTS, Slots(REQUESTS_AT_ONCE), Found(), Bodies())


def types() -> Iterator[ResourceType]:
    """One object a type."""
    shared = means()
    for row in ROWS:
        yield BEHAVIOUR.get(row.name, DeclaredType)(row, shared)
    for service in sorted({row.schema for row in ROWS}):
        yield from placeholders(service)
