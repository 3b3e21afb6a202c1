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

from heat_convergence.convergence.model import Observed
from heat_convergence.resources.builtin.signals.responder import Responder
from heat_convergence.resources.openstack import server_agents
from heat_convergence.resources.plugin import Look, View
from heat_convergence.resources.schema import (
    AttributeSchema,
    CacheMode,
    PropertySchema,
    PropertyType,
    Support,
    SupportStatus,
    TypeSchema,
)
from heat_convergence.template.constraints import AllowedValues, Length

Json = Any
_COLLECT = "os_collect_config"
_TRANSPORTS = (server_agents.CFN, server_agents.HEAT, "POLL_TEMP_URL", "ZAQAR_MESSAGE")
_NO_CLOUD = ()  # no service that made it tells it anything


def _place(what: str) -> PropertySchema:
    return PropertySchema(
        type=PropertyType.STRING,
        description=f"The name of the {what} that the metadata are to be kept in.",
        constraints=(Length(min=1),),
    )


class DeployedServer(Responder):
    name = "OS::Heat::DeployedServer"
    physical_name_limit: ClassVar[int] = 53
    snapshots_on_delete: ClassVar[bool] = True  # there is nothing to keep
    secret_data: ClassVar[frozenset[str]] = server_agents.SECRETS
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
                    Support.DEPRECATED, version="9.0.0", previous=SupportStatus(version="8.0.0")
                ),
            ),
            server_agents.TRANSPORT: PropertySchema(
                type=PropertyType.STRING,
                description="How the agent on it asks for what is deployed.",
                default=server_agents.CFN,
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

    def create(self, view: View) -> Look:
        return Look(Observed.READY, view.resource_id, data=server_agents.hired(view))

    def update(self, view: View, after: Mapping[str, Json], changed: frozenset[str]) -> Look:
        """Its agent is who it was: what it is told of that follows the properties."""
        if server_agents.TRANSPORT not in changed:
            return Look(Observed.READY, view.physical_id)
        asking = server_agents.hired(replace(view, properties=after))
        return Look(Observed.READY, view.physical_id, data={**view.data, **asking})

    def delete(self, view: View) -> Look:
        server_agents.dismiss(view)
        return Look(Observed.ABSENT)

    def find(self, view: View) -> str | None:
        return None if super().find(view) is None else view.resource_id

    # -- what is told

    def attribute(self, view: View, name: str) -> Json:
        if name == "name":
            return view.properties.get("name") or view.physical_name
        if name == _COLLECT:
            return server_agents.told(view, _NO_CLOUD)
        return super().attribute(view, name)

    def metadata_of(self, view: View, given: Mapping[str, Json]) -> Mapping[str, Json]:
        return server_agents.together(given, server_agents.told(view, _NO_CLOUD))

    def lists_deployments(self, view: View) -> bool:
        return True

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        server_agents.check(properties)
