"""Attributes of resources, as their views show them.

Called by the controllers that show them; works on rows passed in and must not ask the database.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from heat_convergence.common.error_boundary import BoundaryName, ErrorBoundary
from heat_convergence.common.error_log import ErrorLog, ErrorSubject
from heat_convergence.common.errors import Error
from heat_convergence.convergence.model.resource import InputResource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.db.reads.resources import ResourceRow
from heat_convergence.resources.protocol.resource_context import dependency_context
from heat_convergence.resources.protocol.resource_type import ResourceContext, ResourceType
from heat_convergence.resources.redaction import redact_attributes
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.stacks.reads.live_attributes import LiveAttributeReader

Json = Any
_SHOW = "show"


@dataclass(frozen=True, slots=True)
class AttributeReader:
    """The reader of attributes of one stack's resources.

    Attributes:
        shows_secrets: False for users who may not read secrets.
        errors: the log of unexpected errors of resource types.
        live: reads attributes anew that others change; None shows them as they were recorded.
    """

    stack: Stack
    registry: ResourceTypeRegistry
    now: datetime
    shows_secrets: bool = True
    errors: ErrorLog = field(default_factory=ErrorLog)
    live: LiveAttributeReader | None = None

    def read_attributes(self, row: ResourceRow, extra: Iterable[str] = ()) -> dict[str, Json]:
        """Return the attributes of a resource by name; null for values that cannot be read.

        Where the type has a map under ``show``, that map and the extra ones are returned, else
        every declared attribute.

        Args:
            row: the resource.
            extra: names of further attributes.
        """
        resource_type = self.registry.find(row.implementation)
        if resource_type is None:  # a plug-in that was there when the row was made
            return {}
        found = self._read(row, resource_type, extra)
        return found if self.shows_secrets else redact_attributes(found, row, resource_type)

    def _read(
        self, row: ResourceRow, resource_type: ResourceType, extra: Iterable[str]
    ) -> dict[str, Json]:
        resource = input_from_row(row)
        if self.live is not None:
            resource = self.live.refresh(resource, None)
        view = dependency_context(resource, self.stack, self.now)
        requested = {name: self._attribute(resource_type, view, name) for name in extra}
        shown = self._attribute(resource_type, view, _SHOW)
        if isinstance(shown, Mapping):
            return {**shown, **requested}
        return {
            name: self._attribute(resource_type, view, name)
            for name in resource_type.attribute_names(view)
        } | requested

    def _attribute(self, resource_type: ResourceType, view: ResourceContext, name: str) -> Json:
        """Return None for what fails, too: the response is being sent already (RULE 11)."""
        if not resource_type.schema.has_attribute(name):
            return None
        return ErrorBoundary(BoundaryName.RESOURCE_TYPE, self.errors).run(
            lambda: _known_attribute(resource_type, view, name),
            lambda _error, _error_id: None,
            ErrorSubject(view.stack_id, view.name),
        )


def input_from_row(row: ResourceRow) -> InputResource:
    """Return a detailed row as resource types read it."""
    return InputResource(
        id=row.id,
        name=row.name,
        type=row.type,
        implementation=row.implementation,
        physical_id=row.physical_id,
        physical_name=row.physical_name,
        attributes=row.attributes,
        properties=row.properties,
        data=row.data,
        action=row.action,
        status=row.status,
    )


def _known_attribute(resource_type: ResourceType, view: ResourceContext, name: str) -> Json:
    try:
        return resource_type.attribute(view, name)
    except Error:
        return None
