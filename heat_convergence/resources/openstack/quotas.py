"""Quotas of a project: always there, so that making one is setting it.

Deleting gives the project the defaults back.  One class for all services that have
``GET``, ``PUT`` and ``DELETE`` of a project's quota set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.common.errors import PropertyUnspecifiedError
from heat_convergence.convergence.model import Observed
from heat_convergence.resources.driver.declared import DeclaredType
from heat_convergence.resources.plugin import Look, View

Json = Any
PROJECT = "project"


class Quota(DeclaredType):
    def create(self, view: View) -> Look:
        return self._set(view, view.properties)

    def found(self, view: View) -> Look:
        return self._set(view, view.properties)

    def find(self, view: View) -> str | None:
        return self._project(view, view.properties) if view.properties else None

    def update(self, view: View, after: Mapping[str, Json], changed: frozenset[str]) -> Look:
        return self._set(view, after)

    def validate_names(self, given: frozenset[str]) -> None:
        if not given - {PROJECT}:
            names = ", ".join(sorted(name for name in self.schema.properties if name != PROJECT))
            raise PropertyUnspecifiedError(
                f"At least one of the following properties must be specified: {names}."
            )

    def _set(self, view: View, properties: Mapping[str, Json]) -> Look:
        project_id = self._project(view, properties)
        limits = {
            self._argument(name): value
            for name, value in properties.items()
            if name != PROJECT
        }
        body = self.calls(view).update(project_id, limits)
        return Look(Observed.READY, project_id, {"show": body})

    def _argument(self, name: str) -> str:
        arg = self.row.arguments.get(name)
        return name if arg is None or arg.to is None else arg.to

    def _project(self, view: View, properties: Mapping[str, Json]) -> str:
        return self.arguments(view).value("keystone.project", properties[PROJECT], PROJECT)
