"""Constraints that ask the cloud whether what a value names is there.

Decides which names of constraints stand for which things.  ``load`` gives a check for
every constraint of the catalogue's schemas; those of services that nothing is known of,
and all where no cloud may be asked, let every value pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from heat_convergence.common.clock import Clock, utc_now
from heat_convergence.common.errors import Error, Forbidden
from heat_convergence.resources.catalog.rest_resources import REST_RESOURCES
from heat_convergence.resources.driver import request_cloud
from heat_convergence.resources.driver.id_lookup import IdCache, IdLookup
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.type_schema import PropertySchema
from heat_convergence.template.parameters.constraints import (
    CustomConstraint,
    CustomConstraintFunction,
)

Json = Any
# Names of constraints whose thing has another noun.
NOUN_BY_CONSTRAINT: Mapping[str, str] = {"nova.network": "neutron.network"}


def load_custom_constraints(
    types: Iterable[ResourceType], clock: Clock = utc_now
) -> dict[str, CustomConstraintFunction]:
    """Constraint name → check.  What was found is kept for all requests of a process."""
    found = IdCache()
    names = {name for kind in types for name in _names(kind.schema.properties.values())}
    return {
        name: partial(_check, NOUN_BY_CONSTRAINT.get(name, name), found, clock)
        for name in sorted(names | REST_RESOURCES.keys())
        if "." in name
    }


def _check(noun: str, found: IdCache, clock: Clock, value: Json) -> str | None:
    cloud = request_cloud.current_cloud()
    if cloud is None or noun not in REST_RESOURCES or value in ("", None):
        return None
    try:
        IdLookup(cloud, REST_RESOURCES, found, clock()).find_existing_id(noun, str(value))
    except Forbidden:
        return None  # only who administers the service may list such things
    except Error as error:
        return f"Error validating value '{value}': {error}"
    return None


def _names(properties: Iterable[PropertySchema]) -> Iterator[str]:
    for declared in properties:
        for rule in declared.constraints:
            if isinstance(rule, CustomConstraint):
                yield rule.name
        yield from _names((declared.schema or {}).values())
        if declared.item is not None:
            yield from _names([declared.item])
