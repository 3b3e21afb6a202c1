"""Neutron's resource types, as data; those with behaviour name their class in ``types``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.resources.catalog.things import THINGS
from heat_convergence.resources.driver.row import Arg, Row, Status, not_sent, sent
from heat_convergence.resources.openstack.parts import (
    CONNECTIONS,
    DHCP_AGENTS,
    L3_AGENTS,
    SUB_PORTS,
    TAGS,
)
from heat_convergence.resources.openstack.security_groups import Rules
from heat_convergence.resources.plugin import Implied

BUILDING = Status(busy=frozenset({"build", "pending_create", "pending_update"}))
REAL = "Neutron 29"

_NETWORK = {"network": Arg("network_id", "neutron.network")}
_QOS = {"qos_policy": Arg("qos_policy_id", "neutron.qos_policy")}
_POLICY = {"qos_policy_id": "policy"}
_POLICY_NOUN = {"qos_policy_id": "neutron.qos_policy"}


def _row(name: str, noun: str, **given: Any) -> Row:
    return Row(
        name=f"OS::Neutron::{name}",
        schema="neutron",
        service="neutron",
        thing=THINGS[f"neutron.{noun}"],
        **given,
    )


def _qos_rule(name: str, noun: str) -> Row:
    return _row(
        name,
        noun,
        arguments=not_sent("policy", "tenant_id"),
        places=_POLICY,
        place_nouns=_POLICY_NOUN,
        named=False,
        found_by_content=True,
        tested_on=REAL,
    )


SUBNET = "OS::Neutron::Subnet"
INTERFACE = "OS::Neutron::RouterInterface"
ROUTER = "OS::Neutron::Router"

PORT_ARGUMENTS: Mapping[str, Arg] = {
    **_NETWORK,
    **_QOS,
    **not_sent("replacement_policy", "no_fixed_ips"),
    "fixed_ips.subnet": Arg("subnet_id", "neutron.subnet"),
    "security_groups": Arg("security_groups", "neutron.security_group"),
}

ROWS = (
    _row(
        "Net", "network",
        arguments={**_QOS},
        status=BUILDING,
        parts=(DHCP_AGENTS, TAGS),
        tested_on=REAL,
    ),
    _row(
        "ProviderNet", "network",
        arguments=sent(
            network_type="provider:network_type",
            physical_network="provider:physical_network",
            segmentation_id="provider:segmentation_id",
            router_external="router:external",
        ),
        status=BUILDING,
        parts=(TAGS,),
        tested_on=REAL,
    ),
    _row(
        "Subnet", "subnet",
        arguments={
            **_NETWORK,
            "subnetpool": Arg("subnetpool_id", "neutron.subnetpool"),
            "segment": Arg("segment_id", "neutron.segment"),
        },
        aliases={"network_id": "network"},
        blank_is_null=frozenset({"gateway_ip"}),
        parts=(TAGS,),
        tested_on=REAL,
    ),
    _row(
        "SubnetPool", "subnetpool",
        arguments={"address_scope": Arg("address_scope_id", "neutron.address_scope")},
        parts=(TAGS,),
        tested_on=REAL,
    ),
    _row("AddressScope", "address_scope", tested_on=REAL),
    _row(
        "Port", "port",
        arguments=PORT_ARGUMENTS,
        aliases={"network_id": "network", "fixed_ips.subnet_id": "subnet"},
        implied=(Implied("network", SUBNET, "network"),),
        status=BUILDING,
        parts=(TAGS,),
        tested_on=REAL,
    ),
    _row(
        "Router", "router",
        arguments={
            "external_gateway_info.network": Arg("network_id", "neutron.network"),
            "external_gateway_info.external_fixed_ips.subnet": Arg(
                "subnet_id", "neutron.subnet"
            ),
            "l3_agent_id": Arg(None),
        },
        implied=(Implied("external_gateway_info.network", SUBNET, "network"),),
        status=BUILDING,
        parts=(L3_AGENTS, TAGS),
        tested_on=REAL,
    ),
    _row(
        "SecurityGroup", "security_group",
        parts=(Rules(),),
        tested_on=REAL,
    ),
    _row(
        "SecurityGroupRule", "security_group_rule",
        arguments={
            "security_group": Arg("security_group_id", "neutron.security_group"),
            "remote_group": Arg("remote_group_id", "neutron.security_group"),
        },
        named=False,
        found_by_content=True,
        stays_as_made=True,
        tested_on=REAL,
    ),
    _row(
        "FloatingIP", "floatingip",
        arguments={
            "floating_network": Arg("floating_network_id", "neutron.network"),
            "floating_subnet": Arg("subnet_id", "neutron.subnet"),
        },
        aliases={"floating_network_id": "floating_network"},
        implied=(
            Implied("port_id", INTERFACE),
            Implied("floating_network", ROUTER, "external_gateway_info.network"),
        ),
        named=False,
        null_when_unset=frozenset({"port_id", "fixed_ip_address"}),
        together=frozenset({"port_id", "fixed_ip_address"}),
        tested_on=REAL,
    ),
    _row(
        "RouterInterface", "router",
        aliases={"router_id": "router", "subnet_id": "subnet", "port_id": "port"},
        tested_on=REAL,
    ),
    _row(
        "ExtraRouteSet", "router",
        implied=(Implied("router", INTERFACE, "router"),),
        tested_on=REAL,
    ),
    _row(
        "ExtraRoute", "router",
        implied=(Implied("router_id", INTERFACE, "router"),),
        tested_on=REAL,
    ),
    _row(
        "RouterGateway", "router",
        aliases={"network_id": "network"},
        implied=(
            Implied("router_id", INTERFACE, "router"),
            Implied("network", SUBNET, "network"),
        ),
        tested_on=REAL,
    ),
    _row(
        "FloatingIPAssociation", "floatingip",
        implied=(Implied("port_id", INTERFACE),),
        tested_on=REAL,
    ),
    _row(
        "FloatingIPPortForward", "port_forwarding",
        arguments={
            "floating_ip": Arg(None),
            "internal_port": Arg("internal_port_id", "neutron.port"),
            "internal_port_number": Arg("internal_port"),
        },
        implied=(Implied("internal_port", INTERFACE),),
        places={"floatingip_id": "floating_ip"},
        place_nouns={"floatingip_id": "neutron.floatingip"},
        named=False,
        tested_on=REAL,
    ),
    _row("Quota", "quota", named=False, tested_on=REAL),
    _row("QoSPolicy", "qos_policy", tested_on=REAL),
    _qos_rule("QoSBandwidthLimitRule", "qos_bandwidth_limit_rule"),
    _qos_rule("QoSDscpMarkingRule", "qos_dscp_marking_rule"),
    _qos_rule("QoSMinimumBandwidthRule", "qos_minimum_bandwidth_rule"),
    _qos_rule("QoSMinimumPacketRateRule", "qos_minimum_packet_rate_rule"),
    _row("Segment", "segment", arguments={**_NETWORK}, tested_on=REAL),
    _row(
        "Trunk", "trunk",
        arguments={
            "port": Arg("port_id", "neutron.port"),
        },
        status=BUILDING,
        parts=(SUB_PORTS,),
        tested_on=REAL,
    ),
    _row(
        "RBACPolicy", "rbac_policy", named=False, found_by_content=True, tested_on=REAL
    ),
    _row("MeteringLabel", "metering_label", stays_as_made=True, tested_on=REAL),
    _row(
        "MeteringRule", "metering_label_rule",
        named=False,
        found_by_content=True,
        tested_on=REAL,
    ),
    _row(
        "Firewall", "firewall",
        status=BUILDING,
        arguments=not_sent("shared"),
        waits_for_delete=True,
    ),
    _row("FirewallPolicy", "firewall_policy"),
    _row("FirewallRule", "firewall_rule"),
    _row("IKEPolicy", "ikepolicy"),
    _row("IPsecPolicy", "ipsecpolicy"),
    _row("IPsecSiteConnection", "ipsec_site_connection", status=BUILDING),
    _row(
        "VPNService", "vpnservice",
        arguments={
            "subnet": Arg("subnet_id", "neutron.subnet"),
            "router": Arg("router_id", "neutron.router"),
        },
        aliases={"subnet_id": "subnet", "router_id": "router"},
        status=BUILDING,
    ),
    _row("L2Gateway", "l2_gateway"),
    _row("L2GatewayConnection", "l2_gateway_connection", named=False, found_by_content=True),
    _row(
        "NetworkGateway", "network_gateway",
        parts=(CONNECTIONS,),
        aliases={"connections.network_id": "network"},
    ),
    _row(
        "TaaS::TapService", "taas.tap_service",
        arguments={"port": Arg("port_id", "neutron.port")},
        status=BUILDING,
    ),
    _row(
        "TaaS::TapFlow", "taas.tap_flow",
        arguments={
            "port": Arg("source_port", "neutron.port"),
            "tap_service": Arg("tap_service_id", "neutron.taas.tap_service"),
        },
        status=BUILDING,
    ),
    _row("FlowClassifier", "flow_classifier"),
    _row("PortPair", "port_pair", arguments={
        "ingress": Arg("ingress", "neutron.port"), "egress": Arg("egress", "neutron.port"),
    }),
    _row("PortPairGroup", "port_pair_group", arguments={
        "port_pairs": Arg("port_pairs", "neutron.port_pair"),
    }),
    _row("PortChain", "port_chain", arguments={
        "port_pair_groups": Arg("port_pair_groups", "neutron.port_pair_group"),
        "flow_classifiers": Arg("flow_classifiers", "neutron.flow_classifier"),
    }),
)
