"""A bench that runs verbs of resource types on the emulated cloud, without a service."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from heat_convergence.clients.rest_client import RequestLimiter, SdkCloudClient
from heat_convergence.convergence.model.action import Action
from heat_convergence.resources.catalog.resource_types import load_resource_types
from heat_convergence.resources.protocol.schema import resolve_properties
from heat_convergence.resources.protocol.verb_values import ResourceContext
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.testing.openstack.emulation import PROJECT_ID
from heat_convergence.testing.openstack.http_adapter import connect, create_emulation

START = datetime(2026, 1, 1, tzinfo=UTC)


class DriverBench:
    """Resource types with an emulated cloud, and contexts for their verbs.

    Args:
        missing_services: Services that the service catalog lacks.
    """

    def __init__(self, missing_services: frozenset[str] = frozenset()) -> None:
        self.emulation = create_emulation()
        connection = connect(self.emulation, missing_services=missing_services)
        self.cloud = SdkCloudClient("bench", PROJECT_ID, lambda: connection, RequestLimiter(4))
        self.registry = ResourceTypeRegistry(load_resource_types())

    def context(
        self, type_name: str, properties: dict[str, Any], **fields: Any
    ) -> ResourceContext:
        """Return the context of a new resource; ``fields`` replace its defaults."""
        resource_type = self.registry.get(type_name)
        resource_id = fields.pop("resource_id", str(uuid.uuid4()))
        now = START + timedelta(seconds=self.emulation.now_s)
        fields = {"physical_id": None, "action": Action.CREATE, "started_at": now, **fields}
        return ResourceContext(
            stack_id="s",
            stack_name="web",
            project_id=PROJECT_ID,
            resource_id=resource_id,
            name="it",
            type=type_name,
            physical_name=f"web-it-{resource_id[:12]}",
            properties=resolve_properties(resource_type.schema, properties),
            attributes={},
            data={},
            now=now,
            cloud=self.cloud,
            **fields,
        )

    def create(self, context: ResourceContext) -> ResourceContext:
        """Create the resource and return its context with the physical id."""
        result = self.registry.get(context.type).create(context)
        return replace(context, physical_id=result.physical_id)


def server(bench: DriverBench, **fields: Any) -> ResourceContext:
    """Return the context of a server; ``fields`` are further properties."""
    networks = fields.pop("networks", [{"network": "public"}])
    properties = {
        "image": "cirros",
        "flavor": "m1.nano",
        "networks": networks,
        "user_data_format": "RAW",
        **fields,
    }
    return bench.context("OS::Nova::Server", properties)
