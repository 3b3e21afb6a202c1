"""Conformance cases of networks, subnets, subnet pools, address scopes and ports."""

from __future__ import annotations

from typing import Any

from tests.conformance.case import ConformanceCase, SupportedCloud

NET: tuple[str, str, dict[str, Any]] = ("net", "OS::Neutron::Net", {})
SUBNET: tuple[str, str, dict[str, Any]] = (
    "subnet",
    "OS::Neutron::Subnet",
    {"network": {"get": "net"}, "cidr": "10.90.0.0/24"},
)
SECURITY_GROUP: tuple[str, str, dict[str, Any]] = ("group", "OS::Neutron::SecurityGroup", {})
QOS_POLICY: tuple[str, str, dict[str, Any]] = ("policy", "OS::Neutron::QoSPolicy", {})


def _case(name: str, *prerequisites: Any, admin: bool = False, **fields: Any) -> ConformanceCase:
    return ConformanceCase(f"OS::Neutron::{name}", prerequisites, needs_admin=admin, **fields)


ROUTER: tuple[str, str, dict[str, Any]] = ("router", "OS::Neutron::Router", {})
ROUTER_WITH_GATEWAY: tuple[str, str, dict[str, Any]] = (
    "router",
    "OS::Neutron::Router",
    {"external_gateway_info": {"network": "public"}},
)
ROUTER_INTERFACE: tuple[str, str, dict[str, Any]] = (
    "link",
    "OS::Neutron::RouterInterface",
    {"router": {"get": "router"}, "subnet": {"get": "subnet"}},
)
PORT: tuple[str, str, dict[str, Any]] = (
    "port",
    "OS::Neutron::Port",
    {"network": {"get": "net"}, "fixed_ips": [{"ip_address": "10.90.0.77"}]},
)
SECOND_PORT: tuple[str, str, dict[str, Any]] = (
    "other",
    "OS::Neutron::Port",
    {"network": {"get": "net"}, "fixed_ips": [{"ip_address": "10.90.0.78"}]},
)
FLOATING_IP: tuple[str, str, dict[str, Any]] = (
    "ip",
    "OS::Neutron::FloatingIP",
    {"floating_network": "public"},
)
SECOND_FLOATING_IP = ("second", FLOATING_IP[1], FLOATING_IP[2])
AGENT_IDS = ["{agent}"]


CASES = [
    _case(
        "Net",
        properties={"name": "hc-net", "admin_state_up": True, "tags": ["a"]},
        changes=[
            {"name": "hc-net-2", "tags": ["b", "c"]},
            {"admin_state_up": False, "port_security_enabled": False, "dns_domain": "a.org."},
            {"value_specs": {"description": "told by hand"}},
        ],
        attributes={"status": "ACTIVE", "name": "hc-net-2", "admin_state_up": False},
    ),
    _case(
        "Net",
        QOS_POLICY,
        admin=True,
        changes=[{"shared": True, "qos_policy": {"get": "policy"}}, {"qos_policy": None}],
        case_label="Net of an administrator",
    ),
    _case(
        "Net",
        runs_on=SupportedCloud.EMULATION_ONLY,
        properties={"dhcp_agent_ids": AGENT_IDS},
        changes=[{"dhcp_agent_ids": []}, {"dhcp_agent_ids": AGENT_IDS}],
        case_label="Net on agents",
    ),
    _case(
        "ProviderNet",
        admin=True,
        properties={"network_type": "vxlan", "segmentation_id": 4042},
        changes=[
            {"name": "hc-prov", "shared": False, "tags": ["t"], "admin_state_up": False},
            {"dns_domain": "b.org.", "port_security_enabled": False, "router_external": True},
        ],
        replacement_properties={"segmentation_id": 4043},
    ),
    _case(
        "ProviderNet",
        admin=True,
        runs_on=SupportedCloud.EMULATION_ONLY,
        properties={"network_type": "vlan", "segmentation_id": 7},
        changes=[
            {"network_type": "vxlan", "segmentation_id": 8},
            {"physical_network": "p"},
            {"availability_zone_hints": ["nova"]},
        ],
        case_label="ProviderNet moved",
    ),
    _case(
        "Subnet",
        NET,
        properties={"network_id": {"get": "net"}, "cidr": "10.91.0.0/24", "tags": ["x"]},
        updates=[
            {
                "network": {"get": "net"},
                "cidr": "10.91.0.0/24",
                "gateway_ip": "",
                "name": "hc-sub",
                "dns_nameservers": ["192.0.2.1"],
                "enable_dhcp": False,
            },
            {
                "network": {"get": "net"},
                "cidr": "10.91.0.0/24",
                "gateway_ip": "10.91.0.1",
                "host_routes": [{"destination": "10.99.0.0/24", "nexthop": "10.91.0.9"}],
                "allocation_pools": [{"start": "10.91.0.20", "end": "10.91.0.30"}],
                "value_specs": {"description": "told by hand"},
            },
            {
                "network": {"get": "net"},
                "cidr": "10.91.0.0/24",
                "allocation_pools": [{"start": "10.91.0.20", "end": "10.91.0.30"}],
            },
        ],
        attributes={
            "cidr": "10.91.0.0/24",
            "gateway_ip": None,
            "allocation_pools": [{"start": "10.91.0.20", "end": "10.91.0.30"}],
        },
        replacement_properties={
            "cidr": "10.92.0.0/24",
            "gateway_ip": None,
            "host_routes": None,
            "allocation_pools": None,
        },
    ),
    _case(
        "Subnet",
        ("net", "OS::Neutron::ProviderNet", {"network_type": "vxlan", "segmentation_id": 4050}),
        admin=True,
        runs_on=SupportedCloud.REAL_ONLY,
        properties={"network": {"get": "net"}, "cidr": "10.93.0.0/24"},
        changes=[{"segment": {"segment_of": "net"}}],
        replacement_properties=None,
        case_label="Subnet of a segment",
    ),
    _case("AddressScope", properties={"ip_version": 4}, changes=[{"name": "hc-scope"}]),
    _case(
        "AddressScope",
        admin=True,
        changes=[{"shared": True}],
        case_label="AddressScope of an administrator",
    ),
    _case(
        "SubnetPool",
        ("scope", "OS::Neutron::AddressScope", {}),
        ("wider", "OS::Neutron::AddressScope", {}),
        properties={
            "prefixes": ["10.80.0.0/16"],
            "address_scope": {"get": "scope"},
            "default_prefixlen": 26,
        },
        changes=[
            {
                "prefixes": ["10.80.0.0/16", "10.81.0.0/16"],
                "default_prefixlen": 25,
                "name": "hc-pool",
                "tags": ["p"],
            },
            {
                "min_prefixlen": 20,
                "max_prefixlen": 28,
                "default_quota": 1000,
                "address_scope": {"get": "wider"},
            },
        ],
        replacement_properties={"prefixes": ["10.82.0.0/16"]},
    ),
    _case(
        "SubnetPool",
        admin=True,
        properties={"prefixes": ["10.83.0.0/16"]},
        changes=[{"is_default": True}, {"is_default": False}],
        case_label="SubnetPool of an administrator",
    ),
    _case(
        "Port",
        NET,
        SUBNET,
        SECURITY_GROUP,
        properties={"network": {"get": "net"}},
        updates=[
            {"network": {"get": "net"}, "name": "hc-port", "admin_state_up": False},
            {
                "network": {"get": "net"},
                "security_groups": [{"get": "group"}],
                "fixed_ips": [{"subnet": {"get": "subnet"}, "ip_address": "10.90.0.50"}],
            },
            {
                "network": {"get": "net"},
                "tags": ["one"],
                "device_id": "d",
                "device_owner": "o:x",
                "allowed_address_pairs": [{"ip_address": "10.90.0.0/24"}],
            },
            {
                "network": {"get": "net"},
                "no_fixed_ips": True,
                "binding:vnic_type": "direct",
                "dns_name": "hc",
                "value_specs": {"description": "told by hand"},
            },
            {
                "network": {"get": "net"},
                "port_security_enabled": False,
                "no_fixed_ips": True,
                "security_groups": [],
            },
        ],
        attributes={"status": "DOWN", "fixed_ips": []},
    ),
    _case(
        "Port",
        NET,
        SUBNET,
        runs_on=SupportedCloud.EMULATION_ONLY,
        properties={"network": {"get": "net"}, "propagate_uplink_status": False},
        changes=[{"propagate_uplink_status": True}],
        case_label="Port that passes on its uplink's status",
    ),
    _case(
        "Port",
        QOS_POLICY,
        NET,
        SUBNET,
        admin=True,
        properties={"network": {"get": "net"}, "mac_address": "fa:16:3e:0a:0b:0c"},
        changes=[{"qos_policy": {"get": "policy"}}, {"qos_policy": None}],
        attributes={"mac_address": "fa:16:3e:0a:0b:0c"},
        replacement_properties={"mac_address": None},
        case_label="Port of an administrator",
    ),
]
