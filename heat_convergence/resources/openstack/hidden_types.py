"""Types that Heat has retired: known by name, without any effect.

Stacks that still contain them can be updated and deleted; listings do not show them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from heat_convergence.resources.builtin.none_resource import NoneResource
from heat_convergence.resources.driver.schema_loader import load_retired_types
from heat_convergence.resources.protocol.type_schema import SupportStatus


class HiddenResourceType(NoneResource):
    """A retired type; its resources are complete at once."""

    def __init__(self, name: str, support_status: SupportStatus) -> None:
        self.name = name  # type: ignore[misc]  # one class, many types
        self.schema = replace(  # type: ignore[misc]
            NoneResource.schema, support_status=support_status
        )


def load_hidden_types(service: str) -> Iterator[HiddenResourceType]:
    """Yield a type for each hidden type of a schema file that has no properties left."""
    for name, support_status in load_retired_types(service).items():
        yield HiddenResourceType(name, support_status)
