"""REST resources and specs of Nova's resource types."""

from __future__ import annotations

from functools import partial

from heat_convergence.resources.catalog.catalog_rows import make_rest_resource, make_spec
from heat_convergence.resources.catalog.catalog_service import CatalogService
from heat_convergence.resources.catalog.networking.neutron_resources import FLOATING_IP
from heat_convergence.resources.driver.rest_resources import (
    BulkRead,
    OwnershipMarkField,
    by_entity,
)
from heat_convergence.resources.driver.type_spec import (
    ArgumentMapping,
    HealthMapping,
    StatusMapping,
    omit_arguments,
    rename_arguments,
)
from heat_convergence.resources.openstack.nova.floating_ips import (
    ComputeFloatingIP,
    ComputeFloatingIPAssociation,
)
from heat_convergence.resources.openstack.nova.keypairs import KeyPair
from heat_convergence.resources.openstack.nova.server_groups import ServerGroup
from heat_convergence.resources.openstack.nova.servers import Server
from heat_convergence.resources.openstack.nova.subresources import (
    AGGREGATE_HOSTS,
    AGGREGATE_METADATA,
    FLAVOR_ACCESS,
    FLAVOR_EXTRA_SPECS,
)
from heat_convergence.resources.openstack.quotas import Quota
from heat_convergence.resources.openstack.subresources import TAGS
from heat_convergence.resources.protocol.resource_type import ImplicitDependency

TESTED_RELEASE = "Nova 34"

SERVER_STATUS = StatusMapping(
    ready=frozenset({"active"}),
    failed=frozenset({"error"}),
    absent=frozenset({"deleted", "soft_deleted"}),
    reason_key="fault.message",
)

# The states of the hypervisor's machine: paused, shut down, crashed, suspended.
SERVER_HEALTH = HealthMapping(
    body_key="OS-EXT-STS:power_state", unhealthy=frozenset({"3", "4", "6", "7"})
)

_nova = partial(make_rest_resource, "Nova", "compute")

REST_RESOURCES = by_entity(
    _nova(
        "server",
        "compute.v2.server.Server",
        list_path="/servers/detail",
        bulk_read=BulkRead.CHANGED_SINCE,
        ownership_mark_field=OwnershipMarkField.DESCRIPTION,
        microversion="2.26",
        name_query=None,
    ),
    _nova(
        "flavor",
        "compute.v2.flavor.Flavor",
        list_path="/flavors/detail",
        name_query=None,
        list_query=(("is_public", "None"),),
        ownership_mark_field=OwnershipMarkField.DESCRIPTION,
        microversion="2.55",
    ),
    _nova(
        "keypair",
        "compute.v2.keypair.Keypair",
        id_key="name",
        name_query=None,
        microversion="2.10",
        entity_label="key",
    ),
    _nova(
        "server_group", "compute.v2.server_group.ServerGroup", name_query=None, microversion="2.15"
    ),
    _nova(
        "aggregate",
        "compute.v2.aggregate.Aggregate",
        name_query=None,
        ownership_mark_field=OwnershipMarkField.NAME,
    ),
    _nova("quota", "compute.v2.quota_set.QuotaSet", path="/os-quota-sets", name_key=None),
)


_spec = partial(make_spec, "Nova", REST_RESOURCES, test_environment=TESTED_RELEASE)
_floating_ip_spec = partial(
    make_spec,
    "Nova",
    {"nova.floatingip": FLOATING_IP},
    service="neutron",
    has_name=False,
    test_environment=TESTED_RELEASE,
)

TYPE_SPECS = (
    _spec(
        "Server",
        "server",
        live_attributes=frozenset(
            {"show", "tags", "addresses", "networks", "first_address", "accessIPv4", "accessIPv6"}
        ),
        arguments={
            "image": ArgumentMapping("imageRef", "glance.image"),
            "flavor": ArgumentMapping("flavorRef", "nova.flavor"),
            "admin_pass": ArgumentMapping("adminPass"),
            "diskConfig": ArgumentMapping("OS-DCF:diskConfig"),
            **omit_arguments(
                "admin_user",
                "block_device_mapping",
                "block_device_mapping_v2",
                "deployment_swift_data",
                "flavor_update_policy",
                "image_update_policy",
                "metadata",
                "networks",
                "personality",
                "scheduler_hints",
                "security_groups",
                "software_config_transport",
                "user_data",
                "user_data_format",
                "user_data_update_policy",
            ),
        },
        aliases={"networks.uuid": "network", "block_device_mapping_v2.image_id": "image"},
        unset_when_blank=frozenset({"admin_pass", "availability_zone", "diskConfig", "key_name"}),
        status_mapping=SERVER_STATUS,
        health_mapping=SERVER_HEALTH,
        implicit_dependencies=(
            ImplicitDependency("networks.network", "OS::Neutron::Subnet", "network"),
        ),
        attribute_paths={"instance_name": "OS-EXT-SRV-ATTR:instance_name"},
        subresources=(TAGS,),
        deletes_asynchronously=True,
    ),
    _spec(
        "KeyPair",
        "keypair",
        arguments={
            "user": ArgumentMapping("user_id", "keystone.user"),
            **omit_arguments("save_private_key"),
        },
    ),
    _spec("ServerGroup", "server_group"),
    _spec(
        "Flavor",
        "flavor",
        arguments=rename_arguments(
            flavorid="id",
            ephemeral="OS-FLV-EXT-DATA:ephemeral",
            is_public="os-flavor-access:is_public",
        ),
        attribute_paths={"is_public": "os-flavor-access:is_public"},
        subresources=(FLAVOR_EXTRA_SPECS, FLAVOR_ACCESS),
    ),
    _spec("HostAggregate", "aggregate", subresources=(AGGREGATE_HOSTS, AGGREGATE_METADATA)),
    _spec("Quota", "quota", has_name=False),
    _floating_ip_spec(
        "FloatingIP",
        "floatingip",
        arguments={"pool": ArgumentMapping("floating_network_id", "neutron.network")},
        attribute_paths={"ip": "floating_ip_address"},
    ),
    _floating_ip_spec("FloatingIPAssociation", "floatingip"),
)

NOVA = CatalogService(
    REST_RESOURCES,
    TYPE_SPECS,
    {
        "OS::Nova::FloatingIP": ComputeFloatingIP,
        "OS::Nova::FloatingIPAssociation": ComputeFloatingIPAssociation,
        "OS::Nova::KeyPair": KeyPair,
        "OS::Nova::Quota": Quota,
        "OS::Nova::Server": Server,
        "OS::Nova::ServerGroup": ServerGroup,
    },
)
