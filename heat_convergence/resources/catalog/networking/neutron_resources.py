"""REST resources of Neutron, and what the specs of its types share.

The specs of ``neutron`` and ``neutron_extensions`` refer to them by entity. Paths, body keys,
paging and filters come from openstacksdk and the API reference of Neutron.
"""

from __future__ import annotations

from functools import partial

from openstack.network.v2 import (
    address_scope,
    agent,
    firewall_policy,
    firewall_rule,
    floating_ip,
    metering_label,
    metering_label_rule,
    network,
    port,
    port_forwarding,
    qos_bandwidth_limit_rule,
    qos_dscp_marking_rule,
    qos_minimum_bandwidth_rule,
    qos_minimum_packet_rate_rule,
    qos_policy,
    quota,
    rbac_policy,
    router,
    security_group,
    security_group_rule,
    segment,
    sfc_flow_classifier,
    sfc_port_chain,
    sfc_port_pair,
    sfc_port_pair_group,
    subnet,
    subnet_pool,
    tap_flow,
    tap_service,
    trunk,
    vpn_ike_policy,
    vpn_ipsec_policy,
    vpn_ipsec_site_connection,
    vpn_service,
)

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
    _neutron("network", network.Network),
    _neutron("subnet", subnet.Subnet),
    _neutron("subnetpool", subnet_pool.SubnetPool),
    _neutron("port", port.Port),
    _neutron("router", router.Router),
    _neutron("security_group", security_group.SecurityGroup, entity_label="security_group"),
    _neutron_without_name("security_group_rule", security_group_rule.SecurityGroupRule),
    _neutron(
        "floatingip",
        floating_ip.FloatingIP,
        entity_label="floatingip",
        name_key="floating_ip_address",
        name_query="floating_ip_address",
    ),
    _neutron_without_description("address_scope", address_scope.AddressScope),
    _neutron("qos_policy", qos_policy.QoSPolicy, entity_label="policy"),
    _neutron("segment", segment.Segment),
    _neutron_without_name("quota", quota.Quota, ownership_mark_field=OwnershipMarkField.NONE),
    _neutron("trunk", trunk.Trunk),
    _neutron_without_name(
        "rbac_policy", rbac_policy.RBACPolicy, ownership_mark_field=OwnershipMarkField.NONE
    ),
    _neutron("metering_label", metering_label.MeteringLabel),
    _neutron_without_name(
        "metering_label_rule",
        metering_label_rule.MeteringLabelRule,
        ownership_mark_field=OwnershipMarkField.NONE,
    ),
    _neutron_without_name(
        "qos_bandwidth_limit_rule",
        qos_bandwidth_limit_rule.QoSBandwidthLimitRule,
        ownership_mark_field=OwnershipMarkField.NONE,
    ),
    _neutron_without_name(
        "qos_dscp_marking_rule",
        qos_dscp_marking_rule.QoSDSCPMarkingRule,
        ownership_mark_field=OwnershipMarkField.NONE,
    ),
    _neutron_without_name(
        "qos_minimum_bandwidth_rule",
        qos_minimum_bandwidth_rule.QoSMinimumBandwidthRule,
        ownership_mark_field=OwnershipMarkField.NONE,
    ),
    _neutron_without_name(
        "qos_minimum_packet_rate_rule",
        qos_minimum_packet_rate_rule.QoSMinimumPacketRateRule,
        ownership_mark_field=OwnershipMarkField.NONE,
    ),
    _neutron_without_name("port_forwarding", port_forwarding.PortForwarding),
    _neutron("agent", agent.Agent, name_key=None, ownership_mark_field=OwnershipMarkField.NONE),
    _neutron("firewall", Firewall),
    _neutron("firewall_policy", firewall_policy.FirewallPolicy, path="/fw/firewall_policies"),
    _neutron("firewall_rule", firewall_rule.FirewallRule, path="/fw/firewall_rules"),
    _neutron("ikepolicy", vpn_ike_policy.VpnIkePolicy),
    _neutron("ipsecpolicy", vpn_ipsec_policy.VpnIpsecPolicy),
    _neutron("ipsec_site_connection", vpn_ipsec_site_connection.VpnIPSecSiteConnection),
    _neutron("vpnservice", vpn_service.VpnService),
    _neutron_without_description("l2_gateway", L2Gateway),
    _neutron_without_name(
        "l2_gateway_connection", L2GatewayConnection, ownership_mark_field=OwnershipMarkField.NONE
    ),
    _neutron_without_description("network_gateway", NetworkGateway),
    _neutron("taas.tap_flow", tap_flow.TapFlow),
    _neutron("taas.tap_service", tap_service.TapService),
    _neutron("flow_classifier", sfc_flow_classifier.SfcFlowClassifier),
    _neutron("port_chain", sfc_port_chain.SfcPortChain),
    _neutron("port_pair", sfc_port_pair.SfcPortPair),
    _neutron("port_pair_group", sfc_port_pair_group.SfcPortPairGroup),
)
FLOATING_IP = REST_RESOURCES["neutron.floatingip"]

neutron_spec = partial(make_spec, "Neutron", REST_RESOURCES)
