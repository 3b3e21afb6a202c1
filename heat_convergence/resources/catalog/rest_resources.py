"""Entities of OpenStack's services, declared as data, one for each kind of REST resource.

Entities are called as the constraints name them (``neutron.network``).  Their paths, body keys,
paging and filters come from openstacksdk and the services' API references.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openstack.block_storage.v3 import backup, qos_spec, snapshot, volume
from openstack.block_storage.v3 import quota_set as block_quota_set
from openstack.block_storage.v3 import type as volume_type
from openstack.compute.v2 import aggregate, flavor, keypair, quota_set, server, server_group
from openstack.identity.v3 import (
    domain,
    endpoint,
    group,
    project,
    region,
    role,
    service,
    user,
)
from openstack.image.v2 import image
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

from heat_convergence.resources.catalog import designate, manila, octavia, swift
from heat_convergence.resources.catalog.missing_sdk_resources import (
    Firewall,
    L2Gateway,
    L2GatewayConnection,
    NetworkGateway,
)
from heat_convergence.resources.driver.rest_resources import (
    BulkRead,
    OwnershipMarkField,
    RestResource,
)


def _neutron(entity: str, resource: type[Any], **fields: Any) -> RestResource:
    """Return an entity of Neutron whose lists filter by id, name and description."""
    options = {
        "bulk_read": BulkRead.BY_IDS,
        "ownership_mark_field": OwnershipMarkField.DESCRIPTION,
        "mark_filterable": True,
        **fields,
    }
    return RestResource(
        entity=f"neutron.{entity}", service="network", sdk_class=resource, **options
    )


def _neutron_without_description(entity: str, resource: type[Any], **fields: Any) -> RestResource:
    """Return an entity of Neutron that has a name but no description."""
    return _neutron(entity, resource, ownership_mark_field=OwnershipMarkField.NAME, **fields)


def _neutron_without_name(entity: str, resource: type[Any], **fields: Any) -> RestResource:
    return _neutron(entity, resource, name_key=None, **fields)


def _nova(entity: str, resource: type[Any], **fields: Any) -> RestResource:
    return RestResource(entity=f"nova.{entity}", service="compute", sdk_class=resource, **fields)


def _cinder(entity: str, resource: type[Any], **fields: Any) -> RestResource:
    return RestResource(
        entity=f"cinder.{entity}", service="block_storage", sdk_class=resource, **fields
    )


def _keystone(entity: str, resource: type[Any], **fields: Any) -> RestResource:
    return RestResource(
        entity=f"keystone.{entity}", service="identity", sdk_class=resource, **fields
    )


_INCLUDE_PRIVATE = (("is_public", "None"),)

_ALL = (
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
    _nova(
        "server",
        server.Server,
        list_path="/servers/detail",
        bulk_read=BulkRead.CHANGED_SINCE,
        ownership_mark_field=OwnershipMarkField.DESCRIPTION,
        microversion="2.26",
        name_query=None,
    ),
    _nova(
        "flavor",
        flavor.Flavor,
        list_path="/flavors/detail",
        name_query=None,
        list_query=_INCLUDE_PRIVATE,
        ownership_mark_field=OwnershipMarkField.DESCRIPTION,
        microversion="2.55",
    ),
    _nova(
        "keypair",
        keypair.Keypair,
        id_key="name",
        name_query=None,
        microversion="2.10",
        entity_label="key",
    ),
    _nova("server_group", server_group.ServerGroup, name_query=None, microversion="2.15"),
    _nova(
        "aggregate",
        aggregate.Aggregate,
        name_query=None,
        ownership_mark_field=OwnershipMarkField.NAME,
    ),
    _cinder(
        "volume",
        volume.Volume,
        list_path="/volumes/detail",
        ownership_mark_field=OwnershipMarkField.METADATA,
    ),
    _cinder(
        "snapshot",
        snapshot.Snapshot,
        list_path="/snapshots/detail",
        ownership_mark_field=OwnershipMarkField.METADATA,
    ),
    _cinder(
        "backup",
        backup.Backup,
        list_path="/backups/detail",
        ownership_mark_field=OwnershipMarkField.DESCRIPTION,
    ),
    _cinder(
        "vtype",
        volume_type.Type,
        name_query=None,
        entity_label="volume type",
        ownership_mark_field=OwnershipMarkField.DESCRIPTION,
        list_query=_INCLUDE_PRIVATE,
    ),
    _cinder("encryption", volume_type.TypeEncryption, name_key=None),
    _cinder("quota", block_quota_set.QuotaSet, path="/os-quota-sets", name_key=None),
    _nova("quota", quota_set.QuotaSet, path="/os-quota-sets", name_key=None),
    _cinder("qos_specs", qos_spec.QoSSpec, name_query=None),
    RestResource(
        entity="glance.image",
        service="image",
        sdk_class=image.Image,
        ownership_mark_field=OwnershipMarkField.NAME,
    ),
    _keystone("project", project.Project, ownership_mark_field=OwnershipMarkField.DESCRIPTION),
    _keystone("user", user.User, ownership_mark_field=OwnershipMarkField.DESCRIPTION),
    _keystone("group", group.Group, ownership_mark_field=OwnershipMarkField.DESCRIPTION),
    _keystone("role", role.Role, ownership_mark_field=OwnershipMarkField.NAME),
    _keystone("domain", domain.Domain, ownership_mark_field=OwnershipMarkField.DESCRIPTION),
    _keystone(
        "region",
        region.Region,
        name_key=None,
        ids_are_uuids=False,
        ownership_mark_field=OwnershipMarkField.DESCRIPTION,
    ),
    _keystone("service", service.Service, ownership_mark_field=OwnershipMarkField.DESCRIPTION),
    _keystone(
        "endpoint",
        endpoint.Endpoint,
        name_query=None,
        ownership_mark_field=OwnershipMarkField.NAME,
    ),
)

REST_RESOURCES: Mapping[str, RestResource] = {
    rest_resource.entity: rest_resource
    for rest_resource in (
        *_ALL,
        *designate.REST_RESOURCES,
        *manila.REST_RESOURCES,
        *octavia.REST_RESOURCES,
        swift.CONTAINER,
    )
}
