"""The resource types of the catalog, which tests that change none of them load once."""

from __future__ import annotations

from heat_convergence.resources.catalog.resource_types import load_resource_types
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.protocol.resource_type import ResourceType

CATALOG: tuple[ResourceType, ...] = tuple(load_resource_types())
DECLARATIVE_TYPES: dict[str, DeclarativeType] = {
    each.name: each for each in CATALOG if isinstance(each, DeclarativeType)
}


def types_of_service(service: str) -> dict[str, DeclarativeType]:
    """Return the declarative types below ``OS::<service>``, by the rest of their names."""
    prefix = f"OS::{service}::"
    return {
        name.removeprefix(prefix): each
        for name, each in DECLARATIVE_TYPES.items()
        if name.startswith(prefix)
    }
