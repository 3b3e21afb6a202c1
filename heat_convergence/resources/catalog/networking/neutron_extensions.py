"""Specs of the resource types of Neutron's firewall, VPN, gateway, mirror and chaining services.

They have not been tested on a real cloud; docs/reference/catalogue.rst shows the state of each.
"""

from __future__ import annotations

from heat_convergence.resources.catalog.networking.neutron_resources import (
    NETWORK_STATUS,
    neutron_spec,
)
from heat_convergence.resources.driver.type_spec import (
    ArgumentMapping,
    omit_arguments,
)
from heat_convergence.resources.openstack.neutron.subresources import GATEWAY_CONNECTIONS

TYPE_SPECS = (
    neutron_spec(
        "Firewall",
        "firewall",
        status_mapping=NETWORK_STATUS,
        arguments=omit_arguments("shared"),
        deletes_asynchronously=True,
    ),
    neutron_spec("FirewallPolicy", "firewall_policy"),
    neutron_spec("FirewallRule", "firewall_rule"),
    neutron_spec("IKEPolicy", "ikepolicy"),
    neutron_spec("IPsecPolicy", "ipsecpolicy"),
    neutron_spec("IPsecSiteConnection", "ipsec_site_connection", status_mapping=NETWORK_STATUS),
    neutron_spec(
        "VPNService",
        "vpnservice",
        arguments={
            "subnet": ArgumentMapping("subnet_id", "neutron.subnet"),
            "router": ArgumentMapping("router_id", "neutron.router"),
        },
        aliases={"subnet_id": "subnet", "router_id": "router"},
        status_mapping=NETWORK_STATUS,
    ),
    neutron_spec("L2Gateway", "l2_gateway"),
    neutron_spec(
        "L2GatewayConnection", "l2_gateway_connection", has_name=False, findable_by_content=True
    ),
    neutron_spec(
        "NetworkGateway",
        "network_gateway",
        subresources=(GATEWAY_CONNECTIONS,),
        aliases={"connections.network_id": "network"},
    ),
    neutron_spec(
        "TaaS::TapService",
        "taas.tap_service",
        arguments={"port": ArgumentMapping("port_id", "neutron.port")},
        status_mapping=NETWORK_STATUS,
    ),
    neutron_spec(
        "TaaS::TapFlow",
        "taas.tap_flow",
        arguments={
            "port": ArgumentMapping("source_port", "neutron.port"),
            "tap_service": ArgumentMapping("tap_service_id", "neutron.taas.tap_service"),
        },
        status_mapping=NETWORK_STATUS,
    ),
    neutron_spec("FlowClassifier", "flow_classifier"),
    neutron_spec(
        "PortPair",
        "port_pair",
        arguments={
            "ingress": ArgumentMapping("ingress", "neutron.port"),
            "egress": ArgumentMapping("egress", "neutron.port"),
        },
    ),
    neutron_spec(
        "PortPairGroup",
        "port_pair_group",
        arguments={
            "port_pairs": ArgumentMapping("port_pairs", "neutron.port_pair"),
        },
    ),
    neutron_spec(
        "PortChain",
        "port_chain",
        arguments={
            "port_pair_groups": ArgumentMapping("port_pair_groups", "neutron.port_pair_group"),
            "flow_classifiers": ArgumentMapping("flow_classifiers", "neutron.flow_classifier"),
        },
    ),
)
