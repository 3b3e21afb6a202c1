"""``OS::Cinder::QoSSpecs``: keys for volumes, under a name that never changes.

Specs that the template names carry the resource's id as a key until the first observation, which
comes once the physical id is recorded: nothing else distinguishes them from others of that name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.convergence.model.action import Action
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.driver.rest_resources import OWNER_METADATA_KEY
from heat_convergence.resources.protocol.verb_values import ResourceContext

Json = Any


class QosSpecs(DeclarativeType):
    """QoS specs of the block storage service."""

    def create_arguments(self, context: ResourceContext) -> dict[str, Json]:
        """Return the arguments, with the ownership mark if the template has a name."""
        arguments = super().create_arguments(context)
        if not context.properties.get("name"):
            return arguments  # found by its physical name
        return {**arguments, OWNER_METADATA_KEY: context.resource_id}

    def find(self, context: ResourceContext) -> str | None:
        """Return the id of the specs with the ownership mark or the physical name."""
        for body in self.client(context).list():
            marked = (body.get("specs") or {}).get(OWNER_METADATA_KEY) == context.resource_id
            if marked or body.get("name") == context.physical_name:
                return self.extract_id(body)
        return None

    def _fields_to_restore(
        self, context: ResourceContext, body: Mapping[str, Json]
    ) -> dict[str, Json]:
        """Return the ownership mark if it is to be removed."""
        mark = (body.get("specs") or {}).get(OWNER_METADATA_KEY)
        return {OWNER_METADATA_KEY: mark} if mark and context.action is Action.CREATE else {}

    def apply_change(
        self, context: ResourceContext, arguments: Mapping[str, Json]
    ) -> Mapping[str, Json]:
        """Remove the keys of ``arguments``."""
        client, physical_id = self.client(context), str(context.physical_id)
        client.send("PUT", client.path(physical_id, "delete_keys"), {"keys": sorted(arguments)})
        return client.get(physical_id)
