"""``OS::Ironic::Port``: a port of a bare metal node.

Source: docs.openstack.org/api-ref/baremetal.
"""

from __future__ import annotations

from typing import Any

from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.protocol.verb_values import ResourceContext

Json = Any


class BaremetalPort(DeclarativeType):
    """A port, whose address no other port has."""

    def create_arguments(self, context: ResourceContext) -> dict[str, Json]:
        """Return the arguments with the address in the notation of the service."""
        arguments = super().create_arguments(context)
        return {**arguments, "address": str(arguments["address"]).lower()}
