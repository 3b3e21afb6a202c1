"""``OS::Keystone::Region``: a region whose id is chosen by its creator."""

from __future__ import annotations

from typing import Any

from heat_convergence.common.failures import ResourceGone
from heat_convergence.resources.driver import ownership_marks
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.protocol.verb_values import ResourceContext

Json = Any


class KeystoneRegion(DeclarativeType):
    """A region, which other resources refer to by its id."""

    def create_arguments(self, context: ResourceContext) -> dict[str, Json]:
        """Return the arguments with the physical name as the id, unless the template has one."""
        arguments = super().create_arguments(context)
        return {**arguments, "id": arguments.get("id") or context.physical_name}

    def find(self, context: ResourceContext) -> str | None:
        """Return the region's id if it carries the ownership mark of this resource."""
        region_id = str(context.properties.get("id") or context.physical_name)
        try:
            body = self.client(context).get(region_id)
        except ResourceGone:
            return None
        return region_id if ownership_marks.has_ownership_mark(context, body) else None
