"""``OS::Heat::DeployedServer``: a server created elsewhere, with a software agent.

Decides its physical id, which is the resource's own id and the target of deployments; its agent is
that of ``server_agents``.  Does nothing to the server itself; the operator configures its
agent.
Source: Heat's guide "Software configuration".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.builtin.signals.signal_responder import SignalResponder
from heat_convergence.resources.builtin.software.agent_channels import (
    POLL_TEMP_URL,
    has_stored_metadata,
)
from heat_convergence.resources.openstack.nova import server_agents
from heat_convergence.resources.protocol.schema import (
    AttributeSchema,
    CacheMode,
    PropertySchema,
    PropertyType,
    SupportLevel,
    SupportStatus,
    TypeSchema,
)
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult
from heat_convergence.template.parameters.constraints import AllowedValues, Length

Json = Any
_OS_COLLECT_CONFIG = "os_collect_config"
_NO_COLLECTORS = ()  # no cloud service has metadata of it


def _name_property(item: str) -> PropertySchema:
    """Return the schema of the property that names a Swift ``item``."""
    return PropertySchema(
        type=PropertyType.STRING,
        description=f"The name of the {item} that holds the metadata.",
        constraints=(Length(min=1),),
    )


class DeployedServer(SignalResponder):
    """A server that another tool has deployed."""

    name = "OS::Heat::DeployedServer"
    physical_name_limit: ClassVar[int] = 53
    allows_snapshot_on_delete: ClassVar[bool] = True  # there is nothing to save
    secret_data: ClassVar[frozenset[str]] = server_agents.SECRET_DATA_KEYS
    schema = TypeSchema(
        description="Represents a server created elsewhere, as a target of software deployments.",
        properties={
            "name": PropertySchema(
                type=PropertyType.STRING,
                description="The name of the server.",
                update_allowed=True,
            ),
            "metadata": PropertySchema(
                type=PropertyType.MAP,
                description="Metadata of the server, which no service reads.",
                update_allowed=True,
                support_status=SupportStatus(
                    SupportLevel.DEPRECATED,
                    version="9.0.0",
                    previous=SupportStatus(version="8.0.0"),
                ),
            ),
            server_agents.SOFTWARE_CONFIG_TRANSPORT: PropertySchema(
                type=PropertyType.STRING,
                description="How the agent on the server polls its deployments.",
                default=server_agents.POLL_SERVER_CFN,
                update_allowed=True,
                constraints=(AllowedValues(server_agents.TRANSPORTS),),
            ),
            "deployment_swift_data": PropertySchema(
                type=PropertyType.MAP,
                description="Where POLL_TEMP_URL stores the metadata.",
                default={},
                update_allowed=True,
                support_status=SupportStatus(version="9.0.0"),
                schema={
                    "container": _name_property("container"),
                    "object": _name_property("object"),
                },
            ),
        },
        attributes={
            "name": AttributeSchema(PropertyType.STRING, "The name of the server."),
            _OS_COLLECT_CONFIG: AttributeSchema(
                PropertyType.MAP,
                "The configuration of os-collect-config, the agent on the server.",
                support_status=SupportStatus(version="9.0.0"),
                cache_mode=CacheMode.NONE,
            ),
        },
    )

    def create(self, context: ResourceContext) -> VerbResult:
        """Create the agent's user and what it reads."""
        data = server_agents.create_agent(context, _NO_COLLECTORS)
        return VerbResult(ObservedState.READY, context.resource_id, data=data)

    def update(
        self, context: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        """Keep the agent's user, and adapt its configuration to the transport."""
        data = server_agents.update_agent(context, after, _NO_COLLECTORS)
        return VerbResult(ObservedState.READY, context.physical_id, data=data)

    def delete(self, context: ResourceContext) -> VerbResult:
        """Delete the agent's user and what it reads."""
        server_agents.delete_agent(context)
        return VerbResult(ObservedState.ABSENT)

    def find(self, context: ResourceContext) -> str | None:
        """Return the resource's id if the agent's user, or what it reads, exists."""
        if context.properties.get(server_agents.SOFTWARE_CONFIG_TRANSPORT) == POLL_TEMP_URL:
            return context.resource_id if has_stored_metadata(context) else None
        return None if super().find(context) is None else context.resource_id

    # -- attributes and validation

    def attribute(self, context: ResourceContext, name: str) -> Json:
        """Return an attribute; the agent's configuration is computed."""
        if name == "name":
            return context.properties.get("name") or context.physical_name
        if name == _OS_COLLECT_CONFIG:
            return server_agents.agent_metadata(context, _NO_COLLECTORS)
        return super().attribute(context, name)

    def outdated_by_metadata(
        self, data: Mapping[str, Json], read_metadata: Callable[[], Mapping[str, Json]]
    ) -> frozenset[str]:
        """Return the property by whose update the agent gets the metadata."""
        return server_agents.outdated_by_metadata(data, read_metadata)

    def shown_metadata(
        self, context: ResourceContext, metadata: Mapping[str, Json]
    ) -> Mapping[str, Json]:
        """Return the metadata with the agent's configuration."""
        return server_agents.merge_agent_metadata(
            metadata, server_agents.agent_metadata(context, _NO_COLLECTORS)
        )

    def shows_deployments(self, context: ResourceContext) -> bool:
        """Return True: a deployed server always has an agent."""
        return True
