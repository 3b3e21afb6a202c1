"""Custom constraints that check in the cloud whether the entity of a name exists.

Decides which constraint stands for which entity.  Called by the validation of templates.  Without
a cloud, for entities that are not known and for those that the user may not list, every value
passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from heat_convergence.common.clock import Clock, utc_now
from heat_convergence.common.errors import Error, Forbidden
from heat_convergence.resources.catalog.rest_resources import REST_RESOURCES
from heat_convergence.resources.driver import request_cloud
from heat_convergence.resources.driver.id_lookup import IdCache, IdLookup
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.type_schema import PropertySchema
from heat_convergence.resources.service_lookups import ServiceConstraint
from heat_convergence.template.parameters.constraints import (
    CustomConstraint,
    CustomConstraintFunction,
)

Json = Any
# Constraints that are not called as the entity whose name they check.
ENTITY_BY_CONSTRAINT: Mapping[str, str] = {"nova.network": "neutron.network"}


def load_custom_constraints(
    types: Iterable[ResourceType], clock: Clock = utc_now
) -> dict[str, CustomConstraintFunction]:
    """Return a check by the name of each constraint of the types' schemas.

    Looked-up ids are cached for all requests of the process.
    """
    cache = IdCache()
    names = {
        name
        for resource_type in types
        for name in _constraint_names(resource_type.schema.properties.values())
    }
    return {
        name: CloudConstraint(ENTITY_BY_CONSTRAINT.get(name, name), cache, clock)
        for name in sorted(names | REST_RESOURCES.keys())
        if "." in name
    }


@dataclass(frozen=True, slots=True)
class CloudConstraint(ServiceConstraint):
    """The check whether the cloud has an object of an entity, by its name or id.

    Attributes:
        cache: Ids that were looked up before.
        clock: The time that decides which of them are too old.
    """

    entity: str
    cache: IdCache
    clock: Clock

    def __call__(self, value: Json) -> str | None:
        """Return the violation, None without one."""
        cloud = request_cloud.current_cloud()
        if cloud is None or self.entity not in REST_RESOURCES or value in ("", None):
            return None
        lookup = IdLookup(cloud, REST_RESOURCES, self.cache, self.clock())
        try:
            lookup.find_existing_id(self.entity, str(value))
        except Forbidden:
            return None  # only an administrator may list these
        except Error as error:
            return str(error)
        return None


def _constraint_names(properties: Iterable[PropertySchema]) -> Iterator[str]:
    for declared in properties:
        for constraint in declared.constraints:
            if isinstance(constraint, CustomConstraint):
                yield constraint.name
        yield from _constraint_names((declared.schema or {}).values())
        if declared.item is not None:
            yield from _constraint_names([declared.item])
