"""Specs of Nova's resource types."""

from __future__ import annotations

from typing import Any

from heat_convergence.resources.catalog.rest_resources import REST_RESOURCES
from heat_convergence.resources.driver.type_spec import (
    ArgumentMapping,
    StatusMapping,
    TypeSpec,
    omit_arguments,
    rename_arguments,
)
from heat_convergence.resources.openstack.nova.subresources import (
    AGGREGATE_HOSTS,
    AGGREGATE_METADATA,
    FLAVOR_ACCESS,
    FLAVOR_EXTRA_SPECS,
)
from heat_convergence.resources.openstack.subresources import TAGS
from heat_convergence.resources.protocol.resource_type import ImplicitDependency

TESTED_RELEASE = "Nova 34"

SERVER_STATUS = StatusMapping(
    ready=frozenset({"active"}),
    failed=frozenset({"error"}),
    absent=frozenset({"deleted", "soft_deleted"}),
    reason_key="fault.message",
)


def _spec(name: str, entity: str, *, service: str = "nova", **fields: Any) -> TypeSpec:
    return TypeSpec(
        name=f"OS::Nova::{name}",
        schema_file="nova",
        service=service,
        rest_resource=REST_RESOURCES[f"{service}.{entity}"],
        test_environment=TESTED_RELEASE,
        **fields,
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
    _spec(
        "FloatingIP",
        "floatingip",
        service="neutron",
        arguments={"pool": ArgumentMapping("floating_network_id", "neutron.network")},
        attribute_paths={"ip": "floating_ip_address"},
        has_name=False,
    ),
    _spec("FloatingIPAssociation", "floatingip", service="neutron", has_name=False),
)
