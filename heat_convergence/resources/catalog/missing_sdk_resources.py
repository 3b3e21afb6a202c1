"""Paths and keys of things that openstacksdk has no class for.

Data in the form of its classes, so that ``things`` reads all alike.
"""

from __future__ import annotations


class _Gap:
    commit_method = "PUT"
    base_path: str
    resource_key: str
    resources_key: str


class Firewall(_Gap):
    base_path = "/fw/firewalls"
    resource_key = "firewall"
    resources_key = "firewalls"


class L2Gateway(_Gap):
    base_path = "/l2-gateways"
    resource_key = "l2_gateway"
    resources_key = "l2_gateways"


class L2GatewayConnection(_Gap):
    base_path = "/l2-gateway-connections"
    resource_key = "l2_gateway_connection"
    resources_key = "l2_gateway_connections"


class NetworkGateway(_Gap):
    base_path = "/network-gateways"
    resource_key = "network_gateway"
    resources_key = "network_gateways"
