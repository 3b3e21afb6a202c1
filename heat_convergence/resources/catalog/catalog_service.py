"""The part of the catalog that one service contributes.

Each module of a service makes one ``CatalogService``, and ``services`` lists them. It decides
nothing and must not know single services.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.driver.rest_resources import RestResource
from heat_convergence.resources.driver.type_spec import TypeSpec


@dataclass(frozen=True, slots=True)
class CatalogService:
    """The REST resources and resource types of one service.

    Attributes:
        rest_resources: Entity name, such as ``neutron.network``, to its REST resource.
        type_specs: The specifications of the service's types.
        implementations: Type name to its class, for types with behavior of their own.
    """

    rest_resources: Mapping[str, RestResource]
    type_specs: tuple[TypeSpec, ...]
    implementations: Mapping[str, type[DeclarativeType]] = field(default_factory=dict)
