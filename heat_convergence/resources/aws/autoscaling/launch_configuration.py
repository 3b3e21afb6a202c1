"""``AWS::AutoScaling::LaunchConfiguration``: the definition of the members of a group.

Decides what groups read of it: properties, metadata, and the values of a server that it names.
It has no physical resource. Every change of a property replaces it, so that its reference changes
and groups notice.

Source: docs/reference/resource-groups.rst.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.common.errors import StackValidationFailed
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.aws.type_schemas import load_aws_schema
from heat_convergence.resources.driver.declarative_steps import DriverContext, require_cloud
from heat_convergence.resources.driver.id_lookup import IdLookup
from heat_convergence.resources.driver.resource_client import RestResourceClient
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult

Json = Any
INSTANCE_ID = "InstanceId"
_METADATA, _SERVER_VALUES = "launch_metadata", "launch_defaults"  # keys of data


class LaunchConfiguration(ResourceType):
    """The configuration from which groups create their members."""

    name = "AWS::AutoScaling::LaunchConfiguration"
    schema = load_aws_schema("autoscaling", name)

    def __init__(self, driver: DriverContext) -> None:
        """Keep what calls to the cloud need."""
        self._driver = driver

    def create(self, context: ResourceContext) -> VerbResult:
        """Record the metadata, and the values of the server that is named."""
        server_id = context.properties.get(INSTANCE_ID)
        values = {} if server_id is None else self._server_values(context, str(server_id))
        return self._ready(context, {_METADATA: dict(context.metadata), _SERVER_VALUES: values})

    def resume_create(self, context: ResourceContext) -> VerbResult:
        """Create again: nothing outside of the row was made."""
        return self.create(context)

    def update(
        self, context: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        """Record the metadata, the only part that can change."""
        return self._ready(context, {**context.data, _METADATA: dict(context.metadata)})

    def delete(self, context: ResourceContext) -> VerbResult:
        """Return ABSENT: there is no physical resource."""
        return VerbResult(ObservedState.ABSENT)

    def observe(self, context: ResourceContext) -> VerbResult:
        """Return READY, or ABSENT for a resource being deleted."""
        if context.action is Action.DELETE or context.physical_id is None:
            return VerbResult(ObservedState.ABSENT)
        return VerbResult(ObservedState.READY, physical_id=context.physical_id)

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        """Check the devices.

        Raises:
            StackValidationFailed: One of them has no snapshot.
        """
        check_devices(properties)

    def validate_property_names(self, names: frozenset[str]) -> None:
        """Require an image and a flavor, or a server that has them.

        Raises:
            StackValidationFailed: One is missing.
        """
        missing = {"ImageId", "InstanceType"} - names
        if INSTANCE_ID not in names and missing:
            raise StackValidationFailed(
                f"Either {INSTANCE_ID}, or ImageId and InstanceType must be set; there is no"
                f" {' and no '.join(sorted(missing))}"
            )

    def _ready(self, context: ResourceContext, data: Mapping[str, Json]) -> VerbResult:
        return VerbResult(
            ObservedState.READY, context.physical_id or context.physical_name, data=data
        )

    def _server_values(self, context: ResourceContext, name_or_id: str) -> dict[str, Json]:
        """Return the properties that the server's own values stand for."""
        cloud, entities = require_cloud(context, self._driver.connection_slots), self._driver
        lookup = IdLookup(cloud, entities.rest_resources, entities.id_cache, context.now)
        server_id = lookup.resolve_id("nova.server", name_or_id)
        body = RestResourceClient(cloud, entities.rest_resources["nova.server"]).get(server_id)
        values = {
            "ImageId": (body.get("image") or {}).get("id"),
            "InstanceType": (body.get("flavor") or {}).get("id"),
            "KeyName": body.get("key_name"),
            "SecurityGroups": [each["name"] for each in body.get("security_groups") or ()],
        }
        return {name: value for name, value in values.items() if value}


def check_devices(properties: Mapping[str, Json]) -> None:
    """Check that every block device is made from a snapshot.

    Raises:
        StackValidationFailed: One is not.
    """
    for index, device in enumerate(properties.get("BlockDeviceMappings") or ()):
        if not (device.get("Ebs") or {}).get("SnapshotId"):
            raise StackValidationFailed(
                "Ebs.SnapshotId is missing, this is required",
                path=f"BlockDeviceMappings[{index}]",
            )


def find_member_definition(context: ResourceContext) -> dict[str, Json] | None:
    """Return the properties and metadata of members; None if it is no launch configuration."""
    if context.type != LaunchConfiguration.name and _METADATA not in context.data:
        return None
    own = {
        name: value
        for name, value in context.properties.items()
        if value is not None and name != INSTANCE_ID
    }
    properties = {**context.data.get(_SERVER_VALUES, {}), **own}
    return {"properties": properties, "metadata": context.data.get(_METADATA) or {}}
