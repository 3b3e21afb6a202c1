"""Nova's resource types, as data."""

from __future__ import annotations

from typing import Any

from heat_convergence.resources.catalog.things import THINGS
from heat_convergence.resources.driver.row import Arg, Row, Status, not_sent, sent
from heat_convergence.resources.openstack.compute_parts import AGGREGATE_METADATA, HOSTS
from heat_convergence.resources.openstack.parts import TAGS
from heat_convergence.resources.openstack.storage_parts import FLAVOR_SPECS, TENANT_ACCESS
from heat_convergence.resources.plugin import Implied

REAL = "Nova 34"

SERVER_STATUS = Status(
    ready=frozenset({"active"}),
    failed=frozenset({"error"}),
    gone=frozenset({"deleted", "soft_deleted"}),
    reason="fault.message",
)


def _row(name: str, noun: str, *, service: str = "nova", **given: Any) -> Row:
    return Row(
        name=f"OS::Nova::{name}",
        schema="nova",
        service=service,
        thing=THINGS[f"{service}.{noun}"],
        tested_on=REAL,
        **given,
    )


ROWS = (
    _row(
        "Server", "server",
        arguments={
            "image": Arg("imageRef", "glance.image"),
            "flavor": Arg("flavorRef", "nova.flavor"),
            "admin_pass": Arg("adminPass"),
            "diskConfig": Arg("OS-DCF:diskConfig"),
            **not_sent(
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
        status=SERVER_STATUS,
        implied=(Implied("networks.network", "OS::Neutron::Subnet", "network"),),
        attributes={"instance_name": "OS-EXT-SRV-ATTR:instance_name"},
        parts=(TAGS,),
        waits_for_delete=True,
    ),
    _row("KeyPair", "keypair", arguments={"user": Arg("user_id", "keystone.user"),
                                          **not_sent("save_private_key")}),
    _row("ServerGroup", "server_group"),
    _row(
        "Flavor", "flavor",
        arguments=sent(
            flavorid="id",
            ephemeral="OS-FLV-EXT-DATA:ephemeral",
            is_public="os-flavor-access:is_public",
        ),
        attributes={"is_public": "os-flavor-access:is_public"},
        parts=(FLAVOR_SPECS, TENANT_ACCESS),
    ),
    _row("HostAggregate", "aggregate", parts=(HOSTS, AGGREGATE_METADATA)),
    _row("Quota", "quota", named=False),
    _row(
        "FloatingIP", "floatingip",
        service="neutron",
        arguments={"pool": Arg("floating_network_id", "neutron.network")},
        attributes={"ip": "floating_ip_address"},
        named=False,
    ),
    _row("FloatingIPAssociation", "floatingip", service="neutron", named=False),
)
