"""``OS::Cinder::QoSSpecs``: keys for volumes, under a name that never changes.

One that the template names bears its resource's id as a key of its own until the first
look, once its id is on record; what else could tell it from another's of that name?
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.convergence.model import Action
from heat_convergence.resources.driver.declared import DeclaredType
from heat_convergence.resources.driver.things import MARK_KEY
from heat_convergence.resources.plugin import View

Json = Any


class QosSpecs(DeclaredType):
    def create_arguments(self, view: View) -> dict[str, Json]:
        arguments = super().create_arguments(view)
        if not view.properties.get("name"):
            return arguments  # its physical name tells it
        return {**arguments, MARK_KEY: view.resource_id}

    def find(self, view: View) -> str | None:
        for body in self.calls(view).list():
            marked = (body.get("specs") or {}).get(MARK_KEY) == view.resource_id
            if marked or body.get("name") == view.physical_name:
                return self.id_in(body)
        return None

    def _owed(self, view: View, body: Mapping[str, Json]) -> dict[str, Json]:
        there = (body.get("specs") or {}).get(MARK_KEY)
        return {MARK_KEY: there} if there and view.action is Action.CREATE else {}

    def change(self, view: View, arguments: Mapping[str, Json]) -> Mapping[str, Json]:
        calls, own_id = self.calls(view), str(view.physical_id)
        calls.send("PUT", calls.path(own_id, "delete_keys"), {"keys": sorted(arguments)})
        return calls.get(own_id)
