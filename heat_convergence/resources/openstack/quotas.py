"""Quotas of a project, which always exist, so that a create sets them.

A delete restores the defaults.  One class serves all services that have ``GET``, ``PUT`` and
``DELETE`` of a project's quota set.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from heat_convergence.common.errors import PropertyUnspecifiedError
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult

Json = Any
PROJECT = "project"


class Quota(DeclarativeType):
    """The quota set of a project in one service."""

    def create(self, context: ResourceContext) -> VerbResult:
        """Set the quotas."""
        return self._set(context, context.properties)

    def resume_create(self, context: ResourceContext) -> VerbResult:
        """Set the quotas."""
        return self._set(context, context.properties)

    def find(self, context: ResourceContext) -> str | None:
        """Return the project's id, as a quota set always exists."""
        return self._project_id(context, context.properties) if context.properties else None

    def update(
        self, context: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        """Set the quotas to the new values."""
        return self._set(context, after)

    def restorable_properties(self, names: Iterable[str]) -> frozenset[str]:
        """Return all: an update sets every quota of the template."""
        return frozenset(names) - {PROJECT}

    def validate_property_names(self, names: frozenset[str]) -> None:
        """Require at least one quota."""
        if not names - {PROJECT}:
            quotas = ", ".join(sorted(name for name in self.schema.properties if name != PROJECT))
            raise PropertyUnspecifiedError(
                f"At least one of the following properties must be specified: {quotas}."
            )

    def _set(self, context: ResourceContext, properties: Mapping[str, Json]) -> VerbResult:
        project_id = self._project_id(context, properties)
        limits = {
            self._argument_name(name): value
            for name, value in properties.items()
            if name != PROJECT
        }
        body = self.client(context).update(project_id, limits)
        return VerbResult(ObservedState.READY, project_id, {"show": body})

    def _argument_name(self, name: str) -> str:
        mapping = self.spec.arguments.get(name)
        return name if mapping is None or mapping.argument is None else mapping.argument

    def _project_id(self, context: ResourceContext, properties: Mapping[str, Json]) -> str:
        return self.argument_builder(context).resolve_id(
            "keystone.project", properties[PROJECT], PROJECT
        )
