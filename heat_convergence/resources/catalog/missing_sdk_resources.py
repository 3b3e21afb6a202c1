"""Paths and body keys of entities that openstacksdk has no class for.

The classes have the attributes of openstacksdk's, so that ``rest_resources`` treats all alike.
"""

from __future__ import annotations


class _MissingResource:
    commit_method = "PUT"
    base_path: str
    resource_key: str | None = None
    resources_key: str | None = None


class AlarmResource(_MissingResource):
    """An alarm of Aodh; a list of alarms has no outer key."""

    base_path = "/alarms"


class ContainerResource(_MissingResource):
    """A container of Zun."""

    base_path = "/containers"
    resources_key = "containers"


class CronTriggerResource(_MissingResource):
    """A cron trigger of Mistral, whose bodies have no outer key."""

    base_path = "/cron_triggers"
    resources_key = "cron_triggers"


class DatabaseClusterResource(_MissingResource):
    """A cluster of Trove."""

    base_path = "/clusters"
    resource_key = "cluster"
    resources_key = "clusters"


class ExecutionResource(_MissingResource):
    """An execution of a workflow of Mistral."""

    base_path = "/executions"
    resources_key = "executions"


class Firewall(_MissingResource):
    """A firewall of FWaaS, version 1."""

    base_path = "/fw/firewalls"
    resource_key = "firewall"
    resources_key = "firewalls"


class HostResource(_MissingResource):
    """A compute host of Blazar."""

    base_path = "/os-hosts"
    resource_key = "host"
    resources_key = "hosts"


class LeaseResource(_MissingResource):
    """A lease of Blazar."""

    base_path = "/leases"
    resource_key = "lease"
    resources_key = "leases"


class L2Gateway(_MissingResource):
    """A layer 2 gateway."""

    base_path = "/l2-gateways"
    resource_key = "l2_gateway"
    resources_key = "l2_gateways"


class L2GatewayConnection(_MissingResource):
    """A network's connection to a layer 2 gateway."""

    base_path = "/l2-gateway-connections"
    resource_key = "l2_gateway_connection"
    resources_key = "l2_gateway_connections"


class NetworkGateway(_MissingResource):
    """A network gateway of the NSX plug-in."""

    base_path = "/network-gateways"
    resource_key = "network_gateway"
    resources_key = "network_gateways"


class WorkflowResource(_MissingResource):
    """A workflow of Mistral."""

    base_path = "/workflows"
    resources_key = "workflows"


class SecurityServiceResource(_MissingResource):
    """A security service of Manila."""

    base_path = "/security-services"
    resource_key = "security_service"
    resources_key = "security_services"
