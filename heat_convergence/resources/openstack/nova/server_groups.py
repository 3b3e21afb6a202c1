"""``OS::Nova::ServerGroup``: one policy, with rules where Nova supports them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.driver.resource_client import RestResourceClient
from heat_convergence.resources.protocol.verb_values import ResourceContext

Json = Any
RULES_MICROVERSION = "2.64"


class ServerGroup(DeclarativeType):
    """A server group."""

    def client(self, context: ResourceContext) -> RestResourceClient:
        """Return a client; properties with rules need a newer microversion."""
        client = super().client(context)
        if not context.properties.get("rules"):
            return client
        return RestResourceClient(
            client.cloud, replace(client.rest_resource, microversion=RULES_MICROVERSION)
        )

    def create_arguments(self, context: ResourceContext) -> dict[str, Json]:
        """Return the arguments in the form that the microversion expects."""
        arguments = super().create_arguments(context)
        if arguments.get("rules"):
            (arguments["policy"],) = arguments.pop("policies")
            max_servers = arguments["rules"].get("max_server_per_host")
            arguments["rules"] = {"max_server_per_host": int(max_servers)} if max_servers else {}
        else:
            arguments.pop("rules", None)
        return arguments
