"""Attributes that change without the stack, read anew for the user who asks.

Called by the reads of outputs and of single resources, outside of transactions.  The requests are
the user's own, so that nobody sees more than the service would show them; what cannot be read in
time stays as the last observation recorded it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from heat_convergence.clients.rest_client import CloudClient
from heat_convergence.common.error_boundary import BoundaryName, ErrorBoundary
from heat_convergence.common.error_log import ErrorSubject
from heat_convergence.common.errors import Error, ResourceGone
from heat_convergence.common.time_limit import time_limit
from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.model.resource import InputResource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.resources.driver.request_cloud import current_cloud
from heat_convergence.resources.protocol.live_attributes import LiveAttributes
from heat_convergence.resources.protocol.resource_context import dependency_context
from heat_convergence.stacks.services import StackServices

Json = Any
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
