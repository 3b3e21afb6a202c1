"""Specs of the resource types of Neutron and its common extensions."""

from __future__ import annotations

from collections.abc import Mapping

from heat_convergence.resources.catalog.catalog_service import CatalogService
from heat_convergence.resources.catalog.networking import neutron_extensions
from heat_convergence.resources.catalog.networking.neutron_resources import (
    NETWORK_STATUS,
    REST_RESOURCES,
    USABLE_WHILE_BUILT,
    neutron_spec,
)
from heat_convergence.resources.driver.type_spec import (
    ArgumentMapping,
    TypeSpec,
    omit_arguments,
    rename_arguments,
)
from heat_convergence.resources.openstack.neutron.floating_ips import FloatingIPAssociation
from heat_convergence.resources.openstack.neutron.ports import Port
from heat_convergence.resources.openstack.neutron.router_associations import (
    ExtraRoute,
    ExtraRouteSet,
    RouterGateway,
    RouterInterface,
)
from heat_convergence.resources.openstack.neutron.security_groups import (
    SecurityGroup,
    SecurityGroupRules,
)
from heat_convergence.resources.openstack.neutron.subresources import (
    DHCP_AGENT_SCHEDULING,
    L3_AGENT_SCHEDULING,
    TRUNK_SUB_PORTS,
)
from heat_convergence.resources.openstack.quotas import Quota
from heat_convergence.resources.openstack.subresources import TAGS
from heat_convergence.resources.protocol.resource_type import ImplicitDependency

TESTED_RELEASE = "Neutron 29"

_NETWORK = {"network": ArgumentMapping("network_id", "neutron.network")}
_QOS = {"qos_policy": ArgumentMapping("qos_policy_id", "neutron.qos_policy")}
_POLICY = {"qos_policy_id": "policy"}
_POLICY_ENTITY = {"qos_policy_id": "neutron.qos_policy"}


def _qos_rule(name: str, entity: str) -> TypeSpec:
    return neutron_spec(
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
    neutron_spec(
        "Net",
        "network",
        live_attributes=frozenset({"subnets", "segments"}),
        arguments={**_QOS},
        status_mapping=NETWORK_STATUS,
        dependent_levels=USABLE_WHILE_BUILT,
        subresources=(DHCP_AGENT_SCHEDULING, TAGS),
        test_environment=TESTED_RELEASE,
    ),
    neutron_spec(
        "ProviderNet",
        "network",
        arguments=rename_arguments(
            network_type="provider:network_type",
            physical_network="provider:physical_network",
            segmentation_id="provider:segmentation_id",
            router_external="router:external",
        ),
        status_mapping=NETWORK_STATUS,
        dependent_levels=USABLE_WHILE_BUILT,
        subresources=(TAGS,),
        test_environment=TESTED_RELEASE,
    ),
    neutron_spec(
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
    neutron_spec(
        "SubnetPool",
        "subnetpool",
        arguments={"address_scope": ArgumentMapping("address_scope_id", "neutron.address_scope")},
        subresources=(TAGS,),
        test_environment=TESTED_RELEASE,
    ),
    neutron_spec("AddressScope", "address_scope", test_environment=TESTED_RELEASE),
    neutron_spec(
        "Port",
        "port",
        live_attributes=frozenset(
            {"fixed_ips", "device_id", "device_owner", "dns_assignment", "subnets"}
        ),
        arguments=PORT_ARGUMENTS,
        aliases={"network_id": "network", "fixed_ips.subnet_id": "subnet"},
        implicit_dependencies=(ImplicitDependency("network", SUBNET, "network"),),
        status_mapping=NETWORK_STATUS,
        dependent_levels=USABLE_WHILE_BUILT,
        subresources=(TAGS,),
        test_environment=TESTED_RELEASE,
    ),
    neutron_spec(
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
        dependent_levels=USABLE_WHILE_BUILT,
        subresources=(L3_AGENT_SCHEDULING, TAGS),
        test_environment=TESTED_RELEASE,
    ),
    neutron_spec(
        "SecurityGroup",
        "security_group",
        subresources=(SecurityGroupRules(),),
        test_environment=TESTED_RELEASE,
    ),
    neutron_spec(
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
    neutron_spec(
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
    neutron_spec(
        "RouterInterface",
        "router",
        aliases={"router_id": "router", "subnet_id": "subnet", "port_id": "port"},
        test_environment=TESTED_RELEASE,
    ),
    neutron_spec(
        "ExtraRouteSet",
        "router",
        implicit_dependencies=(ImplicitDependency("router", ROUTER_INTERFACE, "router"),),
        test_environment=TESTED_RELEASE,
    ),
    neutron_spec(
        "ExtraRoute",
        "router",
        implicit_dependencies=(ImplicitDependency("router_id", ROUTER_INTERFACE, "router"),),
        test_environment=TESTED_RELEASE,
    ),
    neutron_spec(
        "RouterGateway",
        "router",
        aliases={"network_id": "network"},
        implicit_dependencies=(
            ImplicitDependency("router_id", ROUTER_INTERFACE, "router"),
            ImplicitDependency("network", SUBNET, "network"),
        ),
        test_environment=TESTED_RELEASE,
    ),
    neutron_spec(
        "FloatingIPAssociation",
        "floatingip",
        implicit_dependencies=(ImplicitDependency("port_id", ROUTER_INTERFACE),),
        test_environment=TESTED_RELEASE,
    ),
    neutron_spec(
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
    neutron_spec("Quota", "quota", has_name=False, test_environment=TESTED_RELEASE),
    neutron_spec("QoSPolicy", "qos_policy", test_environment=TESTED_RELEASE),
    _qos_rule("QoSBandwidthLimitRule", "qos_bandwidth_limit_rule"),
    _qos_rule("QoSDscpMarkingRule", "qos_dscp_marking_rule"),
    _qos_rule("QoSMinimumBandwidthRule", "qos_minimum_bandwidth_rule"),
    _qos_rule("QoSMinimumPacketRateRule", "qos_minimum_packet_rate_rule"),
    neutron_spec("Segment", "segment", arguments={**_NETWORK}, test_environment=TESTED_RELEASE),
    neutron_spec(
        "Trunk",
        "trunk",
        arguments={
            "port": ArgumentMapping("port_id", "neutron.port"),
        },
        status_mapping=NETWORK_STATUS,
        subresources=(TRUNK_SUB_PORTS,),
        test_environment=TESTED_RELEASE,
    ),
    neutron_spec(
        "RBACPolicy",
        "rbac_policy",
        has_name=False,
        findable_by_content=True,
        test_environment=TESTED_RELEASE,
    ),
    neutron_spec(
        "MeteringLabel", "metering_label", immutable=True, test_environment=TESTED_RELEASE
    ),
    neutron_spec(
        "MeteringRule",
        "metering_label_rule",
        has_name=False,
        findable_by_content=True,
        test_environment=TESTED_RELEASE,
    ),
)

NEUTRON = CatalogService(
    REST_RESOURCES,
    (*TYPE_SPECS, *neutron_extensions.TYPE_SPECS),
    {
        "OS::Neutron::ExtraRoute": ExtraRoute,
        "OS::Neutron::ExtraRouteSet": ExtraRouteSet,
        "OS::Neutron::FloatingIPAssociation": FloatingIPAssociation,
        "OS::Neutron::Port": Port,
        "OS::Neutron::Quota": Quota,
        "OS::Neutron::RouterGateway": RouterGateway,
        "OS::Neutron::RouterInterface": RouterInterface,
        "OS::Neutron::SecurityGroup": SecurityGroup,
    },
)
