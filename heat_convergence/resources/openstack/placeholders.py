"""Types that were taken out of use: known by name, and doing nothing.

Stacks that still have them can be updated and deleted; listings do not show them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from heat_convergence.resources.builtin.none import NoneResource
from heat_convergence.resources.driver import schemas

_NO_TEXTS = schemas.Texts({}, {}, {})


class Placeholder(NoneResource):
    def __init__(self, service: str, name: str) -> None:
        declared = schemas.schema(service, name, _NO_TEXTS, {})
        self.name = name  # type: ignore[misc]  # one class, many types
        self.schema = replace(  # type: ignore[misc]
            NoneResource.schema, support_status=declared.support_status
        )


def placeholders(service: str) -> Iterator[Placeholder]:
    """One for each hidden type of a schemas' file that has no property any more."""
    for name in schemas.names(service):
        declared = schemas.schema(service, name, _NO_TEXTS, {})
        if declared.support_status.hidden and not declared.properties:
            yield Placeholder(service, name)
