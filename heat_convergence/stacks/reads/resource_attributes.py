"""Attributes of resources, as their views show them.

Called by the controllers that show them; works on rows it is handed and never
asks the database or the cloud.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from heat_convergence.common.errors import Error
from heat_convergence.convergence.model.resource import InputResource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.db.reads.resources import ResourceRow
from heat_convergence.resources.protocol.resource_context import dependency_context
from heat_convergence.resources.protocol.resource_type import ResourceContext, ResourceType
from heat_convergence.resources.registry import ResourceTypeRegistry

Json = Any
LOG = logging.getLogger(__name__)
_SHOW = "show"


@dataclass(frozen=True, slots=True)
class AttributeReader:
    """Shows rows of one stack."""

    stack: Stack
    registry: ResourceTypeRegistry
    now: datetime

    def read_attributes(self, row: ResourceRow, extra: Iterable[str] = ()) -> dict[str, Json]:
        """Where the type has a map under ``show``, that map and the extra ones; else
        every declared attribute.  What the type cannot tell is null."""
        kind = self.registry.find(row.implementation)
        if kind is None:  # a plug-in that was there when the row was made
            return {}
        view = dependency_context(input_from_row(row), self.stack, self.now)
        wanted = {name: _attribute(kind, view, name) for name in extra}
        shown = _attribute(kind, view, _SHOW)
        if isinstance(shown, Mapping):
            return {**shown, **wanted}
        return {name: _attribute(kind, view, name) for name in kind.attribute_names(view)} | wanted


def input_from_row(row: ResourceRow) -> InputResource:
    """A detailed row as types see it."""
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


def _attribute(resource_type: ResourceType, view: ResourceContext, name: str) -> Json:
    """None for what fails, too: a list is being sent already, and has others in it."""
    if not resource_type.schema.has_attribute(name):
        return None
    try:
        return resource_type.attribute(view, name)
    except Error:
        return None
    except Exception:  # the edge towards third-party code
        LOG.exception(
            "resource type raised: resource %(resource)s, attribute %(name)s",
            {"resource": view.resource_id, "name": name},
        )
        return None
