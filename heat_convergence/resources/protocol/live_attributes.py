"""The protocol of resource types whose attributes others change, so that readers want them anew.

Implemented by the declarative driver; called by the views that show attributes to users.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from heat_convergence.resources.protocol.verb_values import ResourceContext

Json = Any


@runtime_checkable
class LiveAttributes(Protocol):
    """A resource type with attributes that change without an action of the stack."""

    @property
    def live_attributes(self) -> frozenset[str]:
        """The names of these attributes."""
        ...

    def read_live_attributes(self, context: ResourceContext) -> Mapping[str, Json]:
        """Return the attributes to record, as the service shows them to the context's cloud.

        It must change nothing.

        Raises:
            ResourceGone: The object does not exist any more.
        """
        ...
