"""All resource types of the catalog.

Called once by the registry, through the entry point group ``heat_convergence.resource_catalogs``.
Decides which class implements a spec; one without behavior of its own is a ``DeclarativeType``.
"""

from __future__ import annotations

from collections.abc import Iterator

from heat_convergence.clients.rest_client import RequestLimiter
from heat_convergence.clients.settings import MAX_OPEN_REQUESTS
from heat_convergence.resources.catalog.property_comparisons import with_comparisons
from heat_convergence.resources.catalog.rest_resources import REST_RESOURCES
from heat_convergence.resources.catalog.services import SERVICES
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.driver.declarative_steps import DriverContext
from heat_convergence.resources.driver.id_lookup import BodyCache, IdCache
from heat_convergence.resources.driver.service_extensions import ServiceExtensions
from heat_convergence.resources.openstack.hidden_types import load_hidden_types
from heat_convergence.resources.protocol.resource_type import ResourceType

RETIRED_SCHEMAS = "retired"  # of services that the catalog does not have


def create_driver_context() -> DriverContext:
    """Return what the types of one registry share."""
    return DriverContext(
        REST_RESOURCES,
        RequestLimiter(MAX_OPEN_REQUESTS),
        IdCache(),
        BodyCache(),
        ServiceExtensions(),
    )


def load_resource_types() -> Iterator[ResourceType]:
    """Yield one object for each type, hidden ones included."""
    context = create_driver_context()
    for service in SERVICES:
        for declared in service.type_specs:
            spec = with_comparisons(declared)
            yield service.implementations.get(spec.name, DeclarativeType)(spec, context)
    for schema_file in _schema_files():
        yield from load_hidden_types(schema_file)


def _schema_files() -> list[str]:
    files = {spec.schema_file for service in SERVICES for spec in service.type_specs}
    return sorted(files | {RETIRED_SCHEMAS})
