"""An emulated cloud for tests of single resource types."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

from heat_convergence.clients.rest_client import RequestLimiter, SdkCloudClient
from heat_convergence.convergence.model.action import Action
from heat_convergence.resources.protocol.verb_values import ResourceContext
from heat_convergence.testing.openstack.emulation import PROJECT_ID
from heat_convergence.testing.openstack.http_adapter import connect, create_emulation
from tests.catalog_types import DECLARATIVE_TYPES
from tests.unit.resources.conftest import make_context

TYPES = DECLARATIVE_TYPES


class EmulatedCloud:
    """An emulation, and contexts of resources on it."""

    def __init__(self) -> None:
        self.emulation = create_emulation()
        connection = connect(self.emulation)
        self.client = SdkCloudClient(
            str(uuid.uuid4()), PROJECT_ID, lambda: connection, RequestLimiter(8)
        )

    def context(self, type_name: str, properties: dict[str, Any]) -> ResourceContext:
        """Return the context of a resource that is to be created."""
        return make_context(TYPES[type_name], properties, cloud=self.client)

    def created(self, type_name: str, properties: dict[str, Any]) -> ResourceContext:
        """Create a resource and return its context for an update."""
        context = self.context(type_name, properties)
        result = TYPES[type_name].create(context)
        return replace(
            context,
            physical_id=result.physical_id,
            attributes=result.attributes or {},
            data=result.data or {},
            action=Action.UPDATE,
        )
