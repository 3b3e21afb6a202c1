"""Conformance cases of Neutron's services on top of networks, which only the emulation has."""

from __future__ import annotations

from typing import Any

from tests.conformance.case import ConformanceCase, SupportedCloud
from tests.conformance.cases.networking.networks import NET, PORT, ROUTER, SECOND_PORT, SUBNET

FIREWALL_RULE: tuple[str, str, dict[str, Any]] = ("rule", "OS::Neutron::FirewallRule", {})
FIREWALL_POLICY: tuple[str, str, dict[str, Any]] = ("policy", "OS::Neutron::FirewallPolicy", {})
SECOND_FIREWALL_POLICY = ("second", FIREWALL_POLICY[1], FIREWALL_POLICY[2])
IKE_POLICY: tuple[str, str, dict[str, Any]] = ("ike", "OS::Neutron::IKEPolicy", {})
IPSEC_POLICY: tuple[str, str, dict[str, Any]] = ("ipsec", "OS::Neutron::IPsecPolicy", {})
VPN_SERVICE: tuple[str, str, dict[str, Any]] = (
    "vpn",
    "OS::Neutron::VPNService",
    {"subnet": {"get": "subnet"}, "router": {"get": "router"}},
)
TAP_SERVICE = ("tap", "OS::Neutron::TaaS::TapService", {"port": {"get": "port"}})
PORT_PAIR: tuple[str, str, dict[str, Any]] = (
    "pair",
    "OS::Neutron::PortPair",
    {"ingress": {"get": "port"}, "egress": {"get": "other"}},
)
PORT_PAIR_GROUP: tuple[str, str, dict[str, Any]] = (
    "pairs",
    "OS::Neutron::PortPairGroup",
    {"port_pairs": [{"get": "pair"}]},
)
FLOW_CLASSIFIER: tuple[str, str, dict[str, Any]] = (
    "flows",
    "OS::Neutron::FlowClassifier",
    {"protocol": "tcp"},
)
L2_GATEWAY: tuple[str, str, dict[str, Any]] = (
    "gateway",
    "OS::Neutron::L2Gateway",
    {"name": "hc-l2gw", "devices": [{"device_name": "d", "interfaces": [{"name": "eth0"}]}]},
)
NAME_AND_DESCRIPTION = {"name": "hc-named", "description": "told"}


def _case(name: str, *prerequisites: Any, **fields: Any) -> ConformanceCase:
    return ConformanceCase(
        f"OS::{name}", prerequisites, runs_on=SupportedCloud.EMULATION_ONLY, **fields
    )


CASES = [
    _case(
        "Neutron::FirewallRule",
        properties={"protocol": "tcp"},
        changes=[
            {"protocol": "udp", "shared": True, **NAME_AND_DESCRIPTION},
            {"action": "allow", "enabled": False, "ip_version": "6"},
            {
                "source_ip_address": "10.0.0.0/8",
                "destination_ip_address": "10.1.0.0/16",
                "source_port": "1:2",
                "destination_port": "3",
            },
        ],
    ),
    _case(
        "Neutron::FirewallPolicy",
        FIREWALL_RULE,
        changes=[
            NAME_AND_DESCRIPTION,
            {"firewall_rules": [{"get": "rule"}], "audited": True},
            {"shared": True},
        ],
    ),
    _case(
        "Neutron::Firewall",
        FIREWALL_POLICY,
        SECOND_FIREWALL_POLICY,
        properties={"firewall_policy_id": {"get": "policy"}},
        changes=[
            NAME_AND_DESCRIPTION,
            {"admin_state_up": False, "firewall_policy_id": {"get": "second"}},
            {"value_specs": {"a": "b"}, "shared": True},
        ],
        attributes={"status": "ACTIVE"},
    ),
    _case(
        "Neutron::IKEPolicy",
        changes=[
            {"ike_version": "v2", **NAME_AND_DESCRIPTION},
            {
                "auth_algorithm": "sha256",
                "encryption_algorithm": "aes-256",
                "lifetime": {"value": 60},
                "pfs": "group14",
            },
        ],
    ),
    _case("Neutron::IPsecPolicy", changes=[NAME_AND_DESCRIPTION]),
    _case(
        "Neutron::VPNService",
        NET,
        SUBNET,
        ROUTER,
        properties={"subnet_id": {"get": "subnet"}, "router_id": {"get": "router"}},
        changes=[{"admin_state_up": False}, NAME_AND_DESCRIPTION],
    ),
    _case(
        "Neutron::IPsecSiteConnection",
        NET,
        SUBNET,
        ROUTER,
        IKE_POLICY,
        IPSEC_POLICY,
        VPN_SERVICE,
        properties={
            "ikepolicy_id": {"get": "ike"},
            "ipsecpolicy_id": {"get": "ipsec"},
            "vpnservice_id": {"get": "vpn"},
            "peer_address": "192.0.2.1",
            "peer_id": "192.0.2.1",
            "peer_cidrs": ["10.9.0.0/16"],
            "psk": "secret",
        },
        changes=[NAME_AND_DESCRIPTION, {"admin_state_up": False}],
        attributes={"status": "ACTIVE", "mtu": 1500},
    ),
    _case(
        "Neutron::TaaS::TapService",
        NET,
        SUBNET,
        PORT,
        properties={"port": {"get": "port"}},
        changes=[NAME_AND_DESCRIPTION],
    ),
    _case(
        "Neutron::TaaS::TapFlow",
        NET,
        SUBNET,
        PORT,
        SECOND_PORT,
        TAP_SERVICE,
        properties={"port": {"get": "other"}, "tap_service": {"get": "tap"}},
        changes=[NAME_AND_DESCRIPTION],
    ),
    _case(
        "Neutron::FlowClassifier", properties={"protocol": "tcp"}, changes=[NAME_AND_DESCRIPTION]
    ),
    _case(
        "Neutron::PortPair",
        NET,
        SUBNET,
        PORT,
        SECOND_PORT,
        properties=PORT_PAIR[2],
        changes=[NAME_AND_DESCRIPTION],
    ),
    _case(
        "Neutron::PortPairGroup",
        NET,
        SUBNET,
        PORT,
        SECOND_PORT,
        PORT_PAIR,
        properties=PORT_PAIR_GROUP[2],
        changes=[NAME_AND_DESCRIPTION, {"port_pairs": []}],
    ),
    _case(
        "Neutron::PortChain",
        NET,
        SUBNET,
        PORT,
        SECOND_PORT,
        PORT_PAIR,
        PORT_PAIR_GROUP,
        FLOW_CLASSIFIER,
        ("more", PORT_PAIR_GROUP[1], {"port_pairs": []}),
        properties={"port_pair_groups": [{"get": "pairs"}]},
        changes=[
            NAME_AND_DESCRIPTION,
            {"flow_classifiers": [{"get": "flows"}]},
            {"port_pair_groups": [{"get": "pairs"}, {"get": "more"}]},
        ],
    ),
    _case(
        "Neutron::L2Gateway",
        properties=L2_GATEWAY[2],
        changes=[
            {"name": "hc-l2gw-2"},
            {"devices": [{"device_name": "e", "interfaces": [{"name": "eth1"}]}]},
        ],
        replacement_properties={"name": "hc-l2gw-3"},
    ),
    _case(
        "Neutron::L2GatewayConnection",
        NET,
        L2_GATEWAY,
        properties={"l2_gateway_id": {"get": "gateway"}, "network_id": {"get": "net"}},
        replacement_properties={"segmentation_id": "9"},
    ),
    _case(
        "Neutron::NetworkGateway",
        NET,
        properties={
            "devices": [{"id": "d", "interface_name": "eth0"}],
            "connections": [{"network": {"get": "net"}}],
        },
        changes=[
            {"name": "hc-gw"},
            {
                "connections": [
                    {"network": {"get": "net"}, "segmentation_type": "vlan", "segmentation_id": 5}
                ]
            },
            {"connections": []},
            {"devices": [{"id": "e", "interface_name": "eth0"}]},
        ],
    ),
]
