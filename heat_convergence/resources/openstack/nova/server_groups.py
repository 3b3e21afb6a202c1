"""``OS::Nova::ServerGroup``: one policy, with rules where the service knows them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.driver.resource_client import RestResourceClient
from heat_convergence.resources.protocol.resource_type import ResourceContext

Json = Any
RULES_MICROVERSION = "2.64"


class ServerGroup(DeclarativeType):
    def client(self, view: ResourceContext) -> RestResourceClient:
        calls = super().client(view)
        if not view.properties.get("rules"):
            return calls
        return RestResourceClient(
            calls.cloud, replace(calls.rest_resource, microversion=RULES_MICROVERSION)
        )

    def create_arguments(self, view: ResourceContext) -> dict[str, Json]:
        arguments = super().create_arguments(view)
        if arguments.get("rules"):
            (arguments["policy"],) = arguments.pop("policies")
            most = arguments["rules"].get("max_server_per_host")
            arguments["rules"] = {"max_server_per_host": int(most)} if most else {}
        else:
            arguments.pop("rules", None)
        return arguments
