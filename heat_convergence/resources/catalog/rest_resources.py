"""The REST resources of all services in the catalog.

Entities are called as the constraints name them (``neutron.network``).
"""

from __future__ import annotations

from collections.abc import Mapping

from heat_convergence.resources.catalog.services import SERVICES
from heat_convergence.resources.driver.rest_resources import RestResource

REST_RESOURCES: Mapping[str, RestResource] = {
    entity: rest_resource
    for service in SERVICES
    for entity, rest_resource in service.rest_resources.items()
}
