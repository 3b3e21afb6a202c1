"""Conformance cases of Nova's types."""

from __future__ import annotations

from typing import Any

from tests.conformance.case import ConformanceCase, SupportedCloud
from tests.conformance.cases.networking.networks import (
    NET,
    ROUTER_INTERFACE,
    ROUTER_WITH_GATEWAY,
    SUBNET,
)

PUBLIC_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl hc"
FLAVOR = "m1.nano"
VOLUME: tuple[str, str, dict[str, Any]] = ("volume", "OS::Cinder::Volume", {"size": 1})
SERVER_PROPERTIES = {"image": "cirros", "flavor": FLAVOR, "user_data_format": "RAW"}
SERVER: tuple[str, str, dict[str, Any]] = (
    "server",
    "OS::Nova::Server",
    {**SERVER_PROPERTIES, "networks": [{"network": {"get": "net"}}]},
)
PORT = ("port", "OS::Neutron::Port", {"network": {"get": "net"}})
SECOND_PORT = ("other", "OS::Neutron::Port", {"network": {"get": "net"}})
THIRD_PORT = ("third", "OS::Neutron::Port", {"network": {"get": "net"}})
SERVER_NETWORKS = [{"network": {"get": "net"}}]


def _case(name: str, *prerequisites: Any, admin: bool = False, **fields: Any) -> ConformanceCase:
    return ConformanceCase(f"OS::Nova::{name}", prerequisites, needs_admin=admin, **fields)


CASES = [
    _case(
        "Quota",
        admin=True,
        always_exists=True,
        replacement_properties=None,
        properties={"project": "{other_project}", "cores": 11},
        changes=[
            {"cores": 12, "ram": 1024},
            {
                "instances": 1,
                "key_pairs": 2,
                "metadata_items": 3,
                "server_groups": 4,
                "server_group_members": 5,
            },
        ],
    ),
    _case(
        "Quota",
        admin=True,
        always_exists=True,
        replacement_properties=None,
        runs_on=SupportedCloud.EMULATION_ONLY,
        properties={"project": "{other_project}", "fixed_ips": 1},
        changes=[
            {
                "fixed_ips": 2,
                "floating_ips": 3,
                "injected_file_content_bytes": 4,
                "injected_file_path_bytes": 5,
                "injected_files": 6,
                "security_group_rules": 7,
                "security_groups": 8,
            }
        ],
        case_label="Quota of what Nova had",
    ),
    _case(
        "Flavor",
        admin=True,
        properties={
            "ram": 64,
            "vcpus": 1,
            "is_public": False,
            "ephemeral": 1,
            "extra_specs": {"hw:a": "b"},
            "tenants": ["{other_project}"],
        },
        changes=[{"extra_specs": {"hw:c": "d"}, "tenants": []}],
        attributes={"is_public": False},
    ),
    _case(
        "HostAggregate",
        admin=True,
        properties={"name": "hc-agg", "metadata": {"a": "b"}},
        changes=[
            {"name": "hc-agg2", "metadata": {"c": "d"}, "availability_zone": "hc-az"},
            {"hosts": ["{host}"]},
            {"hosts": []},
        ],
        replacement_properties={"name": "hc-agg3"},
    ),
    _case("FloatingIP", properties={"pool": "public"}, attributes={"pool": "public"}),
    _case("FloatingIP", case_label="FloatingIP of the only pool"),
    _case(
        "FloatingIPAssociation",
        NET,
        SUBNET,
        ROUTER_WITH_GATEWAY,
        ROUTER_INTERFACE,
        SERVER,
        ("second", SERVER[1], SERVER[2]),
        ("ip", "OS::Nova::FloatingIP", {}),
        ("spare", "OS::Nova::FloatingIP", {}),
        properties={"server_id": {"get": "server"}, "floating_ip": {"get": "ip"}},
        changes=[{"server_id": {"get": "second"}}, {"floating_ip": {"get": "spare"}}],
        replacement_properties={"server_id": {"get": "server"}, "floating_ip": {"get": "ip"}},
    ),
    _case(
        "KeyPair",
        properties={"name": "hc-key", "public_key": PUBLIC_KEY},
        attributes={"private_key": ""},
        replacement_properties={"name": "hc-key-2"},
    ),
    _case(
        "KeyPair",
        properties={"name": "hc-new", "save_private_key": True},
        replacement_properties={"name": "hc-new-2"},
        case_label="KeyPair made by the service",
    ),
    _case("ServerGroup", properties={"policies": ["soft-affinity"]}),
    _case(
        "ServerGroup",
        case_label="ServerGroup with rules",
        runs_on=SupportedCloud.REAL_ONLY,
        properties={"policies": ["anti-affinity"], "rules": {"max_server_per_host": 2}},
    ),
    _case(
        "Server",
        NET,
        SUBNET,
        properties={
            **SERVER_PROPERTIES,
            "networks": SERVER_NETWORKS,
            "metadata": {"a": 1},
            "tags": ["t"],
            "user_data": "#!/bin/sh\ntrue",
        },
        changes=[
            {
                "name": "hc-server",
                "metadata": {"b": "2"},
                "tags": ["u"],
                "flavor_update_policy": "RESIZE",
                "image_update_policy": "REBUILD",
            },
            {"flavor": "m1.tiny", "metadata": None, "tags": None},
            {"image": "{second_image}", "admin_pass": "hc-secret"},
            {"user_data": "#!/bin/sh\nfalse", "user_data_update_policy": "REBUILD"},
            {"flavor": FLAVOR, "image": "cirros"},
            {"image_update_policy": "REBUILD_PRESERVE_EPHEMERAL"},
        ],
        attributes={"name": "hc-server"},
    ),
    _case(
        "Server",
        NET,
        SUBNET,
        PORT,
        SECOND_PORT,
        THIRD_PORT,
        properties={**SERVER_PROPERTIES, "networks": [{"port": {"get": "port"}}]},
        changes=[
            {"networks": [{"port": {"get": "other"}}]},
            {
                "networks": [
                    {"port": {"get": "other"}},
                    {"subnet": {"get": "subnet"}, "network": {"get": "net"}},
                ]
            },
            {"networks": [{"port": {"get": "other"}}]},
        ],
        replacement_properties={"networks": [{"port": {"get": "third"}}]},
        case_label="Server with ports",
    ),
    _case(
        "Server",
        NET,
        SUBNET,
        properties={
            **SERVER_PROPERTIES,
            "networks": [{"subnet": {"get": "subnet"}, "fixed_ip": "10.90.0.33"}],
        },
        replacement_properties={
            "networks": [{"subnet": {"get": "subnet"}, "fixed_ip": "10.90.0.34"}]
        },
        case_label="Server with a port of its own",
    ),
    _case(
        "Server",
        NET,
        SUBNET,
        ("volume", "OS::Cinder::Volume", {"size": 1, "image": "cirros"}),
        properties={
            "flavor": FLAVOR,
            "networks": SERVER_NETWORKS,
            "user_data_format": "SOFTWARE_CONFIG",
            "user_data": "#!/bin/sh\n",
            "block_device_mapping_v2": [{"volume_id": {"get": "volume"}}],
        },
        changes=[{"software_config_transport": "POLL_SERVER_HEAT"}],
        replacement_properties=None,
        case_label="Server started from a volume",
    ),
]
