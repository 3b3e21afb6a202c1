"""REST resources of Neutron, and what the specs of its types share.

The specs of ``neutron`` and ``neutron_extensions`` refer to them by entity. Paths, body keys,
paging and filters come from openstacksdk and the API reference of Neutron.
"""

from __future__ import annotations

from functools import partial

from heat_convergence.resources.catalog.catalog_rows import make_rest_resource, make_spec
from heat_convergence.resources.catalog.missing_sdk_resources import (
    Firewall,
    L2Gateway,
    L2GatewayConnection,
    NetworkGateway,
)
from heat_convergence.resources.driver.rest_resources import (
    BulkRead,
    OwnershipMarkField,
    by_entity,
)
from heat_convergence.resources.driver.type_spec import StatusMapping
from heat_convergence.template.environment.readiness import ReadinessLevel

NETWORK_STATUS = StatusMapping(busy=frozenset({"build", "pending_create", "pending_update"}))
# What refers to a network, a router or a port does not need its status to be ACTIVE or DOWN.
USABLE_WHILE_BUILT = {"*": ReadinessLevel.EXISTS}


# Lists filter by id, name and description.
_neutron = partial(
    make_rest_resource,
    "Neutron",
    "network",
    bulk_read=BulkRead.BY_IDS,
    ownership_mark_field=OwnershipMarkField.DESCRIPTION,
    mark_filterable=True,
)
_neutron_without_description = partial(_neutron, ownership_mark_field=OwnershipMarkField.NAME)
_neutron_without_name = partial(_neutron, name_key=None)

REST_RESOURCES = by_entity(
    _neutron("network", "network.v2.network.Network"),
    _neutron("subnet", "network.v2.subnet.Subnet"),
    _neutron("subnetpool", "network.v2.subnet_pool.SubnetPool"),
    _neutron("port", "network.v2.port.Port"),
    _neutron("router", "network.v2.router.Router"),
    _neutron(
        "security_group", "network.v2.security_group.SecurityGroup", entity_label="security_group"
    ),
    _neutron_without_name(
        "security_group_rule", "network.v2.security_group_rule.SecurityGroupRule"
    ),
    _neutron(
        "floatingip",
        "network.v2.floating_ip.FloatingIP",
        entity_label="floatingip",
        name_key="floating_ip_address",
        name_query="floating_ip_address",
    ),
    _neutron_without_description("address_scope", "network.v2.address_scope.AddressScope"),
    _neutron("qos_policy", "network.v2.qos_policy.QoSPolicy", entity_label="policy"),
    _neutron("segment", "network.v2.segment.Segment"),
    _neutron_without_name(
        "quota", "network.v2.quota.Quota", ownership_mark_field=OwnershipMarkField.NONE
    ),
    _neutron("trunk", "network.v2.trunk.Trunk"),
    _neutron_without_name(
        "rbac_policy",
        "network.v2.rbac_policy.RBACPolicy",
        ownership_mark_field=OwnershipMarkField.NONE,
    ),
    _neutron("metering_label", "network.v2.metering_label.MeteringLabel"),
    _neutron_without_name(
        "metering_label_rule",
        "network.v2.metering_label_rule.MeteringLabelRule",
        ownership_mark_field=OwnershipMarkField.NONE,
    ),
    _neutron_without_name(
        "qos_bandwidth_limit_rule",
        "network.v2.qos_bandwidth_limit_rule.QoSBandwidthLimitRule",
        ownership_mark_field=OwnershipMarkField.NONE,
    ),
    _neutron_without_name(
        "qos_dscp_marking_rule",
        "network.v2.qos_dscp_marking_rule.QoSDSCPMarkingRule",
        ownership_mark_field=OwnershipMarkField.NONE,
    ),
    _neutron_without_name(
        "qos_minimum_bandwidth_rule",
        "network.v2.qos_minimum_bandwidth_rule.QoSMinimumBandwidthRule",
        ownership_mark_field=OwnershipMarkField.NONE,
    ),
    _neutron_without_name(
        "qos_minimum_packet_rate_rule",
        "network.v2.qos_minimum_packet_rate_rule.QoSMinimumPacketRateRule",
        ownership_mark_field=OwnershipMarkField.NONE,
    ),
    _neutron_without_name("port_forwarding", "network.v2.port_forwarding.PortForwarding"),
    _neutron(
        "agent",
        "network.v2.agent.Agent",
        name_key=None,
        ownership_mark_field=OwnershipMarkField.NONE,
    ),
    _neutron("firewall", Firewall),
    _neutron(
        "firewall_policy",
        "network.v2.firewall_policy.FirewallPolicy",
        path="/fw/firewall_policies",
    ),
    _neutron("firewall_rule", "network.v2.firewall_rule.FirewallRule", path="/fw/firewall_rules"),
    _neutron("ikepolicy", "network.v2.vpn_ike_policy.VpnIkePolicy"),
    _neutron("ipsecpolicy", "network.v2.vpn_ipsec_policy.VpnIpsecPolicy"),
    _neutron(
        "ipsec_site_connection", "network.v2.vpn_ipsec_site_connection.VpnIPSecSiteConnection"
    ),
    _neutron("vpnservice", "network.v2.vpn_service.VpnService"),
    _neutron_without_description("l2_gateway", L2Gateway),
    _neutron_without_name(
        "l2_gateway_connection", L2GatewayConnection, ownership_mark_field=OwnershipMarkField.NONE
    ),
    _neutron_without_description("network_gateway", NetworkGateway),
    _neutron("taas.tap_flow", "network.v2.tap_flow.TapFlow"),
    _neutron("taas.tap_service", "network.v2.tap_service.TapService"),
    _neutron("flow_classifier", "network.v2.sfc_flow_classifier.SfcFlowClassifier"),
    _neutron("port_chain", "network.v2.sfc_port_chain.SfcPortChain"),
    _neutron("port_pair", "network.v2.sfc_port_pair.SfcPortPair"),
    _neutron("port_pair_group", "network.v2.sfc_port_pair_group.SfcPortPairGroup"),
)
FLOATING_IP = REST_RESOURCES["neutron.floatingip"]

neutron_spec = partial(make_spec, "Neutron", REST_RESOURCES)
