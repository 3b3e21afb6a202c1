"""``OS::Cinder::QoSSpecs``: keys for volumes, under a name that never changes.

One that the template names bears its resource's id as a key of its own until the first
look, once its id is on record; what else could tell it from another's of that name?
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.convergence.model.action import Action
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.driver.rest_resources import OWNER_METADATA_KEY
from heat_convergence.resources.protocol.resource_type import ResourceContext

Json = Any


class QosSpecs(DeclarativeType):
    def create_arguments(self, view: ResourceContext) -> dict[str, Json]:
        arguments = super().create_arguments(view)
        if not view.properties.get("name"):
            return arguments  # its physical name tells it
        return {**arguments, OWNER_METADATA_KEY: view.resource_id}

    def find(self, view: ResourceContext) -> str | None:
        for body in self.client(view).list():
            marked = (body.get("specs") or {}).get(OWNER_METADATA_KEY) == view.resource_id
            if marked or body.get("name") == view.physical_name:
                return self.extract_id(body)
        return None

    def _owed(self, view: ResourceContext, body: Mapping[str, Json]) -> dict[str, Json]:
        there = (body.get("specs") or {}).get(OWNER_METADATA_KEY)
        return {OWNER_METADATA_KEY: there} if there and view.action is Action.CREATE else {}

    def apply_change(
        self, view: ResourceContext, arguments: Mapping[str, Json]
    ) -> Mapping[str, Json]:
        calls, own_id = self.client(view), str(view.physical_id)
        calls.send("PUT", calls.path(own_id, "delete_keys"), {"keys": sorted(arguments)})
        return calls.get(own_id)
