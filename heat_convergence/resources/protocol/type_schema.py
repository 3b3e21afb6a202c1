"""Declarations: what properties and attributes a resource type has.

Decides what can be declared.  Written by every resource type, by way of
``schema``, which also has the functions that hold values against declarations.
Must not touch values: it is data only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from heat_convergence.template.parameters.constraints import Constraint

Json = Any


class PropertyType(StrEnum):
    STRING = "string"
    NUMBER = "number"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    MAP = "map"
    LIST = "list"
    ANY = "any"


class SupportLevel(StrEnum):
    UNKNOWN = "UNKNOWN"
    SUPPORTED = "SUPPORTED"
    DEPRECATED = "DEPRECATED"
    UNSUPPORTED = "UNSUPPORTED"
    HIDDEN = "HIDDEN"


class CacheMode(StrEnum):
    """Whether an attribute's last value may be used again within one look."""

    LOCAL = "cache_local"
    NONE = "cache_none"


@dataclass(frozen=True, slots=True)
class SupportStatus:
    """Since which version something is supported, deprecated or hidden."""

    status: SupportLevel = SupportLevel.SUPPORTED
    version: str | None = None
    message: str | None = None
    previous: SupportStatus | None = None

    @property
    def hidden(self) -> bool:
        return self.status is SupportLevel.HIDDEN


SUPPORTED = SupportStatus()


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertySchema:
    """One property, or the elements of a list.

    ``schema`` declares the names of a map, ``item`` the elements of a list; a map
    or list without is passed through.  ``to_rule_default`` None means there is none.
    ``implemented`` False: known by name, refused when given.  ``alias_of``: an old
    name; what is given under it counts as given under the name beside it.
    """

    type: PropertyType
    description: str = ""
    required: bool = False
    default: Json = None
    constraints: tuple[Constraint, ...] = ()
    update_allowed: bool = False
    immutable: bool = False
    schema: Mapping[str, PropertySchema] | None = None
    item: PropertySchema | None = None
    support_status: SupportStatus = SUPPORTED
    implemented: bool = True
    alias_of: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "type", PropertyType(self.type))
        if self.schema is not None and self.type is not PropertyType.MAP:
            raise ValueError(f"Only a map has a schema of names, not a {self.type}")
        if self.item is not None and self.type is not PropertyType.LIST:
            raise ValueError(f"Only a list has an item schema, not a {self.type}")


@dataclass(frozen=True, slots=True)
class AttributeSchema:
    """One attribute; ``type`` None promises nothing about the value."""

    type: PropertyType | None = None
    description: str = ""
    support_status: SupportStatus = SUPPORTED
    cache_mode: CacheMode = CacheMode.LOCAL

    def __post_init__(self) -> None:
        if self.type is not None:
            object.__setattr__(self, "type", PropertyType(self.type))


SHOW_ATTRIBUTE = AttributeSchema(
    PropertyType.MAP,
    "All that the service tells about the resource.",
    cache_mode=CacheMode.NONE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeSchema:
    """What a resource type declares.

    ``accepts_any_property`` and ``accepts_any_attribute`` let names pass that
    are not declared; an undeclared property may be updated in place.
    """

    properties: Mapping[str, PropertySchema] = field(default_factory=dict)
    attributes: Mapping[str, AttributeSchema] = field(default_factory=dict)
    update_policy: Mapping[str, PropertySchema] = field(default_factory=dict)
    support_status: SupportStatus = SUPPORTED
    description: str = ""
    accepts_any_property: bool = False
    accepts_any_attribute: bool = False

    @property
    def all_attributes(self) -> Mapping[str, AttributeSchema]:
        """The declared ones and ``show``, which every type has."""
        return {**self.attributes, "show": SHOW_ATTRIBUTE}

    def has_attribute(self, name: str) -> bool:
        return self.accepts_any_attribute or name == "show" or name in self.attributes

    def update_allowed(self, name: str) -> bool:
        """Whether a change of this property can be made in place."""
        declared = self.properties.get(name)
        return self.accepts_any_property if declared is None else declared.update_allowed

    def immutable(self, name: str) -> bool:
        """Whether a change of this property is refused."""
        declared = self.properties.get(name)
        return declared is not None and declared.immutable
