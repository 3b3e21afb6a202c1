"""``OS::Nova::ServerGroup``: one policy, with rules where the service knows them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from heat_convergence.resources.driver.calls import Calls
from heat_convergence.resources.driver.declared import DeclaredType
from heat_convergence.resources.plugin import View

Json = Any
WITH_RULES = "2.64"


class ServerGroup(DeclaredType):
    def calls(self, view: View) -> Calls:
        calls = super().calls(view)
        if not view.properties.get("rules"):
            return calls
        return Calls(calls.cloud, replace(calls.thing, microversion=WITH_RULES))

    def create_arguments(self, view: View) -> dict[str, Json]:
        arguments = super().create_arguments(view)
        if arguments.get("rules"):
            (arguments["policy"],) = arguments.pop("policies")
            most = arguments["rules"].get("max_server_per_host")
            arguments["rules"] = {"max_server_per_host": int(most)} if most else {}
        else:
            arguments.pop("rules", None)
        return arguments
