"""Quotas of a project: always there, so that making one is setting it.

Deleting gives the project the defaults back.  One class for all services that have
``GET``, ``PUT`` and ``DELETE`` of a project's quota set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.common.errors import PropertyUnspecifiedError
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.protocol.resource_type import ResourceContext, VerbResult

Json = Any
PROJECT = "project"


class Quota(DeclarativeType):
    def create(self, view: ResourceContext) -> VerbResult:
        return self._set(view, view.properties)

    def resume_create(self, view: ResourceContext) -> VerbResult:
        return self._set(view, view.properties)

    def find(self, view: ResourceContext) -> str | None:
        return self._project(view, view.properties) if view.properties else None

    def update(
        self, view: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        return self._set(view, after)

    def validate_property_names(self, given: frozenset[str]) -> None:
        if not given - {PROJECT}:
            names = ", ".join(sorted(name for name in self.schema.properties if name != PROJECT))
            raise PropertyUnspecifiedError(
                f"At least one of the following properties must be specified: {names}."
            )

    def _set(self, view: ResourceContext, properties: Mapping[str, Json]) -> VerbResult:
        project_id = self._project(view, properties)
        limits = {
            self._argument(name): value for name, value in properties.items() if name != PROJECT
        }
        body = self.client(view).update(project_id, limits)
        return VerbResult(ObservedState.READY, project_id, {"show": body})

    def _argument(self, name: str) -> str:
        arg = self.spec.arguments.get(name)
        return name if arg is None or arg.argument is None else arg.argument

    def _project(self, view: ResourceContext, properties: Mapping[str, Json]) -> str:
        return self.argument_builder(view).resolve_id(
            "keystone.project", properties[PROJECT], PROJECT
        )
