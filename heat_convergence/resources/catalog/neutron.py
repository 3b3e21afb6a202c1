"""Specs of Neutron's resource types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.resources.catalog.rest_resources import REST_RESOURCES
from heat_convergence.resources.driver.type_spec import (
    ArgumentMapping,
    StatusMapping,
    TypeSpec,
    omit_arguments,
    rename_arguments,
)
from heat_convergence.resources.openstack.neutron.security_groups import SecurityGroupRules
from heat_convergence.resources.openstack.neutron.subresources import (
    DHCP_AGENT_SCHEDULING,
    GATEWAY_CONNECTIONS,
    L3_AGENT_SCHEDULING,
    TRUNK_SUB_PORTS,
)
from heat_convergence.resources.openstack.subresources import TAGS
from heat_convergence.resources.protocol.resource_type import ImplicitDependency

NETWORK_STATUS = StatusMapping(busy=frozenset({"build", "pending_create", "pending_update"}))
TESTED_RELEASE = "Neutron 29"

_NETWORK = {"network": ArgumentMapping("network_id", "neutron.network")}
_QOS = {"qos_policy": ArgumentMapping("qos_policy_id", "neutron.qos_policy")}
_POLICY = {"qos_policy_id": "policy"}
_POLICY_ENTITY = {"qos_policy_id": "neutron.qos_policy"}


def _spec(name: str, entity: str, **fields: Any) -> TypeSpec:
    return TypeSpec(
        name=f"OS::Neutron::{name}",
        schema_file="neutron",
        service="neutron",
        rest_resource=REST_RESOURCES[f"neutron.{entity}"],
        **fields,
    )


def _qos_rule(name: str, entity: str) -> TypeSpec:
    return _spec(
        name,
        entity,
        arguments=omit_arguments("policy", "tenant_id"),
        path_properties=_POLICY,
        path_entities=_POLICY_ENTITY,
        has_name=False,
        findable_by_content=True,
        test_environment=TESTED_RELEASE,
    )


SUBNET = "OS::Neutron::Subnet"
ROUTER_INTERFACE = "OS::Neutron::RouterInterface"
ROUTER = "OS::Neutron::Router"

PORT_ARGUMENTS: Mapping[str, ArgumentMapping] = {
    **_NETWORK,
    **_QOS,
    **omit_arguments("replacement_policy", "no_fixed_ips"),
    "fixed_ips.subnet": ArgumentMapping("subnet_id", "neutron.subnet"),
    "security_groups": ArgumentMapping("security_groups", "neutron.security_group"),
}

TYPE_SPECS = (
    _spec(
        "Net",
        "network",
        live_attributes=frozenset({"subnets", "segments"}),
        arguments={**_QOS},
        status_mapping=NETWORK_STATUS,
        subresources=(DHCP_AGENT_SCHEDULING, TAGS),
        test_environment=TESTED_RELEASE,
    ),
    _spec(
        "ProviderNet",
        "network",
        arguments=rename_arguments(
            network_type="provider:network_type",
            physical_network="provider:physical_network",
            segmentation_id="provider:segmentation_id",
            router_external="router:external",
        ),
        status_mapping=NETWORK_STATUS,
        subresources=(TAGS,),
        test_environment=TESTED_RELEASE,
    ),
    _spec(
        "Subnet",
        "subnet",
        arguments={
            **_NETWORK,
            "subnetpool": ArgumentMapping("subnetpool_id", "neutron.subnetpool"),
            "segment": ArgumentMapping("segment_id", "neutron.segment"),
        },
        aliases={"network_id": "network"},
        null_when_blank=frozenset({"gateway_ip"}),
        null_when_unset=frozenset({"gateway_ip"}),
        subresources=(TAGS,),
        test_environment=TESTED_RELEASE,
    ),
    _spec(
        "SubnetPool",
        "subnetpool",
        arguments={"address_scope": ArgumentMapping("address_scope_id", "neutron.address_scope")},
        subresources=(TAGS,),
        test_environment=TESTED_RELEASE,
    ),
    _spec("AddressScope", "address_scope", test_environment=TESTED_RELEASE),
    _spec(
        "Port",
        "port",
        live_attributes=frozenset(
            {"fixed_ips", "device_id", "device_owner", "dns_assignment", "subnets"}
        ),
        arguments=PORT_ARGUMENTS,
        aliases={"network_id": "network", "fixed_ips.subnet_id": "subnet"},
        implicit_dependencies=(ImplicitDependency("network", SUBNET, "network"),),
        status_mapping=NETWORK_STATUS,
        subresources=(TAGS,),
        test_environment=TESTED_RELEASE,
    ),
    _spec(
        "Router",
        "router",
        live_attributes=frozenset({"external_gateway_info"}),
        arguments={
            "external_gateway_info.network": ArgumentMapping("network_id", "neutron.network"),
            "external_gateway_info.external_fixed_ips.subnet": ArgumentMapping(
                "subnet_id", "neutron.subnet"
            ),
            "l3_agent_id": ArgumentMapping(None),
        },
        implicit_dependencies=(
            ImplicitDependency("external_gateway_info.network", SUBNET, "network"),
        ),
        status_mapping=NETWORK_STATUS,
        subresources=(L3_AGENT_SCHEDULING, TAGS),
        test_environment=TESTED_RELEASE,
    ),
    _spec(
        "SecurityGroup",
        "security_group",
        subresources=(SecurityGroupRules(),),
        test_environment=TESTED_RELEASE,
    ),
    _spec(
        "SecurityGroupRule",
        "security_group_rule",
        arguments={
            "security_group": ArgumentMapping("security_group_id", "neutron.security_group"),
            "remote_group": ArgumentMapping("remote_group_id", "neutron.security_group"),
        },
        has_name=False,
        findable_by_content=True,
        immutable=True,
        test_environment=TESTED_RELEASE,
    ),
    _spec(
        "FloatingIP",
        "floatingip",
        live_attributes=frozenset({"router_id", "fixed_ip_address", "port_id"}),
        arguments={
            "floating_network": ArgumentMapping("floating_network_id", "neutron.network"),
            "floating_subnet": ArgumentMapping("subnet_id", "neutron.subnet"),
        },
        aliases={"floating_network_id": "floating_network"},
        implicit_dependencies=(
            ImplicitDependency("port_id", ROUTER_INTERFACE),
            ImplicitDependency("floating_network", ROUTER, "external_gateway_info.network"),
        ),
        has_name=False,
        null_when_unset=frozenset({"port_id", "fixed_ip_address"}),
        updated_together=frozenset({"port_id", "fixed_ip_address"}),
        test_environment=TESTED_RELEASE,
    ),
    _spec(
        "RouterInterface",
        "router",
        aliases={"router_id": "router", "subnet_id": "subnet", "port_id": "port"},
        test_environment=TESTED_RELEASE,
    ),
    _spec(
        "ExtraRouteSet",
        "router",
        implicit_dependencies=(ImplicitDependency("router", ROUTER_INTERFACE, "router"),),
        test_environment=TESTED_RELEASE,
    ),
    _spec(
        "ExtraRoute",
        "router",
        implicit_dependencies=(ImplicitDependency("router_id", ROUTER_INTERFACE, "router"),),
        test_environment=TESTED_RELEASE,
    ),
    _spec(
        "RouterGateway",
        "router",
        aliases={"network_id": "network"},
        implicit_dependencies=(
            ImplicitDependency("router_id", ROUTER_INTERFACE, "router"),
            ImplicitDependency("network", SUBNET, "network"),
        ),
        test_environment=TESTED_RELEASE,
    ),
    _spec(
        "FloatingIPAssociation",
        "floatingip",
        implicit_dependencies=(ImplicitDependency("port_id", ROUTER_INTERFACE),),
        test_environment=TESTED_RELEASE,
    ),
    _spec(
        "FloatingIPPortForward",
        "port_forwarding",
        arguments={
            "floating_ip": ArgumentMapping(None),
            "internal_port": ArgumentMapping("internal_port_id", "neutron.port"),
            "internal_port_number": ArgumentMapping("internal_port"),
        },
        implicit_dependencies=(ImplicitDependency("internal_port", ROUTER_INTERFACE),),
        path_properties={"floatingip_id": "floating_ip"},
        path_entities={"floatingip_id": "neutron.floatingip"},
        has_name=False,
        test_environment=TESTED_RELEASE,
    ),
    _spec("Quota", "quota", has_name=False, test_environment=TESTED_RELEASE),
    _spec("QoSPolicy", "qos_policy", test_environment=TESTED_RELEASE),
    _qos_rule("QoSBandwidthLimitRule", "qos_bandwidth_limit_rule"),
    _qos_rule("QoSDscpMarkingRule", "qos_dscp_marking_rule"),
    _qos_rule("QoSMinimumBandwidthRule", "qos_minimum_bandwidth_rule"),
    _qos_rule("QoSMinimumPacketRateRule", "qos_minimum_packet_rate_rule"),
    _spec("Segment", "segment", arguments={**_NETWORK}, test_environment=TESTED_RELEASE),
    _spec(
        "Trunk",
        "trunk",
        arguments={
            "port": ArgumentMapping("port_id", "neutron.port"),
        },
        status_mapping=NETWORK_STATUS,
        subresources=(TRUNK_SUB_PORTS,),
        test_environment=TESTED_RELEASE,
    ),
    _spec(
        "RBACPolicy",
        "rbac_policy",
        has_name=False,
        findable_by_content=True,
        test_environment=TESTED_RELEASE,
    ),
    _spec("MeteringLabel", "metering_label", immutable=True, test_environment=TESTED_RELEASE),
    _spec(
        "MeteringRule",
        "metering_label_rule",
        has_name=False,
        findable_by_content=True,
        test_environment=TESTED_RELEASE,
    ),
    _spec(
        "Firewall",
        "firewall",
        status_mapping=NETWORK_STATUS,
        arguments=omit_arguments("shared"),
        deletes_asynchronously=True,
    ),
    _spec("FirewallPolicy", "firewall_policy"),
    _spec("FirewallRule", "firewall_rule"),
    _spec("IKEPolicy", "ikepolicy"),
    _spec("IPsecPolicy", "ipsecpolicy"),
    _spec("IPsecSiteConnection", "ipsec_site_connection", status_mapping=NETWORK_STATUS),
    _spec(
        "VPNService",
        "vpnservice",
        arguments={
            "subnet": ArgumentMapping("subnet_id", "neutron.subnet"),
            "router": ArgumentMapping("router_id", "neutron.router"),
        },
        aliases={"subnet_id": "subnet", "router_id": "router"},
        status_mapping=NETWORK_STATUS,
    ),
    _spec("L2Gateway", "l2_gateway"),
    _spec(
        "L2GatewayConnection", "l2_gateway_connection", has_name=False, findable_by_content=True
    ),
    _spec(
        "NetworkGateway",
        "network_gateway",
        subresources=(GATEWAY_CONNECTIONS,),
        aliases={"connections.network_id": "network"},
    ),
    _spec(
        "TaaS::TapService",
        "taas.tap_service",
        arguments={"port": ArgumentMapping("port_id", "neutron.port")},
        status_mapping=NETWORK_STATUS,
    ),
    _spec(
        "TaaS::TapFlow",
        "taas.tap_flow",
        arguments={
            "port": ArgumentMapping("source_port", "neutron.port"),
            "tap_service": ArgumentMapping("tap_service_id", "neutron.taas.tap_service"),
        },
        status_mapping=NETWORK_STATUS,
    ),
    _spec("FlowClassifier", "flow_classifier"),
    _spec(
        "PortPair",
        "port_pair",
        arguments={
            "ingress": ArgumentMapping("ingress", "neutron.port"),
            "egress": ArgumentMapping("egress", "neutron.port"),
        },
    ),
    _spec(
        "PortPairGroup",
        "port_pair_group",
        arguments={
            "port_pairs": ArgumentMapping("port_pairs", "neutron.port_pair"),
        },
    ),
    _spec(
        "PortChain",
        "port_chain",
        arguments={
            "port_pair_groups": ArgumentMapping("port_pair_groups", "neutron.port_pair_group"),
            "flow_classifiers": ArgumentMapping("flow_classifiers", "neutron.flow_classifier"),
        },
    ),
)
