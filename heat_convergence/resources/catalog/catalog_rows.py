"""Constructors of the rows of one service: REST resources and type specifications.

Decides the names that follow from the service's: of entities (``manila.share``), of types
(``OS::Manila::Share``) and of the schemas' file. A service's module binds its names and defaults
with ``functools.partial``. It must not know single services.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.resources.driver.rest_resources import RestResource
from heat_convergence.resources.driver.type_spec import TypeSpec


def make_rest_resource(
    project: str, service: str, entity: str, sdk_class: str | type[Any], /, **fields: Any
) -> RestResource:
    """Return the REST resource of an entity.

    Args:
        project: The service's name, such as ``Manila``.
        service: openstacksdk's name of the service, such as ``shared_file_system``.
        entity: The entity's name without its prefix.
        sdk_class: The class of the entity, as in ``RestResource``.
        **fields: The other fields of the REST resource.
    """
    return RestResource(
        entity=f"{project.lower()}.{entity}", service=service, sdk_class=sdk_class, **fields
    )


def make_spec(
    project: str,
    rest_resources: Mapping[str, RestResource],
    name: str,
    entity: str,
    /,
    **fields: Any,
) -> TypeSpec:
    """Return the specification of a type whose objects are those of an entity.

    Args:
        project: The service's name, such as ``Manila``.
        rest_resources: The service's REST resources by the names of their entities.
        name: The type's name without its prefix.
        entity: The entity's name without its prefix.
        **fields: The other fields of the specification.
    """
    prefix = project.lower()
    return TypeSpec(
        name=f"OS::{project}::{name}",
        schema_file=prefix,
        rest_resource=rest_resources[f"{prefix}.{entity}"],
        **{"service": prefix, **fields},
    )
