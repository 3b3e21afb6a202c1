"""Attributes of resources, as their views show them.

Called by the controllers that show them and by outputs; works on rows passed in and must not ask
the database.  Attributes that change without the stack are read anew for the user who asks.  These
requests are the user's own, so that nobody sees more than the service would show them; what cannot
be read in time stays as the last observation recorded it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from heat_convergence.clients.rest_client import CloudClient
from heat_convergence.common.error_boundary import BoundaryName, ErrorBoundary
from heat_convergence.common.error_log import ErrorLog, ErrorSubject
from heat_convergence.common.errors import Error
from heat_convergence.common.failures import ResourceGone
from heat_convergence.common.time_limit import time_limit
from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.model.resource import InputResource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.db.reads.resources import ResourceRow
from heat_convergence.resources.driver.request_cloud import current_cloud
from heat_convergence.resources.protocol.live_attributes import LiveAttributes
from heat_convergence.resources.protocol.resource_context import dependency_context
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.verb_values import ResourceContext
from heat_convergence.resources.redaction import redact_attributes
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.stacks.services import StackServices

Json = Any
_SHOW = "show"
MAX_LIVE_READS = 10
_TIME_LIMIT_S = 10.0


@contextmanager
def live_read_limit() -> Iterator[None]:
    """Limit the time that all reads inside the block may take together."""
    with time_limit(_TIME_LIMIT_S):
        yield


@dataclass(frozen=True, slots=True)
class LiveAttributeReader:
    """The live reads of one request about one stack: one a resource, and few altogether."""

    stack: Stack
    services: StackServices
    _known: dict[str, InputResource] = field(default_factory=dict)
    _failures: list[Error] = field(default_factory=list)

    def refresh(self, resource: InputResource, name: str | None) -> InputResource:
        """Return the resource with current attributes, if the named one may have changed.

        Args:
            resource: the resource as its row has it.
            name: of the attribute that is read; None for all.
        """
        resource_type = self.services.registry.find(resource.implementation)
        if not isinstance(resource_type, LiveAttributes) or not self._may_be_read(resource):
            return resource
        if name is not None and name not in resource_type.live_attributes:
            return resource
        if resource.id not in self._known:
            cloud = self._cloud()
            if cloud is None:
                return resource
            self._known[resource.id] = self._read(resource, resource_type, cloud)
        return self._known[resource.id]

    def _may_be_read(self, resource: InputResource) -> bool:
        return bool(
            resource.physical_id and resource.attributes and resource.status is Status.COMPLETE
        )

    def _cloud(self) -> CloudClient | None:
        """Return the user's cloud while reads are left and none has failed."""
        cloud = current_cloud()
        if cloud is None or cloud.project_id != self.stack.project_id:
            return None
        return None if self._failures or len(self._known) >= MAX_LIVE_READS else cloud

    def _read(
        self, resource: InputResource, resource_type: LiveAttributes, cloud: CloudClient
    ) -> InputResource:
        context = dependency_context(resource, self.stack, self.services.clock())
        boundary = ErrorBoundary(BoundaryName.RESOURCE_TYPE, self.services.errors)

        def read() -> Mapping[str, Json]:
            try:
                return resource_type.read_live_attributes(replace(context, cloud=cloud))
            except ResourceGone:
                return {}
            except Error as error:
                self._failures.append(error)
                return resource.attributes

        found = boundary.run(
            read,
            lambda _error, _error_id: resource.attributes,
            ErrorSubject(self.stack.id, resource.name),
        )
        return replace(resource, attributes=found)


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
