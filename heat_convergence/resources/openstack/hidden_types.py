"""Types that were taken out of use: known by name, and doing nothing.

Stacks that still have them can be updated and deleted; listings do not show them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from heat_convergence.resources.builtin.none_resource import NoneResource
from heat_convergence.resources.driver import schema_loader

_NO_TEXTS = schema_loader.Descriptions({}, {}, {})


class HiddenResourceType(NoneResource):
    def __init__(self, service: str, name: str) -> None:
        declared = schema_loader.load_schema(service, name, _NO_TEXTS, {})
        self.name = name  # type: ignore[misc]  # one class, many types
        self.schema = replace(  # type: ignore[misc]
            NoneResource.schema, support_status=declared.support_status
        )


def load_hidden_types(service: str) -> Iterator[HiddenResourceType]:
    """One for each hidden type of a schemas' file that has no property any more."""
    for name in schema_loader.type_names(service):
        declared = schema_loader.load_schema(service, name, _NO_TEXTS, {})
        if declared.support_status.hidden and not declared.properties:
            yield HiddenResourceType(service, name)
