"""Types that Heat has retired: known by name, without any effect.

Stacks that still contain them can be updated and deleted; listings do not show them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from heat_convergence.resources.builtin.none_resource import NoneResource
from heat_convergence.resources.driver import schema_loader

_NO_DESCRIPTIONS = schema_loader.Descriptions({}, {}, {})


class HiddenResourceType(NoneResource):
    """A retired type; its resources are complete at once."""

    def __init__(self, service: str, name: str) -> None:
        declared = schema_loader.load_schema(service, name, _NO_DESCRIPTIONS, {})
        self.name = name  # type: ignore[misc]  # one class, many types
        self.schema = replace(  # type: ignore[misc]
            NoneResource.schema, support_status=declared.support_status
        )


def load_hidden_types(service: str) -> Iterator[HiddenResourceType]:
    """Yield a type for each hidden type of a schema file that has no properties left."""
    for name in schema_loader.type_names(service):
        declared = schema_loader.load_schema(service, name, _NO_DESCRIPTIONS, {})
        if declared.support_status.hidden and not declared.properties:
            yield HiddenResourceType(service, name)
