"""``OS::Neutron::Port``: what the service does by itself when it is not told.

Decides when fixed addresses and security groups are named in a call at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.common.errors import ResourcePropertyConflict
from heat_convergence.resources.driver.declared import DeclaredType
from heat_convergence.resources.plugin import View

Json = Any
FIXED_IPS = "fixed_ips"
NO_FIXED_IPS = "no_fixed_ips"
SECURITY_GROUPS = "security_groups"
DEFAULT_GROUP = "default"


class Port(DeclaredType):
    def create_arguments(self, view: View) -> dict[str, Json]:
        arguments = super().create_arguments(view)
        if view.properties.get(NO_FIXED_IPS):
            arguments[FIXED_IPS] = []
        elif not arguments.get(FIXED_IPS):
            arguments.pop(FIXED_IPS, None)
        return arguments

    def update_arguments(
        self, view: View, after: Mapping[str, Json], names: frozenset[str]
    ) -> dict[str, Json]:
        arguments = super().update_arguments(view, after, names)
        if NO_FIXED_IPS in names and after.get(NO_FIXED_IPS):
            arguments[FIXED_IPS] = []
        elif FIXED_IPS in arguments and not arguments[FIXED_IPS]:
            del arguments[FIXED_IPS]
        if SECURITY_GROUPS in names and not arguments.get(SECURITY_GROUPS):
            # Without any the service leaves the old ones: the project's own instead.
            group = self.lookups(view).id_of(
                "neutron.security_group", DEFAULT_GROUP, project_id=view.project_id
            )
            arguments[SECURITY_GROUPS] = [group]
        return arguments

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        if properties.get(NO_FIXED_IPS) and properties.get(FIXED_IPS):
            raise ResourcePropertyConflict(
                f"Cannot define the following properties at the same time:"
                f" {FIXED_IPS}, {NO_FIXED_IPS}."
            )
