"""``OS::Heat::DeployedServer``: a machine that somebody else has made, with an agent on it.

Decides what stands for it here: the resource's own id, at which software is deployed, and
the user as whom its agent asks for that.  Nothing is done to the machine itself; its
agent's configuration is brought to it by hand.
Source: heat-facts ``resource_groups.md``, "Software configuration".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.builtin.signals.signal_responder import SignalResponder
from heat_convergence.resources.openstack.nova import server_agents
from heat_convergence.resources.protocol.resource_type import ResourceContext, VerbResult
from heat_convergence.resources.protocol.schema import (
    AttributeSchema,
    CacheMode,
    PropertySchema,
    PropertyType,
    SupportLevel,
    SupportStatus,
    TypeSchema,
)
from heat_convergence.template.parameters.constraints import AllowedValues, Length

Json = Any
_COLLECT = "os_collect_config"
_TRANSPORTS = (
    server_agents.POLL_SERVER_CFN,
    server_agents.POLL_SERVER_HEAT,
    "POLL_TEMP_URL",
    "ZAQAR_MESSAGE",
)
_NO_CLOUD = ()  # no service that made it tells it anything


def _place(what: str) -> PropertySchema:
    return PropertySchema(
        type=PropertyType.STRING,
        description=f"The name of the {what} that the metadata are to be kept in.",
        constraints=(Length(min=1),),
    )


class DeployedServer(SignalResponder):
    name = "OS::Heat::DeployedServer"
    physical_name_limit: ClassVar[int] = 53
    allows_snapshot_on_delete: ClassVar[bool] = True  # there is nothing to keep
    secret_data: ClassVar[frozenset[str]] = server_agents.SECRET_DATA_KEYS
    schema = TypeSchema(
        description="Stands for a machine made elsewhere, on which software is deployed.",
        properties={
            "name": PropertySchema(
                type=PropertyType.STRING,
                description="What it is called.",
                update_allowed=True,
            ),
            "metadata": PropertySchema(
                type=PropertyType.MAP,
                description="Had metadata of the compute service; nobody is told them.",
                update_allowed=True,
                support_status=SupportStatus(
                    SupportLevel.DEPRECATED,
                    version="9.0.0",
                    previous=SupportStatus(version="8.0.0"),
                ),
            ),
            server_agents.SOFTWARE_CONFIG_TRANSPORT: PropertySchema(
                type=PropertyType.STRING,
                description="How the agent on it asks for what is deployed.",
                default=server_agents.POLL_SERVER_CFN,
                update_allowed=True,
                constraints=(AllowedValues(_TRANSPORTS),),
            ),
            "deployment_swift_data": PropertySchema(
                type=PropertyType.MAP,
                description="Where POLL_TEMP_URL keeps the metadata.",
                default={},
                update_allowed=True,
                support_status=SupportStatus(version="9.0.0"),
                schema={"container": _place("container"), "object": _place("object")},
            ),
        },
        attributes={
            "name": AttributeSchema(PropertyType.STRING, "What it is called."),
            _COLLECT: AttributeSchema(
                PropertyType.MAP,
                "The configuration of the agent on it, os-collect-config.",
                support_status=SupportStatus(version="9.0.0"),
                cache_mode=CacheMode.NONE,
            ),
        },
    )

    def create(self, view: ResourceContext) -> VerbResult:
        return VerbResult(
            ObservedState.READY, view.resource_id, data=server_agents.create_agent_user(view)
        )

    def update(
        self, view: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        """Its agent is who it was: what it is told of that follows the properties."""
        if server_agents.SOFTWARE_CONFIG_TRANSPORT not in changed:
            return VerbResult(ObservedState.READY, view.physical_id)
        asking = server_agents.create_agent_user(replace(view, properties=after))
        return VerbResult(ObservedState.READY, view.physical_id, data={**view.data, **asking})

    def delete(self, view: ResourceContext) -> VerbResult:
        server_agents.delete_agent_user(view)
        return VerbResult(ObservedState.ABSENT)

    def find(self, view: ResourceContext) -> str | None:
        return None if super().find(view) is None else view.resource_id

    # -- what is told

    def attribute(self, view: ResourceContext, name: str) -> Json:
        if name == "name":
            return view.properties.get("name") or view.physical_name
        if name == _COLLECT:
            return server_agents.agent_metadata(view, _NO_CLOUD)
        return super().attribute(view, name)

    def shown_metadata(
        self, view: ResourceContext, given: Mapping[str, Json]
    ) -> Mapping[str, Json]:
        return server_agents.merge_agent_metadata(
            given, server_agents.agent_metadata(view, _NO_CLOUD)
        )

    def shows_deployments(self, view: ResourceContext) -> bool:
        return True

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        server_agents.validate_transport(properties)
